//! Manifests of the versions before are read.

use braid_base::enum_types::FIRST_TYPE_OID;
use braid_base::{EnumTypeRef, SeededRandom};
use braid_testing::cases;

use super::super::scalars::put_scalar;
use super::super::*;
use super::{manifest_of, random_table, random_type, reseal};

/// A part of a section that is copied to another version's, but for what that lacks.
struct Copy<'a> {
    from: &'a [u8],
    to: Vec<u8>,
}

impl Copy<'_> {
    fn copy(&mut self, bytes: usize) {
        let (copied, rest) = self.from.split_at(bytes);
        self.to.extend_from_slice(copied);
        self.from = rest;
    }

    fn skip(&mut self, bytes: usize) {
        self.from = &self.from[bytes..];
    }
}

/// A table without check constraints, keys and chunks in memory, as there were none before version 6.
fn table_in_files(random: &mut SeededRandom) -> ManifestTable {
    let mut table = random_table(1, 9, random);
    table.def.checks.clear();
    table.chunks.retain(|chunk| chunk.file_id.is_some());
    table
}

/// A table without deleted rows, as there were none before version 5.
fn table_without_deleted_rows(random: &mut SeededRandom) -> ManifestTable {
    let mut table = table_in_files(random);
    table.chunks.iter_mut().for_each(|chunk| chunk.deleted = None);
    table
}

/// The section that version 4 wrote of a table without deleted rows whose columns' ids are their places, with a segment of each
/// in each chunk.
fn section_of_version_4(table: &ManifestTable) -> Vec<u8> {
    let section = table.encode();
    let mut copy = Copy { from: &section, to: Vec::new() };
    copy.copy(4 + 4 + 8 + 4 + table.def.name.len());
    copy.skip(2);
    copy.copy(2);
    for column in &table.def.columns {
        let modifier = if let ColumnType::Encoded { .. } = column.column_type { 4 } else { 0 };
        copy.skip(2);
        copy.copy(4 + column.name.len() + 1 + 4 + modifier + 1);
        copy.copy(column.default.as_ref().map_or(0, |default| 4 + default.len()));
    }
    copy.copy(2 + 2 * table.def.primary_key.len());
    // The schema, check constraints, keys and foreign keys.
    copy.skip(4 + 2 + 2 + 2);
    copy.copy(4);
    for chunk in &table.chunks {
        copy.copy(4 + 4 + 8);
        copy.skip(2);
        for segment in &chunk.segments {
            let mut bounds = Vec::new();
            segment.zone_map.min.iter().chain(&segment.zone_map.max).for_each(|bound| put_scalar(&mut bounds, bound));
            copy.skip(2);
            copy.copy(8 + 4 + 4 + 8 + 4 + 1 + usize::from(segment.scale.is_some()) + bounds.len());
        }
    }
    assert_eq!(copy.from[copy.from.len() - 4..], [0; 4], "there are no deleted rows");
    copy.copy(copy.from.len() - 4);
    copy.to
}

/// The bytes that version 4 wrote of a manifest with one table.
fn encode_version_4(manifest: &Manifest) -> Vec<u8> {
    let mut bytes = manifest.encode();
    bytes.truncate(u64::from_le_bytes(bytes[24..32].try_into().unwrap()) as usize);
    bytes.truncate(bytes.len() - manifest.tables[0].encode().len());
    // There were no logs.
    bytes.drain(HEADER_BYTES..HEADER_BYTES + 8);
    bytes.append(&mut section_of_version_4(&manifest.tables[0]));
    remove_new_sections(&mut bytes);
    bytes[8] = 4;
    reseal(&mut bytes);
    bytes
}

/// Removes the schemas, sequences, views, comments, access control, domains and schemas of types of a manifest without logs that has neither
/// these nor types: of versions before 6.
fn remove_new_sections(bytes: &mut Vec<u8>) {
    let sections = HEADER_BYTES + 8..HEADER_BYTES + 36;
    assert_eq!(
        bytes[sections.clone()],
        [0; 28],
        "there are no schemas, sequences, views, comments, access control, domains and schemas of types"
    );
    bytes.drain(sections);
}

/// A table whose segments hold no encoded numerics as integers, as there were none before version 3.
fn table_without_scales(random: &mut SeededRandom) -> ManifestTable {
    let mut table = table_without_deleted_rows(random);
    for segment in table.chunks.iter_mut().flat_map(|chunk| &mut chunk.segments).filter(|s| s.scale.is_some()) {
        segment.scale = None;
        (segment.zone_map.min, segment.zone_map.max) = (None, None);
    }
    table
}

