//! What says how PostgreSQL stores rows, as written: ALTER TABLE … SET STATISTICS and the like, which sqlparser does not read.

use sqlparser::ast::{Ident, ObjectName, SqlOption};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{IsOptional, Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::comment_statement::consume_words;

/// `ALTER TABLE | MATERIALIZED VIEW [IF EXISTS] [ONLY] name hint, …`
#[derive(Debug)]
pub(crate) struct StorageStatement {
    /// The relation.
    pub name: ObjectName,
    /// Whether it need not exist.
    pub if_exists: bool,
    /// The command tag.
    pub tag: &'static str,
    /// What is said, in order; there is at least one.
    pub hints: Vec<StorageHint>,
}

/// How PostgreSQL is to store rows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StorageHint {
    /// How much to know of a column.
    Statistics(Ident, i64),
    /// Where to keep long values.
    Storage(Ident, String),
    /// How to compress long values.
    Compression(Ident, String),
    /// What to assume of a column: the names of the options.
    ColumnOptions(Ident, Vec<String>),
    /// Whether changes are logged.
    Logged(bool),
    /// The index in whose order CLUSTER writes rows, or none.
    ClusterOn(Option<Ident>),
    /// That rows have no object ids, as always.
    WithoutOids,
    /// Storage parameters: SET (…).
    Parameters(Vec<SqlOption>),
    /// RESET (…).
    ResetParameters,
    /// What of old rows is logged for standbys; the index, if it is one.
    ReplicaIdentity(Option<Ident>),
}

impl StorageHint {
    /// PostgreSQL's words for it.
    pub fn words(&self) -> &'static str {
        match self {
            Self::Statistics(..) => "ALTER COLUMN ... SET STATISTICS",
            Self::Storage(..) => "ALTER COLUMN ... SET STORAGE",
            Self::Compression(..) => "ALTER COLUMN ... SET COMPRESSION",
            Self::ColumnOptions(..) => "ALTER COLUMN ... SET",
            Self::Logged(true) => "SET LOGGED",
            Self::Logged(false) => "SET UNLOGGED",
            Self::ClusterOn(Some(_)) => "CLUSTER ON",
            Self::ClusterOn(None) => "SET WITHOUT CLUSTER",
            Self::WithoutOids => "SET WITHOUT OIDS",
            Self::Parameters(_) => "SET",
            Self::ResetParameters => "RESET",
            Self::ReplicaIdentity(_) => "REPLICA IDENTITY",
        }
    }

    /// The column that it is about.
    pub fn column(&self) -> Option<&Ident> {
        match self {
            Self::Statistics(column, _)
            | Self::Storage(column, _)
            | Self::Compression(column, _)
            | Self::ColumnOptions(column, _) => Some(column),
            Self::Logged(_) | Self::ClusterOn(_) | Self::WithoutOids => None,
            Self::Parameters(_) | Self::ResetParameters | Self::ReplicaIdentity(_) => None,
        }
    }
}

impl StorageStatement {
    /// Reads a statement; `None` if it is none of these, and nothing is read then.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Option<Self>, ParserError> {
        parser.maybe_parse(parse)
    }
}

fn parse(parser: &mut Parser<'_>) -> Result<StorageStatement, ParserError> {
    parser.expect_keyword_is(Keyword::ALTER)?;
    let tag = if consume_words(parser, "materialized view") {
        "ALTER MATERIALIZED VIEW"
    } else {
        parser.expect_keyword_is(Keyword::TABLE)?;
        "ALTER TABLE"
    };
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let _ = parser.parse_keyword(Keyword::ONLY);
    let name = parser.parse_object_name(false)?;
    let _ = parser.consume_token(&Token::Mul);
    let hints = parser.parse_comma_separated(parse_hint)?;
    match parser.peek_token().token {
        Token::EOF | Token::SemiColon => Ok(StorageStatement { name, if_exists, tag, hints }),
        _ => parser.expected("end of statement", parser.peek_token()),
    }
}

