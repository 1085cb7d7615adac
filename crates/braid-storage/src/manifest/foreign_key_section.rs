//! The foreign keys of a table in its section of the manifest.
//!
//! | width | meaning |
//! |---|---|
//! | 4 | id |
//! | string | name |
//! | 4 | id of the table that it refers to |
//! | 2 | number of columns; then 2 bytes each, the column's id, and 2 bytes, the id of the column that it refers to |
//! | 1 | after a deletion: 0 NO ACTION, 1 RESTRICT, 2 CASCADE, 3 SET NULL, 4 SET DEFAULT |
//! | 1 | after a change of the key, likewise |
//! | 2 | number of columns that are set after a deletion; then 2 bytes each, the column's id |
//! | 1 | bit 0: MATCH FULL; bit 1: DEFERRABLE; bit 2: INITIALLY DEFERRED; bit 3: validated |

use std::sync::Arc;

use braid_base::{ColumnId, TableId};

use super::ManifestError;
use super::byte_reader::ByteReader;
use super::table_section::put_string;
use crate::{Deferral, ForeignKeyDef, MatchType, ReferentialAction};

/// The smallest foreign key: an id, an empty name, a table, counts, actions, flags.
const FOREIGN_KEY_BYTES_MIN: usize = 4 + 4 + 4 + 2 + 1 + 1 + 2 + 1;

const MATCH_FULL: u8 = 1;
const DEFERRABLE: u8 = 2;
const INITIALLY_DEFERRED: u8 = 4;
const VALIDATED: u8 = 8;
const FLAGS: u8 = MATCH_FULL | DEFERRABLE | INITIALLY_DEFERRED | VALIDATED;

const ACTIONS: [ReferentialAction; 5] = [
    ReferentialAction::NoAction,
    ReferentialAction::Restrict,
    ReferentialAction::Cascade,
    ReferentialAction::SetNull,
    ReferentialAction::SetDefault,
];

pub(super) fn put_foreign_keys(out: &mut Vec<u8>, keys: &[Arc<ForeignKeyDef>]) {
    out.extend_from_slice(&(keys.len() as u16).to_le_bytes());
    for key in keys {
        out.extend_from_slice(&key.id.0.to_le_bytes());
        put_string(out, &key.name);
        out.extend_from_slice(&key.referenced.0.to_le_bytes());
        out.extend_from_slice(&(key.columns.len() as u16).to_le_bytes());
        for (column, referenced) in key.columns.iter().zip(&key.key) {
            out.extend_from_slice(&column.0.to_le_bytes());
            out.extend_from_slice(&referenced.0.to_le_bytes());
        }
        out.extend_from_slice(&[action_code(key.on_delete), action_code(key.on_update)]);
        out.extend_from_slice(&(key.set_columns.len() as u16).to_le_bytes());
        key.set_columns.iter().for_each(|column| out.extend_from_slice(&column.0.to_le_bytes()));
        let deferral = match key.deferral {
            Deferral::NotDeferrable => 0,
            Deferral::InitiallyImmediate => DEFERRABLE,
            Deferral::InitiallyDeferred => DEFERRABLE | INITIALLY_DEFERRED,
        };
        let matching = if key.matching == MatchType::Full { MATCH_FULL } else { 0 };
        out.push(matching | deferral | if key.validated { VALIDATED } else { 0 });
    }
}

pub(super) fn take_foreign_keys(reader: &mut ByteReader<'_>) -> Result<Vec<Arc<ForeignKeyDef>>, ManifestError> {
    let count = usize::from(reader.u16()?);
    let mut keys = Vec::with_capacity(reader.bounded_capacity(count, FOREIGN_KEY_BYTES_MIN));
    for _ in 0..count {
        keys.push(Arc::new(take_foreign_key(reader)?));
    }
    Ok(keys)
}

fn take_foreign_key(reader: &mut ByteReader<'_>) -> Result<ForeignKeyDef, ManifestError> {
    let (id, name, referenced) = (TableId(reader.u32()?), reader.string()?, TableId(reader.u32()?));
    let column_count = usize::from(reader.u16()?);
    let (mut columns, mut key) = (Vec::with_capacity(reader.bounded_capacity(column_count, 4)), Vec::new());
    for _ in 0..column_count {
        columns.push(ColumnId(reader.u16()?));
        key.push(ColumnId(reader.u16()?));
    }
    let (on_delete, on_update) = (take_action(reader, &name)?, take_action(reader, &name)?);
    let set_count = usize::from(reader.u16()?);
    let mut set_columns = Vec::with_capacity(reader.bounded_capacity(set_count, 2));
    for _ in 0..set_count {
        set_columns.push(ColumnId(reader.u16()?));
    }
    let flags = reader.u8()?;
    let deferral = match flags & (DEFERRABLE | INITIALLY_DEFERRED) {
        0 => Deferral::NotDeferrable,
        DEFERRABLE => Deferral::InitiallyImmediate,
        INITIALLY_DEFERRED => return Err(reader.malformed(format!("foreign key \"{name}\" has flags {flags:#04x}"))),
        _ => Deferral::InitiallyDeferred,
    };
    if flags & !FLAGS != 0 {
        return Err(reader.malformed(format!("foreign key \"{name}\" has flags {flags:#04x}")));
    }
    let matching = if flags & MATCH_FULL != 0 { MatchType::Full } else { MatchType::Simple };
    let validated = flags & VALIDATED != 0;
    Ok(ForeignKeyDef {
        id,
        name,
        columns,
        referenced,
        key,
        on_delete,
        on_update,
        set_columns,
        matching,
        deferral,
        validated,
    })
}

fn action_code(action: ReferentialAction) -> u8 {
    ACTIONS.iter().position(|known| *known == action).expect("all actions have codes") as u8
}

fn take_action(reader: &mut ByteReader<'_>, name: &str) -> Result<ReferentialAction, ManifestError> {
    let code = reader.u8()?;
    ACTIONS
        .get(usize::from(code))
        .copied()
        .ok_or_else(|| reader.malformed(format!("foreign key \"{name}\" has action {code}")))
}
