//! `pg_cursors`: the cursors of the session.

use braid_sql::Value;

use crate::named_row::{NamedRow, text};
use crate::server_facts::{Cursor, ServerFacts};

/// All cursors that have a name.
pub(super) fn cursors(facts: &dyn ServerFacts) -> Vec<NamedRow> {
    let row = |cursor: Cursor| {
        vec![
            ("name", text(&cursor.name)),
            ("statement", text(&cursor.text)),
            ("is_holdable", Value::Bool(cursor.is_holdable)),
            ("is_binary", Value::Bool(cursor.is_binary)),
            ("is_scrollable", Value::Bool(cursor.is_scrollable)),
            ("creation_time", Value::TimestampTz(cursor.opened_us)),
        ]
    };
    facts.cursors().into_iter().map(row).collect()
}
