//! The extended query protocol: Parse, Bind, Describe, Execute, Close.
//!
//! Parse plans a statement to find its parameters and columns. The description that the client gets then fixes the types of
//! the later rows. Execute runs a portal up to a number of rows, and can resume it.

use std::sync::Arc;

use braid_engine::{
    Encoding, MessageScope, Outcome, ParameterType, ParameterValue, SentValue, Session, Statement, ToldColumns,
};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::data::{NoData, ParameterDescription};
use pgwire::messages::extendedquery::{BindComplete, CloseComplete, ParseComplete, PortalSuspended};
use pgwire::messages::response::{CommandComplete, EmptyQueryResponse};

use crate::client_text::received;
use crate::connection::{Connection, Reply};
use crate::copy;
use crate::cursor::Call;
use crate::cursor_command::Command;
use crate::error_report::{ErrorReport, Failure};
use crate::frontend_message::{Bind, Parse, Target};
use crate::portal::{Portal, PortalState, PreparedStatement};
use crate::row_stream::{RowStream, encoder};
use crate::value::Format;
use crate::value::pg_type::UNKNOWN;

impl Connection {
    /// Parse, in the transaction of what is executed until Sync.
    pub(crate) async fn on_parse(&mut self, parse: &Parse) -> Result<Reply, Failure> {
        self.session.begin_message(MessageScope::Message);
        let mut statements = self.parse(&parse.sql)?;
        if statements.len() > 1 {
            return Err(ErrorReport::error("42601", "cannot insert multiple commands into a prepared statement").into());
        }
        let mut prepared = match statements.pop() {
            Some(Command::Engine(statement)) => self.prepare(statement, &parse.parameter_oids).await?,
            Some(Command::Cursor(command)) => self.prepare_cursor_command(command, &parse.parameter_oids).await?,
            None => PreparedStatement::without_parameters(None, None),
        };
        if !parse.statement.is_empty() {
            let named = self.session.keep_statement(&parse.statement, prepared.named_as(&parse.sql))?;
            prepared.named = Some(named);
        }
        self.names.put_statement(parse.statement.clone(), prepared);
        self.put_notices();
        self.wire.put(&PgWireBackendMessage::ParseComplete(ParseComplete::new()));
        Ok(Reply::WhenAsked)
    }

    /// Asks the engine for the parameters and columns of a statement.
    pub(crate) async fn prepare(
        &mut self,
        statement: Statement,
        declared: &[u32],
    ) -> Result<PreparedStatement, Failure> {
        let declared_type = |oid: &u32| (![0, UNKNOWN.oid].contains(oid)).then_some(ParameterType { oid: *oid });
        let declared_types: Vec<_> = declared.iter().map(declared_type).collect();
        let token = self.new_token();
        let (mut running, session, _) = self.running(token);
        let meaning = session.meaning();
        let known = running.wait_unless_cancelled(session.prepare(&statement, &declared_types)).await??;
        Ok(PreparedStatement {
            command: Some(Command::Engine(statement)),
            parameter_oids: known.parameter_types.iter().map(|parameter| parameter.oid).collect(),
            columns: known.schema.map(|schema| ToldColumns::new(schema, meaning)),
            named: None,
        })
    }

    /// Bind.
    pub(crate) async fn on_bind(&mut self, bind: &Bind) -> Result<Reply, Failure> {
        let prepared = self.names.statement(&self.session, &bind.statement)?;
        if let Some(named) = &prepared.named {
            named.count_execution();
        }
        let parameters = bound_parameters(&self.session, &prepared, bind, self.wire.encoding)?;
        if let Some(told) = &prepared.columns {
            self.check_columns(&prepared, told).await?;
            encoder(told.schema(), &bind.result_formats)?;
        }
        let (result_formats, hold, scroll, state) = (bind.result_formats.clone(), false, false, PortalState::Bound);
        let portal = Portal { prepared, parameters, result_formats, hold, scroll, position: 0, state, opened: None };
        self.names.put_portal(bind.portal.clone(), None, portal)?;
        self.wire.put(&PgWireBackendMessage::BindComplete(BindComplete::new()));
        Ok(Reply::WhenAsked)
    }

