//! Queries on Braid's operators, planned with their constants.

use std::borrow::Cow;
use std::sync::Arc;

use braid_catalog::functions::expand_calls;
use braid_exec::ExecError;
use braid_plan::lowering::{Environment, LoweredQuery, NoPlan, Numerics, Purpose, Session, is_too_narrow};
use braid_plan::optimization::{ImposedOrder, impose_join_order};
use braid_plan::planning::{plan as build, rewritten};
use braid_plan::setting_calls::check_settings;
use braid_plan::values::Form;
use braid_sql::binder::precedence::rebind_all;
use braid_sql::binder::{AssignedColumn, ReturnedRows, Statement as BoundStatement, VaryingKind, VaryingLiteral};
use braid_sql::syntax::LockStrength;
use braid_sql::{Expression, SqlError, SqlType, Value};
use braid_storage::TableDef;
use futures::{StreamExt, stream};
use sqlparser::ast::Query;

use super::is_brief;
use super::returning::{ReturnedPlan, ReturningList};
use super::session_facts::StatementFacts;
use super::snapshot_tables::{ChangedTable, SnapshotTables};
use super::statement_tables::StatementTables;
use super::view_sizes::ViewsSize;
use crate::access::ReadCheck;
use crate::bound_parameters::BoundParameters;
use crate::deep_stack::on_deep_stack;
use crate::interrupt::Interrupt;
use crate::planning::plan_here;
use crate::rows::Rows;
use crate::rows::result_stream::ResultStream;
use crate::sent_columns::ShownColumns;
use crate::sharing::AlonePlan;
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, Statement};

/// Runs a query.
pub(super) async fn execute(
    context: &StatementContext,
    statement: &Statement,
    parameters: &BoundParameters,
    interrupt: &Interrupt,
) -> Result<Outcome, EngineError> {
    let StartedQuery { rows, shown, .. } = start(context, statement, QuerySource::default(), parameters).await?;
    Ok(outcome(context, rows, shown, interrupt, "SELECT"))
}

/// A query that runs.
pub(super) struct StartedQuery {
    /// What the operators make.
    pub rows: Rows,
    /// Its columns.
    pub shown: ShownColumns,
    /// The plan that was lowered.
    pub lowered: LoweredQuery,
    /// RETURNING of the statement.
    pub returned: Option<ReturnedPlan>,
}

/// Plans and starts a query.
pub(super) async fn start(
    context: &StatementContext,
    statement: &Statement,
    source: QuerySource,
    parameters: &BoundParameters,
) -> Result<StartedQuery, EngineError> {
    let parameters = QueryParameters::of(parameters);
    let planned_query =
        planned(context, statement, source.clone(), &parameters, Numerics::Optimistic).await??.permitted()?;
    let PlannedQuery { query: lowered, returned, .. } = planned_query;
    let (plan, shown) = alone(context, &lowered);
    let rows = start_alone(context, &plan);
    if !lowered.is_optimistic {
        return Ok(StartedQuery { rows, shown, lowered, returned });
    }
    if let Some(rows) = unless_too_narrow(rows).await {
        return Ok(StartedQuery { rows, shown, lowered, returned });
    }
    let planned_query = planned(context, statement, source, &parameters, Numerics::Wide).await??.permitted()?;
    let PlannedQuery { query: lowered, returned, .. } = planned_query;
    let (plan, shown) = alone(context, &lowered);
    Ok(StartedQuery { rows: start_alone(context, &plan), shown, lowered, returned })
}

/// RETURNING of a statement whose rows are found without a plan.
pub(super) async fn plan_returning(
    context: &StatementContext,
    statement: &Statement,
    source: QuerySource,
    parameters: &BoundParameters,
) -> Result<Option<ReturnedPlan>, EngineError> {
    let parameters = QueryParameters::of(parameters);
    Ok(planned(context, statement, source, &parameters, Numerics::Wide).await??.permitted()?.returned)
}

