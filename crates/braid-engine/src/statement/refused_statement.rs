//! Statements of PostgreSQL about kinds of objects that Braid does not have, and others that it refuses by their names.
//!
//! They are known by their first words, and not read further: the parser reads some of them, some in other products' ways, and some not at
//! all. Each refusal says what to do instead. DROP of some kinds is read by [`super::absent_statement`], because scripts begin with it.

use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::comment_statement::{consume_words, word_of};

/// What is refused, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// What it is called.
    pub name: String,
    /// A sentence.
    pub hint: &'static str,
}

/// A kind of object that there is none of.
struct Kind {
    words: &'static str,
    /// The statements about it.
    verbs: &'static [Keyword],
    hint: &'static str,
}

const CREATE: &[Keyword] = &[Keyword::CREATE];
const CREATE_DROP: &[Keyword] = &[Keyword::CREATE, Keyword::DROP];
const CREATE_ALTER: &[Keyword] = &[Keyword::CREATE, Keyword::ALTER];
const ALTER: &[Keyword] = &[Keyword::ALTER];
const ALL: &[Keyword] = &[Keyword::CREATE, Keyword::ALTER, Keyword::DROP];

const CODE: &str = "Write expressions where they are needed, and statements into a DO block or the client.";
const RULES: &str = "Let constraints, generated columns and ON CONFLICT do the work, or the client.";
const FOREIGN: &str = "Load the data with COPY.";
const REPLICATION: &str = "Copy the data with COPY; there is no replication.";
const SEARCH: &str = "Search texts with LIKE or regular expressions.";
const LANGUAGES: &str = "DO blocks are written in plpgsql.";
const OPERATORS: &str = "Write a function or an operator that there is.";
const DATABASES: &str = "A server has one database; keep objects apart in schemas.";
const PLACES: &str = "All data is in the data directory of the server.";
const NO_TRIGGERS: &str = "Leave it out: tables have no triggers, and foreign keys are always checked.";
const NO_RULES: &str = "Leave it out: tables have no rules.";
const POLICIES: &str = "Grant privileges on views that select the rows.";

const fn kind(words: &'static str, verbs: &'static [Keyword], hint: &'static str) -> Kind {
    Kind { words, verbs, hint }
}

const KINDS: &[Kind] = &[
    kind("access method", ALL, "Tables and indexes have one access method each."),
    kind("aggregate", CREATE_ALTER, CODE),
    kind("cast", CREATE_DROP, "Call a function that converts the value."),
    kind("collation", ALL, "Texts are compared by their bytes, as with COLLATE \"C\"."),
    kind("conversion", ALL, "Texts are in UTF8."),
    kind("default conversion", CREATE, "Texts are in UTF8."),
    kind("database", CREATE_DROP, DATABASES),
    kind("event trigger", CREATE_ALTER, RULES),
    kind("extension", CREATE_ALTER, "Leave it out: no extension can be installed."),
    kind("foreign data wrapper", CREATE_ALTER, FOREIGN),
    kind("foreign table", ALL, FOREIGN),
    kind("function", CREATE_ALTER, CODE),
    kind("language", ALL, LANGUAGES),
    kind("procedural language", ALL, LANGUAGES),
    kind("trusted language", CREATE, LANGUAGES),
    kind("trusted procedural language", CREATE, LANGUAGES),
    kind("large object", ALTER, "Store the bytes in a column of type bytea."),
    kind("operator class", ALL, OPERATORS),
    kind("operator family", ALL, OPERATORS),
    kind("operator", ALL, OPERATORS),
    kind("policy", CREATE_ALTER, POLICIES),
    kind("procedure", CREATE_ALTER, CODE),
    kind("publication", CREATE_ALTER, REPLICATION),
    kind("routine", ALTER, CODE),
    kind("rule", CREATE_ALTER, RULES),
    kind("server", CREATE_ALTER, FOREIGN),
    kind("statistics", ALL, "Leave it out: the planner counts distinct values by itself."),
    kind("subscription", CREATE_ALTER, REPLICATION),
    kind("system", ALTER, "Set it for a role (ALTER ROLE ... SET), or as an option of the server."),
    kind("tablespace", ALL, PLACES),
    kind("text search configuration", ALL, SEARCH),
    kind("text search dictionary", ALL, SEARCH),
    kind("text search parser", ALL, SEARCH),
    kind("text search template", ALL, SEARCH),
    kind("transform", CREATE_DROP, LANGUAGES),
    kind("trigger", CREATE_ALTER, RULES),
    kind("constraint trigger", CREATE, RULES),
    // Without these words it is a role of this name.
    kind("user mapping for", ALL, FOREIGN),
    kind("user mapping if", CREATE_DROP, FOREIGN),
    kind("unlogged table", CREATE, "Leave out UNLOGGED, or create a temporary table."),
    kind("table all in tablespace", ALTER, PLACES),
    kind("index all in tablespace", ALTER, PLACES),
    kind("materialized view all in tablespace", ALTER, PLACES),
];

