//! DROP of kinds of objects that users cannot create in Braid, as written: functions, triggers, rules, extensions and the like. Scripts drop them
//! with IF EXISTS before they create what they need.

use sqlparser::ast::{DataType, Ident, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::comment_statement::consume_words;

/// `DROP … [IF EXISTS] … [CASCADE]`
#[derive(Debug)]
pub(crate) struct DropAbsent {
    /// The command tag.
    pub tag: &'static str,
    /// What messages call such an object.
    pub noun: &'static str,
    /// Whether it says IF EXISTS.
    pub if_exists: bool,
    /// Which ones.
    pub objects: AbsentObjects,
}

/// Objects that users cannot create.
#[derive(Debug)]
pub(crate) enum AbsentObjects {
    /// Functions, procedures and aggregates.
    Routines(Vec<RoutineName>),
    /// A trigger, rule or policy of a relation.
    OfRelation(Ident, ObjectName),
    /// Those that stand in no schema.
    Named(Vec<Ident>),
}

/// A function by its name and the types of its arguments.
#[derive(Debug)]
pub(crate) struct RoutineName {
    /// The name.
    pub name: ObjectName,
    /// The types of its arguments without those that it only returns, if they are written.
    pub arguments: Option<Vec<DataType>>,
}

const ROUTINES: [(&str, &str, &str); 4] = [
    ("drop function", "function", "DROP FUNCTION"),
    ("drop procedure", "procedure", "DROP PROCEDURE"),
    ("drop routine", "routine", "DROP ROUTINE"),
    ("drop aggregate", "aggregate", "DROP AGGREGATE"),
];

const OF_RELATIONS: [(&str, &str, &str); 3] = [
    ("drop trigger", "trigger", "DROP TRIGGER"),
    ("drop rule", "rule", "DROP RULE"),
    ("drop policy", "policy", "DROP POLICY"),
];

const NAMED: [(&str, &str, &str); 6] = [
    ("drop extension", "extension", "DROP EXTENSION"),
    ("drop event trigger", "event trigger", "DROP EVENT TRIGGER"),
    ("drop publication", "publication", "DROP PUBLICATION"),
    ("drop subscription", "subscription", "DROP SUBSCRIPTION"),
    ("drop server", "server", "DROP SERVER"),
    ("drop foreign data wrapper", "foreign-data wrapper", "DROP FOREIGN DATA WRAPPER"),
];

impl DropAbsent {
    /// Reads a statement; `None` if it is none of these, and nothing is read then.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Option<Self>, ParserError> {
        parser.maybe_parse(parse_drop)
    }
}

fn parse_drop(parser: &mut Parser<'_>) -> Result<DropAbsent, ParserError> {
    let begun = |parser: &mut Parser<'_>, of: &[(&str, &'static str, &'static str)]| {
        let (_, noun, tag) = of.iter().find(|(words, ..)| consume_words(parser, words))?;
        Some((*noun, *tag, parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS])))
    };
    let (begun, objects) = if let Some(begun) = begun(parser, &ROUTINES) {
        let needs_arguments = begun.0 == "aggregate";
        (begun, AbsentObjects::Routines(parser.parse_comma_separated(|parser| parse_routine(parser, needs_arguments))?))
    } else if let Some(begun) = begun(parser, &OF_RELATIONS) {
        let name = parser.parse_identifier()?;
        parser.expect_keyword_is(Keyword::ON)?;
        (begun, AbsentObjects::OfRelation(name, parser.parse_object_name(false)?))
    } else if let Some(begun) = begun(parser, &NAMED) {
        (begun, AbsentObjects::Named(parser.parse_comma_separated(Parser::parse_identifier)?))
    } else {
        return parser.expected("a kind of object", parser.peek_token());
    };
    let _ = parser.parse_one_of_keywords(&[Keyword::CASCADE, Keyword::RESTRICT]);
    let (noun, tag, if_exists) = begun;
    match parser.peek_token().token {
        Token::EOF | Token::SemiColon => Ok(DropAbsent { tag, noun, if_exists, objects }),
        _ => parser.expected("end of statement", parser.peek_token()),
    }
}

