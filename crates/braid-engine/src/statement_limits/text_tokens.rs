//! How many tokens a text has, before they are made.
//!
//! The tokenizer makes all tokens of a text at once, a blank included, of about a hundred bytes each; so they are counted
//! first, by one pass over the bytes, which knows quotes, comments and dollar quotes. There are never fewer tokens counted
//! than made: outside of quotes each byte that is not part of a plain word counts.

/// The number of tokens, or more than `limit` as soon as there are more.
pub(super) fn count_tokens(text: &str, limit: usize) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut count) = (0, 0);
    while at < bytes.len() && count <= limit {
        at = end_of_token(bytes, at);
        count += 1;
    }
    count
}

fn end_of_token(bytes: &[u8], at: usize) -> usize {
    let next = bytes.get(at + 1).copied();
    match bytes[at] {
        b'\'' => end_of_quote(bytes, at + 1, b'\'', Escapes::Doubled),
        b'e' | b'E' if next == Some(b'\'') => end_of_quote(bytes, at + 2, b'\'', Escapes::Backslash),
        b'"' => end_of_quote(bytes, at + 1, b'"', Escapes::Doubled),
        b'-' if next == Some(b'-') => position(bytes, at, |byte| byte == b'\n').map_or(bytes.len(), |end| end + 1),
        b'/' if next == Some(b'*') => end_of_comment(bytes, at),
        b'$' => end_of_dollar_quote(bytes, at).unwrap_or(at + 1),
        byte if is_word(byte) => position(bytes, at, |byte| !is_word(byte)).unwrap_or(bytes.len()),
        _ => at + 1,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn position(bytes: &[u8], from: usize, is: impl Fn(u8) -> bool) -> Option<usize> {
    bytes[from..].iter().position(|byte| is(*byte)).map(|found| from + found)
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

/// Behind `$tag$ … $tag$`; `None` where there is no such quote.
fn end_of_dollar_quote(bytes: &[u8], at: usize) -> Option<usize> {
    let tag_end = position(bytes, at + 1, |byte| byte == b'$' || !is_word(byte))?;
    let is_tag = bytes[tag_end] == b'$' && !bytes[at + 1].is_ascii_digit();
    let tag = is_tag.then(|| &bytes[at..=tag_end])?;
    let body = tag_end + 1;
    let end = bytes[body..].windows(tag.len()).position(|window| window == tag);
    Some(end.map_or(bytes.len(), |end| body + end + tag.len()))
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

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
        for sql in ["select 1.5 <= a::int", "select $1, 1e5e5", "grüße ××", "a <-> b"] {
            let made = Tokenizer::new(&SqlDialect::for_text(sql), sql).tokenize().unwrap().len();
            assert!(count_tokens(sql, 1000) >= made, "{sql}");
        }
        assert_eq!(count_tokens("a a a a a a a a", 4), 5);
        assert_eq!(count_tokens("select 'open", 100), 3);
    }
}
