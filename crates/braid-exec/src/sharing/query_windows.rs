//! OFFSET and LIMIT for each query of a pass, applied to the query's own rows.
//!
//! Rows are counted one after the other, separately for each query. A query's window opens after the skipped rows and closes
//! after its last row. Only the opening or closing of a window changes the set of queries with open windows; in between,
//! each row's set is intersected with this set. Queries whose windows no longer change are not counted. Few sets are
//! therefore made, and a row of such queries costs only a test of a few words.

use crate::query_sets::query_bitmap::queries_of;
use crate::query_sets::set_calculator::SetCalculator;
use crate::query_sets::set_memo::SetWords;
use crate::{ExecError, QueryBitmap, QueryNumber, SetNumber};

/// The windows of all queries: rows `first..end` of each query.
#[derive(Debug)]
pub(crate) struct QueryWindows {
    first: u64,
    /// The end of the windows; `u64::MAX` without a limit.
    end: u64,
    /// The number of rows of each query so far, while they are counted.
    seen: Box<[u64]>,
    /// The queries with an open window.
    open: QueryBitmap,
    /// The number of that set, once it is interned.
    open_set: Option<SetNumber>,
    /// The queries whose window still opens or closes.
    counted: QueryBitmap,
}

impl QueryWindows {
    /// Windows of `limit` rows after the first `offset` rows, before any row is counted.
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

    /// Approximate bytes of the windows of `query_count` queries.
    pub(crate) fn bytes(query_count: usize) -> usize {
        // Each query has a count, and a bit in two sets.
        query_count * (8 + 1)
    }

    /// Whether the windows of all queries are closed.
    pub(crate) fn are_over(&self) -> bool {
        self.counted.is_empty() && self.open.is_empty()
    }

    /// Whether one of these queries has an open window.
    pub(crate) fn are_open_to(&self, queries: &[u64]) -> bool {
        self.open.words().iter().zip(queries).any(|(open, queries)| open & queries != 0)
    }

    /// The bits of the queries with an open window.
    pub(crate) fn open_words(&self) -> &[u64] {
        self.open.words()
    }

    /// Closes the windows of queries that need no more rows.
    pub(crate) fn give_up(&mut self, queries: &[u64]) {
        for query in queries_of(queries) {
            self.open.remove(query);
            self.counted.remove(query);
        }
        self.open_set = None;
    }

    /// Counts a row of these queries, and calls `closed` with each query whose window it closes. Returns whether a window opened
    /// or closed.
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

    /// Counts rows with these sets, and removes from each set the queries for which the row is outside of their window.
    ///
    /// # Errors
    /// When memory for a new set is refused.
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
        narrowed.resize(sets.len(), SetNumber::EMPTY);
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
    fn windows_of_queries_that_need_no_more_rows_are_closed() {
        let mut windows = QueryWindows::new(70, 0, Some(2));
        let one = QueryBitmap::from_fn(70, |query| query.index() == 65);
        let others = QueryBitmap::from_fn(70, |query| query.index() != 65);
        windows.count(one.words(), |_| ());
        windows.give_up(others.words());
        assert!(windows.are_open_to(one.words()) && !windows.are_open_to(others.words()) && !windows.are_over());
        windows.count(one.words(), |_| ());
        assert!(windows.are_over());
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