/// The bytes that a version before the fourth wrote of a manifest without types, if all else was written so then.
fn without_types(manifest: &Manifest, version: u8) -> Vec<u8> {
    let mut bytes = encode_version_4(manifest);
    assert_eq!(bytes[HEADER_BYTES + 4..HEADER_BYTES + 8], [0; 4], "there are no types");
    bytes.drain(HEADER_BYTES..HEADER_BYTES + 8);
    bytes[8] = version;
    reseal(&mut bytes);
    bytes
}

/// The bytes that version 1 wrote of a manifest with one table, which has no sketches: there, nothing follows the chunks.
fn encode_version_1(manifest: &Manifest) -> Vec<u8> {
    let column_count = manifest.tables[0].sketches.len();
    let mut bytes = without_types(manifest, 1);
    let length = bytes.len();
    let without_sketches = length - column_count;
    assert!(bytes[without_sketches..length].iter().all(|&form| form == 0), "no column has a sketch");
    bytes.truncate(without_sketches);
    reseal(&mut bytes);
    bytes
}

/// The bytes that version 5 wrote of a manifest with one table without check constraints and keys, whose numbers are not written.
fn encode_version_5(manifest: &Manifest) -> Vec<u8> {
    let mut bytes = manifest.encode();
    bytes.truncate(u64::from_le_bytes(bytes[24..32].try_into().unwrap()) as usize);
    let table = &manifest.tables[0];
    let with_a_check = {
        let mut table = table.clone();
        table.def.checks = vec![crate::CheckDef {
            name: "c".to_owned(),
            condition: String::new(),
            columns: Vec::new(),
            validated: false,
            comment: None,
        }];
        table.encode()
    };
    let (section, first) = (table.encode(), bytes.len() - table.encode().len());
    let count = first + section.iter().zip(&with_a_check).position(|(without, with)| without != with).unwrap();
    // The schema is before the check constraints, the keys and foreign keys are behind them.
    bytes.drain(count - 4..count + 2 + 2 + 2);
    // There were no logs.
    bytes.drain(HEADER_BYTES..HEADER_BYTES + 8);
    remove_new_sections(&mut bytes);
    bytes[8] = 5;
    reseal(&mut bytes);
    bytes
}

/// The bytes that version 6 wrote of a manifest with one table without foreign keys, and without types and comments: their numbers are not
/// written.
pub(super) fn encode_version_6(manifest: &Manifest) -> Vec<u8> {
    let mut bytes = manifest.encode();
    bytes.truncate(u64::from_le_bytes(bytes[24..32].try_into().unwrap()) as usize);
    let (table, mut with_a_key) = (&manifest.tables[0], manifest.tables[0].clone());
    with_a_key.def.foreign_keys = vec![Arc::new(crate::ForeignKeyDef {
        id: TableId(0),
        name: String::new(),
        columns: Vec::new(),
        referenced: TableId(0),
        key: Vec::new(),
        on_delete: crate::ReferentialAction::NoAction,
        on_update: crate::ReferentialAction::NoAction,
        set_columns: Vec::new(),
        matching: crate::MatchType::Simple,
        deferral: crate::Deferral::NotDeferrable,
        validated: false,
    })];
    let (section, with_a_key) = (table.encode(), with_a_key.encode());
    let first = bytes.len() - section.len();
    let count = first + section.iter().zip(&with_a_key).position(|(without, with)| without != with).unwrap();
    bytes.drain(count..count + 2);
    // Behind the number of the log, no types, schemas, sequences and views.
    let comments = HEADER_BYTES + 8 + 8 + 3 * 4;
    let what = "there are no comments, no access control, no domains and no schemas of types";
    assert_eq!(bytes[comments..comments + 16], [0; 16], "{what}");
    bytes.drain(comments..comments + 16);
    bytes[8] = 6;
    reseal(&mut bytes);
    bytes
}

#[test]
fn version_6_is_read_and_has_no_foreign_keys_and_no_comments() {
    for case in cases!(0..50) {
        let random = &mut case.random();
        let mut manifest = manifest_of(random_table(1, 9, random));
        manifest.tables[0].def.keys = super::keys::random_keys(&manifest.tables[0].def, random);
        manifest.next_ids.table += 100;
        assert_eq!(Manifest::decode(&encode_version_6(&manifest)), Ok(manifest));
    }
}

#[test]
fn version_5_is_read_and_has_no_check_constraints_no_log_no_schemas_no_sequences_and_no_views() {
    for case in cases!(0..50) {
        let manifest = manifest_of(table_in_files(&mut case.random()));
        assert_eq!(Manifest::decode(&encode_version_5(&manifest)), Ok(manifest));
    }
}

