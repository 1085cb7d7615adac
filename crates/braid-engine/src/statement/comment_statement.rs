//! COMMENT ON as written: sqlparser reads some kinds of objects only, and an IF EXISTS that PostgreSQL does not have.

use sqlparser::ast::{DataType, Ident, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// `COMMENT ON object IS text`
#[derive(Debug)]
pub(crate) struct CommentStatement {
    /// What the comment is about.
    pub object: CommentObject,
    /// The text; `None` for NULL.
    pub text: Option<String>,
}

/// What a comment is about.
#[derive(Debug)]
pub(crate) enum CommentObject {
    /// A relation that is to be of a kind.
    Relation(CommentedRelation, ObjectName),
    /// A column: its name behind that of its relation.
    Column(ObjectName),
    /// A constraint of a table.
    Constraint(Ident, ObjectName),
    /// A trigger, rule or policy of a table, and how PostgreSQL names the table beside it.
    OfTable(&'static str, Ident, &'static str, ObjectName),
    /// A schema.
    Schema(Ident),
    /// A type.
    Type(DataType),
    /// A domain.
    Domain(DataType),
    /// A constraint of a domain.
    DomainConstraint(Ident, DataType),
    /// A database.
    Database(Ident),
    /// A role.
    Role(Ident),
    /// Something of a kind that no database of Braid has any of: the kind, as messages have it.
    Absent(&'static str, Ident),
    /// Something of a kind that is not supported, in capital letters.
    Unsupported(&'static str),
}

/// The kind of relation that a comment is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommentedRelation {
    Table,
    View,
    MaterializedView,
    Index,
    Sequence,
    ForeignTable,
}

const RELATIONS: [(&str, CommentedRelation); 6] = [
    ("table", CommentedRelation::Table),
    ("view", CommentedRelation::View),
    ("materialized view", CommentedRelation::MaterializedView),
    ("index", CommentedRelation::Index),
    ("sequence", CommentedRelation::Sequence),
    ("foreign table", CommentedRelation::ForeignTable),
];

const OF_TABLES: [(&str, &str); 3] = [("policy", "table"), ("rule", "relation"), ("trigger", "table")];

/// The words, and the kind in messages.
const ABSENT: [(&str, &str); 6] = [
    ("event trigger", "event trigger"),
    ("extension", "extension"),
    ("foreign data wrapper", "foreign-data wrapper"),
    ("publication", "publication"),
    ("server", "server"),
    ("subscription", "subscription"),
];

/// The words, and the kind in messages. All of PostgreSQL's other kinds: the system has some of each.
const UNSUPPORTED: [(&str, &str); 19] = [
    ("access method", "ACCESS METHOD"),
    ("aggregate", "AGGREGATE"),
    ("cast", "CAST"),
    ("collation", "COLLATION"),
    ("conversion", "CONVERSION"),
    ("function", "FUNCTION"),
    ("language", "LANGUAGE"),
    ("procedural language", "LANGUAGE"),
    ("large object", "LARGE OBJECT"),
    ("operator", "OPERATOR"),
    ("procedure", "PROCEDURE"),
    ("routine", "ROUTINE"),
    ("statistics", "STATISTICS"),
    ("tablespace", "TABLESPACE"),
    ("text search configuration", "TEXT SEARCH CONFIGURATION"),
    ("text search dictionary", "TEXT SEARCH DICTIONARY"),
    ("text search parser", "TEXT SEARCH PARSER"),
    ("text search template", "TEXT SEARCH TEMPLATE"),
    ("transform", "TRANSFORM"),
];

impl CommentStatement {
    /// Reads a statement; `None` if it is none of these, and nothing is read then.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Option<Self>, ParserError> {
        if !consume_words(parser, "comment on") {
            return Ok(None);
        }
        let object = CommentObject::parse(parser)?;
        parser.expect_keyword_is(Keyword::IS)?;
        Ok(Some(Self { object, text: parse_text(parser)? }))
    }
}

impl CommentObject {
    fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        if let Some((_, kind)) = RELATIONS.iter().find(|(words, _)| consume_words(parser, words)) {
            return Ok(Self::Relation(*kind, parser.parse_object_name(false)?));
        }
        if let Some((kind, relation)) = OF_TABLES.iter().find(|(word, _)| consume_words(parser, word)) {
            let name = parser.parse_identifier()?;
            parser.expect_keyword_is(Keyword::ON)?;
            return Ok(Self::OfTable(kind, name, relation, parser.parse_object_name(false)?));
        }
        if let Some((_, kind)) = ABSENT.iter().find(|(words, _)| consume_words(parser, words)) {
            return Ok(Self::Absent(kind, parser.parse_identifier()?));
        }
        if let Some((_, kind)) = UNSUPPORTED.iter().find(|(words, _)| consume_words(parser, words)) {
            skip_to_is(parser);
            return Ok(Self::Unsupported(kind));
        }
        let next = parser.next_token();
        match word_of(&next.token).as_deref() {
            Some("column") => Ok(Self::Column(parser.parse_object_name(false)?)),
            Some("constraint") => Self::parse_constraint(parser),
            Some("schema") => Ok(Self::Schema(parser.parse_identifier()?)),
            Some("type") => Ok(Self::Type(parser.parse_data_type()?)),
            Some("domain") => Ok(Self::Domain(parser.parse_data_type()?)),
            Some("database") => Ok(Self::Database(parser.parse_identifier()?)),
            Some("role") => Ok(Self::Role(parser.parse_identifier()?)),
            _ => parser.expected("a kind of object", next),
        }
    }

    fn parse_constraint(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        let name = parser.parse_identifier()?;
        parser.expect_keyword_is(Keyword::ON)?;
        match parser.parse_keyword(Keyword::DOMAIN) {
            true => Ok(Self::DomainConstraint(name, parser.parse_data_type()?)),
            false => Ok(Self::Constraint(name, parser.parse_object_name(false)?)),
        }
    }
}

