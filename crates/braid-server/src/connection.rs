//! One client's connection after startup: the message loop and the common parts of all responses.
//!
//! Rules (PostgreSQL's "Message Flow"):
//! 1. After an error in an extended-protocol message everything up to the next Sync is skipped.
//! 2. Every Query and every Sync is answered by exactly one ReadyForQuery, with the transaction block's state.
//! 3. Data and end of a COPY that has already failed are ignored.
//! 4. Portals end with their transaction.
//! 5. The statements up to a Sync are one transaction, unless they open and end blocks.
//! 6. Answers are sent at Flush, Sync, the end of a Query, an error, or when the output is full.

use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_engine::{Session, SettingsStamp, Statement, TransactionStatus};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::{
    CommandComplete, NotificationResponse, ReadyForQuery, TransactionStatus as WireStatus,
};
use pgwire::messages::startup::{BackendKeyData, ParameterStatus};
use tokio_util::sync::CancellationToken;

use crate::cancel_registry::Registration;
use crate::error_report::{ErrorReport, Failure, Severity};
use crate::frontend_message::{FrontendMessage, decode};
use crate::portal::{Names, PreparedStatement, TransactionEnd};
use crate::running::Running;
use crate::statement_log::{MessageClock, tell_failed};
use crate::wire::{Received, Wire};

/// Maximum time to tell a client why its connection ends.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(5);

/// The two steps of a shutdown.
#[derive(Clone, Default)]
pub(crate) struct Shutdown {
    /// Connections start no further statement.
    pub draining: CancellationToken,
    /// Running statements are cancelled.
    pub forced: CancellationToken,
}

/// A client and its state.
pub(crate) struct Connection {
    pub wire: Wire,
    pub session: Session,
    pub registration: Registration,
    pub shutdown: Shutdown,
    pub names: Names,
    /// What was executed since the last Sync.
    skipping_to_sync: bool,
    /// Where the time of the message goes.
    pub clock: MessageClock,
    reported_settings: Vec<(&'static str, String)>,
    /// The settings of which those were reported; `None` before the first report.
    reported_stamp: Option<SettingsStamp>,
}

impl Connection {
    /// The connection of an authenticated client.
    pub fn new(wire: Wire, session: Session, registration: Registration, shutdown: Shutdown) -> Self {
        let (names, reported_settings) = (Names::of(&session), Vec::new());
        let (clock, skipping_to_sync, reported_stamp) = (MessageClock::default(), false, None);
        Self {
            wire,
            session,
            registration,
            shutdown,
            names,
            skipping_to_sync,
            clock,
            reported_settings,
            reported_stamp,
        }
    }

    /// Sends the messages that precede the first statement.
    ///
    /// # Errors
    /// FATAL for a setting that the client asks for and does not get.
    pub fn greet(&mut self, settings: &[(String, String)]) -> Result<(), ErrorReport> {
        for (name, value) in settings {
            if let Err(error) = self.session.begin_with_setting(name, value) {
                return Err(ErrorReport::from(error).with_severity(Severity::Fatal));
            }
        }
        self.put_notices();
        self.report_settings();
        let key = BackendKeyData::new(self.registration.pid, self.registration.secret.clone());
        self.wire.put(&PgWireBackendMessage::BackendKeyData(key));
        self.put_ready();
        Ok(())
    }

    /// Answers messages until the client disconnects or is disconnected.
    pub async fn run(mut self) {
        if self.wire.flush().await.is_err() {
            return;
        }
        loop {
            self.wire.relax();
            let idle_ms_max = self.session.idle_ms_max();
            let received = tokio::select! {
                biased;
                () = idle_for(idle_ms_max) => Err(match self.session.transaction_status() {
                    TransactionStatus::Idle => ErrorReport::idle_session(),
                    _ => ErrorReport::idle_in_transaction(),
                }),
                () = self.shutdown.draining.cancelled() => Err(ErrorReport::shutdown()),
                () = self.session.terminated() => Err(ErrorReport::shutdown()),
                received = self.wire.receive() => received,
                () = self.session.notified() => {
                    self.put_notifications();
                    if self.flush().await.is_err() {
                        return;
                    }
                    continue;
                }
            };
            let answered = match received {
                Ok(Received::End) => return,
                // Boxed, so that an idle connection does not hold the state of the largest statement.
                Ok(Received::Frame(kind, body)) => match decode(kind, body, self.wire.encoding) {
                    Ok(FrontendMessage::Terminate) => return,
                    Ok(message) => Box::pin(self.answer(message)).await,
                    Err(report) if kind == b'Q' => self.fail(report.into(), None, Recovery::Ready).await,
                    Err(report) => self.fail(report.into(), None, Recovery::SkipToSync).await,
                },
                Err(report) => self.fail(report.into(), None, Recovery::Ready).await,
            };
            match answered {
                Ok(()) => {}
                Err(End::Gone) => return,
                Err(End::Told) => {
                    // A client that does not read must not keep its session.
                    let _ = tokio::time::timeout(CLOSE_TIME_MAX, self.wire.close()).await;
                    return;
                }
            }
        }
    }

