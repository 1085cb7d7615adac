//! Session state with the settings that suit Braid; where they differ from DataFusion's defaults, the reason stands
//! with the setting. What a session may change itself (time zone, catalog) is the engine's.

use std::sync::Arc;

use braid_exec::SpillSpace;
use datafusion::config::Dialect;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::optimizer::Analyzer;
use datafusion::prelude::SessionConfig;

use crate::corrected_rules::{optimizer_rules, physical_optimizer_rules};
use crate::numeric_coercion::NumericCoercion;
use crate::operators::{BraidQueryPlanner, OperatorSettings};

/// What the engine decides about a session.
#[derive(Clone)]
pub struct SessionSettings {
    /// Consumers of a scan, and partitions of the operators above it.
    pub target_partitions: usize,
    /// Rows of a batch.
    pub batch_rows: usize,
    /// Default catalog: the database's name.
    pub catalog: String,
    /// Memory pool, spill directory of DataFusion's operators, caches.
    pub runtime: Arc<RuntimeEnv>,
    /// Where Braid's operators put what does not fit into memory; nowhere without it.
    pub spill: Option<Arc<SpillSpace>>,
}

impl SessionSettings {
    /// Settings for `target_partitions` cores: batches of eight vectors, catalog `braid`.
    pub fn new(target_partitions: usize, runtime: Arc<RuntimeEnv>) -> Self {
        Self {
            target_partitions,
            batch_rows: braid_scan::spec::BATCH_ROWS,
            catalog: "braid".to_owned(),
            runtime,
            spill: None,
        }
    }

    /// The same, with a place for what does not fit into memory.
    #[must_use]
    pub fn with_spill_space(self, space: Arc<SpillSpace>) -> Self {
        Self { spill: Some(space), ..self }
    }
}

/// DataFusion's configuration for a session.
pub fn session_config(settings: &SessionSettings) -> SessionConfig {
    let mut config = SessionConfig::new()
        .with_target_partitions(settings.target_partitions)
        .with_batch_size(settings.batch_rows)
        .with_default_catalog_and_schema(&settings.catalog, "public")
        .with_information_schema(true)
        // Tables are column segments with statistics in the catalog: asking costs nothing.
        .with_collect_statistics(true)
        // A scan already has one consumer per core.
        .with_repartition_file_scans(false);
    let options = config.options_mut();
    options.sql_parser.dialect = Dialect::PostgreSQL;
    // `0.05` is numeric, as in PostgreSQL: exact, and comparable with numeric columns on encoded data.
    options.sql_parser.parse_float_as_decimal = true;
    options.extensions.insert(OperatorSettings::default());
    match &settings.spill {
        Some(space) => config.with_extension(space.clone()),
        None => config,
    }
}

/// A builder of a session's state, for the engine to add its catalogs, functions and rules to.
pub fn session_state_builder(settings: &SessionSettings) -> SessionStateBuilder {
    let mut analyzer_rules = Analyzer::new().rules;
    analyzer_rules.insert(0, Arc::new(NumericCoercion));
    SessionStateBuilder::new()
        .with_query_planner(Arc::new(BraidQueryPlanner))
        .with_analyzer_rules(analyzer_rules)
        .with_optimizer_rules(optimizer_rules())
        .with_physical_optimizer_rules(physical_optimizer_rules())
        .with_config(session_config(settings))
        .with_runtime_env(settings.runtime.clone())
        .with_default_features()
}

/// The state of a session with nothing added.
pub fn session_state(settings: &SessionSettings) -> SessionState {
    session_state_builder(settings).build()
}
