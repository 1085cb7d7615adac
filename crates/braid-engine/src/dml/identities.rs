//! Identity columns and generated ones: which values an INSERT or an UPDATE may store in them.

use braid_storage::{Catalog, SequenceUse, TableDef};

use crate::statement::Overriding;
use crate::{EngineError, SqlState};

/// The identity columns of a table, by their places.
#[derive(Debug)]
pub(super) struct Identities {
    columns: Vec<(usize, SequenceUse)>,
}

impl Identities {
    pub fn of(catalog: &Catalog, def: &TableDef) -> Self {
        let identity = |(at, id)| Some((at, catalog.identity_of(def.id, id)?));
        let columns = def.columns.iter().map(|column| column.id).enumerate().filter_map(identity);
        Self { columns: columns.collect() }
    }

    /// Whether the values that are given for a column are passed over.
    pub fn are_passed_over(&self, at: usize, overriding: Option<Overriding>) -> bool {
        overriding == Some(Overriding::User) && self.usage(at).is_some()
    }

    /// Refuses another value than DEFAULT that is inserted into a column.
    ///
    /// # Errors
    /// 428C9
    pub fn check_inserted(&self, def: &TableDef, at: usize, overriding: Option<Overriding>) -> Result<(), EngineError> {
        check_not_generated(def, at, |name| format!("cannot insert a non-DEFAULT value into column \"{name}\""))?;
        match (self.usage(at), overriding) {
            (Some(SequenceUse::Always), None) => {
                let name = &def.columns[at].name;
                Err(generated(name, format!("cannot insert a non-DEFAULT value into column \"{name}\""))
                    .with_hint("Use OVERRIDING SYSTEM VALUE to override."))
            }
            _ => Ok(()),
        }
    }

    /// Refuses another value than DEFAULT to which a column is updated.
    ///
    /// # Errors
    /// 428C9
    pub fn check_updated(&self, def: &TableDef, at: usize) -> Result<(), EngineError> {
        check_not_generated(def, at, |name| format!("column \"{name}\" can only be updated to DEFAULT"))?;
        match self.usage(at) {
            Some(SequenceUse::Always) => {
                let name = &def.columns[at].name;
                Err(generated(name, format!("column \"{name}\" can only be updated to DEFAULT")))
            }
            _ => Ok(()),
        }
    }

    fn usage(&self, at: usize) -> Option<SequenceUse> {
        self.columns.iter().find(|(place, _)| *place == at).map(|(_, usage)| *usage)
    }
}

/// Refuses another value than DEFAULT in a column that is computed of others.
fn check_not_generated(def: &TableDef, at: usize, message: impl Fn(&str) -> String) -> Result<(), EngineError> {
    let column = &def.columns[at];
    match &column.generated {
        Some(_) => Err(EngineError::new(SqlState::GeneratedAlways, message(&column.name))
            .with_detail(format!("Column \"{}\" is a generated column.", column.name))),
        None => Ok(()),
    }
}

fn generated(name: &str, message: String) -> EngineError {
    EngineError::new(SqlState::GeneratedAlways, message)
        .with_detail(format!("Column \"{name}\" is an identity column defined as GENERATED ALWAYS."))
}
