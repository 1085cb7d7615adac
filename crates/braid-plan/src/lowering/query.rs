//! A whole query, and the scalar subqueries that are computed before it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use braid_base::DomainTypeId;
use braid_exec::plan::{CteId as LoweredCte, Plan};
use braid_sql::functions::LimitedMemory;
use braid_sql::relation::{ColumnId, ColumnSet, Columns, CteId, Query, Relation};
use braid_sql::values::RecordType;
use braid_sql::{SqlError, SqlType};

use super::Session;
use super::common_tables::CommonTable;
use super::expressions::position;
use super::forms::{Numerics, Place};
use super::parameters::{PlanParameter, check_is_for_many_sessions};
use super::relations::Input;
use super::row_order::is_row_wise;
use super::tables::{StoredTables, read_columns};
use crate::planning_memory::planning_memory;
use crate::rewriting::renumbering::CteNumbers;
use crate::values::Form;

/// Most operators of a plan.
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
    /// The domain that each column is declared with, if it is one.
    pub domains: Vec<Option<DomainTypeId>>,
    /// The fields of each column's records, where they are known.
    pub record_types: Vec<Option<Arc<RecordType>>>,
    /// What the vectors of each column hold.
    pub forms: Vec<Form>,
    /// The parameters of the plan; none in that of one statement.
    pub parameters: Vec<PlanParameter>,
    /// Whether it may fail because [128 bits are too narrow](super::is_too_narrow), before it returns a row, and can then be lowered
    /// again with [`Numerics::Wide`].
    pub is_optimistic: bool,
    /// Whether one worker is to run it, because its expressions see what others do to the session.
    pub is_row_wise: bool,
}

/// What a query is planned with.
#[derive(Clone, Copy, Debug)]
pub struct Environment<'a> {
    /// The session.
    pub session: &'a Arc<dyn Session>,
    /// The tables.
    pub tables: &'a dyn StoredTables,
    /// What the plan is for.
    pub purpose: Purpose<'a>,
    /// What is done with numerics of many digits.
    pub numerics: Numerics,
}

/// What a plan is for.
#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    /// One statement, whose constants are known, in its session.
    OneStatement,
    /// Statements of any session that differ in the parameters of the query.
    ManyStatements {
        /// The form of all values of a parameter, where it is not that of its type.
        forms: &'a HashMap<usize, Form>,
    },
}

/// Why there is no plan.
#[derive(Clone, Debug)]
pub enum NoPlan {
    /// The error of the query, or what is unsupported (0A000).
    Error(SqlError),
    /// A plan for many statements would depend on the value of this parameter of the query.
    ValueMatters(usize),
}

impl From<SqlError> for NoPlan {
    fn from(error: SqlError) -> Self {
        Self::Error(error)
    }
}

/// The plan of a query.
///
/// # Errors
/// As unsupported (0A000) what operators do not compute; errors of constant expressions of LIMIT and VALUES; the parameter whose value a plan for
/// many statements would depend on.
pub fn lower(query: &Query, columns: &Columns, environment: Environment<'_>) -> Result<LoweredQuery, NoPlan> {
    if let Purpose::ManyStatements { .. } = environment.purpose {
        check_is_for_many_sessions(&query.relation)?;
    }
    let lowering = Lowering {
        columns,
        session: environment.session.clone(),
        environment,
        read: read_columns(query),
        common_tables: RefCell::default(),
        scalars: RefCell::default(),
        operator_count: Cell::new(0),
        table_numbers: RefCell::new(CteNumbers::after(&query.relation)),
        parameters: RefCell::default(),
        value_that_matters: Cell::default(),
        forms: RefCell::default(),
        place: Cell::default(),
        is_optimistic: Cell::new(false),
        is_row_wise: is_row_wise(&query.relation),
        memory: planning_memory(&query.relation),
    };
    let ids: Vec<ColumnId> = query.outputs.iter().map(|output| output.column).collect();
    let lowered = lowering.with_scalars(&query.relation, &ids);
    if let Some(number) = lowering.value_that_matters.get() {
        return Err(NoPlan::ValueMatters(number));
    }
    let plan = lowered?;
    let fields = query.outputs.iter().enumerate().map(|(at, output)| {
        // Names of columns need not differ.
        Field::new(format!("c{at}"), lowering.form(output.column).data_type(), true)
    });
    Ok(LoweredQuery {
        plan,
        schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
        columns: query.outputs.iter().map(|output| (output.name.clone(), output.sql_type)).collect(),
        domains: query.outputs.iter().map(|output| columns.domain(output.column)).collect(),
        record_types: query.outputs.iter().map(|output| columns.record_type(output.column).cloned()).collect(),
        forms: query.outputs.iter().map(|output| lowering.form(output.column)).collect(),
        parameters: lowering.parameters.into_inner(),
        is_optimistic: lowering.is_optimistic.get(),
        is_row_wise: lowering.is_row_wise,
    })
}