    /// Checks that a statement still has the columns that its client was told.
    async fn check_columns(&mut self, prepared: &PreparedStatement, told: &ToldColumns) -> Result<(), Failure> {
        let Some(Command::Engine(statement)) = &prepared.command else { return Ok(()) };
        if !self.session.may_have_changed(told) {
            return Ok(());
        }
        self.session.begin_message(MessageScope::Message);
        let (parameter_types, token) = (prepared.parameter_types(), self.new_token());
        let (mut running, session, _) = self.running(token);
        let check = session.check_told_columns(statement, &parameter_types, told);
        // Rare, and large: on the heap it takes no memory of those that need nothing of it.
        Ok(Box::pin(running.wait_unless_cancelled(check)).await??)
    }

    /// Describe.
    pub(crate) async fn on_describe(&mut self, target: &Target) -> Result<Reply, Failure> {
        let description = match target {
            Target::Statement(name) => {
                let prepared = self.names.statement(&self.session, name)?;
                let parameters = ParameterDescription::new(prepared.parameter_oids.clone());
                self.wire.put(&PgWireBackendMessage::ParameterDescription(parameters));
                if let Some(told) = &prepared.columns {
                    self.check_columns(&prepared, told).await?;
                }
                prepared.description(&[])?
            }
            Target::Portal(name) => self.names.portal(name)?.description()?,
        };
        self.wire.put_translated(&match description {
            Some(description) => PgWireBackendMessage::RowDescription(description),
            None => PgWireBackendMessage::NoData(NoData::new()),
        })?;
        Ok(Reply::WhenAsked)
    }

    /// Execute. A row limit of 0 means no limit. What is executed until Sync is one transaction.
    pub(crate) async fn on_execute(&mut self, name: &str, max_rows: usize) -> Result<Reply, Failure> {
        self.session.begin_message(MessageScope::Message);
        self.run_portal(name, max_rows).await
    }

    /// Runs a portal, or goes on with it.
    pub(crate) async fn run_portal(&mut self, name: &str, max_rows: usize) -> Result<Reply, Failure> {
        let portal = self.names.portal(name)?;
        let prepared = Arc::clone(&portal.prepared);
        let Some(command) = &prepared.command else {
            self.wire.put(&PgWireBackendMessage::EmptyQueryResponse(EmptyQueryResponse::new()));
            return Ok(Reply::WhenAsked);
        };
        match portal.state {
            PortalState::Bound => match command {
                Command::Engine(statement) => {
                    if self.begin_portal(name, statement).await? {
                        self.send_rows(name, max_rows).await?;
                    }
                }
                Command::Cursor(command) => {
                    portal.state = PortalState::Done(None);
                    let (parameters, formats) = (std::mem::take(&mut portal.parameters), portal.result_formats.clone());
                    self.run_cursor_command(command.clone(), parameters, Call::Extended(formats)).await?;
                }
            },
            PortalState::Rows(_) => self.send_rows(name, max_rows).await?,
            PortalState::Scrolled(_) => {
                let message = "Execute of a SCROLL cursor is not supported; use FETCH";
                return Err(ErrorReport::error("0A000", message).into());
            }
            PortalState::Done(Some(tag)) => {
                let complete = CommandComplete::new(format!("{tag} 0"));
                self.wire.put(&PgWireBackendMessage::CommandComplete(complete));
            }
            PortalState::Done(None) => {
                return Err(ErrorReport::error("55000", format!("portal \"{name}\" cannot be run")).into());
            }
        }
        Ok(Reply::WhenAsked)
    }

    /// Starts the portal's statement. True if it returns rows; otherwise it is complete, and the response is sent.
    pub(crate) async fn begin_portal(&mut self, name: &str, statement: &Statement) -> Result<bool, Failure> {
        let token = self.new_token();
        let (mut running, session, names) = self.running(token.clone());
        let portal = names.portal(name)?;
        let parameters = std::mem::take(&mut portal.parameters);
        portal.state = PortalState::Done(None);
        let tag = match running.wait(session.execute(statement, parameters, token.clone())).await?? {
            Outcome::Done { tag } => tag,
            Outcome::Rows { schema, stream, tag } => {
                let described = portal.prepared.columns.as_ref().map(|told| told.schema());
                let mut rows = RowStream::new(&schema, stream, described, &portal.result_formats, token, tag)?;
                rows.note_formats(session.value_formats());
                portal.state = PortalState::Rows(Box::new(rows));
                return Ok(true);
            }
            Outcome::CopyIn(data) => copy::copy_in(&mut running, data).await?,
            Outcome::CopyOut(data) => copy::copy_out(&mut running, data).await?,
        };
        drop(running);
        self.forget_statements(statement, &tag);
        self.put_complete(statement, tag);
        Ok(false)
    }

