//! CREATE SEQUENCE and ALTER SEQUENCE as written: sqlparser reads options in one order only, and no ALTER SEQUENCE.

use sqlparser::ast::{DataType, Ident, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use super::signed_number::parse_number;

/// CREATE SEQUENCE or ALTER SEQUENCE.
#[derive(Clone, Debug)]
pub(crate) enum SequenceStatement {
    /// CREATE SEQUENCE.
    Create {
        /// How long it is kept.
        kind: SequenceKind,
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// The name.
        name: ObjectName,
        /// In the order in which they are written.
        options: Vec<SequenceOption>,
    },
    /// ALTER SEQUENCE.
    Alter {
        /// IF EXISTS.
        if_exists: bool,
        /// The name.
        name: ObjectName,
        /// What is changed.
        change: SequenceChange,
    },
}

/// How long a sequence is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SequenceKind {
    /// Until it is dropped.
    Lasting,
    /// TEMPORARY: until the session ends.
    Temporary,
    /// UNLOGGED: a crash resets it.
    Unlogged,
}

/// What ALTER SEQUENCE changes.
#[derive(Clone, Debug)]
pub(crate) enum SequenceChange {
    /// Options.
    Options(Vec<SequenceOption>),
    /// RENAME TO.
    Rename(Ident),
}

/// An option of a sequence. Numbers are as they are written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SequenceOption {
    /// AS
    Type(DataType),
    /// INCREMENT BY
    Increment(String),
    /// MINVALUE; `None` for NO MINVALUE
    Min(Option<String>),
    /// MAXVALUE; `None` for NO MAXVALUE
    Max(Option<String>),
    /// START WITH
    Start(String),
    /// RESTART WITH; `None` for the first number
    Restart(Option<String>),
    /// CACHE
    Cache(String),
    /// CYCLE, NO CYCLE
    Cycle(bool),
    /// OWNED BY; `None` for NONE
    OwnedBy(Option<ObjectName>),
}

impl SequenceStatement {
    /// Whether a statement that begins with `first` is one.
    pub(super) fn begins(parser: &Parser<'_>, first: Keyword) -> bool {
        let word = |at| match parser.peek_nth_token(at).token {
            Token::Word(word) if word.quote_style.is_none() => word.keyword,
            _ => Keyword::NoKeyword,
        };
        match first {
            Keyword::ALTER => word(1) == Keyword::SEQUENCE,
            Keyword::CREATE => {
                let is_kind = matches!(word(1), Keyword::TEMP | Keyword::TEMPORARY | Keyword::UNLOGGED);
                word(if is_kind { 2 } else { 1 }) == Keyword::SEQUENCE
            }
            _ => false,
        }
    }

    /// Reads it, from its first word on.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        if parser.parse_keywords(&[Keyword::ALTER, Keyword::SEQUENCE]) {
            let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
            let name = parser.parse_object_name(false)?;
            return Ok(Self::Alter { if_exists, name, change: parse_change(parser)? });
        }
        parser.expect_keyword_is(Keyword::CREATE)?;
        let kind = match parser.parse_one_of_keywords(&[Keyword::TEMP, Keyword::TEMPORARY, Keyword::UNLOGGED]) {
            Some(Keyword::UNLOGGED) => SequenceKind::Unlogged,
            Some(_) => SequenceKind::Temporary,
            None => SequenceKind::Lasting,
        };
        parser.expect_keyword_is(Keyword::SEQUENCE)?;
        let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
        let name = parser.parse_object_name(false)?;
        Ok(Self::Create { kind, if_not_exists, name, options: parse_options(parser)? })
    }
}

fn parse_change(parser: &mut Parser<'_>) -> Result<SequenceChange, ParserError> {
    if parser.parse_keywords(&[Keyword::RENAME, Keyword::TO]) {
        return Ok(SequenceChange::Rename(parser.parse_identifier()?));
    }
    let options = parse_options(parser)?;
    if options.is_empty() {
        let next = parser.peek_token();
        return parser.expected("an option", next);
    }
    Ok(SequenceChange::Options(options))
}

