//! Reads under way and reads to come: how a chosen chunk turns into requests to the device.
//!
//! The missing segments of a chunk are read smallest first, so that scans of few columns can go on early (Cooperative
//! Scans, section 6.2, "column loading order"). Segments that lie side by side are read together as long as the whole
//! stays small: below [`JOINED_READ_BYTES_MAX`] a request costs more than its bytes.

use std::collections::{BTreeMap, HashMap, VecDeque};

use braid_base::{ChunkId, ColumnId, TableId};

use crate::table_shape::SegmentPlace;

/// Largest read made of several segments: 256 kB are 0.1 ms at 2 GB/s, what an SSD takes to answer at all. The shell
/// copies the segments apart, so that each can be evicted by itself; that costs another 25 us at 10 GB/s.
pub(crate) const JOINED_READ_BYTES_MAX: u64 = 256 << 10;

/// One request to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoadId(pub u64);

/// A read for the shell to issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadRequest<V> {
    /// To be named when the read finishes.
    pub id: LoadId,
    /// The version of the table through which the chunk is read.
    pub version: V,
    /// Index of the chunk in `version`.
    pub chunk: usize,
    /// Offset of the read, in bytes.
    pub offset: u64,
    /// Length of the read, in bytes.
    pub bytes: u64,
    /// The segments it brings, by ascending offset.
    pub segments: Vec<(ColumnId, SegmentPlace)>,
}

/// A read planned for a chunk.
#[derive(Clone, Debug)]
struct PlannedRead {
    chunk_load: u64,
    segments: Vec<(ColumnId, SegmentPlace)>,
}

/// The load of one chunk: one or more reads.
#[derive(Clone, Debug)]
pub(crate) struct ChunkLoad<V> {
    pub table: TableId,
    pub chunk: ChunkId,
    version: V,
    version_chunk: usize,
    segments_left: usize,
}

/// All loads under way.
#[derive(Clone, Debug)]
pub(crate) struct Loads<V> {
    chunk_loads: BTreeMap<u64, ChunkLoad<V>>,
    planned: VecDeque<PlannedRead>,
    in_flight: HashMap<LoadId, PlannedRead>,
    in_flight_max: usize,
    next_id: u64,
}

impl<V: Clone> Loads<V> {
    /// No loads; at most `in_flight_max` reads, at least one, are at the device at a time.
    pub fn new(in_flight_max: usize) -> Self {
        Self {
            chunk_loads: BTreeMap::new(),
            planned: VecDeque::new(),
            in_flight: HashMap::new(),
            in_flight_max: in_flight_max.max(1),
            next_id: 0,
        }
    }

    /// Reads at the device.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Whether another read could go to the device and none is planned.
    pub fn want_more(&self) -> bool {
        self.planned.is_empty() && self.in_flight.len() < self.in_flight_max
    }

    /// Plans the reads of a chunk's segments.
    pub fn begin(
        &mut self,
        chunk: (TableId, ChunkId),
        version: V,
        version_chunk: usize,
        segments: Vec<(ColumnId, SegmentPlace)>,
    ) {
        let id = self.next_id;
        self.next_id += 1;
        let (table, chunk) = chunk;
        let load = ChunkLoad { table, chunk, version, version_chunk, segments_left: segments.len() };
        self.chunk_loads.insert(id, load);
        self.planned.extend(reads_of(segments).into_iter().map(|segments| PlannedRead { chunk_load: id, segments }));
    }

    /// The next planned read, if the device may have it.
    pub fn issue(&mut self) -> Option<LoadRequest<V>> {
        if self.in_flight.len() >= self.in_flight_max {
            return None;
        }
        let read = self.planned.pop_front()?;
        let id = LoadId(self.next_id);
        self.next_id += 1;
        let load = &self.chunk_loads[&read.chunk_load];
        let request = LoadRequest {
            id,
            version: load.version.clone(),
            chunk: load.version_chunk,
            offset: read.segments[0].1.offset,
            bytes: read_bytes(&read.segments),
            segments: read.segments.clone(),
        };
        self.in_flight.insert(id, read);
        Some(request)
    }

    /// A read is over: its chunk, its columns, and whether that was the last of the chunk's load. None if unknown.
    pub fn finish(&mut self, id: LoadId) -> Option<(TableId, ChunkId, Vec<ColumnId>, bool)> {
        let read = self.in_flight.remove(&id)?;
        let columns: Vec<ColumnId> = read.segments.iter().map(|(column, _)| *column).collect();
        let (table, chunk, done) = self.settle(read.chunk_load, columns.len());
        Some((table, chunk, columns, done))
    }

