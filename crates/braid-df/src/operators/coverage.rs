//! The translation of logical plans into plans of Braid's operators.
//!
//! DataFusion's optimiser has processed the logical plan before: predicates are pushed down, subqueries are joins, and unread
//! columns are removed. This module decides the order of joins, their build sides, and which expressions each operator
//! computes natively.

use std::sync::Arc;

use braid_base::ColumnId;
use braid_exec::Expression;
use braid_exec::plan::AggregationSpec;
use braid_exec::plan::Plan;
use braid_exec::plan::{SortKey, SortSpec};
use braid_exec::scan::single_row::SingleRow;
use braid_exec::scan::table_source::TableSource;
use braid_plan::optimization::estimate::{Estimate, SELECTIVITY_OF_GROUPS, SELECTIVITY_UNKNOWN};
use braid_scan::ScanSpec;
use datafusion::catalog::Session;
use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DataFusionError};
use datafusion::logical_expr::{
    Distinct, Expr, FetchType, Limit, LogicalPlan, Projection, SkipType, Sort, Subquery, TableScan, Union,
};

use super::expression_translation::{is_carried, is_same_kind};
use super::template_plan::{TemplateParameter, TemplatePlan};
use crate::bounded::is_bounded_call;
use crate::braid_table::{BraidTable, split_filters};
use crate::scan_exec::scan_text;

/// Deepest expression: what is done to them recurses, and DataFusion takes care of deeper ones.
const EXPRESSION_DEPTH_MAX: usize = 200;

/// Longest text in the plan of a template. Operators that read a table alone hold back batches in which it is repeated.
const CONSTANT_BYTES_MAX: usize = 4096;

/// Why Braid's operators do not cover a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncovered(pub String);

pub(super) fn uncovered(reason: impl Into<String>) -> Uncovered {
    Uncovered(reason.into())
}

impl From<DataFusionError> for Uncovered {
    fn from(error: DataFusionError) -> Self {
        Self(error.to_string())
    }
}

/// A plan and what is thought of its rows.
#[derive(Clone, Debug)]
pub(super) struct Covered {
    pub(super) plan: Plan,
    pub(super) estimate: Estimate,
}

/// The translation of one plan.
pub struct Coverage<'a> {
    pub(super) session: &'a dyn Session,
    /// Subqueries that stand for one value, with the plans that they are.
    scalars: Vec<(Subquery, Plan)>,
    /// Graphs of joins that have been ordered so far.
    pub(super) ordered_graphs: u64,
    /// The parameters of a template's plan, each with the expression that computes it.
    pub(super) parameters: Vec<(Expr, TemplateParameter)>,
}

/// Translates a plan.
///
/// # Errors
/// The reason why it is not covered.
pub fn cover(session: &dyn Session, logical: &LogicalPlan) -> Result<Plan, Uncovered> {
    let mut parameters = Vec::new();
    let plan = cover_with(session, logical, &mut parameters)?;
    match parameters.first() {
        None => Ok(plan),
        Some((expr, _)) => Err(uncovered(format!("the parameter {expr} without a value"))),
    }
}

/// Translates a plan with placeholders (see [`TemplatePlan`]).
///
/// # Errors
/// The reason why it is not covered.
pub fn cover_template(session: &dyn Session, logical: &LogicalPlan) -> Result<TemplatePlan, Uncovered> {
    check_calls(logical)?;
    let mut parameters = Vec::new();
    let plan = cover_with(session, logical, &mut parameters)?;
    Ok(TemplatePlan { plan, parameters: parameters.into_iter().map(|(_, parameter)| parameter).collect() })
}

fn cover_with(
    session: &dyn Session,
    logical: &LogicalPlan,
    parameters: &mut Vec<(Expr, TemplateParameter)>,
) -> Result<Plan, Uncovered> {
    let known = std::mem::take(parameters);
    let mut coverage = Coverage { session, scalars: Vec::new(), ordered_graphs: 0, parameters: known };
    let covered = coverage.plan(logical)?;
    *parameters = coverage.parameters;
    let subqueries: Vec<Plan> = coverage.scalars.into_iter().map(|(_, plan)| plan).collect();
    if subqueries.is_empty() {
        return Ok(covered.plan);
    }
    Ok(Plan::WithScalars { subqueries, input: Box::new(covered.plan) })
}

