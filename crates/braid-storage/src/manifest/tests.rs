//! Round trips, damage, and forgeries whose checksum holds.

use braid_base::enum_types::{EnumLabel, EnumType, FIRST_TYPE_OID, TYPE_OID_END};
use braid_base::{CHUNK_ROWS, ColumnId, EnumTypeRef, Random, SchemaId, SeededRandom, TableId};
use braid_testing::cases;

use super::*;
use crate::missing_segments::missing_segment;
use crate::{
    ColumnDef, ColumnType, DistinctSketch, FileRange, NUMERIC_OID, PhysicalType, Scalar, SegmentPlace, ZoneMap,
};

mod access;
mod columns;
mod comments;
mod domains;
mod foreign_keys;
mod generated;
mod keys;
mod old_versions;
mod records;
mod schemas;
mod sequences;
mod views;

const ALL_TYPES: [ColumnType; 20] = [
    ColumnType::Boolean,
    ColumnType::SmallInt,
    ColumnType::Integer,
    ColumnType::BigInt,
    ColumnType::Real,
    ColumnType::Double,
    ColumnType::Numeric { precision: 1, scale: 0 },
    ColumnType::Numeric { precision: 18, scale: 18 },
    ColumnType::Numeric { precision: 38, scale: 2 },
    ColumnType::Text,
    ColumnType::Varchar(10_485_760),
    ColumnType::Char(1),
    ColumnType::Date,
    ColumnType::Timestamp,
    ColumnType::TimestampTz,
    ColumnType::Interval,
    ColumnType::Bytea,
    ColumnType::Uuid,
    ColumnType::Encoded { type_oid: 3802, modifier: -1 },
    ColumnType::Encoded { type_oid: NUMERIC_OID, modifier: -1 },
];

fn random_scalar(physical: PhysicalType, random: &mut SeededRandom) -> Scalar {
    let bits = random.next_u64();
    match physical {
        PhysicalType::Bool => Scalar::Bool(bits & 1 == 1),
        PhysicalType::Int => Scalar::Int(bits as i64),
        PhysicalType::Int128 => Scalar::Int128(i128::from(bits as i64) << 60),
        PhysicalType::Float32 | PhysicalType::Float64 => Scalar::Float(f64::from_bits(bits)),
        PhysicalType::Bytes => Scalar::Bytes(bits.to_le_bytes()[..(bits % 9) as usize].to_vec()),
        PhysicalType::Interval => Scalar::Interval(bits as i32, -1, bits as i64),
    }
}

fn random_segment(column: &ColumnDef, row_count: u32, random: &mut SeededRandom) -> SegmentMeta {
    let is_integers = column.column_type.is_encoded_numeric() && random.chance(1, 2);
    let scale = is_integers.then(|| random.below(39) as u8);
    let physical = if is_integers { PhysicalType::Int128 } else { column.column_type.physical() };
    let bound = |random: &mut SeededRandom| random.chance(3, 4).then(|| random_scalar(physical, random));
    let (min, max) = (bound(random), bound(random));
    let null_count = if column.nullable { random.below(u64::from(row_count) + 1) as u32 } else { 0 };
    let blocks = 1 + random.below(1000);
    SegmentMeta {
        column: column.id,
        place: SegmentPlace::InFile(FileRange {
            offset: 4096 * (1 + random.below(1 << 40)),
            stored_bytes: 4096 * blocks as u32,
        }),
        segment_bytes: 4096 * blocks as u32 - random.below(4096) as u32,
        checksum: random.next_u64(),
        zone_map: ZoneMap { min, max, null_count, exact: random.chance(1, 2) },
        scale,
    }
}

/// No sketch, or a sketch of any number of values, so that both forms are written.
fn random_sketch(random: &mut SeededRandom) -> Option<DistinctSketch> {
    let magnitude = random.below(14);
    let count = 1 + random.below(1 << magnitude);
    let mut sketch = DistinctSketch::empty();
    (0..count).for_each(|_| sketch.insert_integers(&[random.next_u64() as i64]));
    random.chance(4, 5).then_some(sketch)
}

