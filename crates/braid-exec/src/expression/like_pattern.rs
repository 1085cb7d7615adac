//! The patterns of LIKE, by their shape.
//!
//! Most patterns have no `_`; the pieces between their `%` are searched with vector instructions. Other patterns are also
//! matched piece by piece: each piece at its first match, which suffices because the `%` before it matches the skipped
//! part. The time of a match is therefore at most the product of the two lengths.
//!
//! Characters are those of UTF-8. Bytes that are not UTF-8 match in an unspecified way, without harm. A backslash at the end
//! of a pattern stands for itself.

use memchr::memmem::Finder;

/// A pattern, prepared.
#[derive(Debug)]
pub(crate) enum LikePattern {
    /// No `%`, no `_`.
    Exact(Vec<u8>),
    /// Pieces of plain text with `%` between them.
    Plain { prefix: Vec<u8>, middles: Vec<Finder<'static>>, suffix: Vec<u8> },
    /// With `_` but without `%`.
    Characters(Piece),
    /// With both.
    General { prefix: Piece, middles: Vec<Piece>, suffix: Piece },
}

/// The part of a pattern between two `%`.
#[derive(Debug, Default)]
pub(crate) struct Piece(Vec<Token>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Byte(u8),
    AnyCharacter,
}

impl LikePattern {
    /// Prepares a pattern in SQL's notation.
    pub fn new(pattern: &[u8]) -> Self {
        let mut pieces = pieces(pattern);
        let last = pieces.pop().expect("a pattern without % is one piece");
        if pieces.is_empty() {
            return last.plain().map_or_else(|| Self::Characters(last), Self::Exact);
        }
        let prefix = pieces.remove(0);
        pieces.retain(|piece| !piece.0.is_empty());
        let middles: Option<Vec<Vec<u8>>> = pieces.iter().map(Piece::plain).collect();
        match (prefix.plain(), middles, last.plain()) {
            (Some(prefix), Some(middles), Some(suffix)) => {
                let middles = middles.iter().map(|middle| Finder::new(middle).into_owned()).collect();
                Self::Plain { prefix, middles, suffix }
            }
            _ => Self::General { prefix, middles: pieces, suffix: last },
        }
    }

    /// Whether it has no `_`.
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Exact(_) | Self::Plain { .. })
    }

    /// Memory held, approximately.
    pub fn bytes(&self) -> usize {
        let tokens = |piece: &Piece| size_of_val(piece) + size_of_val(&piece.0[..]);
        let held = match self {
            Self::Exact(text) => text.len(),
            Self::Plain { prefix, middles, suffix } => {
                let middle = |middle: &Finder<'static>| size_of_val(middle) + middle.needle().len();
                prefix.len() + middles.iter().map(middle).sum::<usize>() + suffix.len()
            }
            Self::Characters(piece) => tokens(piece),
            Self::General { prefix, middles, suffix } => {
                tokens(prefix) + middles.iter().map(tokens).sum::<usize>() + tokens(suffix)
            }
        };
        size_of::<Self>() + held
    }

    /// Whether a string matches.
    #[inline]
    pub fn matches(&self, string: &[u8]) -> bool {
        match self {
            Self::Exact(text) => string.len() == text.len() && (text.is_empty() || string == text),
            Self::Plain { prefix, middles, suffix } => {
                // Nothing is compared with an empty end: the C library's comparison of no bytes may cost 40 ns when one of
                // its pointers leads nowhere, as those of empty vectors do.
                if string.len() < prefix.len() + suffix.len()
                    || !(prefix.is_empty() || string.starts_with(prefix))
                    || !(suffix.is_empty() || string.ends_with(suffix))
                {
                    return false;
                }
                let mut rest = &string[prefix.len()..string.len() - suffix.len()];
                for middle in middles {
                    let Some(at) = middle.find(rest) else { return false };
                    rest = &rest[at + middle.needle().len()..];
                }
                true
            }
            Self::Characters(piece) => piece.end_of_match(string, 0) == Some(string.len()),
            Self::General { prefix, middles, suffix } => {
                let Some(mut from) = prefix.end_of_match(string, 0) else { return false };
                for middle in middles {
                    let Some(end) = middle.end_of_first_match(string, from) else { return false };
                    from = end;
                }
                suffix.start_of_match_at_end(string).is_some_and(|start| start >= from)
            }
        }
    }
}

