//! Executions of prepared statements whose literals were read in another zone or transaction.

use std::borrow::Cow;
use std::sync::Arc;

use braid_sql::literal_notes::LiteralNotes;

use super::Session;
use crate::bound_parameters::BoundParameters;
use crate::statement::FormerReading;
use crate::{EngineError, ParameterType, Statement};

impl Session {
    /// The statement as it is to be executed: with the values that its literals had when it was prepared.
    ///
    /// # Errors
    /// Those of binding it; as unsupported (0A000) if it is not known where one of the literals is.
    pub(super) async fn with_prepared_literals<'a>(
        &self,
        statement: &'a Statement,
        params: &BoundParameters,
    ) -> Result<Cow<'a, Statement>, EngineError> {
        if !statement.has_prepared_literals() {
            return Ok(Cow::Borrowed(statement));
        }
        let Some(session) = statement.former_session(self.context.reading()) else {
            return Ok(Cow::Borrowed(statement));
        };
        if let Some(settled) = statement.settled() {
            return Ok(Cow::Owned(settled));
        }
        let former = Arc::new(FormerReading { session, notes: LiteralNotes::of(statement.origin_text().clone()) });
        let reader = Self { context: self.context.with_former_reading(former.clone()) };
        let declared: Vec<_> = params.types().iter().map(|known| Some(ParameterType::of(*known))).collect();
        reader.describe(&statement.parsed()?, &declared).await?;
        statement.settle(&former.notes.to_sorted()).map(Cow::Owned)
    }
}
