//! What the buffer knows of one table: its chunks in the order of their identities, and its scans.
//!
//! Scans with the same columns form a *column class*. Whether a chunk is ready is a question per class, not per scan,
//! and the relevance functions ask for "the columns of these queries": with a thousand scans there are a thousand
//! queries but a handful of classes.

use std::sync::Arc;

use braid_base::{ChunkId, ColumnId, SegmentId, TableId};

use crate::bit_set::BitSet;
use crate::chunk_state::ChunkState;
use crate::keys::Slot;
use crate::scan_state::ScanState;
use crate::table_shape::TableShape;

/// The scans of a table that read the same columns.
#[derive(Clone, Debug)]
pub(crate) struct ColumnClass {
    /// The columns.
    pub columns: Arc<BitSet>,
    /// Slots of the scans.
    pub members: BitSet,
    /// Slots of the scans of this and other classes with a column in common.
    pub overlapping: BitSet,
}

/// A table with registered scans or segments in memory.
#[derive(Clone, Debug)]
pub(crate) struct TableState {
    /// Identity.
    pub id: TableId,
    /// Chunks by ascending identity; the index is the chunk's position.
    pub chunks: Vec<ChunkState>,
    /// Registered scans by slot.
    pub scans: Vec<Option<ScanState>>,
    /// Column classes; those without members are free for reuse.
    pub classes: Vec<ColumnClass>,
    /// For each column, the slots of the scans that read it.
    pub column_users: Vec<BitSet>,
    /// Slots of the scans with too little ahead: `queryStarved`.
    pub starved: BitSet,
    /// Slots of the starved scans and of those that one chunk less would starve.
    pub almost_starved: BitSet,
    /// Where the elevator goes on: it reads the first wanted chunk from here.
    pub cursor: ChunkId,
    /// The sets of columns of the versions learned, each once: they differ where columns were added or dropped in between.
    column_sets: Vec<Vec<ColumnId>>,
    /// Largest segment of each column, for a quick check that no chunk is too large for the buffer.
    pub column_bytes_max: Vec<u64>,
    /// Bytes of all known segments of each column.
    column_bytes: Vec<u64>,
    /// The version learned last.
    sequence: Option<u64>,
}

impl TableState {
    /// A table before its first version is learned.
    pub fn new(id: TableId) -> Self {
        Self {
            id,
            chunks: Vec::new(),
            scans: Vec::new(),
            classes: Vec::new(),
            column_users: Vec::new(),
            starved: BitSet::new(),
            almost_starved: BitSet::new(),
            cursor: ChunkId(0),
            column_sets: Vec::new(),
            column_bytes_max: Vec::new(),
            column_bytes: Vec::new(),
            sequence: None,
        }
    }

    /// The position of a known chunk.
    pub fn position(&self, id: ChunkId) -> Option<usize> {
        self.chunks.binary_search_by_key(&id, |chunk| chunk.id).ok()
    }

    /// The positions of known chunks; fast where they follow one another. Panics if one is unknown.
    pub fn positions(&self, ids: impl Iterator<Item = ChunkId>) -> Vec<usize> {
        let mut expected = 0;
        let position = |id: ChunkId| {
            let is_next = self.chunks.get(expected).is_some_and(|chunk| chunk.id == id);
            let position = if is_next { expected } else { self.position(id).expect("the version was learned") };
            expected = position + 1;
            position
        };
        ids.map(position).collect()
    }

    /// The first position whose chunk's identity is at least `id`.
    pub fn position_from(&self, id: ChunkId) -> usize {
        self.chunks.partition_point(|chunk| chunk.id < id)
    }

    /// The registered scans.
    pub fn scans(&self) -> impl Iterator<Item = (Slot, &ScanState)> {
        self.scans.iter().enumerate().filter_map(|(slot, scan)| Some((Slot(slot), scan.as_ref()?)))
    }

    /// The scan in `slot`. Panics if the slot is empty.
    pub fn scan(&self, slot: Slot) -> &ScanState {
        self.scans[slot.0].as_ref().expect("a slot named in a set of scans is taken")
    }

