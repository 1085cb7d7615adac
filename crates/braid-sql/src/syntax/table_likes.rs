//! `LIKE t INCLUDING …` among the columns of CREATE TABLE. sqlparser reads it alone, with one option at most. Here it becomes a column that
//! is called by a mark and its options, and whose type is called like the relation.

use sqlparser::ast::{ColumnDef, DataType, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};

use super::MARK;
use super::words::is_keyword;

/// The name behind [`MARK`], before the options.
const NAME: &str = "like ";

/// Words between CREATE and TABLE.
const KINDS: [Keyword; 5] = [Keyword::LOCAL, Keyword::GLOBAL, Keyword::TEMP, Keyword::TEMPORARY, Keyword::UNLOGGED];

/// The words of [`LikeOption`], in its order.
const OPTIONS: [&str; 9] =
    ["comments", "compression", "constraints", "defaults", "generated", "identity", "indexes", "statistics", "storage"];

/// What LIKE copies of a relation beside its columns' names, types and NOT NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LikeOption {
    /// COMMENTS
    Comments,
    /// COMPRESSION
    Compression,
    /// CONSTRAINTS: check constraints.
    Constraints,
    /// DEFAULTS
    Defaults,
    /// GENERATED
    Generated,
    /// IDENTITY
    Identity,
    /// INDEXES: also those of keys.
    Indexes,
    /// STATISTICS
    Statistics,
    /// STORAGE
    Storage,
}

/// The options of LIKE that are included in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LikeOptions(u16);

impl LikeOptions {
    const ALL: u16 = (1 << OPTIONS.len()) - 1;

    /// Whether an option is included.
    pub fn include(self, option: LikeOption) -> bool {
        self.0 & (1 << option as u16) != 0
    }

    /// The options after `INCLUDING word` or `EXCLUDING word`; `None` for a word that is no option.
    fn with(self, is_included: bool, word: &str) -> Option<Self> {
        let named = OPTIONS.iter().position(|option| *option == word).map(|at| 1 << at);
        let bits = if word == "all" { Self::ALL } else { named? };
        Some(Self(if is_included { self.0 | bits } else { self.0 & !bits }))
    }
}

/// The relation and the options of LIKE, if a column stands for it.
pub fn like_of(column: &ColumnDef) -> Option<(&ObjectName, LikeOptions)> {
    let bits = column.name.value.strip_prefix(MARK)?.strip_prefix(NAME)?;
    match &column.data_type {
        DataType::Custom(name, _) => Some((name, LikeOptions(bits.parse().ok()?))),
        _ => None,
    }
}

/// The tokens with such columns. In linear time.
pub(super) fn as_columns(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_keyword(&token.token, Keyword::LIKE)) {
        return tokens;
    }
    let solid: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let mut at = 0;
    while at < solid.len() {
        let likes = Solid { tokens: &tokens, places: &solid }.likes_of_statement(at);
        likes.iter().for_each(|like| like.mark(&mut tokens, &solid));
        at += 1 + solid[at..].iter().take_while(|place| tokens[**place].token != Token::SemiColon).count();
    }
    tokens
}

/// The tokens that are no blanks.
#[derive(Clone, Copy)]
pub(super) struct Solid<'a> {
    pub tokens: &'a [TokenWithSpan],
    pub places: &'a [usize],
}

/// LIKE with what belongs to it: the places of its words among the tokens that are no blanks.
struct Like {
    at: usize,
    name_end: usize,
    end: usize,
    options: LikeOptions,
}

