//! Recomputes everything the books keep up to date incrementally, from nothing, and compares.

use std::collections::{BTreeMap, HashMap};

use braid_base::{ColumnId, SegmentId};

use crate::bit_set::BitSet;
use crate::buffer_state::BufferState;
use crate::chunk_state::Readiness;
use crate::table_state::TableState;

impl BufferState {
    /// Panics if the books contradict each other.
    pub(crate) fn check(&self) {
        let (mut used, mut pinned) = (0, 0);
        let (mut evictable, mut unused) = (BTreeMap::new(), BTreeMap::new());
        for table in &self.tables {
            assert!(table.chunks.is_sorted_by_key(|chunk| chunk.id), "positions follow identities");
            let pins = pins_by_segment(table);
            for (position, chunk) in table.chunks.iter().enumerate() {
                let resident: BitSet = chunk.resident.iter().map(|segment| segment.column).collect();
                assert_eq!(chunk.cached, resident);
                assert!(!chunk.cached.intersects(&chunk.loading));
                assert!(chunk.loading.is_empty() || chunk.loads > 0, "what is reserved belongs to a load");
                used += chunk.bytes_of(&chunk.cached) + chunk.bytes_of(&chunk.loading);
                for segment in &chunk.resident {
                    let id = table.segment_id(position, ColumnId(segment.column as u16));
                    assert_eq!(segment.pins, pins.get(&id).copied().unwrap_or(0), "pins of {id}");
                    let is_evictable = segment.pins == 0 && chunk.loads == 0;
                    let is_unused = is_evictable && !table.is_wanted(position, ColumnId(segment.column as u16));
                    assert_eq!((segment.evictable, segment.unused), (is_evictable, is_unused), "{id}");
                    pinned += if segment.pins > 0 { u64::from(chunk.bytes[segment.column]) } else { 0 };
                    if is_evictable {
                        evictable.insert(segment.stamp, id);
                    }
                    if is_unused {
                        unused.insert(segment.stamp, id);
                    }
                }
            }
            self.check_scans(table);
        }
        assert_eq!((self.used_bytes, self.pinned_bytes), (used, pinned));
        assert!(used <= self.capacity_bytes, "{used} of {} bytes", self.capacity_bytes);
        assert_eq!((&self.evictable, &self.unused), (&evictable, &unused));
        let bytes = |id: &SegmentId| {
            let key = self.locate(id.table, id.chunk).unwrap();
            u64::from(self.tables[key].bytes[usize::from(id.column.0)])
        };
        assert_eq!(self.evictable_bytes, evictable.values().map(bytes).sum::<u64>());
    }

    fn check_scans(&self, table: &TableState) {
        for (slot, scan) in table.scans() {
            let columns = table.columns_of(slot);
            let key = self.key(scan.id).unwrap();
            assert_eq!((self.tables[key.table].id, key.slot), (table.id, slot));
            assert_eq!(scan.remaining_count, scan.remaining.count());
            assert_eq!(scan.available_count, scan.available.count());
            assert_eq!(scan.coming_count, scan.coming.count());
            assert!(table.classes[scan.class].members.contains(slot.0));
            for (position, chunk) in table.chunks.iter().enumerate() {
                let remains = scan.remaining.contains(position);
                assert_eq!(chunk.interested.contains(slot.0), remains, "{}: {}", scan.id, chunk.id);
                let readiness = remains.then(|| chunk.readiness(columns));
                assert_eq!(scan.available.contains(position), readiness == Some(Readiness::Available));
                assert_eq!(scan.coming.contains(position), readiness == Some(Readiness::Coming));
            }
            assert_eq!(table.starved.contains(slot.0), !scan.closing && scan.is_starved(0), "{}", scan.id);
            assert_eq!(table.almost_starved.contains(slot.0), !scan.closing && scan.is_starved(1), "{}", scan.id);
            assert!(!scan.closing || !scan.pins.is_empty(), "a closing scan waits for its last pin");
            for (other_slot, other) in table.scans() {
                let overlap = table.classes[other.class].columns.intersects(columns);
                assert_eq!(table.overlapping(slot).contains(other_slot.0), overlap);
            }
        }
    }
}

fn pins_by_segment(table: &TableState) -> HashMap<SegmentId, u32> {
    let mut pins = HashMap::new();
    let mut chunk_pins: HashMap<usize, u32> = HashMap::new();
    for (slot, scan) in table.scans() {
        for pin in &scan.pins {
            let position = table.position(pin.chunk).expect("a pinned chunk is known");
            *chunk_pins.entry(position).or_default() += 1;
            let columns = table.chunks[position].to_read(table.columns_of(slot)).into_owned();
            for column in columns.iter().filter(|&column| !pin.lent.contains(column)) {
                *pins.entry(table.segment_id(position, ColumnId(column as u16))).or_default() += 1;
            }
        }
    }
    for (position, chunk) in table.chunks.iter().enumerate() {
        assert_eq!(chunk.pins, chunk_pins.get(&position).copied().unwrap_or(0));
    }
    pins
}
