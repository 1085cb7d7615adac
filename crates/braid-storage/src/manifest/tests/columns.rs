//! Columns with ids of their own, and chunks that lack segments.

use braid_base::{ColumnId, SeededRandom};

use super::super::*;
use super::{manifest_of, random_table};
use crate::column_change_error::COLUMNS_MAX;
use crate::missing_values::MISSING_BYTES_MAX;
use crate::{ColumnType, Scalar};

/// A table with two bigints, of which the second one was added after the first chunk of two and has the id 4.
fn altered() -> Manifest {
    let mut table = (1..)
        .map(|seed| random_table(1, 9, &mut SeededRandom::new(seed)))
        .find(|table| {
            let is_in_files = table.chunks.iter().all(|chunk| chunk.file_id.is_some());
            table.def.columns.len() >= 2 && table.chunks.len() >= 2 && is_in_files
        })
        .unwrap();
    table.def.columns.truncate(2);
    table.sketches = vec![None, None];
    table.chunks.truncate(2);
    table.def.primary_key.clear();
    for (at, column) in table.def.columns.iter_mut().enumerate() {
        (column.column_type, column.nullable) = (ColumnType::BigInt, false);
        column.id = ColumnId(4 * at as u16);
        for chunk in &mut table.chunks {
            let segment = &mut chunk.segments[at];
            (segment.column, segment.scale, segment.zone_map) = (column.id, None, crate::ZoneMap::default());
        }
    }
    table.chunks.iter_mut().for_each(|chunk| chunk.segments.truncate(2));
    table.chunks[0].segments.truncate(1);
    table.def.columns[1].missing = Some(Scalar::Int(7));
    table.def.next_column_id = 6;
    manifest_of(table)
}

#[test]
fn ids_and_missing_values_come_back_as_they_were_written() {
    let manifest = altered();
    assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest));
}

#[test]
fn floats_that_are_missing_values_come_back_bit_by_bit() {
    for value in [f64::NAN, -0.0, 0.0, f64::NEG_INFINITY] {
        let mut manifest = altered();
        let column = &mut manifest.tables[0].def.columns[1];
        (column.column_type, column.missing) = (ColumnType::Double, Some(Scalar::Float(value)));
        let decoded = Manifest::decode(&manifest.encode()).unwrap();
        match decoded.tables[0].def.columns[1].missing {
            Some(Scalar::Float(found)) => assert_eq!(found.to_bits(), value.to_bits()),
            ref other => panic!("{other:?}"),
        }
    }
}

#[test]
fn forged_columns_are_refused() {
    let refused = |what: &str, forge: &dyn Fn(&mut ManifestTable)| {
        let mut forged = altered();
        forge(&mut forged.tables[0]);
        let decoded = Manifest::decode(&forged.encode());
        assert!(matches!(decoded, Err(ManifestError::Malformed { .. })), "{what}: {decoded:?}");
    };
    let clear = |table: &mut ManifestTable| table.chunks.clear();
    refused("a column id not given out", &|t| t.def.next_column_id = 4);
    refused("more columns than there may be", &|t| t.def.next_column_id = COLUMNS_MAX as u16 + 1);
    refused("twice the same column id", &|t| {
        clear(t);
        t.def.columns[1].id = ColumnId(0);
    });
    refused("column ids out of order", &|t| {
        clear(t);
        t.def.columns.reverse();
    });
    refused("a key column that was dropped", &|t| t.def.primary_key = vec![ColumnId(3)]);
    refused("segments out of order", &|t| t.chunks[1].segments.reverse());
    refused("twice the same segment", &|t| {
        let again = t.chunks[1].segments[1].clone();
        t.chunks[1].segments.push(again);
    });
    refused("a null in a column without nulls", &|t| t.def.columns[1].missing = None);
    refused("no segment of a column that was always there", &|t| drop(t.chunks[1].segments.remove(0)));
    refused("missing values that no sketch knows", &|t| {
        t.chunks.truncate(1);
        t.sketches[1] = Some(DistinctSketch::empty());
    });
}

#[test]
fn a_segment_of_a_column_that_the_table_does_not_have_is_refused() {
    let mut manifest = altered();
    let bytes = manifest.encode();
    // Column 4 becomes column 5, but for its segment.
    manifest.tables[0].def.columns[1].id = ColumnId(5);
    manifest.tables[0].chunks[1].segments[1].column = ColumnId(5);
    let other = manifest.encode();
    let differing: Vec<usize> = (24..bytes.len()).filter(|at| bytes[*at] != other[*at]).collect();
    let [_, of_segment] = differing[..] else { panic!("{differing:?}") };
    let mut forged = other;
    forged[of_segment] = 4;
    forged.truncate(u64::from_le_bytes(forged[24..32].try_into().unwrap()) as usize);
    super::reseal(&mut forged);
    match Manifest::decode(&forged) {
        Err(ManifestError::Malformed { what, .. }) => {
            assert_eq!(what, "a segment of column c4, which the table does not have");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn forged_missing_values_are_refused() {
    let decoded = |column_type: ColumnType, missing: Scalar| {
        let mut manifest = altered();
        let column = &mut manifest.tables[0].def.columns[1];
        (column.column_type, column.missing) = (column_type, Some(missing));
        Manifest::decode(&manifest.encode())
    };
    let bytes = |count: usize| Scalar::Bytes(vec![b'x'; count]);
    let accepted = [
        (ColumnType::SmallInt, Scalar::Int(-32_768)),
        (ColumnType::Text, bytes(MISSING_BYTES_MAX)),
        (ColumnType::Uuid, bytes(16)),
        (ColumnType::Real, Scalar::Float(0.5)),
        (ColumnType::Bytea, Scalar::Bytes(vec![0xFF])),
        (ColumnType::Numeric { precision: 3, scale: 1 }, Scalar::Int(-999)),
        (ColumnType::Numeric { precision: 38, scale: 1 }, Scalar::Int128(10_i128.pow(38) - 1)),
    ];
    for (column_type, missing) in accepted {
        assert!(decoded(column_type, missing.clone()).is_ok(), "{column_type}: {missing:?}");
    }
    let refused = [
        (ColumnType::SmallInt, Scalar::Int(32_768)),
        (ColumnType::Date, Scalar::Int(1 << 31)),
        (ColumnType::Text, bytes(MISSING_BYTES_MAX + 1)),
        (ColumnType::Text, Scalar::Bytes(vec![0xFF])),
        (ColumnType::Uuid, bytes(15)),
        (ColumnType::Real, Scalar::Float(0.1)),
        (ColumnType::Numeric { precision: 3, scale: 1 }, Scalar::Int(1000)),
        (ColumnType::Numeric { precision: 38, scale: 1 }, Scalar::Int128(10_i128.pow(38))),
    ];
    for (column_type, missing) in refused {
        let decoded = decoded(column_type, missing.clone());
        assert!(matches!(decoded, Err(ManifestError::Malformed { .. })), "{column_type}: {missing:?}");
    }
}
