//! VACUUM, ANALYZE, CHECKPOINT, REINDEX, CLUSTER and LOCK TABLE as written.

use sqlparser::ast::{Ident, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use crate::session_locks::LockMode;

/// The modes of LOCK TABLE as they are written.
const LOCK_MODES: [(&str, LockMode); 8] = [
    ("access share", LockMode::AccessShare),
    ("row share", LockMode::RowShare),
    ("row exclusive", LockMode::RowExclusive),
    ("share update exclusive", LockMode::ShareUpdateExclusive),
    ("share", LockMode::Share),
    ("share row exclusive", LockMode::ShareRowExclusive),
    ("exclusive", LockMode::Exclusive),
    ("access exclusive", LockMode::AccessExclusive),
];

/// PostgreSQL's options of VACUUM; those of ANALYZE are two of them.
const VACUUM_OPTIONS: [&str; 10] = [
    "verbose",
    "skip_locked",
    "analyze",
    "freeze",
    "full",
    "disable_page_skipping",
    "index_cleanup",
    "process_toast",
    "truncate",
    "parallel",
];
const ANALYZE_OPTIONS: usize = 2;

/// A statement about how the database is kept.
#[derive(Debug)]
pub(crate) enum MaintenanceStatement {
    /// VACUUM, whose tables are analyzed too or not, and of all deleted rows or of chunks with many of them.
    Vacuum { analyzes: bool, is_full: bool, patience: LockPatience, unknown: Option<String>, targets: Vec<Target> },
    /// ANALYZE.
    Analyze { patience: LockPatience, unknown: Option<String>, targets: Vec<Target> },
    /// CHECKPOINT.
    Checkpoint,
    /// REINDEX.
    Reindex { subject: ReindexSubject, is_concurrent: bool, unknown: Option<String> },
    /// CLUSTER, of a table, by an index.
    Cluster { table: Option<(ObjectName, Option<Ident>)>, unknown: Option<String> },
    /// LOCK TABLE.
    Lock { names: Vec<ObjectName>, mode: LockMode, patience: LockPatience },
}

/// What REINDEX makes again.
#[derive(Debug)]
pub(crate) enum ReindexSubject {
    /// An index.
    Index(ObjectName),
    /// The indexes of a table.
    Table(ObjectName),
    /// Those of a schema.
    Schema(Ident),
    /// All of a database: as its statement calls it, and its name.
    Database(&'static str, Ident),
}

/// What a statement does when others exclude a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LockPatience {
    /// It waits.
    #[default]
    Waits,
    /// It fails, or leaves the table out.
    NoWait,
}

/// A table, and columns of it.
#[derive(Debug)]
pub(crate) struct Target {
    /// The name of the table.
    pub name: ObjectName,
    /// The columns; none for all.
    pub columns: Vec<Ident>,
}

/// The options in parentheses.
#[derive(Debug, Default)]
struct Options {
    analyzes: bool,
    is_full: bool,
    concurrently: bool,
    patience: LockPatience,
    unknown: Option<String>,
}

impl MaintenanceStatement {
    /// Reads a statement; `None` if it is none of these, and nothing is read then.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Option<Self>, ParserError> {
        let word = word_of(&parser.peek_token().token);
        match word.as_deref() {
            Some("vacuum") => {
                parser.next_token();
                parse_vacuum(parser).map(Some)
            }
            Some("analyze" | "analyse") => {
                parser.next_token();
                let known = &VACUUM_OPTIONS[..ANALYZE_OPTIONS];
                let Options { unknown, patience, .. } = parse_options(parser, known)?.unwrap_or_default();
                let _ = parser.parse_keyword(Keyword::VERBOSE);
                Ok(Some(Self::Analyze { patience, unknown, targets: parse_targets(parser)? }))
            }
            Some("checkpoint") => {
                parser.next_token();
                Ok(Some(Self::Checkpoint))
            }
            Some("reindex") => {
                parser.next_token();
                parse_reindex(parser).map(Some)
            }
            Some("cluster") => {
                parser.next_token();
                parse_cluster(parser).map(Some)
            }
            Some("lock") => {
                parser.next_token();
                parse_lock(parser).map(Some)
            }
            _ => Ok(None),
        }
    }
}

fn parse_vacuum(parser: &mut Parser<'_>) -> Result<MaintenanceStatement, ParserError> {
    let options = match parse_options(parser, &VACUUM_OPTIONS)? {
        Some(options) => options,
        None => {
            let is_full = consume_word(parser, "full");
            for word in ["freeze", "verbose"] {
                let _ = consume_word(parser, word);
            }
            let analyzes = consume_word(parser, "analyze") || consume_word(parser, "analyse");
            Options { analyzes, is_full, ..Options::default() }
        }
    };
    let Options { analyzes, is_full, patience, unknown, .. } = options;
    Ok(MaintenanceStatement::Vacuum { analyzes, is_full, patience, unknown, targets: parse_targets(parser)? })
}