/// None, a few, or most of the rows of a small chunk, so that both forms are written, and manifests stay small.
fn random_deleted_rows(row_count: u32, random: &mut SeededRandom) -> Option<DeletedRows> {
    let deleted = match random.below(3) {
        0 if row_count < 20_000 => DeletedRows::of(row_count, (0..row_count).filter(|_| random.chance(3, 4))),
        1 => DeletedRows::of(row_count, (0..random.below(9)).map(|_| random.below(row_count.into()) as u32)),
        _ => return None,
    };
    (!deleted.is_empty() && !deleted.is_all()).then_some(deleted)
}

fn random_checks(random: &mut SeededRandom) -> Vec<crate::CheckDef> {
    let count = random.below(3);
    let check = |i| crate::CheckDef {
        name: format!("check {i}"),
        condition: format!("a > {i}"),
        columns: vec![ColumnId(0)],
        validated: random.chance(1, 2),
        comment: (i == 1).then(|| "a comment ä".to_owned()),
    };
    (0..count).map(check).collect()
}

/// A chunk like this one whose rows are in memory and all alike, if there is a value for each column.
fn in_memory(def: &TableDef, chunk: &ManifestChunk) -> Option<ManifestChunk> {
    let segment = |column: &ColumnDef| {
        let value = match column.column_type.physical() {
            _ if column.nullable => None,
            PhysicalType::Int => Some(Scalar::Int(5)),
            PhysicalType::Bool => Some(Scalar::Bool(true)),
            _ => return None,
        };
        Some(missing_segment(&ColumnDef { missing: value, ..column.clone() }, chunk.row_count))
    };
    let segments = def.columns.iter().map(segment).collect::<Option<_>>()?;
    Some(ManifestChunk { file_id: None, segments, ..chunk.clone() })
}

fn random_table(id: u32, sequence: u64, random: &mut SeededRandom) -> ManifestTable {
    let column_count = 1 + random.below(ALL_TYPES.len() as u64) as u16;
    let column = |i: u16| {
        let column_type = ALL_TYPES[random.below(ALL_TYPES.len() as u64) as usize];
        let default = random.chance(1, 3).then(|| format!("{i} + 1"));
        ColumnDef { id: ColumnId(i), nullable: i > 0, default, ..ColumnDef::new(format!("column {i} ä"), column_type) }
    };
    let columns: Vec<ColumnDef> = (0..column_count).map(column).collect();
    let primary_key = if random.chance(1, 2) { vec![ColumnId(0)] } else { Vec::new() };
    let next_column_id = columns.len() as u16;
    let (id, name, checks) = (TableId(id), format!("table {id}"), random_checks(random));
    let schema = SchemaId::PUBLIC;
    let def = TableDef {
        id,
        schema,
        name,
        columns,
        primary_key,
        next_column_id,
        checks,
        keys: Vec::new(),
        foreign_keys: Vec::new(),
    };
    let chunks: Vec<ManifestChunk> = (0..random.below(5) as u32)
        .map(|i| {
            let row_count = 1 + random.below(CHUNK_ROWS as u64) as u32;
            let segments = def.columns.iter().map(|c| random_segment(c, row_count, random)).collect();
            let file_id = DataFileId(u64::from(def.id.0 * 10 + i / 2));
            let deleted = random_deleted_rows(row_count, random).map(Arc::new);
            let chunk = ManifestChunk { id: ChunkId(3 * i), row_count, deleted, file_id: Some(file_id), segments };
            if random.chance(1, 3) { in_memory(&def, &chunk).unwrap_or(chunk) } else { chunk }
        })
        .collect();
    let sketches = def.columns.iter().map(|_| random_sketch(random)).collect();
    ManifestTable { def, next_chunk_id: 15, sequence: random.below(sequence + 1), chunks, sketches }
}

