//! Rust source as words and signs, without comments, strings and numbers.

/// A piece of source that can be part of a path or end an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A name or a keyword.
    Word(String),
    /// `::`
    PathSeparator,
    /// Any other sign, as a character of its own.
    Sign(char),
    /// A string, a character or a number.
    Literal,
}

/// A token and its line, from 1.
#[derive(Clone, Debug)]
pub struct Placed {
    pub token: Token,
    pub line: usize,
}

impl Placed {
    pub fn is_word(&self, word: &str) -> bool {
        matches!(&self.token, Token::Word(found) if found == word)
    }

    pub fn is_sign(&self, sign: char) -> bool {
        self.token == Token::Sign(sign)
    }

    pub fn word(&self) -> Option<&str> {
        match &self.token {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }
}

/// The tokens of a file that the compiler accepts; of any other text, something.
pub fn tokens(source: &str) -> Vec<Placed> {
    let mut reader = Reader { chars: source.chars().collect(), at: 0, line: 1 };
    let mut tokens = Vec::new();
    while let Some(first) = reader.peek(0) {
        let line = reader.line;
        if let Some(token) = reader.token(first) {
            tokens.push(Placed { token, line });
        }
    }
    tokens
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    line: usize,
}

impl Reader {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.line += usize::from(self.peek(0) == Some('\n'));
            self.at += 1;
        }
    }

    fn skip_while(&mut self, test: impl Fn(char) -> bool) {
        while self.peek(0).is_some_and(&test) {
            self.skip(1);
        }
    }

    /// Reads what begins with `first`; `None` for blanks and comments.
    fn token(&mut self, first: char) -> Option<Token> {
        match (first, self.peek(1)) {
            ('/', Some('/')) => self.skip_while(|c| c != '\n'),
            ('/', Some('*')) => self.skip_block_comment(),
            ('"', _) => return self.string(),
            ('\'', _) => return self.character_or_lifetime(),
            (':', Some(':')) => {
                self.skip(2);
                return Some(Token::PathSeparator);
            }
            (c, _) if c.is_whitespace() => self.skip(1),
            (c, _) if c.is_alphabetic() || c == '_' => return Some(self.word_or_prefixed_string()),
            (c, _) if c.is_numeric() => {
                self.skip_while(|c| c.is_alphanumeric() || c == '_');
                return Some(Token::Literal);
            }
            (c, _) => {
                self.skip(1);
                return Some(Token::Sign(c));
            }
        }
        None
    }

    fn skip_block_comment(&mut self) {
        let mut depth = 0;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some('/'), Some('*')) => depth += 1,
                (Some('*'), Some('/')) => depth -= 1,
                (None, _) => return,
                _ => {
                    self.skip(1);
                    continue;
                }
            }
            self.skip(2);
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) -> Option<Token> {
        self.skip(1);
        while let Some(c) = self.peek(0) {
            self.skip(if c == '\\' { 2 } else { 1 });
            if c == '"' {
                break;
            }
        }
        Some(Token::Literal)
    }

    /// `'a'`, `'\n'` and `'\u{1f}'` are characters, `'a` is a lifetime.
    fn character_or_lifetime(&mut self) -> Option<Token> {
        let is_escape = self.peek(1) == Some('\\');
        if !is_escape && self.peek(2) != Some('\'') {
            self.skip(1);
            self.skip_while(|c| c.is_alphanumeric() || c == '_');
            return None;
        }
        self.skip(if is_escape { 3 } else { 2 });
        self.skip_while(|c| c != '\'');
        self.skip(1);
        Some(Token::Literal)
    }

    fn word_or_prefixed_string(&mut self) -> Token {
        let start = self.at;
        self.skip_while(|c| c.is_alphanumeric() || c == '_');
        let word: String = self.chars[start..self.at].iter().collect();
        let hashes = (0..).take_while(|ahead| self.peek(*ahead) == Some('#')).count();
        match (word.as_str(), self.peek(hashes)) {
            ("r" | "br" | "cr", Some('"')) => self.raw_string(hashes),
            ("b" | "c", Some('"')) => {
                self.string();
                Token::Literal
            }
            ("b", Some('\'')) => {
                self.character_or_lifetime();
                Token::Literal
            }
            _ => Token::Word(word),
        }
    }

    fn raw_string(&mut self, hashes: usize) -> Token {
        self.skip(hashes + 1);
        while self.peek(0).is_some() {
            let closes = self.peek(0) == Some('"') && (1..=hashes).all(|ahead| self.peek(ahead) == Some('#'));
            if closes {
                self.skip(hashes + 1);
                break;
            }
            self.skip(1);
        }
        Token::Literal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> String {
        let text = |placed: Placed| match placed.token {
            Token::Word(word) => word,
            Token::PathSeparator => "::".to_owned(),
            Token::Sign(sign) => sign.to_string(),
            Token::Literal => "_".to_owned(),
        };
        tokens(source).into_iter().map(text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_strings_and_lifetimes_hide_no_code() {
        for (source, expected) in [
            ("a /* b /* c */ d */ e // f\ng", "a e g"),
            ("a::b(\"crate::\\\"c\", 'x', '\\'', 1_000u32)", "a :: b ( _ , _ , _ , _ )"),
            ("r#\"crate::a\"# + r\"b\\\" + br##\"c\"#d\"## e", "_ + _ + _ e"),
            ("fn f<'a>(x: &'a str) -> Foo<'a> { 'b' }", "fn f < > ( x : & str ) - > Foo < > { _ }"),
            ("b'x' b\"y\" '\\u{1f}' z", "_ _ _ z"),
        ] {
            assert_eq!(words(source), expected, "{source}");
        }
    }

    #[test]
    fn lines_are_counted_through_strings_and_comments() {
        let lines: Vec<usize> = tokens("a\n\"b\nc\" /*\n*/ d\ne").iter().map(|placed| placed.line).collect();
        assert_eq!(lines, [1, 2, 4, 5]);
    }
}
