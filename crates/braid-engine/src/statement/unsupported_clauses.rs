//! Clauses of PostgreSQL that the parser does not read.
//!
//! Where a text stops to be a statement for the parser, it may go on as one for PostgreSQL. The words around that place tell: they name a
//! clause that Braid does not have, which is refused as such (0A000) and not as an error of syntax. A text that is no statement of PostgreSQL
//! either may be refused so, too, where it has such words.

use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use super::comment_statement::word_of;
use super::dialect::SqlDialect;
use super::places::character_of;
use crate::EngineError;

/// A clause, and what to do instead.
struct Clause {
    /// How its statement begins, without TEMPORARY and the like; empty for all statements.
    within: &'static str,
    /// Words of it, which begin or end where the parser stops.
    words: &'static str,
    name: &'static str,
    hint: &'static str,
}

const fn clause(within: &'static str, words: &'static str, name: &'static str, hint: &'static str) -> Clause {
    Clause { within, words, name, hint }
}

const ONE_STORAGE: &str = "Leave it out: all tables are stored in one way.";
const ONE_PLACE: &str = "Leave it out: all data is in the data directory of the server.";
const NO_EXTENSIONS: &str = "Leave it out: no extension can be installed.";
const INDEX_AS_MADE: &str = "Drop the index, and create it anew.";
const ENUMERATED_ONLY: &str =
    "Types of users are enumerated types and domains; put the attributes into columns of a table.";
const PATHS: &str = "Collect the rows passed so far in an array of the recursive query, and sort or compare by it.";
const XML: &str = "Store XML in columns of type text, and make it with || and format().";

const CLAUSES: &[Clause] = &[
    clause("create", "tablespace", "TABLESPACE", ONE_PLACE),
    clause("alter", "tablespace", "TABLESPACE", ONE_PLACE),
    clause("create table", "exclude using", "EXCLUDE", "Compare the rows of two sessions under LOCK TABLE."),
    clause("alter table", "exclude", "EXCLUDE", "Compare the rows of two sessions under LOCK TABLE."),
    clause("create table", "using index", "USING INDEX TABLESPACE", ONE_PLACE),
    clause("create table", "using", "USING", ONE_STORAGE),
    clause("create view", "using", "USING", ONE_STORAGE),
    clause("create table", "without oids", "WITHOUT OIDS", "Leave it out: tables have no oids."),
    clause("create table", "of", "OF", "Define the columns of the table."),
    clause("create table", "compression", "COMPRESSION", ONE_STORAGE),
    clause("alter table", "compression", "COMPRESSION", ONE_STORAGE),
    clause("create table", "no inherit", "NO INHERIT", "Leave it out: tables have no children."),
    clause("alter table", "no inherit", "NO INHERIT", "Leave it out: tables have no children."),
    clause(
        "create table",
        "set null (",
        "ON DELETE SET NULL with columns",
        "Name no columns: all of the key become null.",
    ),
    clause(
        "create table",
        "set default (",
        "ON DELETE SET DEFAULT with columns",
        "Name no columns: all of the key are set.",
    ),
    clause(
        "alter table",
        "set null (",
        "ON DELETE SET NULL with columns",
        "Name no columns: all of the key become null.",
    ),
    clause(
        "alter table",
        "set default (",
        "ON DELETE SET DEFAULT with columns",
        "Name no columns: all of the key are set.",
    ),
    clause("create table", "include", "INCLUDE of a constraint", "Leave it out: rows are read from the table."),
    clause("alter table", "include", "INCLUDE of a constraint", "Leave it out: rows are read from the table."),
    clause("alter table", "with (", "WITH (...) of a constraint", ONE_STORAGE),
    clause("create index", "on only", "ON ONLY", "Leave out ONLY: tables have no partitions."),
    clause("create unique index", "on only", "ON ONLY", "Leave out ONLY: tables have no partitions."),
    clause("create schema", "create", "CREATE SCHEMA with objects", "Create the objects by statements of their own."),
    clause("create schema", "grant", "CREATE SCHEMA with GRANT", "Grant privileges by a statement of its own."),
    clause(
        "alter database",
        "database",
        "this form of ALTER DATABASE",
        "Settings belong to roles: ALTER ROLE ... SET.",
    ),
    clause("alter index", "set (", "ALTER INDEX ... SET", INDEX_AS_MADE),
    clause("alter index", "set tablespace", "ALTER INDEX ... SET TABLESPACE", INDEX_AS_MADE),
    clause("alter index", "reset (", "ALTER INDEX ... RESET", INDEX_AS_MADE),
    clause("alter index", "alter", "ALTER INDEX ... ALTER COLUMN", INDEX_AS_MADE),
    clause("alter index", "attach", "ALTER INDEX ... ATTACH PARTITION", "Tables have no partitions."),
    clause("alter index", "depends", "ALTER INDEX ... DEPENDS ON EXTENSION", NO_EXTENSIONS),
    clause("alter index", "no depends", "ALTER INDEX ... NO DEPENDS ON EXTENSION", NO_EXTENSIONS),
    clause("alter sequence", "set logged", "ALTER SEQUENCE ... SET LOGGED", "Leave it out: all sequences are logged."),
    clause(
        "alter sequence",
        "set unlogged",
        "ALTER SEQUENCE ... SET UNLOGGED",
        "Leave it out: all sequences are logged.",
    ),
    clause("alter type", "add attribute", "ALTER TYPE ... ADD ATTRIBUTE", ENUMERATED_ONLY),
    clause("alter type", "drop attribute", "ALTER TYPE ... DROP ATTRIBUTE", ENUMERATED_ONLY),
    clause("alter type", "alter attribute", "ALTER TYPE ... ALTER ATTRIBUTE", ENUMERATED_ONLY),
    clause("alter type", "rename attribute", "ALTER TYPE ... RENAME ATTRIBUTE", ENUMERATED_ONLY),
    clause("alter type", "set", "ALTER TYPE ... SET", ENUMERATED_ONLY),
    clause(
        "drop index",
        "concurrently if",
        "DROP INDEX CONCURRENTLY",
        "Leave out CONCURRENTLY: no reader waits for DROP INDEX.",
    ),
    clause(
        "drop index",
        "concurrently",
        "DROP INDEX CONCURRENTLY",
        "Leave out CONCURRENTLY: no reader waits for DROP INDEX.",
    ),
    clause("", "current of", "WHERE CURRENT OF", "Find the row by its key: fetch the key with the cursor."),
    clause("with", "search depth", "SEARCH DEPTH FIRST", PATHS),
    clause("with", "search breadth", "SEARCH BREADTH FIRST", PATHS),
    clause("with", "cycle", "CYCLE", PATHS),
    clause("", "collation for", "COLLATION FOR", "Texts are compared by their bytes, as with COLLATE \"C\"."),
    clause("", "is document", "IS DOCUMENT", XML),
    clause("", "is not document", "IS NOT DOCUMENT", XML),
    clause("", "for read only", "FOR READ ONLY", "Leave it out: it changes nothing."),
    clause("", "group by distinct", "GROUP BY DISTINCT", "Write each grouping set once in GROUPING SETS."),
];