fn random_manifest(random: &mut SeededRandom) -> Manifest {
    let (sequence, table_count) = (random.below(1 << 50), random.below(5) as u32);
    let mut tables: Vec<ManifestTable> = (0..table_count).map(|i| random_table(2 * i + 1, sequence, random)).collect();
    tables.iter_mut().for_each(|table| alter(table, random));
    let types: Vec<EnumType> = (0..random.below(4) as u32).map(|i| random_type(i, random)).collect();
    let columns = tables.iter_mut().flat_map(|table| &mut table.def.columns);
    for column in columns.filter(|column| column.column_type == ColumnType::BigInt) {
        if !types.is_empty() {
            let oid = types[random.below(types.len() as u64) as usize].oid;
            column.column_type = ColumnType::Enum(EnumTypeRef::Stored(oid));
        }
    }
    tables.iter_mut().for_each(|table| table.def.keys = keys::random_keys(&table.def, random));
    foreign_keys::add_random_foreign_keys(&mut tables, random);
    tables.iter_mut().for_each(|table| generated::generate(&mut table.def, random));
    let next_ids = NextIds { table: NEXT_IDS.table + 10_000, type_oid: FIRST_TYPE_OID + 400, ..NEXT_IDS };
    let mut sequences: Vec<_> =
        (0..random.below(4) as u32).map(|i| sequences::random_sequence(2 * i, random)).collect();
    let log_number = random.next_u64();
    let (schemas, views) = (schemas::random_schemas(random), Vec::new());
    let comments = comments::random_comments(random);
    let access = access::random_access(random);
    let domains = domains::random_domains(&types, random);
    domains::give_domains(&mut tables, &domains, random);
    let mut manifest = Manifest {
        sequence,
        next_ids,
        log_number,
        types,
        domains,
        schemas,
        sequences: Vec::new(),
        views,
        comments,
        access,
        tables,
    };
    manifest.views = views::random_views(&manifest, random);
    let mut any_schema = || match random.below(1 + manifest.schemas.len() as u64) as usize {
        0 => SchemaId::PUBLIC,
        at => manifest.schemas[at - 1].id,
    };
    let is_view = |id: TableId| manifest.views.iter().any(|view| view.id == id);
    let others = manifest.tables.iter_mut().filter(|table| !is_view(table.def.id));
    others.for_each(|table| table.def.schema = any_schema());
    sequences.iter_mut().for_each(|known| known.def.schema = any_schema());
    manifest.types.iter_mut().for_each(|known| known.schema = any_schema());
    Manifest { sequences, ..manifest }
}

const NEXT_IDS: NextIds = NextIds { file: 1000, table: 10, type_oid: FIRST_TYPE_OID };

/// As versions without logs had it.
fn manifest_of(table: ManifestTable) -> Manifest {
    Manifest {
        sequence: 9,
        next_ids: NEXT_IDS,
        log_number: 0,
        types: Vec::new(),
        domains: Domains::new(),
        schemas: Vec::new(),
        sequences: Vec::new(),
        views: Vec::new(),
        comments: Comments::new(),
        access: AccessControl::default(),
        tables: vec![table],
    }
}

/// A type with up to five labels, whose keys are anywhere.
fn random_type(number: u32, random: &mut SeededRandom) -> EnumType {
    let oid = FIRST_TYPE_OID + 100 * number;
    let mut keys: Vec<i64> = (0..random.below(6)).map(|_| random.next_u64() as i64).collect();
    keys.sort_unstable();
    keys.dedup();
    let label = |(i, key): (u32, i64)| EnumLabel { oid: oid + 2 + i, key, text: format!("label {i} ä").into() };
    let labels = (0..).zip(keys).map(label).collect();
    let (name, array_name) = (format!("type {number}"), format!("_type {number}"));
    EnumType { oid, array_oid: oid + 1, schema: SchemaId::PUBLIC, name, array_name, labels }
}