impl<'a> Solid<'a> {
    pub fn token(self, at: usize) -> &'a Token {
        self.places.get(at).map_or(&Token::EOF, |place| &self.tokens[*place].token)
    }

    pub fn is(self, at: usize, keyword: Keyword) -> bool {
        is_keyword(self.token(at), keyword)
    }

    /// A word without quotes, in lower case.
    fn word(self, at: usize) -> Option<String> {
        match self.token(at) {
            Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_ascii_lowercase()),
            _ => None,
        }
    }

    /// The end of a name with periods that begins at `at`; `None` if there is none.
    fn end_of_name(self, mut at: usize) -> Option<usize> {
        loop {
            at += 1;
            match (self.token(at - 1), self.token(at)) {
                (Token::Word(_), Token::Period) => at += 1,
                (Token::Word(_), _) => return Some(at),
                _ => return None,
            }
        }
    }

    /// All LIKE of the statement that begins at `at`, if that is CREATE TABLE.
    fn likes_of_statement(self, at: usize) -> Vec<Like> {
        let Some(open) = self.list_of_columns(at) else { return Vec::new() };
        let (mut likes, mut depth, mut at) = (Vec::new(), 1, open + 1);
        while depth > 0 && !matches!(self.token(at), Token::EOF | Token::SemiColon) {
            let begins_item = depth == 1 && matches!(self.token(at - 1), Token::LParen | Token::Comma);
            match self.token(at) {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                _ if begins_item && self.is(at, Keyword::LIKE) => likes.extend(self.like(at)),
                _ => {}
            }
            at += 1;
        }
        likes
    }

    /// Where the columns of CREATE TABLE begin.
    pub fn list_of_columns(self, first: usize) -> Option<usize> {
        let kinds = (first + 1..).take_while(|at| KINDS.iter().any(|kind| self.is(*at, *kind))).count();
        let at = first + 1 + kinds;
        if !self.is(first, Keyword::CREATE) || !self.is(at, Keyword::TABLE) {
            return None;
        }
        let skips = [Keyword::IF, Keyword::NOT, Keyword::EXISTS];
        let is_guarded = (at + 1..).zip(skips).all(|(at, word)| self.is(at, word));
        let open = self.end_of_name(if is_guarded { at + 4 } else { at + 1 })?;
        (*self.token(open) == Token::LParen).then_some(open)
    }

    /// The LIKE at `at`; `None` if it is not read as one.
    fn like(self, at: usize) -> Option<Like> {
        let name_end = self.end_of_name(at + 1)?;
        let (mut end, mut options) = (name_end, LikeOptions::default());
        loop {
            let is_included = match self.word(end).as_deref() {
                Some("including") => true,
                Some("excluding") => false,
                _ if matches!(self.token(end), Token::Comma | Token::RParen) => {
                    return Some(Like { at, name_end, end, options });
                }
                _ => return None,
            };
            options = options.with(is_included, &self.word(end + 1)?)?;
            end += 2;
        }
    }
}

impl Like {
    /// Puts a column in its place. The words of the name get quotes, so that none is read as a type of the system.
    fn mark(&self, tokens: &mut [TokenWithSpan], solid: &[usize]) {
        let name = format!("{MARK}{NAME}{}", self.options.0);
        tokens[solid[self.at]].token =
            Token::Word(Word { value: name, quote_style: None, keyword: Keyword::NoKeyword });
        for place in &solid[self.at + 1..self.name_end] {
            if let Token::Word(word) = &mut tokens[*place].token
                && word.quote_style.is_none()
            {
                let value = word.value.to_lowercase();
                *word = Word { value, quote_style: Some('"'), keyword: Keyword::NoKeyword };
            }
        }
        for place in &solid[self.name_end..self.end] {
            tokens[*place].token = Token::Whitespace(Whitespace::Space);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::syntax::read_again as read;

    use super::*;

    #[test]
    fn options_are_taken_one_after_the_other() {
        let options = |words: &[(bool, &str)]| {
            words
                .iter()
                .fold(LikeOptions::default(), |options, (is_included, word)| options.with(*is_included, word).unwrap())
        };
        let some = options(&[(true, "all"), (false, "indexes"), (false, "storage"), (true, "storage")]);
        assert!(some.include(LikeOption::Comments) && some.include(LikeOption::Storage));
        assert!(!some.include(LikeOption::Indexes));
        assert_eq!(options(&[(true, "defaults"), (false, "all")]), LikeOptions::default());
        assert_eq!(LikeOptions::default().with(true, "foo"), None);
    }

    #[test]
    fn like_is_read_as_a_column() {
        for (text, expected) in [
            ("CREATE TABLE t (LIKE s)", "CREATE TABLE t (\u{f8ff}like 0 \"s\")"),
            (
                "CREATE TEMP TABLE IF NOT EXISTS a.t (b INT, like A.\"B\" including defaults, c INT, LIKE date)",
                "CREATE TEMPORARY TABLE IF NOT EXISTS a.t (b INT, \u{f8ff}like 8 \"a\".\"B\", c INT, \u{f8ff}like 0 \"date\")",
            ),
            (
                "CREATE TABLE t (CHECK (a LIKE b), LIKE s INCLUDING ALL EXCLUDING ALL INCLUDING COMMENTS, UNIQUE (a))",
                "CREATE TABLE t (\u{f8ff}like 1 \"s\", CHECK (a LIKE b), UNIQUE (a))",
            ),
            ("SELECT 1; CREATE TABLE t (LIKE s)", "SELECT 1; CREATE TABLE t (\u{f8ff}like 0 \"s\")"),
            ("SELECT a LIKE b FROM t", "SELECT a LIKE b FROM t"),
            ("CREATE TABLE t AS SELECT a LIKE b FROM u", "CREATE TABLE t AS SELECT a LIKE b FROM u"),
            ("CREATE TABLE t (LIKE s INCLUDING foo)", "error"),
            ("CREATE TABLE t (a INT, LIKE s INCLUDING)", "error"),
            ("CREATE TABLE t (LIKE (s))", "error"),
        ] {
            match read(text) {
                Ok(again) => assert_eq!(again, expected, "{text}"),
                Err(error) => assert_eq!(expected, "error", "{text}: {error}"),
            }
        }
    }
}
