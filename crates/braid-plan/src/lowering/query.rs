//! A whole query, and the scalar subqueries that are computed before it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use braid_exec::plan::Plan;
use braid_sql::relation::{ColumnId, Columns, CteId, Query, Relation, Rows};
use braid_sql::{SqlError, SqlType};

use super::Session;
use super::expressions::position;
use super::relations::Input;
use crate::values::Form;

/// Most operators of a plan, in which common table expressions are there as often as they are read.
const OPERATORS_MAX: usize = 10_000;

/// A query as a plan.
#[derive(Clone, Debug)]
pub struct LoweredQuery {
    /// The plan. Its columns are those of the query.
    pub plan: Plan,
    /// The columns as vectors hold them.
    pub schema: SchemaRef,
    /// The names and types that the client sees.
    pub columns: Vec<(String, SqlType)>,
}

/// The plan of a query.
///
/// # Errors
/// As unsupported (0A000) what operators do not compute; errors of constant expressions of LIMIT and VALUES.
pub fn lower(query: &Query, columns: &Columns, session: &Arc<dyn Session>) -> Result<LoweredQuery, SqlError> {
    let lowering = Lowering {
        columns,
        session: session.clone(),
        common_tables: RefCell::default(),
        scalars: RefCell::default(),
        operator_count: Cell::new(0),
    };
    let ids: Vec<ColumnId> = query.outputs.iter().map(|output| output.column).collect();
    let plan = lowering.with_scalars(&query.relation, &ids)?;
    let fields = query.outputs.iter().enumerate().map(|(at, output)| {
        // Names of columns need not differ.
        Field::new(format!("c{at}"), Form::of(output.sql_type.id).data_type(), true)
    });
    Ok(LoweredQuery {
        plan,
        schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
        columns: query.outputs.iter().map(|output| (output.name.clone(), output.sql_type)).collect(),
    })
}

/// What lowering a query needs from its beginning to its end.
pub(super) struct Lowering<'a> {
    pub columns: &'a Columns,
    pub session: Arc<dyn Session>,
    /// The definitions of common table expressions, which are computed where they are read.
    pub common_tables: RefCell<HashMap<CteId, Rows>>,
    /// The plans of the scalar subqueries of the innermost query.
    scalars: RefCell<Vec<Plan>>,
    operator_count: Cell<usize>,
}

impl Lowering<'_> {
    /// The plan of a relation with these columns, and of its scalar subqueries before it.
    fn with_scalars(&self, relation: &Relation, columns: &[ColumnId]) -> Result<Plan, SqlError> {
        let around = self.scalars.take();
        let lowered = self.ordered_columns(relation, columns);
        let subqueries = self.scalars.replace(around);
        let input = lowered?;
        Ok(match subqueries.is_empty() {
            true => input,
            false => Plan::WithScalars { subqueries, input: Box::new(input) },
        })
    }

    /// A relation with exactly these columns.
    pub(super) fn ordered_columns(&self, relation: &Relation, columns: &[ColumnId]) -> Result<Plan, SqlError> {
        let Input { plan, columns: there } = self.relation(relation)?;
        let positions = columns.iter().map(|column| position(*column, &there)).collect::<Result<Vec<_>, _>>()?;
        if positions.iter().copied().eq(0..there.len()) {
            return Ok(plan);
        }
        let expressions = positions.into_iter().map(braid_exec::Expression::Column).collect();
        Ok(Plan::Project { input: Box::new(plan), expressions })
    }

    /// A scalar subquery, computed before the query: its number.
    pub(super) fn add_scalar(&self, relation: &Relation, columns: &[ColumnId]) -> Result<usize, SqlError> {
        let plan = self.with_scalars(relation, columns)?;
        let mut scalars = self.scalars.borrow_mut();
        scalars.push(plan);
        Ok(scalars.len() - 1)
    }

    /// Counts an operator.
    pub(super) fn count_operator(&self) -> Result<(), SqlError> {
        let count = self.operator_count.get() + 1;
        self.operator_count.set(count);
        match count > OPERATORS_MAX {
            true => Err(SqlError::unsupported("a query of so many operators is not supported")),
            false => Ok(()),
        }
    }
}