/// A value that a column of the type can have in rows that were there before it.
fn random_missing_value(column_type: ColumnType, random: &mut SeededRandom) -> Scalar {
    let bits = random.next_u64();
    let decimal = |precision: u8| i128::from(bits) % 10_i128.pow(u32::from(precision));
    match column_type {
        ColumnType::SmallInt => Scalar::Int((bits as i16).into()),
        ColumnType::Integer | ColumnType::Date => Scalar::Int((bits as i32).into()),
        ColumnType::Real => Scalar::Float(f32::from_bits(bits as u32).into()),
        ColumnType::Numeric { precision: precision @ ..=18, .. } => Scalar::Int(-(decimal(precision) as i64)),
        ColumnType::Numeric { precision, .. } => Scalar::Int128(decimal(precision)),
        ColumnType::Uuid => Scalar::Bytes(vec![bits as u8; 16]),
        ColumnType::Text | ColumnType::Varchar(_) | ColumnType::Char(_) => {
            Scalar::Bytes("ä".repeat(bits as usize % 40).into_bytes())
        }
        other => random_scalar(other.physical(), random),
    }
}

/// Drops columns, and gives others missing values in place of some of their segments, as ALTER TABLE and loads between would.
fn alter(table: &mut ManifestTable, random: &mut SeededRandom) {
    table.def.next_column_id += random.below(3) as u16;
    for at in (1..table.def.columns.len()).rev() {
        let id = table.def.columns[at].id;
        match random.below(4) {
            0 => {
                table.def.columns.remove(at);
                table.sketches.remove(at);
                table.chunks.iter_mut().for_each(|chunk| chunk.segments.retain(|segment| segment.column != id));
            }
            1 => {
                let column = &mut table.def.columns[at];
                column.missing = random.chance(2, 3).then(|| random_missing_value(column.column_type, random));
                let chunks_before = random.below(table.chunks.len() as u64 + 1) as usize;
                let before = &mut table.chunks[..chunks_before];
                before.iter_mut().for_each(|chunk| chunk.segments.retain(|segment| segment.column != id));
            }
            _ => {}
        }
    }
}

