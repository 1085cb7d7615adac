//! One client's connection: its user, its settings, its transaction block; and which room each statement goes to.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use arrow::datatypes::DataType;
use braid_storage::Catalog;
use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::clock::{Instants, read_clock_us};
use crate::interrupt::Interrupt;
use crate::planning::Lane;
use crate::query::planner::Planner;
use crate::query::result_stream::OnFailure;
use crate::query::rewrite::SessionFacts;
use crate::query::{self, QuerySource, explain};
use crate::settings::values::Scope;
use crate::settings::{self, SettingValues};
use crate::statement::Command;
use crate::statement_limits::StatementSize;
use crate::transaction::{BlockEnd, Transaction};
use crate::{
    Database, EngineError, Outcome, Prepared, SqlState, Statement, StatementKind, TransactionStatus, copy, dml, table,
};

/// One client's connection. Cheap: it holds settings that were changed, and nothing else of size.
#[derive(Clone)]
pub struct Session {
    shared: Arc<Shared>,
}

struct Shared {
    database: Arc<Database>,
    user: String,
    id: i32,
    /// Settings and transaction block change together: at BEGIN and at a block's end.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    settings: SettingValues,
    transaction: Transaction,
    /// When the statement and its transaction began.
    instants: Instants,
}

impl State {
    /// Notes the time; in a block `now()` stays what it was at its beginning.
    fn begin_statement(&mut self) {
        let now_us = read_clock_us();
        self.instants.statement_us = now_us;
        if self.transaction.status() == TransactionStatus::Idle {
            self.instants.transaction_us = now_us;
        }
    }
}

impl Session {
    pub(crate) fn new(database: Arc<Database>, user: &str, id: i32) -> Self {
        Self { shared: Arc::new(Shared { database, user: user.to_owned(), id, state: Mutex::default() }) }
    }

    /// Reads `sql`, which may hold several statements; none for an empty text.
    ///
    /// Several statements sent together are one transaction in PostgreSQL. Here that is so as long as at most the last
    /// of them writes; anything else is refused, since what was written could not be undone.
    pub fn parse(&self, sql: &str) -> Result<Vec<Statement>, EngineError> {
        let statements = Statement::parse(sql).and_then(|statements| {
            check_implicit_block(&statements)?;
            Ok(statements)
        });
        statements.inspect_err(|_| self.fail_transaction())
    }

