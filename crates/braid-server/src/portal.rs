//! Prepared statements and portals of one connection, by name; the empty name is the unnamed one.
//!
//! A portal is a statement with its parameters. Execute runs it, in one or several steps. As in PostgreSQL it lives
//! until the end of its transaction: outside a transaction block until the next Sync. What is opened after a savepoint goes when the
//! transaction returns to it, and a portal that outlives its transaction only outlives a commit.

use std::collections::HashMap;
use std::sync::Arc;

use braid_engine::{
    Description, NamedCursor, NamedCursors, NamedStatement, ParameterType, ParameterValue, PreparedBy, SavepointChange,
    Session, ToldColumns,
};
use pgwire::messages::data::RowDescription;

use crate::cursor_command::Command;
use crate::error_report::ErrorReport;
use crate::row_stream::{RowStream, encoder};
use crate::scrolled_rows::ScrolledRows;

/// Named statements, and portals, that one connection may hold at a time: a bound against a client that never closes
/// any, far above what a driver's cache holds.
const NAMES_MAX: usize = 10_000;

/// A parsed statement with its parameters and columns.
#[derive(Debug)]
pub(crate) struct PreparedStatement {
    /// `None` for an empty query.
    pub command: Option<Command>,
    /// The types in the ParameterDescription.
    pub parameter_oids: Vec<u32>,
    /// The columns of the rows that it returns.
    pub columns: Option<Arc<ToldColumns>>,
    /// The engine's entry of the statement, if it has a name.
    pub named: Option<Arc<NamedStatement>>,
}

impl PreparedStatement {
    /// A prepared statement without parameters.
    pub fn without_parameters(command: Option<Command>, columns: Option<Arc<ToldColumns>>) -> Self {
        Self { command, parameter_oids: Vec::new(), columns, named: None }
    }

    /// The engine's entry of the same statement, prepared by a message with this text.
    pub fn named_as(&self, text: &str) -> NamedStatement {
        let statement = match &self.command {
            Some(Command::Engine(statement)) => Some(statement.clone()),
            Some(Command::Cursor(_)) | None => None,
        };
        let described = Description { parameter_types: self.parameter_types(), columns: self.columns.clone() };
        NamedStatement::new(text, statement, described, PreparedBy::Protocol)
    }

    /// The types of its parameters.
    pub fn parameter_types(&self) -> Vec<ParameterType> {
        self.parameter_oids.iter().map(|oid| ParameterType { oid: *oid }).collect()
    }

    /// What PREPARE has prepared, or the client in the same way.
    fn of_named(named: Arc<NamedStatement>) -> Self {
        Self {
            command: named.statement().cloned().map(Command::Engine),
            parameter_oids: named.parameter_types().iter().map(|parameter| parameter.oid).collect(),
            columns: named.columns().cloned(),
            named: Some(named),
        }
    }

    /// Its text.
    pub fn text(&self) -> Option<&str> {
        match self.command.as_ref()? {
            Command::Engine(statement) => Some(statement.text()),
            Command::Cursor(command) => Some(command.name()),
        }
    }

    /// Describes the rows in these formats; `None` if the statement returns no rows.
    pub fn description(&self, formats: &[i16]) -> Result<Option<RowDescription>, ErrorReport> {
        self.columns.as_ref().map(|told| Ok(encoder(told.schema(), formats)?.description())).transpose()
    }
}

/// A statement that is about to run, runs, or has run.
pub(crate) struct Portal {
    pub prepared: Arc<PreparedStatement>,
    pub parameters: Vec<ParameterValue>,
    pub result_formats: Vec<i16>,
    /// Whether it outlives its transaction (a cursor WITH HOLD).
    pub hold: bool,
    /// Whether its rows are kept, so that it goes backward (a SCROLL cursor).
    pub scroll: bool,
    /// The row that a cursor stands on, from 1, if it only goes forward: 0 before the first.
    pub position: u64,
    pub state: PortalState,
    /// Its number among the portals that the open transaction has opened; `None` for one of an earlier transaction.
    pub opened: Option<u64>,
}

impl Portal {
    /// Describes the rows; `None` if the portal returns no rows.
    pub fn description(&self) -> Result<Option<RowDescription>, ErrorReport> {
        self.prepared.description(&self.result_formats)
    }
}

impl Portal {
    /// Keeps the rows of a SCROLL cursor that has just begun.
    pub fn keep_rows_to_scroll(&mut self) {
        if !self.scroll {
            return;
        }
        self.state = match std::mem::replace(&mut self.state, PortalState::Done(None)) {
            PortalState::Rows(rows) => PortalState::Scrolled(Box::new(rows.into_scrolled())),
            other => other,
        };
    }
}

/// The state of a portal.
pub(crate) enum PortalState {
    /// Not started.
    Bound,
    /// Suspended between rows.
    Rows(Box<RowStream>),
    /// A SCROLL cursor that has begun.
    Scrolled(Box<ScrolledRows>),
    /// Ended; with the tag without count if it returned rows.
    Done(Option<&'static str>),
}

/// The named statements and portals of a connection.
pub(crate) struct Names {
    statements: HashMap<String, Arc<PreparedStatement>>,
    portals: HashMap<String, Portal>,
    /// The portals that have names, for `pg_cursors`.
    cursors: Arc<NamedCursors>,
    /// The number of the next portal of the transaction.
    next_portal: u64,
    /// The savepoints of the transaction, with the number of the first portal behind each.
    savepoints: Vec<(String, u64)>,
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransactionEnd {
    Committed,
    RolledBack,
}

impl Names {
    /// None yet.
    pub fn of(session: &Session) -> Self {
        let (cursors, savepoints) = (Arc::clone(session.cursors()), Vec::new());
        Self { statements: HashMap::new(), portals: HashMap::new(), cursors, next_portal: 0, savepoints }
    }