/// The pieces between the `%`: at least one.
fn pieces(pattern: &[u8]) -> Vec<Piece> {
    let mut pieces = vec![Piece::default()];
    let mut bytes = pattern.iter().copied();
    while let Some(byte) = bytes.next() {
        let token = match byte {
            b'%' => {
                pieces.push(Piece::default());
                continue;
            }
            b'_' => Token::AnyCharacter,
            b'\\' => Token::Byte(bytes.next().unwrap_or(b'\\')),
            byte => Token::Byte(byte),
        };
        pieces.last_mut().expect("there is always one").0.push(token);
    }
    pieces
}

impl Piece {
    /// Its text, unless it has a `_`.
    fn plain(&self) -> Option<Vec<u8>> {
        let byte = |token: &Token| match token {
            Token::Byte(byte) => Some(*byte),
            Token::AnyCharacter => None,
        };
        self.0.iter().map(byte).collect()
    }

    /// Where it ends when it begins at `at`.
    fn end_of_match(&self, string: &[u8], mut at: usize) -> Option<usize> {
        for token in &self.0 {
            let next = *string.get(at)?;
            at = match token {
                Token::Byte(byte) if *byte == next => at + 1,
                Token::Byte(_) => return None,
                Token::AnyCharacter => next_character(string, at),
            };
        }
        Some(at)
    }

    /// Where it ends at the first place from `from` on where it fits.
    fn end_of_first_match(&self, string: &[u8], from: usize) -> Option<usize> {
        let mut at = from;
        loop {
            if let Some(Token::Byte(first)) = self.0.first() {
                at += memchr::memchr(*first, string.get(at..)?)?;
            }
            if let Some(end) = self.end_of_match(string, at) {
                return Some(end);
            }
            if at >= string.len() {
                return None;
            }
            at = next_character(string, at);
        }
    }

    /// Where it begins when it ends with the string.
    fn start_of_match_at_end(&self, string: &[u8]) -> Option<usize> {
        let mut end = string.len();
        for token in self.0.iter().rev() {
            let before = end.checked_sub(1)?;
            end = match token {
                Token::Byte(byte) if *byte == string[before] => before,
                Token::Byte(_) => return None,
                Token::AnyCharacter => (0..=before).rev().find(|at| !is_continuation(string[*at])).unwrap_or(0),
            };
        }
        Some(end)
    }
}

fn next_character(string: &[u8], at: usize) -> usize {
    let mut next = at + 1;
    while next < string.len() && is_continuation(string[next]) {
        next += 1;
    }
    next
}

/// Whether a byte is the second or a later one of a character.
#[inline]
pub(super) fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use braid_testing::properties;
    use braid_testing::proptest::prelude::*;

    use super::*;

    /// The definition, on characters.
    fn is_like(string: &[char], pattern: &[char]) -> bool {
        match pattern {
            [] => string.is_empty(),
            ['%', rest @ ..] => (0..=string.len()).any(|from| is_like(&string[from..], rest)),
            ['_', rest @ ..] => !string.is_empty() && is_like(&string[1..], rest),
            ['\\', escaped, rest @ ..] => string.first() == Some(escaped) && is_like(&string[1..], rest),
            [character, rest @ ..] => string.first() == Some(character) && is_like(&string[1..], rest),
        }
    }

    properties! {
        1000 cases;

        #[test]
        fn patterns_match_as_defined(pattern in "[ab%%_é日\\\\]{0,8}", strings in prop::collection::vec("[ab_%é日\\\\]{0,9}", 8)) {
            let characters: Vec<char> = pattern.chars().collect();
            let prepared = LikePattern::new(pattern.as_bytes());
            for string in strings {
                let expected = is_like(&string.chars().collect::<Vec<char>>(), &characters);
                prop_assert_eq!(prepared.matches(string.as_bytes()), expected, "{} like {}", string, pattern);
            }
        }
    }

    #[test]
    fn pieces_do_not_overlap() {
        let check = |pattern: &str, string: &str, expected: bool| {
            assert_eq!(
                LikePattern::new(pattern.as_bytes()).matches(string.as_bytes()),
                expected,
                "{string} like {pattern}"
            );
        };
        check("ab%ba", "aba", false);
        check("ab%ba", "abba", true);
        check("%special%requests%", "the special of requests.", true);
        check("%special%requests%", "requests, special", false);
        check("a%_a", "aa", false);
        check("a%_a", "aéa", true);
        check("%", "", true);
        check("", "", true);
        check("100\\%", "100%", true);
        check("100\\%", "1000", false);
    }
}
