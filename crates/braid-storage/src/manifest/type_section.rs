//! The enumerated types of the manifest.
//!
//! | width | meaning |
//! |---|---|
//! | 4 | next oid of a type, an array type or a label; from [`FIRST_TYPE_OID`] to [`TYPE_OID_END`] |
//! | 4 | number of types; then each type, by ascending oid |
//!
//! Type:
//!
//! | width | meaning |
//! |---|---|
//! | 4 | oid; below the next oid |
//! | 4 | oid of the array type; another one |
//! | string | name, 1 to 255 bytes |
//! | string | name of the array type; in a schema, names of types and array types differ from each other and from those of tables |
//! | 4 | number of labels; then each label, by ascending key |
//!
//! Label:
//!
//! | width | meaning |
//! |---|---|
//! | 4 | oid; below the next oid |
//! | 8 | key, signed: what columns hold |
//! | string | the label, at most 63 bytes, unique in its type |
//!
//! In another place stand the schemas of types, as far as these are not `public`:
//!
//! | width | meaning |
//! |---|---|
//! | 4 | number of such types; then each, by ascending oid: |
//! | 4 | oid of the type |
//! | 4 | id of its schema; not that of `public` |

use std::collections::HashSet;
use std::sync::Arc;

use braid_base::SchemaId;
use braid_base::enum_types::{EnumLabel, EnumType, FIRST_TYPE_OID, LABEL_BYTES_MAX, TYPE_OID_END};

use super::byte_reader::ByteReader;
use super::table_section::put_string;
use crate::ManifestError;
use crate::table::NAME_BYTES_MAX;

/// The smallest type: two oids, two empty names, no labels.
const TYPE_BYTES_MIN: usize = 4 + 4 + 4 + 4 + 4;
/// The smallest label: an oid, a key, an empty text.
const LABEL_BYTES_MIN: usize = 4 + 8 + 4;

/// Writes the next oid and all types, by ascending oid.
pub(crate) fn encode_types<'a>(next_type_oid: u32, types: impl ExactSizeIterator<Item = &'a EnumType>) -> Vec<u8> {
    let mut out = Vec::with_capacity(8);
    out.extend_from_slice(&next_type_oid.to_le_bytes());
    out.extend_from_slice(&(types.len() as u32).to_le_bytes());
    for definition in types {
        out.extend_from_slice(&definition.oid.to_le_bytes());
        out.extend_from_slice(&definition.array_oid.to_le_bytes());
        put_string(&mut out, &definition.name);
        put_string(&mut out, &definition.array_name);
        out.extend_from_slice(&(definition.labels.len() as u32).to_le_bytes());
        for label in &definition.labels {
            out.extend_from_slice(&label.oid.to_le_bytes());
            out.extend_from_slice(&label.key.to_le_bytes());
            put_string(&mut out, &label.text);
        }
    }
    out
}

/// Reads the next oid and all types, and checks what they say of each other.
pub(super) fn decode_types(reader: &mut ByteReader<'_>) -> Result<(u32, Vec<EnumType>), ManifestError> {
    let next_oid = reader.u32()?;
    if !(FIRST_TYPE_OID..=TYPE_OID_END).contains(&next_oid) {
        return Err(reader.malformed(format!("the next oid of a type is {next_oid:#x}")));
    }
    let type_count = reader.u32()? as usize;
    let mut types: Vec<EnumType> = Vec::with_capacity(reader.bounded_capacity(type_count, TYPE_BYTES_MIN));
    let mut oids = HashSet::new();
    for _ in 0..type_count {
        let definition = take_type(reader)?;
        let labels = definition.labels.iter().map(|label| label.oid);
        for oid in [definition.oid, definition.array_oid].into_iter().chain(labels) {
            if !(FIRST_TYPE_OID..next_oid).contains(&oid) || !oids.insert(oid) {
                return Err(reader.malformed(format!("oid {oid:#x} of a type is not given out or used twice")));
            }
        }
        if types.last().is_some_and(|last| last.oid >= definition.oid) {
            return Err(reader.malformed(format!("type oid {:#x} is out of order", definition.oid)));
        }
        for name in [&definition.name, &definition.array_name] {
            if !(1..=NAME_BYTES_MAX).contains(&name.len()) {
                let length = name.len();
                return Err(reader.malformed(format!("a name of a type has {length} bytes, not 1 to {NAME_BYTES_MAX}")));
            }
        }
        types.push(definition);
    }
    Ok((next_oid, types))
}

/// Writes the schemas of types.
pub(crate) fn put_type_schemas<'a>(out: &mut Vec<u8>, types: impl Iterator<Item = &'a EnumType>) {
    let elsewhere: Vec<&EnumType> = types.filter(|known| known.schema != SchemaId::PUBLIC).collect();
    out.extend_from_slice(&(elsewhere.len() as u32).to_le_bytes());
    for known in elsewhere {
        out.extend_from_slice(&known.oid.to_le_bytes());
        out.extend_from_slice(&known.schema.0.to_le_bytes());
    }
}

/// Reads the schemas of these types, by ascending oid, which were all read as of `public`.
pub(super) fn take_type_schemas(reader: &mut ByteReader<'_>, types: &mut [EnumType]) -> Result<(), ManifestError> {
    for _ in 0..reader.u32()? {
        let (oid, schema) = (reader.u32()?, SchemaId(reader.u32()?));
        match types.binary_search_by_key(&oid, |known| known.oid) {
            Ok(at) if types[at].schema == SchemaId::PUBLIC && schema != SchemaId::PUBLIC => types[at].schema = schema,
            _ => return Err(reader.malformed(format!("schema {schema} is of no type {oid:#x}, or not its only one"))),
        }
    }
    Ok(())
}

fn take_type(reader: &mut ByteReader<'_>) -> Result<EnumType, ManifestError> {
    let (oid, array_oid) = (reader.u32()?, reader.u32()?);
    let (name, array_name) = (reader.string()?, reader.string()?);
    let label_count = reader.u32()? as usize;
    let mut labels: Vec<EnumLabel> = Vec::with_capacity(reader.bounded_capacity(label_count, LABEL_BYTES_MIN));
    let mut texts: HashSet<Arc<str>> = HashSet::new();
    for _ in 0..label_count {
        let (oid, key, text) = (reader.u32()?, reader.i64()?, Arc::from(reader.string()?));
        let label = EnumLabel { oid, key, text };
        if labels.last().is_some_and(|last| last.key >= label.key) {
            return Err(reader.malformed(format!("the labels of type \"{name}\" are out of order")));
        }
        if label.text.len() > LABEL_BYTES_MAX || !texts.insert(label.text.clone()) {
            return Err(reader.malformed(format!("\"{}\" is no label, or twice one, of type \"{name}\"", label.text)));
        }
        labels.push(label);
    }
    Ok(EnumType { oid, array_oid, schema: SchemaId::PUBLIC, name, array_name, labels })
}
