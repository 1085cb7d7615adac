//! The open database: one data directory with its device, buffer, store and memory budgets.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};
use std::time::Duration;

use braid_base::{ByteSize, SystemClock};
use braid_buffer::{BufferManager, BufferOptions};
use braid_catalog::ServerViewNames;
use braid_exec::{SpillSettings, SpillSpace};
use braid_io::{Device, durable, free_space};
use braid_plan::optimization::UniqueKeys;
use braid_storage::{Store, StoreOptions};
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::activity::ActiveSessions;
use crate::clock::read_clock_us;
use crate::interrupt::shutting_down;
use crate::memory::{QueryMemory, TotalMemory};
use crate::notifications::NotificationHub;
use crate::planning::PlanningThreads;
use crate::row_counters::RowCounters;
use crate::session_locks::Locks;
use crate::settings::SettingValues;
use crate::sharing::{Dispatcher, HeavyThreads, PassResources, ResultMemory, SharingFigures, sharing_views};
use crate::storage_views::storage_views;
use crate::system_views::SystemView;
use crate::templates::{TemplateCache, TemplateFigures, template_view};
use crate::upkeep_traces::UpkeepTraces;
use crate::{Config, EngineError, SqlState};

/// The directory of temporary files within the data directory. It is deleted and created again when the database opens.
const SPILL_DIRECTORY: &str = "spill";

/// Time that [`Database::close`] waits for statements to stop.
const CLOSE_WAIT_MAX: Duration = Duration::from_secs(5);

/// An open data directory. One process has it at a time.
pub struct Database {
    config: Config,
    device: Arc<dyn Device>,
    store: Arc<Store>,
    buffer: Arc<BufferManager>,
    memory: Arc<TotalMemory>,
    spill: Arc<SpillSpace>,
    planning_threads: PlanningThreads,
    templates: Arc<TemplateCache>,
    views: Arc<[Arc<dyn SystemView>]>,
    view_names: Arc<[ServerViewNames]>,
    upkeep_traces: UpkeepTraces,
    committed_count: AtomicI64,
    rolled_back_count: AtomicI64,
    dispatcher: Arc<Dispatcher>,
    notifications: Arc<NotificationHub>,
    locks: Arc<Locks>,
    sessions: ActiveSessions,
    /// Cancelled by [`Database::close`].
    shutdown: CancellationToken,
    /// The statements under way.
    statements: TaskTracker,
    next_session_id: AtomicI32,
    row_counters: RowCounters,
    started_us: i64,
}

impl Database {
    /// A database on a device, but for what computes the keys of its indexes.
    ///
    /// # Errors
    /// Those of [`Database::open_on`].
    pub(crate) fn assemble(device: Arc<dyn Device>, config: Config) -> Result<Arc<Self>, EngineError> {
        let options = StoreOptions { device: device.clone(), encode_threads: config.target_partitions.max(1) };
        let store = Store::open(&config.data_dir, options)?;
        let buffer = BufferManager::new(
            device.clone(),
            Arc::new(SystemClock::new()),
            BufferOptions {
                capacity: config.buffer,
                policy: config.policy,
                loads_in_flight_max: config.loads_in_flight_max,
            },
        );
        let memory = TotalMemory::new(config.total_memory);
        empty_spill_directory(&config.data_dir)?;
        let temporary_files = match config.temporary_files {
            Some(limit) => limit,
            None => ByteSize(free_space(&config.data_dir)?.0 / 2),
        };
        let spill = SpillSpace::new(
            device.clone(),
            config.data_dir.join(SPILL_DIRECTORY),
            temporary_files,
            SpillSettings::default(),
        );
        let partitions = config.target_partitions.max(1);
        let resources = PassResources {
            store: store.clone(),
            memory: memory.clone(),
            results: ResultMemory::of(memory.limit()),
            spill: spill.clone(),
            query_memory: config.query_memory,
            worker_count: partitions,
            unique_keys: UniqueKeys::default(),
        };
        let dispatcher = Dispatcher::new(resources, HeavyThreads::start(partitions).map_err(cannot_start_threads)?);
        let templates = Arc::new(TemplateCache::default());
        let mut views = sharing_views(&dispatcher);
        views.push(template_view(&templates));
        views.extend(storage_views(&store));
        let names = |view: &Arc<dyn SystemView>| ServerViewNames {
            name: view.name().to_owned(),
            columns: view.schema().fields().iter().map(|field| field.name().clone()).collect(),
        };
        Ok(Arc::new(Self {
            view_names: views.iter().map(names).collect(),
            upkeep_traces: UpkeepTraces::default(),
            committed_count: AtomicI64::new(0),
            rolled_back_count: AtomicI64::new(0),
            config,
            device,
            store,
            buffer,
            memory,
            spill,
            planning_threads: PlanningThreads::new(partitions),
            templates,
            views: views.into(),
            dispatcher,
            notifications: Arc::default(),
            locks: Arc::default(),
            sessions: ActiveSessions::default(),
            shutdown: CancellationToken::new(),
            statements: TaskTracker::new(),
            next_session_id: AtomicI32::new(1),
            row_counters: RowCounters::default(),
            started_us: read_clock_us(),
        }))
    }

    /// What its sessions do.
    pub(crate) fn sessions(&self) -> &ActiveSessions {
        &self.sessions
    }

    /// The templates of statements in numbers.
    pub fn template_figures(&self) -> TemplateFigures {
        self.templates.figures()
    }

    /// What queries do, alone and in passes.
    pub fn sharing_figures(&self) -> SharingFigures {
        self.dispatcher.figures()
    }

