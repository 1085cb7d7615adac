//! Literals of times, as a prepared statement keeps them.
//!
//! PostgreSQL reads the literals of a statement when it is prepared: `'2020-01-01 00:00'` is a moment of the zone of then, `'today'` the day of
//! then. Who runs the statement in another zone or transaction binds it once in a session that has notes, and puts the noted texts in the
//! places of the literals.

use std::sync::{Arc, Mutex, PoisonError};

use crate::expression::{Expression, Node};
use crate::functions::SessionFacts;
use crate::functions::text_input::text_of_value;
use crate::pg_catalog::{TypeId, pg_catalog};

/// Types whose texts depend on the zone and the time.
const TYPES: &[TypeId] = &[TypeId::TIMESTAMPTZ, TypeId::TIMETZ, TypeId::TIMESTAMP, TypeId::DATE, TypeId::TIME];

/// The literals of times that were read in a text.
#[derive(Debug)]
pub struct LiteralNotes {
    text: Arc<str>,
    notes: Mutex<Vec<LiteralNote>>,
}

/// A literal of a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LiteralNote {
    /// Characters of the text before it, from 1 on; `None` if it is not known where it is.
    pub position: Option<usize>,
    /// A text of the same value in all zones and at all times.
    pub text: String,
}

impl LiteralNotes {
    /// None yet. Literals of other texts, as those of views and defaults, are not noted.
    pub fn of(text: Arc<str>) -> Self {
        Self { text, notes: Mutex::default() }
    }

    /// Those that were read, in the order of their places.
    pub fn to_sorted(&self) -> Vec<LiteralNote> {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        notes.sort();
        notes.dedup();
        notes
    }

    /// Notes a literal that was read in a text, if it is one of times.
    pub(crate) fn note(&self, read: &Expression, (text, position): (&str, Option<usize>), session: &dyn SessionFacts) {
        if *text != *self.text {
            return;
        }
        let Node::Constant(value) = &read.node else { return };
        let element = pg_catalog().element_of_array(read.sql_type.id).unwrap_or(read.sql_type.id);
        if value.is_null() || !TYPES.contains(&element) {
            return;
        }
        if let Ok(text) = text_of_value(value, read.sql_type, session) {
            self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(LiteralNote { position, text });
        }
    }
}