/// `(option [value], …)`; `None` if there is no parenthesis.
fn parse_options(parser: &mut Parser<'_>, known: &[&str]) -> Result<Option<Options>, ParserError> {
    if !parser.consume_token(&Token::LParen) {
        return Ok(None);
    }
    let mut options = Options::default();
    loop {
        let next = parser.next_token();
        let Some(mut option) = word_of(&next.token) else { return parser.expected("an option", next) };
        if option == "analyse" {
            option = "analyze".to_owned();
        }
        let mut value = String::new();
        while !matches!(parser.peek_token().token, Token::Comma | Token::RParen | Token::EOF) {
            value.push_str(&parser.next_token().token.to_string().to_ascii_lowercase());
        }
        let is_on = !["off", "false", "0"].contains(&value.trim_matches('\''));
        match (option.as_str(), known.contains(&option.as_str())) {
            (_, false) => drop(options.unknown.get_or_insert(option)),
            ("analyze", true) => options.analyzes = is_on,
            ("full", true) => options.is_full = is_on,
            ("skip_locked", true) if is_on => options.patience = LockPatience::NoWait,
            ("skip_locked", true) => options.patience = LockPatience::Waits,
            ("concurrently", true) => options.concurrently = is_on,
            (_, true) => {}
        }
        if !parser.consume_token(&Token::Comma) {
            parser.expect_token(&Token::RParen)?;
            return Ok(Some(options));
        }
    }
}

fn parse_targets(parser: &mut Parser<'_>) -> Result<Vec<Target>, ParserError> {
    if matches!(parser.peek_token().token, Token::SemiColon | Token::EOF) {
        return Ok(Vec::new());
    }
    parser.parse_comma_separated(|parser| {
        let name = parser.parse_object_name(false)?;
        let mut columns = Vec::new();
        if parser.consume_token(&Token::LParen) {
            columns = parser.parse_comma_separated(Parser::parse_identifier)?;
            parser.expect_token(&Token::RParen)?;
        }
        Ok(Target { name, columns })
    })
}

/// `[(option, …)] INDEX | TABLE | SCHEMA | DATABASE | SYSTEM [CONCURRENTLY] name`
fn parse_reindex(parser: &mut Parser<'_>) -> Result<MaintenanceStatement, ParserError> {
    let Options { concurrently, unknown, .. } =
        parse_options(parser, &["verbose", "tablespace", "concurrently"])?.unwrap_or_default();
    let kind = parser.next_token();
    let is_concurrent = parser.parse_keyword(Keyword::CONCURRENTLY) || concurrently;
    let subject = match word_of(&kind.token).as_deref() {
        Some("index") => ReindexSubject::Index(parser.parse_object_name(false)?),
        Some("table") => ReindexSubject::Table(parser.parse_object_name(false)?),
        Some("schema") => ReindexSubject::Schema(parser.parse_identifier()?),
        Some("database") => ReindexSubject::Database("REINDEX DATABASE", parser.parse_identifier()?),
        Some("system") => ReindexSubject::Database("REINDEX SYSTEM", parser.parse_identifier()?),
        _ => return parser.expected("INDEX, TABLE, SCHEMA, DATABASE or SYSTEM", kind),
    };
    Ok(MaintenanceStatement::Reindex { subject, is_concurrent, unknown })
}

/// `[VERBOSE | (option, …)] [table [USING index]]`
fn parse_cluster(parser: &mut Parser<'_>) -> Result<MaintenanceStatement, ParserError> {
    let options = parse_options(parser, &["verbose"])?;
    let _ = options.is_none() && parser.parse_keyword(Keyword::VERBOSE);
    let unknown = options.and_then(|options| options.unknown);
    if matches!(parser.peek_token().token, Token::SemiColon | Token::EOF) {
        return Ok(MaintenanceStatement::Cluster { table: None, unknown });
    }
    let name = parser.parse_object_name(false)?;
    let index = if parser.parse_keyword(Keyword::USING) { Some(parser.parse_identifier()?) } else { None };
    Ok(MaintenanceStatement::Cluster { table: Some((name, index)), unknown })
}

/// `[TABLE] [ONLY] name [*], … [IN … MODE] [NOWAIT]`
fn parse_lock(parser: &mut Parser<'_>) -> Result<MaintenanceStatement, ParserError> {
    let _ = parser.parse_keyword(Keyword::TABLE);
    let names = parser.parse_comma_separated(|parser| {
        let _ = parser.parse_keyword(Keyword::ONLY);
        let name = parser.parse_object_name(false)?;
        let _ = parser.consume_token(&Token::Mul);
        Ok(name)
    })?;
    let mut mode = LockMode::AccessExclusive;
    if parser.parse_keyword(Keyword::IN) {
        let first = parser.peek_token();
        let mut words = Vec::new();
        while !consume_word(parser, "mode") {
            match word_of(&parser.peek_token().token) {
                Some(word) => words.push(word),
                None => return parser.expected("a lock mode", first),
            }
            parser.next_token();
        }
        let written = words.join(" ");
        mode = match LOCK_MODES.into_iter().find(|(words, _)| *words == written) {
            Some((_, mode)) => mode,
            None => return parser.expected("a lock mode", first),
        };
    }
    let patience = if parser.parse_keyword(Keyword::NOWAIT) { LockPatience::NoWait } else { LockPatience::Waits };
    Ok(MaintenanceStatement::Lock { names, mode, patience })
}

fn consume_word(parser: &mut Parser<'_>, word: &str) -> bool {
    let is_it = word_of(&parser.peek_token().token).as_deref() == Some(word);
    if is_it {
        parser.next_token();
    }
    is_it
}

/// A word without quotes, in lower case.
fn word_of(token: &Token) -> Option<String> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_ascii_lowercase()),
        _ => None,
    }
}
