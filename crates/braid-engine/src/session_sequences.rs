//! The numbers of sequences in a session: `nextval`, `currval`, `lastval`, `setval`.
//!
//! They belong to no transaction: what a session was given is not forgotten by a rollback. Each call asks the newest committed state for
//! the sequence, or the transaction that has changed it.

use std::collections::HashMap;
use std::sync::Arc;

use braid_base::TableId;
use braid_catalog::object_ids::table_of_object_id;
use braid_sql::functions::{Sequences, SessionFacts};
use braid_sql::{SqlError, SqlState};
use braid_storage::{CatalogSequence, Numbers, SequenceCounter, SequenceDef, SequenceScope, SequenceState};
use parking_lot::Mutex;

use crate::EngineError;
use crate::front_end::StatementFacts;
use crate::statement_context::StatementContext;

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
    /// A statement begins.
    pub fn begin_statement(&self) {
        self.known.lock().drawn = 0;
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

impl StatementContext {
    /// A sequence by the number of its relation, and who else sees it.
    fn sequence(&self, relation: u32) -> Result<(TableId, CatalogSequence, SequenceScope), SqlError> {
        let found = table_of_object_id(relation).and_then(|id| Some((id, self.sequence_by_id(id)?)));
        if let Some((id, (sequence, scope))) = found {
            return Ok((id, sequence, scope));
        }
        let names = StatementFacts::of(self).objects();
        Err(match names.and_then(|names| names.relation(relation)) {
            Some((_, name)) => SqlError::new(SqlState::WrongObjectType, format!("\"{name}\" is not a sequence")),
            None => SqlError::new(SqlState::InternalError, format!("could not open relation with OID {relation}")),
        })
    }
}

impl Sequences for StatementContext {
    fn next_value(&self, relation: u32) -> Result<i64, SqlError> {
        let (id, sequence, scope) = self.sequence(relation)?;
        self.check_may_write("nextval()").map_err(sql_error)?;
        let known = &self.sequences().known;
        let drawn = {
            let mut known = known.lock();
            if let Some(number) = known.take_cached(id, &sequence) {
                return Ok(number);
            }
            known.drawn
        };
        let numbers = self.database().store().next_numbers((&sequence, scope), drawn);
        let numbers = numbers.map_err(|error| sql_error(error.into()))?;
        Ok(known.lock().keep(id, &sequence, numbers))
    }

    fn current_value(&self, relation: u32) -> Result<i64, SqlError> {
        let (id, sequence, _) = self.sequence(relation)?;
        let current = self.sequences().known.lock().sequences.get(&id).and_then(|given| given.current);
        current.ok_or_else(|| {
            let name = &sequence.definition.name;
            undefined(format!("currval of sequence \"{name}\" is not yet defined in this session"))
        })
    }

    fn last_value(&self) -> Result<i64, SqlError> {
        let missing = || undefined("lastval is not yet defined in this session".to_owned());
        let last = self.sequences().known.lock().last.ok_or_else(missing)?;
        // It may have been dropped.
        self.sequence_by_id(last).ok_or_else(missing)?;
        let current = self.sequences().known.lock().sequences.get(&last).and_then(|given| given.current);
        current.ok_or_else(missing)
    }

    fn set_value(&self, relation: u32, last_value: i64, is_called: bool) -> Result<(), SqlError> {
        let (id, sequence, scope) = self.sequence(relation)?;
        self.check_may_write("setval()").map_err(sql_error)?;
        let set = self.database().store().set_number((&sequence, scope), SequenceState { last_value, is_called });
        set.map_err(|error| sql_error(error.into()))?;
        let mut known = self.sequences().known.lock();
        let given = known.sequences.entry(id).or_insert(Given { current: None, cached: None });
        given.cached = None;
        if is_called {
            given.current = Some(last_value);
        }
        Ok(())
    }

    fn last_value_of(&self, relation: u32) -> Result<Option<i64>, SqlError> {
        let (_, sequence, _) = self.sequence(relation)?;
        let state = sequence.counter.shown().state;
        Ok(state.is_called.then_some(state.last_value))
    }
}

fn undefined(message: String) -> SqlError {
    SqlError::new(SqlState::ObjectNotInPrerequisiteState, message)
}

/// The same error, for an expression.
fn sql_error(error: EngineError) -> SqlError {
    let mut report = SqlError::new(error.state(), error.message());
    if let Some(detail) = error.detail() {
        report = report.with_detail(detail);
    }
    if let Some(hint) = error.hint() {
        report = report.with_hint(hint);
    }
    report
}
