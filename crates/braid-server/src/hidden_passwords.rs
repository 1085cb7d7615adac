//! Texts of statements without the passwords that they have, for the log.
//!
//! What follows the word PASSWORD is hidden wherever it stands: as `CREATE ROLE … PASSWORD 'secret'`, within the body of a DO, within a
//! literal with doubled quotes, in a text that is no SQL. Texts are not parsed, because texts that do not parse are logged too. So a text
//! may lose a literal that is no password (`select password 'x'`); that is the lesser harm. A password that was hidden is hidden in the error
//! message as well, which may quote the statement.
//!
//! What is no role's password is not known as one, as a key in a table of users.

use std::borrow::Cow;
use std::ops::Range;

/// What stands in the place of a password.
const HIDDEN: &str = "***";

/// The word before a password.
const WORD: &[u8] = b"password";

/// A text whose passwords are known.
pub(crate) struct HiddenPasswords<'a> {
    text: &'a str,
    /// In ascending order, apart from each other.
    places: Vec<Range<usize>>,
}

impl<'a> HiddenPasswords<'a> {
    /// Finds the passwords of a text.
    pub fn of(text: &'a str) -> Self {
        let (bytes, mut places, mut at) = (text.as_bytes(), Vec::new(), 0);
        if let Some(end) = next_word(bytes, 0, WORD).filter(|_| makes_statements(bytes)) {
            places.push(end..text.len());
            return Self { text, places };
        }
        while let Some(end) = next_word(bytes, at, WORD) {
            let place = password_at(text, skip_blanks(bytes, end));
            at = place.as_ref().map_or(end, |place| place.end.max(end));
            places.extend(place);
        }
        Self { text, places }
    }

    /// The text without its passwords.
    pub fn text(&self) -> Cow<'a, str> {
        if self.places.is_empty() {
            return Cow::Borrowed(self.text);
        }
        let (mut shown, mut from) = (String::with_capacity(self.text.len()), 0);
        for place in &self.places {
            shown.push_str(&self.text[from..place.start]);
            shown.push_str(HIDDEN);
            from = place.end;
        }
        shown.push_str(&self.text[from..]);
        Cow::Owned(shown)
    }

    /// A message about the text; not shown if it has one of the passwords.
    pub fn message<'b>(&self, message: &'b str) -> Cow<'b, str> {
        let quoting = |c: char| ['\'', '"', '$'].contains(&c);
        let has = |place: &Range<usize>| {
            let given = &self.text[place.clone()];
            // A message has another prefix than the literal, and may have one of its parts alone.
            let quote = given.find(quoting).filter(|at| *at <= 2).unwrap_or_default();
            given[quote..].split(quoting).map(str::trim).any(|part| !part.is_empty() && message.contains(part))
        };
        match self.places.iter().any(has) {
            true => Cow::Borrowed("the message is not shown, because it has a password"),
            false => Cow::Borrowed(message),
        }
    }
}

/// Whether a text may be a DO whose body makes statements of texts: then a password may stand anywhere behind its word.
fn makes_statements(bytes: &[u8]) -> bool {
    next_word(bytes, 0, b"do").is_some_and(|end| next_word(bytes, end, b"execute").is_some())
}

/// The end of the next such word from a place on, in any case; also in quotes.
fn next_word(bytes: &[u8], from: usize, word: &[u8]) -> Option<usize> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
    let mut at = from;
    while at + word.len() <= bytes.len() {
        let end = at + word.len();
        let is_word = bytes[at..end].eq_ignore_ascii_case(word);
        let begins = at == 0 || !is_part(&bytes[at - 1]);
        if is_word && begins && !bytes.get(end).is_some_and(is_part) {
            return Some(end + usize::from(bytes.get(end) == Some(&b'"')));
        }
        at += 1;
    }
    None
}

/// The first place from here on that is neither blank nor comment.
fn skip_blanks(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    loop {
        let rest = &bytes[at..];
        at += match rest {
            [b'-', b'-', ..] => rest.iter().position(|byte| b"\n\r".contains(byte)).unwrap_or(rest.len()),
            [b'/', b'*', ..] => comment_length(rest),
            [byte, ..] if byte.is_ascii_whitespace() => 1,
            _ => return at,
        };
    }
}

/// The bytes of a comment `/* … */`, which may have others within it.
fn comment_length(bytes: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    bytes.len()
}

/// The password that begins at a place, with its quotes; `None` if nothing there is one.
fn password_at(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let rest = &bytes[at..];
    let prefix = match rest {
        [b'e' | b'E' | b'n' | b'N' | b'b' | b'B' | b'x' | b'X', b'\'', ..] => 1,
        [b'u' | b'U', b'&', b'\'', ..] => 2,
        _ => 0,
    };
    let escapes = prefix == 1 && matches!(rest[0], b'e' | b'E');
    let end = match &rest[prefix..] {
        [b'\'' | b'"', ..] => end_of_literals(bytes, at + prefix, escapes),
        [b'$', ..] => end_of_dollar_quoted(text, at)?,
        _ => end_of_word(text, at)?,
    };
    Some(at..end)
}

/// The end of a quoted text, and of those that continue it: literals with blanks and comments between them, a new line among these, are
/// one.
fn end_of_literals(bytes: &[u8], from: usize, escapes: bool) -> usize {
    let mut end = end_of_quoted(bytes, from, escapes);
    loop {
        let next = skip_blanks(bytes, end);
        let is_continued =
            bytes[end..next].iter().any(|byte| b"\n\r".contains(byte)) && bytes.get(next) == bytes.get(from);
        if !is_continued {
            return end;
        }
        end = end_of_quoted(bytes, next, escapes);
    }
}

