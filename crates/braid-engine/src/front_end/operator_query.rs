//! Queries on Braid's operators, planned with their constants.

use std::sync::Arc;

use braid_catalog::functions::expand_calls;
use braid_plan::lowering::is_too_narrow as is_too_narrow_for_numerics;
use braid_plan::lowering::{Environment, LoweredQuery, NoPlan, Numerics, Purpose, Session};
use braid_plan::optimization::order_joins;
use braid_plan::planning::{plan as build, rewritten};
use braid_plan::values::Form;
use braid_sql::binder::precedence::rebind_all;
use braid_sql::binder::{AssignedColumn, Statement as BoundStatement, VaryingKind, VaryingLiteral};
use braid_sql::{Expression, SqlError, SqlType, Value};
use braid_storage::TableDef;
use datafusion::common::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::sqlparser::ast::Query;
use futures::{StreamExt, stream};

use super::session_facts::StatementFacts;
use super::snapshot_tables::SnapshotTables;
use super::{Described, counted, is_left_to_the_other_planner, is_unsupported, unless_unsupported};
use crate::bound_parameters::BoundParameters;
use crate::deep_stack::on_deep_stack;
use crate::interrupt::Interrupt;
use crate::query::result_stream::ResultStream;
use crate::sent_columns::ShownColumns;
use crate::sharing::AlonePlan;
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, ParameterType, Prepared, Statement, StatementKind};

/// Runs a query; `None` if it has something that the front end lacks.
pub(super) async fn execute(
    context: &StatementContext,
    statement: &Statement,
    parameters: &BoundParameters,
    interrupt: &Interrupt,
) -> Result<Option<Outcome>, EngineError> {
    if !is_asked(context, statement) {
        return Ok(None);
    }
    let Some(StartedQuery { rows, shown, .. }) = start(context, statement, QuerySource::default(), parameters).await?
    else {
        return Ok(None);
    };
    Ok(Some(outcome(context, rows, shown, interrupt)))
}

/// A query that runs.
pub(super) struct StartedQuery {
    /// What the operators make.
    pub rows: SendableRecordBatchStream,
    /// Its columns.
    pub shown: ShownColumns,
    /// The plan that was lowered.
    pub lowered: LoweredQuery,
}

/// Plans and starts a query; `None` if it has something that the front end lacks.
pub(super) async fn start(
    context: &StatementContext,
    statement: &Statement,
    source: QuerySource,
    parameters: &BoundParameters,
) -> Result<Option<StartedQuery>, EngineError> {
    let Some(parameters) = QueryParameters::of(parameters) else { return Ok(None) };
    let lowered = planned(context, statement, source.clone(), &parameters, Numerics::Optimistic).await?;
    let Some(lowered) = counted(context, lowered)? else { return Ok(None) };
    let (plan, shown) = alone(context, &lowered);
    let rows = start_alone(context, &plan);
    if !lowered.is_optimistic {
        return Ok(Some(StartedQuery { rows, shown, lowered }));
    }
    if let Some(rows) = unless_too_narrow(rows).await {
        return Ok(Some(StartedQuery { rows, shown, lowered }));
    }
    let lowered = planned(context, statement, source, &parameters, Numerics::Wide).await?;
    let Some(lowered) = unless_unsupported(lowered)? else { return Ok(None) };
    let (plan, shown) = alone(context, &lowered);
    Ok(Some(StartedQuery { rows: start_alone(context, &plan), shown, lowered }))
}

/// A query that is planned and does not run; `None` if it has something that the front end lacks.
pub(super) async fn lowered(
    context: &StatementContext,
    statement: &Statement,
) -> Result<Option<LoweredQuery>, EngineError> {
    let Some(parameters) = QueryParameters::of(&BoundParameters::none()) else { return Ok(None) };
    let lowered = planned(context, statement, QuerySource::default(), &parameters, Numerics::Optimistic).await?;
    counted(context, lowered)
}

