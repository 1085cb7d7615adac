//! The distinct query sets of one pass, each stored once under a number, shared by all workers.
//!
//! A row carries the number of its query set (the data-query model: SharedDB, VLDB 2012, section 3.1), as one more column of
//! integers. Joins, groupings and sorts therefore treat sets like any other value. Two rows belong to the same queries
//! exactly if their numbers are equal. Constants divide columns into few classes, so that few distinct sets occur for any
//! number of queries.
//!
//! Sets are kept until the pass ends, because rows in build sides and groups hold their numbers. Their memory counts against
//! the pass's budget.
//!
//! The lock guards the sets and their numbers. Workers cache their results (`SetCalculator`), so that they take the lock only
//! for new pairs of sets.

use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::keys::number_map::NumbersMap;
use crate::query_sets::gone_queries::GoneQueries;
use crate::query_sets::query_bitmap::{queries_of, words_for};
use crate::query_sets::query_number::PASS_QUERIES_MAX;
use crate::{ExecError, MemoryBudget, QueryBitmap, QueryNumber, Reservation};

/// Step in which the reservation grows.
const STEP_BYTES: usize = 64 << 10;

/// Number of a set of queries of one pass; equal sets have equal numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetNumber(u32);

impl SetNumber {
    /// The empty set.
    pub const EMPTY: Self = Self(0);

    /// All queries of the pass.
    pub const ALL: Self = Self(1);

    /// The number as a value of a column of integers.
    pub fn value(self) -> i64 {
        i64::from(self.0)
    }

    /// The number of a value of a column of integers. Panics if the value is not a set's number.
    pub fn from_value(value: i64) -> Self {
        Self(u32::try_from(value).expect("columns of sets hold numbers of sets"))
    }

    /// The number in 32 bits, where a column's 64 bits take too much memory.
    pub(crate) fn to_u32(self) -> u32 {
        self.0
    }

    /// The set that [`Self::to_u32`] gave this number.
    pub(crate) fn from_u32(number: u32) -> Self {
        Self(number)
    }

    /// Its index in arrays with an entry for each set.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The sets of one pass.
pub struct SetStore {
    query_count: usize,
    budget: Arc<dyn MemoryBudget>,
    sets: RwLock<Sets>,
    gone: Arc<GoneQueries>,
}

struct Sets {
    by_number: Vec<Arc<[u64]>>,
    numbers: NumbersMap<Arc<[u64]>, SetNumber>,
    reservation: Reservation,
}

impl fmt::Debug for SetStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetStore").field("query_count", &self.query_count).finish_non_exhaustive()
    }
}

impl SetStore {
    /// A store for a pass of `query_count` queries, with the empty set and the set of all queries. Panics without queries and
    /// above [`PASS_QUERIES_MAX`].
    ///
    /// # Errors
    /// When memory is refused.
    pub fn new(query_count: usize, budget: Arc<dyn MemoryBudget>) -> Result<Arc<Self>, ExecError> {
        assert!((1..=PASS_QUERIES_MAX).contains(&query_count), "{query_count} queries in one pass");
        let reservation = Reservation::new(budget.clone(), "query sets");
        let sets = RwLock::new(Sets { by_number: Vec::new(), numbers: NumbersMap::default(), reservation });
        let store = Self { query_count, budget, sets, gone: Arc::new(GoneQueries::none(query_count)) };
        let empty = store.intern(QueryBitmap::none(query_count).words())?;
        let all = store.intern(QueryBitmap::from_fn(query_count, |_| true).words())?;
        assert_eq!((empty, all), (SetNumber::EMPTY, SetNumber::ALL));
        Ok(Arc::new(store))
    }

    /// Number of queries of the pass.
    pub fn query_count(&self) -> usize {
        self.query_count
    }

    /// The queries that need no more rows.
    pub(crate) fn gone(&self) -> &Arc<GoneQueries> {
        &self.gone
    }

    /// The pass's memory budget.
    pub(crate) fn budget(&self) -> &Arc<dyn MemoryBudget> {
        &self.budget
    }

    /// Number of distinct sets so far, including the empty set and the set of all queries.
    pub fn set_count(&self) -> usize {
        self.sets.read().by_number.len()
    }