/// Makes the checksum and the length right for whatever the bytes are, as a forger would.
fn reseal(bytes: &mut [u8]) {
    let length = bytes.len() as u64;
    bytes[24..32].copy_from_slice(&length.to_le_bytes());
    let sum = checksum(&bytes[CHECKED_FROM..]);
    bytes[16..24].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn a_manifest_comes_back_as_it_was_written() {
    assert_eq!(Manifest::decode(&Manifest::empty().encode()), Ok(Manifest::empty()));
    for case in cases!(0..200) {
        let manifest = random_manifest(&mut case.random());
        let bytes = manifest.encode();
        assert_eq!(bytes.len() % SEGMENT_ALIGN_BYTES, 0);
        assert_eq!(Manifest::decode(&bytes).as_ref(), Ok(&manifest));
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_noticed() {
    let mut manifest = random_manifest(&mut SeededRandom::new(3));
    // One sketch is enough, and keeps the bits few.
    let sketches = manifest.tables.iter_mut().flat_map(|table| &mut table.sketches).filter(|sketch| sketch.is_some());
    assert!(sketches.skip(1).map(|sketch| *sketch = None).count() > 0);
    let bytes = manifest.encode();
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(Manifest::decode(&damaged).is_err(), "bit {bit}");
    }
    let length = u64::from_le_bytes(bytes[24..32].try_into().unwrap()) as usize;
    for cut in 0..length {
        assert!(Manifest::decode(&bytes[..cut]).is_err(), "cut to {cut}");
    }
    assert_eq!(Manifest::decode(&bytes[..length]), Ok(manifest));
}

#[test]
fn errors_say_what_was_expected_and_what_was_found() {
    let bytes = random_manifest(&mut SeededRandom::new(3)).encode();
    let error = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = bytes.clone();
        change(&mut bytes);
        Manifest::decode(&bytes).unwrap_err()
    };
    assert_eq!(error(&|b| b[0] = 0), ManifestError::NoHeader);
    assert_eq!(error(&|b| b.truncate(55)), ManifestError::NoHeader);
    assert_eq!(error(&|b| b[8] = 11), ManifestError::UnknownVersion { found: 11, oldest: 1, newest: 10 });
    assert_eq!(error(&|b| b[8] = 0), ManifestError::UnknownVersion { found: 0, oldest: 1, newest: 10 });
    let found = bytes.len() as u64 - 4096;
    assert!(matches!(error(&|b| b.truncate(b.len() - 4096)), ManifestError::Length { found: f, .. } if f == found));
    let expected = u64::from_le_bytes(bytes[16..24].try_into().unwrap());
    match error(&|b| b[60] ^= 1) {
        ManifestError::Checksum { expected: e, found } => assert!(e == expected && found != expected),
        other => panic!("{other:?}"),
    }
}

#[test]
fn forged_relations_are_refused() {
    let manifest = (5..).map(|seed| random_manifest(&mut SeededRandom::new(seed)));
    let has_chunks = |t: &ManifestTable| t.chunks.len() >= 2 && t.chunks.iter().all(|c| c.file_id.is_some());
    let is_rich = |m: &Manifest| m.tables.len() > 1 && m.tables.iter().any(has_chunks);
    let manifest = manifest.into_iter().find(is_rich).unwrap();
    let with_chunks = manifest.tables.iter().position(has_chunks).unwrap();
    let last = manifest.tables.len() - 1;
    let refused = |what: &str, forge: &dyn Fn(&mut Manifest)| {
        let mut forged = manifest.clone();
        forge(&mut forged);
        let decoded = Manifest::decode(&forged.encode());
        assert!(matches!(decoded, Err(ManifestError::Malformed { .. })), "{what}: {decoded:?}");
    };
    refused("table id not given out", &|m| m.next_ids.table = m.tables[last].def.id.0);
    refused("file id not given out", &|m| m.next_ids.file = 11);
    refused("twice the same name", &|m| {
        (m.tables[1].def.name, m.tables[1].def.schema) = (m.tables[0].def.name.clone(), m.tables[0].def.schema);
    });
    refused("twice the same id", &|m| m.tables[1].def.id = m.tables[0].def.id);
    refused("newer than its manifest", &|m| m.tables[0].sequence = m.sequence + 1);
    refused("chunk id not given out", &|m| m.tables[with_chunks].next_chunk_id = 3);
    refused("chunks out of order", &|m| m.tables[with_chunks].chunks.reverse());
    refused("a file of two tables", &|m| {
        let mut other = m.tables[with_chunks].clone();
        other.def.id = TableId(9);
        other.def.name = "another".to_owned();
        m.tables.push(other);
    });
    refused("no rows", &|m| m.tables[with_chunks].chunks[0].row_count = 0);
    refused("too many rows", &|m| m.tables[with_chunks].chunks[0].row_count = CHUNK_ROWS as u32 + 1);
    refused("nulls where there are none", &|m| m.tables[with_chunks].chunks[0].segments[0].zone_map.null_count = 1);
    let move_segment = |m: &mut Manifest, offset: u64| {
        let place = SegmentPlace::InFile(FileRange { offset, stored_bytes: 4096 });
        let segment = &mut m.tables[with_chunks].chunks[0].segments[0];
        (segment.place, segment.segment_bytes) = (place, 4096);
    };
    refused("a segment in the header", &|m| move_segment(m, 0));
    refused("a crooked segment", &|m| move_segment(m, 4096 + 512));
    refused("an endless segment", &|m| move_segment(m, u64::MAX - 4095));
    refused("a segment beyond its padding", &|m| m.tables[with_chunks].chunks[0].segments[0].segment_bytes = u32::MAX);
    refused("values that no sketch knows", &|m| {
        let column = &mut m.tables[with_chunks].sketches[0];
        *column = Some(DistinctSketch::empty());
    });
    refused("no columns", &|m| {
        m.tables[0].def.columns.clear();
        m.tables[0].sketches.clear();
        m.tables[0].def.primary_key.clear();
        m.tables[0].chunks.clear();
    });
    refused("an impossible numeric", &|m| {
        m.tables[0].def.columns[0].column_type = ColumnType::Numeric { precision: 39, scale: 0 };
        m.tables[0].chunks.clear();
    });
}

/// Changes a few bytes, and perhaps cuts what follows the first `kept`.
fn damage(bytes: &mut Vec<u8>, kept: usize, random: &mut SeededRandom) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len() as u64) as usize;
        match random.below(4) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next_u64() as u8,
            2 => bytes[at..].iter_mut().take(4).for_each(|byte| *byte = 0xFF),
            _ => bytes.truncate(at.max(kept)),
        }
    }
}

