//! The literals of times of a prepared statement: they keep the values that they had when it was prepared.
//!
//! A statement is bound at each execution, and its literals are read then. Where that gives other values than when it was prepared, in another
//! zone or, for `'today'` and its like, another transaction, a statement with the former values in the places of its literals runs instead. As in
//! PostgreSQL a change of its relations or of the search path prepares it anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_sql::SearchPath;
use braid_sql::functions::literal_notes::{LiteralNote, LiteralNotes};
use braid_sql::functions::text_input::ReadingSession;
use braid_sql::syntax::walk::{Tree, Walk};
use braid_storage::{TableDef, ViewDef};
use parking_lot::Mutex;
use sqlparser::ast::ObjectName;
use sqlparser::tokenizer::{Location, Token};

use super::places::Places;
use super::{Command, Statement, StatementKind, Tokens};
use crate::EngineError;

/// A reading of literals that is not that of the session now.
#[derive(Debug)]
pub(crate) struct FormerReading {
    /// Where and when.
    pub session: ReadingSession,
    /// The literals that it reads.
    pub notes: LiteralNotes,
}

/// What PostgreSQL looks at to prepare a statement anew: the relations that it names, and how names are looked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dependencies {
    /// The search path.
    pub path: SearchPath,
    /// The relations.
    pub relations: Vec<Dependency>,
}

/// A relation of users.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Dependency {
    /// A table.
    Table(Arc<TableDef>),
    /// A view.
    View(Arc<ViewDef>),
}

/// How the literals of a statement were read when it was prepared.
#[derive(Debug)]
pub(crate) struct PreparedLiterals(Mutex<Reading>);

#[derive(Debug)]
struct Reading {
    session: ReadingSession,
    /// `None` of a statement that was not parsed when it was prepared.
    dependencies: Option<Dependencies>,
    /// The literals of times, once they were needed.
    notes: Option<Arc<[LiteralNote]>>,
    /// The statement with the values of then, once it was needed.
    settled: Option<Statement>,
}

/// What is to be done for the literals of a statement that is executed.
pub(crate) enum ReadLiterals {
    /// They mean what they meant.
    AsThen,
    /// They are these, once read by the session in which the statement was prepared.
    Unknown(ReadingSession),
    /// They are these.
    Known(Arc<[LiteralNote]>),
}

impl Statement {
    /// Notes that it is prepared. What was noted first stays.
    pub(crate) fn note_prepared(&self, session: ReadingSession, dependencies: impl FnOnce() -> Option<Dependencies>) {
        use StatementKind::{CreateTable, LockingQuery, Merge, Query};
        let is_bound = matches!(self.kind, Query | LockingQuery | Merge | CreateTable) || self.kind.changes_rows();
        if is_bound && has_strings(self.text()) {
            self.literals.get_or_init(|| {
                let (notes, settled) = (None, None);
                PreparedLiterals(Mutex::new(Reading { session, dependencies: dependencies(), notes, settled }))
            });
        }
    }

    /// How its literals were read when it was prepared; `None` if it was not, or has none.
    pub(crate) fn prepared_literals(&self) -> Option<&PreparedLiterals> {
        self.literals.get()
    }

    /// The relations that it names.
    pub(crate) fn relation_names(&self) -> Vec<ObjectName> {
        let mut names = NamesOfRelations::default();
        if let Some(command) = &self.command {
            if let Command::Sql(tree) = &**command {
                tree.walk(&mut names);
            }
            names.0.extend(command.changed_relation().cloned());
        }
        names.0
    }

    /// The same statement with the values of literals in their places.
    ///
    /// # Errors
    /// As unsupported (0A000) if that cannot be written.
    fn with_literals(&self, notes: &[LiteralNote]) -> Result<Self, EngineError> {
        let strings = strings_of(&self.origin)?;
        let mut of_strings: BTreeMap<usize, Vec<&LiteralNote>> = BTreeMap::new();
        for note in notes {
            let at = note.location.and_then(|location| strings.places.get(&location)).ok_or_else(|| unplaced(note))?;
            of_strings.entry(*at).or_default().push(note);
        }
        let session = ReadingSession::of_output();
        let mut text = String::with_capacity(self.origin.len());
        let mut written = 0;
        for (at, notes) in of_strings {
            let string = &strings.strings[at];
            let texts = notes.iter().map(|note| note.lasting_text(&session)).collect::<Result<Vec<_>, _>>()?;
            // A literal may be read as several types: the longest text has all that they know.
            let lasting = texts.into_iter().max_by_key(String::len).unwrap_or_default();
            let is_right = |note: &&LiteralNote| note.written == string.value && note.is_value_of(&lasting, &session);
            if let Some(wrong) = notes.iter().find(|note| !is_right(note)) {
                return Err(unplaced(wrong));
            }
            text.push_str(&self.origin[written..string.start]);
            text.push('\'');
            text.push_str(&lasting.replace('\'', "''"));
            text.push('\'');
            written = string.end;
        }
        text.push_str(&self.origin[written..]);
        let mut statements = Self::parse(&text)?;
        match (statements.pop(), statements.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => Err(EngineError::internal("a prepared text of several statements")),
        }
    }
}

