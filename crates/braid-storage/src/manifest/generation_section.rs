//! How the values of a column are computed, in its table's section of the manifest.
//!
//! | width | meaning |
//! |---|---|
//! | string | the expression's SQL text |
//! | 2 | number of columns that it reads; then 2 bytes each, the column's id, ascending |
//!
//! Whether the table has these columns is for [`crate::TableDef`] to check.

use braid_base::ColumnId;

use super::ManifestError;
use super::byte_reader::ByteReader;
use super::table_section::put_string;
use crate::GenerationDef;

pub(super) fn put_generation(out: &mut Vec<u8>, GenerationDef { expression, columns }: &GenerationDef) {
    put_string(out, expression);
    out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
    columns.iter().for_each(|column| out.extend_from_slice(&column.0.to_le_bytes()));
}

pub(super) fn take_generation(reader: &mut ByteReader<'_>) -> Result<GenerationDef, ManifestError> {
    let (expression, count) = (reader.string()?, usize::from(reader.u16()?));
    let mut columns = Vec::with_capacity(reader.bounded_capacity(count, 2));
    for _ in 0..count {
        columns.push(ColumnId(reader.u16()?));
    }
    Ok(GenerationDef { expression, columns })
}