/// The plan of a query, with its constants, and its columns; `None` if it has something that the front end lacks.
pub(crate) async fn plan_alone(
    context: &StatementContext,
    statement: &Statement,
    parameters: &BoundParameters,
) -> Result<Option<(AlonePlan, ShownColumns)>, EngineError> {
    let is_asked = !is_left_to_the_other_planner(context, statement.size());
    let Some(parameters) = QueryParameters::of(parameters).filter(|_| is_asked) else { return Ok(None) };
    let lowered = planned(context, statement, QuerySource::default(), &parameters, Numerics::Optimistic).await?;
    Ok(unless_unsupported(lowered)?.map(|query| alone(context, &query)))
}

/// The rewritten query as text; `None` if it has something that the front end lacks.
pub(crate) async fn relation_text(
    context: &StatementContext,
    statement: &Statement,
    parameters: &BoundParameters,
) -> Result<Option<String>, EngineError> {
    let is_asked = !is_left_to_the_other_planner(context, statement.size());
    let Some(parameters) = QueryParameters::of(parameters).filter(|_| is_asked) else { return Ok(None) };
    let (size, explained) = (statement.size(), statement.clone());
    let work = async move |context: StatementContext| {
        let query = explained.query().ok_or_else(|| SqlError::unsupported("a statement without a query"));
        Ok(query.and_then(|query| {
            on_deep_stack(explained.size().expressions, || {
                let (facts, tables) = (StatementFacts::of(&context), SnapshotTables::of(&context));
                let mut query = query.clone();
                expand_calls(&mut query);
                rebind_all(&mut query);
                let mut binding = BoundStatement::new(explained.origin(), &facts, &tables);
                if let Some(types) = parameters.types() {
                    binding = binding.with_parameters(types);
                }
                let mut bound = binding.binder().whole_query(&query)?;
                bound.relation.put_parameters(&parameters.values);
                let mut columns = binding.into_columns();
                Ok(rewritten(bound, &mut columns, &facts).relation.text(&columns, &facts))
            })
        }))
    };
    unless_unsupported(context.plan_apart(size, work).await?)
}

async fn planned(
    context: &StatementContext,
    statement: &Statement,
    source: QuerySource,
    parameters: &QueryParameters,
    numerics: Numerics,
) -> Result<Result<LoweredQuery, SqlError>, EngineError> {
    let (size, statement, parameters) = (statement.size(), statement.clone(), parameters.clone());
    let work = async move |context: StatementContext| {
        let planned = plan_source(&context, &statement, &source, parameters.constants(Literals::InPlace(numerics)));
        unless_refused(planned.map(|planned| planned.query))
    };
    context.plan_apart(size, work).await
}

/// A query without parameters, ready to run alone.
fn alone(context: &StatementContext, query: &LoweredQuery) -> (AlonePlan, ShownColumns) {
    let shown = ShownColumns::of(query, &StatementFacts::of(context));
    let database = context.database();
    let keys = &database.dispatcher().resources().unique_keys;
    let no_parameters = Vec::new();
    let ordered = order_joins(&query.plan, std::slice::from_ref(&no_parameters), keys).plan;
    let workers = database.worker_count(&context.settings());
    (AlonePlan::new(&ordered, &no_parameters, shown.made.clone(), workers), shown)
}

/// The rows of a query, outside of the lanes.
pub(crate) fn start_alone(context: &StatementContext, plan: &AlonePlan) -> SendableRecordBatchStream {
    let database = context.database();
    let _threads = database.dispatcher().heavy_threads().enter();
    plan.start(database.query_memory(&context.settings()), database.spill_space().clone())
}

/// Rows of the operators as the rows of a statement.
pub(crate) fn outcome(
    context: &StatementContext,
    rows: SendableRecordBatchStream,
    shown: ShownColumns,
    interrupt: &Interrupt,
) -> Outcome {
    let schema = shown.sent.clone();
    let rows = sent_rows(context, rows, shown);
    let running = context.database().statements().token();
    let stream = ResultStream::guard(rows, schema.clone(), Vec::new(), interrupt, context.on_failure(), running);
    Outcome::Rows { schema, stream, tag: "SELECT" }
}