/// What the fuzz target does for hours, for a moment: no bytes make the decoder panic, and what it accepts is a
/// manifest that encodes to something it accepts as the same.
#[test]
fn decoding_is_total() {
    let encoded: Vec<Vec<u8>> = (0..50).map(|seed| random_manifest(&mut SeededRandom::new(seed)).encode()).collect();
    for case in cases!(0..15_000) {
        let random = &mut case.random();
        let mut bytes = if case.seed % 4 == 0 {
            let mut bytes: Vec<u8> =
                (0..HEADER_BYTES as u64 + random.below(300)).map(|_| random.next_u64() as u8).collect();
            bytes[..16].copy_from_slice(b"BRAIDMAN\x03\0\0\0\0\0\0\0");
            bytes
        } else {
            encoded[case.seed as usize % encoded.len()].clone()
        };
        damage(&mut bytes, HEADER_BYTES, random);
        if random.chance(9, 10) {
            reseal(&mut bytes);
        }
        if let Ok(manifest) = Manifest::decode(&bytes) {
            assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest));
        }
    }
}

#[test]
fn counts_allocate_no_more_than_the_bytes_that_are_there() {
    let bytes = [0; 100];
    let reader = ByteReader::at(&bytes, 40);
    assert_eq!(reader.bounded_capacity(usize::MAX, 7), 60 / 7);
    assert_eq!(reader.bounded_capacity(3, 7), 3);
}

/// The entries of a table's deleted rows, read as those of a chunk of 20 rows and of one of 100.
fn take_deleted_rows(bytes: &[u8]) -> Result<Vec<Option<Vec<u32>>>, ManifestError> {
    let chunk = |(id, row_count)| {
        let (id, file_id) = (ChunkId(id), Some(DataFileId(1)));
        ManifestChunk { id, row_count, deleted: None, file_id, segments: Vec::new() }
    };
    let mut chunks = [(4, 20), (6, 100)].map(chunk);
    let mut reader = ByteReader::at(bytes, 0);
    deleted_rows_section::take_deleted_rows(&mut reader, &mut chunks)?;
    assert_eq!(reader.remaining(), 0);
    Ok(chunks.iter().map(|chunk| Some(chunk.deleted.as_ref()?.iter().collect())).collect())
}

#[test]
fn damaged_deleted_rows_are_refused() {
    let section = |entries: &[Vec<u8>]| [&(entries.len() as u32).to_le_bytes(), entries.concat().as_slice()].concat();
    let entry = |id: u32, form: u8, rest: &[u8]| [&id.to_le_bytes(), &[form][..], rest].concat();
    let numbers = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let list = |id: u32, rows: &[u32]| entry(id, 1, &[numbers(&[rows.len() as u32]), numbers(rows)].concat());
    let all: Vec<u32> = (0..20).collect();
    assert_eq!(take_deleted_rows(&section(&[])), Ok(vec![None, None]));
    let both = section(&[entry(4, 2, &[1, 128, 8]), list(6, &[0, 99])]);
    assert_eq!(take_deleted_rows(&both), Ok(vec![Some(vec![0, 15, 19]), Some(vec![0, 99])]));
    for (what, bytes) in [
        ("no count", vec![0; 3]),
        ("more chunks than bytes", numbers(&[u32::MAX])),
        ("an unknown chunk", section(&[list(5, &[0])])),
        ("chunks out of order", section(&[list(6, &[0]), list(4, &[0])])),
        ("twice the same chunk", section(&[list(4, &[0]), list(4, &[1])])),
        ("an unknown form", section(&[entry(4, 3, &[1, 128, 8])])),
        ("no rows", section(&[list(4, &[])])),
        ("no bits", section(&[entry(4, 2, &[0, 0, 0])])),
        ("all rows", section(&[list(4, &all)])),
        ("all bits", section(&[entry(4, 2, &[0xFF, 0xFF, 0x0F])])),
        ("a row beyond the chunk", section(&[list(4, &[3, 20])])),
        ("a bit beyond the chunk", section(&[entry(4, 2, &[1, 128, 24])])),
        ("rows out of order", section(&[list(4, &[3, 2])])),
        ("twice the same row", section(&[list(4, &[3, 3])])),
        ("an endless list", section(&[entry(4, 1, &numbers(&[u32::MAX, 1, 2]))])),
        ("a bitmap cut short", section(&[entry(4, 2, &[1, 128])])),
    ] {
        let taken = take_deleted_rows(&bytes);
        assert!(matches!(taken, Err(ManifestError::Malformed { .. })), "{what}: {taken:?}");
    }
}