/// The plan of a query, with its constants, and its columns.
pub(crate) async fn plan_alone(
    context: &StatementContext,
    statement: &Statement,
    parameters: &BoundParameters,
) -> Result<(AlonePlan, ShownColumns), EngineError> {
    let parameters = QueryParameters::of(parameters);
    let planned = planned(context, statement, QuerySource::default(), &parameters, Numerics::Optimistic).await??;
    let planned = planned.permitted()?;
    Ok(alone(context, &planned.query))
}

/// The rewritten query as text.
pub(crate) async fn relation_text(
    context: &StatementContext,
    statement: &Statement,
    parameters: &BoundParameters,
) -> Result<String, EngineError> {
    statement.size().check_for_planning()?;
    let parameters = QueryParameters::of(parameters);
    let (size, explained) = (statement.size(), statement.clone());
    let work = async move |context: StatementContext| {
        let source = QuerySource::default();
        let views = source.views(&context, &explained)?;
        let text = on_deep_stack(explained.size().expressions + views.expressions, || {
            let (facts, tables) = (StatementFacts::of(&context), SnapshotTables::of(&context));
            let (text, query) = source.of(&explained)?;
            let reads = ReadCheck::of(&context, tables.snapshot());
            let mut binding = BoundStatement::new(text, &facts, &tables).with_references();
            if let Some(types) = parameters.types() {
                binding = binding.with_parameters(types);
            }
            let mut bound = binding.binder().whole_query(&query)?;
            let read = tables.relations_read(binding.referenced(), ChangedTable::Read);
            reads.map_or(Ok(()), |reads| reads.check(&read))?;
            bound.relation.put_parameters(&parameters.values);
            let mut columns = binding.into_columns();
            Ok::<_, SqlError>(rewritten(bound, &mut columns, &facts)?.relation.text(&columns, &facts))
        });
        Ok(text?)
    };
    context.plan_apart(size, work).await
}

async fn planned(
    context: &StatementContext,
    statement: &Statement,
    source: QuerySource,
    parameters: &QueryParameters,
    numerics: Numerics,
) -> Result<Result<PlannedQuery, SqlError>, EngineError> {
    context.times().of_planning(planned_uncounted(context, statement, source, parameters, numerics)).await
}

async fn planned_uncounted(
    context: &StatementContext,
    statement: &Statement,
    source: QuerySource,
    parameters: &QueryParameters,
    numerics: Numerics,
) -> Result<Result<PlannedQuery, SqlError>, EngineError> {
    statement.size().check_for_planning()?;
    let views = source.views(context, statement)?;
    if is_brief(statement.origin(), statement.size()) && views.is_brief() {
        let constants = parameters.constants(Literals::InPlace(numerics));
        let planned = plan_here(|| Ok(plan_source(context, statement, &source, constants)))?;
        return Ok(planned.map_err(NoPlan::into_error));
    }
    let (size, statement, parameters) = (statement.size(), statement.clone(), parameters.clone());
    let work = async move |context: StatementContext| {
        let planned = plan_source(&context, &statement, &source, parameters.constants(Literals::InPlace(numerics)));
        Ok(planned.map_err(NoPlan::into_error))
    };
    context.plan_apart(size, work).await
}

/// A query without parameters, ready to run alone.
pub(super) fn alone(context: &StatementContext, query: &LoweredQuery) -> (AlonePlan, ShownColumns) {
    let shown = ShownColumns::of(query, &StatementFacts::of(context));
    let database = context.database();
    let keys = &database.dispatcher().resources().unique_keys;
    let no_parameters = Vec::new();
    let settings = context.settings();
    let imposed = ImposedOrder {
        rule: settings.get("braid.join_order").and_then(|rule| rule.parse().ok()).unwrap_or_default(),
        seed: settings.get("braid.join_order_seed").and_then(|seed| seed.parse().ok()).unwrap_or_default(),
    };
    let ordered = impose_join_order(&query.plan, std::slice::from_ref(&no_parameters), keys, imposed).plan;
    let workers = if query.is_row_wise { 1 } else { database.worker_count(&settings) };
    (AlonePlan::new(&ordered, &no_parameters, shown.made.clone(), workers), shown)
}

