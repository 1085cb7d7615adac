//! Views: queries that are bound where their names stand.
//!
//! A view's text is bound outside of the query that names it: it sees neither that query's names nor its WITH, and its literals are no
//! constants of the statement. Names in a view of the system are those of its schema. In a user's view they mean what they meant when it
//! was created, and literals are read as they were then ([`ViewSession`]).

use sqlparser::ast::Query as Syntax;

use super::scope::{Scope, ScopeColumn};
use super::view_session::ViewSession;
use crate::binder::Binder;
use crate::binder::clause::Clause;
use crate::binder::places::Places;
use crate::binder::precedence::rebind_all;
use crate::relation::{Query, Relation};
use crate::search_path::SYSTEM_SCHEMA;
use crate::syntax::{SqlDialect, parser_of};
use crate::tables::{TableEntry, View, ViewOrigin};
use crate::{SqlError, SqlState};

/// Most views within views: a stack has room for their queries.
const VIEW_DEPTH_MAX: u32 = 32;

impl Binder<'_> {
    /// The rows of a view, and its columns under the view's names for them.
    ///
    /// # Errors
    /// Those of its query, without a place; 54001 for too many views within views.
    pub(super) fn view(&self, entry: &TableEntry, view: &View) -> Result<(Relation, Vec<ScopeColumn>), SqlError> {
        let depth = &self.statement.view_depth;
        if depth.get() == VIEW_DEPTH_MAX {
            let message = format!("view \"{}\" is within {VIEW_DEPTH_MAX} other views", entry.name);
            return Err(SqlError::new(SqlState::StatementTooComplex, message));
        }
        depth.set(depth.get() + 1);
        let bound = self.view_query(entry, view).map_err(SqlError::without_position);
        depth.set(depth.get() - 1);
        let (relation, mut columns) = self.told_apart(bound?);
        if view.origin.is_some() {
            check_types(entry, &columns)?;
        }
        columns.iter_mut().zip(&entry.columns).for_each(|(column, named)| column.name.clone_from(&named.name));
        Ok((relation, columns))
    }

    /// Whether what is bound is the text of a view.
    pub(in crate::binder) fn is_in_view(&self) -> bool {
        self.statement.view_depth.get() > 0
    }

    fn view_query(&self, entry: &TableEntry, view: &View) -> Result<Query, SqlError> {
        let mut syntax = parsed(entry, &view.text)?;
        if let Some(origin) = &view.origin {
            (origin.prepare)(&mut syntax);
        }
        rebind_all(&mut *syntax);
        self.statement.row_names.note(&syntax);
        let (places, statement) = (Places::new(&view.text), self.statement);
        match &view.origin {
            None => {
                let (session, tables) = (statement.session, statement.tables);
                let searched = Some(SYSTEM_SCHEMA);
                Binder { session, tables, searched, places, scope: None, clause: Clause::None, statement }
                    .alone(&syntax)
            }
            Some(origin) => {
                let ViewOrigin { tables, .. } = origin;
                let (session, tables) = (&ViewSession::new(statement.session, origin), &**tables);
                let searched = None;
                Binder { session, tables, searched, places, scope: None, clause: Clause::None, statement }
                    .alone(&syntax)
            }
        }
    }

    fn alone(&self, syntax: &Syntax) -> Result<Query, SqlError> {
        self.query(syntax, Scope::within(self))
    }
}

/// The columns of a user's view are those that it was created with.
fn check_types(entry: &TableEntry, columns: &[ScopeColumn]) -> Result<(), SqlError> {
    let types = columns.iter().map(|column| column.sql_type);
    if types.eq(entry.columns.iter().map(|column| column.sql_type)) {
        return Ok(());
    }
    let message = format!("view \"{}\" had columns of other types when it was created", entry.name);
    Err(SqlError::unsupported(message).with_hint("Create the view again."))
}

fn parsed(view: &TableEntry, text: &str) -> Result<Box<Syntax>, SqlError> {
    let dialect = SqlDialect::for_text(text);
    parser_of(&dialect, text).and_then(|mut parser| parser.parse_query()).map_err(|error| {
        SqlError::new(SqlState::InternalError, format!("the text of view \"{}\" does not parse: {error}", view.name))
    })
}
