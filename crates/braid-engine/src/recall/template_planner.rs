//! Plans a template. Constants that vary are bound as parameters of the query; where binding or planning looks at the value of one, it is
//! pinned, and the query planned again. A statement that is planned only with its constants has no template.

use std::convert::Infallible;
use std::sync::Arc;

use braid_base::TableId;
use braid_exec::plan::Plan;
use braid_exec::runtime::pipeline::Source;
use braid_plan::lowering::NoPlan;
use braid_sql::binder::{VaryingKind, VaryingLiteral};
use braid_sql::{SqlType, Value};
use braid_storage::CommonScale;

use crate::Statement;
use crate::bound_parameters::BoundParameters;
use crate::front_end::{Constants, Literals, PlannedQuery, StatementFacts, plan_query};
use crate::sent_columns::ShownColumns;
use crate::statement::{Constant, HoleContent, ScannedText};
use crate::statement_context::StatementContext;
use crate::templates::expression_binding::ExpressionBinding;
use crate::templates::generalization::{Generalization, HoleRole};
use crate::templates::hole_value::HoleType;
use crate::templates::plan_template::{Guard, PlanTemplate, estimated_bytes, next_number, without_rows};

/// How often a query is planned anew with one more hole pinned.
const ATTEMPTS_MAX: usize = 64;

/// Longest text in the plan of a template: a batch may repeat it in each row.
const CONSTANT_BYTES_MAX: usize = 4096;

/// Why a statement has no template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoTemplate(pub String);

impl From<&str> for NoTemplate {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

/// Plans the template of a statement, whose example's constants are those of the statement.
///
/// # Errors
/// Why it has none. `general` has the holes pinned that the planner looked at.
pub(super) fn plan_template(
    context: &StatementContext,
    statement: &Statement,
    params: &BoundParameters,
    scanned: &ScannedText,
    general: &mut Generalization,
) -> Result<PlanTemplate, NoTemplate> {
    if let Err(error) = statement.size().check_for_planning() {
        return Err(error.message().into());
    }
    let types: Vec<Option<SqlType>> = params.types().iter().copied().map(Some).collect();
    // Where there are none, the text may name none.
    let parameter_types = Some(&types[..]).filter(|types| !types.is_empty());
    let is_long = |constant: &Constant| matches!(constant, Constant::Text(text) if text.len() > CONSTANT_BYTES_MAX);
    if general.example().iter().any(is_long) {
        return Err("a constant is long, and would be in every row".into());
    }
    for (hole, constant) in general.example().to_vec().iter().enumerate() {
        if general.roles()[hole] != HoleRole::Pinned && HoleType::of(constant).is_none() {
            general.pin(hole);
        }
    }
    for _ in 0..ATTEMPTS_MAX {
        let varying = varying_literals(scanned, general, types.len());
        let pinned = pinned_parameters(scanned, general, params.values());
        let constants = Constants { parameter_types, parameter_values: &pinned, literals: Literals::Varying(&varying) };
        match plan_query(context, statement, constants) {
            // Parameters are computed on the session's thread, which a timeout or a cancel does not reach.
            Ok(planned) if planned.query.parameters.iter().any(|parameter| parameter.expression.may_take_long()) => {
                return Err("its constants may take long to compute".into());
            }
            Ok(PlannedQuery { access: Err(error), .. }) => return Err(error.message().into()),
            Ok(planned) if reads_temporary(context, &planned) => return Err("it reads a temporary table".into()),
            Ok(planned) => return Ok(template(context, planned, scanned, general)),
            Err(NoPlan::ValueMatters(number)) => match number.checked_sub(types.len()) {
                Some(hole) => general.pin(hole),
                None => holes_of(scanned, number).for_each(|hole| general.pin(hole)),
            },
            Err(NoPlan::Error(error)) => return Err(error.message().into()),
        }
    }
    Err(format!("planning looked at the values of more than {ATTEMPTS_MAX} constants").as_str().into())
}

/// Whether a query reads a table that only its session has: no text that names one comes here.
fn reads_temporary(context: &StatementContext, planned: &PlannedQuery) -> bool {
    let snapshot = context.snapshot();
    planned.tables.iter().any(|table| snapshot.is_temporary(table.schema))
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
    let PlannedQuery { query, literal_inputs, tables: definitions, .. } = planned;
    let snapshot = context.snapshot();
    let shown = ShownColumns::of(&query, &StatementFacts::of(context));
    let rows_of = |table| snapshot.by_id(table).map_or(0, |version| version.row_count());
    let tables = query.plan.tables().into_iter().map(|table| (table, rows_of(table))).collect();
    let common_scales = common_scales(query.plan.clone());
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
        binding: ExpressionBinding { varying: varying.collect(), literal_inputs, parameters: query.parameters },
        plan: without_rows(query.plan),
        is_optimistic: query.is_optimistic,
        definitions,
        tables,
        common_scales,
        planned_on: snapshot.sequence(),
        physical_schema: shown.made.clone(),
        shown,
        estimated_bytes,
    }
}

/// Which numerics without a precision are integers for a plan, in its tables that have such columns.
fn common_scales(mut plan: Plan) -> Vec<(TableId, Arc<[Option<CommonScale>]>)> {
    let mut found: Vec<(TableId, Arc<[Option<CommonScale>]>)> = Vec::new();
    let mut add = |source: &Arc<dyn Source>| {
        if let Some((version, _)) = source.scan()
            && version.def.columns.iter().any(|column| column.column_type.is_encoded_numeric())
            && found.iter().all(|(table, _)| *table != version.def.id)
        {
            found.push((version.def.id, version.common_scales().clone()));
        }
        Ok::<_, Infallible>(None)
    };
    let Ok(()) = plan.map_sources(&mut add);
    found
}

/// What must be true of each hole's constant for a plan that was made so.
fn guards(general: &Generalization) -> Vec<Guard> {
    let guard = |(hole, (role, constant)): (usize, (&HoleRole, &Constant))| match role {
        HoleRole::Pinned => Guard::Is(constant.clone()),
        HoleRole::Varying(class) => match HoleType::of(constant) {
            Some(hole_type) => Guard::Varies { hole_type, equals: (*class != hole).then_some(*class) },
            None => Guard::Is(constant.clone()),
        },
    };
    general.roles().iter().zip(general.example()).enumerate().map(guard).collect()
}
