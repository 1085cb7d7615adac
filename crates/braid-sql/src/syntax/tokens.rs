//! Tokens as PostgreSQL cuts them, where sqlparser's tokenizer does otherwise.
//!
//! - A name does not begin right behind a number: `123abc` and `1_000` are refused, not a number with a column's name.
//! - An operator ends before signs (`5 >-1`), unless it has a character that only operators have: `1+~1` has the operator `+~`.
//! - String literals with a line break between them are one.
//! - `ISNULL` is `IS NULL`.
//! - A frame may begin or end at `'…'::type PRECEDING`: the parser reads an escaped string there, but only `'…' PRECEDING` of a plain one.
//! - EXCLUDE at the end of a frame goes into the name of its window (`frame_exclusions`).
//! - `TABLE t` and `USING <` are spelt out (`spellings`).
//! - A computed number of rows in FETCH (`fetch_counts`), ROWS FROM (`rows_from`), definitions of columns
//!   (`column_definitions`), joins on the right side of joins and names of joins
//!   (`joins`) become what the parser reads.
//! - Locking clauses have one name, and LIMIT before them (`row_locks`).
//! - Names of columns in CREATE TABLE AS have types (`named_columns`).
//! - TABLESAMPLE has a call behind it (`samples`).
//! - DROP EXPRESSION and changes of identity columns are defaults (`column_changes`).
//! - `t.*` is a column where an expression stands (`whole_rows`).
//! - `U&'…' UESCAPE '!'` is refused: the tokenizer has decoded the literal already.

use sqlparser::parser::ParserError;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Whitespace, Word};

use super::words::can_end_operand;

/// Characters with which an operator may end in a sign.
const OPERATOR_ONLY: &[char] = &['~', '!', '@', '#', '%', '^', '&', '|', '`', '?'];

/// The longest operator. No text grows an operator beyond it token by token.
const OPERATOR_BYTES_MAX: usize = 63;

/// Tokens of an offset's type between its string and PRECEDING, at most.
const OFFSET_TOKENS_MAX: usize = 16;

/// The tokens that PostgreSQL reads, of those that sqlparser's tokenizer made. In linear time.
pub fn postgresql_tokens(tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>, ParserError> {
    let mut read =
        Tokens { done: Vec::with_capacity(tokens.len()), last: None, breaks_line: false, has_comment: false };
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        if matches!(token.token, Token::Number(..)) && matches!(tokens.peek(), Some(next) if is_word(&next.token)) {
            let junk = tokens.peek().map_or(String::new(), |next| next.token.to_string());
            let message = format!("trailing junk after numeric literal at or near \"{}{junk}\"", token.token);
            return Err(error(&message, token.span.start));
        }
        read.push(token)?;
    }
    let tokens =
        super::frame_exclusions::in_names(super::spellings::spelt_out(super::array_types::as_brackets(read.done)));
    let tokens = super::row_locks::as_names(super::empty_lists::as_marks(tokens));
    let tokens = super::column_changes::as_defaults(super::identity_options::in_order(tokens));
    let tokens =
        super::table_likes::as_columns(super::set_columns::as_marks(super::conflict_targets::as_marks(tokens)));
    let tokens = super::named_columns::with_types(tokens);
    let tokens = super::samples::as_calls(super::column_definitions::with_names(tokens));
    let tokens = super::rows_from::as_calls(super::fetch_counts::as_limits(tokens));
    Ok(super::joins::in_parentheses(super::whole_rows::as_columns(tokens)))
}

fn is_word(token: &Token) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none())
}

fn error(message: &str, place: Location) -> ParserError {
    ParserError::ParserError(format!("{message}{place}"))
}

struct Tokens {
    done: Vec<TokenWithSpan>,
    /// The last token in `done` that is no blank.
    last: Option<usize>,
    /// Whether a line ends behind it.
    breaks_line: bool,
    /// Whether there is a comment of several lines behind it.
    has_comment: bool,
}

