//! Where the rows of a chunk are after a commit has written them again: merged with those of other chunks, or compacted.
//!
//! Transactions name rows by chunk and number. A commit that writes chunks again leaves a forwarding address in each of them
//! ([`Successor`]), which all versions of the chunk share and which goes with the last of them: whoever can still name a row of a chunk
//! holds its address. So rows may move while others have seen, locked or deleted them.
//!
//! Rules:
//! 1. Rows move in their order, and rows that are deleted stay behind.
//! 2. The addresses of a commit are left, and the locks of rows follow them, when it is put on top of the newest state; all is taken back
//!    if the commit is given up. Both happen under the lock of the queue of commits, and so does taking locks
//!    (`store_shared/group_commit.rs`).

use std::sync::Arc;

use braid_base::{ChunkId, TableId};
use parking_lot::RwLock;

use crate::deleted_rows::{DeletedRows, RowDeletes, RowId};

/// Where the rows of a chunk are, if they were written again.
#[derive(Clone, Debug, Default)]
pub struct Successor(Arc<Address>);

#[derive(Debug, Default)]
struct Address {
    way: RwLock<Option<Move>>,
}

impl Drop for Address {
    /// Addresses lead to each other, a link for each time that rows were written again. Those that nobody else knows are taken apart here,
    /// one after the other, so that no stack grows with their number.
    fn drop(&mut self) {
        let mut ways: Vec<Move> = self.way.get_mut().take().into_iter().collect();
        while let Some(mut way) = ways.pop() {
            let of_chunk = |chunk: &mut NewChunk| Arc::get_mut(&mut chunk.successor.0)?.way.get_mut().take();
            ways.extend(Arc::get_mut(&mut way.into).into_iter().flatten().filter_map(of_chunk));
        }
    }
}

/// The way of a chunk's rows into other chunks.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    /// The rows that stayed behind.
    left: Option<Arc<DeletedRows>>,
    /// The place of the first other one among the rows of `into`.
    first: usize,
    /// The chunks that were written, in order.
    into: Arc<[NewChunk]>,
}

/// A chunk that rows were written into.
#[derive(Clone, Debug)]
pub(crate) struct NewChunk {
    pub(crate) id: ChunkId,
    pub(crate) row_count: u32,
    pub(crate) successor: Successor,
}

/// A chunk that is written again.
#[derive(Clone, Debug)]
pub(crate) struct GoneChunk {
    pub(crate) id: ChunkId,
    /// Rows, deleted ones included.
    pub(crate) row_count: u32,
    pub(crate) deleted: Option<Arc<DeletedRows>>,
    pub(crate) successor: Successor,
}

/// Chunks whose rows a commit has written again.
#[derive(Debug)]
pub(crate) struct MovedChunks {
    table: TableId,
    moves: Vec<(GoneChunk, Move)>,
}

impl MovedChunks {
    /// The rows of the chunks `gone` that are not deleted there, one chunk after the other, are now the first rows of the chunks `into`, each
    /// with its number of rows and its address.
    pub(crate) fn new(
        table: TableId,
        gone: impl Iterator<Item = GoneChunk>,
        into: impl Iterator<Item = (ChunkId, u32, Successor)>,
    ) -> Self {
        let into: Arc<[NewChunk]> =
            into.map(|(id, row_count, successor)| NewChunk { id, row_count, successor }).collect();
        let mut first = 0;
        let moved = |chunk: GoneChunk| {
            let way = Move { left: chunk.deleted.clone(), first, into: Arc::clone(&into) };
            let left = chunk.deleted.as_ref().map_or(0, |deleted| deleted.count());
            first += (chunk.row_count - left) as usize;
            (chunk, way)
        };
        Self { table, moves: gone.map(moved).collect() }
    }

    /// Whether no chunk was written again.
    pub(crate) fn is_empty(&self) -> bool {
        self.moves.is_empty()
    }

    /// The table.
    pub(crate) fn table(&self) -> TableId {
        self.table
    }

    /// Leaves the addresses.
    pub(crate) fn announce(&self) {
        for (chunk, way) in &self.moves {
            *chunk.successor.0.way.write() = Some(way.clone());
        }
    }

