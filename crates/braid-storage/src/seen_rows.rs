//! Rows that a statement or a transaction has seen, found again in later versions of their table.

use std::collections::BTreeMap;

use braid_base::ChunkId;

use crate::deleted_rows::{DeletedRows, RowDeletes, RowId};
use crate::moved_rows::Successor;
use crate::{RowConflict, TableVersion};

/// Rows of versions of a table, each by the numbers of a version that had it, and the addresses of their chunks.
#[derive(Clone, Debug, Default)]
pub struct SeenRows {
    chunks: BTreeMap<ChunkId, SeenChunk>,
}

#[derive(Clone, Debug)]
struct SeenChunk {
    rows: DeletedRows,
    successor: Successor,
}

impl SeenRows {
    /// These rows of a version.
    ///
    /// # Errors
    /// If the version lacks a chunk.
    pub fn of(version: &TableVersion, rows: &RowDeletes) -> Result<Self, RowConflict> {
        let mut seen = Self::default();
        for (id, rows) in rows.iter().filter(|(_, rows)| !rows.is_empty()) {
            let chunk = version.chunk(*id).ok_or(RowConflict::ChunkGone { chunk: *id })?;
            let successor = chunk.successor.clone();
            seen.chunks.insert(*id, SeenChunk { rows: rows.clone(), successor });
        }
        Ok(seen)
    }

    /// Adds a row of a version; whether it is new. `None` if the version lacks its chunk.
    pub fn insert(&mut self, version: &TableVersion, RowId { chunk, row }: RowId) -> Option<bool> {
        if let Some(known) = self.chunks.get_mut(&chunk) {
            return Some(known.rows.insert(row));
        }
        let known = version.chunk(chunk)?;
        let (rows, successor) = (DeletedRows::of(known.row_count, [row]), known.successor.clone());
        self.chunks.insert(chunk, SeenChunk { rows, successor });
        Some(true)
    }

    /// Adds rows.
    pub(crate) fn unite(&mut self, other: &Self) {
        for (id, more) in &other.chunks {
            match self.chunks.get_mut(id) {
                Some(known) => known.rows = known.rows.union(&more.rows),
                None => drop(self.chunks.insert(*id, more.clone())),
            }
        }
    }

    /// Forgets all rows.
    pub(crate) fn clear(&mut self) {
        self.chunks.clear();
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.chunks.values().all(|chunk| chunk.rows.is_empty())
    }

