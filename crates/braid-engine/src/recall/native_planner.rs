//! Plans a template with Braid's own front end. Constants that vary are bound as parameters of the query; where binding or planning looks at
//! the value of one, it is pinned, and the query planned again.
//!
//! What the front end does not plan at all has a template of the other planner ([`super::template_planner`]). Which of the two describes and
//! runs a statement does not depend on whether it has a template: a statement that the front end plans only with its constants has none.

use braid_plan::lowering::{NoPlan, Numerics};
use braid_sql::binder::{VaryingKind, VaryingLiteral};
use braid_sql::{SqlError, SqlState, SqlType, Value};

use super::template_planner::{NoTemplate, guards, plan_template};
use crate::Statement;
use crate::bound_parameters::BoundParameters;
use crate::front_end::{
    Constants, Literals, NotPlanned, PlannedQuery, StatementFacts, is_left_to_the_other_planner, plan_query,
};
use crate::sent_columns::ShownColumns;
use crate::statement::{Constant, HoleContent, ScannedText};
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
    params: &BoundParameters,
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
        Err(Refused::NotPlanned) => match params.scalars() {
            Ok(scalars) => plan_template(context, statement, scalars, scanned, general).await,
            Err(error) => Err(NoTemplate(error.message().to_owned())),
        },
    }
}

fn native(
    context: &StatementContext,
    statement: &Statement,
    params: &BoundParameters,
    scanned: &ScannedText,
    general: &mut Generalization,
) -> Result<PlanTemplate, Refused> {
    let Some((types, values)) = params.known() else { return Err(Refused::NotPlanned) };
    if is_left_to_the_other_planner(context, statement.size()) {
        return Err(Refused::NotPlanned);
    }
    let types: Vec<Option<SqlType>> = types.iter().copied().map(Some).collect();
    // Where there are none, the text may name none.
    let parameter_types = Some(&types[..]).filter(|types| !types.is_empty());
    let in_place: Vec<Option<Value>> = values.iter().cloned().map(Some).collect();
    let with_constants =
        Constants { parameter_types, parameter_values: &in_place, literals: Literals::InPlace(Numerics::Optimistic) };
    let is_long = |constant: &Constant| matches!(constant, Constant::Text(text) if text.len() > CONSTANT_BYTES_MAX);
    for (hole, constant) in general.example().to_vec().iter().enumerate() {
        if general.roles()[hole] != HoleRole::Pinned && HoleType::of(constant).is_none() {
            general.pin(hole);
        }
    }
    if general.example().iter().any(is_long) {
        return match plan_query(context, statement, with_constants) {
            Err(NotPlanned::Left(NoPlan::Error(error))) if is_unsupported(&error) => Err(Refused::NotPlanned),
            _ => Err("a constant is long, and would be in every row".into()),
        };
    }
    for _ in 0..ATTEMPTS_MAX {
        let varying = varying_literals(scanned, general, types.len());
        let pinned = pinned_parameters(scanned, general, values);
        let constants = Constants { parameter_types, parameter_values: &pinned, literals: Literals::Varying(&varying) };
        match plan_query(context, statement, constants) {
            // Parameters are computed on the session's thread, which a timeout or a cancel does not reach.
            Ok(planned) if planned.query.parameters.iter().any(|parameter| parameter.expression.may_take_long()) => {
                return Err("its constants may take long to compute".into());
            }
            Ok(planned) => return Ok(template(context, planned, scanned, general)),
            Err(NotPlanned::Left(NoPlan::ValueMatters(number))) => match number.checked_sub(types.len()) {
                Some(hole) => general.pin(hole),
                None => holes_of(scanned, number).for_each(|hole| general.pin(hole)),
            },
            Err(NotPlanned::Left(NoPlan::Error(error))) if is_unsupported(&error) => {
                return match plan_query(context, statement, with_constants) {
                    Err(NotPlanned::Left(NoPlan::Error(error))) if is_unsupported(&error) => Err(Refused::NotPlanned),
                    _ => Err(error.message().into()),
                };
            }
            Err(NotPlanned::Left(NoPlan::Error(error)) | NotPlanned::Refused(error)) => {
                return Err(error.message().into());
            }
        }
    }
    Err(format!("planning looked at the values of more than {ATTEMPTS_MAX} constants").as_str().into())
}

fn is_unsupported(error: &SqlError) -> bool {
    error.state() == SqlState::FeatureNotSupported
}

/// The holes in which a parameter stands.
fn holes_of(scanned: &ScannedText, parameter: usize) -> impl Iterator<Item = usize> {
    let holes = scanned.holes.iter().enumerate();
    holes.filter_map(move |(hole, of)| (of.content == HoleContent::Parameter(parameter)).then_some(hole))
}

/// The values of the parameters that the plan has in their places.
fn pinned_parameters(scanned: &ScannedText, general: &Generalization, values: &[Value]) -> Vec<Option<Value>> {
    let is_pinned = |number: usize| holes_of(scanned, number).any(|hole| general.roles()[hole] == HoleRole::Pinned);
    values.iter().enumerate().map(|(number, value)| is_pinned(number).then(|| value.clone())).collect()
}

/// The literals that vary. Those that were always equal have one number: after those of the statement's own parameters, that of the first of
/// their holes.
fn varying_literals(scanned: &ScannedText, general: &Generalization, parameter_count: usize) -> Vec<VaryingLiteral> {
    let is_literal = |hole: usize| matches!(scanned.holes[hole].content, HoleContent::Constant(_));
    let of_hole = |(hole, constant): (usize, &Constant)| {
        let class = general.roles()[hole];
        if class == HoleRole::Pinned || !is_literal(hole) {
            return None;
        }
        let first = (0..=hole).find(|other| is_literal(*other) && general.roles()[*other] == class)?;
        let number = parameter_count + first;
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

fn template(
    context: &StatementContext,
    planned: PlannedQuery,
    scanned: &ScannedText,
    general: &Generalization,
) -> PlanTemplate {
    let PlannedQuery { query, literal_inputs, .. } = planned;
    let snapshot = context.snapshot();
    let shown = ShownColumns::of(&query, &StatementFacts::of(context));
    let rows_of = |table| snapshot.by_id(table).map_or(0, |version| version.row_count());
    let tables = query.plan.tables().into_iter().map(|table| (table, rows_of(table))).collect();
    let guards = guards(general);
    let estimated_bytes = estimated_bytes(&query.plan, guards.len(), query.columns.len());
    let constants = general.roles().iter().zip(general.example()).zip(&scanned.holes);
    let varying = constants.map(|((role, constant), hole)| match (role, &hole.content) {
        (HoleRole::Varying(_), HoleContent::Constant(_)) => HoleType::of(constant),
        _ => None,
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