    /// What decides which queries run together.
    pub(crate) fn dispatcher(&self) -> &Arc<Dispatcher> {
        &self.dispatcher
    }

    /// The advisory locks of all sessions.
    pub(crate) fn locks(&self) -> &Arc<Locks> {
        &self.locks
    }

    /// The sessions that listen.
    pub(crate) fn notifications(&self) -> &Arc<NotificationHub> {
        &self.notifications
    }

    /// The templates of statements.
    pub(crate) fn templates(&self) -> &TemplateCache {
        &self.templates
    }

    /// The views of what the server does.
    pub(crate) fn system_views(&self) -> &Arc<[Arc<dyn SystemView>]> {
        &self.views
    }

    /// The names of these views and of their columns.
    pub(crate) fn view_names(&self) -> &Arc<[ServerViewNames]> {
        &self.view_names
    }

    /// Counts a transaction that has ended.
    pub(crate) fn count_transaction(&self, is_committed: bool) {
        let count = if is_committed { &self.committed_count } else { &self.rolled_back_count };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Transactions that were committed since the database was opened, and rolled back.
    pub(crate) fn transaction_counts(&self) -> (i64, i64) {
        (self.committed_count.load(Ordering::Relaxed), self.rolled_back_count.load(Ordering::Relaxed))
    }

    /// When tables were analyzed and vacuumed.
    pub(crate) fn upkeep_traces(&self) -> &UpkeepTraces {
        &self.upkeep_traces
    }

    /// The space of temporary files.
    pub fn spill_space(&self) -> &Arc<SpillSpace> {
        &self.spill
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The tables on disk.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The buffer all scans share.
    pub fn buffer(&self) -> &Arc<BufferManager> {
        &self.buffer
    }

    /// The disk.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// The total budget of all queries.
    pub fn memory(&self) -> &Arc<TotalMemory> {
        &self.memory
    }

    /// Refuses new statements, stops the running ones and waits for them, up to five seconds.
    pub fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.shutdown.cancel();
            self.statements.close();
            if tokio::time::timeout(CLOSE_WAIT_MAX, self.statements.wait()).await.is_err() {
                tracing::warn!(statements = self.statements.len(), "statements did not stop in time");
            }
            if let Err(error) = self.store.give_back_reserved_numbers() {
                tracing::warn!(%error, "sequences will leave out the numbers that were reserved");
            }
        })
    }

    /// Fails once the database is closing.
    pub(crate) fn check_open(&self) -> Result<(), EngineError> {
        if self.shutdown.is_cancelled() { Err(shutting_down()) } else { Ok(()) }
    }

    /// A number that no other session of this database has had.
    pub(crate) fn next_session_id(&self) -> i32 {
        self.next_session_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Sessions that were begun since the database was opened.
    pub(crate) fn session_count(&self) -> i64 {
        i64::from(self.next_session_id.load(Ordering::Relaxed)) - 1
    }

    /// Rows that statements have changed since the database was opened.
    pub(crate) fn row_counts(&self) -> &RowCounters {
        &self.row_counters
    }

    /// When it was opened, in microseconds since 1970-01-01 UTC.
    pub(crate) fn started_us(&self) -> i64 {
        self.started_us
    }

    /// Cancelled when the database closes.
    pub(crate) fn shutdown_token(&self) -> &CancellationToken {
        &self.shutdown
    }

    /// Number of running statements, including loads and COPYs, and statements with rows that are not fetched yet.
    pub fn running_statement_count(&self) -> usize {
        self.statements.len()
    }

    /// The runtime whose threads run heavy queries, beside the one that the database was opened in. For upkeep of those threads: what is
    /// spawned there waits behind queries.
    pub fn heavy_runtime(&self) -> Option<Handle> {
        self.dispatcher.heavy_threads().handle().cloned()
    }

    /// The statements under way.
    pub(crate) fn statements(&self) -> &TaskTracker {
        &self.statements
    }

    /// Where statements are planned.
    pub(crate) fn planning_threads(&self) -> &PlanningThreads {
        &self.planning_threads
    }

    /// Memory for one query.
    pub(crate) fn query_memory(&self, settings: &SettingValues) -> Arc<QueryMemory> {
        let budget = settings.get("braid.query_memory").and_then(|size| size.parse().ok());
        QueryMemory::new(budget.unwrap_or(self.config.query_memory), self.memory.clone())
    }

    /// Number of cores that one query may use.
    pub(crate) fn worker_count(&self, settings: &SettingValues) -> usize {
        let own = settings.get("braid.target_partitions").and_then(|count| count.parse().ok());
        own.unwrap_or(self.config.target_partitions).max(1)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // What runs in the background ends soon.
        self.shutdown.cancel();
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("data_dir", &self.config.data_dir).finish_non_exhaustive()
    }
}

/// Makes the directory for temporary files, without those of an earlier run.
fn empty_spill_directory(data_dir: &Path) -> Result<(), EngineError> {
    let spill = data_dir.join(SPILL_DIRECTORY);
    if spill.exists() {
        std::fs::remove_dir_all(&spill).map_err(|error| cannot_empty(&spill, error))?;
    }
    Ok(durable::create_dir_all(&spill)?)
}

/// That a directory cannot be emptied.
fn cannot_empty(path: &Path, error: std::io::Error) -> EngineError {
    EngineError::new(SqlState::IoError, format!("cannot remove directory \"{}\": {error}", path.display()))
}

fn cannot_start_threads(error: std::io::Error) -> EngineError {
    EngineError::new(SqlState::InsufficientResources, format!("cannot start threads for queries: {error}"))
}
