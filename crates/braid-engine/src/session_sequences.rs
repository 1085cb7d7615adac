//! What a session was given of sequences: the numbers that `currval` and `lastval` return, and numbers taken ahead.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use braid_base::TableId;
use braid_storage::{CatalogSequence, Numbers, SequenceCounter, SequenceDef, SequenceUse};
use parking_lot::Mutex;

/// What a session was given of sequences.
#[derive(Debug, Default)]
pub(crate) struct SessionSequences {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    sequences: HashMap<TableId, Given>,
    /// The sequence of the last `nextval`.
    last: Option<TableId>,
    /// Numbers that the present statement has taken.
    drawn: u64,
    /// The tables whose identity columns get numbers by the present statement.
    identities_of: BTreeSet<TableId>,
}

/// What a session was given of one sequence.
#[derive(Debug)]
struct Given {
    /// The number that `currval` returns.
    current: Option<i64>,
    /// Numbers that it has taken, and not used: those of one definition and one counter.
    cached: Option<Cached>,
}

#[derive(Debug)]
struct Cached {
    definition: Arc<SequenceDef>,
    counter: Arc<SequenceCounter>,
    /// The number that was used last, and the numbers behind it.
    numbers: Numbers,
}

impl SessionSequences {
    /// A number that the session has taken before; else how many the present statement has taken.
    pub fn take_cached(&self, id: TableId, sequence: &CatalogSequence) -> Result<i64, u64> {
        let mut known = self.known.lock();
        known.take_cached(id, sequence).ok_or(known.drawn)
    }

    /// Keeps numbers that were taken, and returns the first.
    pub fn keep(&self, id: TableId, sequence: &CatalogSequence, numbers: Numbers) -> i64 {
        self.known.lock().keep(id, sequence, numbers)
    }

    /// The present statement may draw numbers for the identity columns of a table.
    pub fn permit_identities_of(&self, table: TableId) {
        self.known.lock().identities_of.insert(table);
    }

    /// Whether a sequence is of an identity column for which the present statement may draw numbers.
    pub fn permits_identity(&self, sequence: &SequenceDef) -> bool {
        let of = sequence.owner.filter(|owner| owner.usage != SequenceUse::Owned);
        of.is_some_and(|owner| self.known.lock().identities_of.contains(&owner.table))
    }

    /// The number that `currval` returns.
    pub fn current(&self, id: TableId) -> Option<i64> {
        self.known.lock().sequences.get(&id)?.current
    }

    /// The sequence of the last `nextval`.
    pub fn last(&self) -> Option<TableId> {
        self.known.lock().last
    }

    /// `setval`: numbers that were taken ahead are void.
    pub fn set(&self, id: TableId, last_value: i64, is_called: bool) {
        let mut known = self.known.lock();
        let given = known.sequences.entry(id).or_insert(Given { current: None, cached: None });
        given.cached = None;
        if is_called {
            given.current = Some(last_value);
        }
    }

    /// A number that the session was given outside of `nextval`, for `currval` and `lastval`.
    pub fn note(&self, id: TableId, number: i64) {
        self.set(id, number, true);
        self.known.lock().last = Some(id);
    }

    /// A statement begins.
    pub fn begin_statement(&self) {
        let mut known = self.known.lock();
        known.drawn = 0;
        known.identities_of.clear();
    }

    /// DISCARD SEQUENCES.
    pub fn forget(&self) {
        *self.known.lock() = Known::default();
    }
}

impl Known {
    /// A number that the session has taken before.
    fn take_cached(&mut self, id: TableId, sequence: &CatalogSequence) -> Option<i64> {
        let given = self.sequences.get_mut(&id)?;
        let Cached { definition, counter, numbers } = given.cached.as_mut()?;
        let is_same = Arc::ptr_eq(definition, &sequence.definition) && Arc::ptr_eq(counter, &sequence.counter);
        if !is_same || numbers.first == numbers.last {
            given.cached = None;
            return None;
        }
        numbers.first += numbers.increment;
        given.current = Some(numbers.first);
        self.last = Some(id);
        given.current
    }

    fn keep(&mut self, id: TableId, sequence: &CatalogSequence, numbers: Numbers) -> i64 {
        let (definition, counter) = (sequence.definition.clone(), sequence.counter.clone());
        let cached = Some(Cached { definition, counter, numbers });
        self.sequences.insert(id, Given { current: Some(numbers.first), cached });
        self.last = Some(id);
        self.drawn += 1;
        numbers.first
    }
}
