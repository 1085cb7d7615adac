//! Literals of times, as a prepared statement keeps them.
//!
//! PostgreSQL reads the literals of a statement when it is prepared: `'2020-01-01 00:00'` is a moment of the zone of then, `'today'` the day of
//! then. Who runs the statement in another zone or transaction binds it once in a session that has notes, and puts the values of the noted
//! literals in their places.

use std::sync::{Arc, Mutex, PoisonError};

use sqlparser::tokenizer::Location;

use super::SessionFacts;
use super::text_input::{text_of_value, value_of_modified_input};
use crate::SqlError;
use crate::pg_catalog::{TypeId, pg_catalog};
use crate::sql_type::SqlType;
use crate::values::Value;

/// Types whose texts depend on the zone, the time and the formats.
const TYPES: &[TypeId] =
    &[TypeId::TIMESTAMPTZ, TypeId::TIMETZ, TypeId::TIMESTAMP, TypeId::DATE, TypeId::TIME, TypeId::INTERVAL];

/// The literals of times that were read in a text.
#[derive(Debug)]
pub struct LiteralNotes {
    text: Arc<str>,
    notes: Mutex<Vec<LiteralNote>>,
}

/// A literal of a time.
#[derive(Clone, Debug, PartialEq)]
pub struct LiteralNote {
    /// Where it begins, or the name of its type before it; `None` if that is not known.
    pub location: Option<Location>,
    /// What is between its quotes.
    pub written: String,
    /// The type that it is read as, with the modifier by which it is read.
    pub sql_type: SqlType,
    /// What it means.
    pub value: Value,
}

impl LiteralNotes {
    /// None yet. Literals of other texts, as those of views and defaults, are not noted.
    pub fn of(text: Arc<str>) -> Self {
        Self { text, notes: Mutex::default() }
    }

    /// Those that were read.
    pub fn to_vec(&self) -> Vec<LiteralNote> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes a literal that was read in a text as a value of a type, if it is one of times. `location` is asked for no other.
    pub(crate) fn note(
        &self,
        (text, location): (&str, impl FnOnce() -> Noted),
        literal: &Value,
        (value, sql_type): (&Value, SqlType),
    ) {
        let element = pg_catalog().element_of_array(sql_type.id).unwrap_or(sql_type.id);
        if value.is_null() || !TYPES.contains(&element) || !self.is_of(text) {
            return;
        }
        let location = match location() {
            Noted::OfOtherText => return,
            Noted::Nowhere => None,
            Noted::At(location) => Some(location),
        };
        let (written, value) = (literal.as_text().to_owned(), value.clone());
        let note = LiteralNote { location, written, sql_type, value };
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }

    fn is_of(&self, text: &str) -> bool {
        // Mostly it is the very text, and nothing is compared.
        std::ptr::eq(text, &*self.text) || *text == *self.text
    }
}

impl LiteralNote {
    /// Whether a text has this value as a literal of its type.
    pub fn is_value_of(&self, text: &str, session: &dyn SessionFacts) -> bool {
        value_of_modified_input(self.sql_type, text, session).is_ok_and(|value| value == self.value)
    }

    /// A text of the value in all zones and formats, and at all times, as a session writes it whose formats are the default ones.
    ///
    /// # Errors
    /// Those of the type's output function.
    pub fn lasting_text(&self, session: &dyn SessionFacts) -> Result<String, SqlError> {
        text_of_value(&self.value, self.sql_type, session)
    }
}

/// Where a literal that is read stands.
pub(crate) enum Noted {
    /// It is part of a stored text, such as a default.
    OfOtherText,
    /// That is not known.
    Nowhere,
    /// There.
    At(Location),
}
