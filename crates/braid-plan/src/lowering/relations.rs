//! The operators of a relation, one by one.

use std::sync::Arc;

use braid_exec::Expression as Lowered;
use braid_exec::expression::Comparison;
use braid_exec::plan::{Plan, SortKey as LoweredKey, SortSpec};
use braid_exec::scan::single_row::SingleRow;
use braid_sql::relation::{ColumnId, Relation, Rows, SetOperator, SortKey};
use braid_sql::{Expression, SqlError, SqlState, Value};
use braid_storage::Scalar;

use super::forms::form_of_values;
use super::query::Lowering;
use super::row_order::{is_of_session, one_by_one};
use super::sources::ConstantRows;
use crate::values::Form;

/// The plan of a relation, and its columns by position.
#[derive(Clone)]
pub(super) struct Input {
    pub plan: Plan,
    pub columns: Vec<ColumnId>,
}

/// A cell of constant rows that is computed when the plan runs: its value is long, or volatile. A plan may be made and not run, and
/// `nextval` must not be called then.
struct LateCell {
    row: usize,
    column: usize,
    expression: Expression,
}

impl Lowering<'_> {
    /// The plan of a relation.
    pub(super) fn relation(&self, relation: &Relation) -> Result<Input, SqlError> {
        self.count_operator()?;
        match relation {
            Relation::OneRow => Ok(one_row()),
            Relation::Table(scan) => self.table(scan),
            Relation::Values { columns, rows } => self.values(columns, rows),
            Relation::Filter { input, condition } => {
                let input = self.relation(input)?;
                let Input { plan, columns } = self.in_row_order(input, std::iter::once(condition));
                let condition = self.expression(condition, &columns)?;
                Ok(Input { plan: Plan::Filter { input: Box::new(plan), condition }, columns })
            }
            Relation::Map { input, expressions } => {
                let input = self.relation(input)?;
                let input = self.in_row_order(input, expressions.iter().map(|(_, expression)| expression));
                let expressions = expressions
                    .iter()
                    .map(|(column, expression)| Ok((*column, self.made(*column, expression, &input.columns)?)))
                    .collect::<Result<Vec<_>, SqlError>>()?;
                Ok(input.with_columns(expressions))
            }
            Relation::Expand(expansion) => self.expand(expansion),
            Relation::Join { kind, left, right, condition } => self.join(*kind, left, right, condition),
            Relation::Aggregate(aggregation) => self.aggregate(aggregation),
            Relation::Sort { input, keys } => self.sort(input, keys, None),
            Relation::Limit { input, offset, limit, ties } => {
                self.limit(input, offset.as_ref(), limit.as_ref(), ties.as_deref())
            }
            Relation::Distinct { input, columns } => self.distinct(input, columns),
            Relation::DistinctOn { input, keys } => self.distinct_on(input, keys),
            Relation::Union { inputs, columns } => {
                let plan = Plan::Union(self.united(&inputs.iter().collect::<Vec<_>>(), columns)?);
                Ok(Input { plan, columns: columns.clone() })
            }
            Relation::SetOperation { operator, is_all: false, left, right, columns } => {
                self.set_operation(*operator, left, right, columns)
            }
            Relation::SetOperation { operator, is_all: true, left, right, columns } => {
                self.counted_set_operation(*operator, left, right, columns)
            }
            Relation::Window(windowing) => self.window(windowing),
            Relation::With { cte, definition, body, is_materialized: _ } => self.with_table(*cte, definition, body),
            Relation::CteScan { cte, columns } => self.table_scan(*cte, columns),
            Relation::Recursive(recursion) => self.recursion(recursion),
        }
    }

    /// The rows of an input, one by one if one of the expressions over them needs that.
    fn in_row_order<'e>(&self, input: Input, mut expressions: impl Iterator<Item = &'e Expression>) -> Input {
        match self.is_row_wise && expressions.any(is_of_session) {
            true => Input { plan: one_by_one(input.plan), columns: input.columns },
            false => input,
        }
    }

    fn values(&self, columns: &[ColumnId], rows: &[Vec<Expression>]) -> Result<Input, SqlError> {
        let mut late = Vec::new();
        let mut value = |(at, expression): ((usize, usize), &Expression)| {
            self.check_is_known(expression)?;
            let value = if expression.is_volatile() { Ok(None) } else { self.constant_value(expression).map(Some) };
            match value {
                Ok(Some(value)) => return Ok(value),
                Err(error) if error.state() != SqlState::OutOfMemory => return Err(error),
                Ok(None) | Err(_) => late.push(LateCell { row: at.0, column: at.1, expression: expression.clone() }),
            }
            Ok(Value::Null)
        };
        let mut constants = Vec::with_capacity(rows.len());
        for (at, row) in rows.iter().enumerate() {
            let cells = row.iter().enumerate().map(|(column, cell)| value(((at, column), cell)));
            constants.push(cells.collect::<Result<Vec<_>, SqlError>>()?);
        }
        match late.is_empty() {
            true => self.constant_rows(columns, &constants),
            false => self.rows_with_late_cells(columns, constants, &late),
        }
    }

    /// Rows of which some cells are computed when the plan runs, because the plan does not hold their values. Rows are numbered, so that
    /// they keep their order.
    fn rows_with_late_cells(
        &self,
        columns: &[ColumnId],
        mut rows: Vec<Vec<Value>>,
        late: &[LateCell],
    ) -> Result<Input, SqlError> {
        rows.iter_mut().zip(0i64..).for_each(|(row, number)| row.push(Value::Int8(number)));
        let number = columns.len();
        let mut forms = Vec::with_capacity(number + 1);
        let mut expressions: Vec<Lowered> = Vec::with_capacity(number);
        for (at, column) in columns.iter().enumerate() {
            let form = Form::of(self.columns.sql_type(*column).id);
            self.note_form(*column, form);
            forms.push(form);
            let cells: Vec<&LateCell> = late.iter().filter(|cell| cell.column == at).collect();
            if let [first, others @ ..] = &cells[..]
                && cells.len() == rows.len()
                && others.iter().all(|other| other.expression == first.expression)
            {
                expressions.push(self.expression(&first.expression, &[])?);
                continue;
            }
            let branches = cells.into_iter().map(|cell| {
                let is_row = Lowered::Compare {
                    comparison: Comparison::Equal,
                    left: Box::new(Lowered::Column(number)),
                    right: Box::new(Lowered::Constant(Some(Scalar::Int(cell.row as i64)))),
                };
                Ok((is_row, self.expression(&cell.expression, &[])?))
            });
            let branches = branches.collect::<Result<Vec<_>, SqlError>>()?;
            expressions.push(match branches.is_empty() {
                true => Lowered::Column(at),
                false => Lowered::Case { branches, otherwise: Some(Box::new(Lowered::Column(at))) },
            });
        }
        forms.push(Form::Integer);
        let source = ConstantRows::new(&forms, &rows)?;
        let source = Plan::Source { source: Arc::new(source), column_count: number + 1 };
        let input = Box::new(if self.is_row_wise { one_by_one(source) } else { source });
        Ok(Input { plan: Plan::Project { input, expressions }, columns: columns.to_vec() })
    }

    /// Rows that the plan holds.
    pub(super) fn constant_rows(&self, columns: &[ColumnId], rows: &[Vec<Value>]) -> Result<Input, SqlError> {
        for (at, column) in columns.iter().enumerate() {
            let form = form_of_values(Form::of(self.columns.sql_type(*column).id), rows.iter().map(|row| &row[at]));
            self.note_form(*column, form);
        }
        let forms: Vec<_> = columns.iter().map(|column| self.form(*column)).collect();
        let source = ConstantRows::new(&forms, rows)?;
        let plan = Plan::Source { source: Arc::new(source), column_count: columns.len() };
        Ok(Input { plan, columns: columns.to_vec() })
    }

    pub(super) fn sort(&self, input: &Relation, keys: &[SortKey], limit: Option<usize>) -> Result<Input, SqlError> {
        let input = self.collected(|| self.relation(input))?;
        let columns = input.columns.clone();
        let expressions: Vec<Lowered> =
            keys.iter().map(|key| self.comparable(&key.expression, &columns)).collect::<Result<_, _>>()?;
        let (plan, positions) = input.with_positions(expressions);
        let keys = positions.into_iter().zip(keys).map(|(column, key)| LoweredKey {
            column,
            descending: key.is_descending,
            nulls_first: key.nulls_first,
        });
        let spec = Arc::new(SortSpec { keys: keys.collect(), limit });
        let is_wider = plan.column_count() > columns.len();
        let plan = Plan::Sort { input: Box::new(plan), spec };
        let sorted = Input { plan, columns };
        Ok(if is_wider { sorted.with_columns(Vec::new()) } else { sorted })
    }

    fn limit(
        &self,
        input: &Relation,
        offset: Option<&Expression>,
        limit: Option<&Expression>,
        ties: Option<&[SortKey]>,
    ) -> Result<Input, SqlError> {
        let count = |expression: Option<&Expression>, state, name: &str| match expression {
            None => Ok(None),
            Some(expression) => match self.known_value(expression)? {
                Value::Int8(count) => {
                    let negative = || SqlError::new(state, format!("{name} must not be negative"));
                    Ok(Some(u64::try_from(count).map_err(|_| negative())?))
                }
                _ => Ok(None),
            },
        };
        let offset = count(offset, SqlState::InvalidOffset, "OFFSET")?.unwrap_or(0);
        let limit = count(limit, SqlState::InvalidLimit, "LIMIT")?;
        if let (Some(ties), Some(limit)) = (ties, limit) {
            return self.limit_with_ties(input, (offset, limit), ties);
        }
        let needed = limit.and_then(|limit| usize::try_from(limit.checked_add(offset)?).ok());
        let Input { plan, columns } = match input {
            Relation::Sort { input, keys } => self.sort(input, keys, needed)?,
            other => self.relation(other)?,
        };
        Ok(Input { plan: Plan::Limit { input: Box::new(plan), offset, limit }, columns })
    }

    /// Groups of equal rows of both sides, by the sides that have them.
    fn set_operation(
        &self,
        operator: SetOperator,
        left: &Rows,
        right: &Rows,
        columns: &[ColumnId],
    ) -> Result<Input, SqlError> {
        let width = columns.len();
        let plans = self.collected(|| self.united(&[left, right], columns))?;
        let sides = plans.into_iter().zip([1, 0]).map(|(plan, is_left)| {
            let own = (0..width).map(Lowered::Column);
            let tag = Lowered::Constant(Some(Scalar::Int(is_left)));
            Plan::Project { input: Box::new(plan), expressions: own.chain([tag]).collect() }
        });
        let both = Plan::Union(sides.collect());
        self.in_sides(both, operator, columns)
    }
}

