//! Recursions: start and step with columns of one form, and what rows are compared by.
//!
//! The columns of a recursion have the forms of their types: a step may make values of more digits than the start has. Rows of UNION are
//! compared by the columns that are compared directly, and by comparison keys beside the others, so that of equal values that look
//! different the first is shown.
//!
//! The start returns rows before a step is computed, so that arithmetic in both may not [overflow](super::forms) unless an operator above
//! takes in all rows.

use braid_exec::Expression as Lowered;
use braid_exec::plan::{CteId as LoweredCte, Plan, RecursionSpec};
use braid_sql::SqlError;
use braid_sql::relation::{Recursion, Rows};

use super::common_tables::CommonTable;
use super::expressions::position;
use super::forms::in_form;
use super::query::Lowering;
use super::relations::Input;
use crate::values::Form;

impl Lowering<'_> {
    /// `WITH RECURSIVE`, and what reads it.
    pub(super) fn recursion(&self, recursion: &Recursion) -> Result<Input, SqlError> {
        let Recursion { cte, is_distinct, start, step, body } = recursion;
        let place = self.place.get().united();
        let forms: Vec<Form> = start.columns.iter().map(|column| Form::of(self.columns.sql_type(*column).id)).collect();
        let (start_plan, keys) = self.at_place(place, || self.term(start, &forms, *is_distinct))?;
        self.common_tables.borrow_mut().insert(*cte, CommonTable::Kept(forms.clone()));
        let (step_plan, _) = self.at_place(place, || self.term(step, &forms, *is_distinct))?;
        let Input { plan, columns } = self.with_own_scalars(|| self.relation(body))?;
        let distinct_by = is_distinct.then_some(keys);
        let spec = RecursionSpec { cte: LoweredCte(cte.0), column_count: forms.len(), distinct_by };
        let (start, step) = (Box::new(start_plan), Box::new(step_plan));
        Ok(Input { plan: Plan::Recursion { spec, start, step, body: Box::new(plan) }, columns })
    }

    /// The start or the step: its columns in these forms, and keys beside them if its rows are compared. And the positions of what
    /// rows are compared by.
    fn term(&self, rows: &Rows, forms: &[Form], is_distinct: bool) -> Result<(Plan, Vec<usize>), SqlError> {
        let mut keys = Vec::new();
        let input = self.with_own_scalars(|| {
            let input = self.relation(&rows.relation)?;
            let mut expressions = Vec::with_capacity(forms.len());
            for (column, form) in rows.columns.iter().zip(forms) {
                let at = position(*column, &input.columns)?;
                expressions.push(in_form(Lowered::Column(at), self.form(*column), *form));
            }
            for (at, column) in rows.columns.iter().enumerate().filter(|_| is_distinct) {
                if Form::is_compared_directly(self.columns.sql_type(*column).id) {
                    keys.push(at);
                    continue;
                }
                keys.push(expressions.len());
                expressions.push(self.comparison_key(&self.column_expression(*column), &input.columns)?);
            }
            let plan = Plan::Project { input: Box::new(input.plan), expressions };
            Ok(Input { plan, columns: rows.columns.clone() })
        })?;
        Ok((input.plan, keys))
    }
}
