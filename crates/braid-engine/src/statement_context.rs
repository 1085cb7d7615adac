//! What a statement needs of its session: the database, the user, the settings, the transaction, the time.
//!
//! | module | contents |
//! |---|---|
//! | [`settings`] | the settings of the session |
//! | [`transactions`] | the beginning and the end of blocks, messages and savepoints |
//! | [`identity`] | who the session is: its roles |
//! | `backends` | the session among all others |
//! | `row_locks`, [`locks`] | locks of rows that a statement reads, and of tables and numbers |
//! | [`schemas`] | where names are looked up, and the temporary schema |
//! | `sequences` | the numbers of sequences |
//! | [`writes`] | what statements read and change in their transaction |
//!
//! The rooms of the statements act on this; the session above them chooses the room for each statement.

mod backends;
mod identity;
mod locks;
mod row_locks;
mod schemas;
mod sequences;
mod settings;
mod transactions;
mod writes;

use identity::Login;
use locks::Attempt;
pub(crate) use locks::Preparation;
pub(crate) use transactions::Characteristics;
pub(crate) use writes::{RenumberedRow, RowChange};

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use braid_base::TableId;
use braid_exec::MemoryBudget;
use braid_sql::functions::numbers::random::SessionRandom;
use braid_sql::functions::text_input::ReadingSession;
use parking_lot::Mutex;
use sqlparser::ast::OnCommit;
use tokio::runtime::Handle;

use crate::activity::Activity;
use crate::clock::{Instants, read_clock_us};
use crate::database::Database;
use crate::interrupt::OnFailure;
use crate::named_cursors::NamedCursors;
use crate::named_statements::NamedStatements;
use crate::notices::{Notice, Notices};
use crate::notifications::SessionNotifications;
use crate::planning::Lane;
use crate::session_locks::SessionLocks;
use crate::session_sequences::SessionSequences;
use crate::settings::SettingValues;
use crate::statement::FormerReading;
use crate::statement_limits::StatementSize;
use crate::statement_times::StatementClock;
use crate::transaction::{AccessMode, Transaction};
use crate::{EngineError, StatementKind, TransactionStatus};

/// The context of a session's statements. Cheap to clone: it holds settings that were changed, and nothing else of size.
#[derive(Clone)]
pub(crate) struct StatementContext {
    shared: Arc<Shared>,
    /// Of a planner: the attempt that it plans.
    planned: Option<u64>,
    /// Of a prepared statement: how its literals were read, where that is not how they are read now.
    former_reading: Option<Arc<FormerReading>>,
}

struct Shared {
    database: Arc<Database>,
    login: Login,
    session_id: i32,
    random: SessionRandom,
    notices: Notices,
    named_statements: NamedStatements,
    named_cursors: Arc<NamedCursors>,
    notifications: Arc<SessionNotifications>,
    locks: SessionLocks,
    sequences: SessionSequences,
    times: StatementClock,
    activity: Activity,
    /// Where the session's temporary tables are dropped when it ends.
    runtime: Option<Handle>,
    /// When it began, in microseconds since 1970-01-01 UTC.
    started_us: i64,
    /// Settings and transaction block change together: at BEGIN and at a block's end.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    settings: SettingValues,
    transaction: Transaction,
    /// The statement that is executed or planned, if it may begin anew.
    attempt: Option<Attempt>,
    /// Attempts of the session so far.
    attempt_count: u64,
    /// What the client has sent together, while it is executed.
    message: Option<Message>,
    /// When the statement and its transaction began.
    instants: Instants,
    /// What becomes of temporary tables when a transaction commits.
    on_commit: BTreeMap<TableId, OnCommit>,
}

/// Statements that were sent together.
#[derive(Debug)]
struct Message {
    scope: MessageScope,
    /// When it was received, in microseconds since 1970-01-01 UTC.
    received_us: i64,
    /// When its transaction began; `None` before its first statement.
    transaction_us: Option<i64>,
    has_failed: bool,
}

/// Which statements of a message are one transaction, outside of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageScope {
    /// Each by itself: there is only one.
    Statement,
    /// All of them.
    Message,
}

