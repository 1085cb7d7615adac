//! SQL text into statements: what kind of thing was asked for, before anything is planned.
//!
//! sqlparser's PostgreSQL dialect does the reading. COPY is read by [`crate::copy`] on the same tokens, because
//! sqlparser expects its data inline and knows neither Parquet nor all of PostgreSQL's spellings. What Braid does not
//! do is still a statement (kind [`StatementKind::Unsupported`]): it is refused when it is executed, so that a failed
//! transaction block answers in PostgreSQL's order.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast;
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use crate::copy::CopyStatement;
use crate::{EngineError, SqlState};

/// How deep expressions and subqueries may nest.
const RECURSION_LIMIT: usize = 256;

/// One statement: its kind, its syntax tree, its text. Cheap to clone.
#[derive(Clone)]
pub struct Statement {
    kind: StatementKind,
    /// Everything that was sent, with the statements beside this one: places in the text count from its beginning.
    origin: Arc<str>,
    /// This statement's bytes of it.
    range: Range<usize>,
    command: Arc<Command>,
}

/// The syntax tree behind a [`Statement`].
#[derive(Debug)]
pub(crate) enum Command {
    /// What sqlparser read.
    Sql(ast::Statement),
    /// CREATE TABLE AS … WITH NO DATA, whose last words sqlparser does not support.
    CreateTableWithoutData(ast::CreateTable),
    /// COPY, as read here.
    Copy(CopyStatement),
}

/// What a statement does, as far as a client or a transaction block cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StatementKind {
    /// SELECT, VALUES, TABLE, WITH: answers rows.
    Query,
    /// EXPLAIN: answers rows.
    Explain,
    /// INSERT.
    Insert,
    /// COPY … FROM.
    CopyFrom,
    /// COPY … TO.
    CopyTo,
    /// CREATE TABLE, also AS SELECT.
    CreateTable,
    /// DROP TABLE.
    DropTable,
    /// SET.
    Set,
    /// SHOW: answers rows.
    Show,
    /// RESET.
    Reset,
    /// DISCARD, CLOSE ALL, UNLISTEN: there is nothing to do, which is what is done.
    Discard,
    /// DEALLOCATE: the named statements are the server's.
    Deallocate,
    /// BEGIN.
    Begin,
    /// COMMIT.
    Commit,
    /// ROLLBACK.
    Rollback,
    /// What Braid does not do.
    Unsupported,
}

impl StatementKind {
    /// Whether it changes the database.
    pub fn writes(self) -> bool {
        matches!(self, Self::Insert | Self::CopyFrom | Self::CreateTable | Self::DropTable)
    }

    /// Whether it ends a transaction block: all that a failed block still accepts.
    pub fn ends_transaction(self) -> bool {
        matches!(self, Self::Commit | Self::Rollback)
    }
}

impl Statement {
    /// Reads `sql`, which may hold several statements. Empty statements are left out.
    pub fn parse(sql: &str) -> Result<Vec<Self>, EngineError> {
        let mut tokens = Vec::new();
        Tokenizer::new(&PostgreSqlDialect {}, sql)
            .tokenize_with_location_into_buf(&mut tokens)
            .map_err(|error| syntax_error(sql, &error.message, Some(error.location)))?;
        let tokens = spell_out_table(tokens);
        let mut parser =
            Parser::new(&PostgreSqlDialect {}).with_recursion_limit(RECURSION_LIMIT).with_tokens_with_locations(tokens);
        let origin: Arc<str> = Arc::from(sql);
        let mut statements = Vec::new();
        loop {
            while parser.consume_token(&Token::SemiColon) {}
            let first = parser.peek_token();
            if first.token == Token::EOF {
                return Ok(statements);
            }
            let command = parse_command(&mut parser, &first).map_err(|error| parser_error(sql, error))?;
            let last = parser.get_current_token().span.end;
            let next = parser.peek_token();
            if !matches!(next.token, Token::SemiColon | Token::EOF) {
                return Err(error_near(sql, &next.token.to_string(), Some(next.span.start)));
            }
            let start = byte_of(sql, first.span.start);
            let end = start + sql[start..byte_of(sql, last)].trim_end().len();
            statements.push(Self {
                kind: kind_of(&command),
                origin: origin.clone(),
                range: start..end,
                command: Arc::new(command),
            });
        }
    }

    /// What it does.
    pub fn kind(&self) -> StatementKind {
        self.kind
    }

    /// Its own text, without the semicolon.
    pub fn text(&self) -> &str {
        &self.origin[self.range.clone()]
    }

    /// For DEALLOCATE: the name, or `None` for ALL. `None` for every other statement.
    pub fn deallocates(&self) -> Option<Option<&str>> {
        match &*self.command {
            Command::Sql(ast::Statement::Deallocate { name, .. }) => {
                let all = name.quote_style.is_none() && name.value.eq_ignore_ascii_case("all");
                Some((!all).then_some(name.value.as_str()))
            }
            _ => None,
        }
    }

    pub(crate) fn command(&self) -> &Command {
        &self.command
    }