impl PreparedLiterals {
    /// What is to be done in a session as it is now. A statement of which something has changed is prepared anew, in this session.
    ///
    /// # Errors
    /// Those of finding what it depends on.
    pub fn read(
        &self,
        now: ReadingSession,
        dependencies: impl FnOnce() -> Result<Dependencies, EngineError>,
    ) -> Result<ReadLiterals, EngineError> {
        let mut reading = self.0.lock();
        let has_its_value = |note: &LiteralNote| note.is_value_of(&note.written, &now);
        if reading.session == now || reading.notes.as_ref().is_some_and(|notes| notes.iter().all(has_its_value)) {
            return Ok(ReadLiterals::AsThen);
        }
        let dependencies = dependencies()?;
        if reading.dependencies.as_ref().is_some_and(|then| *then != dependencies) {
            *reading = Reading { session: now, dependencies: Some(dependencies), notes: None, settled: None };
            return Ok(ReadLiterals::AsThen);
        }
        reading.dependencies = Some(dependencies);
        Ok(match &reading.notes {
            None => ReadLiterals::Unknown(reading.session),
            Some(notes) => ReadLiterals::Known(notes.clone()),
        })
    }

    /// Notes the literals that were read in the session in which the statement was prepared.
    pub fn note(&self, session: ReadingSession, notes: Vec<LiteralNote>) {
        let mut reading = self.0.lock();
        if reading.session == session {
            reading.notes = Some(notes.into());
        }
    }

    /// The statement with these literals.
    ///
    /// # Errors
    /// As unsupported (0A000) if it cannot be written.
    pub fn settled(&self, statement: &Statement, notes: &Arc<[LiteralNote]>) -> Result<Statement, EngineError> {
        let is_of = |reading: &Reading| reading.notes.as_ref().is_some_and(|own| Arc::ptr_eq(own, notes));
        if let Some(settled) = Some(self.0.lock()).filter(|reading| is_of(reading)).and_then(|r| r.settled.clone()) {
            return Ok(settled);
        }
        let settled = statement.with_literals(notes)?;
        let mut reading = self.0.lock();
        if is_of(&reading) {
            reading.settled = Some(settled.clone());
        }
        Ok(settled)
    }
}

fn unplaced(note: &LiteralNote) -> EngineError {
    let message =
        format!("the prepared literal \"{}\" cannot be kept for another time zone or transaction", note.written);
    EngineError::unsupported(message).with_hint("Prepare the statement again.")
}

/// Whether a text has strings: quotes, or a dollar that begins no parameter.
fn has_strings(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_quote = |(at, byte): (usize, &u8)| match byte {
        b'\'' => true,
        b'$' => bytes.get(at + 1).is_some_and(|next| !next.is_ascii_digit()),
        _ => false,
    };
    bytes.iter().enumerate().any(is_quote)
}

/// The names of relations in a tree.
#[derive(Default)]
struct NamesOfRelations(Vec<ObjectName>);

impl Walk for NamesOfRelations {
    fn enter_relation(&mut self, name: &ObjectName) {
        self.0.push(name.clone());
    }
}

/// The strings of a text that are one token each.
#[derive(Default)]
struct Strings {
    strings: Vec<StringToken>,
    /// Where they begin, and where the name of a type before them does.
    places: BTreeMap<Location, usize>,
}

struct StringToken {
    /// Its bytes.
    start: usize,
    end: usize,
    /// What is between the quotes.
    value: String,
}

fn strings_of(sql: &str) -> Result<Strings, EngineError> {
    let tokens = Tokens::of(sql)?.tokens;
    let solid: Vec<_> = tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).collect();
    let value_of = |token: &Token| match token {
        Token::SingleQuotedString(value) | Token::EscapedStringLiteral(value) => Some(value.clone()),
        Token::DollarQuotedString(quoted) => Some(quoted.value.clone()),
        _ => None,
    };
    let mut places = Places::new(sql);
    let mut found = Strings::default();
    for (at, token) in solid.iter().enumerate() {
        let Some(value) = value_of(&token.token) else { continue };
        let before = at.checked_sub(1).map(|at| solid[at]);
        let is_joined =
            [before, solid.get(at + 1).copied()].into_iter().flatten().any(|t| value_of(&t.token).is_some());
        if is_joined {
            continue;
        }
        let number = found.strings.len();
        found.places.insert(token.span.start, number);
        if let Some(before) = before.filter(|before| matches!(before.token, Token::Word(_))) {
            found.places.entry(before.span.start).or_insert(number);
        }
        let (start, end) = (places.byte_of(token.span.start), places.byte_of(token.span.end));
        found.strings.push(StringToken { start, end, value });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_found_at_their_places() {
        let sql = "select 'a', date\n 'b''c', E'd\\x65', $q$f$q$, 'g'\n'h', U&'i', n.x";
        let found = strings_of(sql).unwrap();
        let shown: Vec<_> = found.strings.iter().map(|s| (&sql[s.start..s.end], s.value.as_str())).collect();
        assert_eq!(shown, [("'a'", "a"), ("'b''c'", "b'c"), ("E'd\\x65'", "de"), ("$q$f$q$", "f")]);
        let place = |line, column| found.places.get(&Location { line, column }).copied();
        assert_eq!((place(1, 8), place(1, 13), place(2, 2), place(2, 9)), (Some(0), Some(1), Some(1), None));
    }

    #[test]
    fn texts_with_strings_are_known() {
        for (text, expected) in [("select $1", false), ("select 'a'", true), ("select $$a$$", true), ("a$", false)] {
            assert_eq!(has_strings(text), expected, "{text}");
        }
    }
}
