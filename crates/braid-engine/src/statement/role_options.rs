//! Options of roles as written.

use std::mem::{Discriminant, discriminant};

use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use super::Statement;
use super::comment_statement::{consume_words, string_of, word_of};
use super::places::character_of;
use super::role_names::{RoleName, word_as_name};
use super::syntax_errors::refusal;
use crate::names::fold;
use crate::{EngineError, SqlState};

/// The options of CREATE ROLE or ALTER ROLE, in the order in which they are written.
#[derive(Debug, Default)]
pub(crate) struct RoleOptions {
    written: Vec<(RoleOption, Location)>,
}

/// An option of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RoleOption {
    /// SUPERUSER, NOSUPERUSER
    Superuser(bool),
    /// INHERIT, NOINHERIT
    Inherit(bool),
    /// CREATEROLE, NOCREATEROLE
    CreateRole(bool),
    /// CREATEDB, NOCREATEDB
    CreateDb(bool),
    /// LOGIN, NOLOGIN
    Login(bool),
    /// REPLICATION, NOREPLICATION
    Replication(bool),
    /// BYPASSRLS, NOBYPASSRLS
    BypassRls(bool),
    /// CONNECTION LIMIT: -1 for none; other negative numbers are refused when it is executed.
    ConnectionLimit(i64),
    /// PASSWORD, ENCRYPTED PASSWORD; `None` for NULL, which only the former takes.
    Password(Option<String>),
    /// VALID UNTIL
    ValidUntil(String),
    /// SYSID, which PostgreSQL ignores.
    SysId,
    /// IN ROLE, IN GROUP: the roles that it becomes a member of.
    InRoles(Vec<RoleName>),
    /// ROLE, USER: its members.
    Members(Vec<RoleName>),
    /// ADMIN: its members that may let others become members.
    Admins(Vec<RoleName>),
}

/// The statement that options stand in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OptionPlace {
    /// CREATE ROLE.
    Create,
    /// ALTER ROLE, which takes fewer.
    Alter,
}

/// The options that are words. INHERIT is a word of the grammar, the others are names to it.
static FLAGS: [(&str, RoleOption); 14] = [
    ("superuser", RoleOption::Superuser(true)),
    ("nosuperuser", RoleOption::Superuser(false)),
    ("inherit", RoleOption::Inherit(true)),
    ("noinherit", RoleOption::Inherit(false)),
    ("createrole", RoleOption::CreateRole(true)),
    ("nocreaterole", RoleOption::CreateRole(false)),
    ("createdb", RoleOption::CreateDb(true)),
    ("nocreatedb", RoleOption::CreateDb(false)),
    ("login", RoleOption::Login(true)),
    ("nologin", RoleOption::Login(false)),
    ("replication", RoleOption::Replication(true)),
    ("noreplication", RoleOption::Replication(false)),
    ("bypassrls", RoleOption::BypassRls(true)),
    ("nobypassrls", RoleOption::BypassRls(false)),
];

impl RoleOptions {
    /// Reads `[WITH] option …` up to the end of the statement.
    pub(super) fn parse(parser: &mut Parser<'_>, place: OptionPlace) -> Result<Self, ParserError> {
        let _ = parser.parse_keyword(Keyword::WITH);
        let mut written = Vec::new();
        loop {
            let first = parser.peek_token();
            if matches!(first.token, Token::EOF | Token::SemiColon) {
                return Ok(Self { written });
            }
            written.push((parse_option(parser, place, &first)?, first.span.start));
        }
    }

    /// The options.
    pub fn iter(&self) -> impl Iterator<Item = &RoleOption> {
        self.written.iter().map(|(option, _)| option)
    }

    /// The first option that says something about what an earlier one is about, and its place. SYSID may be repeated.
    pub fn repeated(&self) -> Option<(&RoleOption, Location)> {
        let mut seen: Vec<Discriminant<RoleOption>> = Vec::new();
        self.written.iter().map(|(option, place)| (option, *place)).find(|(option, _)| {
            let kind = discriminant(*option);
            let is_repeated = seen.contains(&kind) && **option != RoleOption::SysId;
            seen.push(kind);
            is_repeated
        })
    }
}

impl Statement {
    /// The refusal of an option of this statement that stands at `place`, behind another one of its kind.
    pub(crate) fn repeated_option(&self, place: Location) -> EngineError {
        let error = EngineError::new(SqlState::SyntaxError, "conflicting or redundant options");
        error.with_position(character_of(&self.origin, place))
    }
}

