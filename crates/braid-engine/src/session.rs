//! One client's connection: its statements, each parsed, prepared and dispatched to its room; and what a server asks of it.
//!
//! [`named`] has PREPARE and EXECUTE, `prepared_literals` what the literals of prepared statements mean, `told` which columns their clients were
//! told, `listening` what the session is notified of.

mod code_block;
mod listening;
mod named;
mod prepared_literals;
mod told;

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use braid_catalog::Encryption;
use braid_sql::Formats;
use braid_sql::encodings::Encoding;
use braid_storage::TableDef;
use futures::future::BoxFuture;
use sqlparser::ast;
use tokio_util::sync::CancellationToken;

use crate::absent_objects::drop_absent;
use crate::access::told;
use crate::altered_relations::{alter_relation, rename_index};
use crate::bound_parameters::BoundParameters;
use crate::dependents::Behavior;
use crate::enum_types::DroppedKind;
use crate::front_end::{Described, StatementFacts};
use crate::interrupt::Interrupt;
use crate::parameter_value::SentValue;
use crate::recall::SharedForm;
use crate::session_control::Chain;
use crate::settings::{DEFINITIONS, Report, Scope, SettingSource, SettingsStamp};
use crate::statement::{Command, ObjectChange, Refused, SequenceKind, SequenceStatement, Tokens};
use crate::statement_context::{MessageScope, Preparation, StatementContext};
use crate::table_names::{Named, named_table};
use crate::{
    Database, EngineError, NamedCursors, Notice, Outcome, ParameterType, ParameterValue, Prepared, Statement,
    StatementKind, StatementTimes, TransactionStatus, code_blocks, comments, copy, dml, domains, enum_types, front_end,
    grants, maintenance, owners, permissions, recall, relocation, roles, schemas, sequences, session_control,
    storage_hints, table, views,
};

/// One client's connection: its user, its settings, its transaction block. Cheap to clone and to keep.
#[derive(Clone)]
pub struct Session {
    pub(crate) context: StatementContext,
}

impl Database {
    /// A session for `user`.
    pub fn session(self: &Arc<Self>, user: &str) -> Session {
        let context = StatementContext::new(self.clone(), user, self.next_session_id());
        context.enter_sessions();
        Session { context }
    }
}

impl Session {
    /// Reads `sql`, which may hold several statements; none for an empty text.
    pub fn parse(&self, sql: &str) -> Result<Vec<Statement>, EngineError> {
        self.parse_or_recall(sql).inspect_err(|_| self.fail_transaction())
    }

    /// A text whose template has a plan is not parsed.
    fn parse_or_recall(&self, sql: &str) -> Result<Vec<Statement>, EngineError> {
        let tokens = Tokens::of(sql)?;
        tokens.cut_names().for_each(|notice| self.context.raise(notice));
        let scanned = match tokens.scanned() {
            Some(scanned) if recall::is_known(&self.context, &scanned) => {
                return Ok(vec![Statement::recalled(sql, scanned)]);
            }
            scanned => scanned,
        };
        tokens.parse_scanned(scanned)
    }

