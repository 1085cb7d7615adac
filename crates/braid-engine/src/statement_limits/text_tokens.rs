//! How many tokens a text has, before they are made.
//!
//! The tokenizer makes all tokens of a text at once, a blank included, of about a hundred bytes each; so they are counted
//! first, by one pass over the text. It finds quotes, comments, words and numbers where the tokenizer finds them, so that there are
//! never fewer tokens counted than made; an operator of several signs counts as several.

/// The number of tokens, or more than `limit` as soon as there are more.
pub(super) fn count_tokens(text: &str, limit: usize) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < text.len() && count <= limit {
        if is_ambiguous(text.as_bytes(), at) {
            return count + text.len() - at;
        }
        at = end_of_token(text, at);
        count += 1;
    }
    count
}

/// Whether signs of a comment stand right behind an operator, of which they may be a part. What follows is then counted by its
/// bytes.
fn is_ambiguous(bytes: &[u8], at: usize) -> bool {
    let is_comment = matches!(bytes.get(at..at + 2), Some(b"--" | b"/*"));
    is_comment && at > 0 && b"+-*/<>=~!@#%^&|`?:".contains(&bytes[at - 1])
}

fn end_of_token(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let next = bytes.get(at + 1).copied();
    match bytes[at] {
        b'\'' => end_of_quote(bytes, at + 1, b'\'', Escapes::Doubled),
        b'e' | b'E' | b'x' | b'X' if next == Some(b'\'') => end_of_quote(bytes, at + 2, b'\'', Escapes::Backslash),
        b'"' => end_of_quote(bytes, at + 1, b'"', Escapes::Doubled),
        b'-' if next == Some(b'-') => position(bytes, at, |byte| byte == b'\n').map_or(bytes.len(), |end| end + 1),
        b'/' if next == Some(b'*') => end_of_comment(bytes, at),
        b'$' => end_of_dollar(text, at),
        byte if byte.is_ascii_digit() => end_of_number(bytes, at),
        byte if starts_word(byte) => {
            end_while(bytes, at, |byte| starts_word(byte) || byte.is_ascii_digit() || byte == b'$')
        }
        _ => at + 1,
    }
}

fn starts_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii()
}

fn position(bytes: &[u8], from: usize, is: impl Fn(u8) -> bool) -> Option<usize> {
    bytes.get(from..)?.iter().position(|byte| is(*byte)).map(|found| from + found)
}

fn end_while(bytes: &[u8], from: usize, is: impl Fn(u8) -> bool) -> usize {
    position(bytes, from, |byte| !is(byte)).unwrap_or(bytes.len())
}

/// Behind `12`, `1.5e-3`, `0x1f` or `1L`, as far as the tokenizer reads: what follows may be a quote of another kind.
fn end_of_number(bytes: &[u8], at: usize) -> usize {
    let digits = |from| end_while(bytes, from, |byte| byte.is_ascii_digit());
    let byte_at = |at: usize| bytes.get(at).copied().unwrap_or_default();
    let mut end = digits(at);
    let is_fraction = at > 0 && bytes[at - 1] == b'.';
    if &bytes[at..end] == b"0" && byte_at(end) == b'x' && !is_fraction {
        return end_while(bytes, end + 1, |byte| byte.is_ascii_hexdigit());
    }
    if byte_at(end) == b'.' && !is_fraction {
        end = digits(end + 1);
    }
    if matches!(byte_at(end), b'e' | b'E') {
        let sign = usize::from(matches!(byte_at(end + 1), b'+' | b'-'));
        if byte_at(end + 1 + sign).is_ascii_digit() {
            end = digits(end + 1 + sign);
        }
    }
    end + usize::from(byte_at(end) == b'L')
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    /// The quote twice.
    Doubled,
    /// Also a backslash before any character.
    Backslash,
}

/// Behind the quote that ends what begins at `at`.
fn end_of_quote(bytes: &[u8], mut at: usize, quote: u8, escapes: Escapes) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if escapes == Escapes::Backslash => at += 2,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Comments are nested.
fn end_of_comment(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0;
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" if depth == 1 => return at + 2,
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Behind `$tag$ … $tag$`, or behind `$1`.
fn end_of_dollar(text: &str, at: usize) -> usize {
    let rest = &text[at + 1..];
    let tag = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
    if rest.as_bytes().get(tag) != Some(&b'$') {
        return at + 1 + tag;
    }
    let body = at + tag + 2;
    let delimiter = &text[at..body];
    text[body..].find(delimiter).map_or(text.len(), |end| body + end + delimiter.len())
}

#[cfg(test)]
mod tests {
    use braid_base::Random;
    use braid_testing::cases;
    use sqlparser::tokenizer::Tokenizer;

    use super::*;
    use crate::statement::SqlDialect;

    #[test]
    fn as_many_are_counted_as_are_made() {
        for sql in [
            "select a, 'it''s', \"b\"\"c\", e'x\\'y' from t",
            "select -- all\n 1 /* a /* nested */ comment */ + 2",
            "select $$a 'quoted' text$$, $tag$ $$ $tag$",
            "insert into t values (1, 'a b c'), (2, 'd')",
            "   \n\t  ",
            "",
        ] {
            let made = Tokenizer::new(&SqlDialect::for_text(sql), sql).tokenize().unwrap().len();
            assert_eq!(count_tokens(sql, 1000), made, "{sql}");
        }
        assert_eq!(count_tokens("a a a a a a a a", 4), 5);
        assert_eq!(count_tokens("select 'open", 100), 3);
    }
    /// Random texts of what quotes and comments are made of. The tokenizer may fail; what it has made before then counts.
    #[test]
    fn never_fewer_are_counted_than_made() {
        const PIECES: [&str; 32] = [
            "'", "''", "\"", "\\", "e", "E", "x", "N", "b", "u&", "a", "_", "1", "0", "0x", ".", "L", "e5", "$", "$$",
            "$a$", "é", "×", "--", "/*", "*/", "\n", " ", ",", "-", "+", "(",
        ];
        for case in cases!(0..20_000) {
            let mut random = case.random();
            let pieces = 1 + random.below(14) as usize;
            let text: String = (0..pieces).map(|_| PIECES[random.below(PIECES.len() as u64) as usize]).collect();
            let mut made = Vec::new();
            let _ = Tokenizer::new(&SqlDialect::for_text(&text), &text).tokenize_with_location_into_buf(&mut made);
            let counted = count_tokens(&text, 1000);
            assert!(counted >= made.len(), "{text:?}: {counted} counted, {} made", made.len());
        }
    }
}
