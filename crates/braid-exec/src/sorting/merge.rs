//! Merging of sorted runs with a tree of losers (Knuth, TAOCP vol. 3, 5.4.1): one comparison for each row and level of the
//! tree.
//!
//! The merge holds a part of each run. When a part is used up, the merge stops until it gets the next part of the run. Equal
//! rows are in the order of their runs.

use std::cmp::Ordering;
use std::sync::Arc;

use super::compare_rows;
use super::key_prefixes::prefixes;
use crate::Vector;
use crate::plan::SortKey;
use crate::runtime::result_rows::ResultRows;

/// The prefix of a run without a next row. Rows may have the same prefix, so that two such prefixes do not decide.
const NO_HEAD: u64 = u64::MAX;

/// A merge of runs.
pub(crate) struct SortMerge {
    keys: Vec<SortKey>,
    runs: Vec<Run>,
    /// The prefix of each run's next row; the largest one without a next row. Prefixes are contiguous, and most matches read
    /// nothing else.
    heads: Vec<u64>,
    /// The loser of each inner node of the tree; the first entry is the overall winner.
    losers: Vec<usize>,
}

enum Run {
    /// The current part of the run.
    Here(RunPart),
    /// The next part is missing.
    Waiting,
    Ended,
}

/// A part of a run. The rows before `next` are merged.
struct RunPart {
    rows: Arc<ResultRows>,
    bytes: usize,
    /// The prefixes of the first key; empty without keys.
    prefixes: Vec<u64>,
    next: usize,
}

/// The result of a step.
pub(crate) struct Merged {
    /// The next rows.
    pub(crate) columns: Vec<Vector>,
    pub(crate) row_count: usize,
    /// Whether a run needs its next part before the merge continues.
    pub(crate) waits_for: Option<usize>,
}

impl SortMerge {
    /// A merge of `run_count` runs, which all need their first part.
    pub(crate) fn new(keys: Vec<SortKey>, run_count: usize) -> Self {
        let runs = (0..run_count).map(|_| Run::Waiting).collect();
        Self { keys, runs, heads: vec![NO_HEAD; run_count], losers: Vec::new() }
    }

    /// Gives a run its next part, or ends it with `None`.
    pub(crate) fn go_on(&mut self, run: usize, rows: Option<Arc<ResultRows>>) {
        self.runs[run] = match rows.filter(|rows| rows.row_count() > 0) {
            None => Run::Ended,
            Some(rows) => {
                let first = self.keys.first().map(|key| prefixes(&rows.columns()[key.column], *key));
                Run::Here(RunPart { bytes: rows.bytes(), rows, prefixes: first.unwrap_or_default(), next: 0 })
            }
        };
        self.heads[run] = self.runs[run].head();
        if !self.losers.is_empty() {
            self.replay(run);
        }
    }

    /// A run that needs its next part.
    pub(crate) fn waits_for(&self) -> Option<usize> {
        self.runs.iter().position(|run| matches!(run, Run::Waiting))
    }

    /// Bytes of a row of the current parts, rounded up.
    pub(crate) fn row_bytes(&self) -> usize {
        let (bytes, rows) = self.runs.iter().fold((0, 0), |(bytes, rows), run| match run {
            Run::Here(part) => (bytes + part.bytes, rows + part.rows.row_count()),
            Run::Waiting | Run::Ended => (bytes, rows),
        });
        bytes.div_ceil(rows.max(1))
    }

    /// The next rows, at most `row_count_max`. No run may need a part.
    pub(crate) fn step(&mut self, row_count_max: usize) -> Merged {
        assert!(self.waits_for().is_none(), "runs are waited for");
        if self.losers.is_empty() {
            self.play();
        }
        let mut picked: Vec<(usize, u32)> = Vec::with_capacity(row_count_max);
        let mut waits_for = None;
        let parts: Vec<Option<Arc<ResultRows>>> = self.runs.iter().map(Run::rows).collect();
        while picked.len() < row_count_max {
            let Some(winner) = self.losers.first().copied() else { break };
            let Run::Here(part) = &mut self.runs[winner] else { break };
            picked.push((winner, part.next as u32));
            part.next += 1;
            if part.next == part.rows.row_count() {
                self.runs[winner] = Run::Waiting;
                self.heads[winner] = NO_HEAD;
                waits_for = Some(winner);
                break;
            }
            self.heads[winner] = part.head();
            self.replay(winner);
        }
        Merged { row_count: picked.len(), columns: gather(&parts, &picked), waits_for }
    }