    /// The parameters' types and the columns of a statement, without running it. `None` in `param_types` asks for
    /// inference. The statement timeout ends it; so does dropping the future.
    pub fn prepare<'a>(
        &'a self,
        statement: &'a Statement,
        param_types: &'a [Option<ParameterType>],
    ) -> BoxFuture<'a, Result<Prepared, EngineError>> {
        Box::pin(async move {
            self.note_prepared(statement);
            let interrupt = self.interrupt(CancellationToken::new());
            let _preparation = Preparation(&self.context);
            let prepared =
                interrupt.run(self.context.times().of_planning(self.prepare_unlocked(statement, param_types))).await;
            prepared.inspect_err(|_| self.fail_transaction())
        })
    }

    /// Prepares a statement, anew if it finds tables locked.
    async fn prepare_unlocked(
        &self,
        statement: &Statement,
        declared: &[Option<ParameterType>],
    ) -> Result<Prepared, EngineError> {
        let mut attempts = self.context.attempts(statement.kind());
        loop {
            attempts.begin();
            let prepared = self.prepare_inner(statement, declared).await;
            if let ControlFlow::Break(prepared) = attempts.end(prepared).await {
                return prepared;
            }
        }
    }

    async fn prepare_inner(
        &self,
        statement: &Statement,
        declared: &[Option<ParameterType>],
    ) -> Result<Prepared, EngineError> {
        let context = &self.context;
        context.check_may_run(statement.kind())?;
        if let Some(known) = statement.scanned().and_then(|scanned| recall::described(context, scanned, declared)) {
            return Ok(known);
        }
        let statement = &statement.parsed()?;
        let (prepared, tables) = Box::pin(self.describe(statement, declared)).await?;
        if let (Some(scanned), Some(tables)) = (statement.scanned(), tables) {
            recall::keep_description(context, scanned, declared, tables, &prepared);
        }
        Ok(prepared)
    }

    /// The parameters and columns of a parsed statement, and of a query the tables that they depend on.
    async fn describe(
        &self,
        statement: &Statement,
        declared: &[Option<ParameterType>],
    ) -> Result<(Prepared, Option<Vec<Arc<TableDef>>>), EngineError> {
        let context = &self.context;
        if let Command::Sql(ast::Statement::Query(_)) = statement.command()
            && statement.kind() == StatementKind::Query
            && statement.command().query_in_parts().is_none()
        {
            let Described { prepared, tables } = front_end::describe(context, statement, declared).await?;
            return Ok((prepared, Some(tables)));
        }
        Ok((Box::pin(self.describe_other(statement, declared)).await?, None))
    }

    /// The same of all but plain queries.
    async fn describe_other(
        &self,
        statement: &Statement,
        declared: &[Option<ParameterType>],
    ) -> Result<Prepared, EngineError> {
        let context = &self.context;
        if let Some(query) = statement.command().query_in_parts() {
            return dml::prepare_parts(context, statement, query, declared).await;
        }
        match statement.command() {
            Command::Sql(ast::Statement::Execute { .. }) => self.describe_execution(statement, declared),
            Command::Sql(ast::Statement::Explain { .. }) => self.describe_explanation(statement, declared).await,
            Command::Sql(ast::Statement::Insert(insert)) => {
                dml::prepare(context, statement, (None, insert), declared).await
            }
            Command::Sql(ast::Statement::Update(update)) => {
                dml::prepare_update(context, statement, (None, update), declared).await
            }
            Command::Sql(ast::Statement::Delete(delete)) => {
                dml::prepare_delete(context, statement, (None, delete), declared).await
            }
            Command::Sql(ast::Statement::Merge(merge)) => dml::prepare_merge(context, statement, merge, declared).await,
            Command::Sql(ast::Statement::CreateTable(create)) | Command::CreateTableWithoutData(create)
                if create.query.is_some() =>
            {
                // Its rows go into the table.
                let described = front_end::describe(context, statement, declared).await?;
                Ok(Prepared { schema: None, ..described.prepared })
            }
            Command::View(view) => views::prepare(context, statement, view, declared).await,
            Command::Sql(ast::Statement::Query(query)) => prepare_change(context, statement, query, declared).await,
            Command::Sql(ast::Statement::ShowVariable { variable }) => {
                Ok(Prepared { parameter_types: Vec::new(), schema: Some(session_control::show_schema(variable)) })
            }
            _ => Ok(Prepared { parameter_types: Vec::new(), schema: None }),
        }
    }

    /// The value of a parameter that has a type with this oid, as a client has sent it, `None` for null.
    ///
    /// # Errors
    /// For what is no value of the type; as unsupported (0A000) for a type without values here.
    pub fn read_parameter(&self, oid: u32, sent: Option<SentValue<'_>>) -> Result<ParameterValue, EngineError> {
        let read = ParameterValue::read(oid, sent, &StatementFacts::of(&self.context));
        read.inspect_err(|_| self.fail_transaction())
    }

    /// Runs a statement. `params` are the values of `$1`, `$2`, …; `cancel` stops it, and later its stream.
    pub fn execute<'a>(
        &'a self,
        statement: &'a Statement,
        params: Vec<ParameterValue>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Outcome, EngineError>> {
        Box::pin(async move {
            let _rest = Rest(&self.context);
            let outcome = self.execute_inner(statement, &params, cancel).await;
            let outcome = outcome.map_err(|error| self.context.retry_before_duplicate(error));
            let outcome = outcome.map_err(|error| told(&self.context, error));
            if outcome.is_err() {
                self.fail_transaction();
            }
            self.end_transaction_of(&outcome);
            outcome
        })
    }

    async fn execute_inner(
        &self,
        statement: &Statement,
        params: &[ParameterValue],
        cancel: CancellationToken,
    ) -> Result<Outcome, EngineError> {
        self.context.activity().begin(statement.origin_text(), &cancel);
        self.context.check_not_terminated()?;
        self.context.begin_statement(statement.kind())?;
        let params = BoundParameters::of(params, &StatementFacts::of(&self.context))?;
        let interrupt = self.interrupt(cancel);
        let running = self.database().statements().token();
        let outcome = interrupt.run(self.dispatch(statement, &params, &interrupt)).await;
        drop(running);
        outcome
    }

    /// Says that the client has sent statements. Until [`Self::end_message`] they share `now()`, what they set is undone if one of
    /// them fails, and with [`MessageScope::Message`] they are one transaction. Without it each statement is a transaction of its own.
    pub fn begin_message(&self, scope: MessageScope) {
        self.context.begin_message(scope);
    }

    /// Says that what the client has sent together has been executed, or has failed. Commits it, outside of a transaction block.
    ///
    /// # Errors
    /// Those of a commit: what the statements have changed is rolled back.
    pub fn end_message(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        Box::pin(async { self.context.end_message().await.map_err(|error| told(&self.context, error)) })
    }

    /// As [`Self::end_message`], after a failure: what the statements have changed is rolled back.
    pub fn abandon_message(&self) {
        self.context.close_message();
    }

    /// What stops a statement that begins now.
    fn interrupt(&self, cancel: CancellationToken) -> Interrupt {
        let timeout_ms = self.context.settings().statement_timeout_ms();
        Interrupt::new(cancel, self.database().shutdown_token().clone(), timeout_ms)
    }

    /// Runs a statement, anew if it finds tables locked.
    pub(crate) async fn dispatch(
        &self,
        statement: &Statement,
        params: &BoundParameters,
        interrupt: &Interrupt,
    ) -> Result<Outcome, EngineError> {
        let mut attempts = self.context.attempts(statement.kind());
        loop {
            attempts.begin();
            let outcome = match Box::pin(self.with_prepared_literals(statement, params)).await {
                Ok(statement) => self.dispatch_once(&statement, params, interrupt).await,
                Err(error) => Err(error),
            };
            if let ControlFlow::Break(outcome) = attempts.end(outcome).await {
                return outcome;
            }
        }
    }

    async fn dispatch_once(
        &self,
        statement: &Statement,
        params: &BoundParameters,
        interrupt: &Interrupt,
    ) -> Result<Outcome, EngineError> {
        use ast::Statement as S;
        let (context, kind) = (&self.context, statement.kind());
        if kind.writes() {
            let allowed = context.check_may_write(write_name(statement));
            if allowed.is_err() && !changes_temporary_rows(context, statement)? {
                allowed?;
            }
        }
        if kind.reads_tables() {
            context.settle_writes().await?;
        }
        if let Some(outcome) = recall::execute(context, statement, params, interrupt).await? {
            return Ok(outcome);
        }
        if let Some(outcome) = front_end::execute_row(context, statement, params).await? {
            return Ok(outcome);
        }
        let statement = &statement.parsed()?;
        permissions::check(context, statement)?;
        if let Some(query) = statement.command().query_in_parts() {
            return dml::execute_parts(context, statement, query, params, interrupt).await;
        }
        match statement.command() {
            Command::Copy(copy) => copy::execute(context, statement, copy, interrupt).await,
            Command::Sequence(sequence) => change_sequence(context, sequence).await,
            Command::Prepare(prepare) => self.prepare_named(statement, prepare).await,
            Command::Constraint(constraint) => table::change_constraint_times(context, constraint).await,
            Command::Maintenance(maintenance) => maintenance::execute(context, statement, maintenance).await,
            Command::Comment(comment) => comments::comment(context, comment).await,
            Command::Object(object) => match &object.change {
                ObjectChange::Owner(owner) => owners::change_owner(context, object, owner).await,
                ObjectChange::Schema(schema) => relocation::set_schema(context, object, schema).await,
            },
            Command::Role(role) => roles::execute(context, statement, role).await,
            Command::Domain(domain) => domains::execute(context, statement, domain).await,
            Command::Grant(grant) => grants::execute(context, grant).await,
            Command::DefaultPrivileges(defaults) => grants::alter_defaults(context, statement, defaults).await,
            Command::View(view) => views::execute(context, statement, view).await,
            Command::RenameIndex(rename) => rename_index(context, statement, rename).await,
            Command::DropAbsent(dropped) => drop_absent(context, dropped),
            Command::Refused(Refused { name, hint }) => {
                Err(EngineError::unsupported(format!("{name} is not supported")).with_hint(*hint))
            }
            Command::Storage(storage) => storage_hints::check(context, storage),
            Command::Transaction(transaction) => {
                let outcome = self.control(statement, &transaction.statement)?;
                session_control::set_deferrable(context, &transaction.statement, transaction.is_deferrable)?;
                Ok(outcome)
            }
            Command::Do(block) if block.language == "plpgsql" => self.execute_block(&block.code, interrupt).await,
            Command::Do(block) => Err(code_blocks::no_inline_code(&block.language)),
            Command::CreateTableWithoutData(create) => {
                table::create_table_as(context, statement, create, table::Rows::None, params).await
            }
            Command::CreateTableOfExecution(create) => self.create_table_of_execution(statement, create, params).await,
            Command::Sql(command) => match command {
                S::Query(_) if kind == StatementKind::Query => {
                    front_end::execute_query(context, statement, params, interrupt).await
                }
                S::Execute { .. } => self.execute_named(statement, params, interrupt).await,
                S::Explain { .. } => self.explain(statement, params, interrupt).await,
                S::Insert(insert) => dml::execute(context, statement, (None, insert), params, interrupt).await,
                S::Update(update) => dml::update(context, statement, (None, update), params, interrupt).await,
                S::Delete(delete) => dml::delete(context, statement, (None, delete), params, interrupt).await,
                S::Merge(merge) => dml::merge(context, statement, merge, params).await,
                S::Query(query) if kind.changes_rows() => {
                    change_rows(context, statement, query, params, interrupt).await
                }
                S::CreateTable(create) if create.query.is_some() => {
                    table::create_table_as(context, statement, create, table::Rows::All, params).await
                }
                S::CreateTable(create) => table::create_table(context, create).await,
                S::Drop { names, if_exists, cascade, .. } if kind == StatementKind::DropTable => {
                    table::drop_tables(context, names, table::Missing::of(*if_exists), Behavior::of(*cascade)).await
                }
                S::Drop { names, if_exists, cascade, object_type, .. } if kind == StatementKind::DropView => {
                    let wanted = views::Wanted::of(object_type);
                    let (missing, behavior) = (table::Missing::of(*if_exists), Behavior::of(*cascade));
                    views::drop_views(context, names, wanted, missing, behavior).await
                }
                S::Drop { names, if_exists, cascade, .. } if kind == StatementKind::DropSequence => {
                    sequences::drop_sequences(context, names, table::Missing::of(*if_exists), *cascade).await
                }
                S::CreateIndex(create) => table::create_index(context, create).await,
                S::Drop { names, if_exists, cascade, .. } if kind == StatementKind::DropIndex => {
                    let behavior = Behavior::of(*cascade);
                    table::drop_indexes(context, names, table::Missing::of(*if_exists), behavior).await
                }
                S::AlterTable(alter) => alter_relation(context, statement, alter).await,
                S::Truncate(truncate) => table::truncate(context, truncate).await,
                S::Commit { chain, .. } => {
                    session_control::warn_of_block(context, statement, command);
                    session_control::commit(context, Chain::of(*chain)).await
                }
                S::CreateType { name, representation } => {
                    enum_types::create_type(context, name, representation.as_ref()).await
                }
                S::AlterType(alter) => enum_types::alter_type(context, alter).await,
                S::Drop { names, if_exists, cascade, .. } if kind == StatementKind::DropType => {
                    let behavior = Behavior::of(*cascade);
                    let dropped = (&names[..], DroppedKind::Type);
                    enum_types::drop_types(context, dropped, table::Missing::of(*if_exists), behavior).await
                }
                S::Discard { object_type } => session_control::discard(context, statement, object_type).await,
                S::CreateSchema { schema_name, if_not_exists, .. } => {
                    schemas::check_clauses(command)?;
                    schemas::create_schema(context, schema_name, *if_not_exists).await
                }
                S::AlterSchema(alter) => schemas::alter_schema(context, alter).await,
                S::Drop { names, if_exists, cascade, .. } if kind == StatementKind::DropSchema => {
                    let behavior = Behavior::of(*cascade);
                    schemas::drop_schemas(context, names, table::Missing::of(*if_exists), behavior).await
                }
                other => self.control(statement, other),
            },
        }
    }

    /// Statements that act on the session alone.
    fn control(&self, statement: &Statement, command: &ast::Statement) -> Result<Outcome, EngineError> {
        use ast::Statement as S;
        let context = &self.context;
        session_control::warn_of_block(context, statement, command);
        match command {
            S::Set(set) => session_control::set(context, set),
            S::ShowVariable { variable } => session_control::show(context, variable),
            S::Reset(reset) => session_control::reset(context, &reset.reset),
            S::Close { .. } => Ok(Outcome::done("CLOSE CURSOR ALL")),
            S::LISTEN { channel } => Ok(session_control::listen(context, channel)),
            S::UNLISTEN { channel } => Ok(session_control::unlisten(context, channel)),
            S::NOTIFY { channel, payload } => session_control::notify(context, channel, payload.as_deref()),
            S::Deallocate { .. } => session_control::deallocate(context, statement.deallocates().flatten().as_deref()),
            S::StartTransaction { modes, begin, .. } => {
                session_control::begin(context, modes, if *begin { "BEGIN" } else { "START TRANSACTION" })
            }
            S::Rollback { savepoint: Some(name), .. } => session_control::roll_back_to_savepoint(context, name),
            S::Rollback { chain, savepoint: None } => session_control::roll_back(context, Chain::of(*chain)),
            S::Savepoint { name } => session_control::savepoint(context, name),
            S::ReleaseSavepoint { name } => session_control::release_savepoint(context, name),
            other => Err(unsupported_statement(other)),
        }
    }

    /// The plan that queries of one template share, and the parameters of each: what a pass of them executes.
    ///
    /// # Errors
    /// When the texts are not queries of one template, or the template has no plan.
    pub async fn shared_form(&self, texts: &[String]) -> Result<SharedForm, EngineError> {
        recall::shared_form(&self.context, texts).await
    }

    /// Takes what the statements so far tell their client without failing.
    pub fn take_notices(&self) -> Vec<Notice> {
        self.context.notices().take()
    }

    /// Where the session stands, for ReadyForQuery.
    pub fn transaction_status(&self) -> TransactionStatus {
        self.context.transaction_status()
    }

    /// Puts an open transaction block into its failed state: for errors that happen outside the engine, such as a
    /// parameter that does not decode. Without a block it does nothing.
    pub fn fail_transaction(&self) {
        self.context.fail_transaction();
    }

    /// How long the session may wait for its client now, as it was set for transaction blocks and outside of them.
    pub fn idle_ms_max(&self) -> Option<u64> {
        match self.transaction_status() {
            TransactionStatus::Idle => self.context.settings().idle_session_timeout_ms(),
            _ => self.context.settings().idle_in_transaction_timeout_ms(),
        }
    }

    /// Its cursors, which the server opens and closes.
    pub fn cursors(&self) -> &Arc<NamedCursors> {
        self.context.named_cursors()
    }

    /// Work on a statement begins or goes on, which `cancel` stops, until what is returned is dropped: for `pg_stat_activity` and
    /// `pg_cancel_backend`.
    pub fn go_on(&self, cancel: &CancellationToken) -> Ongoing {
        self.context.activity().go_on(cancel);
        Ongoing(self.context.clone())
    }

    /// The client has been told that the next statement may come.
    pub fn rest(&self) {
        self.context.activity().end();
    }

    /// Whether another session has ended this one: its statements fail.
    pub fn is_terminated(&self) -> bool {
        self.context.activity().terminated().is_cancelled()
    }

    /// Waits until another session ends this one.
    pub async fn terminated(&self) {
        self.context.activity().terminated().cancelled().await;
    }

    /// Says the port of the client; -1 for a local socket.
    pub fn set_client_port(&self, port: i32) {
        self.context.activity().set_client_port(port);
    }

    /// Says how its connection is encrypted.
    pub fn set_encryption(&self, encryption: Encryption) {
        self.context.activity().set_encryption(encryption);
    }

    /// Where the time of its statements went since the last call.
    pub fn take_times(&self) -> StatementTimes {
        self.context.times().take()
    }

    /// Time from which on a statement is told in the log.
    pub fn slow_statement(&self) -> Option<Duration> {
        self.context.settings().slow_statement_ms().map(Duration::from_millis)
    }

    /// Whether the log tells the texts of statements that fail.
    pub fn logs_failed_texts(&self) -> bool {
        self.context.settings().logs_failed_texts()
    }

    /// The value of a setting as SHOW prints it; `None` for an unknown one.
    pub fn setting(&self, name: &str) -> Option<String> {
        self.context.setting(name)
    }

    /// Lets the session begin with what its client asks for when it connects: RESET returns to it.
    ///
    /// # Errors
    /// For an unknown setting (42704), and a value that it does not take.
    pub fn begin_with_setting(&self, name: &str, value: &str) -> Result<(), EngineError> {
        self.context.begin_with_setting(name, value, SettingSource::Client)
    }

    /// The encoding of what its client sends and is sent.
    pub fn client_encoding(&self) -> Encoding {
        self.context.settings().client_encoding()
    }

    /// The state of its settings, which changes whenever a setting does.
    pub fn settings_stamp(&self) -> SettingsStamp {
        self.context.settings().stamp()
    }

    /// Sets a setting for the session, as `SET name = value` does.
    pub fn set_setting(&self, name: &str, value: &str) -> Result<(), EngineError> {
        self.context.assign_setting(name, Some(value), Scope::Session)
    }

    /// How values are read and written now.
    pub fn value_formats(&self) -> Formats {
        self.context.settings().formats()
    }

    /// The settings that PostgreSQL reports to clients whenever they change (ParameterStatus), with their values.
    pub fn reported_settings(&self) -> Vec<(&'static str, String)> {
        let reported = DEFINITIONS.iter().filter(|definition| definition.report == Report::Reported);
        reported.map(|definition| (definition.name, self.context.shown(definition))).collect()
    }

    /// Who is connected.
    pub fn user(&self) -> &str {
        self.context.login_name()
    }

    /// A number that no other session of this database has had.
    pub fn id(&self) -> i32 {
        self.context.session_id()
    }

    /// The database it is connected to.
    pub fn database(&self) -> &Arc<Database> {
        self.context.database()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.id()).field("user", &self.user()).finish_non_exhaustive()
    }
}