/// The options of a sequence, in any order.
pub(super) fn parse_options(parser: &mut Parser<'_>) -> Result<Vec<SequenceOption>, ParserError> {
    let mut options = Vec::new();
    while let Some(option) = parse_option(parser)? {
        options.push(option);
    }
    Ok(options)
}

/// The next option of a sequence, if there is one.
pub(super) fn parse_option(parser: &mut Parser<'_>) -> Result<Option<SequenceOption>, ParserError> {
    use Keyword::{AS, CACHE, CYCLE, INCREMENT, MAXVALUE, MINVALUE, NO, OWNED, RESTART, START};
    let Some(word) =
        parser.parse_one_of_keywords(&[AS, CACHE, CYCLE, INCREMENT, MAXVALUE, MINVALUE, NO, OWNED, RESTART, START])
    else {
        return Ok(None);
    };
    Ok(Some(match word {
        AS => SequenceOption::Type(parser.parse_data_type()?),
        CACHE => SequenceOption::Cache(parse_number(parser)?),
        CYCLE => SequenceOption::Cycle(true),
        INCREMENT => {
            let _ = parser.parse_keyword(Keyword::BY);
            SequenceOption::Increment(parse_number(parser)?)
        }
        MAXVALUE => SequenceOption::Max(Some(parse_number(parser)?)),
        MINVALUE => SequenceOption::Min(Some(parse_number(parser)?)),
        NO => match parser.expect_one_of_keywords(&[CYCLE, MAXVALUE, MINVALUE])? {
            CYCLE => SequenceOption::Cycle(false),
            MAXVALUE => SequenceOption::Max(None),
            _ => SequenceOption::Min(None),
        },
        OWNED => {
            parser.expect_keyword_is(Keyword::BY)?;
            let is_none = parser.parse_keyword(Keyword::NONE);
            SequenceOption::OwnedBy(if is_none { None } else { Some(parser.parse_object_name(false)?) })
        }
        RESTART => {
            let is_given = parser.parse_keyword(Keyword::WITH) || begins_number(&parser.peek_token().token);
            SequenceOption::Restart(if is_given { Some(parse_number(parser)?) } else { None })
        }
        _ => {
            let _ = parser.parse_keyword(Keyword::WITH);
            SequenceOption::Start(parse_number(parser)?)
        }
    }))
}

fn begins_number(token: &Token) -> bool {
    matches!(token, Token::Number(..) | Token::Plus | Token::Minus)
}

#[cfg(test)]
mod tests {
    use super::super::{Command, Statement};
    use super::*;

    #[test]
    fn options_come_in_any_order() {
        for text in [
            "create sequence s cycle increment -2 no minvalue maxvalue +9 as int owned by t.a start 3",
            "create temp sequence if not exists s",
            "alter sequence if exists public.s restart 5 cache 3",
            "alter sequence s rename to u",
        ] {
            let statement = Statement::parse(text).unwrap().remove(0);
            assert!(matches!(statement.command(), Command::Sequence(_)), "{text}");
        }
        let statement = Statement::parse("alter sequence s restart no cycle increment by -2").unwrap().remove(0);
        let Command::Sequence(SequenceStatement::Alter { change: SequenceChange::Options(options), .. }) =
            statement.command()
        else {
            panic!("{statement:?}");
        };
        let expected =
            [SequenceOption::Restart(None), SequenceOption::Cycle(false), SequenceOption::Increment("-2".to_owned())];
        assert_eq!(options[..], expected);
        for text in ["alter sequence s", "create sequence s increment by x", "create sequence s no", "alter sequence"] {
            assert_eq!(Statement::parse(text).unwrap_err().sqlstate(), "42601", "{text}");
        }
    }
}
