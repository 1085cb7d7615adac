//! Numbers given out, with the commits that keep them from coming twice.
//!
//! A call that needs a commit waits for it on its own thread: numbers are computed within expressions, on threads of all kinds. On a
//! thread of a runtime the runtime is told, so that its other tasks go on. The commit is an ordinary one ([`commit_in_place`]); it waits
//! for no session, so the wait ends.

use std::sync::Arc;

use tokio::runtime::{Builder, Handle, RuntimeFlavor};

use crate::catalog::CatalogSequence;
use crate::sequences::{Numbers, SequenceDef, SequenceScope, SequenceState};
use crate::{Store, StoreError, WriteSet};

/// Numbers that are reserved ahead, at least: as many as PostgreSQL logs.
const RESERVED_MIN: u64 = 32;

/// Numbers that are reserved ahead for a statement, at most: what a crash may lose.
const RESERVED_MAX: u64 = 1 << 16;

/// Numbers that are reserved ahead for statements that take few, at most. Each reservation is twice the one before, so that many short
/// statements need few commits. A crash loses 32 numbers, or fewer than twice as many as were taken since the start.
const DOUBLED_MAX: u64 = 1 << 10;

impl Store {
    /// The next numbers of a sequence: as many as its definition says. More are reserved where `drawn` were taken by the same statement, so
    /// that large statements need few commits. May block on a commit.
    ///
    /// # Errors
    /// [`StoreError::SequenceExhausted`], and what commits can fail with.
    pub fn next_numbers(
        &self,
        (sequence, scope): (&CatalogSequence, SequenceScope),
        drawn: u64,
    ) -> Result<Numbers, StoreError> {
        let (def, counter) = (&sequence.definition, &sequence.counter);
        match counter.take_reserved(def)? {
            Some(numbers) => Ok(numbers),
            None => in_place(|| self.reserve_and_take(sequence, scope, drawn.clamp(RESERVED_MIN, RESERVED_MAX), def)),
        }
    }

    fn reserve_and_take(
        &self,
        sequence: &CatalogSequence,
        scope: SequenceScope,
        ahead: u64,
        def: &Arc<SequenceDef>,
    ) -> Result<Numbers, StoreError> {
        let counter = &sequence.counter;
        let _held = counter.hold();
        loop {
            // Another one may have reserved more meanwhile.
            if let Some(numbers) = counter.take_reserved(def)? {
                return Ok(numbers);
            }
            let ahead = ahead.max((counter.last_reservation_of(def) * 2).min(DOUBLED_MAX));
            let (before, taken) = counter.to_be_taken(def, ahead)?;
            if let (Some(last_value), SequenceScope::Committed) = (taken.reserved, scope) {
                self.keep(sequence, SequenceState { last_value, is_called: true })?;
            }
            if let Some(numbers) = counter.take(def, before, &taken) {
                return Ok(numbers);
            }
        }
    }

    /// Puts a sequence to a number: `setval`. Blocks on a commit.
    ///
    /// # Errors
    /// [`StoreError::NumberOutOfBounds`], and what commits can fail with.
    pub fn set_number(
        &self,
        (sequence, scope): (&CatalogSequence, SequenceScope),
        state: SequenceState,
    ) -> Result<(), StoreError> {
        let SequenceDef { name, min, max, .. } = &*sequence.definition;
        if !(*min..=*max).contains(&state.last_value) {
            let (sequence, min, max, value) = (name.clone(), *min, *max, state.last_value);
            return Err(StoreError::NumberOutOfBounds { sequence, value, min, max });
        }
        in_place(|| {
            let _held = sequence.counter.hold();
            if scope == SequenceScope::Committed {
                self.keep(sequence, state)?;
            }
            sequence.counter.set(state);
            Ok(())
        })
    }

    /// Gives up the numbers that are reserved and not taken: after the end of the store, sequences go on where they stand. Blocks on a
    /// commit, if there is any.
    ///
    /// # Errors
    /// What commits can fail with.
    pub fn give_back_reserved_numbers(&self) -> Result<(), StoreError> {
        in_place(|| {
            let catalog = self.snapshot();
            let reserved: Vec<&CatalogSequence> =
                catalog.sequences().filter(|sequence| sequence.counter.shown().left > 0).collect();
            if reserved.is_empty() {
                return Ok(());
            }
            // Until the commit, so that none is behind a later reservation of the same sequence.
            let _held: Vec<_> = reserved.iter().map(|sequence| sequence.counter.hold()).collect();
            let mut writes = self.write_set();
            for sequence in reserved {
                writes.reserve(sequence, sequence.counter.give_up_reserved());
            }
            commit_in_place(writes)
        })
    }

    /// Commits where a sequence stands after a crash.
    fn keep(&self, sequence: &CatalogSequence, reserved: SequenceState) -> Result<(), StoreError> {
        let mut writes = self.write_set();
        writes.reserve(sequence, reserved);
        commit_in_place(writes)
    }
}

/// Commits, and blocks until that is done. Its thread has a runtime of its own, so that it depends on no other.
fn commit_in_place(writes: WriteSet) -> Result<(), StoreError> {
    let stopped = |reason: String| StoreError::Stopped { reason };
    let commit = move || match Builder::new_current_thread().build() {
        Ok(runtime) => runtime.block_on(writes.commit()).map(drop),
        Err(error) => Err(stopped(error.to_string())),
    };
    let thread = std::thread::Builder::new().name("sequence".to_owned()).spawn(commit);
    let joined = thread.map_err(|error| stopped(error.to_string()))?.join();
    joined.unwrap_or_else(|_| Err(StoreError::Uncertain { reason: "the commit of a sequence panicked".to_owned() }))
}

/// Does what blocks.
fn in_place<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => tokio::task::block_in_place(work),
        _ => work(),
    }
}
