//! For each query of a pass, the rows that an OFFSET and a LIMIT leave of those that are for it.
//!
//! Rows are counted one after the other, for each query on its own. A query's window opens after the rows that are
//! skipped and closes after the last wanted one. Rows matter only where a window opens or closes: between, the queries
//! with open windows are one set, with which a row's set is intersected, and queries whose windows do not change any more are
//! not counted. So few sets are made, and rows for such queries only cost a look at some words.

use crate::query_sets::query_bitmap::queries_of;
use crate::query_sets::set_calculator::SetCalculator;
use crate::query_sets::set_memo::SetWords;
use crate::{ExecError, QueryBitmap, QueryNumber, SetNumber};

/// The windows of all queries: rows number `first..end` of each.
#[derive(Debug)]
pub(crate) struct QueryWindows {
    first: u64,
    /// `u64::MAX` for no end.
    end: u64,
    /// By query, its rows so far, as long as they are counted.
    seen: Box<[u64]>,
    /// Queries whose next row is in their window.
    open: QueryBitmap,
    /// Its number, once it was asked for.
    open_set: Option<SetNumber>,
    /// Queries whose window is still to open or to close.
    counted: QueryBitmap,
}

impl QueryWindows {
    /// Windows of `limit` rows after the first `offset`, before any row.
    pub(crate) fn new(query_count: usize, offset: u64, limit: Option<u64>) -> Self {
        let end = limit.map_or(u64::MAX, |limit| offset.saturating_add(limit));
        let is_open = offset == 0 && end > 0;
        let is_counted = offset < end && (offset > 0 || end < u64::MAX);
        Self {
            first: offset,
            end,
            seen: vec![0; query_count].into(),
            open: QueryBitmap::from_fn(query_count, |_| is_open),
            open_set: None,
            counted: QueryBitmap::from_fn(query_count, |_| is_counted),
        }
    }

    /// Bytes of the windows of so many queries, about.
    pub(crate) fn bytes(query_count: usize) -> usize {
        // A count each, and a bit in two sets.
        query_count * (8 + 1)
    }

    /// Whether no query wants any further row.
    pub(crate) fn are_over(&self) -> bool {
        self.counted.is_empty() && self.open.is_empty()
    }

    /// Whether the next row would be in the window of one of these queries.
    pub(crate) fn are_open_to(&self, queries: &[u64]) -> bool {
        self.open.words().iter().zip(queries).any(|(open, queries)| open & queries != 0)
    }

    /// Counts a row that is for these queries, and calls `closed` with each for which it is the last. Returns whether a
    /// window opened or closed.
    pub(crate) fn count(&mut self, queries: &[u64], mut closed: impl FnMut(QueryNumber)) -> bool {
        let mut has_changed = false;
        for (at, word) in queries.iter().enumerate() {
            let counted = word & self.counted.words()[at];
            for bit in queries_of(&[counted]) {
                has_changed |= self.count_for(QueryNumber::at(64 * at + bit.index()), &mut closed);
            }
        }
        if has_changed {
            self.open_set = None;
        }
        has_changed
    }

    fn count_for(&mut self, query: QueryNumber, closed: &mut impl FnMut(QueryNumber)) -> bool {
        let seen = &mut self.seen[query.index()];
        *seen += 1;
        if *seen == self.end {
            self.open.remove(query);
            self.counted.remove(query);
            closed(query);
            return true;
        }
        if *seen != self.first {
            return false;
        }
        self.open.insert(query);
        if self.end == u64::MAX {
            self.counted.remove(query);
        }
        true
    }

    /// Counts rows with these sets; of each set those queries are left for which the row is in their window.
    ///
    /// # Errors
    /// When there is not enough memory for one more set.
    pub(crate) fn narrow(
        &mut self,
        sets: &[SetNumber],
        calculator: &mut SetCalculator,
        words: &mut SetWords,
    ) -> Result<Vec<SetNumber>, ExecError> {
        let mut narrowed = Vec::with_capacity(sets.len());
        let mut are_over = self.are_over();
        for &set in sets {
            if are_over {
                break;
            }
            let open = match self.open_set {
                Some(open) => open,
                None => *self.open_set.insert(calculator.store().number_of(&self.open)?),
            };
            narrowed.push(calculator.intersect(set, open)?);
            if self.count(words.of(set, calculator.store()), |_| ()) {
                are_over = self.are_over();
            }
        }
        narrowed.resize(sets.len(), SetNumber::NOBODY);
        Ok(narrowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For query 0 and 65 of 70, which rows of five are in their windows, when 65 is in every second row's set only.
    fn check(offset: u64, limit: Option<u64>, expected: [&str; 2], is_over: bool) {
        let mut windows = QueryWindows::new(70, offset, limit);
        let both = QueryBitmap::from_fn(70, |query| query.index() % 65 == 0);
        let first = QueryBitmap::from_fn(70, |query| query.index() == 0);
        let second = QueryBitmap::from_fn(70, |query| query.index() == 65);
        let mut found = [String::new(), String::new()];
        for row in 0..5 {
            let is_open = |queries: &QueryBitmap| if windows.are_open_to(queries.words()) { '+' } else { '-' };
            found[0].push(is_open(&first));
            if row % 2 == 0 {
                found[1].push(is_open(&second));
            }
            windows.count(if row % 2 == 0 { &both } else { &first }.words(), |_| ());
        }
        assert_eq!(found, expected, "{limit:?} from {offset}");
        assert_eq!(windows.are_over(), is_over, "{limit:?} from {offset}");
    }

    #[test]
    fn windows_open_and_close_for_each_query_on_its_own() {
        check(0, None, ["+++++", "+++"], false);
        check(2, None, ["--+++", "--+"], false);
        check(0, Some(1), ["+----", "+--"], false);
        check(1, Some(2), ["-++--", "-++"], false);
        check(3, Some(9), ["---++", "---"], false);
        check(0, Some(0), ["-----", "---"], true);
        check(7, Some(0), ["-----", "---"], true);
        check(u64::MAX, Some(u64::MAX), ["-----", "---"], true);
        check(4, Some(u64::MAX), ["----+", "---"], false);
    }
}