    async fn answer(&mut self, message: FrontendMessage) -> Result<(), End> {
        if self.skipping_to_sync && message != FrontendMessage::Sync {
            return Ok(());
        }
        self.dispatch(message).await
    }

    async fn dispatch(&mut self, message: FrontendMessage) -> Result<(), End> {
        let recovery = Recovery::from_error_in(&message);
        self.clock = MessageClock::default();
        let prepared = self.prepared_of(&message);
        let answered = match &message {
            FrontendMessage::Query(sql) => self.on_query(sql).await,
            FrontendMessage::Parse(parse) => self.on_parse(parse).await,
            FrontendMessage::Bind(bind) => self.on_bind(bind).await,
            FrontendMessage::Describe(target) => self.on_describe(target).await,
            FrontendMessage::Execute { portal, max_rows } => self.on_execute(portal, *max_rows).await,
            FrontendMessage::Close(target) => self.on_close(target),
            FrontendMessage::Sync => self.on_sync().await,
            FrontendMessage::FunctionCall => {
                Err(ErrorReport::error("0A000", "the fast-path function call is not supported").into())
            }
            FrontendMessage::Flush => Ok(Reply::Now),
            FrontendMessage::CopyData(_)
            | FrontendMessage::CopyDone
            | FrontendMessage::CopyFail(_)
            | FrontendMessage::Terminate => Ok(Reply::WhenAsked),
            FrontendMessage::Password(_) => Err(ErrorReport::protocol_violation("unexpected password message").into()),
        };
        let answered = match answered {
            Ok(Reply::Now) => self.flush().await,
            Ok(Reply::WhenAsked) if self.wire.is_full() => self.flush().await,
            Ok(Reply::WhenAsked) => Ok(()),
            Err(failure) => {
                let text = text_of(&message, prepared.as_deref()).map(str::to_owned);
                self.fail(failure, text.as_deref(), recovery).await
            }
        };
        let client_wait = self.wire.take_client_wait();
        self.clock.tell_slow(&self.session, text_of(&message, prepared.as_deref()), client_wait);
        answered
    }

    /// The statement that a message is about, which may be gone when it is answered.
    fn prepared_of(&self, message: &FrontendMessage) -> Option<Arc<PreparedStatement>> {
        match message {
            FrontendMessage::Bind(bind) => self.names.known_statement(&bind.statement),
            FrontendMessage::Execute { portal, .. } => self.names.statement_of_portal(portal),
            _ => None,
        }
    }

    /// Sends the error, and resynchronises the protocol.
    async fn fail(&mut self, failure: Failure, text: Option<&str>, recovery: Recovery) -> Result<(), End> {
        let mut report = match failure {
            Failure::Gone => return Err(End::Gone),
            Failure::Report(report) => report,
        };
        if self.shutdown.forced.is_cancelled() || self.session.is_terminated() {
            report = ErrorReport::shutdown();
        }
        self.session.fail_transaction();
        tell_failed(&self.session, &report, text);
        if self.session.transaction_status() == TransactionStatus::Idle {
            self.names.end_transaction(TransactionEnd::RolledBack);
        }
        self.put_notices();
        self.wire.put(&report.message());
        if report.severity == Severity::Fatal {
            return Err(End::Told);
        }
        match recovery {
            Recovery::Ready => {
                self.session.abandon_message();
                self.put_ready();
            }
            Recovery::SkipToSync => self.skipping_to_sync = true,
        }
        self.flush().await
    }

    async fn flush(&mut self) -> Result<(), End> {
        let forced = self.shutdown.forced.clone();
        tokio::select! {
            biased;
            sent = self.wire.flush() => sent.map_err(|_| End::Gone),
            // A client that does not read must not delay the shutdown.
            () = forced.cancelled() => Err(End::Gone),
            // Nor the end of its session.
            () = self.session.terminated() => Err(End::Gone),
        }
    }

    /// Sync: commits what was executed since the last one.
    async fn on_sync(&mut self) -> Result<Reply, Failure> {
        self.skipping_to_sync = false;
        self.commit_message().await?;
        self.put_ready();
        Ok(Reply::Now)
    }

