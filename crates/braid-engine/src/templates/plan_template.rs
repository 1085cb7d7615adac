//! A plan for many statements: the plan with its parameters, and the guards under which it is right for a statement.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::datatypes::SchemaRef;
use braid_base::TableId;
use braid_exec::plan::Plan;
use braid_exec::runtime::pipeline::Source;
use braid_sql::functions::SessionFacts;
use braid_storage::{Catalog, CommonScale, Scalar, TableDef};

use super::expression_binding::ExpressionBinding;
use super::hole_value::HoleType;
use crate::bound_parameters::BoundParameters;
use crate::sent_columns::ShownColumns;
use crate::statement::Constant;

/// A table that has grown or shrunk by this factor gets a plan of its new size.
const ROWS_FACTOR_MAX: u64 = 4;

/// Rows of all tables of a plan that is run at once: some tens of microseconds.
const TINY_ROWS_MAX: u64 = 4096;

/// Differences of so many rows do not matter: one chunk's vector.
const ROWS_EQUAL: u64 = 1024;

/// Bytes of what every plan has: itself, and what it keeps of the session that planned it.
const PLAN_BYTES: usize = 5 << 10;

/// Bytes of operators and expressions, for each byte of their description.
const BYTES_PER_DESCRIBED: usize = 6;

/// Bytes of a hole: its guard, its value, what is computed from it.
const HOLE_BYTES: usize = 300;

/// Bytes of a column in both schemas.
const COLUMN_BYTES: usize = 400;

/// The parameters of a statement, by their numbers in the plan.
pub(crate) type ParameterRow = Vec<Option<Scalar>>;

/// A plan with the parameters of a statement.
#[derive(Clone, Debug)]
pub(crate) struct BoundTemplate {
    /// The plan.
    pub template: Arc<PlanTemplate>,
    /// The number of its text template.
    pub text_number: u64,
    /// The parameters.
    pub row: ParameterRow,
}

/// What must be true of a hole's constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// It is this one, which is part of the plan.
    Is(Constant),
    /// It is of this type, and equals the constant of an earlier hole if one is named.
    Varies { hole_type: HoleType, equals: Option<usize> },
}

/// A plan with parameters, and its guards.
#[derive(Debug)]
pub(crate) struct PlanTemplate {
    /// A number that no other plan of the process has had.
    pub number: u64,
    /// What must be true of each hole.
    pub guards: Vec<Guard>,
    /// How a statement computes the plan's parameters.
    pub binding: ExpressionBinding,
    /// The plan, [`without_rows`]: a template that waits for its next statement keeps no version of a table.
    pub plan: Plan,
    /// Whether it may fail because 128 bits are too narrow for its numerics, before it returns a row. The statement is then planned anew.
    pub is_optimistic: bool,
    /// The definitions of the tables that it reads: what names, `*` and keys meant.
    pub definitions: Vec<Arc<TableDef>>,
    /// The tables that it reads, with their numbers of rows when it was planned.
    pub tables: Vec<(TableId, u64)>,
    /// Which numerics without a precision were integers when it was planned, in those of its tables that have such columns.
    pub common_scales: Vec<(TableId, Arc<[Option<CommonScale>]>)>,
    /// The snapshot that it was planned on.
    pub planned_on: u64,
    /// Its columns as the operators make them.
    pub physical_schema: SchemaRef,
    /// Its columns as the client sees them.
    pub shown: ShownColumns,
    /// Bytes that all of this is estimated to take ([`estimated_bytes`]).
    pub estimated_bytes: usize,
}

/// The number of the next plan.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

