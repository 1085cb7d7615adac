//! SQL cursors: DECLARE, FETCH, MOVE and CLOSE, which drivers use to read a large result in pieces.
//!
//! A cursor is a named portal, as in PostgreSQL, and belongs to the server, not to the engine. Its query runs once,
//! from DECLARE on, and every FETCH takes the next rows of its stream; one that locks rows runs from the first FETCH on. Cursors move
//! forward only, but for SCROLL cursors, whose rows are kept ([`scrolled_rows`](crate::scrolled_rows)). A cursor without HOLD needs a
//! transaction block and ends with it. A cursor WITH HOLD keeps reading the snapshot of its query after a commit.

use std::sync::Arc;

use braid_engine::{Formats, ParameterValue, Statement, StatementKind, TransactionStatus};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::CommandComplete;

use crate::connection::Connection;
use crate::cursor_command::{Command, CursorCommand, Declaration, Step};
use crate::error_report::{ErrorReport, Failure};
use crate::portal::{Portal, PortalState, PreparedStatement};
use crate::row_stream::{RowStream, reformatted};
use crate::scrolled_rows::Motion;
use crate::value::ValueError;
use crate::value::row_encoder::RowEncoder;

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
        let columns = match &command {
            CursorCommand::Declare(declaration) => {
                let query = self.prepare(declaration.query.clone(), declared).await?;
                return Ok(PreparedStatement { command: Some(Command::Cursor(command)), columns: None, ..query });
            }
            CursorCommand::Fetch(step) => self.names.portal(&step.name).map_err(no_cursor)?.prepared.columns.clone(),
            CursorCommand::Move(_) | CursorCommand::Close(_) => None,
        };
        Ok(PreparedStatement::without_parameters(Some(Command::Cursor(command)), columns))
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
        let Declaration { name, text, hold, scroll, binary, query } = declaration;
        let prepared = Arc::new(self.prepare(query, &[]).await?);
        let result_formats = if binary { vec![1] } else { Vec::new() };
        let (position, state) = (0, PortalState::Bound);
        let portal = Portal { prepared, parameters, result_formats, hold, scroll, position, state, opened: None };
        let prepared = Arc::clone(&portal.prepared);
        self.names.put_portal(name.clone(), Some(&text), portal)?;
        // From here on its rows are those of now. What locks rows begins at the first FETCH, so that it locks none before.
        if let Some(Command::Engine(query)) = &prepared.command
            && query.kind() == StatementKind::Query
        {
            let begun = self.begin_cursor(&name, query).await;
            if begun.is_err() {
                self.names.close_portal(&name);
            }
            begun?;
        }
        Ok(())
    }

    async fn begin_cursor(&mut self, name: &str, query: &Statement) -> Result<(), Failure> {
        self.begin_portal(name, query).await?;
        self.names.portal(name).map_err(no_cursor)?.keep_rows_to_scroll();
        Ok(())
    }

    /// Advances a cursor, and sends the rows if `call` is given. Returns the number of rows.
    async fn step(&mut self, step: &Step, call: Option<Call>) -> Result<usize, Failure> {
        let (name, now) = (&step.name, self.session.value_formats());
        let portal = self.names.portal(name).map_err(no_cursor)?;
        if matches!(portal.state, PortalState::Bound) {
            let prepared = Arc::clone(&portal.prepared);
            if let Some(Command::Engine(query)) = &prepared.command {
                self.begin_cursor(name, query).await?;
            }
        }
        let portal = self.names.portal(name).map_err(no_cursor)?;
        if !portal.scroll {
            forward_only(step.motion, portal.position)?;
        }
        if matches!(portal.state, PortalState::Done(None)) {
            return Err(ErrorReport::error("55000", format!("portal \"{name}\" cannot be run")).into());
        }
        // What fails on the way leaves a cursor that cannot be run.
        let mut state = std::mem::replace(&mut portal.state, PortalState::Done(None));
        let formats = match &call {
            Some(Call::Extended(formats)) => formats,
            _ => &portal.result_formats,
        };
        let description = match &mut state {
            PortalState::Rows(rows) => {
                rows.reformat(formats)?;
                check_formats(rows.encoder(), call.as_ref(), now)?;
                Some(rows.encoder().description())
            }
            PortalState::Scrolled(rows) => {
                rows.set_encoder(reformatted(rows.encoder(), formats)?);
                check_formats(rows.encoder(), call.as_ref(), now)?;
                Some(rows.encoder().description())
            }
            _ => portal.prepared.description(formats)?,
        };
        if let (Some(Call::Simple), Some(description)) = (&call, description) {
            self.wire.put_translated(&PgWireBackendMessage::RowDescription(description))?;
        }
        match state {
            PortalState::Scrolled(mut rows) => {
                let (mut running, _, names) = self.running(rows.token.clone());
                let count = rows.go(step.motion, call.is_some(), &mut running).await?;
                names.portal(name)?.state = PortalState::Scrolled(rows);
                Ok(count)
            }
            PortalState::Rows(rows) => self.step_forward(step, rows, call.is_some()).await,
            ended => {
                self.names.portal(name)?.state = ended;
                Ok(0)
            }
        }
    }

    /// Advances a cursor whose rows are not kept.
    async fn step_forward(&mut self, step: &Step, mut rows: Box<RowStream>, is_wanted: bool) -> Result<usize, Failure> {
        let position = self.names.portal(&step.name)?.position;
        let (passed, wanted) = forward_only(step.motion, position)?;
        let (mut running, _, names) = self.running(rows.token.clone());
        let mut sent = rows.skip(&mut running, passed).await?;
        let mut position = position + sent.rows as u64;
        if !sent.at_end {
            sent = match is_wanted {
                true => rows.send(&mut running, wanted).await?,
                false => rows.skip(&mut running, wanted).await?,
            };
            position += sent.rows as u64;
        } else {
            sent.rows = 0;
        }
        let portal = names.portal(&step.name)?;
        portal.position = position + u64::from(sent.at_end);
        portal.state = match sent.at_end {
            true => PortalState::Done(Some("FETCH")),
            false => PortalState::Rows(rows),
        };
        Ok(sent.rows)
    }
}

/// How many rows a cursor passes over and how many it returns, if the motion goes forward.
fn forward_only(motion: Motion, position: u64) -> Result<(usize, usize), ErrorReport> {
    let rows = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    match motion {
        Motion::Forward(count) => Ok((0, rows(count))),
        Motion::Absolute(row) if row > 0 && row.unsigned_abs() > position => {
            Ok((rows(row.unsigned_abs() - 1 - position), 1))
        }
        Motion::Relative(distance) if distance > 0 => Ok((rows(distance.unsigned_abs() - 1), 1)),
        _ => Err(ErrorReport::error("55000", "cursor can only scan forward")
            .with_hint("Declare it with SCROLL option to enable backward scan.")),
    }
}

/// PostgreSQL calls a portal a cursor here.
fn no_cursor(report: ErrorReport) -> ErrorReport {
    let message = report.message.replace("portal", "cursor");
    report.with_message(message)
}

/// Refuses a FETCH of texts in other formats than those of DECLARE.
fn check_formats(encoder: &RowEncoder, call: Option<&Call>, now: Formats) -> Result<(), ValueError> {
    match call {
        Some(_) => encoder.check_formats(now),
        None => Ok(()),
    }
}