    /// The parameters' types and the columns of a statement, without running it. `None` in `param_types` asks for
    /// inference. The statement timeout ends it; so does dropping the future.
    pub fn prepare<'a>(
        &'a self,
        statement: &'a Statement,
        param_types: &'a [Option<DataType>],
    ) -> BoxFuture<'a, Result<Prepared, EngineError>> {
        Box::pin(async move {
            let database = &self.shared.database;
            let timeout_ms = self.settings().statement_timeout_ms();
            let interrupt = Interrupt::new(CancellationToken::new(), database.shutdown_token().clone(), timeout_ms);
            let prepared = interrupt.run(self.prepare_inner(statement, param_types)).await;
            prepared.inspect_err(|_| self.fail_transaction())
        })
    }

    async fn prepare_inner(&self, statement: &Statement, given: &[Option<DataType>]) -> Result<Prepared, EngineError> {
        self.shared.database.check_open()?;
        if !statement.kind().ends_transaction() {
            self.shared.state.lock().transaction.check_not_failed()?;
        }
        match statement.command() {
            Command::Sql(ast::Statement::Query(_)) if statement.kind() == StatementKind::Query => {
                query::prepare(self, statement, given).await
            }
            Command::Sql(ast::Statement::Explain { .. }) => explain::prepare(self, statement, given).await,
            Command::Sql(ast::Statement::Insert(insert)) => dml::prepare(self, statement, insert, given).await,
            Command::Sql(ast::Statement::ShowVariable { variable }) => {
                Ok(Prepared { parameter_types: Vec::new(), schema: Some(settings::statements::show_schema(variable)) })
            }
            _ => Ok(Prepared { parameter_types: Vec::new(), schema: None }),
        }
    }

    /// Runs a statement. `params` are the values of `$1`, `$2`, …; `cancel` stops it, and later its stream.
    pub fn execute<'a>(
        &'a self,
        statement: &'a Statement,
        params: Vec<ScalarValue>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Outcome, EngineError>> {
        Box::pin(async move {
            let outcome = self.execute_inner(statement, &params, cancel).await;
            outcome.inspect_err(|_| self.fail_transaction())
        })
    }

    async fn execute_inner(
        &self,
        statement: &Statement,
        params: &[ScalarValue],
        cancel: CancellationToken,
    ) -> Result<Outcome, EngineError> {
        let database = &self.shared.database;
        database.check_open()?;
        let timeout_ms = {
            let mut state = self.shared.state.lock();
            if !statement.kind().ends_transaction() {
                state.transaction.check_not_failed()?;
            }
            state.begin_statement();
            state.settings.statement_timeout_ms()
        };
        let interrupt = Interrupt::new(cancel, database.shutdown_token().clone(), timeout_ms);
        let running = database.statements().token();
        let outcome = interrupt.run(self.dispatch(statement, params, &interrupt)).await;
        drop(running);
        outcome
    }

    async fn dispatch(
        &self,
        statement: &Statement,
        params: &[ScalarValue],
        interrupt: &Interrupt,
    ) -> Result<Outcome, EngineError> {
        use ast::Statement as S;
        let kind = statement.kind();
        if kind.writes() {
            self.check_may_write(statement)?;
        }
        match statement.command() {
            Command::Copy(copy) => copy::execute(self, statement, copy, interrupt).await,
            Command::CreateTableWithoutData(create) => {
                table::create_table_as(self, statement, create, table::Rows::None).await
            }
            Command::Sql(command) => match command {
                S::Query(_) if kind == StatementKind::Query => {
                    query::execute(self, statement, QuerySource::Statement, params, interrupt).await
                }
                S::Explain { .. } => explain::execute(self, statement, params, interrupt).await,
                S::Insert(insert) => dml::execute(self, statement, insert, params).await,
                S::CreateTable(create) if create.query.is_some() => {
                    table::create_table_as(self, statement, create, table::Rows::All).await
                }
                S::CreateTable(create) => table::create_table(self, create).await,
                S::Drop { names, if_exists, cascade, .. } if kind == StatementKind::DropTable => {
                    table::drop_tables(self, names, *if_exists, *cascade).await
                }
                S::Set(set) => settings::statements::set(self, set),
                S::ShowVariable { variable } => settings::statements::show(self, variable),
                S::Reset(reset) => settings::statements::reset(self, &reset.reset),
                S::Discard { .. } => settings::statements::discard(self),
                S::Close { .. } => Ok(Outcome::done("CLOSE CURSOR ALL")),
                S::UNLISTEN { .. } => Ok(Outcome::done("UNLISTEN")),
                S::Deallocate { .. } => {
                    let of_all = statement.deallocates() == Some(None);
                    Ok(Outcome::done(if of_all { "DEALLOCATE ALL" } else { "DEALLOCATE" }))
                }
                S::StartTransaction { modes, begin, .. } => settings::statements::begin(self, modes, *begin),
                S::Commit { chain, .. } => self.end_block(*chain, Transaction::commit, "COMMIT"),
                S::Rollback { chain, savepoint: None } => self.end_block(*chain, Transaction::roll_back, "ROLLBACK"),
                other => Err(unsupported_statement(other)),
            },
        }
    }

    fn end_block(&self, chain: bool, end: fn(&mut Transaction) -> BlockEnd, tag: &str) -> Result<Outcome, EngineError> {
        if chain {
            return Err(EngineError::unsupported("AND CHAIN is not supported"));
        }
        let mut state = self.shared.state.lock();
        match end(&mut state.transaction) {
            BlockEnd::Committed => state.settings.commit(),
            BlockEnd::RolledBack => {
                state.settings.roll_back();
                return Ok(Outcome::done("ROLLBACK"));
            }
            BlockEnd::NoBlock => {}
        }
        Ok(Outcome::done(tag))
    }

    /// BEGIN, with whether the block only reads.
    pub(crate) fn begin_block(&self, read_only: bool) {
        let mut state = self.shared.state.lock();
        if state.transaction.status() == TransactionStatus::Idle {
            state.settings.begin();
        }
        state.transaction.begin(read_only);
    }

    /// SET TRANSACTION READ ONLY.
    pub(crate) fn restrict_block_to_reads(&self) {
        self.shared.state.lock().transaction.restrict_to_reads();
    }

    fn check_may_write(&self, statement: &Statement) -> Result<(), EngineError> {
        let state = self.shared.state.lock();
        let read_only = state.settings.get("default_transaction_read_only") == Some("on");
        state.transaction.check_may_write(write_name(statement.kind()), read_only)
    }

    /// Where the session stands, for ReadyForQuery.
    pub fn transaction_status(&self) -> TransactionStatus {
        self.shared.state.lock().transaction.status()
    }

    /// Puts an open transaction block into its failed state: for errors that happen outside the engine, such as a
    /// parameter that does not decode. Without a block it does nothing.
    pub fn fail_transaction(&self) {
        self.shared.state.lock().transaction.fail();
    }

    /// [`Self::fail_transaction`], for rows that fail after the statement has answered.
    pub(crate) fn on_failure(&self) -> OnFailure {
        let session = self.clone();
        Arc::new(move || session.fail_transaction())
    }

    /// How long the session may wait for its client now: in a transaction block, as long as it was set.
    pub fn idle_ms_max(&self) -> Option<u64> {
        match self.transaction_status() {
            TransactionStatus::Idle => None,
            _ => self.settings().idle_in_transaction_timeout_ms(),
        }
    }

    /// The value of a setting as SHOW prints it; `None` for an unknown one.
    pub fn setting(&self, name: &str) -> Option<String> {
        settings::statements::value(self, settings::definition(name).ok()?)
    }

    /// Sets a setting for the session, as `SET name = value` does: for what a client asks for when it connects.
    pub fn set_setting(&self, name: &str, value: &str) -> Result<(), EngineError> {
        settings::statements::assign(self, name, Some(value), Scope::Session)
    }

    /// The settings that PostgreSQL reports to clients whenever they change (ParameterStatus), with their values.
    pub fn reported_settings(&self) -> Vec<(&'static str, String)> {
        let reported = settings::DEFINITIONS.iter().filter(|definition| definition.reported);
        reported
            .filter_map(|definition| Some((definition.name, settings::statements::value(self, definition)?)))
            .collect()
    }

    /// Who is connected.
    pub fn user(&self) -> &str {
        &self.shared.user
    }

    /// A number that no other session of this database has had.
    pub fn id(&self) -> i32 {
        self.shared.id
    }

    /// The database it is connected to.
    pub fn database(&self) -> &Arc<Database> {
        &self.shared.database
    }

    /// The snapshot that the next statement reads.
    pub(crate) fn snapshot(&self) -> Arc<Catalog> {
        let store = self.shared.database.store();
        self.shared.state.lock().transaction.snapshot(|| store.snapshot())
    }

    /// The settings as they are now.
    pub(crate) fn settings(&self) -> SettingValues {
        self.shared.state.lock().settings.clone()
    }

    /// Changes the settings.
    pub(crate) fn change_settings(&self, change: impl FnOnce(&mut SettingValues)) {
        change(&mut self.shared.state.lock().settings);
    }

    /// Runs the planning of a statement of this size on a planning thread.
    pub(crate) async fn plan_apart<T, F, W>(&self, size: StatementSize, work: W) -> Result<T, EngineError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, EngineError>>,
        W: FnOnce(Self) -> F + Send + 'static,
    {
        let session = self.clone();
        let lane = if size.is_large() { Lane::Large } else { Lane::Small };
        self.shared.database.planning_threads().run(lane, move || work(session)).await
    }

    /// A planner for a statement of this session, and the snapshot it plans on.
    pub(crate) fn planner(&self) -> (Planner, Arc<Catalog>) {
        let snapshot = self.snapshot();
        let planner = self.shared.database.planner(&snapshot, &self.settings());
        let in_block = self.transaction_status() != TransactionStatus::Idle;
        let is_old = in_block && snapshot.sequence() != self.shared.database.store().snapshot().sequence();
        (planner.with_newer_system_tables(is_old), snapshot)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.shared.id).field("user", &self.shared.user).finish_non_exhaustive()
    }
}