/// A string, or NULL.
fn parse_text(parser: &mut Parser<'_>) -> Result<Option<String>, ParserError> {
    let next = parser.next_token();
    match (string_of(&next.token), &next.token) {
        (Some(text), _) => Ok(Some(text)),
        (None, Token::Word(word)) if word.quote_style.is_none() && word.keyword == Keyword::NULL => Ok(None),
        _ => parser.expected("a string or NULL", next),
    }
}

/// The text of a string of any form.
pub(super) fn string_of(token: &Token) -> Option<String> {
    match token {
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) | Token::UnicodeStringLiteral(text) => {
            Some(text.clone())
        }
        Token::DollarQuotedString(quoted) => Some(quoted.value.clone()),
        _ => None,
    }
}

/// Passes over what stands before IS: a name with the types of its arguments, for example.
fn skip_to_is(parser: &mut Parser<'_>) {
    let is_end = |token: &Token| matches!(token, Token::EOF | Token::SemiColon);
    while !is_end(&parser.peek_token().token) && word_of(&parser.peek_token().token).as_deref() != Some("is") {
        parser.next_token();
    }
}

/// Reads these words if they come next, in any case.
pub(super) fn consume_words(parser: &mut Parser<'_>, words: &str) -> bool {
    let is_next = |(at, word): (usize, &str)| word_of(&parser.peek_nth_token(at).token).as_deref() == Some(word);
    let found = words.split(' ').enumerate().all(is_next);
    if found {
        words.split(' ').for_each(|_| drop(parser.next_token()));
    }
    found
}

/// A word without quotes, in lower case.
pub(super) fn word_of(token: &Token) -> Option<String> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_ascii_lowercase()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Command, Statement};

    fn check(sql: &str, object: &str, text: Option<&str>) {
        let statement = Statement::parse(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}")).remove(0);
        let Command::Comment(comment) = statement.command() else { panic!("{statement:?}") };
        let read = format!("{:?}", comment.object);
        assert!(read.starts_with(object), "{sql}: {read}");
        assert_eq!(comment.text.as_deref(), text, "{sql}");
    }

    #[test]
    fn texts_are_strings_of_any_form_or_null() {
        for (text, expected) in [
            ("'a''b'", Some("a'b")),
            ("E'a\\nb'", Some("a\nb")),
            ("$$a 'b'$$", Some("a 'b'")),
            ("U&'\\0041'", Some("A")),
            ("''", Some("")),
            ("NULL", None),
        ] {
            check(&format!("comment on table t is {text}"), "Relation(Table", expected);
        }
        for text in ["t", "B'1'", "'a' || 'b'", "1", ""] {
            let read = Statement::parse(&format!("comment on table t is {text}"));
            assert_eq!(read.unwrap_err().sqlstate(), "42601", "{text}");
        }
    }

    #[test]
    fn objects_of_all_kinds_are_read() {
        for (object, expected) in [
            ("materialized view s.v", "Relation(MaterializedView"),
            ("foreign table t", "Relation(ForeignTable"),
            ("column s.t.a", "Column("),
            ("constraint c on t", "Constraint("),
            ("constraint c on domain d", "DomainConstraint("),
            ("trigger r on s.t", "OfTable(\"trigger\""),
            ("type mood[]", "Type("),
            ("foreign data wrapper w", "Absent(\"foreign-data wrapper\""),
            ("function f(int, text)", "Unsupported(\"FUNCTION\")"),
            ("operator + (int, int)", "Unsupported(\"OPERATOR\")"),
            ("cast (int as text)", "Unsupported(\"CAST\")"),
        ] {
            check(&format!("Comment ON {object} IS 'x'"), expected, Some("x"));
        }
        for object in ["user u", "table if exists t", "schema a.b", "x", "function f"] {
            let suffix = if object == "function f" { "" } else { " is 'x'" };
            let read = Statement::parse(&format!("comment on {object}{suffix}"));
            assert_eq!(read.unwrap_err().sqlstate(), "42601", "{object}");
        }
    }
}
