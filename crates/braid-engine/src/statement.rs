//! SQL text into statements: what kind of thing was asked for, before anything is planned.
//!
//! sqlparser's PostgreSQL dialect does the reading. COPY is read by [`copy_statement`] on the same tokens,
//! because sqlparser expects its data inline and knows neither Parquet nor all of PostgreSQL's spellings. What Braid does not
//! do is still a statement (kind [`StatementKind::Unsupported`]): it is refused when it is executed, so that a failed
//! transaction block answers in PostgreSQL's order.

mod copy_options;
mod copy_statement;
mod dialect;
pub(crate) mod function_call;
mod long_chains;

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{self, VisitMut, VisitorMut};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use crate::deep_stack::on_deep_stack;
use crate::statement_limits::{DEPTH_MAX, StatementSize, check_tokens, too_complex};
use crate::{EngineError, SqlState};
pub(crate) use copy_options::{CopyFormat, CopyOptions, Header};
pub(crate) use copy_statement::{CopyPlace, CopyStatement, CopySubject};
pub(crate) use dialect::SqlDialect;
pub(crate) use long_chains::{CHAIN_OPERANDS_MIN, CONCATENATION, SUM_OF_TERMS};

/// How deep the parser descends. It needs up to four levels for one of the tree.
const PARSER_DEPTH_MAX: usize = 4 * DEPTH_MAX;

/// One statement: its kind, its syntax tree, its text. Cheap to clone.
#[derive(Clone)]
pub struct Statement {
    kind: StatementKind,
    /// Everything that was sent, with the statements beside this one: places in the text count from its beginning.
    origin: Arc<str>,
    /// This statement's bytes of it.
    range: Range<usize>,
    size: StatementSize,
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

impl Command {
    fn visit_mut(&mut self, visitor: &mut impl VisitorMut<Break = ()>) {
        // The visitor never breaks off.
        let _: ControlFlow<()> = match self {
            Self::Sql(statement) => VisitMut::visit(statement, visitor),
            Self::CreateTableWithoutData(create) => VisitMut::visit(create, visitor),
            Self::Copy(CopyStatement { subject: CopySubject::Query(query), .. }) => VisitMut::visit(query, visitor),
            Self::Copy(_) => ControlFlow::Continue(()),
        };
    }

    fn size(&self) -> StatementSize {
        match self {
            Self::Sql(statement) => StatementSize::of(statement),
            Self::CreateTableWithoutData(create) => StatementSize::of(create),
            Self::Copy(CopyStatement { subject: CopySubject::Query(query), .. }) => StatementSize::of(&**query),
            Self::Copy(_) => StatementSize::default(),
        }
    }
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
    ///
    /// The time is linear in the text. Trees are shallow when they leave here: long chains of operators have been made so,
    /// and what is still deep is refused ([`crate::statement_limits`]).
    pub fn parse(sql: &str) -> Result<Vec<Self>, EngineError> {
        let mut tokens = Vec::new();
        Tokenizer::new(&SqlDialect::for_text(sql), sql)
            .tokenize_with_location_into_buf(&mut tokens)
            .map_err(|error| syntax_error(sql, &error.message, Some(error.location)))?;
        check_tokens(sql.len(), &tokens)?;
        on_deep_stack(tokens.len(), || Self::parse_tokens(sql, tokens))
    }

    fn parse_tokens(sql: &str, tokens: Vec<TokenWithSpan>) -> Result<Vec<Self>, EngineError> {
        let tokens = spell_out_table(tokens);
        let dialect = SqlDialect::for_tokens(tokens.len());
        let mut parser =
            Parser::new(&dialect).with_recursion_limit(PARSER_DEPTH_MAX).with_tokens_with_locations(tokens);
        let origin: Arc<str> = Arc::from(sql);
        let mut places = Places::new(sql);
        let mut statements = Vec::new();
        loop {
            while parser.consume_token(&Token::SemiColon) {}
            let first = parser.peek_token();
            if first.token == Token::EOF {
                return Ok(statements);
            }
            let mut command = parse_command(&mut parser, &first).map_err(|error| parser_error(sql, error))?;
            let last = parser.get_current_token().span.end;
            let next = parser.peek_token();
            if !matches!(next.token, Token::SemiColon | Token::EOF) {
                return Err(error_near(sql, &next.token.to_string(), Some(next.span.start)));
            }
            command.visit_mut(&mut long_chains::Chains);
            let size = command.size();
            size.check_depth()?;
            let start = places.byte_of(first.span.start);
            let end = start + sql[start..places.byte_of(last)].trim_end().len();
            statements.push(Self {
                kind: kind_of(&command),
                origin: origin.clone(),
                range: start..end,
                size,
                command: Arc::new(command),
            });
        }
    }

