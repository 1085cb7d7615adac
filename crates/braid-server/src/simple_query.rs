//! The simple query protocol: a text with any number of statements, run one after the other, with results as text.
//!
//! Several statements are one transaction, unless they open and end blocks. The first error ends the text: later statements are not
//! run, and what earlier ones have changed is undone.

use std::time::Instant;

use braid_engine::{MessageScope, Outcome, Statement};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::EmptyQueryResponse;

use crate::connection::{Connection, Reply};
use crate::copy;
use crate::cursor::Call;
use crate::cursor_command::Command;
use crate::error_report::{ErrorReport, Failure};
use crate::row_stream::RowStream;

impl Connection {
    /// Query.
    pub(crate) async fn on_query(&mut self, sql: &str) -> Result<Reply, Failure> {
        // As in PostgreSQL, a simple query closes the unnamed statement and portal of the extended protocol.
        self.names.close_statement("");
        self.names.close_portal("");
        self.session.begin_message(MessageScope::Statement);
        let statements = self.parse(sql)?;
        if statements.len() > 1 || statements.iter().any(may_return_changed_rows) {
            self.session.begin_message(MessageScope::Message);
        }
        self.put_notices();
        if statements.is_empty() {
            self.wire.put(&PgWireBackendMessage::EmptyQueryResponse(EmptyQueryResponse::new()));
        }
        let count = statements.len();
        for (at, statement) in statements.into_iter().enumerate() {
            match statement {
                Command::Engine(statement) => self.run_simple(&statement, at + 1 == count).await?,
                Command::Cursor(command) => self.run_cursor_command(command, Vec::new(), Call::Simple).await?,
            }
        }
        self.commit_message().await?;
        self.put_ready();
        Ok(Reply::Now)
    }

    /// Reads a text into statements.
    pub(crate) fn parse(&mut self, sql: &str) -> Result<Vec<Command>, ErrorReport> {
        let begun = Instant::now();
        let parsed = Command::parse(&self.session, sql);
        self.clock.parsing += begun.elapsed();
        parsed
    }

    /// Runs a statement. What the message has changed is committed when the last one has sent its rows, before it is told complete.
    async fn run_simple(&mut self, statement: &Statement, is_last: bool) -> Result<(), Failure> {
        let token = self.new_token();
        let (mut running, session, _) = self.running(token.clone());
        let tag = match running.wait(session.execute(statement, Vec::new(), token.clone())).await?? {
            Outcome::Done { tag } => tag,
            Outcome::Rows { schema, stream, tag } => {
                let mut rows = RowStream::new(&schema, stream, None, &[], token, tag)?;
                running.wire.put_translated(&PgWireBackendMessage::RowDescription(rows.encoder().description()))?;
                let sent = rows.send(&mut running, usize::MAX).await?;
                rows.complete_tag(sent.rows)
            }
            Outcome::CopyIn(data) => copy::copy_in(&mut running, data).await?,
            Outcome::CopyOut(data) => copy::copy_out(&mut running, data).await?,
        };
        drop(running);
        if is_last {
            self.commit_message().await?;
        }
        self.forget_statements(statement, &tag);
        self.put_complete(statement, tag);
        Ok(())
    }
}

/// Whether a command may change rows and return them: they are sent before the change is committed.
fn may_return_changed_rows(command: &Command) -> bool {
    match command {
        Command::Engine(statement) => statement.may_return_changed_rows(),
        Command::Cursor(_) => false,
    }
}
