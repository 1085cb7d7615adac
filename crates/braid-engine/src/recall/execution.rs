//! A statement by its template: recalled, or learned; bound; run.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use braid_exec::plan::Plan;
use braid_sql::Formats;
use braid_sql::search_path::{PUBLIC_SCHEMA, SYSTEM_SCHEMA};
use braid_storage::Catalog;

use super::answer::answer;
use super::constants::constants_of;
use super::description::has_parameters;
use super::template_planner::{NoTemplate, plan_template};
use crate::access::ReadCheck;
use crate::bound_parameters::BoundParameters;
use crate::front_end::{StatementFacts, outcome, unless_too_narrow};
use crate::interrupt::Interrupt;
use crate::session_locks::LockMode;
use crate::sharing::Wanted;
use crate::statement::{ScannedText, Tokens};
use crate::statement_context::StatementContext;
use crate::statement_limits::StatementSize;
use crate::templates::generalization::Generalization;
use crate::templates::plan_template::{BoundTemplate, ParameterRow, PlanTemplate};
use crate::templates::template_cache::{Learning, Recall, TextEntry};
use crate::{EngineError, Outcome, SqlState, Statement};

/// Whether a text has a plan already, or a description if it has parameters, so that it need not be parsed.
pub(crate) fn is_known(context: &StatementContext, scanned: &ScannedText) -> bool {
    let Ok(key) = key(scanned, &BoundParameters::none(), context) else { return false };
    // The types of parameters are part of a plan's key, and not known yet.
    if has_parameters(scanned) {
        return context.database().templates().descriptions().is_known(&key, scanned);
    }
    context.database().templates().known(&key).is_some_and(|entry| entry.plan_count() > 0)
}

/// Runs a statement by its template; `None` if it has none, and is to be planned with its constants.
pub(crate) async fn execute(
    context: &StatementContext,
    statement: &Statement,
    params: &BoundParameters,
    interrupt: &Interrupt,
) -> Result<Option<Outcome>, EngineError> {
    let Some(scanned) = statement.scanned() else { return Ok(None) };
    let settings = context.settings();
    let Ok(key) = key(scanned, params, context) else { return Ok(None) };
    let facts = StatementFacts::of(context);
    let Some(constants) = constants_of(scanned, params, &facts)? else { return Ok(None) };
    let entry = context.database().templates().entry(&key);
    let snapshot = context.snapshot();
    let is_eager = settings.get("braid.templates") == Some("eager");
    let learning = if is_eager { Learning::Eager } else { Learning::FromStatements };
    let template = match entry.recall(&constants, &snapshot, learning) {
        Recall::Plan(template) => template,
        Recall::Nothing => return Ok(None),
        Recall::Make(general) => match learn(context, statement, params, &entry, general).await? {
            Some(template) if template.includes(&constants) => template,
            _ => return Ok(None),
        },
    };
    let Some(row) = template.bind(&constants, params, &facts) else { return Ok(None) };
    let bound = BoundTemplate { template: template.clone(), text_number: entry.number, row };
    use_tables(context, &template)?;
    let Some(answer) = answer(context, &bound, &settings, Wanted::Rows).await? else { return Ok(None) };
    let rows = match template.is_optimistic {
        false => Some(answer.rows),
        true => unless_too_narrow(answer.rows).await,
    };
    Ok(rows.map(|rows| outcome(context, rows, template.shown.clone(), interrupt, "SELECT")))
}

/// Locks the tables of a statement with this template, and notes that it reads them.
///
/// # Errors
/// When the statement is to begin anew.
pub(crate) fn use_tables(context: &StatementContext, template: &PlanTemplate) -> Result<(), EngineError> {
    template.tables.iter().try_for_each(|(table, _)| context.use_table(*table, LockMode::AccessShare))?;
    context.note_reads(template.tables.iter().map(|(table, _)| *table));
    Ok(())
}

/// The plan that statements share, and the parameters of each.
#[derive(Clone, Debug)]
pub struct SharedForm {
    /// The plan, with its joins ordered for these statements.
    pub plan: Plan,
    /// The parameters of each statement.
    pub parameters: Vec<ParameterRow>,
    /// The types of the plan's columns.
    pub schema: SchemaRef,
}