    /// Sends rows of a portal that has begun.
    async fn send_rows(&mut self, name: &str, max_rows: usize) -> Result<(), Failure> {
        let portal = self.names.portal(name)?;
        let PortalState::Rows(mut rows) = std::mem::replace(&mut portal.state, PortalState::Done(None)) else {
            unreachable!("the caller saw rows");
        };
        rows.encoder().check_formats(self.session.value_formats())?;
        let (mut running, _, names) = self.running(rows.token.clone());
        let sent = rows.send(&mut running, if max_rows == 0 { usize::MAX } else { max_rows }).await?;
        let portal = names.portal(name)?;
        portal.position += sent.rows as u64 + u64::from(sent.at_end);
        let message = if sent.at_end {
            let tag = rows.complete_tag(sent.rows);
            portal.state = PortalState::Done(Some(rows.tag));
            PgWireBackendMessage::CommandComplete(CommandComplete::new(tag))
        } else {
            portal.state = PortalState::Rows(rows);
            PgWireBackendMessage::PortalSuspended(PortalSuspended::new())
        };
        running.wire.put(&message);
        Ok(())
    }

    /// Close.
    pub(crate) fn on_close(&mut self, target: &Target) -> Result<Reply, Failure> {
        // Closing an unknown name is no error.
        match target {
            Target::Statement(name) => {
                self.names.close_statement(name);
                self.session.forget_statement(name);
            }
            Target::Portal(name) => drop(self.names.close_portal(name)),
        }
        self.wire.put(&PgWireBackendMessage::CloseComplete(CloseComplete::new()));
        Ok(Reply::WhenAsked)
    }

    /// DEALLOCATE and DISCARD ALL, as far as the names are the server's.
    pub(crate) fn forget_statements(&mut self, statement: &Statement, tag: &str) {
        match statement.deallocates() {
            Some(Some(name)) => self.names.close_statement(&name),
            Some(None) => self.names.close_all_statements(),
            None if tag == "DISCARD ALL" => {
                self.names.close_all_statements();
                self.names.close_all_portals();
            }
            None => {}
        }
    }
}

/// Decodes the parameters of Bind.
fn bound_parameters(
    session: &Session,
    prepared: &PreparedStatement,
    bind: &Bind,
    encoding: Encoding,
) -> Result<Vec<ParameterValue>, ErrorReport> {
    let expected = prepared.parameter_oids.len();
    let (formats, values) = (&bind.parameter_formats, &bind.parameters);
    if values.len() != expected {
        let message = format!(
            "bind message supplies {} parameters, but prepared statement \"{}\" requires {expected}",
            values.len(),
            bind.statement
        );
        return Err(ErrorReport::protocol_violation(message));
    }
    if formats.len() > 1 && formats.len() != expected {
        let message = format!("bind message has {} parameter formats but {expected} parameters", formats.len());
        return Err(ErrorReport::protocol_violation(message));
    }
    let decode = |at: usize| {
        let (format, oid) = (Format::at(formats, at), prepared.parameter_oids[at]);
        let context = |error: ErrorReport| error.with_context(format!("unnamed portal parameter ${}", at + 1));
        let bytes = values[at].as_deref().map(|bytes| received(bytes, (format, oid), encoding)).transpose();
        let bytes = bytes.map_err(context)?;
        let sent = bytes.as_deref().map(|bytes| match format {
            Format::Text => SentValue::Text(bytes),
            Format::Binary => SentValue::Binary(bytes),
        });
        session.read_parameter(oid, sent).map_err(|error| context(error.into()))
    };
    (0..expected).map(decode).collect()
}