    /// The scan in `slot`, to change. Panics if the slot is empty.
    pub fn scan_mut(&mut self, slot: Slot) -> &mut ScanState {
        self.scans[slot.0].as_mut().expect("a slot named in a set of scans is taken")
    }

    /// The columns of the scan in `slot`.
    pub fn columns_of(&self, slot: Slot) -> &Arc<BitSet> {
        &self.classes[self.scan(slot).class].columns
    }

    /// The slots of the scans that share a column with the scan in `slot`, its own included.
    pub fn overlapping(&self, slot: Slot) -> &BitSet {
        &self.classes[self.scan(slot).class].overlapping
    }

    /// The identity of a segment.
    pub fn segment_id(&self, position: usize, column: ColumnId) -> SegmentId {
        SegmentId { table: self.id, chunk: self.chunks[position].id, column }
    }

    /// Average bytes of a segment of `column`.
    pub fn column_bytes_mean(&self, column: usize) -> u64 {
        self.column_bytes[column] / self.chunks.len().max(1) as u64
    }

    /// Whether a registered scan still needs this segment.
    pub fn is_wanted(&self, position: usize, column: ColumnId) -> bool {
        let users = self.column_users.get(usize::from(column.0));
        users.is_some_and(|users| users.intersects(&self.chunks[position].interested))
    }

    /// The union of the columns of those of `scans` that want the chunk at `position`: `columnsUsedInQueries`.
    pub fn columns_used(&self, position: usize, scans: [&BitSet; 2]) -> BitSet {
        let mut columns = BitSet::new();
        let interested = &self.chunks[position].interested;
        for class in &self.classes {
            // Members of the class that are interested and in both sets.
            if class.members.intersects_all(interested, scans[0], scans[1]) {
                columns.unite(&class.columns);
            }
        }
        columns
    }

    /// Makes all chunks of `version` known, with all its columns. Costs a step per chunk for a version not seen last, a step per
    /// segment of chunks that were not seen with its columns, nothing otherwise.
    pub fn learn<V: TableShape>(&mut self, version: &V) {
        if self.sequence == Some(version.sequence()) {
            return;
        }
        self.sequence = Some(version.sequence());
        let columns = version.columns();
        let column_set = self.column_set(&columns);
        let column_end = columns.iter().map(|column| usize::from(column.0) + 1).max().unwrap_or(0);
        self.column_bytes_max.resize(column_end.max(self.column_bytes_max.len()), 0);
        self.column_bytes.resize(self.column_bytes_max.len(), 0);
        self.column_users.resize(column_end.max(self.column_users.len()), BitSet::new());
        let mut unknown = Vec::new();
        let mut expected = 0;
        for chunk in 0..version.chunk_count() {
            let id = version.chunk_id(chunk);
            let known = self.chunks.get(expected).is_some_and(|state| state.id == id);
            match if known { Some(expected) } else { self.position(id) } {
                Some(position) => {
                    expected = position + 1;
                    if self.chunks[position].column_set != column_set {
                        self.chunks[position].column_set = column_set;
                        self.learn_segments(position, version, chunk, &columns);
                    }
                }
                None => unknown.push(chunk),
            }
        }
        let mut appended = true;
        let mut last = self.chunks.last().map(|chunk| chunk.id);
        for chunk in unknown {
            let id = version.chunk_id(chunk);
            appended &= last < Some(id);
            last = Some(id);
            self.chunks.push(ChunkState::new(id, column_set));
            self.learn_segments(self.chunks.len() - 1, version, chunk, &columns);
        }
        // Versions come and go with every INSERT; forgotten chunks may make up half of the directory, not more.
        if !appended || self.chunks.len() > 2 * version.chunk_count() + 64 {
            self.renumber(version);
        }
    }

    /// The number of a set of columns.
    fn column_set(&mut self, columns: &[ColumnId]) -> usize {
        let known = self.column_sets.iter().position(|known| known == columns);
        known.unwrap_or_else(|| {
            self.column_sets.push(columns.to_vec());
            self.column_sets.len() - 1
        })
    }