/// The form that statements of one template share, learned from all of them at once.
///
/// # Errors
/// When they have no template in common.
pub(crate) async fn shared_form(context: &StatementContext, texts: &[String]) -> Result<SharedForm, EngineError> {
    let none = |reason: &str| EngineError::unsupported(format!("the statements have no template in common: {reason}"));
    let (no_parameters, facts) = (BoundParameters::none(), StatementFacts::of(context));
    let mut constants = Vec::with_capacity(texts.len());
    for text in texts {
        let scanned = Tokens::of(text)?.scanned().ok_or_else(|| none("one of them is no query"))?;
        let of_text = constants_of(&scanned, &no_parameters, &facts)?;
        constants.push(of_text.ok_or_else(|| none("one of them has parameters"))?);
    }
    let (Some(first), Some(last)) = (constants.first(), texts.last()) else { return Err(none("there are none")) };
    let mut general = Generalization::of(first.clone());
    for constants in &constants {
        if constants.len() != first.len() {
            return Err(none("their constants differ in number"));
        }
        general.widen(constants.clone());
    }
    let statement = Statement::parse(last)?.pop().ok_or_else(|| none("one of them is empty"))?;
    let work = async move |context: StatementContext| {
        let scanned = statement.scanned().ok_or_else(|| EngineError::internal("a template without its text"))?;
        let planned = plan_template(&context, &statement, &BoundParameters::none(), scanned, &mut general);
        planned.map_err(|NoTemplate(reason)| EngineError::unsupported(reason))
    };
    let template = context.plan_apart(StatementSize::default(), work).await?;
    let bind = |constants: &Vec<_>| {
        let row = || template.bind(constants, &no_parameters, &facts);
        template.includes(constants).then(row).flatten()
    };
    let parameters: Option<Vec<ParameterRow>> = constants.iter().map(bind).collect();
    let parameters = parameters.ok_or_else(|| none("a constant of one of them is another statement's plan"))?;
    let on_tables = template.on(&context.snapshot()).ok_or_else(|| none("their tables have changed"))?;
    let plan = context.database().dispatcher().resources().order_joins(&on_tables, &parameters).await.plan;
    Ok(SharedForm { plan, parameters, schema: template.physical_schema })
}

/// The key of a text's entry: its template, and what else plans depend on: the session's zone and formats, the schemas that names are looked up in and
/// what they are called, the types of the parameters, and the state of the database's own types. Of `params` the text may name fewer.
///
/// # Errors
/// [`TemplatesOff`] if the session's statements have none.
pub(super) fn key(
    scanned: &ScannedText,
    params: &BoundParameters,
    context: &StatementContext,
) -> Result<String, TemplatesOff> {
    let settings = context.settings();
    if settings.get("braid.templates") == Some("off") {
        return Err(TemplatesOff::Setting);
    }
    if context.has_own_writes() {
        return Err(TemplatesOff::OwnWrites);
    }
    // Other join orders serve to be measured, and templates put joins in the cheapest order.
    if settings.get("braid.join_order").is_some_and(|rule| rule != "cheapest") {
        return Err(TemplatesOff::JoinOrder);
    }
    let (zone, formats) = (settings.get("TimeZone").unwrap_or_default(), settings.formats());
    let snapshot = context.snapshot();
    if may_name_temporary(context, &snapshot, &scanned.template) {
        return Err(TemplatesOff::TemporaryRelations);
    }
    if may_read_names(&scanned.template) {
        return Err(TemplatesOff::NamedObjects);
    }
    let path = path_in_key(context, &snapshot);
    let mut key = format!("{}\0{zone}\0{path}", scanned.template);
    if formats != Formats::default() {
        key.push_str(&format!("\0{formats:?}"));
    }
    for sql_type in params.types() {
        key.push_str(&format!("\0{}", sql_type.id.0));
    }
    if snapshot.schemas_changed() > 0 {
        key.push_str(&format!("\0schemas of {}", snapshot.schemas_changed()));
    }
    key.push_str(&role_in_key(context, &snapshot));
    // What names of types and labels mean, and what domains allow.
    if snapshot.enum_types().len() > 0 || snapshot.domains().len() > 0 {
        key.push_str(&format!("\0types of {}", snapshot.types_changed()));
    }
    // What names of views mean.
    if !snapshot.views().by_id().is_empty() {
        key.push_str(&format!("\0views of {}", snapshot.views_changed()));
    }
    Ok(key)
}