impl State {
    /// Whether changes stay until a later commit.
    fn is_in_transaction(&self) -> bool {
        let is_message = |message: &Message| message.scope == MessageScope::Message;
        self.transaction.status() != TransactionStatus::Idle || self.message.as_ref().is_some_and(is_message)
    }

    /// Failed blocks run no statement but the one that ends them.
    fn check_may_run(&self, kind: StatementKind) -> Result<(), EngineError> {
        if kind.ends_failure() {
            return Ok(());
        }
        if self.transaction.renames_types() {
            let message = "statements after ALTER TYPE … RENAME in the same transaction are not supported";
            return Err(EngineError::unsupported(message).with_hint("Commit the transaction first."));
        }
        self.transaction.check_not_failed()
    }

    /// Notes the time; in a block and in a message `now()` stays what it was at the beginning.
    fn note_time(&mut self) {
        let now_us = self.message.as_ref().map_or_else(read_clock_us, |message| message.received_us);
        self.instants.statement_us = now_us;
        if self.transaction.status() == TransactionStatus::Idle {
            let message_us = self.message.as_mut().map(|message| *message.transaction_us.get_or_insert(now_us));
            self.instants.transaction_us = message_us.unwrap_or(now_us);
        }
    }

    /// The next statement of the message, if there is one, begins another transaction.
    fn divide_message(&mut self) {
        if let Some(message) = &mut self.message {
            message.transaction_us = None;
            self.settings.begin();
        }
    }
}

impl StatementContext {
    /// The context of a new session.
    pub fn new(database: Arc<Database>, user: &str, session_id: i32) -> Self {
        let snapshot = database.store().snapshot();
        let login = Login::of(user, snapshot.access());
        let (random, state) = (SessionRandom::default(), Mutex::default());
        let (notices, named_statements, sequences) = Default::default();
        let notifications = Arc::new(SessionNotifications::new(session_id, database.notifications().clone()));
        let locks = SessionLocks::new(session_id, database.locks().clone());
        let started_us = read_clock_us();
        let context = Self {
            shared: Arc::new(Shared {
                database,
                login,
                session_id,
                random,
                notices,
                named_statements,
                named_cursors: Arc::default(),
                notifications,
                locks,
                sequences,
                times: StatementClock::default(),
                activity: Activity::default(),
                runtime: Handle::try_current().ok(),
                started_us,
                state,
            }),
            planned: None,
            former_reading: None,
        };
        context.begin_with_kept_settings();
        context
    }

    /// The database.
    pub fn database(&self) -> &Arc<Database> {
        &self.shared.database
    }

    /// The name of the database.
    pub fn database_name(&self) -> &str {
        &self.shared.database.config().database_name
    }

    /// A number that no other session of this database has had.
    pub fn session_id(&self) -> i32 {
        self.shared.session_id
    }

    /// The generator of `random()`.
    pub fn random(&self) -> &SessionRandom {
        &self.shared.random
    }

    /// Tells the client something, if its settings let it know.
    pub fn raise(&self, notice: Notice) {
        self.shared.notices.raise(notice, self.settings().get("client_min_messages"));
    }

    /// What the client is to be told.
    pub fn notices(&self) -> &Notices {
        &self.shared.notices
    }

    /// The session's part in LISTEN and NOTIFY.
    pub fn notifications(&self) -> &Arc<SessionNotifications> {
        &self.shared.notifications
    }

    /// What the session was given of sequences.
    pub fn sequences(&self) -> &SessionSequences {
        &self.shared.sequences
    }

    /// Whether no transaction is under way: neither a block nor what the client has sent together.
    pub fn is_between_transactions(&self) -> bool {
        let state = self.shared.state.lock();
        state.message.is_none() && state.transaction.status() == TransactionStatus::Idle
    }

    /// The prepared statements that have names.
    pub fn named_statements(&self) -> &NamedStatements {
        &self.shared.named_statements
    }

    /// Whether a statement of this kind may run: not in a database that closes, and only to end a block that has failed.
    pub fn check_may_run(&self, kind: StatementKind) -> Result<(), EngineError> {
        self.database().check_open()?;
        self.check_login()?;
        self.shared.state.lock().check_may_run(kind)
    }