    /// The number of a set. Panics if the set has another number of queries than the pass.
    ///
    /// # Errors
    /// When memory for a new set is refused.
    pub fn number_of(&self, queries: &QueryBitmap) -> Result<SetNumber, ExecError> {
        self.intern(queries.words())
    }

    /// The number of the set of the queries whose bits are set.
    pub(crate) fn intern(&self, words: &[u64]) -> Result<SetNumber, ExecError> {
        assert_eq!(words.len(), words_for(self.query_count), "a bit for each query of the pass");
        if let Some(number) = self.sets.read().numbers.get(words) {
            return Ok(*number);
        }
        let mut sets = self.sets.write();
        // Another worker may have added the set meanwhile.
        if let Some(number) = sets.numbers.get(words) {
            return Ok(*number);
        }
        sets.add(words)
    }

    /// The number of the set that `combine` makes of two sets, 64 queries at a time. `scratch` is a buffer for its bits.
    pub(crate) fn combined(
        &self,
        a: SetNumber,
        b: SetNumber,
        combine: impl Fn(u64, u64) -> u64,
        scratch: &mut Vec<u64>,
    ) -> Result<SetNumber, ExecError> {
        let sets = self.sets.read();
        let (a, b) = (&sets.by_number[a.index()], &sets.by_number[b.index()]);
        scratch.clear();
        scratch.extend(a.iter().zip(b.iter()).map(|(a, b)| combine(*a, *b)));
        if let Some(number) = sets.numbers.get(scratch.as_slice()) {
            return Ok(*number);
        }
        drop(sets);
        self.intern(scratch)
    }

    /// The bits of a set, least significant first. Panics when the set does not exist.
    pub(crate) fn words(&self, set: SetNumber) -> Arc<[u64]> {
        self.sets.read().by_number[set.index()].clone()
    }

    /// The queries of a set, ascending. Panics when the set does not exist.
    pub fn queries(&self, set: SetNumber) -> Vec<QueryNumber> {
        queries_of(&self.words(set)).collect()
    }
}

impl Sets {
    fn add(&mut self, words: &[u64]) -> Result<SetNumber, ExecError> {
        // The words with their reference counts, two fat pointers and a number. A hash table has at most twice the needed size.
        let bytes = size_of_val(words) + 16 + 2 * (2 * size_of::<Arc<[u64]>>() + size_of::<SetNumber>());
        let needed = (self.by_number.len() + 1) * bytes;
        if needed > self.reservation.held() {
            self.reservation.resize(needed.next_multiple_of(STEP_BYTES))?;
        }
        let number = SetNumber(u32::try_from(self.by_number.len()).expect("2^32 sets take more memory than there is"));
        let words: Arc<[u64]> = words.into();
        self.by_number.push(words.clone());
        self.numbers.insert(words, number);
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use braid_base::ByteSize;

    use super::*;
    use crate::FixedBudget;

    #[test]
    fn equal_sets_have_equal_numbers() {
        let store = SetStore::new(70, FixedBudget::new(ByteSize(1 << 20))).unwrap();
        let odd = QueryBitmap::from_fn(70, |query| query.index() % 2 == 1);
        let number = store.number_of(&odd).unwrap();
        assert_eq!((store.number_of(&odd.clone()).unwrap(), store.set_count()), (number, 3));
        assert!(store.queries(number).into_iter().eq(odd.iter()));
        assert_eq!(SetNumber::from_value(number.value()), number);
        assert_eq!(store.queries(SetNumber::ALL).len(), 70);
        assert!(store.queries(SetNumber::EMPTY).is_empty());
    }

    #[test]
    fn sets_beyond_the_budget_are_refused_and_what_was_held_is_given_back() {
        let budget = FixedBudget::new(ByteSize(STEP_BYTES as u64));
        let store = SetStore::new(1024, budget.clone()).unwrap();
        let mut outcome = Ok(SetNumber::EMPTY);
        for query in 0..1024 {
            outcome = outcome.and_then(|_| store.number_of(&QueryBitmap::from_fn(1024, |q| q.index() == query)));
        }
        assert!(matches!(outcome, Err(ExecError::Memory(_))), "{outcome:?}");
        assert!(store.set_count() > 200, "{}", store.set_count());
        drop(store);
        assert_eq!(budget.used(), 0);
    }
}
