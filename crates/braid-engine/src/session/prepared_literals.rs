//! Executions of prepared statements whose literals meant something else when they were prepared.

use std::borrow::Cow;
use std::sync::Arc;

use braid_sql::functions::literal_notes::LiteralNotes;
use sqlparser::ast::ObjectName;

use super::Session;
use crate::bound_parameters::BoundParameters;
use crate::statement::{Dependencies, Dependency, FormerReading, ReadLiterals};
use crate::table_names::{Named, named_table};
use crate::{EngineError, ParameterType, Statement};

impl Session {
    /// Notes how the literals of a statement are read that is prepared.
    pub(super) fn note_prepared(&self, statement: &Statement) {
        // What is not parsed has no names.
        let dependencies = || statement.is_parsed().then(|| self.dependencies(&statement.relation_names()));
        statement.note_prepared(self.context.reading_to_prepare(), dependencies);
    }

    fn dependencies(&self, names: &[ObjectName]) -> Dependencies {
        let snapshot = self.context.snapshot();
        let relation = |name: &ObjectName| match named_table(&self.context, &snapshot, name).ok()? {
            Named::Table(def) => Some(Dependency::Table(def)),
            Named::View(def) => Some(Dependency::View(def)),
            _ => None,
        };
        Dependencies { path: self.context.search_path(), relations: names.iter().filter_map(relation).collect() }
    }

    /// The statement as it is to be executed: with the values that its literals had when it was prepared.
    ///
    /// # Errors
    /// Those of binding it; as unsupported (0A000) if a statement with these values cannot be written.
    pub(super) async fn with_prepared_literals<'a>(
        &self,
        statement: &'a Statement,
        params: &BoundParameters,
    ) -> Result<Cow<'a, Statement>, EngineError> {
        let Some(literals) = statement.prepared_literals() else { return Ok(Cow::Borrowed(statement)) };
        let dependencies = || Ok(self.dependencies(&statement.parsed()?.relation_names()));
        let now = self.context.reading();
        loop {
            match literals.read(now, dependencies)? {
                ReadLiterals::AsThen => return Ok(Cow::Borrowed(statement)),
                ReadLiterals::Known(notes) => return literals.settled(statement, &notes).map(Cow::Owned),
                ReadLiterals::Unknown(session) => {
                    let parsed = statement.parsed()?;
                    let notes = LiteralNotes::of(parsed.origin_text().clone());
                    let former = Arc::new(FormerReading { session, notes });
                    let reader = Self { context: self.context.with_former_reading(former.clone()) };
                    let declared: Vec<_> = params.types().iter().map(|known| Some(ParameterType::of(*known))).collect();
                    // Rare, and large: on the heap it takes no stack of those that need nothing of it.
                    Box::pin(reader.describe(&parsed, &declared)).await?;
                    literals.note(session, former.notes.to_vec());
                }
            }
        }
    }
}