    /// Drops planned reads all of whose segments are unwanted; returns what `finish` does for each.
    pub fn cancel_planned(
        &mut self,
        is_wanted: impl Fn(TableId, ChunkId, ColumnId) -> bool,
    ) -> Vec<(TableId, ChunkId, Vec<ColumnId>, bool)> {
        let mut cancelled = Vec::new();
        for read in std::mem::take(&mut self.planned) {
            let load = &self.chunk_loads[&read.chunk_load];
            if read.segments.iter().any(|(column, _)| is_wanted(load.table, load.chunk, *column)) {
                self.planned.push_back(read);
                continue;
            }
            let columns: Vec<ColumnId> = read.segments.iter().map(|(column, _)| *column).collect();
            let (table, chunk, done) = self.settle(read.chunk_load, columns.len());
            cancelled.push((table, chunk, columns, done));
        }
        cancelled
    }

    fn settle(&mut self, chunk_load: u64, segments: usize) -> (TableId, ChunkId, bool) {
        let load = self.chunk_loads.get_mut(&chunk_load).expect("a read belongs to a load under way");
        load.segments_left -= segments;
        let (table, chunk, done) = (load.table, load.chunk, load.segments_left == 0);
        if done {
            self.chunk_loads.remove(&chunk_load);
        }
        (table, chunk, done)
    }
}

fn read_bytes(segments: &[(ColumnId, SegmentPlace)]) -> u64 {
    segments.iter().map(|(_, place)| u64::from(place.bytes)).sum()
}

/// Groups the segments of one chunk into reads, smallest read first.
fn reads_of(mut segments: Vec<(ColumnId, SegmentPlace)>) -> Vec<Vec<(ColumnId, SegmentPlace)>> {
    segments.sort_by_key(|(column, place)| (place.offset, *column));
    let mut reads: Vec<Vec<(ColumnId, SegmentPlace)>> = Vec::new();
    for (column, place) in segments {
        if let Some(read) = reads.last_mut()
            && let Some((_, last)) = read.last()
            && last.offset + u64::from(last.bytes) == place.offset
            && read_bytes(read) + u64::from(place.bytes) <= JOINED_READ_BYTES_MAX
        {
            read.push((column, place));
        } else {
            reads.push(vec![(column, place)]);
        }
    }
    reads.sort_by_key(|read| read_bytes(read));
    reads
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(column: u16, offset: u64, bytes: u32) -> (ColumnId, SegmentPlace) {
        (ColumnId(column), SegmentPlace { offset: offset << 10, bytes: bytes << 10 })
    }

    fn columns(reads: &[Vec<(ColumnId, SegmentPlace)>]) -> Vec<Vec<u16>> {
        reads.iter().map(|read| read.iter().map(|(column, _)| column.0).collect()).collect()
    }

    #[test]
    fn small_neighbours_are_read_together_and_small_reads_first() {
        let check = |segments, expected: &[&[u16]]| {
            assert_eq!(columns(&reads_of(segments)), expected);
        };
        // All three lie side by side, 256 kB in all.
        check(vec![segment(2, 128, 128), segment(0, 0, 64), segment(1, 64, 64)], &[&[0, 1, 2]]);
        // One byte page more and the last stays alone.
        check(vec![segment(0, 0, 64), segment(1, 64, 64), segment(2, 128, 132)], &[&[0, 1], &[2]]);
        // A gap separates; the smaller read goes first although it lies behind.
        check(vec![segment(0, 0, 200), segment(2, 300, 8)], &[&[2], &[0]]);
        // Large segments are never joined, and sorted by size.
        check(vec![segment(0, 0, 900), segment(1, 900, 300), segment(2, 1200, 600)], &[&[1], &[2], &[0]]);
    }

    #[test]
    fn reads_are_issued_up_to_the_limit_and_settle_their_chunk() {
        let mut loads = Loads::new(2);
        let chunk = (TableId(1), ChunkId(7));
        loads.begin(chunk, "v", 3, vec![segment(0, 0, 900), segment(1, 900, 300), segment(2, 1200, 600)]);
        let first = loads.issue().unwrap();
        assert_eq!((first.version, first.chunk, first.offset, first.bytes), ("v", 3, 900 << 10, 300 << 10));
        let second = loads.issue().unwrap();
        assert!(loads.issue().is_none() && loads.in_flight() == 2);
        assert_eq!(loads.finish(second.id), Some((chunk.0, chunk.1, vec![ColumnId(2)], false)));
        assert_eq!(loads.finish(second.id), None);
        let cancelled = loads.cancel_planned(|_, _, column| column != ColumnId(0));
        assert_eq!(cancelled, vec![(chunk.0, chunk.1, vec![ColumnId(0)], false)]);
        assert_eq!(loads.finish(first.id), Some((chunk.0, chunk.1, vec![ColumnId(1)], true)));
        assert!(loads.issue().is_none() && loads.want_more());
    }
}
