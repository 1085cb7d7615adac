//! Plans a template with today's planner, DataFusion's. Everything that depends on that planner is behind
//! [`plan_template`]: a parsed query and the roles of its holes in, a [`PlanTemplate`] or the reason for none out.
//!
//! 1. The query is rewritten with the constants of the example, as it is for itself.
//! 2. The constants of varying holes are marked ([`super::marked_syntax`]), and DataFusion makes a logical plan.
//! 3. The analysis sees marked literals: their types, not their values ([`crate::semantics::marked_literals`]).
//! 4. Placeholders replace them, and whole expressions of them, so that the optimiser sees no value.
//! 5. The optimised plan becomes one of Braid's operators, with parameters.
//!
//! A hole whose value was looked at in 3, and one whose literal has disappeared by 4, is pinned, and the query planned again.
//!
//! What the query asks about its session (who is connected, what time it is) is a hidden parameter: a hole behind those of the text.
//! If planning looks at its value, there is no template. The time zone is part of the template's key.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::datatypes::{Field, FieldRef, SchemaRef};
use braid_df::operators::{Formula, TemplatePlan, cover_template, is_parameter, optimize_analyzed};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DataFusionError, ScalarValue};
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use parking_lot::Mutex;

use super::constants::constant_of;
use super::marked_syntax::{Mark, MarkedHole, MarkedSyntax};
use crate::clock::Instants;
use crate::query::planner::{Planner, QueryPlan};
use crate::query::result_stream::in_zone;
use crate::query::rewrite::{Parameters, SessionFacts};
use crate::query::{QuerySource, shown_lengths};
use crate::semantics::marked_literals::{MARK_FUNCTION, ValueMatters, mark_function, replace_marked, unwrap_marks};
use crate::semantics::rewrite_expressions;
use crate::statement::{AskedFact, Constant, ScannedText};
use crate::statement_context::StatementContext;
use crate::templates::formula_binding::{FormulaBinding, PlanValue};
use crate::templates::generalization::{Generalization, HoleRole};
use crate::templates::hole_value::{HoleType, literal_of};
use crate::templates::plan_template::{Binding, Guard, PlanTemplate, Shown, estimated_bytes, next_number};
use crate::{EngineError, Statement};

/// How often a query is planned anew with one more hole pinned.
const ATTEMPTS_MAX: usize = 12;

/// Why a statement has no template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoTemplate(pub String);

/// A failed attempt.
enum Attempt {
    /// The value of this hole matters.
    Pin(usize),
    Refused(NoTemplate),
}

impl From<EngineError> for Attempt {
    fn from(error: EngineError) -> Self {
        Self::Refused(NoTemplate(error.message().to_owned()))
    }
}

impl From<DataFusionError> for Attempt {
    fn from(error: DataFusionError) -> Self {
        EngineError::from_datafusion(&error).into()
    }
}

/// Plans the template of a statement, whose example's constants are those of the statement.
///
/// # Errors
/// Why it has none. `general` has the holes pinned that the planner looked at.
pub(crate) async fn plan_template(
    context: &StatementContext,
    statement: &Statement,
    params: &[ScalarValue],
    scanned: &ScannedText,
    general: &mut Generalization,
) -> Result<PlanTemplate, NoTemplate> {
    for (hole, constant) in general.example().to_vec().iter().enumerate() {
        if general.roles()[hole] != HoleRole::Pinned && HoleType::of(constant).is_none() {
            general.pin(hole);
        }
    }
    for _ in 0..ATTEMPTS_MAX {
        match attempt(context, statement, params, scanned, general).await {
            Ok(template) => return Ok(template),
            Err(Attempt::Refused(reason)) => return Err(reason),
            Err(Attempt::Pin(hole)) => general.pin(hole),
        }
    }
    Err(NoTemplate(format!("planning looked at the values of more than {ATTEMPTS_MAX} constants")))
}