/// What lowering a query needs from its beginning to its end.
pub(super) struct Lowering<'a> {
    pub columns: &'a Columns,
    pub session: Arc<dyn Session>,
    pub environment: Environment<'a>,
    /// The columns that the query reads.
    pub read: ColumnSet,
    /// The common table expressions that may be read.
    pub common_tables: RefCell<HashMap<CteId, CommonTable>>,
    /// The plans of the scalar subqueries of the innermost query, by their columns.
    scalars: RefCell<Vec<(ColumnId, Plan)>>,
    operator_count: Cell<usize>,
    /// Numbers of common tables that the query does not have.
    table_numbers: RefCell<CteNumbers>,
    /// The plan's parameters so far.
    pub parameters: RefCell<Vec<PlanParameter>>,
    /// A parameter of the query whose value the plan would depend on.
    pub value_that_matters: Cell<Option<usize>>,
    /// The forms of columns that are not those of their types.
    pub forms: RefCell<HashMap<ColumnId, Form>>,
    /// The place of the operator that is being lowered.
    pub place: Cell<Place>,
    pub is_optimistic: Cell<bool>,
    /// Whether the order in which expressions are computed matters.
    pub is_row_wise: bool,
    /// What the plan's constants are counted under.
    pub memory: LimitedMemory,
}

impl Lowering<'_> {
    /// The plan of a relation with these columns, and of its scalar subqueries before it.
    pub(super) fn with_scalars(&self, relation: &Relation, columns: &[ColumnId]) -> Result<Plan, SqlError> {
        let ordered = || {
            let plan = self.ordered_columns(relation, columns)?;
            Ok(Input { plan, columns: columns.to_vec() })
        };
        self.with_own_scalars(ordered).map(|input| input.plan)
    }

    /// What is lowered, and its scalar subqueries before it.
    pub(super) fn with_own_scalars(&self, lower: impl FnOnce() -> Result<Input, SqlError>) -> Result<Input, SqlError> {
        let around = self.scalars.take();
        let lowered = lower();
        let subqueries = self.scalars.replace(around);
        let Input { plan, columns } = lowered?;
        if subqueries.is_empty() {
            return Ok(Input { plan, columns });
        }
        let subqueries = subqueries.into_iter().map(|(_, plan)| plan).collect();
        Ok(Input { plan: Plan::WithScalars { subqueries, input: Box::new(plan) }, columns })
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

    /// A scalar subquery, computed before the query: its number. A subquery that is lowered twice is computed once.
    pub(super) fn add_scalar(&self, relation: &Relation, column: ColumnId) -> Result<usize, SqlError> {
        if let Some(known) = self.scalars.borrow().iter().position(|(known, _)| *known == column) {
            return Ok(known);
        }
        let plan = self.at_place(Place::before_all(), || self.with_scalars(relation, &[column]))?;
        let mut scalars = self.scalars.borrow_mut();
        scalars.push((column, plan));
        Ok(scalars.len() - 1)
    }

    /// The number of a further common table.
    pub(super) fn add_common_table(&self) -> LoweredCte {
        LoweredCte(self.table_numbers.borrow_mut().add().0)
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

impl NoPlan {
    /// As an error of the query.
    pub fn into_error(self) -> SqlError {
        match self {
            Self::Error(error) => error,
            Self::ValueMatters(number) => {
                SqlError::unsupported(format!("the plan depends on the value of parameter {}", number + 1))
            }
        }
    }
}
