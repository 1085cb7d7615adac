//! What a query means: its rows by the definition of each operator, by nested loops and without any thought of speed.
//!
//! A row is a map from columns to values. What a correlated relation reads of the query around it is in its [`Environment`], so that a
//! subquery and the right side of a lateral join are evaluated anew for each row. Executions are compared with this one, so it must stay
//! obviously right: every operator is written as its documentation in [`crate::relation`] reads.
//!
//! | module | contents |
//! |---|---|
//! | [`order`] | sorting, and which rows are equal |
//! | [`joins`] | joins, rows of functions |
//! | [`groups`] | grouping sets and aggregates |
//! | [`sets`] | set operations, common table expressions, recursion |
//! | [`limits`] | LIMIT and OFFSET |
//! | [`windows`] | window functions |
//! | [`subqueries`] | queries within expressions |

mod groups;
mod joins;
mod limits;
mod order;
mod sets;
mod subqueries;
mod windows;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::expression::{Expression, Node};
use crate::functions::SessionFacts;
use crate::relation::{ColumnId, Columns, CteId, Query, Relation, Rows, Subquery};
use crate::{Evaluation, SqlError, SqlState, Value};

/// Most rows that a relation may have here, so that an endless recursion ends.
const ROWS_MAX: usize = 100_000;

/// The rows of tables.
pub trait TableRows: fmt::Debug {
    /// All rows of the table of this number, with a value for each column.
    fn rows(&self, table: u64) -> Vec<Vec<Value>>;
}

/// A row: its columns with their values.
pub type Row = BTreeMap<ColumnId, Value>;

/// What a relation may read besides its own columns.
#[derive(Clone, Copy, Debug)]
struct World<'a> {
    session: &'a dyn SessionFacts,
    parameters: &'a [Value],
    columns: &'a Columns,
    tables: &'a dyn TableRows,
}

/// Where a relation is evaluated: the columns of the queries around it, and the common table expressions that it can read.
#[derive(Clone, Debug)]
struct Environment<'a> {
    world: World<'a>,
    columns: Row,
    common_tables: BTreeMap<CteId, Arc<Vec<Vec<Value>>>>,
}

/// The rows of a query of a statement with these columns, each with the values of its outputs in order.
pub fn rows_of(
    query: &Query,
    columns: &Columns,
    (session, parameters): (&dyn SessionFacts, &[Value]),
    tables: &dyn TableRows,
) -> Result<Vec<Vec<Value>>, SqlError> {
    let world = World { session, parameters, columns, tables };
    let environment = Environment { world, columns: Row::new(), common_tables: BTreeMap::new() };
    let rows = environment.rows(&query.relation)?;
    Ok(rows.into_iter().map(|row| query.outputs.iter().map(|output| row[&output.column].clone()).collect()).collect())
}

impl crate::evaluation::Row for Environment<'_> {
    fn column(&self, column: ColumnId) -> Result<Value, SqlError> {
        let missing = || SqlError::new(SqlState::InternalError, format!("no operator below makes {column}"));
        self.columns.get(&column).cloned().ok_or_else(missing)
    }

    fn subquery(&self, subquery: &Subquery, evaluation: &Evaluation<'_>) -> Result<Value, SqlError> {
        self.subquery_value(subquery, evaluation)
    }
}