    /// Makes the segments of `columns` in a chunk known; what was known of others stays.
    fn learn_segments<V: TableShape>(&mut self, position: usize, version: &V, chunk: usize, columns: &[ColumnId]) {
        let state = &mut self.chunks[position];
        state.bytes.resize(self.column_bytes.len().max(state.bytes.len()), 0);
        for column in columns {
            let at = usize::from(column.0);
            let Some(place) = version.place(chunk, *column) else {
                state.in_memory.insert(at);
                continue;
            };
            let known = std::mem::replace(&mut state.bytes[at], place.bytes);
            assert!(known == 0 || known == place.bytes, "a segment is the same in all versions");
            self.column_bytes_max[at] = self.column_bytes_max[at].max(u64::from(place.bytes));
            self.column_bytes[at] += u64::from(place.bytes - known);
        }
    }

    /// Sorts the chunks by identity, drops the dead ones that are not in `version`, and moves all sets along.
    fn renumber<V: TableShape>(&mut self, version: &V) {
        let mut current: Vec<ChunkId> = (0..version.chunk_count()).map(|chunk| version.chunk_id(chunk)).collect();
        current.sort_unstable();
        let old = std::mem::take(&mut self.chunks);
        let mut kept: Vec<(usize, ChunkState)> = old.into_iter().enumerate().collect();
        let old_count = kept.len();
        kept.retain(|(_, chunk)| !chunk.is_dead() || current.binary_search(&chunk.id).is_ok());
        kept.sort_by_key(|(_, chunk)| chunk.id);
        let mut moved_to = vec![usize::MAX; old_count];
        for (new, (old, _)) in kept.iter().enumerate() {
            moved_to[*old] = new;
        }
        self.chunks = kept.into_iter().map(|(_, chunk)| chunk).collect();
        self.column_bytes.fill(0);
        for chunk in &self.chunks {
            self.column_bytes.iter_mut().zip(&chunk.bytes).for_each(|(sum, &bytes)| *sum += u64::from(bytes));
        }
        let moved = |set: &BitSet| set.iter().map(|position| moved_to[position]).collect::<BitSet>();
        for scan in self.scans.iter_mut().flatten() {
            scan.remaining = moved(&scan.remaining);
            scan.available = moved(&scan.available);
            scan.coming = moved(&scan.coming);
            if let Some(order) = &mut scan.order {
                // What has been delivered may be gone; it is never looked up again unless it is given back, and then
                // it is pinned, hence alive.
                order
                    .iter_mut()
                    .for_each(|position| *position = moved_to.get(*position).copied().unwrap_or(usize::MAX));
            }
        }
    }

    /// The class of `columns`, with `slot` as a new member.
    pub fn join_class(&mut self, slot: Slot, columns: &BitSet) -> usize {
        let found = self.classes.iter().position(|class| !class.members.is_empty() && *class.columns == *columns);
        let class = found.unwrap_or_else(|| self.new_class(columns));
        self.classes[class].members.insert(slot.0);
        for other in &mut self.classes {
            if !other.members.is_empty() && other.columns.intersects(columns) {
                other.overlapping.insert(slot.0);
            }
        }
        class
    }

    fn new_class(&mut self, columns: &BitSet) -> usize {
        let mut overlapping = BitSet::new();
        for other in &self.classes {
            if other.columns.intersects(columns) {
                overlapping.unite(&other.members);
            }
        }
        let class = ColumnClass { columns: Arc::new(columns.clone()), members: BitSet::new(), overlapping };
        match self.classes.iter().position(|class| class.members.is_empty()) {
            Some(free) => {
                self.classes[free] = class;
                free
            }
            None => {
                self.classes.push(class);
                self.classes.len() - 1
            }
        }
    }

    /// Takes the scan in `slot` out of its class and of all sets of scans; its interest must be gone already.
    pub fn leave_class(&mut self, slot: Slot) {
        let class = self.scan(slot).class;
        self.classes[class].members.remove(slot.0);
        for class in &mut self.classes {
            class.overlapping.remove(slot.0);
        }
        for users in &mut self.column_users {
            users.remove(slot.0);
        }
        self.starved.remove(slot.0);
        self.almost_starved.remove(slot.0);
    }

    /// Whether the table has neither scans nor segments in memory, so that it may be forgotten.
    pub fn is_dead(&self) -> bool {
        self.scans.iter().all(Option::is_none) && self.chunks.iter().all(ChunkState::is_dead)
    }
}