    /// Enters a statement. The unnamed one is replaced; that a named one is new, the engine has checked.
    pub fn put_statement(&mut self, name: String, prepared: PreparedStatement) {
        self.statements.insert(name, Arc::new(prepared));
    }

    /// The statement of that name, also one that PREPARE has prepared.
    pub fn statement(&self, session: &Session, name: &str) -> Result<Arc<PreparedStatement>, ErrorReport> {
        match self.statements.get(name) {
            Some(prepared) => Ok(prepared.clone()),
            None if name.is_empty() => Err(ErrorReport::error("26000", "unnamed prepared statement does not exist")),
            None => Ok(PreparedStatement::of_named(session.named_statement(name)?).into()),
        }
    }

    /// The statement of that name, if the client has prepared it.
    pub fn known_statement(&self, name: &str) -> Option<Arc<PreparedStatement>> {
        self.statements.get(name).cloned()
    }

    /// The statement of a portal.
    pub fn statement_of_portal(&self, name: &str) -> Option<Arc<PreparedStatement>> {
        self.portals.get(name).map(|portal| Arc::clone(&portal.prepared))
    }

    /// Removes a statement. Its portals stay usable.
    pub fn close_statement(&mut self, name: &str) {
        self.statements.remove(name);
    }

    /// Removes all statements.
    pub fn close_all_statements(&mut self) {
        self.statements.clear();
    }

    /// Enters a portal, which `text` has opened. The unnamed one is replaced, a named one must be new.
    pub fn put_portal(&mut self, name: String, text: Option<&str>, mut portal: Portal) -> Result<(), ErrorReport> {
        if !name.is_empty() && self.portals.contains_key(&name) {
            return Err(ErrorReport::error("42P03", format!("cursor \"{name}\" already exists")));
        }
        bounded(self.portals.len(), "portals")?;
        if !name.is_empty() {
            let text = text.or(portal.prepared.text()).unwrap_or_default().to_owned();
            let (is_holdable, is_binary, is_scrollable) = (portal.hold, portal.result_formats == [1], portal.scroll);
            self.cursors.open(&name, NamedCursor { text, is_holdable, is_binary, is_scrollable });
        }
        portal.opened = Some(self.next_portal);
        self.next_portal += 1;
        self.portals.insert(name, portal);
        Ok(())
    }

    /// The portal of that name.
    pub fn portal(&mut self, name: &str) -> Result<&mut Portal, ErrorReport> {
        self.portals.get_mut(name).ok_or_else(|| no_portal(name))
    }

    /// Removes a portal, which stops its query. True if it existed.
    pub fn close_portal(&mut self, name: &str) -> bool {
        self.cursors.close(name);
        self.portals.remove(name).is_some()
    }

    /// Removes all portals that end with their transaction.
    pub fn end_transaction(&mut self, end: TransactionEnd) {
        self.savepoints.clear();
        if !self.portals.is_empty() {
            let outlives =
                |portal: &Portal| portal.hold && (end == TransactionEnd::Committed || portal.opened.is_none());
            self.retain_portals(outlives);
            self.portals.values_mut().for_each(|portal| portal.opened = None);
        }
    }

    /// Follows the savepoints of the transaction.
    pub fn change_savepoint(&mut self, change: SavepointChange, name: &str) {
        let place = self.savepoints.iter().rposition(|(known, _)| known == name);
        match (change, place) {
            (SavepointChange::Set, _) => self.savepoints.push((name.to_owned(), self.next_portal)),
            (SavepointChange::Release, Some(at)) => self.savepoints.truncate(at),
            (SavepointChange::RollBack, Some(at)) => {
                let first = self.savepoints[at].1;
                self.savepoints.truncate(at + 1);
                self.retain_portals(|portal| portal.opened.is_none_or(|number| number < first));
            }
            (SavepointChange::Release | SavepointChange::RollBack, None) => {}
        }
    }

    fn retain_portals(&mut self, is_kept: impl Fn(&Portal) -> bool) {
        let cursors = &self.cursors;
        self.portals.retain(|name, portal| {
            let is_kept = is_kept(portal);
            if !is_kept {
                cursors.close(name);
            }
            is_kept
        });
    }

    /// Removes all portals.
    pub fn close_all_portals(&mut self) {
        self.portals.clear();
        self.cursors.close_all();
    }
}

fn no_portal(name: &str) -> ErrorReport {
    ErrorReport::error("34000", format!("portal \"{name}\" does not exist"))
}

fn bounded(count: usize, what: &str) -> Result<(), ErrorReport> {
    if count < NAMES_MAX {
        Ok(())
    } else {
        Err(ErrorReport::error("54000", format!("too many {what} on one connection (at most {NAMES_MAX})")))
    }
}