    /// [`Self::check_may_run`], and notes the time at which the statement begins.
    pub fn begin_statement(&self, kind: StatementKind) -> Result<(), EngineError> {
        self.database().check_open()?;
        self.check_login()?;
        let mut state = self.shared.state.lock();
        state.check_may_run(kind)?;
        state.note_time();
        self.sequences().begin_statement();
        if kind.begins_transaction() {
            state.transaction.note_begun();
        }
        Ok(())
    }

    /// When the statement and its transaction began.
    pub fn instants(&self) -> Instants {
        self.shared.state.lock().instants
    }

    /// Where and when the texts of the statement are read that is executed.
    pub fn reading(&self) -> ReadingSession {
        let state = self.shared.state.lock();
        let (zone, formats) = (state.settings.zone(), state.settings.formats());
        ReadingSession { zone, now_us: state.instants.transaction_us, formats }
    }

    /// The same of a statement that is prepared. Outside of a block it begins the transaction of the message.
    pub fn reading_to_prepare(&self) -> ReadingSession {
        let mut state = self.shared.state.lock();
        let is_idle = state.transaction.status() == TransactionStatus::Idle;
        let now_us = match &mut state.message {
            Some(message) if is_idle => *message.transaction_us.get_or_insert(message.received_us),
            None if is_idle => read_clock_us(),
            _ => state.instants.transaction_us,
        };
        ReadingSession { zone: state.settings.zone(), now_us, formats: state.settings.formats() }
    }

    /// The same context for binding a statement whose literals were read before.
    pub fn with_former_reading(&self, former: Arc<FormerReading>) -> Self {
        Self { former_reading: Some(former), ..self.clone() }
    }

    /// How literals were read, where that is not how they are read now.
    pub fn former_reading(&self) -> Option<&FormerReading> {
        self.former_reading.as_deref()
    }

    /// A query budget for the values of a statement that no operators compute.
    pub fn value_budget(&self) -> Arc<dyn MemoryBudget> {
        self.database().query_memory(&self.settings())
    }

    /// The access mode of new transactions.
    pub fn default_access_mode(&self) -> AccessMode {
        access_mode_of(&self.shared.state.lock().settings)
    }

    /// Where the session stands, for ReadyForQuery.
    pub fn transaction_status(&self) -> TransactionStatus {
        self.shared.state.lock().transaction.status()
    }

    /// [`Self::fail_transaction`], for rows that fail after the statement has answered.
    pub fn on_failure(&self) -> OnFailure {
        let context = self.clone();
        Arc::new(move || context.fail_transaction())
    }

    /// The cursors of the session.
    pub fn named_cursors(&self) -> &Arc<NamedCursors> {
        &self.shared.named_cursors
    }

    /// What the session does, for others.
    pub fn activity(&self) -> &Activity {
        &self.shared.activity
    }

    /// Where the time of the session's statements goes.
    pub fn times(&self) -> &StatementClock {
        &self.shared.times
    }

    /// Runs what may take long on the planning thread for that, after what else waits for it.
    pub async fn plan_alone<T, F, W>(&self, work: W) -> Result<T, EngineError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, EngineError>>,
        W: FnOnce(Self) -> F + Send + 'static,
    {
        let context = self.of_planner();
        self.database().planning_threads().run(Lane::Large, move || work(context)).await
    }

    /// Runs the planning of a statement of this size on a planning thread.
    pub async fn plan_apart<T, F, W>(&self, size: StatementSize, work: W) -> Result<T, EngineError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, EngineError>>,
        W: FnOnce(Self) -> F + Send + 'static,
    {
        let context = self.of_planner();
        let lane = if size.is_large() { Lane::Large } else { Lane::Small };
        self.times().of_planning(self.database().planning_threads().run(lane, move || work(context))).await
    }
}

impl fmt::Debug for StatementContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { login, session_id, .. } = &*self.shared;
        f.debug_struct("StatementContext")
            .field("session_id", session_id)
            .field("user", &login.name)
            .finish_non_exhaustive()
    }
}

fn access_mode_of(settings: &SettingValues) -> AccessMode {
    match settings.get("default_transaction_read_only") {
        Some("on") => AccessMode::ReadOnly,
        _ => AccessMode::ReadWrite,
    }
}