    /// What it consists of.
    pub(crate) fn size(&self) -> StatementSize {
        self.size
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

    /// The query that it is or contains.
    pub(crate) fn query(&self) -> Option<&ast::Query> {
        use ast::Statement as S;
        match &*self.command {
            Command::Sql(S::Query(query)) => Some(query),
            Command::Sql(S::Explain { statement, .. }) => match &**statement {
                S::Query(query) => Some(query),
                _ => None,
            },
            Command::Sql(S::Insert(insert)) => insert.source.as_deref(),
            Command::Sql(S::CreateTable(create)) | Command::CreateTableWithoutData(create) => create.query.as_deref(),
            Command::Copy(CopyStatement { subject: CopySubject::Query(query), .. }) => Some(query),
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
            too_complex(format!("It is nested too deeply; at most {DEPTH_MAX} levels are planned."))
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
    Places::new(sql).byte_of(location)
}

/// Places of a text from its beginning to its end, found in one pass.
struct Places<'a> {
    sql: &'a str,
    byte: usize,
    line: u64,
    column: u64,
}

impl<'a> Places<'a> {
    fn new(sql: &'a str) -> Self {
        Self { sql, byte: 0, line: 1, column: 1 }
    }

    /// The byte offset of a place that is not before the last one asked for.
    fn byte_of(&mut self, location: Location) -> usize {
        for c in self.sql[self.byte..].chars() {
            if (self.line, self.column) >= (location.line, location.column) {
                break;
            }
            self.byte += c.len_utf8();
            if c == '\n' {
                (self.line, self.column) = (self.line + 1, 1);
            } else {
                self.column += 1;
            }
        }
        self.byte
    }
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
        for (open, close) in
            [("(", ")"), ("not (", ")"), ("abs(", ")"), ("- ", ""), ("case when a then 1 else ", " end")]
        {
            let nested = |levels: usize| format!("select {}1{}", open.repeat(levels), close.repeat(levels));
            assert!(Statement::parse(&nested(DEPTH_MAX / 2 - 2)).is_ok(), "{open}");
            for levels in [DEPTH_MAX, 5000] {
                assert_eq!(Statement::parse(&nested(levels)).unwrap_err().sqlstate(), "54001", "{levels} {open}");
            }
            let broken = nested(DEPTH_MAX / 2 - 2) + " )";
            assert_eq!(Statement::parse(&broken).unwrap_err().sqlstate(), "42601", "{open}");
        }
    }

    #[test]
    fn long_chains_are_read_and_dropped() {
        for (op, allowed) in [("+", true), (" or ", true), ("||", true), ("*", false), (" = ", false), ("->", false)] {
            let chain = vec!["a"; 20_000].join(op);
            for sql in [format!("select {chain}"), format!("copy (select {chain}) to stdout")] {
                let parsed = Statement::parse(&sql).map_err(|error| error.sqlstate());
                assert_eq!(
                    parsed.map(|statements| statements.len()),
                    if allowed { Ok(1) } else { Err("54001") },
                    "{op}"
                );
            }
            let broken = format!("select {chain} from");
            assert_eq!(Statement::parse(&broken).unwrap_err().sqlstate(), "42601", "{op}");
        }
        let unions = vec!["select 1"; 5000].join(" union all ");
        assert_eq!(Statement::parse(&unions).unwrap_err().sqlstate(), "54001");
    }

    #[test]
    fn many_statements_are_found_in_one_pass() {
        let text = "select 'ä';\n".repeat(20_000);
        let statements = Statement::parse(&text).unwrap();
        assert_eq!((statements.len(), statements[19_999].text()), (20_000, "select 'ä'"));
    }

    #[test]
    fn deallocate_names_its_statement() {
        let of = |sql: &str| Statement::parse(sql).unwrap()[0].deallocates().map(|name| name.map(str::to_owned));
        assert_eq!(of("deallocate a"), Some(Some("a".to_owned())));
        assert_eq!(of("deallocate all"), Some(None));
        assert_eq!(of("select 1"), None);
    }
}
