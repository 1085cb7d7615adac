//! The experiments of Cooperative Scans: section 5.2 (table 2, rows) and section 6.3 (table 3, columns).
//!
//! Sizes and speeds are the paper's where it gives them. Two are derived from its tables: a SLOW query is bound by the
//! processor, so its time alone is its processor time (35.27 s in table 2, 71.25 s in table 3); what FAST costs follows
//! from the processor use of the whole run (238.16 s * 2 processors * 93.94 % = 447 s; SLOW explains
//! (13 * 0.01 + 6 * 0.1 + 6 * 0.5 + 8) * 35.27 s = 414 s, which leaves 33 s for 12.79 full FAST scans: 2.6 s each).
//!
//! The paper shows one run of random queries at random places. Here a seed makes the run; how far the policies are
//! apart varies with it (`tests/paper.rs`).

use braid_base::{ColumnId, Random, SeededRandom, TableId};

use super::machine::DiskOptions;
use super::table::SimulatedTable;
use super::{SimulatedQuery, SimulationOptions, Stream, simulate};
use crate::scan_policy::ScanPolicy;

/// Number of streams.
pub const STREAM_COUNT: usize = 16;

/// Queries of a stream.
pub const STREAM_QUERIES: usize = 4;

/// Microseconds between the starts of streams.
pub const STREAM_DELAY_US: u64 = 3_000_000;

/// A table, a machine and two kinds of query.
#[derive(Clone, Debug)]
pub struct Experiment {
    table: SimulatedTable,
    chunk_count: usize,
    fast: QueryKind,
    slow: QueryKind,
    capacity_bytes: u64,
}

#[derive(Clone, Debug)]
struct QueryKind {
    letter: char,
    columns: Vec<ColumnId>,
    table_cpu_us: u64,
}

/// One of the two kinds of query of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    /// TPC-H query 6: bound by the disk.
    Fast,
    /// TPC-H query 1 with extra arithmetic: bound by the processor.
    Slow,
}

impl Experiment {
    /// Table 2: lineitem of scale 10 in rows, 4.24 GB in chunks of 16 MB; a buffer of 64 chunks.
    pub fn rows() -> Self {
        const CHUNK_BYTES: u32 = 16 << 20;
        // F-100 alone takes 20.37 s; at 208 MB/s that is 4.24 GB, or 253 chunks of 16 MiB, as in figure 4.
        const CHUNK_COUNT: usize = 253;
        let columns = vec![ColumnId(0)];
        Self {
            table: SimulatedTable::uniform(TableId(1), CHUNK_COUNT, &[CHUNK_BYTES]),
            chunk_count: CHUNK_COUNT,
            fast: QueryKind { letter: 'F', columns: columns.clone(), table_cpu_us: 2_600_000 },
            slow: QueryKind { letter: 'S', columns, table_cpu_us: 35_270_000 },
            capacity_bytes: 64 * u64::from(CHUNK_BYTES),
        }
    }

    /// Table 3: lineitem of scale 40 in columns; a buffer of 1.5 GB. FAST reads four columns, 5.3 GB in all (26.53 s at
    /// 200 MB/s); SLOW reads these and three narrow ones.
    pub fn columns() -> Self {
        const CHUNK_COUNT: usize = 256;
        const MB: u32 = 1 << 20;
        // extendedprice, shipdate, quantity, discount; tax, returnflag, linestatus.
        let column_bytes = [8 * MB, 4 * MB, 4 * MB, 4 * MB, 2 * MB, MB / 2, MB / 2];
        let ids = |count: u16| (0..count).map(ColumnId).collect();
        Self {
            table: SimulatedTable::uniform(TableId(1), CHUNK_COUNT, &column_bytes),
            chunk_count: CHUNK_COUNT,
            fast: QueryKind { letter: 'F', columns: ids(4), table_cpu_us: 6_000_000 },
            slow: QueryKind { letter: 'S', columns: ids(7), table_cpu_us: 71_250_000 },
            capacity_bytes: 3 << 29,
        }
    }

    /// Table 4: ten columns of 8 bytes of 200 million rows, a buffer of 1 GB; 64 queries of 40 % read three columns each,
    /// 7680 blocks in all: 120 a query, 40 a column of it, so 100 a column of the table.
    pub fn overlap() -> Self {
        const CHUNK_COUNT: usize = 100;
        const COLUMN_BYTES: u32 = 16_000_000; // 200 million rows * 8 bytes / 100
        let kind = QueryKind { letter: 'F', columns: Vec::new(), table_cpu_us: 6_000_000 };
        Self {
            table: SimulatedTable::uniform(TableId(1), CHUNK_COUNT, &[COLUMN_BYTES; 10]),
            chunk_count: CHUNK_COUNT,
            fast: kind.clone(),
            slow: kind,
            capacity_bytes: 1 << 30,
        }
    }