/// A number for a plan.
pub(crate) fn next_number() -> u64 {
    NEXT_NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// Bytes that a template with this plan takes: 7 kB for a look-up in a table, 13 kB for a join of six tables. An operator has a line of
/// its own in the description of a plan, and an expression a word, so that larger plans have longer descriptions. The test
/// `template_memory` of `braid-testkit` compares this with what is allocated.
pub(crate) fn estimated_bytes(plan: &Plan, hole_count: usize, column_count: usize) -> usize {
    let mut described = DescriptionLength(0);
    // Counting does not fail.
    let _ = plan.describe(0, &mut described);
    PLAN_BYTES + described.0 * BYTES_PER_DESCRIBED + hole_count * HOLE_BYTES + column_count * COLUMN_BYTES
}

/// Counts the bytes of a text.
struct DescriptionLength(usize);

impl fmt::Write for DescriptionLength {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

/// The plan, whose sources have no rows.
pub(crate) fn without_rows(mut plan: Plan) -> Plan {
    let mut emptied = |source: &Arc<dyn Source>| {
        let empty = source.scan().map(|(version, _)| {
            let empty = source.at_version(&Arc::new(version.without_chunks()));
            empty.expect("a version without chunks is of the same definition and scales")
        });
        Ok::<_, Infallible>(empty)
    };
    let Ok(()) = plan.map_sources(&mut emptied);
    plan
}

impl PlanTemplate {
    /// Whether it is a plan for `snapshot`: its tables are there and are defined as they were, with about as many rows as when it was
    /// planned, and the same numerics are integers.
    pub fn suits(&self, snapshot: &Catalog) -> bool {
        self.planned_on == snapshot.sequence()
            || self.is_defined_as_in(snapshot) && self.has_rows_as_in(snapshot) && self.has_scales_as_in(snapshot)
    }

    fn is_defined_as_in(&self, snapshot: &Catalog) -> bool {
        self.definitions.iter().all(|planned| {
            snapshot.by_id(planned.id).is_some_and(|now| Arc::ptr_eq(&now.def, planned) || now.def == *planned)
        })
    }

    fn has_rows_as_in(&self, snapshot: &Catalog) -> bool {
        self.tables.iter().all(|(table, planned_rows)| match snapshot.by_id(*table) {
            None => false,
            Some(version) => {
                let (fewer, more) = (version.row_count().min(*planned_rows), version.row_count().max(*planned_rows));
                more / ROWS_FACTOR_MAX <= fewer + ROWS_EQUAL
            }
        })
    }

    fn has_scales_as_in(&self, snapshot: &Catalog) -> bool {
        let is_as_planned = |(table, planned): &(TableId, _)| {
            snapshot.by_id(*table).is_some_and(|version| version.common_scales() == planned)
        };
        self.common_scales.iter().all(is_as_planned)
    }

    /// Whether it reads so few rows that it is done before a pass could start.
    pub fn is_tiny(&self) -> bool {
        self.tables.iter().map(|(_, rows)| rows).sum::<u64>() <= TINY_ROWS_MAX
    }

    /// The plan on the versions of `snapshot`; `None` if a table is gone, is defined otherwise, or has values of other types.
    pub fn on(&self, snapshot: &Catalog) -> Option<Plan> {
        if !self.is_defined_as_in(snapshot) {
            return None;
        }
        self.plan.at_versions(|table| snapshot.by_id(table).cloned())
    }

    /// Number of holes whose constants vary.
    pub fn varying_count(&self) -> usize {
        self.guards.iter().filter(|guard| matches!(guard, Guard::Varies { .. })).count()
    }

    /// Whether the plan is right for a statement with these constants.
    pub fn includes(&self, constants: &[Constant]) -> bool {
        let is_met = |(guard, constant): (&Guard, &Constant)| match guard {
            Guard::Is(expected) => expected == constant,
            Guard::Varies { hole_type, equals } => {
                let is_of_type = HoleType::of(constant).is_some_and(|own| hole_type.includes(own));
                is_of_type && equals.is_none_or(|earlier| constants[earlier] == *constant)
            }
        };
        self.guards.len() == constants.len() && self.guards.iter().zip(constants).all(is_met)
    }

    /// The parameters of a statement that the plan includes; `None` if one cannot be computed. The statement is then planned with
    /// its constants, which decides whether it fails.
    pub fn bind(
        &self,
        constants: &[Constant],
        params: &BoundParameters,
        session: &dyn SessionFacts,
    ) -> Option<ParameterRow> {
        self.binding.bind(constants, params.values(), session)
    }
}
