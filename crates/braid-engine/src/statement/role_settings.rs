//! Changes of the settings that sessions of a role begin with, as written: the end of `ALTER ROLE … SET` and `… RESET`.

use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::comment_statement::{consume_words, string_of, word_of};
use super::role_names::{parse_name, word_as_name};
use super::role_options::parse_string;
use super::syntax_errors::refusal;
use crate::SqlState;
use crate::names::fold;

/// What becomes of settings. Their names are folded, with points between their parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SettingChange {
    /// `SET name TO value, …`: there is at least one value.
    Assign(String, Vec<SettingValue>),
    /// `SET name FROM CURRENT`: the value that the session has.
    FromCurrent(String),
    /// `RESET name`, and `SET name TO DEFAULT`, which is the same.
    Reset(String),
    /// RESET ALL
    ResetAll,
}

/// A value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SettingValue {
    /// A string, or a word, which is folded.
    Text(String),
    /// A number, as it is written, with its sign if that is a minus.
    Number(String),
}

/// Settings that SET and RESET call by other words.
const OTHER_NAMES: [(&str, &str); 5] = [
    ("time zone", "timezone"),
    ("session authorization", "session_authorization"),
    ("schema", "search_path"),
    ("names", "client_encoding"),
    ("role", "role"),
];

/// How many of them RESET has, too.
const RESET_NAMES: usize = 2;

/// Reserved words that are values.
const RESERVED_VALUES: [&str; 3] = ["false", "on", "true"];

impl SettingChange {
    /// Whether one comes next.
    pub(super) fn is_next(parser: &Parser<'_>) -> bool {
        parser.peek_keyword(Keyword::SET) || parser.peek_keyword(Keyword::RESET)
    }

    /// Reads it.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        if parser.parse_keyword(Keyword::RESET) {
            if parser.parse_keyword(Keyword::ALL) {
                return Ok(Self::ResetAll);
            }
            let other = OTHER_NAMES[..RESET_NAMES].iter().find(|(words, _)| consume_words(parser, words));
            return match other {
                Some((_, name)) => Ok(Self::Reset((*name).to_owned())),
                None => parse_setting_name(parser).map(Self::Reset),
            };
        }
        parser.expect_keyword_is(Keyword::SET)?;
        if !is_assigned(parser)
            && let Some((_, name)) = OTHER_NAMES.iter().find(|(words, _)| consume_words(parser, words))
        {
            return parse_other(parser, name);
        }
        let name = parse_setting_name(parser)?;
        if parser.parse_keywords(&[Keyword::FROM, Keyword::CURRENT]) {
            return Ok(Self::FromCurrent(name));
        }
        if !parser.consume_token(&Token::Eq) {
            parser.expect_keyword_is(Keyword::TO)?;
        }
        if parser.parse_keyword(Keyword::DEFAULT) {
            return Ok(Self::Reset(name));
        }
        Ok(Self::Assign(name, parser.parse_comma_separated(SettingValue::parse)?))
    }
}

impl SettingValue {
    fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        let is_negative = parser.consume_token(&Token::Minus);
        let has_sign = is_negative || parser.consume_token(&Token::Plus);
        let next = parser.next_token();
        match &next.token {
            Token::Number(number, _) if is_negative => Ok(Self::Number(format!("-{number}"))),
            Token::Number(number, _) => Ok(Self::Number(number.clone())),
            _ if has_sign => parser.expected("a number", next),
            token if let Some(text) = string_of(token) => Ok(Self::Text(text)),
            token => match word_of(token).filter(|word| RESERVED_VALUES.contains(&&**word)) {
                Some(word) => Ok(Self::Text(word)),
                None => word_as_name(parser, next).map(|name| Self::Text(fold(&name))),
            },
        }
    }
}

/// Whether a name of one word comes next that is a name whatever the word: an assignment or a point follows it.
fn is_assigned(parser: &Parser<'_>) -> bool {
    match &parser.peek_nth_token(1).token {
        Token::Eq | Token::Period => true,
        token => matches!(word_of(token).as_deref(), Some("to" | "from")),
    }
}

