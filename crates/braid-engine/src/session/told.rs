//! Whether a prepared statement still has the columns that its client was told ([`crate::told_columns`]).

use super::Session;
use crate::named_statements::NamedStatement;
use crate::told_columns::{Meaning, ToldColumns, check_same_columns};
use crate::{EngineError, ParameterType, Prepared, Statement};

impl Session {
    /// What names mean now.
    pub fn meaning(&self) -> Meaning {
        Meaning {
            definitions_changed: self.context.snapshot().definitions_changed(),
            search_path: self.context.settings().get("search_path").map(str::to_owned),
            role: self.context.current_role(),
        }
    }

    /// Whether a statement may have other columns than those that were told.
    pub fn may_have_changed(&self, told: &ToldColumns) -> bool {
        !told.is_confirmed(&self.meaning())
    }

    /// Checks that a statement with parameters of these types still returns the columns that were told.
    ///
    /// # Errors
    /// 0A000 if it returns others, and those of describing it.
    pub async fn check_told_columns(
        &self,
        statement: &Statement,
        parameter_types: &[ParameterType],
        told: &ToldColumns,
    ) -> Result<(), EngineError> {
        let now = self.meaning();
        if told.is_confirmed(&now) {
            return Ok(());
        }
        let prepared = self.prepare(statement, &declared(parameter_types)).await?;
        confirm(told, &prepared, now)
    }

    /// The same of what an EXECUTE that is under way executes.
    pub(super) async fn check_executed(
        &self,
        named: &NamedStatement,
        statement: &Statement,
    ) -> Result<(), EngineError> {
        let now = self.meaning();
        let Some(told) = named.columns().filter(|told| !told.is_confirmed(&now)) else { return Ok(()) };
        // Rare, and large: on the heap it takes no stack of those that need nothing of it.
        let prepared = Box::pin(self.prepare_inner(statement, &declared(named.parameter_types()))).await?;
        confirm(told, &prepared, now)
    }
}

fn declared(parameter_types: &[ParameterType]) -> Vec<Option<ParameterType>> {
    parameter_types.iter().copied().map(Some).collect()
}

/// Compares a new description with what was told.
fn confirm(told: &ToldColumns, prepared: &Prepared, now: Meaning) -> Result<(), EngineError> {
    if let Some(made) = &prepared.schema {
        check_same_columns(told.schema(), made)?;
    }
    told.confirm(now);
    Ok(())
}