async fn attempt(
    context: &StatementContext,
    statement: &Statement,
    params: &[ScalarValue],
    scanned: &ScannedText,
    general: &mut Generalization,
) -> Result<PlanTemplate, Attempt> {
    let snapshot = context.snapshot();
    let planner = Planner::of(context).with_function(mark_function())?;
    let facts = NotedFacts { context, asked: AtomicUsize::new(0), noted: Mutex::default() };
    let query = QuerySource::Statement.of(statement)?;
    let (mut tree, names) = planner.rewritten(statement, query, Parameters::Values(params), &facts).await?;
    let facts = facts.constants().ok_or_else(asks_about_session)?;
    let is_constants_place = |asked: &AskedFact| scanned.holes.iter().any(|hole| hole.location == asked.location);
    if facts.iter().any(|(asked, _)| is_constants_place(asked)) {
        return Err(asks_about_session());
    }
    // Nobody but the marking may call the mark function, which only these planners know.
    if scanned.template.contains(MARK_FUNCTION) {
        return Err(Attempt::Refused(NoTemplate(format!("it has the name {MARK_FUNCTION}"))));
    }
    let holes = MarkedHole::all(&scanned.holes, general, &facts);
    let MarkedSyntax { marks, may_vary, is_there } = MarkedSyntax::mark(&mut tree, &holes);
    for hole in (0..holes.len()).filter(|hole| !may_vary[*hole]) {
        match holes[hole].is_constant {
            true => general.pin(hole),
            false => return Err(asks_about_session()),
        }
    }
    // A constant may have been dropped because it was equal to this one, which need not be so in other statements.
    let is_twin = |mark: &Mark| {
        let mut dropped = (0..holes.len()).filter(|hole| !is_there[*hole]);
        dropped.any(|hole| holes[hole].constant == holes[mark.hole].constant)
    };
    if marks.iter().any(is_twin) {
        let reason = "a constant that varies is equal to one that is not part of the plan".to_owned();
        return Err(Attempt::Refused(NoTemplate(reason)));
    }
    let made = plan_marked(&planner, tree, names, &marks, &holes).await;
    let GeneralPlan { values, derived, plan, physical_schema, schema, lengths } =
        made.map_err(|failed| match failed {
            Attempt::Pin(hole) if !holes[hole].is_constant => asks_about_session(),
            failed => failed,
        })?;
    let facts = facts.into_iter().map(|(asked, constant)| Some((asked.fact, HoleType::of(&constant)?)));
    let facts = facts.collect::<Option<_>>().ok_or_else(asks_about_session)?;
    let rows_of = |table| snapshot.by_id(table).map_or(0, |version| version.row_count());
    let tables = plan.plan.tables().into_iter().map(|table| (table, rows_of(table))).collect();
    let (number, planned_on) = (next_number(), snapshot.sequence());
    let guards = guards(general);
    let estimated_bytes = estimated_bytes(&plan.plan, guards.len(), schema.fields().len());
    let TemplatePlan { plan, parameters } = plan;
    Ok(PlanTemplate {
        number,
        guards,
        binding: Binding::Formulas(FormulaBinding { facts, values, derived, parameters }),
        plan,
        is_optimistic: false,
        tables,
        planned_on,
        physical_schema,
        shown: Shown::Padded { schema, lengths },
        estimated_bytes,
    })
}

fn asks_about_session() -> Attempt {
    Attempt::Refused(NoTemplate("planning looked at what it asks about its session or the time".to_owned()))
}

/// The part of a template that does not depend on the statements seen.
struct GeneralPlan {
    values: Vec<PlanValue>,
    derived: Vec<Formula>,
    plan: TemplatePlan,
    physical_schema: SchemaRef,
    schema: SchemaRef,
    lengths: Vec<Option<u32>>,
}

/// Plans a query with marks.
async fn plan_marked(
    planner: &Planner,
    tree: SqlStatement,
    names: Vec<Option<String>>,
    marks: &[Mark],
    holes: &[MarkedHole],
) -> Result<GeneralPlan, Attempt> {
    let logical = pinning(marks, marked_plan(planner, tree).await)?;
    let plan = QueryPlan::new(logical, names);
    let lengths = shown_lengths(&plan.logical)?;
    let options = planner.state().config_options();
    let analyzed =
        pinning(marks, planner.state().analyzer().execute_and_check(plan.logical.clone(), options, |_, _| {}))?;
    let (with_placeholders, values) = placeholders(analyzed, marks, holes)?;
    if let Some(unseen) = marks.iter().find(|mark| !values.iter().any(|value| value.hole == mark.hole)) {
        return Err(Attempt::Pin(unseen.hole));
    }
    let (with_placeholders, derived) = with_derived_values(planner.state(), with_placeholders, values.len())?;
    let optimized = optimize_analyzed(planner.state(), with_placeholders)?;
    let covered = cover_template(planner.state(), &optimized)
        .map_err(|reason| Attempt::Refused(NoTemplate(format!("Braid's operators do not cover {}", reason.0))))?;
    let physical_schema = optimized.schema().inner().clone();
    let schema = in_zone(&plan.rename(&physical_schema), &planner.zone_name());
    if schema.fields().iter().any(|field| field.name().contains(MARK_FUNCTION)) {
        let reason = "a constant is part of a column's name".to_owned();
        return Err(Attempt::Refused(NoTemplate(reason)));
    }
    Ok(GeneralPlan { values, derived, plan: covered, physical_schema, schema, lengths })
}

/// The logical plan of marked syntax, with marked literals.
async fn marked_plan(planner: &Planner, tree: SqlStatement) -> Result<LogicalPlan, DataFusionError> {
    unwrap_marks(planner.logical(tree).await?)
}