/// Reads an option, which begins with `first`.
fn parse_option(parser: &mut Parser<'_>, place: OptionPlace, first: &TokenWithSpan) -> Result<RoleOption, ParserError> {
    if consume_words(parser, "password") {
        return parse_password(parser).map(RoleOption::Password);
    }
    if consume_words(parser, "encrypted") {
        parser.expect_keyword_is(Keyword::PASSWORD)?;
        return parse_string(parser).map(Some).map(RoleOption::Password);
    }
    if consume_words(parser, "unencrypted") {
        parser.expect_keyword_is(Keyword::PASSWORD)?;
        parse_string(parser)?;
        let hint = "Remove UNENCRYPTED to store the password in encrypted form instead.";
        let message = "UNENCRYPTED PASSWORD is no longer supported";
        return Err(refusal(SqlState::FeatureNotSupported, message, Some(hint), first));
    }
    if consume_words(parser, "connection") {
        parser.expect_keyword_is(Keyword::LIMIT)?;
        return parse_limit(parser).map(RoleOption::ConnectionLimit);
    }
    if consume_words(parser, "valid") {
        parser.expect_keyword_is(Keyword::UNTIL)?;
        return parse_string(parser).map(RoleOption::ValidUntil);
    }
    if consume_words(parser, "user") {
        return RoleName::parse_list(parser).map(RoleOption::Members);
    }
    match place {
        OptionPlace::Create if consume_words(parser, "sysid") => {
            parse_integer(parser)?;
            Ok(RoleOption::SysId)
        }
        OptionPlace::Create if consume_words(parser, "admin") => RoleName::parse_list(parser).map(RoleOption::Admins),
        OptionPlace::Create if consume_words(parser, "role") => RoleName::parse_list(parser).map(RoleOption::Members),
        OptionPlace::Create if consume_words(parser, "in") => {
            parser.expect_one_of_keywords(&[Keyword::ROLE, Keyword::GROUP])?;
            RoleName::parse_list(parser).map(RoleOption::InRoles)
        }
        _ => parse_flag(parser, first),
    }
}

/// An option that is a word. Words of the grammar that begin no option are syntax errors, names are unknown options.
fn parse_flag(parser: &mut Parser<'_>, first: &TokenWithSpan) -> Result<RoleOption, ParserError> {
    let next = parser.next_token();
    let text = fold(&word_as_name(parser, next)?);
    if let Some((_, option)) = FLAGS.iter().find(|(word, _)| *word == text) {
        return Ok(option.clone());
    }
    let is_of_grammar = matches!(&first.token, Token::Word(word) if word.keyword != Keyword::NoKeyword)
        || word_of(&first.token).as_deref() == Some("sysid");
    match is_of_grammar {
        true => parser.expected("an option", first.clone()),
        false => {
            let message = format!("unrecognized role option \"{text}\"");
            Err(refusal(SqlState::SyntaxError, &message, None, first))
        }
    }
}

fn parse_password(parser: &mut Parser<'_>) -> Result<Option<String>, ParserError> {
    match parser.parse_keyword(Keyword::NULL) {
        true => Ok(None),
        false => parse_string(parser).map(Some),
    }
}

/// A string of any form.
pub(super) fn parse_string(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    let next = parser.next_token();
    match string_of(&next.token) {
        Some(text) => Ok(text),
        None => parser.expected("a string", next),
    }
}

fn parse_limit(parser: &mut Parser<'_>) -> Result<i64, ParserError> {
    let is_negative = parser.consume_token(&Token::Minus);
    let _ = !is_negative && parser.consume_token(&Token::Plus);
    let limit = i64::from(parse_integer(parser)?);
    Ok(if is_negative { -limit } else { limit })
}