/// Functions with a grammar of their own: the parser stops within their parentheses.
const CALLS: &[(&str, &str, &str)] = &[
    ("treat", "TREAT", "Convert the value with CAST."),
    ("unique", "UNIQUE predicate", "Compare count(*) with count(*) of SELECT DISTINCT."),
    ("xmlelement", "XMLELEMENT", XML),
    ("xmlforest", "XMLFOREST", XML),
    ("xmlparse", "XMLPARSE", XML),
    ("xmlpi", "XMLPI", XML),
    ("xmlroot", "XMLROOT", XML),
    ("xmlserialize", "XMLSERIALIZE", XML),
    ("xmlexists", "XMLEXISTS", XML),
    ("xmltable", "XMLTABLE", XML),
];

/// Refuses XMLPARSE, of which the parser makes a literal of type `document` or `content`.
///
/// # Errors
/// 0A000 if it is called.
pub(super) fn check_calls(sql: &str, tokens: &[TokenWithSpan]) -> Result<(), EngineError> {
    let is_word =
        |token: &Token, text: &str| matches!(token, Token::Word(word) if word.value.eq_ignore_ascii_case(text));
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| is_word(&token.token, "xmlparse")) {
        let mut next = tokens[at + 1..].iter().map(|token| &token.token);
        let mut solid = || next.find(|token| !matches!(token, Token::Whitespace(_)));
        if solid() == Some(&Token::LParen) && solid().is_some_and(|t| is_word(t, "document") || is_word(t, "content")) {
            let error = EngineError::unsupported("XMLPARSE is not supported").with_hint(XML);
            return Err(error.with_position(character_of(sql, token.span.start)));
        }
    }
    Ok(())
}