/// CREATE SEQUENCE and ALTER SEQUENCE.
async fn change_sequence(context: &StatementContext, statement: &SequenceStatement) -> Result<Outcome, EngineError> {
    match statement {
        SequenceStatement::Create { kind: SequenceKind::Unlogged, .. } => {
            Err(EngineError::unsupported("CREATE UNLOGGED SEQUENCE is not supported"))
        }
        SequenceStatement::Create { kind, if_not_exists, name, options } => {
            let is_temporary = *kind == SequenceKind::Temporary;
            let persistence = if is_temporary { table::Persistence::Temporary } else { table::Persistence::Lasting };
            sequences::create_sequence(context, (name, persistence), options, *if_not_exists).await
        }
        SequenceStatement::Alter { if_exists, name, change } => {
            sequences::alter_sequence(context, name, table::Missing::of(*if_exists), change).await
        }
    }
}

/// `WITH … INSERT`, `WITH … UPDATE` and `WITH … DELETE`.
async fn change_rows(
    context: &StatementContext,
    statement: &Statement,
    query: &ast::Query,
    params: &BoundParameters,
    interrupt: &Interrupt,
) -> Result<Outcome, EngineError> {
    let with = query.with.as_ref();
    match &*query.body {
        ast::SetExpr::Insert(ast::Statement::Insert(insert)) => {
            dml::execute(context, statement, (with, insert), params, interrupt).await
        }
        ast::SetExpr::Update(ast::Statement::Update(update)) => {
            dml::update(context, statement, (with, update), params, interrupt).await
        }
        ast::SetExpr::Delete(ast::Statement::Delete(delete)) => {
            dml::delete(context, statement, (with, delete), params, interrupt).await
        }
        _ => Err(EngineError::unsupported("this statement behind WITH is not supported")),
    }
}

