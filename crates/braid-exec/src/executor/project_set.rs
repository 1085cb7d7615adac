//! Rows of functions for each row.

use std::sync::Arc;

use super::{Executor, Rows, Wanted};
use crate::plan::Plan;
use crate::runtime::pipeline::Operator;
use crate::runtime::project_set::ProjectSet;
use crate::runtime::set_functions::SetFunctionCall;
use crate::runtime::stop::Stop;

impl Executor {
    pub(super) async fn project_set(
        &self,
        input: &Plan,
        call: &Arc<SetFunctionCall>,
        wanted: Wanted,
    ) -> Result<Rows, Stop> {
        let width = input.column_count();
        let mut read = wanted.columns[..width].to_vec();
        call.arguments.iter().for_each(|(column, _)| read[*column] = true);
        let below = wanted.of_input(read, |column| (column < width).then_some(column));
        let mut rows = self.rows(input, below).await?;
        let (call, needed): (_, Arc<[bool]>) = (call.clone(), wanted.columns.into());
        let column_count = needed.len();
        let budget = self.budget.clone();
        let operator =
            move || Box::new(ProjectSet::new(call.clone(), needed.clone(), budget.clone())) as Box<dyn Operator>;
        rows.push(Arc::new(operator), column_count);
        Ok(rows)
    }
}