    /// The rows by the numbers that they were seen with, in order.
    pub fn ids(&self) -> impl Iterator<Item = RowId> + '_ {
        self.chunks.iter().flat_map(|(chunk, seen)| seen.rows.iter().map(|row| RowId { chunk: *chunk, row }))
    }

    /// Number of the rows, one that was seen under several numbers as often.
    pub fn count(&self) -> u64 {
        self.chunks.values().map(|chunk| u64::from(chunk.rows.count())).sum()
    }

    /// The chunks that they were seen in.
    pub fn chunk_ids(&self) -> impl Iterator<Item = ChunkId> + '_ {
        self.chunks.keys().copied()
    }

    /// The rows by their numbers in a version that is as new as those that they were seen in.
    ///
    /// # Errors
    /// For a row that it does not have.
    pub fn rows_in(&self, version: &TableVersion) -> Result<RowDeletes, RowConflict> {
        let mut found = RowDeletes::new();
        self.find_all(version, &mut found).map(|()| found)
    }

    /// The rows that have other numbers in a version, as in [`Self::rows_in`], each with the one that it was seen with and the one there.
    pub fn renumbered_in(&self, version: &TableVersion) -> Vec<(RowId, RowId)> {
        let mut renumbered = Vec::new();
        for (chunk, SeenChunk { rows, successor }) in self.chunks.iter().filter(|(id, _)| version.chunk(**id).is_none())
        {
            for row in rows.iter() {
                let seen = RowId { chunk: *chunk, row };
                successor.any_place(seen, |place| {
                    let is_there = version.chunk(place.chunk).is_some();
                    renumbered.extend(is_there.then_some((seen, place)));
                    is_there
                });
            }
        }
        renumbered
    }

    /// Those of the rows that a version has, by their numbers in it. It may be older than those that some of them were seen in.
    pub(crate) fn rows_left_in(&self, version: &TableVersion) -> RowDeletes {
        let mut found = RowDeletes::new();
        let _ = self.find_all(version, &mut found);
        found
    }

    /// Puts the rows where they are in a version. The first one that is not in it is the error; the others are put there nevertheless. A
    /// loop and no recursion: rows may have been written again any number of times.
    fn find_all(&self, version: &TableVersion, found: &mut RowDeletes) -> Result<(), RowConflict> {
        let mut result = Ok(());
        let mut sought: Vec<(ChunkId, SeenChunk)> = Vec::new();
        for (id, seen) in &self.chunks {
            match version.chunk(*id) {
                Some(_) => unite(found, *id, &seen.rows),
                None => sought.push((*id, seen.clone())),
            }
        }
        while let Some((chunk, SeenChunk { rows, successor })) = sought.pop() {
            let Some(way) = successor.way() else {
                result = result.and(Err(RowConflict::ChunkGone { chunk }));
                continue;
            };
            let mut next = Self::default();
            way.each(&rows, |row, place| match place {
                Some((into, row)) => {
                    let none = || DeletedRows::none(into.row_count);
                    let new = || SeenChunk { rows: none(), successor: into.successor.clone() };
                    next.chunks.entry(into.id).or_insert_with(new).rows.insert(row);
                }
                None if result.is_ok() => result = Err(RowConflict::Deleted { chunk, row }),
                None => {}
            });
            for (id, seen) in next.chunks {
                match version.chunk(id) {
                    Some(_) => unite(found, id, &seen.rows),
                    None => sought.push((id, seen)),
                }
            }
        }
        result
    }
}

fn unite(all: &mut RowDeletes, chunk: ChunkId, rows: &DeletedRows) {
    let united = all.get(&chunk).map_or_else(|| rows.clone(), |known| known.union(rows));
    all.insert(chunk, united);
}