async fn prepare_change(
    context: &StatementContext,
    statement: &Statement,
    query: &ast::Query,
    declared: &[Option<ParameterType>],
) -> Result<Prepared, EngineError> {
    let with = query.with.as_ref();
    match &*query.body {
        ast::SetExpr::Insert(ast::Statement::Insert(insert)) => {
            dml::prepare(context, statement, (with, insert), declared).await
        }
        ast::SetExpr::Update(ast::Statement::Update(update)) => {
            dml::prepare_update(context, statement, (with, update), declared).await
        }
        ast::SetExpr::Delete(ast::Statement::Delete(delete)) => {
            dml::prepare_delete(context, statement, (with, delete), declared).await
        }
        _ => Ok(Prepared { parameter_types: Vec::new(), schema: None }),
    }
}

fn write_name(statement: &Statement) -> &'static str {
    match statement.kind() {
        StatementKind::DropAbsent => statement.dropped_tag(),
        StatementKind::Insert => "INSERT",
        StatementKind::Update => "UPDATE",
        StatementKind::Delete => "DELETE",
        StatementKind::Merge => "MERGE",
        StatementKind::ChangingQuery => "SELECT",
        StatementKind::CopyFrom => "COPY FROM",
        StatementKind::CreateTable => "CREATE TABLE",
        StatementKind::AlterTable => "ALTER TABLE",
        StatementKind::CreateType => "CREATE TYPE",
        StatementKind::AlterType => "ALTER TYPE",
        StatementKind::DropType => "DROP TYPE",
        StatementKind::CreateDomain => "CREATE DOMAIN",
        StatementKind::AlterDomain => "ALTER DOMAIN",
        StatementKind::DropDomain => "DROP DOMAIN",
        StatementKind::CreateSchema => "CREATE SCHEMA",
        StatementKind::AlterSchema => "ALTER SCHEMA",
        StatementKind::DropSchema => "DROP SCHEMA",
        StatementKind::CreateIndex => "CREATE INDEX",
        StatementKind::AlterIndex => "ALTER INDEX",
        StatementKind::DropIndex => "DROP INDEX",
        StatementKind::CreateSequence => "CREATE SEQUENCE",
        StatementKind::AlterSequence => "ALTER SEQUENCE",
        StatementKind::DropSequence => "DROP SEQUENCE",
        StatementKind::CreateView => "CREATE VIEW",
        StatementKind::AlterView => "ALTER VIEW",
        StatementKind::DropView => "DROP VIEW",
        StatementKind::RefreshView => "REFRESH MATERIALIZED VIEW",
        StatementKind::Truncate => "TRUNCATE TABLE",
        StatementKind::Comment => "COMMENT",
        StatementKind::CreateRole => "CREATE ROLE",
        StatementKind::AlterRole => match statement.command() {
            Command::Role(role) => role.tag(),
            _ => "ALTER ROLE",
        },
        StatementKind::DropRole => "DROP ROLE",
        StatementKind::ReassignOwned => "REASSIGN OWNED",
        StatementKind::DropOwned => "DROP OWNED",
        StatementKind::Grant => "GRANT",
        StatementKind::Revoke => "REVOKE",
        StatementKind::GrantRole => "GRANT ROLE",
        StatementKind::RevokeRole => "REVOKE ROLE",
        StatementKind::AlterDefaultPrivileges => "ALTER DEFAULT PRIVILEGES",
        _ => "DROP TABLE",
    }
}