    /// Plays all matches.
    fn play(&mut self) {
        let count = self.runs.len();
        let mut winners: Vec<usize> = vec![0; count].into_iter().chain(0..count).collect();
        self.losers = vec![0; count];
        for node in (1..count).rev() {
            let (a, b) = (winners[2 * node], winners[2 * node + 1]);
            let (winner, loser) = if self.is_before(a, b) { (a, b) } else { (b, a) };
            winners[node] = winner;
            self.losers[node] = loser;
        }
        if count > 0 {
            self.losers[0] = if count == 1 { 0 } else { winners[1] };
        }
    }

    /// Plays the matches of a run again. The run has won all of them before.
    fn replay(&mut self, run: usize) {
        let mut winner = run;
        let mut node = (run + self.runs.len()) / 2;
        while node > 0 {
            if self.is_before(self.losers[node], winner) {
                std::mem::swap(&mut self.losers[node], &mut winner);
            }
            node /= 2;
        }
        self.losers[0] = winner;
    }

    /// Whether the next row of run `a` precedes that of run `b`. An ended run is last.
    #[inline]
    fn is_before(&self, a: usize, b: usize) -> bool {
        let (left, right) = (self.heads[a], self.heads[b]);
        if left != right { left < right } else { self.is_before_in_full(a, b) }
    }

    fn is_before_in_full(&self, a: usize, b: usize) -> bool {
        let (Run::Here(left), Run::Here(right)) = (&self.runs[a], &self.runs[b]) else {
            return match (&self.runs[a], &self.runs[b]) {
                (Run::Here(_), _) => true,
                (_, Run::Here(_)) => false,
                _ => a < b,
            };
        };
        self.compare(left, right).then(a.cmp(&b)).is_lt()
    }

    /// The order of rows with equal prefixes.
    fn compare(&self, left: &RunPart, right: &RunPart) -> Ordering {
        let mut orders = self.keys.iter().map(|key| {
            let (a, b) = (&left.rows.columns()[key.column], &right.rows.columns()[key.column]);
            compare_rows(a, left.next, b, right.next, *key)
        });
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

impl RunPart {
    /// The prefix of the next row; a constant without keys.
    fn head(&self) -> u64 {
        self.prefixes.get(self.next).copied().unwrap_or(0)
    }
}

impl Run {
    fn head(&self) -> u64 {
        match self {
            Self::Here(part) => part.head(),
            Self::Waiting | Self::Ended => NO_HEAD,
        }
    }

    fn rows(&self) -> Option<Arc<ResultRows>> {
        match self {
            Self::Here(part) => Some(part.rows.clone()),
            Self::Waiting | Self::Ended => None,
        }
    }
}

/// Copies rows of several parts, in the order in which they were picked.
fn gather(parts: &[Option<Arc<ResultRows>>], picked: &[(usize, u32)]) -> Vec<Vector> {
    let mut rows_of: Vec<Vec<u32>> = vec![Vec::new(); parts.len()];
    let places: Vec<usize> = picked
        .iter()
        .map(|(part, row)| {
            rows_of[*part].push(*row);
            rows_of[*part].len() - 1
        })
        .collect();
    let mut begins = Vec::with_capacity(parts.len());
    let mut begin = 0;
    for rows in &rows_of {
        begins.push(begin);
        begin += rows.len();
    }
    let order: Vec<u32> = picked.iter().zip(&places).map(|((part, _), place)| (begins[*part] + place) as u32).collect();
    let is_in_order = order.is_sorted();
    let used: Vec<(&ResultRows, &[u32])> = parts
        .iter()
        .zip(&rows_of)
        .filter(|(_, rows)| !rows.is_empty())
        .map(|(part, rows)| (part.as_deref().expect("rows are picked of parts that are there"), rows.as_slice()))
        .collect();
    let Some(((first, first_rows), others)) = used.split_first() else { return Vec::new() };
    let column = |column: usize| {
        let mut gathered = first.columns()[column].take(first_rows);
        others.iter().for_each(|(part, rows)| gathered.append_rows(&part.columns()[column], rows));
        // Closed strings are copied as views.
        if is_in_order { gathered } else { gathered.closed().take(&order) }
    };
    (0..first.columns().len()).map(column).collect()
}