impl Tokens {
    fn push(&mut self, token: TokenWithSpan) -> Result<(), ParserError> {
        match token.token {
            Token::Whitespace(blank) => {
                match &blank {
                    Whitespace::Newline | Whitespace::SingleLineComment { .. } => self.breaks_line = true,
                    // A comment in a string that goes on is refused as a string behind an expression.
                    Whitespace::MultiLineComment(_) => self.has_comment = true,
                    Whitespace::Space | Whitespace::Tab => {}
                }
                self.done.push(TokenWithSpan { token: Token::Whitespace(blank), span: token.span });
                return Ok(());
            }
            Token::SingleQuotedString(text) => {
                if !self.breaks_line || self.has_comment || !self.goes_on(&text, token.span)? {
                    self.put(Token::SingleQuotedString(text), token.span);
                }
            }
            Token::CustomBinaryOperator(text) => self.operator(&text, token.span),
            Token::DoubleEq => self.put(Token::CustomBinaryOperator("==".to_owned()), token.span),
            Token::Spaceship => self.put(Token::CustomBinaryOperator("<=>".to_owned()), token.span),
            Token::Word(word) if self.is_null_test(&word) => {
                self.put(Token::make_keyword("IS"), token.span);
                self.put(Token::make_keyword("NULL"), token.span);
            }
            Token::Word(word) if word.value.eq_ignore_ascii_case("uescape") => {
                if let Some(Token::UnicodeStringLiteral(_)) = self.last_token() {
                    return Err(error("UESCAPE is not supported", token.span.start));
                }
                self.put(Token::Word(word), token.span);
            }
            Token::Word(word) if ends_frame_offset(&word) => {
                self.read_offset_as_expression();
                self.put(Token::Word(word), token.span);
            }
            other => self.put(other, token.span),
        }
        Ok(())
    }

    /// Makes an escaped string of the last string, if a cast follows it.
    fn read_offset_as_expression(&mut self) {
        let mut is_cast = false;
        let solid = self.done.iter_mut().rev().filter(|token| !matches!(token.token, Token::Whitespace(_)));
        for token in solid.take(OFFSET_TOKENS_MAX) {
            if let (Token::SingleQuotedString(text), true) = (&mut token.token, is_cast) {
                token.token = Token::EscapedStringLiteral(std::mem::take(text));
                return;
            }
            is_cast = token.token == Token::DoubleColon;
        }
    }

    fn put(&mut self, token: Token, span: Span) {
        if let Some(last) = self.last.filter(|last| last + 1 == self.done.len())
            && self.done[last].span.end == span.start
            && let Some(text) = operator_text(&self.done[last].token).zip(operator_text(&token))
            && text.0.len() + text.1.len() <= OPERATOR_BYTES_MAX
            && (text.0.contains(OPERATOR_ONLY) || text.1.contains(OPERATOR_ONLY))
        {
            let whole = Span::new(self.done[last].span.start, span.end);
            self.done[last] = TokenWithSpan { token: Token::CustomBinaryOperator(text.0 + &text.1), span: whole };
            return;
        }
        self.last = Some(self.done.len());
        (self.breaks_line, self.has_comment) = (false, false);
        self.done.push(TokenWithSpan { token, span });
    }

    fn last_token(&self) -> Option<&Token> {
        self.last.map(|at| &self.done[at].token)
    }

    /// Adds a string to the one before it, if there is one.
    fn goes_on(&mut self, text: &str, span: Span) -> Result<bool, ParserError> {
        let Some(last) = self.last else { return Ok(false) };
        match &mut self.done[last].token {
            Token::SingleQuotedString(first) | Token::NationalStringLiteral(first) => first.push_str(text),
            // The tokenizer has not read the escapes of the second string.
            Token::EscapedStringLiteral(first) | Token::UnicodeStringLiteral(first) if !text.contains('\\') => {
                first.push_str(text);
            }
            Token::EscapedStringLiteral(_) | Token::UnicodeStringLiteral(_) => {
                return Err(error("escapes in a string that goes on are not supported", span.start));
            }
            _ => return Ok(false),
        }
        self.done[last].span.end = span.end;
        self.breaks_line = false;
        Ok(true)
    }

    fn operator(&mut self, text: &str, span: Span) {
        let is_plain = !text.contains(OPERATOR_ONLY);
        let rest = text.trim_end_matches(['+', '-']);
        let operator_bytes = match is_plain {
            false => text.len(),
            // All signs: the first is the operator.
            true if rest.is_empty() => 1,
            true => rest.len(),
        };
        let (operator, signs) = text.split_at(operator_bytes);
        let at = |bytes: usize| Location { column: span.start.column + bytes as u64, ..span.start };
        let place = Span::new(span.start, at(operator_bytes));
        self.put(plain_operator(operator).unwrap_or_else(|| Token::CustomBinaryOperator(operator.to_owned())), place);
        for (index, sign) in signs.char_indices() {
            let sign = if sign == '-' { Token::Minus } else { Token::Plus };
            self.put(sign, Span::new(at(operator_bytes + index), at(operator_bytes + index + 1)));
        }
    }