/// The end of a quoted text. One whose quotes are doubled stands within another quoted text, and ends with as many.
fn end_of_quoted(bytes: &[u8], from: usize, escapes: bool) -> usize {
    let quote = bytes[from];
    let count = bytes[from..].iter().take_while(|byte| **byte == quote).count();
    let is_end =
        |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_' && byte.is_ascii());
    // `''` is an empty text, if nothing follows that could be within it.
    if count == 2 && is_end(bytes.get(from + count)) {
        return from + count;
    }
    let is_nested = count.is_multiple_of(2);
    let mut at = from + if is_nested { count } else { 1 };
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if escapes => at += 2,
            byte if byte == quote => {
                let run = bytes[at..].iter().take_while(|byte| **byte == quote).count();
                let ends = if is_nested { run >= count } else { run % 2 == 1 };
                at += if is_nested { run.min(count) } else { run };
                if ends {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The end of `$tag$…$tag$`; `None` if no such text begins here.
fn end_of_dollar_quoted(text: &str, from: usize) -> Option<usize> {
    let tag_end = from + 1 + text[from + 1..].find('$')? + 1;
    let tag = &text[from..tag_end];
    if tag[1..tag.len() - 1].contains(|c: char| !c.is_alphanumeric() && c != '_') {
        return None;
    }
    Some(text[tag_end..].find(tag).map_or(text.len(), |end| tag_end + end + tag.len()))
}

/// The end of a word that somebody has given as a password without quotes, in a statement about roles.
fn end_of_word(text: &str, from: usize) -> Option<usize> {
    let word = &text[from..];
    let end = word.find(|c: char| c.is_whitespace() || [';', ',', ')'].contains(&c)).unwrap_or(word.len());
    let before = text[..from].to_ascii_lowercase();
    let mut words = before.rsplit(';').next()?.split_ascii_whitespace();
    let is_about_roles =
        matches!(words.next(), Some("create" | "alter")) && matches!(words.next(), Some("role" | "user" | "group"));
    (is_about_roles && end > 0 && !word[..end].eq_ignore_ascii_case("null")).then_some(from + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str) -> String {
        HiddenPasswords::of(text).text().into_owned()
    }

    #[test]
    fn passwords_are_hidden_in_whatever_form_they_are_given() {
        for (text, shown) in [
            ("create role a password 'se''cret' login", "create role a password *** login"),
            ("ALTER USER a WITH ENCRYPTED PASSWORD\n 'secret'", "ALTER USER a WITH ENCRYPTED PASSWORD\n ***"),
            (r"alter role a password E'se\'cret' login", "alter role a password *** login"),
            ("alter role a password U&'secret'", "alter role a password ***"),
            ("alter role a password $x$se$cret$x$ login", "alter role a password *** login"),
            ("alter role a password /* why */ -- so\n 'secret'", "alter role a password /* why */ -- so\n ***"),
            ("alter role a password \"secret\"", "alter role a password ***"),
            ("alter role a password secret;", "alter role a password ***;"),
            ("alter role a password 'secret", "alter role a password ***"),
            ("alter role a password 'säcret'; select 1", "alter role a password ***; select 1"),
            ("do $$begin alter role a password 'secret'; end$$", "do $$begin alter role a password ***; end$$"),
            ("do 'begin alter role a password ''secret''; end'", "do 'begin alter role a password ***; end'"),
            (
                "create user mapping for a server s options (user 'b', password 'secret')",
                "create user mapping for a server s options (user 'b', password ***)",
            ),
            (
                "create role a password 'x'; alter role b password 'y'",
                "create role a password ***; alter role b password ***",
            ),
            ("create role a password ''", "create role a password ***"),
            ("create role a password 'x'\n  'secret' login", "create role a password *** login"),
            ("create role a password 'x' --c\n 'secret'", "create role a password ***"),
            ("do 'begin create role a password ''x''\n ''secret''; end'", "do 'begin create role a password ***; end'"),
            ("alter role a password /* a /* b */ c */ 'secret'", "alter role a password /* a /* b */ c */ ***"),
            ("alter role a password --x\r'secret'", "alter role a password --x\r***"),
            (
                "do $$begin execute 'alter role a password ' || quote_literal('secret'); end$$",
                "do $$begin execute 'alter role a password***",
            ),
        ] {
            assert_eq!(hidden(text), shown, "{text}");
        }
    }

    #[test]
    fn other_texts_stay() {
        for text in [
            "select password from users where password = 'x'",
            "alter role a password null",
            "select passwords 'x', my_password 'y'",
            "select 1 -- password",
            "",
            "password",
        ] {
            assert_eq!(hidden(text), text);
        }
    }

    #[test]
    fn messages_that_quote_a_password_are_not_shown() {
        let hidden = HiddenPasswords::of("alter role a password 'secret' 'x'");
        assert_eq!(hidden.message("role \"a\" does not exist"), "role \"a\" does not exist");
        assert!(!hidden.message("syntax error at or near \"'secret'\"").contains("secret"));
        for (text, told) in
            [("alter role a password N'secret'", "\"n'secret'\""), ("alter role a password X'secret'", "\"X'secret'\"")]
        {
            assert!(!HiddenPasswords::of(text).message(told).contains("secret"), "{text}");
        }
        let bare = HiddenPasswords::of("alter role a password secret");
        assert!(!bare.message("syntax error at or near \"secret\"").contains("secret"));
    }
}
