//! Commit records: a state from nothing, forgeries, and any bytes.

use braid_base::{SchemaId, SeededRandom, TableId};
use braid_testing::cases;

use super::super::table_section::put_definition;
use super::super::*;
use super::{damage, random_manifest};
use crate::access::changed_access;
use crate::comments::changed_comments;

/// The state before `manifest`, without types and tables.
fn state_before(manifest: &Manifest) -> Manifest {
    let next_ids = Manifest::empty().next_ids;
    Manifest {
        sequence: manifest.sequence - 1,
        next_ids,
        types: Vec::new(),
        domains: Domains::new(),
        schemas: Vec::new(),
        sequences: Vec::new(),
        views: Vec::new(),
        comments: Comments::new(),
        access: AccessControl::default(),
        tables: Vec::new(),
        ..manifest.clone()
    }
}

/// The record of the commit that makes all of a state.
fn record_of(manifest: &Manifest) -> CommitRecord {
    let change = |table: &ManifestTable| TableChange {
        def: Arc::new(table.def.clone()),
        is_redefined: true,
        next_chunk_id: table.next_chunk_id,
        removed: Vec::new(),
        added: table.chunks.iter().map(|chunk| ManifestChunk { deleted: None, ..chunk.clone() }).collect(),
        deleted: table.chunks.iter().filter_map(|chunk| Some((chunk.id, chunk.deleted.clone()?))).collect(),
        sketches: table.sketches.iter().map(|sketch| SketchChange::Replaced(sketch.clone())).collect(),
    };
    CommitRecord {
        sequence: manifest.sequence,
        next_ids: manifest.next_ids,
        types: Some(manifest.types.iter().cloned().map(Arc::new).collect()),
        schemas: Some(manifest.schemas.iter().cloned().map(Arc::new).collect()),
        sequences: Some(manifest.sequences.iter().map(|known| (Arc::new(known.def.clone()), known.state)).collect()),
        views: Some(manifest.views.iter().cloned().map(Arc::new).collect()),
        dropped: Vec::new(),
        changed: manifest.tables.iter().map(change).collect(),
        comments: changed_comments(&Comments::new(), &manifest.comments),
        access: changed_access(&AccessControl::default(), &manifest.access),
        domains: manifest.domains.iter().map(|(oid, domain)| (*oid, Some(Arc::clone(domain)))).collect(),
    }
}

fn all_types_are_public(manifest: &Manifest) -> bool {
    manifest.types.iter().all(|known| known.schema == SchemaId::PUBLIC)
}

fn random_state(random: &mut SeededRandom) -> Manifest {
    let mut manifest = random_manifest(random);
    manifest.sequence += 1;
    // A record's tables have its number.
    manifest.tables.iter_mut().for_each(|table| table.sequence = manifest.sequence);
    manifest
}

/// Records of version 9 end before the schemas of types.
#[test]
fn a_record_of_version_9_is_read_and_all_its_types_are_public() {
    let is_old = |manifest: &Manifest| !manifest.types.is_empty() && all_types_are_public(manifest);
    for seed in (0..).filter(|seed| is_old(&random_state(&mut SeededRandom::new(*seed)))).take(20) {
        let manifest = random_state(&mut SeededRandom::new(seed));
        let mut bytes = record_of(&manifest).encode();
        let end = bytes.len() - 4;
        assert_eq!(bytes.split_off(end), [0; 4], "there are no schemas of types");
        let mut state = state_before(&manifest);
        state.apply(&bytes).unwrap();
        assert_eq!(state, manifest);
    }
}

#[test]
fn a_record_makes_one_state_of_another() {
    for case in cases!(0..200) {
        let manifest = random_state(&mut case.random());
        let mut state = state_before(&manifest);
        state.apply(&record_of(&manifest).encode()).unwrap();
        assert_eq!(state, manifest);
        assert_eq!(state.validate(), Ok(()));
    }
}