    /// A place that the parser noted, in characters from 1; `None` if it noted none.
    pub(crate) fn position(&self, location: Location) -> Option<usize> {
        (location.line > 0).then(|| character_of(&self.origin, location))
    }
}

impl fmt::Debug for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.text())
    }
}

fn parse_command(parser: &mut Parser<'_>, first: &TokenWithSpan) -> Result<Command, ParserError> {
    let keyword = match &first.token {
        Token::Word(word) => word.keyword,
        _ => Keyword::NoKeyword,
    };
    match keyword {
        Keyword::COPY => {
            parser.next_token();
            CopyStatement::parse(parser).map(Command::Copy)
        }
        Keyword::ABORT => {
            parser.next_token();
            let chain = parser.parse_commit_rollback_chain()?;
            Ok(Command::Sql(ast::Statement::Rollback { chain, savepoint: None }))
        }
        _ => {
            let statement = parser.parse_statement()?;
            match statement {
                ast::Statement::CreateTable(create) if create.query.is_some() => parse_data_wish(parser, create),
                statement => Ok(Command::Sql(statement)),
            }
        }
    }
}

/// `WITH [NO] DATA` after CREATE TABLE AS.
fn parse_data_wish(parser: &mut Parser<'_>, create: ast::CreateTable) -> Result<Command, ParserError> {
    if parser.parse_keywords(&[Keyword::WITH, Keyword::NO, Keyword::DATA]) {
        return Ok(Command::CreateTableWithoutData(create));
    }
    let _ = parser.parse_keywords(&[Keyword::WITH, Keyword::DATA]);
    Ok(Command::Sql(ast::Statement::CreateTable(create)))
}

/// `TABLE t` at the start of a statement becomes `SELECT * FROM t`, which sqlparser does not know by that name.
fn spell_out_table(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut spelt_out = Vec::with_capacity(tokens.len() + 2);
    let mut at_start = true;
    for token in tokens {
        match &token.token {
            Token::Word(word) if at_start && word.keyword == Keyword::TABLE => {
                let words = [Token::make_keyword("SELECT"), Token::Mul, Token::make_keyword("FROM")];
                spelt_out.extend(words.map(|word| TokenWithSpan::new(word, token.span)));
                at_start = false;
            }
            Token::Whitespace(_) => spelt_out.push(token),
            other => {
                at_start = *other == Token::SemiColon;
                spelt_out.push(token);
            }
        }
    }
    spelt_out
}

fn kind_of(command: &Command) -> StatementKind {
    use ast::Statement as S;
    match command {
        Command::Copy(copy) if copy.is_from() => StatementKind::CopyFrom,
        Command::Copy(_) => StatementKind::CopyTo,
        Command::CreateTableWithoutData(_) => StatementKind::CreateTable,
        Command::Sql(statement) => match statement {
            S::Query(query) => kind_of_query(query),
            S::Explain { .. } => StatementKind::Explain,
            S::Insert(_) => StatementKind::Insert,
            S::CreateTable(_) => StatementKind::CreateTable,
            S::Drop { object_type: ast::ObjectType::Table, .. } => StatementKind::DropTable,
            S::Set(_) => StatementKind::Set,
            S::ShowVariable { .. } => StatementKind::Show,
            S::Reset(_) => StatementKind::Reset,
            S::Discard { .. } | S::Close { .. } | S::UNLISTEN { .. } => StatementKind::Discard,
            S::Deallocate { .. } => StatementKind::Deallocate,
            S::StartTransaction { .. } => StatementKind::Begin,
            S::Commit { .. } => StatementKind::Commit,
            S::Rollback { savepoint: None, .. } => StatementKind::Rollback,
            _ => StatementKind::Unsupported,
        },
    }
}

/// `WITH … INSERT` is a query to the parser; it is not one to us.
fn kind_of_query(query: &ast::Query) -> StatementKind {
    match &*query.body {
        ast::SetExpr::Insert(_) => StatementKind::Insert,
        ast::SetExpr::Update(_) | ast::SetExpr::Delete(_) | ast::SetExpr::Merge(_) => StatementKind::Unsupported,
        _ => StatementKind::Query,
    }
}

fn parser_error(sql: &str, error: ParserError) -> EngineError {
    match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => {
            let (message, location) = split_location(&text);
            syntax_error(sql, message, location)
        }
        ParserError::RecursionLimitExceeded => {
            EngineError::new(SqlState::ProgramLimitExceeded, "the statement is nested too deeply")
                .with_detail(format!("At most {RECURSION_LIMIT} levels of expressions and subqueries are read."))
        }
    }
}

/// sqlparser's `Expected: …, found: …` in PostgreSQL's words; what else it says, as it says it.
fn syntax_error(sql: &str, message: &str, location: Option<Location>) -> EngineError {
    match message.strip_prefix("Expected: ").and_then(|rest| rest.split_once(", found: ")) {
        Some((expected, found)) => error_near(sql, found, location).with_detail(format!("Expected {expected}.")),
        None => {
            let error = EngineError::new(SqlState::SyntaxError, format!("syntax error: {message}"));
            match location {
                Some(location) if location.line > 0 => error.with_position(character_of(sql, location)),
                _ => error,
            }
        }
    }
}