/// Whose privileges a plan was checked for, and in which state of them; nothing where all roles may read everything.
fn role_in_key(context: &StatementContext, snapshot: &Catalog) -> String {
    match ReadCheck::of(context, snapshot) {
        None => String::new(),
        Some(_) => format!("\0{:?} of {}", context.current_role(), snapshot.access_changed()),
    }
}

/// The schemas of a session's search path in a key; nothing for those of the default. In other paths a new table can hide one that a name
/// has meant, so that these keys are of one state of the names.
fn path_in_key(context: &StatementContext, snapshot: &Catalog) -> String {
    let path = context.search_path_in(snapshot);
    let temporary = path.temporary_schema();
    let lasting: Vec<&str> = path.searched().filter(|schema| Some(*schema) != temporary).collect();
    match lasting[..] {
        [SYSTEM_SCHEMA, PUBLIC_SCHEMA] => String::new(),
        _ => format!("{} of {}", lasting.join("\0"), snapshot.names_changed()),
    }
}

/// Whether a text may name one of the session's temporary relations, which nobody else knows by the name: one occurs in it, or could.
fn may_name_temporary(context: &StatementContext, snapshot: &Catalog, text: &str) -> bool {
    let Some(own) = context.temporary_schema(snapshot) else { return false };
    let text = text.to_lowercase();
    let occurs = |name: &str| text.contains(&name.replace('"', "\"\"").to_lowercase());
    // Names with escapes are written in other ways.
    text.contains("u&\"") || snapshot.names_in(own).any(occurs)
}

/// Whether a text may have a literal that is the name of a relation, a type or a function. What it means, when the statement is planned, is no
/// matter of the text: it may mean another one in another session, and later.
fn may_read_names(text: &str) -> bool {
    const TYPES: [&str; 8] =
        ["regclass", "regtype", "regproc", "regoper", "regnamespace", "regrole", "regconfig", "regcollation"];
    let may = text.as_bytes().windows(3).any(|bytes| bytes.eq_ignore_ascii_case(b"reg"));
    may && {
        let text = text.to_lowercase();
        TYPES.iter().any(|name| text.contains(name))
    }
}

/// Why no statement of a session has a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TemplatesOff {
    /// `braid.templates` is off.
    Setting,
    /// Joins are not in the cheapest order.
    JoinOrder,
    /// It may name a temporary relation, which plans of others must not know.
    TemporaryRelations,
    /// It may read names of relations, types or functions from literals.
    NamedObjects,
    /// The transaction has changed something, which plans of others must not know.
    OwnWrites,
}

/// Makes a plan on a planning thread, and keeps it.
async fn learn(
    context: &StatementContext,
    statement: &Statement,
    params: &BoundParameters,
    entry: &Arc<TextEntry>,
    mut general: Generalization,
) -> Result<Option<Arc<PlanTemplate>>, EngineError> {
    let (statement, params, entry) = (statement.parsed()?, params.clone(), entry.clone());
    let size = statement.size();
    let work = async move |context: StatementContext| {
        let scanned = statement.scanned().ok_or_else(|| EngineError::internal("a template without its text"))?;
        let made = plan_template(&context, &statement, &params, scanned, &mut general);
        let made = match made {
            Ok(template) => {
                let template = Arc::new(template);
                entry.keep(template.clone(), &general);
                Some(template)
            }
            // Nothing is known of the template: the statement begins anew.
            Err(NoTemplate(reason)) if context.is_postponed() => {
                return Err(EngineError::new(SqlState::LockNotAvailable, reason));
            }
            Err(NoTemplate(reason)) => {
                tracing::debug!(reason, "no template");
                entry.refuse(reason, &general);
                None
            }
        };
        context.database().templates().recount(&entry);
        Ok(made)
    };
    context.plan_apart(size, work).await
}