#[test]
fn version_1_is_read_and_has_no_sketches() {
    for case in cases!(0..50) {
        let mut table = table_without_scales(&mut case.random());
        table.sketches.fill(None);
        let manifest = manifest_of(table);
        assert_eq!(Manifest::decode(&encode_version_1(&manifest)), Ok(manifest));
    }
}

#[test]
fn version_2_is_read_and_has_no_numerics_as_integers() {
    let as_version_2 = |manifest: &Manifest| Manifest::decode(&without_types(manifest, 2));
    let mut with_scales = 0;
    for case in cases!(0..50) {
        let manifest = manifest_of(table_without_scales(&mut case.random()));
        assert_eq!(as_version_2(&manifest), Ok(manifest));
        let table = table_without_deleted_rows(&mut case.random());
        if table.chunks.iter().flat_map(|chunk| &chunk.segments).any(|segment| segment.scale.is_some()) {
            with_scales += 1;
            assert!(matches!(as_version_2(&manifest_of(table)), Err(ManifestError::Malformed { .. })));
        }
    }
    assert!(with_scales > 0);
}

#[test]
fn version_3_is_read_and_has_no_types() {
    for case in cases!(0..50) {
        let manifest = manifest_of(table_without_deleted_rows(&mut case.random()));
        assert_eq!(Manifest::decode(&without_types(&manifest, 3)), Ok(manifest));
    }
    let mut table = table_in_files(&mut SeededRandom::new(1));
    table.chunks.clear();
    table.def.columns[0].column_type = ColumnType::Enum(EnumTypeRef::Stored(FIRST_TYPE_OID));
    let decoded = Manifest::decode(&without_types(&manifest_of(table), 3));
    assert!(matches!(decoded, Err(ManifestError::Malformed { .. })), "{decoded:?}");
}

#[test]
fn version_4_is_read_and_has_no_deleted_rows_and_the_places_of_columns_as_their_ids() {
    for case in cases!(0..50) {
        let manifest = manifest_of(table_without_deleted_rows(&mut case.random()));
        assert_eq!(Manifest::decode(&encode_version_4(&manifest)), Ok(manifest));
    }
    let mut table = table_in_files(&mut SeededRandom::new(1));
    table.chunks.clear();
    // A bit that says that a missing value follows, of which version 4 knows nothing.
    let mut bytes = encode_version_4(&manifest_of(table.clone()));
    let flags =
        HEADER_BYTES + 8 + 4 + 4 + 8 + 4 + table.def.name.len() + 2 + 4 + table.def.columns[0].name.len() + 1 + 4;
    let modifier = if let ColumnType::Encoded { .. } = table.def.columns[0].column_type { 4 } else { 0 };
    bytes[flags + modifier] |= 4;
    reseal(&mut bytes);
    assert!(matches!(Manifest::decode(&bytes), Err(ManifestError::Malformed { .. })));
}

#[test]
fn version_8_is_read_and_has_no_domains() {
    for case in cases!(0..20) {
        let manifest = manifest_of(random_table(1, 9, &mut case.random()));
        let mut bytes = manifest.encode();
        bytes.truncate(u64::from_le_bytes(bytes[24..32].try_into().unwrap()) as usize);
        let tables = bytes.len() - manifest.tables[0].encode().len();
        let domains: Vec<u8> = bytes.drain(tables - 8..tables).collect();
        assert_eq!(domains, [0; 8], "there are no domains and no schemas of types");
        bytes[8] = 8;
        reseal(&mut bytes);
        assert_eq!(Manifest::decode(&bytes), Ok(manifest));
    }
}

#[test]
fn version_9_is_read_and_has_all_types_in_public() {
    for case in cases!(0..20) {
        let random = &mut case.random();
        let mut manifest = manifest_of(random_table(1, 9, random));
        manifest.next_ids.type_oid += 1000;
        manifest.types = vec![random_type(0, random), random_type(1, random)];
        let mut bytes = manifest.encode();
        bytes.truncate(u64::from_le_bytes(bytes[24..32].try_into().unwrap()) as usize);
        let tables = bytes.len() - manifest.tables[0].encode().len();
        let schemas: Vec<u8> = bytes.drain(tables - 4..tables).collect();
        assert_eq!(schemas, [0; 4], "there are no schemas of types");
        bytes[8] = 9;
        reseal(&mut bytes);
        assert_eq!(Manifest::decode(&bytes), Ok(manifest));
    }
}