    /// Streams of FAST queries over 40 % of the table, the same ranges for all `types`: the columns of the queries,
    /// as many of each.
    pub fn overlap_streams(&self, seed: u64, types: &[[u16; 3]]) -> Vec<Stream> {
        let mut random = SeededRandom::new(seed);
        let count = self.chunk_count * 40 / 100;
        let mut query = |at: usize| {
            let columns = types[at % types.len()].map(ColumnId).to_vec();
            let first = random.below((self.chunk_count - count + 1) as u64) as usize;
            SimulatedQuery { columns, ..self.query(Speed::Fast, 40, first) }
        };
        let mut streams = Vec::with_capacity(STREAM_COUNT);
        for at in 0..STREAM_COUNT {
            let queries = (0..STREAM_QUERIES).map(|number| query(at + number)).collect();
            streams.push(Stream { start_us: at as u64 * STREAM_DELAY_US, queries });
        }
        streams
    }

    /// The paper's machine with this policy.
    pub fn options(&self, policy: ScanPolicy) -> SimulationOptions {
        SimulationOptions {
            capacity_bytes: self.capacity_bytes,
            policy,
            // Under `normal` and `attach` every query has its own request at the disk; the ABM process of figure 3
            // loads one chunk after the other.
            loads_in_flight_max: match policy {
                ScanPolicy::Normal | ScanPolicy::Attach => STREAM_COUNT,
                ScanPolicy::Elevator | ScanPolicy::Relevance => 1,
            },
            disk: DiskOptions::PAPER_RAID,
            processors: 2,
        }
    }

    /// A query over `percent` of the table, starting at `first` of the chunks.
    pub fn query(&self, speed: Speed, percent: usize, first: usize) -> SimulatedQuery {
        let kind = if speed == Speed::Fast { &self.fast } else { &self.slow };
        let count = (self.chunk_count * percent).div_ceil(100);
        SimulatedQuery {
            name: format!("{}-{percent:02}", kind.letter),
            table: self.table.clone(),
            chunks: (first..first + count).collect(),
            columns: kind.columns.clone(),
            chunk_cpu_us: kind.table_cpu_us / self.chunk_count as u64,
            in_order: false,
            consumers: 1,
        }
    }

    /// The 64 queries of table 2 in as many kinds as the paper had of each, dealt to the streams at random.
    pub fn paper_streams(&self, seed: u64) -> Vec<Stream> {
        const COUNTS: [(Speed, usize, usize); 8] = [
            (Speed::Fast, 1, 9),
            (Speed::Fast, 10, 7),
            (Speed::Fast, 50, 6),
            (Speed::Fast, 100, 9),
            (Speed::Slow, 1, 13),
            (Speed::Slow, 10, 6),
            (Speed::Slow, 50, 6),
            (Speed::Slow, 100, 8),
        ];
        let mut random = SeededRandom::new(seed);
        let mut queries = Vec::new();
        for (speed, percent, count) in COUNTS {
            for _ in 0..count {
                let chunks = (self.chunk_count * percent).div_ceil(100);
                let first = random.below((self.chunk_count - chunks + 1) as u64) as usize;
                queries.push(self.query(speed, percent, first));
            }
        }
        // Fisher and Yates.
        for last in (1..queries.len()).rev() {
            queries.swap(last, random.below(last as u64 + 1) as usize);
        }
        let mut streams = Vec::with_capacity(STREAM_COUNT);
        for (at, queries) in queries.chunks(STREAM_QUERIES).enumerate() {
            streams.push(Stream { start_us: at as u64 * STREAM_DELAY_US, queries: queries.to_vec() });
        }
        streams
    }

    /// Microseconds a query takes alone with an empty buffer ("standalone cold time").
    pub fn alone_us(&self, speed: Speed, percent: usize) -> u64 {
        let stream = Stream { start_us: 0, queries: vec![self.query(speed, percent, 0)] };
        let report = simulate(&self.options(ScanPolicy::Normal), &[stream]);
        report.expect("the paper's chunks fit its buffer").total_us
    }
}