impl SessionFacts for Session {
    fn user(&self) -> &str {
        &self.shared.user
    }

    fn session_id(&self) -> i32 {
        self.shared.id
    }

    fn setting(&self, name: &str) -> Option<String> {
        Self::setting(self, name)
    }

    fn instants(&self) -> Instants {
        self.shared.state.lock().instants
    }
}

fn write_name(kind: StatementKind) -> &'static str {
    match kind {
        StatementKind::Insert => "INSERT",
        StatementKind::CopyFrom => "COPY FROM",
        StatementKind::CreateTable => "CREATE TABLE",
        _ => "DROP TABLE",
    }
}

/// See [`Session::parse`].
fn check_implicit_block(statements: &[Statement]) -> Result<(), EngineError> {
    let Some((_, earlier)) = statements.split_last() else { return Ok(()) };
    match earlier.iter().find(|statement| statement.kind().writes()) {
        None => Ok(()),
        Some(write) => Err(EngineError::new(
            SqlState::FeatureNotSupported,
            format!(
                "{} followed by another statement in one message is not supported: the statements would be one \
                 transaction",
                write_name(write.kind())
            ),
        )
        .with_hint("Send each statement in a message of its own.")),
    }
}

/// The refusal of a statement, with its name.
fn unsupported_statement(statement: &ast::Statement) -> EngineError {
    use ast::Statement as S;
    let what = match statement {
        S::Update(_) => "UPDATE",
        S::Delete(_) => "DELETE",
        S::Merge(_) => "MERGE",
        S::Truncate(_) => "TRUNCATE",
        S::Savepoint { .. } | S::ReleaseSavepoint { .. } | S::Rollback { .. } => "SAVEPOINT",
        S::Prepare { .. } | S::Execute { .. } => {
            return EngineError::unsupported("PREPARE and EXECUTE as statements are not supported")
                .with_hint("Prepare statements through the protocol, as drivers do.");
        }
        S::Declare { .. } | S::Fetch { .. } | S::Open(_) => {
            return EngineError::unsupported("cursors are not supported inside the engine")
                .with_hint("Use DECLARE and FETCH over the wire protocol, alone in a message.");
        }
        S::LISTEN { .. } => "LISTEN",
        S::NOTIFY { .. } => "NOTIFY",
        other => {
            let text = other.to_string();
            let words: Vec<&str> = text.split_whitespace().take(2).collect();
            let name = words.join(" ").to_uppercase();
            return EngineError::unsupported(format!("{name} is not supported"));
        }
    };
    EngineError::unsupported(format!("{what} is not supported yet"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_sent_together_may_write_last() {
        for (sql, allowed) in [
            ("insert into t values (1)", true),
            ("select 1; select 2", true),
            ("set timezone = 'UTC'; insert into t values (1)", true),
            ("insert into t values (1); insert into t values (2)", false),
            ("create table t (a int); select 1", false),
        ] {
            let checked = check_implicit_block(&Statement::parse(sql).unwrap());
            assert_eq!(checked.is_ok(), allowed, "{sql}");
        }
    }

    #[test]
    fn refusals_name_the_statement() {
        for (sql, words) in [
            ("update t set a = 1", "UPDATE is not supported yet"),
            ("delete from t", "DELETE is not supported yet"),
            ("create view v as select 1", "CREATE VIEW is not supported"),
            ("create index on t (a)", "CREATE INDEX is not supported"),
            ("alter table t add column b int", "ALTER TABLE is not supported"),
            ("savepoint a", "SAVEPOINT is not supported yet"),
        ] {
            let statement = Statement::parse(sql).unwrap().remove(0);
            let Command::Sql(tree) = statement.command() else { panic!("{sql}") };
            let error = unsupported_statement(tree);
            assert_eq!((error.sqlstate(), error.message()), ("0A000", words));
        }
    }
}