/// Other statements: how they begin, what they are called, and what to do instead.
const OTHERS: &[(&str, &str, &str)] = &[
    ("call", "CALL", "Write the statements into a DO block."),
    ("load", "LOAD", "Leave it out: no library can be loaded."),
    ("import foreign schema", "IMPORT FOREIGN SCHEMA", FOREIGN),
    ("security label", "SECURITY LABEL", "Leave it out: there are no providers of labels."),
    ("prepare transaction", "PREPARE TRANSACTION", "Commit the transaction with COMMIT."),
    ("commit prepared", "COMMIT PREPARED", "Commit the transaction with COMMIT."),
    ("rollback prepared", "ROLLBACK PREPARED", "Roll the transaction back with ROLLBACK."),
    ("set schema", "SET SCHEMA", "Set the search path: SET search_path TO public."),
    ("set xml option", "SET XML OPTION", "Store XML in columns of type text."),
];

/// What ALTER TABLE is refused to do, behind the name of the table.
const OF_TABLES: &[(&str, &str, &str)] = &[
    ("inherit", "INHERIT", "Read the tables together with UNION ALL, in a view."),
    ("no inherit", "NO INHERIT", "Tables have no parents."),
    ("attach partition", "ATTACH PARTITION", "Put the rows into one table; its chunks are skipped by their values."),
    ("detach partition", "DETACH PARTITION", "Tables have no partitions."),
    ("set tablespace", "SET TABLESPACE", PLACES),
    ("set access method", "SET ACCESS METHOD", "Tables have one access method."),
    ("of", "OF", "Define the columns of the table."),
    ("not of", "NOT OF", "No table has a type."),
    ("disable trigger", "DISABLE TRIGGER", NO_TRIGGERS),
    ("enable trigger", "ENABLE TRIGGER", NO_TRIGGERS),
    ("enable replica trigger", "ENABLE REPLICA TRIGGER", NO_TRIGGERS),
    ("enable always trigger", "ENABLE ALWAYS TRIGGER", NO_TRIGGERS),
    ("disable rule", "DISABLE RULE", NO_RULES),
    ("enable rule", "ENABLE RULE", NO_RULES),
    ("enable replica rule", "ENABLE REPLICA RULE", NO_RULES),
    ("enable always rule", "ENABLE ALWAYS RULE", NO_RULES),
    ("enable row level security", "ENABLE ROW LEVEL SECURITY", POLICIES),
    ("force row level security", "FORCE ROW LEVEL SECURITY", POLICIES),
];

/// Such a statement, whose tokens are passed over; `None` for others, and nothing is read then.
pub(super) fn parse_refused(parser: &mut Parser<'_>, first: Keyword) -> Option<Refused> {
    let refused = match first {
        Keyword::CREATE | Keyword::ALTER | Keyword::DROP => {
            let of_kind = parser.maybe_parse(|parser| parse_kind(parser, first)).ok().flatten();
            match (of_kind, first) {
                (None, Keyword::ALTER) => parser.maybe_parse(parse_refused_of_table).ok().flatten()?,
                (of_kind, _) => of_kind?,
            }
        }
        // The most frequent ones are none of these.
        Keyword::SELECT | Keyword::INSERT | Keyword::UPDATE | Keyword::DELETE | Keyword::WITH => return None,
        _ => {
            let (_, name, hint) = OTHERS.iter().find(|(words, ..)| consume_words(parser, words))?;
            Refused { name: (*name).to_owned(), hint }
        }
    };
    pass_over(parser);
    Some(refused)
}