    /// Commits what the message has changed.
    pub async fn commit_message(&mut self) -> Result<(), Failure> {
        let begun = Instant::now();
        let committed = self.session.end_message().await;
        self.clock.committing += begun.elapsed();
        Ok(committed?)
    }

    /// Sends ReadyForQuery, and does the work of a transaction's end.
    pub fn put_ready(&mut self) {
        self.session.rest();
        self.report_settings();
        self.put_notifications();
        let status = match self.session.transaction_status() {
            TransactionStatus::Idle => {
                self.names.end_transaction(TransactionEnd::Committed);
                WireStatus::Idle
            }
            TransactionStatus::InBlock => WireStatus::Transaction,
            TransactionStatus::Failed => WireStatus::Error,
        };
        self.wire.put(&PgWireBackendMessage::ReadyForQuery(ReadyForQuery::new(status)));
    }

    /// Sends what the session is notified of, if it is between transactions.
    fn put_notifications(&mut self) {
        for told in self.session.take_notifications() {
            self.wire.put(&PgWireBackendMessage::NotificationResponse(NotificationResponse::new(
                told.session_id,
                told.channel.clone(),
                told.payload.clone(),
            )));
        }
    }

    /// A token for a new statement. A CancelRequest or the shutdown cancels it.
    pub fn new_token(&self) -> CancellationToken {
        self.shutdown.forced.child_token()
    }

    /// The parts of the connection that a running statement needs, at the same time.
    pub fn running(&mut self, token: CancellationToken) -> (Running<'_>, &Session, &mut Names) {
        let running = Running::new(&mut self.wire, (&self.registration, &self.session), token);
        (running, &self.session, &mut self.names)
    }

    /// Sends CommandComplete, and applies the statement's effects on the connection.
    pub fn put_complete(&mut self, statement: &Statement, tag: String) {
        self.put_notices();
        self.wire.encoding = self.session.client_encoding();
        if statement.kind().ends_transaction() {
            let is_committed = tag == "COMMIT";
            self.names.end_transaction(if is_committed {
                TransactionEnd::Committed
            } else {
                TransactionEnd::RolledBack
            });
        }
        if let Some((change, name)) = statement.savepoint() {
            self.names.change_savepoint(change, &name);
        }
        self.wire.put(&PgWireBackendMessage::CommandComplete(CommandComplete::new(tag)));
    }

    /// Sends what the statements so far tell their client without failing.
    pub fn put_notices(&mut self) {
        for notice in self.session.take_notices() {
            self.wire.put(&ErrorReport::from(notice).message());
        }
    }

    /// Reports the changed settings that clients are informed of, whatever has changed them.
    fn report_settings(&mut self) {
        let stamp = Some(self.session.settings_stamp());
        if stamp == self.reported_stamp {
            return;
        }
        self.reported_stamp = stamp;
        self.wire.encoding = self.session.client_encoding();
        let settings = self.session.reported_settings();
        for (name, value) in &settings {
            if !self.reported_settings.iter().any(|known| known == &(*name, value.clone())) {
                self.put_parameter_status(name, value);
            }
        }
        self.reported_settings = settings;
    }

    fn put_parameter_status(&mut self, name: &str, value: &str) {
        let status = ParameterStatus::new(name.to_owned(), value.to_owned());
        self.wire.put(&PgWireBackendMessage::ParameterStatus(status));
    }
}

/// Resolves when the client exceeds the idle limit; never without a limit.
async fn idle_for(ms_max: Option<u64>) {
    match ms_max {
        Some(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
        None => std::future::pending().await,
    }
}

/// The text of the statements that a message is about.
fn text_of<'a>(message: &'a FrontendMessage, prepared: Option<&'a PreparedStatement>) -> Option<&'a str> {
    match message {
        FrontendMessage::Query(sql) => Some(sql),
        FrontendMessage::Parse(parse) => Some(&parse.sql),
        FrontendMessage::Sync => Some("Sync"),
        _ => prepared.and_then(PreparedStatement::text),
    }
}

/// When the response to a message is sent.
pub(crate) enum Reply {
    /// At once, because the client waits for it.
    Now,
    /// Together with later responses.
    WhenAsked,
}

/// How the protocol goes on after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    /// With ReadyForQuery, at once.
    Ready,
    /// With ReadyForQuery at the next Sync; messages before it are skipped.
    SkipToSync,
}

impl Recovery {
    /// After an error in answering this message.
    fn from_error_in(message: &FrontendMessage) -> Self {
        if message.is_extended() { Self::SkipToSync } else { Self::Ready }
    }
}

/// Why a connection ends.
enum End {
    /// The client is gone.
    Gone,
    /// The client has got an error.
    Told,
}