impl TableVersion {
    /// Where a row of this version is in a newer one.
    ///
    /// # Errors
    /// If that one does not have it.
    pub(crate) fn row_in(&self, row: RowId, newer: &Self) -> Result<RowId, RowConflict> {
        let gone = RowConflict::ChunkGone { chunk: row.chunk };
        let mut now = None;
        let successor = &self.chunk(row.chunk).ok_or(gone)?.successor;
        successor.any_place(row, |place| {
            now = newer.chunk(place.chunk).map(|chunk| (chunk, place));
            now.is_some()
        });
        let (chunk, place) = now.ok_or(gone)?;
        match chunk.deleted.as_ref().is_some_and(|deleted| deleted.contains(place.row)) {
            true => Err(RowConflict::Deleted { chunk: place.chunk, row: place.row }),
            false => Ok(place),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use braid_base::{Random, SchemaId, TableId};
    use braid_testing::cases;

    use super::*;
    use crate::moved_rows::MovedChunks;
    use crate::{ChunkMeta, DistinctCount, TableDef};

    const TABLE: TableId = TableId(3);

    fn chunk(id: u32, row_count: u32, deleted: &[u32]) -> Arc<ChunkMeta> {
        let (file, segments, keys, successor) = Default::default();
        let deleted = (!deleted.is_empty()).then(|| Arc::new(DeletedRows::of(row_count, deleted.iter().copied())));
        Arc::new(ChunkMeta { id: ChunkId(id), row_count, deleted, file, segments, keys, successor })
    }

    fn version(chunks: &[Arc<ChunkMeta>], sequence: u64) -> TableVersion {
        let (schema, name) = (SchemaId::PUBLIC, "t".to_owned());
        let (columns, primary_key, next_column_id, checks, keys, foreign_keys) = Default::default();
        let def =
            TableDef { id: TABLE, schema, name, columns, primary_key, next_column_id, checks, keys, foreign_keys };
        let distinct: Arc<[Option<DistinctCount>]> = Arc::new([]);
        TableVersion::new(Arc::new(def), chunks.to_vec().into(), sequence, distinct)
    }

    /// A row that others have written again and again while its first place is known: no stack grows with the number of times.
    #[test]
    fn long_ways_are_followed_and_forgotten() {
        const MOVES: u32 = if cfg!(debug_assertions) { 100_000 } else { 300_000 };
        let walk = || {
            let first = chunk(0, 3, &[]);
            let old = version(std::slice::from_ref(&first), 1);
            let seen = SeenRows::of(&old, &RowDeletes::from([(ChunkId(0), DeletedRows::of(3, [1]))])).unwrap();
            let mut last = first;
            for id in 1..=MOVES {
                let into = chunk(id, 3, &[]);
                let of_new = [(into.id, into.row_count, into.successor.clone())].into_iter();
                MovedChunks::new(TABLE, std::iter::once(last.gone()), of_new).announce();
                last = into;
            }
            let new = version(&[last], 2);
            let found = seen.rows_in(&new).unwrap();
            assert_eq!(found, RowDeletes::from([(ChunkId(MOVES), DeletedRows::of(3, [1]))]));
            assert_eq!(old.row_in(RowId { chunk: ChunkId(0), row: 2 }, &new).unwrap().chunk, ChunkId(MOVES));
            drop((old, new));
            drop(seen);
        };
        std::thread::Builder::new().stack_size(256 << 10).spawn(walk).unwrap().join().unwrap();
    }

    /// Chunks are written again in random groups, again and again; each row is known by a name.
    #[test]
    fn rows_are_found_wherever_they_have_moved() {
        for case in cases!(0..200) {
            let mut random = case.random();
            let mut names: HashMap<RowId, u64> = HashMap::new();
            let mut chunks: Vec<Arc<ChunkMeta>> = Vec::new();
            let mut next = 0;
            for _ in 0..1 + random.below(5) {
                let rows = 1 + random.below(3_000) as u32;
                for row in 0..rows {
                    names.insert(RowId { chunk: ChunkId(next), row }, u64::from(next) << 32 | u64::from(row));
                }
                chunks.push(chunk(next, rows, &[]));
                next += 1;
            }
            let old = version(&chunks, 1);
            let seen_ids: Vec<RowId> = names.keys().copied().filter(|_| random.below(20) == 0).collect();
            let mut seen = SeenRows::default();
            seen_ids.iter().for_each(|row| assert_eq!(seen.insert(&old, *row), Some(true)));
            let named = names.clone();
            let mut back = Vec::new();
            for _ in 0..random.below(5) {
                // Some rows are deleted, and a group is written again.
                for known in &mut chunks {
                    let (id, rows) = (known.id, known.row_count);
                    let mut deleted = known.deleted.as_deref().cloned().unwrap_or_else(|| DeletedRows::none(rows));
                    for _ in 0..random.below(u64::from(rows) / 4 + 1) {
                        deleted.insert(random.below(rows.into()) as u32);
                    }
                    for row in deleted.iter() {
                        names.remove(&RowId { chunk: id, row });
                    }
                    if !deleted.is_empty() {
                        *known = Arc::new(ChunkMeta { deleted: Some(Arc::new(deleted)), ..(**known).clone() });
                    }
                }
                chunks.retain(|known| known.deleted.as_ref().is_none_or(|deleted| !deleted.is_all()));
                let (gone, kept): (Vec<_>, Vec<_>) = chunks.drain(..).partition(|_| random.below(2) == 0);
                chunks = kept;
                let live = gone.iter().map(|chunk| chunk.live_row_count()).sum::<u32>() + random.below(50) as u32;
                let mut into = Vec::new();
                let mut left = live;
                while left > 0 {
                    let rows = left.min(1 + random.below(2_000) as u32);
                    into.push(chunk(next, rows, &[]));
                    (next, left) = (next + 1, left - rows);
                }
                let of_new = into.iter().map(|chunk| (chunk.id, chunk.row_count, chunk.successor.clone()));
                let moved = MovedChunks::new(TABLE, gone.iter().map(|chunk| chunk.gone()), of_new);
                moved.announce();
                let mut places =
                    into.iter().flat_map(|chunk| (0..chunk.row_count).map(|row| RowId { chunk: chunk.id, row }));
                let mut expected = Vec::new();
                for known in &gone {
                    for row in 0..known.row_count {
                        if let Some(name) = names.remove(&RowId { chunk: known.id, row }) {
                            let place = places.next().unwrap();
                            names.insert(place, name);
                            expected.push((RowId { chunk: known.id, row }, place));
                        }
                    }
                }
                // Rows that came besides.
                for place in places {
                    names.insert(place, u64::MAX - names.len() as u64);
                }
                // What follows comes back.
                let mut before = RowDeletes::new();
                let mut after = RowDeletes::new();
                for (old, new) in expected.iter().filter(|_| random.below(3) == 0) {
                    let rows_of = |all: &[Arc<ChunkMeta>], id| all.iter().find(|c| c.id == id).unwrap().row_count;
                    let add = |all: &mut RowDeletes, row: &RowId, count: u32| {
                        all.entry(row.chunk).or_insert_with(|| DeletedRows::none(count)).insert(row.row)
                    };
                    add(&mut before, old, rows_of(&gone, old.chunk));
                    add(&mut after, new, rows_of(&into, new.chunk));
                }
                let mut followed = before.clone();
                moved.follow(&mut followed);
                assert_eq!(followed, after);
                if let Some((gone, left)) =
                    gone.iter().find_map(|gone| Some((gone, gone.deleted.as_ref()?.iter().next()?)))
                {
                    let stays = RowDeletes::from([(gone.id, DeletedRows::of(gone.row_count, [left]))]);
                    let mut followed = stays.clone();
                    moved.follow(&mut followed);
                    assert_eq!(followed, stays, "a deleted row stays behind");
                }
                moved.go_back(&mut followed);
                assert_eq!(followed, before);
                chunks.extend(into);
                back.push(moved);
            }
            let new = version(&chunks, 2);
            let by_name: HashMap<u64, RowId> = names.iter().map(|(row, name)| (*name, *row)).collect();
            let mut expected: Vec<RowId> =
                seen_ids.iter().filter_map(|row| by_name.get(&named[row]).copied()).collect();
            expected.sort_unstable();
            let mut found: Vec<RowId> = seen
                .rows_left_in(&new)
                .iter()
                .flat_map(|(chunk, rows)| rows.iter().map(|row| RowId { chunk: *chunk, row }))
                .filter(|row| names.contains_key(row))
                .collect();
            found.sort_unstable();
            assert_eq!(found, expected);
            for row in &seen_ids {
                assert_eq!(old.row_in(*row, &new).ok(), by_name.get(&named[row]).copied());
            }
            for (seen, place) in seen.renumbered_in(&new) {
                assert!(old.row_in(seen, &new).is_ok_and(|now| now == place) || !names.contains_key(&place));
            }
            let all_there = seen.rows_in(&new).and_then(|rows| new.check_has_rows(&rows));
            assert_eq!(all_there.is_ok(), expected.len() == seen_ids.len());
            // Addresses of commits that were given up are forgotten.
            back.iter().rev().for_each(MovedChunks::retract);
            assert!(seen_ids.iter().all(|row| old.row_in(*row, &old) == Ok(*row)));
        }
    }
}