#[test]
fn deleted_rows_take_no_more_than_a_bitmap() {
    let bytes_of = |deleted: &DeletedRows| {
        let mut out = Vec::new();
        deleted_rows_section::put_deleted_rows(&mut out, [(ChunkId(4), deleted)].into_iter());
        out.len() - (4 + 4 + 1)
    };
    let row_count = CHUNK_ROWS as u32;
    for count in [1, 2, 100, 4_094, 4_095, 4_096, 100_000, row_count - 1] {
        let deleted = DeletedRows::of(row_count, row_count - count..row_count);
        assert_eq!(bytes_of(&deleted), (4 + 4 * count as usize).min(CHUNK_ROWS / 8), "{count} rows");
    }
}

#[test]
fn forged_types_are_refused() {
    let random = &mut SeededRandom::new(7);
    let mut manifest = manifest_of(random_table(1, 9, random));
    manifest.next_ids.type_oid = FIRST_TYPE_OID + 400;
    let labels = ["a", "b"].into_iter().zip(1..);
    let labels = labels.map(|(text, i)| EnumLabel { oid: FIRST_TYPE_OID + 1 + i, key: i.into(), text: text.into() });
    let of_labels = EnumType { labels: labels.collect(), ..random_type(0, random) };
    manifest.types = vec![of_labels, random_type(1, random)];
    assert_eq!(Manifest::decode(&manifest.encode()).as_ref(), Ok(&manifest));
    let refused = |what: &str, forge: &dyn Fn(&mut Manifest)| {
        let mut forged = manifest.clone();
        forge(&mut forged);
        let decoded = Manifest::decode(&forged.encode());
        assert!(matches!(decoded, Err(ManifestError::Malformed { .. })), "{what}: {decoded:?}");
    };
    refused("a next oid among those of tables", &|m| m.next_ids.type_oid = FIRST_TYPE_OID - 1);
    refused("an unknown schema", &|m| m.types[1].schema = SchemaId(9_999));
    refused("a next oid beyond those of types", &|m| m.next_ids.type_oid = TYPE_OID_END + 1);
    refused("an oid not given out", &|m| m.next_ids.type_oid = m.types[1].oid);
    refused("types out of order", &|m| m.types.reverse());
    refused("twice the same oid", &|m| m.types[1].array_oid = m.types[0].oid);
    refused("a label with the oid of another", &|m| m.types[0].labels[1].oid = m.types[0].labels[0].oid);
    refused("twice the same name", &|m| m.types[1].name = m.types[0].name.clone());
    refused("an array type called like a type", &|m| m.types[1].array_name = m.types[0].name.clone());
    refused("no name", &|m| m.types[0].name.clear());
    refused("a table called like a type", &|m| {
        (m.tables[0].def.name, m.tables[0].def.schema) = (m.types[1].name.clone(), SchemaId::PUBLIC);
    });
    refused("labels out of order", &|m| m.types[0].labels.reverse());
    refused("twice the same key", &|m| m.types[0].labels[1].key = 1);
    refused("twice the same label", &|m| m.types[0].labels[1].text = "a".into());
    refused("a label that is too long", &|m| m.types[0].labels[1].text = "x".repeat(64).into());
    refused("a column of no type", &|m| {
        m.tables[0].def.columns[0].column_type = ColumnType::Enum(EnumTypeRef::Stored(FIRST_TYPE_OID + 99));
        m.tables[0].chunks.clear();
    });
}

