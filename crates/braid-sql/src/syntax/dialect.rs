//! PostgreSQL's dialect as sqlparser knows it, read in a time that grows with the text and no faster.
//!
//! These things differ from sqlparser's own:
//! - A function's argument has a plain name or none, which is PostgreSQL's grammar. sqlparser reads every argument as a
//!   possible name first and then once more, so that `f(f(f(…)))` takes twice as long for each level.
//! - Operands and operators that sqlparser reads otherwise are read here ([`operands`], [`operators`]), and words that
//!   are a column's name only behind AS are none without it ([`words`]).
//! - Some options of columns are read here ([`column_options`]).
//! - Numbers have no underscores, which PostgreSQL reads from version 16 on.
//! - A budget of expressions bounds whatever else is read more than once. A parser that has spent it reads no further
//!   expression and fails with [`ParserError::RecursionLimitExceeded`].
//!
//! Everything else is passed on. Only the methods that sqlparser's dialect overrides are listed here; a new version of
//! sqlparser may have more of them.

use std::any::TypeId;
use std::cell::Cell;

use sqlparser::ast::{ColumnOption, Expr};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};

use super::{column_options, operands, operators, words};

/// How often an expression may be begun for each token of a text. Most tokens begin none; subqueries in FROM and in
/// lists are tried as two or three things.
const ATTEMPTS_PER_TOKEN: usize = 16;

/// Attempts that every text has, however short.
const ATTEMPTS_MIN: usize = 1024;

/// The dialect, for one text.
#[derive(Debug)]
pub struct SqlDialect {
    inner: PostgreSqlDialect,
    /// Expressions that may still be begun.
    attempts_left: Cell<usize>,
}

impl SqlDialect {
    /// For a text of `token_count` tokens.
    pub fn for_tokens(token_count: usize) -> Self {
        let attempts = ATTEMPTS_MIN.saturating_add(token_count.saturating_mul(ATTEMPTS_PER_TOKEN));
        Self { inner: PostgreSqlDialect {}, attempts_left: Cell::new(attempts) }
    }

    /// For `text`, which has no more tokens than bytes.
    pub fn for_text(text: &str) -> Self {
        Self::for_tokens(text.len())
    }
}

macro_rules! pass_on {
    ($($name:ident,)*) => {
        $(fn $name(&self) -> bool {
            self.inner.$name()
        })*
    };
}

