//! Choosing victims: the least recently used first, among those the policy does not protect.

use braid_base::SegmentId;

use crate::buffer_state::BufferState;
use crate::keys::ChunkKey;
use crate::policy::SpaceRequest;

/// Victims taken one after the other until they make up the bytes asked for.
#[derive(Debug)]
pub(crate) struct Victims<'a> {
    state: &'a BufferState,
    wanted_bytes: u64,
    bytes: u64,
    segments: Vec<SegmentId>,
}

impl<'a> Victims<'a> {
    /// No victims yet.
    pub fn for_request(state: &'a BufferState, request: &SpaceRequest<'_>) -> Self {
        Self { state, wanted_bytes: request.bytes, bytes: 0, segments: Vec::new() }
    }

    /// Whether no more are needed.
    pub fn are_enough(&self) -> bool {
        self.bytes >= self.wanted_bytes
    }

    /// Adds a segment.
    pub fn add(&mut self, segment: SegmentId) {
        let key = self.state.locate(segment.table, segment.chunk).expect("an evictable segment is known");
        self.bytes += u64::from(self.state.tables[key].bytes[usize::from(segment.column.0)]);
        self.segments.push(segment);
    }

    /// Adds segments from `candidates` for as long as more are needed.
    pub fn add_from(&mut self, candidates: impl Iterator<Item = SegmentId>) {
        for segment in candidates {
            if self.are_enough() {
                break;
            }
            self.add(segment);
        }
    }

    /// The victims, if they are enough.
    pub fn finish(self) -> Option<Vec<SegmentId>> {
        self.are_enough().then_some(self.segments)
    }
}

/// LRU on (chunk, column), passing over chunks that are protected.
pub(crate) fn least_recently_used(
    state: &BufferState,
    request: &SpaceRequest<'_>,
    is_protected: impl Fn(ChunkKey) -> bool,
) -> Option<Vec<SegmentId>> {
    let mut victims = Victims::for_request(state, request);
    // Segments of a chunk were mostly used together, so they are neighbours here; one answer does for all.
    let mut last = None;
    victims.add_from(state.evictable.values().copied().filter(|segment| {
        let chunk = (segment.table, segment.chunk);
        if let Some((asked, answer)) = last
            && asked == chunk
        {
            return answer;
        }
        let key = state.locate(chunk.0, chunk.1).expect("an evictable segment is known");
        let may_go = !is_protected(key);
        last = Some((chunk, may_go));
        may_go
    }));
    victims.finish()
}
