//! Plans a template with Braid's own front end. Constants that vary are bound as parameters of the query; where binding or planning looks at
//! the value of one, it is pinned, and the query planned again.
//!
//! What the front end does not plan at all has a template of the other planner ([`super::template_planner`]). Which of the two describes and
//! runs a statement does not depend on whether it has a template: a statement that the front end plans only with its constants has none.

use braid_plan::lowering::{NoPlan, Numerics};
use braid_sql::binder::{VaryingKind, VaryingLiteral};
use braid_sql::{SqlError, SqlState};
use datafusion::common::ScalarValue;

use super::description::has_parameters;
use super::template_planner::{NoTemplate, guards, plan_template};
use crate::Statement;
use crate::front_end::{Constants, PlannedQuery, StatementFacts, is_left_to_the_other_planner, plan_query};
use crate::sent_columns::ShownColumns;
use crate::statement::{Constant, ScannedText};
use crate::statement_context::StatementContext;
use crate::templates::expression_binding::ExpressionBinding;
use crate::templates::generalization::{Generalization, HoleRole};
use crate::templates::hole_value::HoleType;
use crate::templates::plan_template::{Binding, PlanTemplate, Shown, estimated_bytes, next_number};

/// How often a query is planned anew with one more hole pinned.
const ATTEMPTS_MAX: usize = 64;

/// Longest text in the plan of a template: a batch may repeat it in each row.
const CONSTANT_BYTES_MAX: usize = 4096;

/// Why the front end makes no template.
enum Refused {
    /// It does not plan such statements.
    NotPlanned,
    /// It plans them with their constants only.
    NoTemplate(NoTemplate),
}

impl From<&str> for Refused {
    fn from(reason: &str) -> Self {
        Self::NoTemplate(NoTemplate(reason.to_owned()))
    }
}

/// Plans the template of a statement, whose example's constants are those of the statement.
///
/// # Errors
/// Why it has none. `general` has the holes pinned that the planner looked at.
pub(super) async fn plan_of_template(
    context: &StatementContext,
    statement: &Statement,
    params: &[ScalarValue],
    scanned: &ScannedText,
    general: &mut Generalization,
) -> Result<PlanTemplate, NoTemplate> {
    let mut own = general.clone();
    match native(context, statement, params, scanned, &mut own) {
        Ok(template) => {
            *general = own;
            Ok(template)
        }
        Err(Refused::NoTemplate(reason)) => Err(reason),
        Err(Refused::NotPlanned) => plan_template(context, statement, params, scanned, general).await,
    }
}

fn native(
    context: &StatementContext,
    statement: &Statement,
    params: &[ScalarValue],
    scanned: &ScannedText,
    general: &mut Generalization,
) -> Result<PlanTemplate, Refused> {
    let has_parameters = !params.is_empty() || has_parameters(scanned);
    if has_parameters || is_left_to_the_other_planner(context, statement.origin(), statement.size()) {
        return Err(Refused::NotPlanned);
    }
    let is_long = |constant: &Constant| matches!(constant, Constant::Text(text) if text.len() > CONSTANT_BYTES_MAX);
    for (hole, constant) in general.example().to_vec().iter().enumerate() {
        if general.roles()[hole] != HoleRole::Pinned && HoleType::of(constant).is_none() {
            general.pin(hole);
        }
    }
    if general.example().iter().any(is_long) {
        return match plan_query(context, statement, Constants::InPlace(Numerics::Optimistic)) {
            Err(NoPlan::Error(error)) if is_unsupported(&error) => Err(Refused::NotPlanned),
            _ => Err("a constant is long, and would be in every row".into()),
        };
    }
    for _ in 0..ATTEMPTS_MAX {
        let varying = varying_literals(scanned, general);
        match plan_query(context, statement, Constants::Varying(&varying)) {
            Ok(planned) => return Ok(template(context, planned, general)),
            Err(NoPlan::ValueMatters(hole)) => general.pin(hole),
            Err(NoPlan::Error(error)) if is_unsupported(&error) => {
                return match plan_query(context, statement, Constants::InPlace(Numerics::Optimistic)) {
                    Err(NoPlan::Error(error)) if is_unsupported(&error) => Err(Refused::NotPlanned),
                    _ => Err(error.message().into()),
                };
            }
            Err(NoPlan::Error(error)) => return Err(error.message().into()),
        }
    }
    Err(format!("planning looked at the values of more than {ATTEMPTS_MAX} constants").as_str().into())
}

fn is_unsupported(error: &SqlError) -> bool {
    error.state() == SqlState::FeatureNotSupported
}

/// The literals that vary. Those that were always equal have one number, that of the first of their holes.
fn varying_literals(scanned: &ScannedText, general: &Generalization) -> Vec<VaryingLiteral> {
    let of_hole = |(hole, constant): (usize, &Constant)| {
        let HoleRole::Varying(number) = general.roles()[hole] else { return None };
        let kind = match HoleType::of(constant)? {
            HoleType::Integer => VaryingKind::Integer,
            HoleType::BigInt => VaryingKind::BigInt,
            HoleType::Numeric { digits, scale } => {
                VaryingKind::Numeric { digits: digits.into(), scale: u32::from(scale.unsigned_abs()) }
            }
            HoleType::Text => VaryingKind::Text,
        };
        Some(VaryingLiteral { location: scanned.holes[hole].location, kind, number })
    };
    general.example().iter().enumerate().filter_map(of_hole).collect()
}

fn template(context: &StatementContext, planned: PlannedQuery, general: &Generalization) -> PlanTemplate {
    let PlannedQuery { query, literal_inputs } = planned;
    let snapshot = context.snapshot();
    let shown = ShownColumns::of(&query, &StatementFacts::of(context));
    let rows_of = |table| snapshot.by_id(table).map_or(0, |version| version.row_count());
    let tables = query.plan.tables().into_iter().map(|table| (table, rows_of(table))).collect();
    let guards = guards(general);
    let estimated_bytes = estimated_bytes(&query.plan, guards.len(), query.columns.len());
    let varying = general.roles().iter().zip(general.example()).map(|(role, constant)| match role {
        HoleRole::Pinned => None,
        HoleRole::Varying(_) => HoleType::of(constant),
    });
    PlanTemplate {
        number: next_number(),
        guards,
        binding: Binding::Expressions(ExpressionBinding {
            varying: varying.collect(),
            literal_inputs,
            parameters: query.parameters,
        }),
        plan: query.plan,
        is_optimistic: query.is_optimistic,
        tables,
        planned_on: snapshot.sequence(),
        physical_schema: shown.made.clone(),
        shown: Shown::Values(shown),
        estimated_bytes,
    }
}