impl Environment<'_> {
    /// The same within a row.
    fn with(&self, row: &Row) -> Self {
        let mut inner = self.clone();
        inner.columns.extend(row.iter().map(|(column, value)| (*column, value.clone())));
        inner
    }

    /// The value of an expression in a row.
    fn value(&self, expression: &Expression, row: &Row) -> Result<Value, SqlError> {
        let inner = self.with(row);
        Evaluation::new(self.world.session, self.world.parameters).in_row(&inner).value(expression)
    }

    fn values<'e>(
        &self,
        expressions: impl IntoIterator<Item = &'e Expression>,
        row: &Row,
    ) -> Result<Vec<Value>, SqlError> {
        expressions.into_iter().map(|expression| self.value(expression, row)).collect()
    }

    /// Whether a condition is true in a row.
    fn holds(&self, condition: &Expression, row: &Row) -> Result<bool, SqlError> {
        Ok(self.value(condition, row)? == Value::Bool(true))
    }

    /// The rows of a relation.
    fn rows(&self, relation: &Relation) -> Result<Vec<Row>, SqlError> {
        let rows = self.rows_of_operator(relation)?;
        match rows.len() > ROWS_MAX {
            true => Err(SqlError::unsupported(format!("more than {ROWS_MAX} rows are not supported"))),
            false => Ok(rows),
        }
    }

    fn rows_of_operator(&self, relation: &Relation) -> Result<Vec<Row>, SqlError> {
        match relation {
            Relation::OneRow => Ok(vec![Row::new()]),
            Relation::Table(scan) => Ok(named(&scan.columns, self.world.tables.rows(scan.table))),
            Relation::Values { columns, rows } => {
                let rows = rows.iter().map(|row| self.values(row, &Row::new())).collect::<Result<Vec<_>, _>>()?;
                Ok(named(columns, rows))
            }
            Relation::Filter { input, condition } => {
                let mut kept = Vec::new();
                for row in self.rows(input)? {
                    if self.holds(condition, &row)? {
                        kept.push(row);
                    }
                }
                Ok(kept)
            }
            Relation::Map { input, expressions } => {
                let mut rows = self.rows(input)?;
                for row in &mut rows {
                    let made = self.values(expressions.iter().map(|(_, expression)| expression), row)?;
                    row.extend(expressions.iter().map(|(column, _)| *column).zip(made));
                }
                Ok(rows)
            }
            Relation::Expand(expansion) => self.expanded(expansion),
            Relation::Join { kind, left, right, condition } => self.joined(*kind, left, right, condition),
            Relation::Aggregate(aggregation) => self.aggregated(aggregation),
            Relation::Window(windowing) => self.windowed(windowing),
            Relation::Sort { input, keys } => self.sorted(self.rows(input)?, keys, &[]),
            Relation::Limit { input, offset, limit, ties } => {
                self.limited(self.rows(input)?, (offset.as_ref(), limit.as_ref()), ties.as_deref())
            }
            Relation::Distinct { input, columns } => {
                let list = |row: Row| columns.iter().map(|column| row[column].clone()).collect();
                let rows = self.rows(input)?.into_iter().map(list).collect();
                Ok(named(columns, self.equality(columns)?.without_repetitions(rows)?))
            }
            Relation::DistinctOn { input, keys } => self.first_of_each(self.rows(input)?, keys),
            Relation::Union { inputs, columns } => {
                let mut all = Vec::new();
                for input in inputs {
                    all.extend(self.listed(input)?);
                }
                Ok(named(columns, all))
            }
            Relation::SetOperation { operator, is_all, left, right, columns } => {
                self.set_operation((*operator, *is_all), left, right, columns)
            }
            Relation::With { cte, definition, body, is_materialized: _ } => {
                // What nothing reads is not computed.
                let rows = if reads(body, *cte) { self.listed(definition)? } else { Vec::new() };
                self.with_common_table(*cte, rows).rows(body)
            }
            Relation::Recursive(recursion) => self.recursive(recursion),
            Relation::CteScan { cte, columns } => Ok(named(columns, self.common_tables[cte].to_vec())),
        }
    }

    /// The rows of an input as lists of values.
    fn listed(&self, input: &Rows) -> Result<Vec<Vec<Value>>, SqlError> {
        let list = |row: Row| input.columns.iter().map(|column| row[column].clone()).collect();
        Ok(self.rows(&input.relation)?.into_iter().map(list).collect())
    }

    fn with_common_table(&self, cte: CteId, rows: Vec<Vec<Value>>) -> Self {
        let mut inner = self.clone();
        inner.common_tables.insert(cte, Arc::new(rows));
        inner
    }
}

/// Whether a relation reads a common table expression, perhaps in a subquery.
fn reads(relation: &Relation, id: CteId) -> bool {
    let in_expression = |expression: &Expression| reads_in_expression(expression, id);
    matches!(relation, Relation::CteScan { cte, .. } if *cte == id)
        || relation.expressions().into_iter().any(in_expression)
        || relation.inputs().into_iter().any(|input| reads(input, id))
}

fn reads_in_expression(expression: &Expression, id: CteId) -> bool {
    matches!(&expression.node, Node::Subquery(subquery) if reads(&subquery.relation, id))
        || expression.operands().into_iter().any(|operand| reads_in_expression(operand, id))
}

/// Lists of values as rows.
fn named(columns: &[ColumnId], rows: Vec<Vec<Value>>) -> Vec<Row> {
    rows.into_iter().map(|row| columns.iter().copied().zip(row).collect()).collect()
}
