//! `ALTER COLUMN … DROP EXPRESSION`, and the changes of identity columns, in ALTER TABLE: sqlparser reads none of them.
//!
//! Each becomes `SET DEFAULT` with a name that stands for it: a mark, and the change as it is written ([`column_change`]).

use sqlparser::ast::Expr;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::MARK;
use super::words::is_keyword;

/// What may stand behind DROP.
const DROPPED: &[&str] = &["expression", "identity"];

/// What may stand behind SET: GENERATED, and options of a sequence.
const SET: &[&str] = &[
    "generated",
    "as",
    "cache",
    "cycle",
    "increment",
    "maxvalue",
    "minvalue",
    "no",
    "owned",
    "restart",
    "sequence",
    "start",
];

/// The tokens with a default for each such change. In linear time.
pub(super) fn as_defaults(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let solid: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let found = changes(&tokens, &solid);
    if found.is_empty() {
        return tokens;
    }
    let mut found = found.into_iter().peekable();
    let (mut read, mut behind) = (Vec::with_capacity(tokens.len()), 0);
    for (at, token) in tokens.iter().enumerate() {
        if let Some((first, last)) = found.next_if(|(first, _)| *first == at) {
            let text: String = tokens[first..=last].iter().map(|token| token.token.to_string()).collect();
            let marked = Word { value: format!("{MARK}{text}"), quote_style: None, keyword: Keyword::NoKeyword };
            let words = [Token::make_keyword("SET"), Token::make_keyword("DEFAULT"), Token::Word(marked)];
            let blank = Token::Whitespace(sqlparser::tokenizer::Whitespace::Space);
            read.extend(
                words
                    .into_iter()
                    .flat_map(|word| [word, blank.clone()])
                    .map(|word| TokenWithSpan::new(word, token.span)),
            );
            behind = last + 1;
        }
        if at >= behind {
            read.push(token.clone());
        }
    }
    read
}

/// The first and the last token of each change.
fn changes(tokens: &[TokenWithSpan], solid: &[usize]) -> Vec<(usize, usize)> {
    let token = |at: usize| solid.get(at).map_or(&Token::EOF, |at| &tokens[*at].token);
    let (mut found, mut at) = (Vec::new(), 0);
    let (mut begins, mut is_alter_table) = (true, false);
    while at < solid.len() {
        if begins {
            is_alter_table = is_keyword(token(at), Keyword::ALTER) && is_keyword(token(at + 1), Keyword::TABLE);
        } else if is_alter_table && is_keyword(token(at), Keyword::ALTER) {
            let name = if is_keyword(token(at + 1), Keyword::COLUMN) { at + 2 } else { at + 1 };
            if begins_change(token(name + 1), token(name + 2)) {
                let first = name + 1;
                let length = (first..solid.len()).take_while(|at| !ends_action(token(*at))).count();
                found.push((solid[first], solid[first + length - 1]));
                at = first + length;
                continue;
            }
        }
        begins = *token(at) == Token::SemiColon;
        at += 1;
    }
    found
}

fn begins_change(first: &Token, second: &Token) -> bool {
    let is_one_of = |words: &[&str]| words.iter().any(|word| is_word(second, word));
    match first {
        first if is_keyword(first, Keyword::DROP) => is_one_of(DROPPED),
        first if is_keyword(first, Keyword::SET) => is_one_of(SET),
        first => is_keyword(first, Keyword::RESTART),
    }
}

fn ends_action(token: &Token) -> bool {
    matches!(token, Token::Comma | Token::SemiColon | Token::EOF)
}

fn is_word(token: &Token, expected: &str) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(expected))
}

/// The change of a column that a default stands for, as it is written.
pub fn column_change(default: &Expr) -> Option<&str> {
    match default {
        Expr::Identifier(name) => name.value.strip_prefix(MARK),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::{AlterColumnOperation, AlterTableOperation, Statement};

    use super::*;
    use crate::syntax::{SqlDialect, parser_of, read_again};

    fn changes_of(text: &str) -> Vec<String> {
        let dialect = SqlDialect::for_text(text);
        let statements = parser_of(&dialect, text).unwrap().parse_statements().unwrap();
        let Statement::AlterTable(alter) = &statements[0] else { panic!("{text}") };
        let change = |action: &AlterTableOperation| match action {
            AlterTableOperation::AlterColumn { op: AlterColumnOperation::SetDefault { value }, .. } => {
                column_change(value).map(str::to_owned)
            }
            _ => None,
        };
        alter.operations.iter().filter_map(change).collect()
    }

    #[test]
    fn changes_stand_for_themselves() {
        for (actions, expected) in [
            ("alter a drop expression", &["drop expression"][..]),
            ("ALTER COLUMN a DROP EXPRESSION IF EXISTS, alter b set default 1", &["DROP EXPRESSION IF EXISTS"]),
            ("alter column a drop identity, alter b restart with -5", &["drop identity", "restart with -5"]),
            (
                "alter a set generated by default set increment by 2 restart",
                &["set generated by default set increment by 2 restart"],
            ),
            (
                "alter a set not null, alter b set data type int, alter c drop default, alter d set default expression",
                &[],
            ),
            ("add column b int, alter column \"drop\" set no maxvalue", &["set no maxvalue"]),
        ] {
            assert_eq!(changes_of(&format!("alter table t {actions}")), expected, "{actions}");
        }
    }

    #[test]
    fn other_statements_are_read_as_before() {
        let select = "SELECT a AS alter, drop AS identity FROM t";
        assert_eq!(read_again(select).as_deref(), Ok(select));
        assert!(read_again("alter table t alter a drop").is_err());
        assert!(read_again("alter a drop identity").is_err());
        assert!(read_again("select 1; alter table t alter a drop identity; select 2").is_ok());
    }
}