fn parse_routine(parser: &mut Parser<'_>, needs_arguments: bool) -> Result<RoutineName, ParserError> {
    let name = parser.parse_object_name(false)?;
    if !needs_arguments && parser.peek_token() != Token::LParen {
        return Ok(RoutineName { name, arguments: None });
    }
    parser.expect_token(&Token::LParen)?;
    let has_none = needs_arguments && parser.consume_token(&Token::Mul);
    let mut arguments = Vec::new();
    if !has_none && parser.peek_token() != Token::RParen {
        arguments = parser.parse_comma_separated(parse_argument)?.into_iter().flatten().collect();
    }
    parser.expect_token(&Token::RParen)?;
    Ok(RoutineName { name, arguments: Some(arguments) })
}

/// The type of an argument; `None` if the function only returns it.
fn parse_argument(parser: &mut Parser<'_>) -> Result<Option<DataType>, ParserError> {
    let mode = ["inout", "in out", "in", "out", "variadic"].into_iter().find(|mode| consume_words(parser, mode));
    let to_the_end = |parser: &mut Parser<'_>| {
        let data_type = parser.parse_data_type()?;
        match parser.peek_token().token {
            Token::Comma | Token::RParen => Ok(data_type),
            _ => parser.expected("the next argument", parser.peek_token()),
        }
    };
    let data_type = match parser.maybe_parse(to_the_end)? {
        Some(data_type) => data_type,
        None => {
            parser.parse_identifier()?;
            to_the_end(parser)?
        }
    };
    Ok((mode != Some("out")).then_some(data_type))
}

#[cfg(test)]
mod tests {
    use super::super::{Command, Statement, StatementKind};
    use super::*;

    fn drop_of(sql: &str) -> Statement {
        Statement::parse(sql).unwrap().remove(0)
    }

    #[test]
    fn objects_are_read_with_their_arguments() {
        let statement = drop_of("drop function if exists s.f(a int, out b text, variadic c int[]), g, h() cascade;");
        assert_eq!(statement.kind(), StatementKind::DropAbsent);
        let Command::DropAbsent(dropped) = statement.command() else { panic!("{statement:?}") };
        assert!(dropped.if_exists);
        let AbsentObjects::Routines(routines) = &dropped.objects else { panic!("{dropped:?}") };
        let shown: Vec<_> = routines
            .iter()
            .map(|routine| {
                let types = routine.arguments.as_ref();
                (routine.name.to_string(), types.map(|types| types.iter().map(ToString::to_string).collect::<Vec<_>>()))
            })
            .collect();
        let arguments = |types: &[&str]| Some(types.iter().map(|name| (*name).to_owned()).collect());
        assert_eq!(
            shown,
            [("s.f".into(), arguments(&["INT", "INT[]"])), ("g".into(), None), ("h".into(), arguments(&[]))]
        );
    }

    #[test]
    fn other_objects_have_names() {
        for (sql, tag) in [
            ("drop trigger if exists x on s.t cascade", "DROP TRIGGER"),
            ("DROP RULE \"X\" ON t", "DROP RULE"),
            ("drop policy x on t", "DROP POLICY"),
            ("drop extension if exists a, b", "DROP EXTENSION"),
            ("drop event trigger x restrict", "DROP EVENT TRIGGER"),
            ("drop aggregate a(*)", "DROP AGGREGATE"),
            ("drop foreign data wrapper x", "DROP FOREIGN DATA WRAPPER"),
        ] {
            let statement = drop_of(sql);
            let Command::DropAbsent(dropped) = statement.command() else { panic!("{statement:?}") };
            assert_eq!(dropped.tag, tag, "{sql}");
            assert!(statement.kind().writes());
        }
        for sql in ["drop aggregate a", "drop function f(", "drop extension", "drop rule x on t y"] {
            assert!(Statement::parse(sql).is_err(), "{sql}");
        }
    }
}