#[test]
fn a_scale_beyond_all_digits_and_one_of_another_column_are_refused() {
    let forged = |column_type: ColumnType, scale: u8| {
        let (mut table, random) = (random_table(1, 9, &mut SeededRandom::new(5)), &mut SeededRandom::new(1));
        table.def.columns.truncate(1);
        table.sketches.truncate(1);
        table.def.columns[0].column_type = column_type;
        let mut segment = random_segment(&table.def.columns[0], 1, random);
        segment.zone_map = ZoneMap { null_count: segment.zone_map.null_count, ..ZoneMap::default() };
        segment.scale = Some(scale);
        let (id, row_count, file_id) = (ChunkId(1), 1, Some(DataFileId(1)));
        table.chunks = vec![ManifestChunk { id, row_count, deleted: None, file_id, segments: vec![segment] }];
        table.sketches = vec![None];
        Manifest::decode(&manifest_of(table).encode())
    };
    let numeric = ColumnType::Encoded { type_oid: NUMERIC_OID, modifier: -1 };
    assert!(forged(numeric, 38).is_ok());
    assert!(matches!(forged(numeric, 39), Err(ManifestError::Malformed { .. })));
    for other in [ColumnType::Encoded { type_oid: 3802, modifier: -1 }, ColumnType::Integer, ColumnType::Text] {
        assert!(matches!(forged(other, 2), Err(ManifestError::Malformed { .. })), "{other}");
    }
}

#[test]
fn sketches_take_no_more_than_their_registers() {
    let mut manifest = Manifest { next_ids: NEXT_IDS, ..Manifest::empty() };
    let mut table = random_table(1, 0, &mut SeededRandom::new(1));
    table.chunks.clear();
    table.def.columns.truncate(1);
    let mut length_with = |values: std::ops::Range<i64>| {
        let mut sketch = DistinctSketch::empty();
        sketch.insert_integers(&values.collect::<Vec<_>>());
        manifest.tables = vec![ManifestTable { sketches: vec![Some(sketch)], ..table.clone() }];
        let bytes = manifest.encode();
        assert_eq!(Manifest::decode(&bytes).as_ref(), Ok(&manifest));
        u64::from_le_bytes(bytes[24..32].try_into().unwrap())
    };
    let none = length_with(0..0);
    assert_eq!(length_with(0..1) - none, 2);
    for count in [10, 100, 300, 500, 1_000, 100_000] {
        let expected_max = (2 * count as u64).min(768 - 2);
        assert!(length_with(0..count) - none <= expected_max, "{count} values");
    }
}

#[test]
fn damaged_sketches_are_refused() {
    let take = |bytes: &[u8]| sketch_section::take_sketch(&mut ByteReader::at(bytes, 0));
    let refused = |bytes: &[u8]| matches!(take(bytes), Err(ManifestError::Malformed { .. }));
    let entry = |register: u16, rank: u16| (register << 6 | rank).to_le_bytes();
    let few = |entries: &[[u8; 2]]| [&[1, entries.len() as u8, 0], entries.concat().as_slice()].concat();
    assert_eq!(take(&[0]), Ok(None));
    assert_eq!(take(&few(&[])), Ok(Some(DistinctSketch::empty())));
    let sketch = take(&few(&[entry(3, 55), entry(1023, 1)])).unwrap().unwrap();
    assert_eq!((sketch.ranks()[3], sketch.ranks()[1023]), (55, 1));
    assert!(refused(&[]), "no form");
    assert!(refused(&[3]), "an unknown form");
    assert!(refused(&few(&[entry(3, 5)])[..4]), "cut");
    assert!(refused(&few(&[entry(3, 5), entry(3, 5)])), "twice the same register");
    assert!(refused(&few(&[entry(4, 5), entry(3, 5)])), "out of order");
    assert!(refused(&few(&[entry(4, 0)])), "a register without a rank");
    assert!(refused(&few(&[entry(4, 56)])), "a rank beyond the hash's bits");
    assert!(refused(&[&[2], [0; 767].as_slice()].concat()), "cut");
    assert!(refused(&[&[2], [0xFF; 768].as_slice()].concat()), "ranks beyond the hash's bits");
}