/// An integer without a sign. Larger numbers than those of type `integer` are none to the grammar.
fn parse_integer(parser: &mut Parser<'_>) -> Result<i32, ParserError> {
    let next = parser.next_token();
    let number = match &next.token {
        Token::Number(number, _) => number.parse().ok(),
        _ => None,
    };
    number.map_or_else(|| parser.expected("an integer", next), Ok)
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::Ident;

    use super::super::{Command, RoleStatement};
    use super::*;

    fn options(sql: &str) -> Vec<RoleOption> {
        let statement = Statement::parse(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}")).remove(0);
        match statement.command() {
            Command::Role(RoleStatement::Create { options, .. } | RoleStatement::Alter { options, .. }) => {
                options.iter().cloned().collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_option_is_read() {
        use RoleOption::*;
        let names = |names: &[&str]| names.iter().map(|name| RoleName::Named(Ident::new(*name))).collect::<Vec<_>>();
        for (text, expected) in [
            ("", vec![]),
            ("with", vec![]),
            ("WITH SuperUser \"login\"", vec![Superuser(true), Login(true)]),
            ("nosuperuser nologin", vec![Superuser(false), Login(false)]),
            ("inherit noreplication nobypassrls", vec![Inherit(true), Replication(false), BypassRls(false)]),
            ("noinherit nocreaterole createdb", vec![Inherit(false), CreateRole(false), CreateDb(true)]),
            ("connection limit -1", vec![ConnectionLimit(-1)]),
            ("connection limit +2147483647", vec![ConnectionLimit(i64::from(i32::MAX))]),
            ("password 'x' valid until 'infinity'", vec![Password(Some("x".into())), ValidUntil("infinity".into())]),
            ("encrypted password E'x\\n'", vec![Password(Some("x\n".into()))]),
            ("password $$x$$ password null", vec![Password(Some("x".into())), Password(None)]),
            ("sysid 12 user a", vec![SysId, Members(names(&["a"]))]),
            ("in role a, b in group c", vec![InRoles(names(&["a", "b"])), InRoles(names(&["c"]))]),
            (
                "role a admin b, public",
                vec![Members(names(&["a"])), Admins([names(&["b"]), vec![RoleName::Public]].concat())],
            ),
        ] {
            assert_eq!(options(&format!("create role r {text}")), expected, "{text}");
        }
        assert_eq!(options("alter role r with createrole user a"), [CreateRole(true), Members(names(&["a"]))]);
    }

    #[test]
    fn other_options_are_refused() {
        for (text, state, message) in [
            ("unencrypted password 'x'", "0A000", "UNENCRYPTED PASSWORD is no longer supported"),
            ("unencrypted", "42601", "syntax error at end of input"),
            ("createuser", "42601", "unrecognized role option \"createuser\""),
            ("\"Login\" x", "42601", "unrecognized role option \"Login\""),
            ("schema", "42601", "syntax error at or near \"schema\""),
            ("select", "42601", "syntax error at or near \"select\""),
            ("password x", "42601", "syntax error at or near \"x\""),
            ("encrypted password null", "42601", "syntax error at or near \"null\""),
            ("sysid 'a'", "42601", "syntax error at or near \"'a'\""),
            ("sysid 2147483648", "42601", "syntax error at or near \"2147483648\""),
            ("connection limit 1.5", "42601", "syntax error at or near \"1.5\""),
            ("connection limit", "42601", "syntax error at end of input"),
            ("connection 5", "42601", "syntax error at or near \"5\""),
            ("valid 'x'", "42601", "syntax error at or near \"'x'\""),
            ("in a", "42601", "syntax error at or near \"a\""),
            ("role none", "42939", "role name \"none\" is reserved"),
        ] {
            let error = Statement::parse(&format!("create role r {text}")).unwrap_err();
            assert_eq!((error.sqlstate(), error.message()), (state, message), "{text}");
            assert_eq!(error.hint().is_some(), state == "0A000", "{text}");
        }
        for text in ["sysid 3", "in role b", "role b", "admin b"] {
            let error = Statement::parse(&format!("alter role r {text}")).unwrap_err();
            assert!(error.message().starts_with("syntax error at or near "), "{text}: {error:?}");
        }
    }

    #[test]
    fn an_option_that_says_more_of_the_same_is_found() {
        for (text, position) in [
            ("login createdb nologin createdb", Some(30)),
            ("encrypted password 'x' password null", Some(38)),
            ("role a user b", Some(22)),
            ("in role a in group b", Some(25)),
            ("sysid 1 sysid 2 login", None),
        ] {
            let statement = Statement::parse(&format!("create role r {text}")).unwrap().remove(0);
            let Command::Role(RoleStatement::Create { options, .. }) = statement.command() else { panic!("{text}") };
            let error = options.repeated().map(|(_, place)| statement.repeated_option(place));
            assert_eq!(error.and_then(|error| error.position()), position, "{text}");
        }
    }
}
