//! `nextval`, `currval`, `lastval` and `setval` in a session.
//!
//! Numbers belong to no transaction: what a session was given is not forgotten by a rollback. Each call asks the newest committed state
//! for the sequence, or the transaction that has changed it.

use braid_base::TableId;
use braid_catalog::CatalogNames;
use braid_catalog::object_ids::table_of_object_id;
use braid_catalog::privileges::ObjectAccess;
use braid_sql::functions::{ObjectNames, Sequences};
use braid_sql::{SqlError, SqlState};
use braid_storage::{AccessObject, CatalogSequence, Privileges, SequenceScope, SequenceState};

use super::StatementContext;
use crate::error_mapping::sql_error;

impl StatementContext {
    /// A sequence by the number of its relation, and who else sees it.
    fn sequence(&self, relation: u32) -> Result<(TableId, CatalogSequence, SequenceScope), SqlError> {
        let found = table_of_object_id(relation).and_then(|id| Some((id, self.sequence_by_id(id)?)));
        if let Some((id, (sequence, scope))) = found {
            return Ok((id, sequence, scope));
        }
        let views = self.database().view_names().clone();
        let (catalog, roles, path) = (self.snapshot(), Vec::new(), self.search_path());
        Err(match (CatalogNames { catalog, roles, views, path }).relation(relation) {
            Some((_, name)) => SqlError::new(SqlState::WrongObjectType, format!("\"{name}\" is not a sequence")),
            None => SqlError::new(SqlState::InternalError, format!("could not open relation with OID {relation}")),
        })
    }
}

impl StatementContext {
    /// Checks that the current role has one of these privileges on a sequence.
    fn check_sequence(&self, sequence: &CatalogSequence, privileges: &[Privileges]) -> Result<(), SqlError> {
        let snapshot = self.snapshot();
        if snapshot.access().is_empty() {
            return Ok(());
        }
        let (objects, role) = (ObjectAccess::of(&snapshot), self.current_role());
        let object = AccessObject::Relation(sequence.definition.id);
        match privileges.iter().any(|privilege| objects.has(role, object, *privilege)) {
            true => Ok(()),
            false => {
                let message = format!("permission denied for sequence {}", sequence.definition.name);
                Err(SqlError::new(SqlState::InsufficientPrivilege, message))
            }
        }
    }

    /// Refuses a transaction that only reads, but for temporary sequences.
    fn check_may_draw(&self, sequence: &CatalogSequence, function: &str) -> Result<(), SqlError> {
        match self.snapshot().is_temporary(sequence.definition.schema) {
            true => Ok(()),
            false => self.check_may_write(function).map_err(sql_error),
        }
    }
}

impl Sequences for StatementContext {
    fn next_value(&self, relation: u32) -> Result<i64, SqlError> {
        let (id, sequence, scope) = self.sequence(relation)?;
        // Who may insert rows draws the numbers of their identity columns.
        if !self.sequences().permits_identity(&sequence.definition) {
            self.check_sequence(&sequence, &[Privileges::USAGE, Privileges::UPDATE])?;
        }
        self.check_may_draw(&sequence, "nextval()")?;
        match self.sequences().take_cached(id, &sequence) {
            Ok(number) => Ok(number),
            Err(drawn) => {
                let numbers = self.database().store().next_numbers((&sequence, scope), drawn);
                let numbers = numbers.map_err(|error| sql_error(error.into()))?;
                Ok(self.sequences().keep(id, &sequence, numbers))
            }
        }
    }

    fn current_value(&self, relation: u32) -> Result<i64, SqlError> {
        let (id, sequence, _) = self.sequence(relation)?;
        self.check_sequence(&sequence, &[Privileges::USAGE, Privileges::SELECT])?;
        self.sequences().current(id).ok_or_else(|| {
            let name = &sequence.definition.name;
            undefined(format!("currval of sequence \"{name}\" is not yet defined in this session"))
        })
    }

    fn last_value(&self) -> Result<i64, SqlError> {
        let missing = || undefined("lastval is not yet defined in this session".to_owned());
        let last = self.sequences().last().ok_or_else(missing)?;
        // It may have been dropped.
        let (sequence, _) = self.sequence_by_id(last).ok_or_else(missing)?;
        self.check_sequence(&sequence, &[Privileges::USAGE, Privileges::SELECT])?;
        self.sequences().current(last).ok_or_else(missing)
    }

    fn set_value(&self, relation: u32, last_value: i64, is_called: bool) -> Result<(), SqlError> {
        let (id, sequence, scope) = self.sequence(relation)?;
        self.check_sequence(&sequence, &[Privileges::UPDATE])?;
        self.check_may_draw(&sequence, "setval()")?;
        let set = self.database().store().set_number((&sequence, scope), SequenceState { last_value, is_called });
        set.map_err(|error| sql_error(error.into()))?;
        self.sequences().set(id, last_value, is_called);
        Ok(())
    }

    fn check_is_sequence(&self, relation: u32) -> Result<(), SqlError> {
        self.sequence(relation).map(drop)
    }

    fn last_value_of(&self, relation: u32) -> Result<Option<i64>, SqlError> {
        let (_, sequence, _) = self.sequence(relation)?;
        self.check_sequence(&sequence, &[Privileges::USAGE, Privileges::SELECT])?;
        let state = sequence.counter.shown().state;
        Ok(state.is_called.then_some(state.last_value))
    }
}

fn undefined(message: String) -> SqlError {
    SqlError::new(SqlState::ObjectNotInPrerequisiteState, message)
}
