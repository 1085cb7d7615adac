//! New values of a few rows, computed without a plan from pairs of rows: those of ON CONFLICT DO UPDATE, of the row that is there and the
//! one that was proposed.

use arrow::array::ArrayRef;
use arrow::record_batch::RecordBatch;
use braid_plan::values::RowValues;
use braid_sql::evaluation::pair_query::{Pair, PairQuery, TableOfPair};
use braid_sql::functions::SessionFacts;
use braid_sql::{Evaluation, SqlError, SqlType, Value};
use braid_storage::TableDef;

use super::assigned_expression::assigned_array;
use super::is_brief;
use super::other_session::OtherSession;
use super::session_facts::StatementFacts;
use super::stored_query::{StoredIn, bound_query};
use crate::bound_parameters::BoundParameters;
use crate::deep_stack::on_deep_stack;
use crate::statement_context::StatementContext;
use crate::stored_row::stored_value;
use crate::{EngineError, Statement};

/// Rows of a table, each beside the row with its number in another batch of the same columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pairs<'a> {
    /// The table.
    pub def: &'a TableDef,
    /// The rows of the query's first table.
    pub first: &'a RecordBatch,
    /// Those of its second one.
    pub second: &'a RecordBatch,
}

/// The rows that a query makes of pairs.
pub(crate) struct RowsOfPairs {
    /// The pairs of which it makes a row.
    pub numbers: Vec<usize>,
    /// For each column behind the first, the pair's number, the values of all rows, each by itself, to be assigned.
    pub columns: Vec<Vec<ArrayRef>>,
}

/// Binds the query of rows of a statement; `None` if it needs a plan, and if what it means depends on the session: it is kept for the
/// statement's other executions.
///
/// # Errors
/// Those of binding.
pub(crate) fn bind_pairs(
    context: &StatementContext,
    statement: &Statement,
    stored_in: &StoredIn,
    parameter_types: &[SqlType],
) -> Result<Option<PairQuery>, EngineError> {
    if !is_brief(statement.origin(), statement.size()) {
        return Ok(None);
    }
    let declared: Vec<Option<SqlType>> = parameter_types.iter().copied().map(Some).collect();
    let facts = StatementFacts::of(context);
    let source = stored_in.source(statement);
    let bind = |session: &dyn SessionFacts| {
        let (bound, _) = bound_query((context, session), statement, &source, &declared)?;
        Ok::<_, SqlError>(PairQuery::of(&bound))
    };
    on_deep_stack(statement.size().expressions, || {
        let Some(own) = bind(&facts)? else { return Ok(None) };
        let elsewhere = bind(&OtherSession::than(&facts));
        Ok(Some(own).filter(|own| elsewhere.is_ok_and(|other| other.as_ref() == Some(own))))
    })
}

impl Pairs<'_> {
    /// The rows that a query of [`bind_pairs`] makes of so many pairs. Long values are counted under the query's budget.
    ///
    /// # Errors
    /// Those of its expressions.
    pub fn rows(
        &self,
        (context, statement): (&StatementContext, &Statement),
        query: &PairQuery,
        parameters: &BoundParameters,
    ) -> Result<RowsOfPairs, EngineError> {
        let (facts, budget) = (StatementFacts::of(context), context.value_budget());
        let (memory, kept) = (RowValues::new(&budget), RowValues::new(&budget));
        let evaluation = Evaluation::new(&facts, parameters.values()).with_memory(&memory);
        let width = self.def.columns.len();
        let mut rows = RowsOfPairs { numbers: Vec::new(), columns: vec![Vec::new(); width] };
        let types: Vec<SqlType> = query.types().skip(1).collect();
        on_deep_stack(statement.size().expressions, || {
            for number in 0..self.first.num_rows() {
                if let Some(values) = query.row(&NumberedPair { pairs: self, number }, &evaluation)? {
                    rows.numbers.push(number);
                    let values = values.into_iter().skip(1).zip(&types).zip(&self.def.columns);
                    for (column, ((value, sql_type), def)) in rows.columns.iter_mut().zip(values) {
                        kept.add(&value)?;
                        column.push(assigned_array(value, (*sql_type, def.column_type), (&facts, &budget))?);
                    }
                }
                memory.clear();
            }
            Ok::<_, SqlError>(())
        })?;
        Ok(rows)
    }
}

/// One of the pairs. Behind the columns of its rows is its number.
#[derive(Debug)]
struct NumberedPair<'a> {
    pairs: &'a Pairs<'a>,
    number: usize,
}

impl Pair for NumberedPair<'_> {
    fn value(&self, table: TableOfPair, place: usize) -> Result<Value, SqlError> {
        let batch = match table {
            TableOfPair::First => self.pairs.first,
            TableOfPair::Second => self.pairs.second,
        };
        match self.pairs.def.columns.get(place) {
            Some(column) => stored_value(batch.column(place).as_ref(), self.number, column.column_type),
            None => Ok(Value::Int8(self.number as i64)),
        }
    }
}