/// The rows of a query, outside of the lanes.
pub(crate) fn start_alone(context: &StatementContext, plan: &AlonePlan) -> Rows {
    let database = context.database();
    let _threads = database.dispatcher().heavy_threads().enter();
    plan.start(database.query_memory(&context.settings()), database.spill_space().clone())
}

/// Rows of the operators as the rows of a statement.
pub(crate) fn outcome(
    context: &StatementContext,
    rows: Rows,
    shown: ShownColumns,
    interrupt: &Interrupt,
    tag: &'static str,
) -> Outcome {
    let schema = shown.sent.clone();
    let rows = sent_rows(context, rows, shown);
    let running = context.database().statements().token();
    let stream = ResultStream::guard(rows, schema.clone(), interrupt, context.on_failure(), running);
    Outcome::Rows { schema, stream, tag }
}

/// Rows whose first batch is there; `None` if 128 bits are too narrow for their numerics, and they are to be planned anew.
pub(crate) async fn unless_too_narrow(mut rows: Rows) -> Option<Rows> {
    let first = rows.next().await;
    if let Some(Err(error)) = &first
        && is_too_narrow(error)
    {
        return None;
    }
    Some(Rows::new(rows.schema(), stream::iter(first).chain(rows)))
}

/// Rows of the operators as the client gets them.
fn sent_rows(context: &StatementContext, rows: Rows, shown: ShownColumns) -> Rows {
    let schema = shown.sent.clone();
    let facts = StatementFacts::of(context).to_kept().with_names(context);
    let sent = rows.map(move |batch| {
        let sent = shown.sent_batch(&batch?, &facts);
        sent.map_err(|error| ExecError::Foreign(Box::new(error)))
    });
    Rows::new(schema, sent)
}

/// Which query of a statement is planned, and what for.
#[derive(Clone, Debug, Default)]
pub(super) struct QuerySource {
    /// The query and its text, if it is not the statement's own.
    pub other: Option<(Arc<str>, Arc<Query>)>,
    /// The columns that its rows are stored in.
    pub stored_in: Option<Arc<[AssignedColumn]>>,
    /// RETURNING of the statement.
    pub returning: Option<Arc<ReturningList>>,
    /// The strength of the locks on the rows that the query reads.
    pub locking: Option<LockStrength>,
    /// The tables of the statement.
    pub tables: StatementTables,
}

impl QuerySource {
    /// A query that is a part of the statement.
    pub fn of_part(statement: &Statement, query: &Query, tables: StatementTables) -> Self {
        let other = Some((Arc::from(statement.origin()), Arc::new(query.clone())));
        Self { other, tables, ..Self::default() }
    }

    /// No query but RETURNING.
    pub fn of_list(statement: &Statement, list: &Arc<ReturningList>, tables: StatementTables) -> Self {
        let other = Some((Arc::from(statement.origin()), Arc::new(list.no_query())));
        Self { other, returning: Some(list.clone()), tables, ..Self::default() }
    }

    /// The text in which places count, and the query as it is bound. That of a statement is rebound when it is parsed.
    pub(super) fn of<'a>(&'a self, statement: &'a Statement) -> Result<(&'a str, Cow<'a, Query>), SqlError> {
        match (&self.other, statement.query()) {
            (Some((text, query)), _) => Ok((text, Cow::Owned(prepared((**query).clone())))),
            (None, None) => Err(SqlError::unsupported("a statement without a query")),
            (None, Some(query)) if statement.size().catalog_calls == 0 => {
                Ok((statement.origin(), Cow::Borrowed(query)))
            }
            (None, Some(query)) => Ok((statement.origin(), Cow::Owned(prepared(query.clone())))),
        }
    }
}

impl QuerySource {
    /// What becomes of the table that the statement changes, whose columns the query reads to keep their values.
    fn changed_table(&self) -> ChangedTable {
        match (&self.stored_in, self.locking) {
            (Some(_), None) => ChangedTable::LeftOut,
            _ => ChangedTable::Read,
        }
    }

