//! What one state of the database has that the state before has not, as the record of a commit.
//!
//! Tables that a commit did not touch share their entries, and chunks that it did not touch are shared by table versions: the work
//! is that of what has changed, but for a comparison of pointers.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_base::ChunkId;

use crate::access::changed_access;
use crate::catalog::{Catalog, TableEntry};
use crate::comments::changed_comments;
use crate::domains::changed_domains;
use crate::manifest::{CommitRecord, ManifestChunk, NextIds, SketchChange, TableChange};
use crate::{ChunkMeta, DistinctCount, TableVersion};

/// The record of the commit that makes `after` of `before`.
pub(crate) fn record_between(before: &Catalog, after: &Catalog, next_ids: NextIds) -> CommitRecord {
    let types = (!before.has_types_of(after))
        .then(|| after.enum_types().map(|known| Arc::clone(&known.definition)).collect::<Vec<_>>());
    let schemas = (!before.has_schemas_of(after)).then(|| after.schemas_by_id().values().cloned().collect());
    let sequences = (!before.has_sequences_of(after)).then(|| after.stored_sequences().collect());
    let views = (!before.has_views_of(after)).then(|| after.views().by_id().values().cloned().collect());
    let is_dropped = |entry: &&Arc<TableEntry>| after.entry(entry.version.def.id).is_none();
    let dropped = before.entries().filter(is_dropped).map(|entry| entry.version.def.id).collect();
    let change = |entry: &Arc<TableEntry>| match before.shared_entry(entry.version.def.id) {
        Some(known) if Arc::ptr_eq(known, entry) => None,
        known => Some(table_change(known.map(|known| &*known.version), entry)),
    };
    let changed = after.entries().filter_map(change).collect();
    let comments = match before.has_comments_of(after) {
        true => Vec::new(),
        false => changed_comments(before.comments_by_subject(), after.comments_by_subject()),
    };
    let access = match before.has_access_of(after) {
        true => Vec::new(),
        false => changed_access(before.access(), after.access()),
    };
    let domains = if before.has_domains_of(after) { Vec::new() } else { changed_domains(before, after) };
    let sequence = after.sequence();
    CommitRecord { sequence, next_ids, types, schemas, sequences, views, dropped, changed, comments, access, domains }
}

fn table_change(before: Option<&TableVersion>, entry: &TableEntry) -> TableChange {
    let after = &*entry.version;
    let is_redefined = before.is_none_or(|before| before.def != after.def);
    let known: &[Arc<ChunkMeta>] = before.map_or(&[], |before| &before.chunks);
    let (mut added, mut deleted) = (Vec::new(), Vec::new());
    let mut left: BTreeMap<ChunkId, &Arc<ChunkMeta>> = BTreeMap::new();
    let shared = known.iter().zip(after.chunks.iter()).take_while(|(a, b)| Arc::ptr_eq(a, b)).count();
    left.extend(known[shared..].iter().map(|chunk| (chunk.id, chunk)));
    for chunk in &after.chunks[shared..] {
        let before = left.remove(&chunk.id);
        if before.is_some_and(|before| Arc::ptr_eq(before, chunk)) {
            continue;
        }
        if before.is_none() {
            added.push(ManifestChunk { deleted: None, ..manifest_chunk(chunk) });
        }
        let before_deleted = before.and_then(|before| before.deleted.as_deref());
        if let Some(rows) = &chunk.deleted {
            let new = before_deleted.map_or_else(|| (**rows).clone(), |before| rows.difference(before));
            if !new.is_empty() {
                deleted.push((chunk.id, Arc::new(new)));
            }
        }
    }
    let removed = left.into_keys().collect();
    let sketches = sketch_changes(before.filter(|_| !is_redefined), after);
    let def = Arc::clone(&after.def);
    TableChange { def, is_redefined, next_chunk_id: entry.next_chunk_id, removed, added, deleted, sketches }
}

fn manifest_chunk(chunk: &ChunkMeta) -> ManifestChunk {
    let file_id = chunk.file.as_ref().map(|file| file.id());
    let (deleted, segments) = (chunk.deleted.clone(), chunk.segments.clone());
    ManifestChunk { id: chunk.id, row_count: chunk.row_count, deleted, file_id, segments }
}

/// Those of a new or altered table are all replaced.
fn sketch_changes(before: Option<&TableVersion>, after: &TableVersion) -> Vec<SketchChange> {
    let sketch = DistinctCount::sketch;
    let Some(before) = before else {
        let replaced = |count: &Option<DistinctCount>| SketchChange::Replaced(count.as_ref().map(sketch).cloned());
        return after.distinct.iter().map(replaced).collect();
    };
    let pairs = before.distinct.iter().zip(after.distinct.iter());
    pairs
        .map(|(before, after)| SketchChange::between(before.as_ref().map(sketch), after.as_ref().map(sketch)))
        .collect()
}