impl Input {
    /// The same with further columns.
    pub fn with_columns(self, added: Vec<(ColumnId, Lowered)>) -> Self {
        let mut columns = self.columns;
        let own = (0..columns.len()).map(Lowered::Column);
        columns.extend(added.iter().map(|(column, _)| *column));
        let expressions = own.chain(added.into_iter().map(|(_, expression)| expression)).collect();
        Self { plan: Plan::Project { input: Box::new(self.plan), expressions }, columns }
    }

    /// The same with further columns where the expressions are none: the positions of all expressions.
    pub fn with_positions(self, expressions: Vec<Lowered>) -> (Plan, Vec<usize>) {
        let width = self.plan.column_count();
        let (mut added, mut positions) = (Vec::new(), Vec::new());
        for expression in expressions {
            match expression.as_column() {
                Some(column) => positions.push(column),
                None => {
                    positions.push(width + added.len());
                    added.push(expression);
                }
            }
        }
        if added.is_empty() {
            return (self.plan, positions);
        }
        let expressions = (0..width).map(Lowered::Column).chain(added).collect();
        (Plan::Project { input: Box::new(self.plan), expressions }, positions)
    }
}

fn one_row() -> Input {
    Input { plan: Plan::Source { source: Arc::new(SingleRow), column_count: 0 }, columns: Vec::new() }
}

pub(super) fn unsupported(what: &str) -> SqlError {
    SqlError::unsupported(format!("{what} are not supported by Braid's operators yet"))
}