    /// How much views add to the query and to RETURNING.
    ///
    /// # Errors
    /// 54001 if they are too large.
    pub(super) fn views(&self, context: &StatementContext, statement: &Statement) -> Result<ViewsSize, SqlError> {
        let query = self.other.as_ref().map(|(_, query)| &**query).or_else(|| statement.query());
        let listed = self.returning.as_ref().map(|returning| &returning.syntax.list);
        let snapshot = self.tables.snapshot().unwrap_or_else(|| context.snapshot());
        ViewsSize::of(&snapshot, query.into_iter().chain(listed))
    }
}

/// A query without calls of functions over the system relations, as PostgreSQL's grammar groups it.
fn prepared(mut query: Query) -> Query {
    expand_calls(&mut query);
    rebind_all(&mut query);
    query
}

/// The parameters of a query that is executed.
#[derive(Clone)]
struct QueryParameters {
    types: Vec<Option<SqlType>>,
    values: Vec<Option<Value>>,
}

impl QueryParameters {
    fn of(parameters: &BoundParameters) -> Self {
        Self {
            types: parameters.types().iter().copied().map(Some).collect(),
            values: parameters.values().iter().cloned().map(Some).collect(),
        }
    }

    /// `None` if there are none, and the text may name none.
    fn types(&self) -> Option<&[Option<SqlType>]> {
        Some(&self.types[..]).filter(|types| !types.is_empty())
    }

    fn constants<'a>(&'a self, literals: Literals<'a>) -> Constants<'a> {
        Constants { parameter_types: self.types(), parameter_values: &self.values, literals }
    }
}

/// What a plan knows of a statement's constants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constants<'a> {
    /// The types of `$1`, `$2`, … as far as they are declared; `None` if the text may name none.
    pub parameter_types: Option<&'a [Option<SqlType>]>,
    /// The values that stand in the places of parameters, by their numbers.
    pub parameter_values: &'a [Option<Value>],
    /// The constants of the text.
    pub literals: Literals<'a>,
}

/// What a plan knows of the constants of a statement's text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Literals<'a> {
    /// Their values, and what is done with numerics of many digits. The plan has values in the places of all parameters: of those
    /// without one, null.
    InPlace(Numerics),
    /// The values of all but these, whose numbers are beyond those of parameters.
    Varying(&'a [VaryingLiteral]),
}

/// A planned query.
pub(crate) struct PlannedQuery {
    /// The plan.
    pub query: LoweredQuery,
    /// The varying constants as their types' input functions read them. The first error is that of the statement.
    pub literal_inputs: Vec<Expression>,
    /// The tables that the query reads.
    pub tables: Vec<Arc<TableDef>>,
    /// RETURNING of the statement.
    pub returned: Option<ReturnedPlan>,
    /// Whether it may run: the roles of the session may read what it reads, materialized views have rows, and it reads no setting that it
    /// changes.
    pub access: Result<(), SqlError>,
}

impl PlannedQuery {
    /// The same, if it may run.
    ///
    /// # Errors
    /// 42501; 55000 for a materialized view that is not populated; 0A000 for such a setting.
    pub fn permitted(self) -> Result<Self, SqlError> {
        self.access.clone().map(|()| self)
    }
}

/// The plan of a statement's query.
///
/// # Errors
/// The errors of the query, 0A000 for what is not supported, and a parameter or a varying constant whose value the plan
/// depends on.
pub(crate) fn plan_query(
    context: &StatementContext,
    statement: &Statement,
    constants: Constants<'_>,
) -> Result<PlannedQuery, NoPlan> {
    plan_source(context, statement, &QuerySource::default(), constants)
}

/// The plan of a query of a statement, as [`plan_query`].
pub(super) fn plan_source(
    context: &StatementContext,
    statement: &Statement,
    source: &QuerySource,
    constants: Constants<'_>,
) -> Result<PlannedQuery, NoPlan> {
    let tables = SnapshotTables::of(context).with_own(source.tables.clone());
    let planned = plan_over(context, &tables, statement, source, constants)?;
    Ok(PlannedQuery { tables: tables.into_found(), ..planned })
}

