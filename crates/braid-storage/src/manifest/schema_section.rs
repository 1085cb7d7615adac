//! The schemas of the manifest, but `public`.
//!
//! | width | meaning |
//! |---|---|
//! | 4 | number of schemas; then each schema, by ascending id |
//!
//! Schema:
//!
//! | width | meaning |
//! |---|---|
//! | 4 | id; from 1 on, below the next table id; no table and no sequence has it. 0 says that `public` is dropped |
//! | 1 | 1 if it is temporary, with all that is in it, else 0 |
//! | string | name, 1 to 255 bytes; unique, and not `public`, unless that is dropped. Empty for the id 0, which is not temporary |

use std::collections::HashSet;

use braid_base::SchemaId;

use super::byte_reader::ByteReader;
use super::table_section::put_string;
use crate::ManifestError;
use crate::schemas::{PUBLIC_SCHEMA, SchemaDef};
use crate::table::NAME_BYTES_MAX;

/// The smallest schema: id, flag, an empty name.
const SCHEMA_BYTES_MIN: usize = 4 + 1 + 4;

/// Writes all schemas, by ascending id.
pub(crate) fn put_schemas<'a>(out: &mut Vec<u8>, schemas: impl ExactSizeIterator<Item = &'a SchemaDef>) {
    out.extend_from_slice(&(schemas.len() as u32).to_le_bytes());
    for schema in schemas {
        out.extend_from_slice(&schema.id.0.to_le_bytes());
        out.push(schema.is_temporary.into());
        put_string(out, &schema.name);
    }
}

/// Reads all schemas, and checks what they say of each other.
pub(super) fn decode_schemas(reader: &mut ByteReader<'_>, next_table_id: u32) -> Result<Vec<SchemaDef>, ManifestError> {
    let count = reader.u32()? as usize;
    let mut schemas: Vec<SchemaDef> = Vec::with_capacity(reader.bounded_capacity(count, SCHEMA_BYTES_MIN));
    let mut names = HashSet::from([PUBLIC_SCHEMA.to_owned()]);
    for at in 0..count {
        let (id, flag, name) = (SchemaId(reader.u32()?), reader.u8()?, reader.string()?);
        if at == 0 && id == SchemaId::PUBLIC && flag == 0 && name.is_empty() {
            schemas.push(SchemaDef::dropped_public());
            names.clear();
            continue;
        }
        let last = schemas.last().map_or(SchemaId::PUBLIC, |last| last.id);
        if id.0 >= next_table_id || last >= id {
            return Err(reader.malformed(format!("schema id {id} is out of order")));
        }
        if flag > 1 {
            return Err(reader.malformed(format!("schema \"{name}\" has the flag {flag}")));
        }
        if !(1..=NAME_BYTES_MAX).contains(&name.len()) || !names.insert(name.clone()) {
            return Err(reader.malformed(format!("\"{name}\" is no name of a schema, or names two")));
        }
        schemas.push(SchemaDef { id, name, is_temporary: flag == 1 });
    }
    Ok(schemas)
}
