//! Formats of `to_char` and its inverses (PostgreSQL's documentation, section 9.8), cut into templates and text.
//!
//! What the templates are, each kind of value knows itself. Text in double quotes stands for itself. A backslash before a double
//! quote makes it an ordinary character.

/// A part of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<T> {
    /// A template.
    Template(T),
    /// A character that stands for itself.
    Text(char),
    /// The same within double quotes.
    Quoted(char),
}

/// Cuts a format. `template_at` says which template a text begins with, if any, and how many bytes it has consumed.
pub fn cut<T>(format: &str, template_at: impl Fn(&str) -> (Option<T>, usize)) -> Vec<Piece<T>> {
    let mut pieces = Vec::new();
    let mut rest = format;
    while !rest.is_empty() {
        let (template, consumed) = template_at(rest);
        rest = &rest[consumed..];
        if let Some(template) = template {
            pieces.push(Piece::Template(template));
        } else if let Some(quoted) = rest.strip_prefix('"') {
            rest = cut_quoted(quoted, &mut pieces);
        } else {
            rest = if rest.starts_with("\\\"") { &rest[1..] } else { rest };
            let mut characters = rest.chars();
            pieces.extend(characters.next().map(Piece::Text));
            rest = characters.as_str();
        }
    }
    pieces
}

/// What follows a double quote up to the next one; a backslash makes the next character ordinary. Returns what comes after.
fn cut_quoted<'a, T>(text: &'a str, pieces: &mut Vec<Piece<T>>) -> &'a str {
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => pieces.push(Piece::Quoted(characters.next().unwrap_or('\\'))),
            other => pieces.push(Piece::Quoted(other)),
        }
    }
    characters.as_str()
}

/// `st`, `nd`, `rd`, `th` after a number. All between 10 and 19 have `th`.
pub fn ordinal_suffix(number: &str) -> &'static str {
    let mut digits = number.bytes().rev();
    let (last, before) = (digits.next(), digits.next());
    match last {
        _ if before == Some(b'1') => "th",
        Some(b'1') => "st",
        Some(b'2') => "nd",
        Some(b'3') => "rd",
        _ => "th",
    }
}
