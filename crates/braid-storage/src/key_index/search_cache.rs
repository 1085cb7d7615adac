//! What searches for keys have in memory: the runs of chunks, the pages of key trees, and the segments of rows that were found. Those used last
//! are kept, up to a budget.

use std::collections::HashMap;
use std::sync::Arc;

use braid_base::{ChunkId, TableId};
use parking_lot::Mutex;

use super::key_columns::ShapeId;
use super::key_run::KeyRun;
use super::key_tree::{KeyTreeId, PAGE_BYTES, TreePage};
use crate::data_file_header::DataFileId;
use crate::{ColumnType, Segment};

/// Bytes of all that is kept: the runs of 30 million integers.
const BUDGET_BYTES: usize = 512 << 20;

/// Bytes of an entry besides its run or page.
const ENTRY_BYTES: usize = 256;

/// A run of a chunk.
type RunId = (TableId, ChunkId, ShapeId);

/// A segment: its file, its offset there, and the type that its column is declared with.
type SegmentId = (DataFileId, u64, ColumnType);

/// What an entry is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum EntryId {
    Run(RunId),
    Page(KeyTreeId, u32),
    Segment(SegmentId),
}

#[derive(Clone, Debug)]
enum Content {
    Run(Arc<KeyRun>),
    Page(TreePage),
    Segment(Arc<Segment>, usize),
}

/// The runs, pages and segments in memory.
#[derive(Debug, Default)]
pub(crate) struct SearchCache {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: HashMap<EntryId, Cached>,
    bytes: usize,
    uses: u64,
}

#[derive(Debug)]
struct Cached {
    content: Content,
    last_use: u64,
}

impl Cached {
    fn bytes(&self) -> usize {
        ENTRY_BYTES
            + match &self.content {
                Content::Run(run) => run.memory_bytes(),
                Content::Page(_) => PAGE_BYTES,
                Content::Segment(_, bytes) => *bytes,
            }
    }
}

impl SearchCache {
    /// A run, if it is in memory.
    pub fn run(&self, id: RunId) -> Option<Arc<KeyRun>> {
        match self.state.lock().get(EntryId::Run(id)) {
            Some(Content::Run(run)) => Some(run),
            _ => None,
        }
    }

    /// A page of a tree, if it is in memory.
    pub fn page(&self, tree: KeyTreeId, number: u32) -> Option<TreePage> {
        match self.state.lock().get(EntryId::Page(tree, number)) {
            Some(Content::Page(page)) => Some(page),
            _ => None,
        }
    }

    /// A segment, if it is in memory.
    pub fn segment(&self, id: SegmentId) -> Option<Arc<Segment>> {
        match self.state.lock().get(EntryId::Segment(id)) {
            Some(Content::Segment(segment, _)) => Some(segment),
            _ => None,
        }
    }

    /// Keeps a segment of this many bytes, in the place of what was not used for longest.
    pub fn put_segment(&self, id: SegmentId, segment: Arc<Segment>, bytes: usize) {
        self.state.lock().put(EntryId::Segment(id), Content::Segment(segment, bytes));
    }

    /// Keeps a run, in the place of what was not used for longest.
    pub fn put_run(&self, id: RunId, run: Arc<KeyRun>) {
        self.state.lock().put(EntryId::Run(id), Content::Run(run));
    }

    /// Keeps a page, in the place of what was not used for longest.
    pub fn put_page(&self, tree: KeyTreeId, number: u32, page: TreePage) {
        self.state.lock().put(EntryId::Page(tree, number), Content::Page(page));
    }
}

impl State {
    fn get(&mut self, id: EntryId) -> Option<Content> {
        self.uses += 1;
        let cached = self.entries.get_mut(&id)?;
        cached.last_use = self.uses;
        Some(cached.content.clone())
    }

    fn put(&mut self, id: EntryId, content: Content) {
        self.uses += 1;
        let cached = Cached { content, last_use: self.uses };
        self.bytes += cached.bytes();
        if let Some(before) = self.entries.insert(id, cached) {
            self.bytes -= before.bytes();
        }
        if self.bytes > BUDGET_BYTES {
            self.evict(BUDGET_BYTES / 4 * 3);
        }
    }

    /// Forgets what was not used for longest, until this many bytes are left at most.
    fn evict(&mut self, bytes_max: usize) {
        let mut by_use: Vec<(u64, EntryId)> = self.entries.iter().map(|(id, cached)| (cached.last_use, *id)).collect();
        by_use.sort_unstable_by_key(|(last_use, _)| *last_use);
        for (_, id) in by_use {
            if self.bytes <= bytes_max {
                return;
            }
            self.bytes -= self.entries.remove(&id).map_or(0, |cached| cached.bytes());
        }
    }
}
