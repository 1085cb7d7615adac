//! BEGIN, START TRANSACTION and SET TRANSACTION with `[NOT] DEFERRABLE`, a mode that sqlparser does not read.

use sqlparser::ast::{Set, Statement, TransactionMode};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// Such a statement.
#[derive(Debug)]
pub(crate) struct TransactionStatement {
    /// The statement without the mode.
    pub statement: Statement,
    /// Whether the transaction, or those to come, are deferrable.
    pub is_deferrable: bool,
}

impl TransactionStatement {
    /// Reads a statement; `None` if it is none of these or has no such mode, and nothing is read then.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Option<Self>, ParserError> {
        parser.maybe_parse(parse)
    }
}

fn parse(parser: &mut Parser<'_>) -> Result<TransactionStatement, ParserError> {
    use Keyword as K;
    let mut statement = match parser.parse_one_of_keywords(&[K::BEGIN, K::START, K::SET]) {
        Some(K::BEGIN) => {
            let _ = parser.parse_one_of_keywords(&[K::WORK, K::TRANSACTION]);
            started(true)
        }
        Some(K::START) => {
            parser.expect_keyword_is(K::TRANSACTION)?;
            started(false)
        }
        _ => {
            let session = parser.parse_keywords(&[K::SESSION, K::CHARACTERISTICS, K::AS, K::TRANSACTION]);
            if !session {
                parser.expect_keyword_is(K::TRANSACTION)?;
            }
            Statement::Set(Set::SetTransaction { modes: Vec::new(), snapshot: None, session })
        }
    };
    let (mut others, mut is_deferrable) = (Vec::new(), None);
    loop {
        if parser.parse_keywords(&[K::NOT, K::DEFERRABLE]) {
            is_deferrable = Some(false);
        } else if parser.parse_keyword(K::DEFERRABLE) {
            is_deferrable = Some(true);
        } else {
            others.push(one_mode(parser)?);
        }
        if !parser.consume_token(&Token::Comma) && matches!(parser.peek_token().token, Token::EOF | Token::SemiColon) {
            break;
        }
    }
    if let Statement::StartTransaction { modes, .. } | Statement::Set(Set::SetTransaction { modes, .. }) =
        &mut statement
    {
        *modes = others;
    }
    match is_deferrable {
        Some(is_deferrable) => Ok(TransactionStatement { statement, is_deferrable }),
        None => parser.expected("DEFERRABLE", parser.peek_token()),
    }
}

fn started(begin: bool) -> Statement {
    let (modes, statements) = (Vec::new(), Vec::new());
    let (transaction, modifier, exception, has_end_keyword) = (None, None, None, false);
    Statement::StartTransaction { modes, begin, transaction, modifier, statements, exception, has_end_keyword }
}

/// A mode that sqlparser reads, without the comma behind it.
fn one_mode(parser: &mut Parser<'_>) -> Result<TransactionMode, ParserError> {
    use Keyword as K;
    use sqlparser::ast::{TransactionAccessMode as Access, TransactionIsolationLevel as Level};
    let words: [(&[Keyword], TransactionMode); 6] = [
        (&[K::READ, K::ONLY], TransactionMode::AccessMode(Access::ReadOnly)),
        (&[K::READ, K::WRITE], TransactionMode::AccessMode(Access::ReadWrite)),
        (&[K::ISOLATION, K::LEVEL, K::SERIALIZABLE], TransactionMode::IsolationLevel(Level::Serializable)),
        (&[K::ISOLATION, K::LEVEL, K::REPEATABLE, K::READ], TransactionMode::IsolationLevel(Level::RepeatableRead)),
        (&[K::ISOLATION, K::LEVEL, K::READ, K::COMMITTED], TransactionMode::IsolationLevel(Level::ReadCommitted)),
        (&[K::ISOLATION, K::LEVEL, K::READ, K::UNCOMMITTED], TransactionMode::IsolationLevel(Level::ReadUncommitted)),
    ];
    match words.into_iter().find(|(words, _)| parser.parse_keywords(words)) {
        Some((_, mode)) => Ok(mode),
        None => parser.expected("a transaction mode", parser.peek_token()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Command, Statement as Parsed, StatementKind};

    #[test]
    fn deferrable_stands_among_the_other_modes() {
        for (sql, kind, expected) in [
            ("begin deferrable", StatementKind::Begin, "BEGIN"),
            ("begin work read only, not deferrable", StatementKind::Begin, "BEGIN READ ONLY"),
            (
                "START TRANSACTION ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE",
                StatementKind::Begin,
                "START ISOLATION LEVEL SERIALIZABLE, READ ONLY",
            ),
            ("set transaction deferrable, read write", StatementKind::Set, "SET TRANSACTION READ WRITE"),
            (
                "set session characteristics as transaction not deferrable",
                StatementKind::Set,
                "SET SESSION CHARACTERISTICS AS TRANSACTION",
            ),
        ] {
            let parsed = Parsed::parse(sql).unwrap().remove(0);
            assert_eq!(parsed.kind(), kind, "{sql}");
            let Command::Transaction(transaction) = parsed.command() else { panic!("{sql}") };
            assert_eq!(transaction.statement.to_string(), expected);
            assert_eq!(transaction.is_deferrable, !sql.contains("not "), "{sql}");
        }
        for sql in ["begin deferrable,", "begin not", "set transaction deferrable read", "begin deferrable 1"] {
            assert_eq!(Parsed::parse(sql).unwrap_err().sqlstate(), "42601", "{sql}");
        }
    }
}