/// The refusal of a statement that begins and stops at these places, if it has an unsupported clause there; otherwise the error.
pub(super) fn refused_clause(sql: &str, start: Location, error: EngineError) -> EngineError {
    let Some(position) = error.position() else { return error };
    let Some(stop) = location_of(sql, position) else { return error };
    let mut tokens: Vec<TokenWithSpan> = Vec::new();
    let dialect = SqlDialect::for_text(sql);
    if Tokenizer::new(&dialect, sql).tokenize_with_location_into_buf(&mut tokens).is_err() {
        return error;
    }
    let is_solid = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_)) && token.span.start >= start;
    let words: Vec<(String, Location)> =
        tokens.iter().filter(is_solid).map(|token| (text_of(&token.token), token.span.start)).collect();
    let Some(at) = words.iter().position(|(_, place)| *place == stop) else { return error };
    let texts: Vec<&str> = words.iter().map(|(text, _)| text.as_str()).collect();
    match clause_at(&texts, at).or_else(|| call_around(&texts, at)) {
        Some((name, hint)) => EngineError::unsupported(format!("{name} is not supported"))
            .with_hint(hint)
            .with_position(character_of(sql, stop)),
        None => error,
    }
}

/// A clause whose words are at the place, or right before it.
fn clause_at(texts: &[&str], at: usize) -> Option<(&'static str, &'static str)> {
    let is_there = |clause: &&Clause| {
        let words: Vec<&str> = clause.words.split(' ').collect();
        let first = at.saturating_sub(words.len());
        texts_begin(texts, clause.within) && (first..=at).any(|from| texts[from..].starts_with(&words))
    };
    CLAUSES.iter().find(is_there).map(|clause| (clause.name, clause.hint))
}

fn texts_begin(texts: &[&str], words: &str) -> bool {
    let is_told = |text: &&&str| !["temp", "temporary", "local", "global", "unlogged", "materialized"].contains(*text);
    let mut texts = texts.iter().filter(is_told);
    words.is_empty() || words.split(' ').all(|word| texts.next() == Some(&word))
}

/// A function whose parentheses are open at the place.
fn call_around(texts: &[&str], at: usize) -> Option<(&'static str, &'static str)> {
    let mut closed = 0_usize;
    for from in (1..at).rev() {
        match texts[from] {
            ")" => closed += 1,
            "(" if closed > 0 => closed -= 1,
            "(" => {
                let called = CALLS.iter().find(|(word, ..)| *word == texts[from - 1]);
                if let Some((_, name, hint)) = called {
                    return Some((name, hint));
                }
            }
            _ => {}
        }
    }
    None
}

fn text_of(token: &Token) -> String {
    word_of(token).unwrap_or_else(|| token.to_string())
}

/// The line and column of a character of the text, both from 1.
fn location_of(sql: &str, position: usize) -> Option<Location> {
    let (mut line, mut column) = (1, 1);
    for c in sql.chars().take(position.checked_sub(1)?) {
        (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
    }
    Some(Location { line, column })
}

#[cfg(test)]
mod tests {
    use super::super::Statement;

    fn refused(sql: &str) -> (String, String) {
        let error = Statement::parse(sql).unwrap_err();
        (error.sqlstate().to_owned(), error.message().to_owned())
    }

    #[test]
    fn clauses_are_refused_by_name() {
        for (sql, name) in [
            ("create table t (a int) using heap", "USING"),
            ("create temp table t using heap as select 1", "USING"),
            ("create table t (a int primary key using index tablespace x)", "USING INDEX TABLESPACE"),
            ("create index on t (a) tablespace x", "TABLESPACE"),
            ("create table t (a int, exclude using gist (a with =))", "EXCLUDE"),
            ("create table t of x", "OF"),
            ("create table t (a int references u on delete set null (a))", "ON DELETE SET NULL with columns"),
            ("alter table t add unique (a) include (b)", "INCLUDE of a constraint"),
            ("alter index i set (fillfactor = 70)", "ALTER INDEX ... SET"),
            ("alter type c add attribute a int", "ALTER TYPE ... ADD ATTRIBUTE"),
            ("select 1; delete from t where current of c", "WHERE CURRENT OF"),
            ("with recursive w as (select 1) cycle a set b using c select 1", "CYCLE"),
            ("select 'ä', xmlelement(name foo, coalesce(1))", "XMLELEMENT"),
            ("select xmlforest(1 as a)", "XMLFOREST"),
            ("select treat(1 as int)", "TREAT"),
            ("select x is document", "IS DOCUMENT"),
        ] {
            assert_eq!(refused(sql), ("0A000".to_owned(), format!("{name} is not supported")), "{sql}");
        }
    }

    #[test]
    fn errors_of_syntax_stay() {
        for sql in [
            "create table t (a int",
            "select 1 frm t",
            "delete from t where current x",
            "alter table t add",
            "selec tablespace",
        ] {
            assert_eq!(refused(sql).0, "42601", "{sql}");
        }
    }
}