fn parse_hint(parser: &mut Parser<'_>) -> Result<StorageHint, ParserError> {
    let fixed = [
        ("set logged", StorageHint::Logged(true)),
        ("set unlogged", StorageHint::Logged(false)),
        ("set without cluster", StorageHint::ClusterOn(None)),
        ("set without oids", StorageHint::WithoutOids),
    ];
    if let Some((_, hint)) = fixed.into_iter().find(|(words, _)| consume_words(parser, words)) {
        return Ok(hint);
    }
    if consume_words(parser, "cluster on") {
        return Ok(StorageHint::ClusterOn(Some(parser.parse_identifier()?)));
    }
    if parser.peek_keyword(Keyword::SET) && parser.peek_nth_token(1).token == Token::LParen {
        return Ok(StorageHint::Parameters(parser.parse_options(Keyword::SET)?));
    }
    if parser.parse_keyword(Keyword::RESET) {
        parser.parse_parenthesized_column_list(IsOptional::Mandatory, false)?;
        return Ok(StorageHint::ResetParameters);
    }
    if consume_words(parser, "replica identity") {
        return parse_replica_identity(parser);
    }
    parser.expect_keyword_is(Keyword::ALTER)?;
    let _ = parser.parse_keyword(Keyword::COLUMN);
    let column = parser.parse_identifier()?;
    if consume_words(parser, "set statistics") {
        let is_negative = parser.consume_token(&Token::Minus);
        let target = i64::try_from(parser.parse_literal_uint()?).unwrap_or(i64::MAX);
        return Ok(StorageHint::Statistics(column, if is_negative { -target } else { target }));
    }
    if consume_words(parser, "set storage") {
        return Ok(StorageHint::Storage(column, parser.parse_identifier()?.value.to_ascii_lowercase()));
    }
    if consume_words(parser, "set compression") {
        return Ok(StorageHint::Compression(column, parser.parse_identifier()?.value.to_ascii_lowercase()));
    }
    if consume_words(parser, "set") || consume_words(parser, "reset") {
        parser.expect_token(&Token::LParen)?;
        let options = parser.parse_comma_separated(|parser| {
            let name = parser.parse_identifier()?.value.to_ascii_lowercase();
            if parser.consume_token(&Token::Eq) {
                let _ = parser.consume_token(&Token::Minus);
                parser.next_token();
            }
            Ok(name)
        })?;
        parser.expect_token(&Token::RParen)?;
        return Ok(StorageHint::ColumnOptions(column, options));
    }
    parser.expected("a hint for the storage of a column", parser.peek_token())
}

/// What stands behind REPLICA IDENTITY.
fn parse_replica_identity(parser: &mut Parser<'_>) -> Result<StorageHint, ParserError> {
    if consume_words(parser, "using index") {
        return Ok(StorageHint::ReplicaIdentity(Some(parser.parse_identifier()?)));
    }
    match ["default", "full", "nothing"].iter().any(|word| consume_words(parser, word)) {
        true => Ok(StorageHint::ReplicaIdentity(None)),
        false => parser.expected("DEFAULT, FULL, NOTHING or USING INDEX", parser.peek_token()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Command, Statement};

    #[test]
    fn hints_are_read_and_nothing_else() {
        for (sql, count) in [
            ("alter table t alter a set statistics -1", 1),
            ("ALTER TABLE ONLY s.t ALTER COLUMN \"A\" SET STATISTICS 100, ALTER b SET STORAGE EXTERNAL", 2),
            ("alter table if exists t alter b set compression pglz, set unlogged", 2),
            ("alter materialized view m cluster on i", 1),
            ("alter table t set without cluster", 1),
            ("alter table t alter a set (n_distinct = -0.5, n_distinct_inherited = 3)", 1),
            ("alter table t alter a reset (n_distinct)", 1),
            ("alter table t set (fillfactor = 70, autovacuum_enabled = off), reset (fillfactor)", 2),
            ("alter table only t replica identity full, replica identity using index i", 2),
        ] {
            let parsed = Statement::parse(sql).unwrap().remove(0);
            let Command::Storage(storage) = parsed.command() else { panic!("{sql}") };
            assert_eq!(storage.hints.len(), count, "{sql}");
        }
        for sql in
            ["alter table t alter a set statistics", "alter table t alter a set storage", "alter table t cluster"]
        {
            assert_eq!(Statement::parse(sql).unwrap_err().sqlstate(), "42601", "{sql}");
        }
        let other = Statement::parse("alter table t alter a set default 1").unwrap().remove(0);
        assert!(matches!(other.command(), Command::Sql(_)));
    }
}
