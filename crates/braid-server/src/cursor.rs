//! SQL cursors: DECLARE, FETCH, MOVE and CLOSE, which drivers use to read a large result in pieces.
//!
//! A cursor is a named portal, as in PostgreSQL, and belongs to the server, not to the engine. Its query runs once, and
//! every FETCH takes the next rows of its stream. Cursors move forward only. A cursor without HOLD needs a transaction
//! block and ends with it. A cursor WITH HOLD keeps reading the snapshot of its query.

use std::sync::Arc;

use braid_engine::{ParameterValue, TransactionStatus};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::CommandComplete;

use crate::connection::Connection;
use crate::cursor_command::{Command, CursorCommand, Declaration, Step};
use crate::error_report::{ErrorReport, Failure};
use crate::portal::{Portal, PortalState, PreparedStatement};

/// How a cursor command was called.
pub(crate) enum Call {
    /// In a Query message: rows as text, described with each FETCH.
    Simple,
    /// In an Execute message: described before, in the formats that Bind wished.
    Extended(Vec<i16>),
}

impl Connection {
    /// The parameters of a cursor command, and the columns that a FETCH returns.
    pub(crate) async fn prepare_cursor_command(
        &mut self,
        command: CursorCommand,
        declared: &[u32],
    ) -> Result<PreparedStatement, Failure> {
        self.check_not_failed()?;
        let schema = match &command {
            CursorCommand::Declare(declaration) => {
                let query = self.prepare(declaration.query.clone(), declared).await?;
                return Ok(PreparedStatement { command: Some(Command::Cursor(command)), schema: None, ..query });
            }
            CursorCommand::Fetch(step) => self.names.portal(&step.name).map_err(no_cursor)?.prepared.schema.clone(),
            CursorCommand::Move(_) | CursorCommand::Close(_) => None,
        };
        Ok(PreparedStatement::without_parameters(Some(Command::Cursor(command)), schema))
    }

    fn check_not_failed(&self) -> Result<(), ErrorReport> {
        if self.session.transaction_status() == TransactionStatus::Failed {
            let message = "current transaction is aborted, commands ignored until end of transaction block";
            return Err(ErrorReport::error("25P02", message));
        }
        Ok(())
    }

    /// Runs a cursor command and sends its response.
    pub(crate) async fn run_cursor_command(
        &mut self,
        command: CursorCommand,
        parameters: Vec<ParameterValue>,
        call: Call,
    ) -> Result<(), Failure> {
        self.check_not_failed()?;
        let tag = match command {
            CursorCommand::Declare(declaration) => {
                if !declaration.hold && self.session.transaction_status() == TransactionStatus::Idle {
                    let message = "DECLARE CURSOR can only be used in transaction blocks";
                    return Err(ErrorReport::error("25P01", message).into());
                }
                self.declare(declaration, parameters).await?;
                "DECLARE CURSOR".to_owned()
            }
            CursorCommand::Fetch(step) => format!("FETCH {}", self.step(&step, Some(call)).await?),
            CursorCommand::Move(step) => format!("MOVE {}", self.step(&step, None).await?),
            CursorCommand::Close(Some(name)) => {
                if !self.names.close_portal(&name) {
                    return Err(ErrorReport::error("34000", format!("cursor \"{name}\" does not exist")).into());
                }
                "CLOSE CURSOR".to_owned()
            }
            CursorCommand::Close(None) => {
                self.names.close_all_portals();
                "CLOSE CURSOR ALL".to_owned()
            }
        };
        self.wire.put(&PgWireBackendMessage::CommandComplete(CommandComplete::new(tag)));
        Ok(())
    }

    async fn declare(&mut self, declaration: Declaration, parameters: Vec<ParameterValue>) -> Result<(), Failure> {
        let Declaration { name, hold, binary, query } = declaration;
        let prepared = Arc::new(self.prepare(query, &[]).await?);
        let result_formats = if binary { vec![1] } else { Vec::new() };
        let portal = Portal { prepared, parameters, result_formats, hold, state: PortalState::Bound };
        Ok(self.names.put_portal(name, portal)?)
    }

    /// Advances a cursor, and sends the rows if `call` is given. Returns the number of rows.
    async fn step(&mut self, step: &Step, call: Option<Call>) -> Result<usize, Failure> {
        let name = &step.name;
        let portal = self.names.portal(name).map_err(no_cursor)?;
        if matches!(portal.state, PortalState::Bound) {
            let prepared = Arc::clone(&portal.prepared);
            if let Some(Command::Engine(query)) = &prepared.command {
                self.begin_portal(name, query).await?;
            }
        }
        let portal = self.names.portal(name).map_err(no_cursor)?;
        let mut state = std::mem::replace(&mut portal.state, PortalState::Done(Some("FETCH")));
        let formats = match &call {
            Some(Call::Extended(formats)) => formats,
            _ => &portal.result_formats,
        };
        let description = match &mut state {
            PortalState::Rows(rows) => {
                rows.reformat(formats)?;
                Some(rows.encoder().description())
            }
            _ => portal.prepared.description(formats)?,
        };
        if let (Some(Call::Simple), Some(description)) = (&call, description) {
            self.wire.put(&PgWireBackendMessage::RowDescription(description));
        }
        let PortalState::Rows(mut rows) = state else {
            return Ok(0);
        };
        let (mut running, _, names) = self.running(rows.token.clone());
        let sent = match call {
            Some(_) => rows.send(&mut running, step.rows_max).await?,
            None => rows.skip(&mut running, step.rows_max).await?,
        };
        if !sent.at_end {
            names.portal(name)?.state = PortalState::Rows(rows);
        }
        Ok(sent.rows)
    }
}

/// PostgreSQL calls a portal a cursor here.
fn no_cursor(report: ErrorReport) -> ErrorReport {
    let message = report.message.replace("portal", "cursor");
    report.with_message(message)
}