fn parse_kind(parser: &mut Parser<'_>, verb: Keyword) -> Result<Refused, ParserError> {
    parser.expect_keyword_is(verb)?;
    if verb == Keyword::CREATE {
        let _ = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    }
    let is_next = |kind: &&Kind| kind.verbs.contains(&verb) && consume_words(parser, kind.words);
    match KINDS.iter().find(is_next) {
        Some(kind) => {
            let words = kind.words.trim_end_matches(" for").trim_end_matches(" if").to_ascii_uppercase();
            Ok(Refused { name: format!("{verb:?} {words}"), hint: kind.hint })
        }
        None => parser.expected("a kind of object", parser.peek_token()),
    }
}

fn parse_refused_of_table(parser: &mut Parser<'_>) -> Result<Refused, ParserError> {
    parser.expect_keywords(&[Keyword::ALTER, Keyword::TABLE])?;
    let _ = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let _ = parser.parse_keyword(Keyword::ONLY);
    parser.parse_object_name(false)?;
    match OF_TABLES.iter().find(|(words, ..)| consume_words(parser, words)) {
        Some((_, name, hint)) => Ok(Refused { name: format!("ALTER TABLE ... {name}"), hint }),
        None => parser.expected("another action", parser.peek_token()),
    }
}

/// Passes over the rest of a statement. A rule may have several in parentheses, and a function several between BEGIN ATOMIC and END.
fn pass_over(parser: &mut Parser<'_>) {
    let mut depth = 0_usize;
    loop {
        match &parser.peek_token_ref().token {
            Token::EOF => return,
            Token::SemiColon if depth == 0 => return,
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            token => match word_of(token).as_deref() {
                Some("begin") if word_of(&parser.peek_nth_token(1).token).as_deref() == Some("atomic") => depth += 1,
                Some("case") if depth > 0 => depth += 1,
                Some("end") => depth = depth.saturating_sub(1),
                _ => {}
            },
        }
        parser.advance_token();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Command, Statement, StatementKind};

    #[test]
    fn objects_that_there_are_none_of_are_refused_by_name() {
        for (sql, name) in [
            ("create or replace procedure p(a int) language sql as 'select 1'", "CREATE PROCEDURE"),
            (
                "CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT case when true then 2 end; END",
                "CREATE FUNCTION",
            ),
            ("create rule r as on insert to t do also (select 1; select 2)", "CREATE RULE"),
            ("alter text search dictionary d rename to x", "ALTER TEXT SEARCH DICTIONARY"),
            ("drop text search template if exists d", "DROP TEXT SEARCH TEMPLATE"),
            ("drop operator if exists === (int, int)", "DROP OPERATOR"),
            ("alter table if exists only s.t attach partition p default", "ALTER TABLE ... ATTACH PARTITION"),
            ("alter system set work_mem = '4MB'", "ALTER SYSTEM"),
            ("create unlogged table t (a int)", "CREATE UNLOGGED TABLE"),
            ("prepare transaction 'x'", "PREPARE TRANSACTION"),
            ("call p(1)", "CALL"),
        ] {
            let statements = Statement::parse(&format!("{sql}; select 1")).unwrap();
            let Command::Refused(refused) = statements[0].command() else { panic!("{statements:?}") };
            assert_eq!((refused.name.as_str(), statements.len()), (name, 2), "{sql}");
            assert!(refused.hint.ends_with('.'), "{sql}");
            assert_eq!(statements[0].kind(), StatementKind::Unsupported);
        }
    }

    #[test]
    fn others_are_read() {
        for sql in ["drop function if exists f(int)", "alter table t add a int", "prepare p as select 1", "commit"] {
            let statements = Statement::parse(sql).unwrap();
            assert!(!matches!(statements[0].command(), Command::Refused(_)), "{sql}");
        }
    }
}
