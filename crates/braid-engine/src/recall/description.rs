//! The parameters and columns of a query, from a plan or a description that is there.

use std::sync::Arc;

use braid_storage::TableDef;

use super::constants::constants_of;
use super::execution::key;
use crate::bound_parameters::BoundParameters;
use crate::front_end::StatementFacts;
use crate::statement::{HoleContent, ScannedText};
use crate::statement_context::StatementContext;
use crate::templates::description_cache::Description;
use crate::templates::template_cache::Look;
use crate::{ParameterType, Prepared};

/// The description of a query with these declared types of its parameters, if it need not be planned for it.
pub(crate) fn described(
    context: &StatementContext,
    scanned: &ScannedText,
    declared: &[Option<ParameterType>],
) -> Option<Prepared> {
    let (key, snapshot) = (key(scanned, &BoundParameters::none(), context).ok()?, context.snapshot());
    let database = context.database();
    if has_parameters(scanned) || !declared.is_empty() {
        let table_of = |table| Some(snapshot.by_id(table)?.def.clone());
        return database.templates().descriptions().find(&key, scanned, declared, table_of);
    }
    let constants = constants_of(scanned, &BoundParameters::none(), &StatementFacts::of(context)).ok()??;
    match database.templates().look(&key)?.look(&constants, &snapshot) {
        Look::Plan(plan) => Some(Prepared { parameter_types: Vec::new(), schema: Some(plan.shown.sent.clone()) }),
        Look::Refused(_) | Look::OtherPlans(_) | Look::Seen => None,
    }
}

/// Keeps the description of a query that reads these tables.
pub(crate) fn keep_description(
    context: &StatementContext,
    scanned: &ScannedText,
    declared: &[Option<ParameterType>],
    tables: Vec<Arc<TableDef>>,
    prepared: &Prepared,
) {
    let Ok(key) = key(scanned, &BoundParameters::none(), context) else { return };
    let snapshot = context.snapshot();
    if tables.iter().any(|table| snapshot.is_temporary(table.schema)) {
        return;
    }
    let holes = scanned.holes.iter().map(|hole| hole.content.clone()).collect();
    let description = Description { holes, declared: declared.to_vec(), tables, prepared: prepared.clone() };
    context.database().templates().descriptions().keep(&key, description);
}

pub(super) fn has_parameters(scanned: &ScannedText) -> bool {
    scanned.holes.iter().any(|hole| matches!(hole.content, HoleContent::Parameter(_)))
}