impl Dialect for SqlDialect {
    fn dialect(&self) -> TypeId {
        self.inner.dialect()
    }

    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        match self.attempts_left.get().checked_sub(1) {
            None => Some(Err(ParserError::RecursionLimitExceeded)),
            Some(left) => {
                self.attempts_left.set(left);
                operands::operand(parser, self.prec_value(Precedence::PgOther))
            }
        }
    }

    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }

    fn supports_numeric_literal_underscores(&self) -> bool {
        false
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        self.inner.identifier_quote_style(identifier)
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        self.inner.is_delimited_identifier_start(ch)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        self.inner.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        self.inner.is_identifier_part(ch)
    }

    fn is_custom_operator_part(&self, ch: char) -> bool {
        self.inner.is_custom_operator_part(ch)
    }

    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        self.inner.is_reserved_for_identifier(keyword)
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        operators::precedence(&self.inner, parser).or_else(|| self.inner.get_next_precedence(parser))
    }

    fn parse_infix(&self, parser: &mut Parser<'_>, expr: &Expr, _precedence: u8) -> Option<Result<Expr, ParserError>> {
        operators::infix(self, parser, expr)
    }

    fn parse_column_option(
        &self,
        parser: &mut Parser<'_>,
    ) -> Result<Option<Result<Option<ColumnOption>, ParserError>>, ParserError> {
        Ok(column_options::option(parser)?.map(|option| Ok(Some(option))))
    }

    fn is_column_alias(&self, word: &Keyword, parser: &mut Parser<'_>) -> bool {
        // `INSERT INTO t SELECT 1 ON CONFLICT …`
        *word != Keyword::ON && !words::needs_as(*word) && self.inner.is_column_alias(word, parser)
    }

    fn is_table_alias(&self, word: &Keyword, parser: &mut Parser<'_>) -> bool {
        words::may_name_tables(*word) || self.inner.is_table_alias(word, parser)
    }

    fn supports_named_fn_args_with_assignment_operator(&self) -> bool {
        true
    }

    fn supports_factorial_operator(&self) -> bool {
        false
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        self.inner.prec_value(precedence)
    }

    pass_on! {
        supports_unicode_string_literal,
        supports_filter_during_aggregation,
        supports_group_by_expr,
        allow_extract_custom,
        allow_extract_single_quotes,
        supports_create_index_with_clause,
        supports_explain_with_utility_options,
        supports_listen_notify,
        supports_bitwise_shift_operators,
        supports_comment_on,
        supports_load_extension,
        supports_named_fn_args_with_colon_operator,
        supports_empty_projections,
        supports_nested_comments,
        supports_string_escape_constant,
        supports_array_typedef_with_brackets,
        supports_geometric_types,
        supports_set_names,
        supports_alter_column_type_using,
        supports_notnull_operator,
        supports_interval_options,
        supports_insert_table_alias,
        supports_create_table_like_parenthesized,
        supports_select_wildcard_with_alias,
        supports_comma_separated_trim,
        supports_xml_expressions,
        supports_comment_optimizer_hint,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn nested_calls_are_read_once() {
        let deep = format!("SELECT {}a{}", "f(".repeat(60), ")".repeat(60));
        let began = Instant::now();
        let dialect = SqlDialect::for_text(&deep);
        let statements = Parser::new(&dialect).with_recursion_limit(1000).try_with_sql(&deep);
        let statements = statements.unwrap().parse_statements().unwrap();
        assert_eq!(statements[0].to_string(), deep);
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    }

    #[test]
    fn arguments_have_plain_names() {
        let named = "SELECT f(a => 1, b := 2, 3)";
        let statements = Parser::parse_sql(&SqlDialect::for_text(named), named).unwrap();
        assert_eq!(statements[0].to_string(), named);
    }

    /// NOT is tried as a function where the rest does not parse, at every level.
    #[test]
    fn a_text_that_does_not_parse_is_given_up() {
        let deep = format!("SELECT {}a{}", "not (".repeat(100), ")".repeat(99));
        let began = Instant::now();
        let dialect = SqlDialect::for_text(&deep);
        let parser = Parser::new(&dialect).with_recursion_limit(1000).try_with_sql(&deep);
        assert!(parser.unwrap().parse_statements().is_err());
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }

    /// Every statement that sqlparser's dialect reads is read as the same tree.
    #[test]
    fn other_statements_are_read_as_before() {
        for sql in [
            "SELECT a, \"B\", 'c', E'\\n', 1000, $1, U&'\\0041' FROM t AS x (y) WHERE a ~ 'b' AND b @> c",
            "SELECT count(*) FILTER (WHERE a > 1), extract('year' FROM b), interval '1 day' FROM t GROUP BY 1",
            "SELECT FROM t",
            "EXPLAIN (ANALYZE, VERBOSE) SELECT 1",
            "INSERT INTO t AS x (a) VALUES (1), (DEFAULT)",
            "SELECT array[1, 2], 1 << 2, trim(both 'x' from a), a COLLATE \"C\" FROM t",
            "CREATE TABLE t (a INT[] NOT NULL, b NUMERIC(10,2) DEFAULT 1)",
            "SET NAMES 'utf8'",
            "LISTEN a",
            "COMMENT ON TABLE t IS 'x'",
            "SELECT a, t.b, s.t.c, 5, 'x' FROM t WHERE a = 1 AND t.b <= 'y' OR c IN (1, 'z') ORDER BY a DESC, t.b ASC",
            "SELECT a + 1, 1 - b, a * 2, a / t.b, a <> 'x', (a), f(a, 'b', t.c), t.* FROM t GROUP BY a, 5",
            "SELECT CASE WHEN a THEN 'b' ELSE t.c END, a LIKE 'x', a COLLATE \"C\", 'a' COLLATE \"C\", a[1], 5 IS NULL",
            "SELECT date, interval, t.date, a b, 'a' AS c; SELECT a; SELECT 'a'",
        ] {
            let ours = Parser::parse_sql(&SqlDialect::for_text(sql), sql);
            assert_eq!(ours, Parser::parse_sql(&PostgreSqlDialect {}, sql), "{sql}");
        }
    }
}
