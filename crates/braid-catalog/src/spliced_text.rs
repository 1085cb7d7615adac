//! Texts in which other names take the places of those that are written.

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};
use sqlparser::tokenizer::Location;

/// A part of a text that is replaced: from the beginning of a name on, as many characters.
pub(crate) struct Change {
    start: Location,
    /// What must stand there: names with dots between them.
    written: Vec<Ident>,
    replacement: String,
}

impl Change {
    /// What takes the place of a name; `None` if the name has no parts.
    pub fn of(written: Vec<Ident>, replacement: String) -> Option<Self> {
        let start = written.first()?.span.start;
        Some(Self { start, written, replacement })
    }
}

/// The parts of a name.
pub(crate) fn idents(name: &ObjectName) -> Vec<Ident> {
    name.0.iter().filter_map(ObjectNamePart::as_ident).cloned().collect()
}

/// A name as it is stored.
pub(crate) fn fold(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_ascii_lowercase() }
}

/// The text with its changes; `None` if something else than expected stands in their places.
pub(crate) fn spliced(text: &str, mut changes: Vec<Change>) -> Option<String> {
    changes.sort_by_key(|change| (change.start.line, change.start.column));
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    for Change { start, written, replacement } in changes {
        let from = byte_of(text, start)?;
        let last = written.last()?;
        let until = byte_of(text, last.span.end)?;
        let part = text.get(from..until)?;
        let is_expected = written.iter().all(|ident| part.contains(&ident.value.replace('"', "\"\"")));
        if from < done || !is_expected {
            return None;
        }
        out.push_str(text.get(done..from)?);
        out.push_str(&replacement);
        done = until;
    }
    out.push_str(text.get(done..)?);
    Some(out)
}

/// The byte at a place in lines and characters, both from 1.
fn byte_of(text: &str, place: Location) -> Option<usize> {
    let line_start = match place.line.checked_sub(2) {
        None => 0,
        Some(before) => text.match_indices('\n').nth(before as usize)?.0 + 1,
    };
    let line = &text[line_start..];
    let mut characters = line.char_indices().map(|(at, _)| at).chain([line.len()]);
    characters.nth((place.column as usize).checked_sub(1)?).map(|at| line_start + at)
}