/// A planning step's result; a step that looked at a value pins its hole.
fn pinning<T>(marks: &[Mark], result: Result<T, DataFusionError>) -> Result<T, Attempt> {
    result.map_err(|error| match ValueMatters::of(&error) {
        Some(mark) => Attempt::Pin(marks[mark].hole),
        None => error.into(),
    })
}

/// The plan with placeholders in place of its marked literals, and what they stand for.
fn placeholders(
    plan: LogicalPlan,
    marks: &[Mark],
    holes: &[MarkedHole],
) -> Result<(LogicalPlan, Vec<PlanValue>), Attempt> {
    let mut values: Vec<PlanValue> = Vec::new();
    let mut misread = None;
    let plan = replace_marked(plan, |mark, literal| {
        let Mark { hole, reading } = marks[mark].clone();
        let data_type = literal.data_type();
        if literal_of(&holes[hole].constant, &reading, &data_type).as_ref() != Some(&literal) {
            misread = Some(hole);
        }
        let value = PlanValue { hole, reading, data_type: data_type.clone() };
        let number = values.iter().position(|known| *known == value).unwrap_or_else(|| {
            values.push(value);
            values.len() - 1
        });
        Ok(placeholder(number, Arc::new(Field::new("", data_type, true))))
    })?;
    match misread {
        Some(hole) => Err(Attempt::Pin(hole)),
        None => Ok((plan, values)),
    }
}

/// The placeholder of the value at a position.
fn placeholder(position: usize, field: FieldRef) -> Expr {
    Expr::Placeholder(Placeholder::new_with_field(format!("${}", position + 1), Some(field)))
}

/// The plan with one placeholder for each expression of placeholders, and how these values are computed. The optimiser would
/// make columns of such expressions where they occur twice. `count` values are there already.
fn with_derived_values(
    state: &SessionState,
    plan: LogicalPlan,
    count: usize,
) -> Result<(LogicalPlan, Vec<Formula>), Attempt> {
    let mut known: Vec<Expr> = Vec::new();
    let mut formulas = Vec::new();
    let plan = rewrite_expressions(plan, |expr, _| {
        expr.transform_down(|expr| {
            if matches!(expr, Expr::Placeholder(_) | Expr::Alias(_)) || !is_parameter(&expr) {
                return Ok(Transformed::no(expr));
            }
            // Its metadata say how a quotient is shown.
            let (_, field) = expr.to_field(&DFSchema::empty())?;
            let field = Arc::new(field.as_ref().clone().with_name("").with_nullable(true));
            let number = match known.iter().position(|known| *known == expr) {
                Some(number) => number,
                None => {
                    formulas.push(Formula::new(state, &expr)?);
                    known.push(expr);
                    known.len() - 1
                }
            };
            Ok(Transformed::new(placeholder(count + number, field), true, TreeNodeRecursion::Jump))
        })
    })?;
    Ok((plan, formulas))
}

/// The guards of a plan for all that the generalization includes.
pub(super) fn guards(general: &Generalization) -> Vec<Guard> {
    let guard = |(hole, (role, constant)): (usize, (&HoleRole, &Constant))| match role {
        HoleRole::Pinned => Guard::Is(constant.clone()),
        HoleRole::Varying(class) => match HoleType::of(constant) {
            Some(hole_type) => Guard::Varies { hole_type, equals: (*class != hole).then_some(*class) },
            None => Guard::Is(constant.clone()),
        },
    };
    general.roles().iter().zip(general.example()).enumerate().map(guard).collect()
}

/// What a statement asks about its session while it is rewritten.
struct NotedFacts<'a> {
    context: &'a StatementContext,
    /// How often it has asked.
    asked: AtomicUsize,
    /// The answers that stand in the query.
    noted: Mutex<Vec<AskedFact>>,
}

impl NotedFacts<'_> {
    fn count(&self) -> &StatementContext {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.context
    }

    /// Each answer in the query, as a constant; `None` if some is not a literal, or its place is not known.
    fn constants(self) -> Option<Vec<(AskedFact, Constant)>> {
        let noted = self.noted.into_inner();
        let is_complete = noted.len() == self.asked.into_inner();
        let constant = |asked: AskedFact| {
            let has_place = asked.location.line > 0;
            let constant = constant_of(self.context, &asked.fact).filter(|_| has_place)?;
            Some((asked, constant))
        };
        noted.into_iter().map(constant).collect::<Option<_>>().filter(|_| is_complete)
    }
}

impl SessionFacts for NotedFacts<'_> {
    fn user(&self) -> &str {
        self.count().user()
    }

    fn session_id(&self) -> i32 {
        self.count().session_id()
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.count().setting(name)
    }

    fn instants(&self) -> Instants {
        self.count().instants()
    }

    fn note(&self, asked: AskedFact) {
        self.noted.lock().push(asked);
    }
}