/// Whether it is a text of more than [`CONSTANT_BYTES_MAX`].
fn is_long_constant(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(value, _) if value.try_as_str().flatten().is_some_and(|text| text.len() > CONSTANT_BYTES_MAX))
}

/// Refuses functions that count what they make in the memory of one statement, functions whose value differs each time, and
/// long constants.
fn check_calls(logical: &LogicalPlan) -> Result<(), Uncovered> {
    let mut refusal = None;
    logical.apply_with_subqueries(|plan| {
        plan.apply_expressions(|expr| {
            expr.apply(|expr| {
                if is_bounded_call(expr) {
                    refusal.get_or_insert_with(|| format!("{expr}, whose result can be larger than its arguments"));
                } else if is_long_constant(expr) {
                    refusal.get_or_insert_with(|| "a constant is long, and would be in every row".to_owned());
                } else if expr.is_volatile_node() {
                    refusal.get_or_insert_with(|| format!("{expr}, which is volatile"));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    refusal.map_or(Ok(()), |reason| Err(uncovered(reason)))
}

impl Coverage<'_> {
    pub(super) fn plan(&mut self, logical: &LogicalPlan) -> Result<Covered, Uncovered> {
        for field in logical.schema().fields() {
            if !is_carried(field.data_type()) {
                return Err(uncovered(format!("column {} of type {}", field.name(), field.data_type())));
            }
        }
        for expr in logical.expressions() {
            if is_deep(&expr)? {
                return Err(uncovered(format!("expressions nested deeper than {EXPRESSION_DEPTH_MAX}")));
            }
        }
        match logical {
            LogicalPlan::TableScan(scan) => self.scan(scan),
            LogicalPlan::Filter(filter) => {
                let input = self.plan(&filter.input)?;
                self.filtered(input, &filter.predicate, filter.input.schema())
            }
            LogicalPlan::Projection(projection) => self.projection(projection),
            LogicalPlan::SubqueryAlias(alias) => self.plan(&alias.input),
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate),
            LogicalPlan::Join(join) => self.join(join),
            LogicalPlan::Sort(sort) => self.sort(sort),
            LogicalPlan::Limit(limit) => self.limit(limit),
            LogicalPlan::Distinct(Distinct::All(input)) => self.distinct(input),
            LogicalPlan::Union(union) => self.union(union),
            LogicalPlan::EmptyRelation(empty) if empty.produce_one_row && empty.schema.fields().is_empty() => {
                let plan = Plan::Source { source: Arc::new(SingleRow), column_count: 0 };
                Ok(Covered { plan, estimate: Estimate { rows: 1.0, distinct: Vec::new(), explodes: false } })
            }
            other => Err(uncovered(format!("the operator {}", other.display()))),
        }
    }

    fn scan(&mut self, scan: &TableScan) -> Result<Covered, Uncovered> {
        let provider = source_as_provider(&scan.source)?;
        let table =
            provider.downcast_ref::<BraidTable>().ok_or_else(|| uncovered(format!("table {}", scan.table_name)))?;
        let (version, def) = (table.version().clone(), &table.version().def);
        let (predicates, kept) = split_filters(&scan.filters, def);
        let projection = || (0..def.columns.len()).collect();
        let mut columns: Vec<usize> = scan.projection.clone().unwrap_or_else(projection);
        let wanted = columns.len();
        // Filters without a translation for encoded data may read columns that the scan does not show.
        for filter in &kept {
            for column in filter.column_refs() {
                let (id, _) = def.column(&column.name).ok_or_else(|| uncovered(format!("column {column}")))?;
                if !columns.contains(&usize::from(id.0)) {
                    columns.push(usize::from(id.0));
                }
            }
        }
        let schema = scan.source.schema();
        let fields = columns.iter().map(|column| (Some(scan.table_name.clone()), schema.fields()[*column].clone()));
        let fields: Vec<_> = fields.collect();
        if let Some((_, field)) = fields.iter().find(|(_, field)| !is_carried(field.data_type())) {
            return Err(uncovered(format!("column {} of type {}", field.name(), field.data_type())));
        }
        let column_count = columns.len();
        let spec = ScanSpec {
            predicates,
            in_order: table.settings().in_order,
            ..ScanSpec::new(columns.into_iter().map(|column| ColumnId(column as u16)).collect())
        };
        let estimate = Estimate::of_scan(&version, &spec);
        let text = scan_text(&version, &spec);
        let source = TableSource::new(version, table.buffer().clone(), spec, text);
        let plan = Plan::Source { source: Arc::new(source), column_count };
        let mut covered = Covered { plan, estimate };
        if let Some(filter) = datafusion::logical_expr::utils::conjunction(kept) {
            let schema = DFSchema::new_with_metadata(fields, Default::default())?;
            covered = self.filtered(covered, &filter, &schema)?;
        }
        if wanted < column_count {
            covered = columns_of(covered, &(0..wanted).collect::<Vec<_>>());
        }
        match scan.fetch {
            None => Ok(covered),
            Some(fetch) => Ok(limited(covered, 0, Some(fetch as u64))),
        }
    }

    pub(super) fn filtered(
        &mut self,
        input: Covered,
        predicate: &Expr,
        schema: &DFSchema,
    ) -> Result<Covered, Uncovered> {
        let condition = self.expression(predicate, schema)?;
        let share = if is_groups(&input.plan) { SELECTIVITY_OF_GROUPS } else { SELECTIVITY_UNKNOWN };
        let estimate = input.estimate.scaled(share);
        Ok(Covered { plan: Plan::Filter { input: Box::new(input.plan), condition }, estimate })
    }

    fn projection(&mut self, projection: &Projection) -> Result<Covered, Uncovered> {
        let input = self.plan(&projection.input)?;
        let schema = projection.input.schema();
        let expressions: Result<Vec<Expression>, Uncovered> =
            projection.expr.iter().map(|expr| self.expression(expr, schema)).collect();
        Ok(projected(input, expressions?))
    }

    fn sort(&mut self, sort: &Sort) -> Result<Covered, Uncovered> {
        let mut input = self.plan(&sort.input)?;
        let schema = sort.input.schema();
        let column_count = schema.fields().len();
        let mut computed: Vec<Expression> = Vec::new();
        let mut keys = Vec::with_capacity(sort.expr.len());
        for key in &sort.expr {
            let data_type = key.expr.get_type_of(schema)?;
            if !is_carried(&data_type) {
                return Err(uncovered(format!("a sort by {data_type}")));
            }
            let column = match self.expression(&key.expr, schema)? {
                Expression::Column(column) => column,
                expression => {
                    computed.push(expression);
                    column_count + computed.len() - 1
                }
            };
            keys.push(SortKey { column, descending: !key.asc, nulls_first: key.nulls_first });
        }
        let has_computed = !computed.is_empty();
        if has_computed {
            let columns = (0..column_count).map(Expression::Column);
            input = projected(input, columns.chain(computed).collect());
        }
        let estimate = match sort.fetch {
            None => input.estimate,
            Some(fetch) => input.estimate.limited(fetch as f64),
        };
        let spec = Arc::new(SortSpec { keys, limit: sort.fetch });
        let sorted = Covered { plan: Plan::Sort { input: Box::new(input.plan), spec }, estimate };
        Ok(if has_computed { columns_of(sorted, &(0..column_count).collect::<Vec<_>>()) } else { sorted })
    }

    fn limit(&mut self, limit: &Limit) -> Result<Covered, Uncovered> {
        let input = self.plan(&limit.input)?;
        let SkipType::Literal(skip) = limit.get_skip_type()? else {
            return Err(uncovered("an OFFSET that is computed"));
        };
        let FetchType::Literal(fetch) = limit.get_fetch_type()? else {
            return Err(uncovered("a LIMIT that is computed"));
        };
        Ok(limited(input, skip as u64, fetch.map(|fetch| fetch as u64)))
    }

    fn distinct(&mut self, input: &LogicalPlan) -> Result<Covered, Uncovered> {
        let covered = self.plan(input)?;
        let keys: Vec<usize> = (0..covered.plan.column_count()).collect();
        let rows = covered.estimate.distinct_of(&keys);
        let estimate = covered.estimate.limited(rows);
        let spec = Arc::new(AggregationSpec { keys, aggregates: Vec::new() });
        Ok(Covered { plan: Plan::Aggregate { input: Box::new(covered.plan), spec }, estimate })
    }

    fn union(&mut self, union: &Union) -> Result<Covered, Uncovered> {
        let mut plans = Vec::with_capacity(union.inputs.len());
        let mut estimate: Option<Estimate> = None;
        for input in &union.inputs {
            for (field, of_union) in input.schema().fields().iter().zip(union.schema.fields()) {
                if !is_same_kind(field.data_type(), of_union.data_type()) {
                    return Err(uncovered(format!("a union of {} and {}", field.data_type(), of_union.data_type())));
                }
            }
            let Covered { plan, estimate: own } = self.plan(input)?;
            plans.push(plan);
            estimate = Some(match estimate {
                None => own,
                Some(mut all) => {
                    all.rows += own.rows;
                    all.distinct.iter_mut().zip(&own.distinct).for_each(|(all, own)| *all = all.max(*own));
                    all
                }
            });
        }
        let estimate = estimate.ok_or_else(|| uncovered("a union of nothing"))?;
        Ok(Covered { plan: Plan::Union(plans), estimate })
    }

    /// A subquery that stands for its only value.
    pub(super) fn scalar_subquery(&mut self, subquery: &Subquery) -> Result<Expression, Uncovered> {
        if !subquery.outer_ref_columns.is_empty() {
            return Err(uncovered("a correlated subquery"));
        }
        if let Some(known) = self.scalars.iter().position(|(other, _)| other == subquery) {
            return Ok(Expression::SubqueryValue(known));
        }
        let plan = cover_with(self.session, &subquery.subquery, &mut self.parameters)?;
        self.scalars.push((subquery.clone(), plan));
        Ok(Expression::SubqueryValue(self.scalars.len() - 1))
    }
}

fn is_deep(expr: &Expr) -> Result<bool, Uncovered> {
    let mut below = vec![(expr, 1)];
    while let Some((expr, depth)) = below.pop() {
        if depth > EXPRESSION_DEPTH_MAX {
            return Ok(true);
        }
        expr.apply_children(|child| {
            below.push((child, depth + 1));
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    Ok(false)
}

/// Rows with other columns.
pub(super) fn projected(input: Covered, expressions: Vec<Expression>) -> Covered {
    if expressions.len() == input.plan.column_count()
        && expressions.iter().enumerate().all(|(at, expression)| expression.as_column() == Some(at))
    {
        return input;
    }
    let distinct = |expression: &Expression| match expression.as_column() {
        Some(column) => input.estimate.distinct[column],
        None => input.estimate.rows.max(1.0),
    };
    let Estimate { rows, explodes, .. } = input.estimate;
    let estimate = Estimate { rows, distinct: expressions.iter().map(distinct).collect(), explodes };
    Covered { plan: Plan::Project { input: Box::new(input.plan), expressions }, estimate }
}

/// Some of the columns.
pub(super) fn columns_of(input: Covered, columns: &[usize]) -> Covered {
    projected(input, columns.iter().copied().map(Expression::Column).collect())
}

/// Whether rows are groups, perhaps with other columns.
fn is_groups(plan: &Plan) -> bool {
    match plan {
        Plan::Aggregate { .. } => true,
        Plan::Project { input, .. } => is_groups(input),
        _ => false,
    }
}

fn limited(input: Covered, offset: u64, limit: Option<u64>) -> Covered {
    let estimate = match limit {
        None => input.estimate,
        Some(limit) => input.estimate.limited(limit as f64),
    };
    Covered { plan: Plan::Limit { input: Box::new(input.plan), offset, limit }, estimate }
}

/// The type of an expression.
trait TypeOf {
    fn get_type_of(&self, schema: &DFSchema) -> Result<arrow::datatypes::DataType, Uncovered>;
}

impl TypeOf for Expr {
    fn get_type_of(&self, schema: &DFSchema) -> Result<arrow::datatypes::DataType, Uncovered> {
        Ok(crate::expression_types::type_of(self, schema)?)
    }
}