/// Records of version 6 are read behind a manifest of any version.
#[test]
fn a_record_of_version_6_is_read_and_has_no_foreign_keys() {
    let is_old = |def: &TableDef| {
        def.foreign_keys.is_empty()
            && def.columns.iter().all(|column| column.generated.is_none() && column.domain.is_none())
            && def.checks.iter().all(|check| check.comment.is_none())
    };
    let is_old = |manifest: &Manifest| manifest.tables.len() == 1 && is_old(&manifest.tables[0].def);
    for seed in (0..).filter(|seed| is_old(&random_state(&mut SeededRandom::new(*seed)))).take(20) {
        let manifest = random_state(&mut SeededRandom::new(seed));
        let mut bytes = record_of(&manifest).encode();
        let mut definition = Vec::new();
        put_definition(&mut definition, &manifest.tables[0].def);
        let starts = |at: &usize| bytes[*at..].starts_with(&definition);
        let at = (0..bytes.len()).find(starts).unwrap();
        // The number of foreign keys is the definition's end.
        bytes.drain(at + definition.len() - 2..at + definition.len());
        assert_eq!(u32::from(std::mem::replace(&mut bytes[at - 1], 1)), FORMAT_VERSION);
        let mut state = state_before(&manifest);
        state.apply(&bytes).unwrap();
        assert_eq!(state, manifest);
    }
}

/// Records of versions 7 and 8 have definitions without domains, and those of version 8 end before the domains.
#[test]
fn a_record_of_version_8_is_read_and_has_no_domains() {
    let is_old = |manifest: &Manifest| {
        manifest.tables.len() == 1 && manifest.domains.is_empty() && all_types_are_public(manifest)
    };
    for seed in (0..).filter(|seed| is_old(&random_state(&mut SeededRandom::new(*seed)))).take(20) {
        let manifest = random_state(&mut SeededRandom::new(seed));
        let mut bytes = record_of(&manifest).encode();
        let mut definition = Vec::new();
        put_definition(&mut definition, &manifest.tables[0].def);
        let at = (0..bytes.len()).find(|at| bytes[*at..].starts_with(&definition)).unwrap();
        assert_eq!(u32::from(std::mem::replace(&mut bytes[at - 1], 7)), FORMAT_VERSION);
        let end = bytes.len() - 8;
        assert_eq!(bytes.split_off(end), [0; 8], "there are no domains, and no schemas of types");
        let mut state = state_before(&manifest);
        state.apply(&bytes).unwrap();
        assert_eq!(state, manifest);
    }
}

#[test]
fn records_that_do_not_follow_the_state_are_refused() {
    let rich = |manifest: &Manifest| manifest.tables.len() > 1 && manifest.tables.iter().all(|t| t.chunks.len() > 1);
    let manifest = (0..).map(|seed| random_state(&mut SeededRandom::new(seed))).find(rich).unwrap();
    let state = state_before(&manifest);
    let refused = |what: &str, forge: &dyn Fn(&mut CommitRecord)| {
        let mut record = record_of(&manifest);
        forge(&mut record);
        let applied = state.clone().apply(&record.encode());
        assert!(matches!(applied, Err(ManifestError::Malformed { .. })), "{what}: {applied:?}");
    };
    refused("a commit left out", &|r| r.sequence += 1);
    refused("an unknown table is dropped", &|r| r.dropped.push(TableId(1)));
    refused("an unknown chunk goes", &|r| r.changed[0].removed.push(ChunkId(1)));
    refused("twice the same chunk", &|r| r.changed[0].added[1].id = r.changed[0].added[0].id);
    refused("a chunk that is not given out", &|r| r.changed[0].next_chunk_id = 1);
    refused("a table without a definition", &|r| r.changed[0].is_redefined = false);
    refused("rows of an unknown chunk are deleted", &|r| {
        r.changed[0].deleted = vec![(ChunkId(1), Arc::new(DeletedRows::of(10, [1])))];
    });
    refused("all rows are deleted", &|r| {
        let chunk = &r.changed[0].added[0];
        let all = DeletedRows::of(chunk.row_count, 0..chunk.row_count);
        r.changed[0].deleted = vec![(chunk.id, Arc::new(all))];
    });
    refused("a sketch that was there before", &|r| r.changed[0].sketches[0] = SketchChange::None);
    refused("a sketch that knows no value", &|r| {
        r.changed[0].sketches[0] = SketchChange::Replaced(Some(DistinctSketch::empty()));
    });
    let mut longer = record_of(&manifest).encode();
    longer.push(0);
    assert!(matches!(state.clone().apply(&longer), Err(ManifestError::Malformed { .. })));
}

/// What the fuzz target does for hours, for a moment.
#[test]
fn applying_is_total() {
    for case in cases!(0..3_000) {
        let random = &mut case.random();
        let manifest = random_state(random);
        let mut bytes = record_of(&manifest).encode();
        damage(&mut bytes, 8, random);
        let mut state = state_before(&manifest);
        if state.apply(&bytes).is_ok() && state.validate().is_ok() {
            assert_eq!(Manifest::decode(&state.encode()), Ok(state));
        }
    }
}