/// Rows whose first batch is there; `None` if 128 bits are too narrow for their numerics, and they are to be planned anew.
pub(crate) async fn unless_too_narrow(mut rows: SendableRecordBatchStream) -> Option<SendableRecordBatchStream> {
    let first = rows.next().await;
    if let Some(Err(error)) = &first
        && is_too_narrow(error)
    {
        return None;
    }
    let schema = rows.schema();
    Some(Box::pin(RecordBatchStreamAdapter::new(schema, stream::iter(first).chain(rows))))
}

/// Whether the operators failed because 128 bits are too narrow for numerics.
pub(crate) fn is_too_narrow(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::External(error) => error.downcast_ref().is_some_and(is_too_narrow_for_numerics),
        _ => false,
    }
}

/// Rows of the operators as the client gets them.
fn sent_rows(
    context: &StatementContext,
    rows: SendableRecordBatchStream,
    shown: ShownColumns,
) -> SendableRecordBatchStream {
    let schema = shown.sent.clone();
    let facts = StatementFacts::of(context).to_kept().with_names(context);
    let rows = rows.map(move |batch| {
        let sent = shown.sent_batch(&batch?, &facts);
        sent.map_err(|error| DataFusionError::External(Box::new(error)))
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}

/// The parameters and columns of a query, planned with nulls in the places of its parameters; `None` as in [`execute`].
pub(super) fn describe(
    context: &StatementContext,
    statement: &Statement,
    declared: &[Option<SqlType>],
) -> Result<Option<Described>, EngineError> {
    if !is_asked(context, statement) {
        return Ok(None);
    }
    let literals = Literals::InPlace(Numerics::Optimistic);
    let constants = Constants { parameter_types: Some(declared), parameter_values: &[], literals };
    let planned = unless_refused(plan_query(context, statement, constants))?;
    let Some(PlannedQuery { query, parameter_types, tables, .. }) = unless_unsupported(planned)? else {
        return Ok(None);
    };
    let schema = ShownColumns::of(&query, &StatementFacts::of(context)).sent;
    let parameter_types = parameter_types.into_iter().map(ParameterType::of).collect();
    Ok(Some(Described { prepared: Prepared { parameter_types, schema: Some(schema) }, tables }))
}

/// Whether a statement is a query that may be planned here.
fn is_asked(context: &StatementContext, statement: &Statement) -> bool {
    statement.kind() == StatementKind::Query
        && statement.query().is_some()
        && !is_left_to_the_other_planner(context, statement.size())
}

/// Which query of a statement is planned, and what for.
#[derive(Clone, Debug, Default)]
pub(super) struct QuerySource {
    /// The query and its text, if it is not the statement's own.
    pub other: Option<(Arc<str>, Arc<Query>)>,
    /// The columns that its rows are stored in.
    pub stored_in: Option<Arc<[AssignedColumn]>>,
}

impl QuerySource {
    /// The text in which places count, and the query.
    fn of<'a>(&'a self, statement: &'a Statement) -> Result<(&'a str, &'a Query), SqlError> {
        match &self.other {
            Some((text, query)) => Ok((text, query)),
            None => match statement.query() {
                Some(query) => Ok((statement.origin(), query)),
                None => Err(SqlError::unsupported("a statement without a query")),
            },
        }
    }
}

/// The parameters of a query that is executed.
#[derive(Clone)]
struct QueryParameters {
    types: Vec<Option<SqlType>>,
    values: Vec<Option<Value>>,
}

impl QueryParameters {
    /// `None` if the front end lacks one of their types.
    fn of(parameters: &BoundParameters) -> Option<Self> {
        let (types, values) = parameters.known()?;
        Some(Self {
            types: types.iter().copied().map(Some).collect(),
            values: values.iter().cloned().map(Some).collect(),
        })
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
    /// The types of `$1`, `$2`, …
    pub parameter_types: Vec<SqlType>,
    /// The tables that the query reads.
    pub tables: Vec<Arc<TableDef>>,
}

/// Why a query has no plan here.
pub(crate) enum NotPlanned {
    /// An error of the query, a value that matters, or what is left to the other planner (0A000).
    Left(NoPlan),
    /// It is unsupported (0A000), and reads system relations: the other planner has others, with other numbers.
    Refused(SqlError),
}

impl From<SqlError> for NotPlanned {
    fn from(error: SqlError) -> Self {
        Self::Left(error.into())
    }
}

/// What may be left to the other planner; what may not is the statement's error.
pub(super) fn unless_refused<T>(planned: Result<T, NotPlanned>) -> Result<Result<T, SqlError>, EngineError> {
    match planned {
        Ok(planned) => Ok(Ok(planned)),
        Err(NotPlanned::Left(reason)) => Ok(Err(reason.into_error())),
        Err(NotPlanned::Refused(error)) => Err(error.into()),
    }
}

/// The plan of a statement's query.
///
/// # Errors
/// As unsupported (0A000) what the front end lacks, the errors of the query, and a parameter or a varying constant whose value the plan
/// depends on.
pub(crate) fn plan_query(
    context: &StatementContext,
    statement: &Statement,
    constants: Constants<'_>,
) -> Result<PlannedQuery, NotPlanned> {
    plan_source(context, statement, &QuerySource::default(), constants)
}

/// The plan of a query of a statement, as [`plan_query`].
pub(super) fn plan_source(
    context: &StatementContext,
    statement: &Statement,
    source: &QuerySource,
    constants: Constants<'_>,
) -> Result<PlannedQuery, NotPlanned> {
    let tables = SnapshotTables::of(context);
    let planned = plan_over(context, &tables, statement, source, constants);
    let (query, literal_inputs, parameter_types) = planned.map_err(|reason| match reason {
        NoPlan::Error(error) if is_unsupported(&error) && tables.read_system() => NotPlanned::Refused(error),
        reason => NotPlanned::Left(reason),
    })?;
    Ok(PlannedQuery { query, literal_inputs, parameter_types, tables: tables.into_found() })
}

/// The plan of a query over these tables, its varying constants as they are read, and the types of its parameters.
fn plan_over(
    context: &StatementContext,
    tables: &SnapshotTables,
    statement: &Statement,
    source: &QuerySource,
    constants: Constants<'_>,
) -> Result<(LoweredQuery, Vec<Expression>, Vec<SqlType>), NoPlan> {
    let (text, query) = source.of(statement)?;
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
    on_deep_stack(statement.size().expressions, || {
        let mut query = query.clone();
        expand_calls(&mut query);
        rebind_all(&mut query);
        let mut binding = BoundStatement::new(text, &facts, tables).with_varying(varying);
        if let Some(types) = constants.parameter_types {
            binding = binding.with_parameters(types);
        }
        let bound = match &source.stored_in {
            Some(columns) => binding.binder().assigned_query(&query, columns),
            None => binding.binder().whole_query(&query),
        };
        let inputs = binding.literal_inputs();
        if let Some(literal) = binding.looked_at() {
            return Err(NoPlan::ValueMatters(literal.number));
        }
        let (mut bound, literal_inputs) = (bound?, inputs?);
        let parameter_types = binding.parameter_types()?;
        let mut values = constants.parameter_values.to_vec();
        if matches!(constants.literals, Literals::InPlace(_)) {
            values.resize(parameter_types.len().max(values.len()), Some(Value::Null));
        }
        bound.relation.put_parameters(&values);
        let kept = match constants.literals {
            Literals::InPlace(_) => facts.to_kept().with_names(context),
            Literals::Varying(_) => facts.to_kept(),
        };
        let session: Arc<dyn Session> = Arc::new(kept);
        let environment = Environment { session: &session, tables, purpose, numerics };
        let query = build(bound, binding.into_columns(), environment)?;
        Ok((query, literal_inputs, parameter_types))
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