/// The refusal of a statement, with its name.
fn unsupported_statement(statement: &ast::Statement) -> EngineError {
    use ast::Statement as S;
    if matches!(statement, S::Declare { .. } | S::Fetch { .. } | S::Open(_)) {
        return EngineError::unsupported("cursors are not supported inside the engine")
            .with_hint("Use DECLARE and FETCH over the wire protocol, alone in a message.");
    }
    let text = statement.to_string();
    let words: Vec<&str> = text.split_whitespace().take(2).collect();
    EngineError::unsupported(format!("{} is not supported", words.join(" ").to_uppercase()))
}

/// Work of a session that others can cancel, until it is dropped.
pub struct Ongoing(StatementContext);

impl Drop for Ongoing {
    fn drop(&mut self) {
        self.0.activity().pause();
    }
}

/// Ends the activity of a statement that was executed, or given up.
struct Rest<'a>(&'a StatementContext);

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        self.0.end_activity();
    }
}

/// Whether a statement changes only rows of a temporary table: transactions that only read may do so.
fn changes_temporary_rows(context: &StatementContext, statement: &Statement) -> Result<bool, EngineError> {
    let statement = statement.parsed()?;
    let Some(name) = statement.command().changed_relation() else { return Ok(false) };
    let snapshot = context.snapshot();
    Ok(matches!(named_table(context, &snapshot, name), Ok(Named::Table(def)) if snapshot.is_temporary(def.schema)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_the_statement() {
        let statement = Statement::parse("pragma x").unwrap().remove(0);
        let Command::Sql(tree) = statement.command() else { panic!("{statement:?}") };
        let error = unsupported_statement(tree);
        assert_eq!((error.sqlstate(), error.message()), ("0A000", "PRAGMA X is not supported"));
    }
}