/// Reads the value of a setting that has been called by other words.
fn parse_other(parser: &mut Parser<'_>, name: &str) -> Result<SettingChange, ParserError> {
    let next = parser.peek_token();
    let has_default = match name {
        "timezone" => consume_words(parser, "default") || consume_words(parser, "local"),
        "client_encoding" => consume_words(parser, "default") || matches!(next.token, Token::EOF | Token::SemiColon),
        "session_authorization" => consume_words(parser, "default"),
        _ => false,
    };
    if has_default {
        return Ok(SettingChange::Reset(name.to_owned()));
    }
    let value = match name {
        "timezone" if word_of(&next.token).as_deref() == Some("interval") => {
            let message = "ALTER ROLE … SET TIME ZONE INTERVAL is not supported";
            return Err(refusal(SqlState::FeatureNotSupported, message, None, &next));
        }
        "timezone" => SettingValue::parse(parser)?,
        "search_path" | "client_encoding" => SettingValue::Text(parse_string(parser)?),
        _ if string_of(&next.token).is_some() => SettingValue::Text(parse_string(parser)?),
        _ => {
            let word = parser.next_token();
            SettingValue::Text(fold(&word_as_name(parser, word)?))
        }
    };
    Ok(SettingChange::Assign(name.to_owned(), vec![value]))
}

fn parse_setting_name(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    let mut name = fold(&parse_name(parser)?);
    while parser.consume_token(&Token::Period) {
        name = format!("{name}.{}", fold(&parse_name(parser)?));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::super::{Command, RoleStatement, Statement};
    use super::*;

    fn check(text: &str, expected: SettingChange) {
        let sql = format!("alter role r {text}");
        let statement = Statement::parse(&sql).unwrap_or_else(|error| panic!("{sql}: {error:?}")).remove(0);
        let Command::Role(RoleStatement::Configure { change, .. }) = statement.command() else { panic!("{sql}") };
        assert_eq!(*change, expected, "{sql}");
    }

    fn text(text: &str) -> SettingValue {
        SettingValue::Text(text.to_owned())
    }

    fn number(text: &str) -> SettingValue {
        SettingValue::Number(text.to_owned())
    }

    #[test]
    fn values_are_assigned_and_taken_back() {
        let assign = |name: &str, values: &[SettingValue]| SettingChange::Assign(name.to_owned(), values.to_vec());
        let reset = |name: &str| SettingChange::Reset(name.to_owned());
        check("set Work_Mem to '4 MB'", assign("work_mem", &[text("4 MB")]));
        check("set x = a, \"B\", C, $$d$$", assign("x", &["a", "B", "c", "d"].map(text)));
        check("set x = -1.5, +3, 4", assign("x", &["-1.5", "3", "4"].map(number)));
        check("set x to ON, true, off", assign("x", &["on", "true", "off"].map(text)));
        check("set search_path to \"$user\", public", assign("search_path", &["$user", "public"].map(text)));
        check("set a.B.\"C\" = 1", assign("a.b.C", &[number("1")]));
        check("set x to default", reset("x"));
        check("set x = DEFAULT", reset("x"));
        check("set x from current", SettingChange::FromCurrent("x".to_owned()));
        check("reset a.x", reset("a.x"));
        check("reset all", SettingChange::ResetAll);
        check("reset time zone", reset("timezone"));
        check("reset session authorization", reset("session_authorization"));
        check("reset role", reset("role"));
        check("set time zone 'UTC'", assign("timezone", &[text("UTC")]));
        check("set time zone -3", assign("timezone", &[number("-3")]));
        check("set time zone local", reset("timezone"));
        check("set role none", assign("role", &[text("none")]));
        check("set role to b", assign("role", &[text("b")]));
        check("set session authorization default", reset("session_authorization"));
        check("set schema 'x'", assign("search_path", &[text("x")]));
        check("set schema = x", assign("schema", &[text("x")]));
        check("set names", reset("client_encoding"));
        check("set names 'utf8'", assign("client_encoding", &[text("utf8")]));
    }

    #[test]
    fn other_changes_are_syntax_errors() {
        for (text, near) in [
            ("set x", "end of input"),
            ("set x to", "end of input"),
            ("set x to select", "or near \"select\""),
            ("set x = default, 1", "or near \",\""),
            ("set x = 1, default", "or near \"default\""),
            ("set x to (1)", "or near \"(\""),
            ("set x to - a", "or near \"a\""),
            ("set x to 1 createdb", "or near \"createdb\""),
            ("set select to 1", "or near \"select\""),
            ("set local x to 1", "or near \"x\""),
            ("set role", "end of input"),
            ("set schema x", "or near \"x\""),
            ("reset", "end of input"),
        ] {
            let error = Statement::parse(&format!("alter role r {text}")).unwrap_err();
            assert_eq!(error.message(), format!("syntax error at {near}"), "{text}");
        }
        let error = Statement::parse("alter role r set time zone interval '3' hour").unwrap_err();
        assert_eq!(error.sqlstate(), "0A000");
    }
}
