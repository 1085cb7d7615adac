//! Common tables by definition: their rows are those of one more table, which scans read.

use super::definition::ROWS_MAX;
use super::memory_tables::Table;
use super::*;
use crate::plan::{CteId, RecursionSpec};

/// Steps after which the definition gives up.
const STEPS_MAX: usize = 12;

impl Definition<'_> {
    /// A body that reads a common table. A failing definition leaves the answer open, because it is not run if no row of it is needed.
    pub(super) fn with_table(&self, cte: CteId, definition: &Plan, body: &Plan) -> Result<Answer, NoAnswer> {
        let rows = self.answer(definition).and_then(Answer::all).map_err(|_| NoAnswer::Undefined)?;
        self.answer_with(cte, rows, body)
    }

    pub(super) fn with_recursion(
        &self,
        spec: &RecursionSpec,
        (start, step): (&Plan, &Plan),
        body: &Plan,
    ) -> Result<Answer, NoAnswer> {
        let undefined = |_| NoAnswer::Undefined;
        let mut last = self.answer(start).and_then(Answer::all).map_err(undefined)?;
        let (mut all, mut seen): (Vec<Row>, Vec<Row>) = (Vec::new(), Vec::new());
        for _ in 0..STEPS_MAX {
            if let Some(keys) = &spec.distinct_by {
                last.retain(|row| {
                    let key: Row = keys.iter().map(|key| row[*key].clone()).collect();
                    let is_new = seen.iter().all(|other| compare_rows(other, &key).is_ne());
                    seen.extend(is_new.then_some(key));
                    is_new
                });
            }
            last.iter_mut().for_each(|row| row.truncate(spec.column_count));
            if last.is_empty() {
                return self.answer_with(spec.cte, all, body);
            }
            all.extend(last.iter().cloned());
            if all.len() > ROWS_MAX {
                return Err(NoAnswer::Undefined);
            }
            last = self.answer_with(spec.cte, last, step).and_then(Answer::all).map_err(undefined)?;
        }
        Err(NoAnswer::Undefined)
    }

    /// The answer of a plan whose scans of a common table return these rows.
    pub(super) fn answer_with(&self, cte: CteId, rows: Vec<Row>, plan: &Plan) -> Result<Answer, NoAnswer> {
        let number = self.tables.len();
        let table = Table::of_rows(number, Vec::new(), rows, &mut SeededRandom::new(0));
        let mut plan = plan.clone();
        replace_scans(&mut plan, cte, &table);
        let tables: Vec<Arc<Table>> = self.tables.iter().cloned().chain([table]).collect();
        let subquery_values = self.subquery_values.clone();
        Definition { tables: &tables, parameters: self.parameters, subquery_values }.answer(&plan)
    }
}

fn replace_scans(plan: &mut Plan, wanted: CteId, table: &Arc<Table>) {
    match plan {
        Plan::CteScan { cte, column_count } if *cte == wanted => {
            *plan = Plan::Source { source: table.clone(), column_count: *column_count };
        }
        // Another table of the same number.
        Plan::With { cte, definition, .. } if *cte == wanted => replace_scans(definition, wanted, table),
        Plan::Recursion { spec, start, .. } if spec.cte == wanted => replace_scans(start, wanted, table),
        other => other.inputs_mut().into_iter().for_each(|input| replace_scans(input, wanted, table)),
    }
}
