//! The session state that every statement's planner starts from: functions, types, rules, system tables.
//!
//! Made once for a database. What differs between statements (snapshot, time zone, partitions) is set on a copy.

use std::sync::Arc;

use arrow::datatypes::FieldRef;
use braid_buffer::BufferManager;
use braid_df::SessionSettings;
use braid_df::session::session_state_builder;
use braid_storage::Store;
use datafusion::catalog::SchemaProvider;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::context::{SessionContext, SessionState};
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::planner::{ExprPlanner, TypePlanner};
use datafusion::sql::sqlparser::ast::DataType as SqlType;
use datafusion_pg_catalog::pg_catalog::context::EmptyContextProvider;
use datafusion_pg_catalog::pg_catalog::oid_type_planner::PgOidTypePlanner;
use datafusion_pg_catalog::setup_pg_catalog;

use super::cooperation::Cooperation;
use super::watched_rules::{watched_analysis, watched_optimization};
use crate::catalog::snapshot_catalog::{CatalogList, DatabaseCatalog, SYSTEM_SCHEMA, Tables};
use crate::catalog::system_functions::system_functions;
use crate::catalog::system_tables::SystemTables;
use crate::catalog::system_views::SystemView;
use crate::clock::clock_function;
use crate::conversion::characters::chr_function;
use crate::conversion::date_fields::date_functions;
use crate::conversion::encoding::encode_function;
use crate::conversion::letter_case::case_functions;
use crate::conversion::zone_function::zone_function;
use crate::names::DATABASE_NAME;
use crate::semantics::analyzer_rules;
use crate::semantics::operator_chains::chain_functions;
use crate::semantics::operator_types::OperatorTypes;
use crate::semantics::plain_numeric::plain_numeric;
use crate::semantics::shown_cast::shown_cast;
use crate::sql_types::{column_type, field_of};
use crate::{EngineError, SqlState};

/// The state, and the system tables it was made with.
pub(crate) struct PlannerBase {
    /// The state to copy.
    pub state: SessionState,
    /// Schema `pg_catalog`.
    pub system: Arc<dyn SchemaProvider>,
}

impl PlannerBase {
    /// The base of a database's planners, with these views of its state.
    pub fn new(
        settings: &SessionSettings,
        store: &Arc<Store>,
        buffer: &Arc<BufferManager>,
        views: Vec<Arc<dyn SystemView>>,
    ) -> Result<Self, EngineError> {
        let tables = Tables::Newest(store.clone());
        let live = CatalogList::new(DatabaseCatalog::new(tables, buffer.clone(), None));
        let mut state = session_state_builder(settings).with_catalog_list(live.clone()).build();
        let options = state.config_mut().options_mut();
        // Errors point into the text.
        options.sql_parser.collect_spans = true;
        // DataFusion pushes what a join's keys say down by the names of columns, past joins whose sides share names, and
        // loses rows. Braid's joins tell their scans themselves.
        options.optimizer.enable_join_dynamic_filter_pushdown = false;
        let context = SessionContext::new_with_state(state);
        setup_pg_catalog(&context, DATABASE_NAME, EmptyContextProvider).map_err(|error| *error)?;
        let system = context
            .catalog(DATABASE_NAME)
            .and_then(|catalog| catalog.schema(SYSTEM_SCHEMA))
            .ok_or_else(|| EngineError::internal("the system tables were not registered"))?;
        context.register_udf(zone_function());
        context.register_udf(clock_function());
        context.register_udf(encode_function());
        context.register_udf(chr_function());
        for function in case_functions() {
            context.register_udf(function);
        }
        for function in date_functions() {
            context.register_udf(function);
        }
        context.register_udf(shown_cast());
        for function in chain_functions() {
            context.register_udf(function);
        }
        context.register_udf(plain_numeric());
        for function in system_functions(store) {
            context.register_udf(function);
        }
        let mut expr_planners: Vec<Arc<dyn ExprPlanner>> = vec![Arc::new(OperatorTypes)];
        expr_planners.extend(context.state().expr_planners().iter().cloned());
        let optimizer_rules = watched_optimization(context.state().optimizers());
        let state = SessionStateBuilder::new_from_existing(context.state())
            .with_expr_planners(expr_planners)
            .with_type_planner(Arc::new(TypeNames))
            .with_analyzer_rules(watched_analysis(analyzer_rules()))
            .with_optimizer_rules(optimizer_rules)
            .with_physical_optimizer_rule(Arc::new(Cooperation))
            .build();
        live.hold_system_weakly();
        Ok(Self { state, system: SystemTables::new(system, store.clone(), views) })
    }
}

/// PostgreSQL's type names in casts.
#[derive(Debug)]
struct TypeNames;

impl TypePlanner for TypeNames {
    fn plan_type_field(&self, sql_type: &SqlType) -> Result<Option<FieldRef>> {
        let error = match column_type(sql_type) {
            Ok(column_type) => return Ok(Some(field_of("", column_type, true))),
            Err(error) => error,
        };
        if matches!(sql_type, SqlType::Timestamp(..)) {
            return Err(DataFusionError::from(error));
        }
        match PgOidTypePlanner.plan_type_field(sql_type)? {
            Some(field) => Ok(Some(field)),
            // Arrays and times are not for columns, but DataFusion computes with them.
            None if error.state() == SqlState::FeatureNotSupported => Ok(None),
            None => Err(DataFusionError::from(error)),
        }
    }
}
