//! The sequences of the manifest.
//!
//! | width | meaning |
//! |---|---|
//! | 4 | number of sequences; then each sequence, by ascending id |
//!
//! Sequence:
//!
//! | width | meaning |
//! |---|---|
//! | 4 | id; below the next table id, and no table has it |
//! | 4 | id of its schema |
//! | string | name, 1 to 255 bytes; the sequences and tables of a schema have different names |
//! | 1 | type of its numbers: 2 smallint, 3 integer, 4 bigint |
//! | 8 | first number |
//! | 8 | increment, not 0 |
//! | 8 | smallest number |
//! | 8 | largest number |
//! | 8 | numbers that a session takes at a time, at least 1 |
//! | 8 | the number that was given out last, or is given out next; reserved ones count as given out |
//! | 1 | bit 0: it was given out; bit 1: the first number follows the last; bits 2 and 3: 0 no owner, 1 owned by a column, 2 of an identity that is generated always, 3 by default |
//! | 4 | only with an owner: the table's id |
//! | 2 | only with an owner: the column's id |

use std::collections::HashSet;

use braid_base::{ColumnId, SchemaId, TableId};

use super::byte_reader::ByteReader;
use super::table_section::put_string;
use crate::ManifestError;
use crate::sequences::{SequenceDef, SequenceOwner, SequenceState, SequenceType, SequenceUse};

/// The smallest sequence: two ids, an empty name, type, six numbers, flags.
const SEQUENCE_BYTES_MIN: usize = 4 + 4 + 4 + 1 + 6 * 8 + 1;

const IS_CALLED: u8 = 1;
const CYCLES: u8 = 2;
const OWNER_SHIFT: u32 = 2;

/// A sequence in a [`Manifest`](super::Manifest), and where it stands after a crash.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestSequence {
    /// Definition.
    pub def: SequenceDef,
    /// Where it stands.
    pub state: SequenceState,
}

/// Writes all sequences, by ascending id.
pub(crate) fn put_sequences<'a>(
    out: &mut Vec<u8>,
    sequences: impl ExactSizeIterator<Item = (&'a SequenceDef, SequenceState)>,
) {
    out.extend_from_slice(&(sequences.len() as u32).to_le_bytes());
    for (def, state) in sequences {
        out.extend_from_slice(&def.id.0.to_le_bytes());
        out.extend_from_slice(&def.schema.0.to_le_bytes());
        put_string(out, &def.name);
        out.push(match def.value_type {
            SequenceType::SmallInt => 2,
            SequenceType::Integer => 3,
            SequenceType::BigInt => 4,
        });
        for number in [def.start, def.increment, def.min, def.max, def.cache, state.last_value] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let usage = def.owner.map_or(0, |owner| match owner.usage {
            SequenceUse::Owned => 1,
            SequenceUse::Always => 2,
            SequenceUse::ByDefault => 3,
        });
        let called = if state.is_called { IS_CALLED } else { 0 };
        out.push(called | if def.cycles { CYCLES } else { 0 } | usage << OWNER_SHIFT);
        if let Some(owner) = def.owner {
            out.extend_from_slice(&owner.table.0.to_le_bytes());
            out.extend_from_slice(&owner.column.0.to_le_bytes());
        }
    }
}

/// Reads all sequences, and checks what they say of each other.
pub(super) fn decode_sequences(
    reader: &mut ByteReader<'_>,
    next_table_id: u32,
) -> Result<Vec<ManifestSequence>, ManifestError> {
    let count = reader.u32()? as usize;
    let mut sequences: Vec<ManifestSequence> = Vec::with_capacity(reader.bounded_capacity(count, SEQUENCE_BYTES_MIN));
    let mut names = HashSet::new();
    for _ in 0..count {
        let sequence = take_sequence(reader)?;
        let id = sequence.def.id;
        if id.0 >= next_table_id || sequences.last().is_some_and(|last| last.def.id >= id) {
            return Err(reader.malformed(format!("sequence id {id} is out of order")));
        }
        if !names.insert((sequence.def.schema, sequence.def.name.clone())) {
            return Err(reader.malformed(format!("two sequences are called \"{}\"", sequence.def.name)));
        }
        sequences.push(sequence);
    }
    Ok(sequences)
}

fn take_sequence(reader: &mut ByteReader<'_>) -> Result<ManifestSequence, ManifestError> {
    let (id, schema, name) = (TableId(reader.u32()?), SchemaId(reader.u32()?), reader.string()?);
    let value_type = match reader.u8()? {
        2 => SequenceType::SmallInt,
        3 => SequenceType::Integer,
        4 => SequenceType::BigInt,
        other => return Err(reader.malformed(format!("sequence \"{name}\" has numbers of type {other}"))),
    };
    let (start, increment, min, max) = (reader.i64()?, reader.i64()?, reader.i64()?, reader.i64()?);
    let (cache, last_value, flags) = (reader.i64()?, reader.i64()?, reader.u8()?);
    let usage = match flags >> OWNER_SHIFT {
        0 => None,
        1 => Some(SequenceUse::Owned),
        2 => Some(SequenceUse::Always),
        3 => Some(SequenceUse::ByDefault),
        other => return Err(reader.malformed(format!("sequence \"{name}\" has an owner of kind {other}"))),
    };
    let owner = match usage {
        None => None,
        Some(usage) => Some(SequenceOwner { table: TableId(reader.u32()?), column: ColumnId(reader.u16()?), usage }),
    };
    let cycles = flags & CYCLES != 0;
    let def = SequenceDef { id, schema, name, value_type, start, increment, min, max, cache, cycles, owner };
    if let Err(reason) = def.validate() {
        return Err(reader.malformed(format!("sequence \"{}\": {reason}", def.name)));
    }
    Ok(ManifestSequence { def, state: SequenceState { last_value, is_called: flags & IS_CALLED != 0 } })
}