/// The plan of a query over these tables.
fn plan_over(
    context: &StatementContext,
    tables: &SnapshotTables,
    statement: &Statement,
    source: &QuerySource,
    constants: Constants<'_>,
) -> Result<PlannedQuery, NoPlan> {
    let facts = StatementFacts::of(context);
    let (varying, numerics) = match constants.literals {
        Literals::InPlace(numerics) => (&[][..], numerics),
        Literals::Varying(varying) => (varying, Numerics::Optimistic),
    };
    let forms = varying.iter().filter_map(form_of).collect();
    let purpose = match constants.literals {
        Literals::InPlace(_) => Purpose::OneStatement,
        Literals::Varying(_) => Purpose::ManyStatements { forms: &forms },
    };
    let views = source.views(context, statement)?;
    on_deep_stack(statement.size().expressions + views.expressions, || {
        let (text, query) = source.of(statement)?;
        let reads = ReadCheck::of(context, tables.snapshot());
        let mut binding = BoundStatement::new(text, &facts, tables).with_varying(varying);
        if reads.is_some() {
            binding = binding.with_references();
        }
        if let Some(types) = constants.parameter_types {
            binding = binding.with_parameters(types);
        }
        let binder = binding.binder();
        source.returning.iter().for_each(|list| binder.note_returning(&list.syntax));
        let bound = match (&source.stored_in, source.locking) {
            (Some(columns), _) => binder.assigned_query(&query, columns),
            (None, Some(strength)) => binder.locking_query(&query, strength),
            (None, None) => binder.whole_query(&query),
        };
        let inputs = binding.literal_inputs();
        if let Some(literal) = binding.looked_at() {
            return Err(NoPlan::ValueMatters(literal.number));
        }
        let (mut bound, literal_inputs) = (bound?, inputs?);
        let returning = source.returning.as_ref().map(|list| binder.returned_rows(&list.syntax)).transpose()?;
        let parameter_types = match source.tables.are_of_parts() {
            true => binding.parameter_types_of_part(),
            false => binding.parameter_types()?,
        };
        let access = reads
            .map_or(Ok(()), |reads| reads.check(&tables.relations_read(binding.referenced(), source.changed_table())));
        let mut values = constants.parameter_values.to_vec();
        if matches!(constants.literals, Literals::InPlace(_)) {
            values.resize(parameter_types.len().max(values.len()), Some(Value::Null));
        }
        bound.relation.put_parameters(&values);
        let (mut list, mut other_count) = (None, 0);
        if let Some(ReturnedRows { mut query, others }) = returning {
            query.relation.put_parameters(&values);
            other_count = others.len();
            bound.outputs.extend(others);
            list = Some(query);
        }
        let access = access.and_then(|()| check_settings(&bound, list.as_ref()));
        let kept = match constants.literals {
            Literals::InPlace(_) => facts.to_kept().with_names(context),
            Literals::Varying(_) => facts.to_kept(),
        };
        let session: Arc<dyn Session> = Arc::new(kept);
        let environment = Environment { session: &session, tables, purpose, numerics };
        let columns = binding.into_columns();
        let query = build(bound, columns.clone(), environment)?;
        let returned = match (list, &source.returning) {
            (Some(list), Some(returning)) => {
                let table = returning.table(&query, other_count);
                tables.put_returned(&table);
                let environment = Environment { numerics: Numerics::Wide, ..environment };
                Some(ReturnedPlan { query: build(list, columns, environment)?, table })
            }
            _ => None,
        };
        let access = access.and_then(|()| tables.check_populated());
        Ok(PlannedQuery { query, literal_inputs, tables: Vec::new(), returned, access })
    })
}

/// The form of all values of a varying literal, if it is not that of its type.
fn form_of(literal: &VaryingLiteral) -> Option<(usize, Form)> {
    match literal.kind {
        VaryingKind::Numeric { digits, scale } => {
            let form = Form::Fixed { digits: u8::try_from(digits).ok()?, scale: u8::try_from(scale).ok()? };
            Some((literal.number, form))
        }
        _ => None,
    }
}