fn error_near(sql: &str, found: &str, location: Option<Location>) -> EngineError {
    if found == "EOF" {
        return EngineError::new(SqlState::SyntaxError, "syntax error at end of input")
            .with_position(sql.chars().count() + 1);
    }
    let error = EngineError::new(SqlState::SyntaxError, format!("syntax error at or near \"{found}\""));
    match location {
        Some(location) if location.line > 0 => error.with_position(character_of(sql, location)),
        _ => error,
    }
}

/// sqlparser writes the place into the text, at its end: ` at Line: 1, Column: 8`.
fn split_location(text: &str) -> (&str, Option<Location>) {
    let parse = |at: usize| {
        let (line, column) = text[at..].strip_prefix(" at Line: ")?.split_once(", Column: ")?;
        Some(Location { line: line.parse().ok()?, column: column.parse().ok()? })
    };
    match text.rfind(" at Line: ").and_then(|at| Some((at, parse(at)?))) {
        Some((at, location)) => (&text[..at], Some(location)),
        None => (text, None),
    }
}

/// The byte offset of a place that is given in lines and characters, both from 1.
fn byte_of(sql: &str, location: Location) -> usize {
    let (mut line, mut column) = (1, 1);
    for (byte, c) in sql.char_indices() {
        if (line, column) == (location.line, location.column) {
            return byte;
        }
        if c == '\n' {
            (line, column) = (line + 1, 1);
        } else {
            column += 1;
        }
    }
    sql.len()
}

/// The same in characters from 1, as the protocol counts.
fn character_of(sql: &str, location: Location) -> usize {
    sql[..byte_of(sql, location)].chars().count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(sql: &str) -> Vec<StatementKind> {
        Statement::parse(sql).unwrap().iter().map(Statement::kind).collect()
    }

    #[test]
    fn statements_are_split_and_keep_their_text() {
        let statements = Statement::parse(" ;; select 'ä;' ;\n insert into t values (1) ; ").unwrap();
        let texts: Vec<&str> = statements.iter().map(Statement::text).collect();
        assert_eq!(texts, ["select 'ä;'", "insert into t values (1)"]);
        assert!(Statement::parse(" -- nothing\n;").unwrap().is_empty());
    }

    #[test]
    fn every_statement_has_a_kind() {
        use StatementKind::*;
        for (sql, kind) in [
            ("select 1", Query),
            ("values (1), (2)", Query),
            ("table t", Query),
            ("with a as (select 1) select * from a", Query),
            ("explain analyze select 1", Explain),
            ("insert into t select 1", Insert),
            ("copy t from stdin", CopyFrom),
            ("copy t to stdout", CopyTo),
            ("create table t (a int)", CreateTable),
            ("create table t as select 1 as a", CreateTable),
            ("create table t as select 1 as a with no data", CreateTable),
            ("create table t as select 1 as a with data", CreateTable),
            ("drop table if exists a, b", DropTable),
            ("set timezone = 'UTC'", Set),
            ("show server_version", Show),
            ("show all", Show),
            ("reset all", Reset),
            ("discard all", Discard),
            ("deallocate all", Deallocate),
            ("begin", Begin),
            ("start transaction isolation level serializable", Begin),
            ("commit", Commit),
            ("end", Commit),
            ("rollback", Rollback),
            ("abort", Rollback),
            ("rollback to savepoint a", Unsupported),
            ("savepoint a", Unsupported),
            ("update t set a = 1", Unsupported),
            ("delete from t", Unsupported),
            ("truncate t", Unsupported),
            ("create view v as select 1", Unsupported),
            ("create index on t (a)", Unsupported),
            ("alter table t add column b int", Unsupported),
        ] {
            assert_eq!(kinds(sql), [kind], "{sql}");
        }
    }

    #[test]
    fn a_syntax_error_says_where() {
        for (sql, position) in [
            ("selec 1", Some(1)),
            ("select 1 from\n  t wher a = 1", Some(24)),
            ("select 'abc", Some(8)),
            ("select (1", Some(10)),
            ("select 'ä' frm t", Some(16)),
        ] {
            let error = Statement::parse(sql).unwrap_err();
            assert_eq!((error.sqlstate(), error.position()), ("42601", position), "{sql}: {error:?}");
            assert!(error.message().starts_with("syntax error at ") || sql.contains("abc"), "{error:?}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let deep = format!("select {}1{}", "(".repeat(5000), ")".repeat(5000));
        assert_eq!(Statement::parse(&deep).unwrap_err().sqlstate(), "54000");
    }

    #[test]
    fn deallocate_names_its_statement() {
        let of = |sql: &str| Statement::parse(sql).unwrap()[0].deallocates().map(|name| name.map(str::to_owned));
        assert_eq!(of("deallocate a"), Some(Some("a".to_owned())));
        assert_eq!(of("deallocate all"), Some(None));
        assert_eq!(of("select 1"), None);
    }
}
