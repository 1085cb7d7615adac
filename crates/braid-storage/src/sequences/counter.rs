//! Where a sequence stands now.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::definition::{Numbers, SequenceDef, SequenceState, Taken};
use crate::StoreError;

/// Where a sequence stands, for all sessions.
#[derive(Debug)]
pub struct SequenceCounter {
    now: Mutex<Now>,
    /// Held while numbers are reserved, and while the counter is set.
    commits: Mutex<()>,
}

/// What a counter shows of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterState {
    /// Where it stands.
    pub state: SequenceState,
    /// Reserved numbers behind it: `log_cnt`.
    pub left: u64,
}

#[derive(Debug)]
struct Now {
    shown: CounterState,
    /// Where the sequence stands after a crash.
    reserved: SequenceState,
    /// What the reserved numbers were computed by: those of another definition are others.
    reserved_by: Option<Arc<SequenceDef>>,
    /// How many numbers the last reservation left, behind those that were taken with it.
    last_reservation: u64,
}

impl SequenceCounter {
    /// A counter of which nothing is reserved.
    pub(crate) fn new(state: SequenceState) -> Arc<Self> {
        let now =
            Now { shown: CounterState { state, left: 0 }, reserved: state, reserved_by: None, last_reservation: 0 };
        Arc::new(Self { now: Mutex::new(now), commits: Mutex::default() })
    }

    /// Where it stands.
    pub fn shown(&self) -> CounterState {
        self.now.lock().shown
    }

    /// Where the sequence stands after a crash, if what is reserved is committed.
    pub(crate) fn reserved(&self) -> SequenceState {
        self.now.lock().reserved
    }

    /// How many numbers were reserved the last time; 0 before the first, and if they were of another definition.
    pub(crate) fn last_reservation_of(&self, def: &Arc<SequenceDef>) -> u64 {
        let now = self.now.lock();
        if now.is_reserved_by(def) { now.last_reservation } else { 0 }
    }

    /// Gives up what is reserved: the next call reserves anew. Returns where the counter stands.
    pub(crate) fn give_up_reserved(&self) -> SequenceState {
        let mut now = self.now.lock();
        now.shown.left = 0;
        now.reserved = now.shown.state;
        now.reserved_by = None;
        now.reserved
    }

    /// The right to reserve numbers.
    pub(crate) fn hold(&self) -> MutexGuard<'_, ()> {
        self.commits.lock()
    }

    /// Numbers out of those that are reserved; `None` if they do not suffice.
    pub(crate) fn take_reserved(&self, def: &Arc<SequenceDef>) -> Result<Option<Numbers>, StoreError> {
        let mut now = self.now.lock();
        let taken = def.take(now.shown.state, now.left_of(def), 0)?;
        if taken.reserved.is_some() {
            return Ok(None);
        }
        now.apply(&taken);
        Ok(Some(Numbers::of(def, &taken)))
    }

    /// What would be taken, with `ahead` more reserved, and where the counter stands.
    pub(crate) fn to_be_taken(&self, def: &Arc<SequenceDef>, ahead: u64) -> Result<(CounterState, Taken), StoreError> {
        let now = self.now.lock();
        Ok((now.shown, def.take(now.shown.state, now.left_of(def), ahead)?))
    }

    /// Takes what [`Self::to_be_taken`] said, if the counter still stands where it stood: it was reserved.
    pub(crate) fn take(&self, def: &Arc<SequenceDef>, before: CounterState, taken: &Taken) -> Option<Numbers> {
        let mut now = self.now.lock();
        if now.shown != before {
            return None;
        }
        if let Some(last_value) = taken.reserved {
            now.reserved = SequenceState { last_value, is_called: true };
            now.reserved_by = Some(Arc::clone(def));
            now.last_reservation = taken.left;
        }
        now.apply(taken);
        Some(Numbers::of(def, taken))
    }

    /// Puts the counter to where it was committed to stand.
    pub(crate) fn set(&self, state: SequenceState) {
        let mut now = self.now.lock();
        now.shown = CounterState { state, left: 0 };
        now.reserved = state;
        now.reserved_by = None;
    }
}

impl Now {
    fn left_of(&self, def: &Arc<SequenceDef>) -> u64 {
        if self.is_reserved_by(def) { self.shown.left } else { 0 }
    }

    fn is_reserved_by(&self, def: &Arc<SequenceDef>) -> bool {
        self.reserved_by.as_ref().is_some_and(|reserved_by| Arc::ptr_eq(reserved_by, def))
    }

    fn apply(&mut self, taken: &Taken) {
        let state = SequenceState { last_value: taken.last, is_called: true };
        self.shown = CounterState { state, left: taken.left };
    }
}