    /// Whether a word is ISNULL behind an operand.
    fn is_null_test(&self, word: &Word) -> bool {
        let is_operand = |token: &Token| match token {
            Token::Word(before) => can_end_operand(before),
            Token::RParen | Token::RBracket | Token::Number(..) | Token::Placeholder(_) => true,
            token => super::operands::is_string(token),
        };
        word.quote_style.is_none()
            && word.value.eq_ignore_ascii_case("isnull")
            && self.last_token().is_some_and(is_operand)
    }
}

/// Whether a word follows the offset of a frame's bound.
fn ends_frame_offset(word: &Word) -> bool {
    let is = |text: &str| word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text);
    is("preceding") || is("following")
}

/// The text of an operator. What sqlparser writes as `<>` may have been `!=`, so that its text is not known.
fn operator_text(token: &Token) -> Option<String> {
    const OPERATOR_CHARACTERS: &str = "+-*/<>=~!@#%^&|`?";
    let is_other = matches!(
        token,
        Token::Word(_)
            | Token::Number(..)
            | Token::Whitespace(_)
            | Token::Placeholder(_)
            | Token::Neq
            | Token::Comma
            | Token::Period
            | Token::LParen
            | Token::RParen
            | Token::SemiColon
    );
    if is_other || super::operands::is_string(token) {
        return None;
    }
    let text = token.to_string();
    text.chars().all(|c| OPERATOR_CHARACTERS.contains(c)).then_some(text)
}

/// The token of an operator without a character that only operators have.
fn plain_operator(text: &str) -> Option<Token> {
    Some(match text {
        "+" => Token::Plus,
        "-" => Token::Minus,
        "*" => Token::Mul,
        "/" => Token::Div,
        "<" => Token::Lt,
        ">" => Token::Gt,
        "=" => Token::Eq,
        "<=" => Token::LtEq,
        ">=" => Token::GtEq,
        "<>" => Token::Neq,
        "=>" => Token::RArrow,
        "->" => Token::Arrow,
        "->>" => Token::LongArrow,
        "<<" => Token::ShiftLeft,
        ">>" => Token::ShiftRight,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::syntax::read_again as read;

    #[test]
    fn strings_go_on_behind_a_line_break() {
        for (text, expected) in [
            ("SELECT 'a'\n 'b'", "SELECT 'ab'"),
            ("SELECT 'a' -- c\n 'b'\n\n'c'", "SELECT 'abc'"),
            ("SELECT E'a\\n'\n 'b'", "SELECT E'a\\nb'"),
            ("SELECT N'a'\n 'b'", "SELECT N'ab'"),
            ("SELECT 'a',\n 'b'", "SELECT 'a', 'b'"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
        for text in [
            "SELECT 'a' 'b'",
            "SELECT 'a' /*\n*/ 'b'",
            "SELECT 'a' /* c */\n 'b'",
            "SELECT E'a'\n 'b\\n'",
            "SELECT $$a$$\n 'b'",
            "SELECT 1 'b'",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn strings_with_a_cast_before_preceding_are_escaped_strings() {
        for (bounds, expected) in [
            ("RANGE '1 day'::INTERVAL PRECEDING", "RANGE E'1 day'::INTERVAL PRECEDING"),
            (
                "RANGE BETWEEN '1'::INT PRECEDING AND '2' FOLLOWING",
                "RANGE BETWEEN E'1'::INT PRECEDING AND INTERVAL '2' FOLLOWING",
            ),
        ] {
            let statement = |bounds: &str| format!("SELECT count(*) OVER (ORDER BY a {bounds})");
            assert_eq!(read(&statement(bounds)), Ok(statement(expected)));
        }
    }

    #[test]
    fn operators_end_where_postgresqls_end() {
        for (text, expected) in [
            ("SELECT 5 >-1", "SELECT 5 > -1"),
            ("SELECT 5 *+-1", "SELECT 5 * +-1"),
            ("SELECT 5 -+1", "SELECT 5 - +1"),
            ("SELECT a ->-1", "SELECT a -> -1"),
            ("SELECT 5 %-1", "SELECT 5 %- 1"),
            ("SELECT 5+~1", "SELECT 5 +~ 1"),
            ("SELECT 5 + ~1", "SELECT 5 + ~1"),
            ("SELECT 5 ISNULL", "SELECT 5 IS NULL"),
            ("SELECT isnull(5)", "SELECT isnull(5)"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn numbers_have_no_junk_behind_them() {
        for text in ["SELECT 123abc", "SELECT 1_000", "SELECT 1e", "SELECT 1.5x"] {
            let error = read(text).unwrap_err();
            assert!(error.contains("trailing junk after numeric literal"), "{text}: {error}");
        }
        assert_eq!(read("SELECT 1e3, 5::int").as_deref(), Ok("SELECT 1e3, 5::INT"));
    }
}