    /// Takes the addresses back.
    pub(crate) fn retract(&self) {
        for (chunk, way) in &self.moves {
            let mut left = chunk.successor.0.way.write();
            if left.as_ref().is_some_and(|left| Arc::ptr_eq(&left.into, &way.into)) {
                *left = None;
            }
        }
    }

    /// Replaces rows of the chunks that were written by the same rows where they were before. Rows that came besides are left out.
    pub(crate) fn go_back(&self, rows: &mut RowDeletes) {
        let Some((_, Move { into, .. })) = self.moves.first() else { return };
        let mut written = into.iter().flat_map(|chunk| (0..chunk.row_count).map(move |row| (chunk.id, row)));
        let moved: Vec<(ChunkId, DeletedRows)> =
            into.iter().filter_map(|chunk| Some((chunk.id, rows.remove(&chunk.id)?))).collect();
        if moved.is_empty() {
            return;
        }
        let is_meant = |id: ChunkId, row: u32| moved.iter().any(|(chunk, rows)| *chunk == id && rows.contains(row));
        for (chunk, way) in &self.moves {
            let stays = |row: &u32| way.left.as_ref().is_some_and(|left| left.contains(*row));
            for (row, (id, at)) in (0..chunk.row_count).filter(|row| !stays(row)).zip(&mut written) {
                if is_meant(id, at) {
                    rows.entry(chunk.id).or_insert_with(|| DeletedRows::none(chunk.row_count)).insert(row);
                }
            }
        }
    }

    /// Replaces the rows that have moved by the same rows where they are now. Those that stayed behind keep their numbers.
    pub(crate) fn follow(&self, rows: &mut RowDeletes) {
        for (gone, way) in &self.moves {
            let Some(moved) = rows.remove(&gone.id) else { continue };
            way.each(&moved, |row, place| {
                let (id, row_count, row) = match place {
                    Some((chunk, row)) => (chunk.id, chunk.row_count, row),
                    None => (gone.id, gone.row_count, row),
                };
                rows.entry(id).or_insert_with(|| DeletedRows::none(row_count)).insert(row);
            });
        }
    }
}

impl Move {
    /// Calls `take` with each of these rows and its place, if it did not stay behind.
    pub(crate) fn each(&self, rows: &DeletedRows, mut take: impl FnMut(u32, Option<(&NewChunk, u32)>)) {
        let mut left = self.left.iter().flat_map(|left| left.iter()).peekable();
        let (mut left_before, mut at, mut start) = (0, 0, 0);
        for row in rows.iter() {
            while left.next_if(|left| *left < row).is_some() {
                left_before += 1;
            }
            if left.peek() == Some(&row) {
                take(row, None);
                continue;
            }
            let place = self.first + row as usize - left_before;
            while place - start >= self.into[at].row_count as usize {
                start += self.into[at].row_count as usize;
                at += 1;
            }
            take(row, Some((&self.into[at], (place - start) as u32)));
        }
    }

    /// The place of one row.
    fn place_of(&self, row: u32) -> Option<(&NewChunk, u32)> {
        let left_before = match &self.left {
            Some(left) if left.contains(row) => return None,
            Some(left) => left.count_below(row) as usize,
            None => 0,
        };
        let (mut place, mut at) = (self.first + row as usize - left_before, 0);
        while place >= self.into[at].row_count as usize {
            place -= self.into[at].row_count as usize;
            at += 1;
        }
        Some((&self.into[at], place as u32))
    }
}

impl Successor {
    /// The way of the chunk's rows, if they were written again.
    pub(crate) fn way(&self) -> Option<Move> {
        self.0.way.read().clone()
    }

    /// Whether a row of the chunk with this address fulfils a condition, or the same row at a place where it was later or is now.
    pub(crate) fn any_place(&self, row: RowId, mut holds: impl FnMut(RowId) -> bool) -> bool {
        let (mut row, mut successor) = (row, self.clone());
        loop {
            if holds(row) {
                return true;
            }
            let next = successor.0.way.read().as_ref().and_then(|way| {
                let (chunk, row) = way.place_of(row.row)?;
                Some((RowId { chunk: chunk.id, row }, chunk.successor.clone()))
            });
            let Some(next) = next else { return false };
            (row, successor) = next;
        }
    }
}
