//! Views: queries that are bound where their names stand.
//!
//! A view's text is bound outside of the query that names it: it sees neither that query's names nor its WITH, and its literals are no
//! constants of the statement.

use sqlparser::ast::Query as Syntax;

use super::scope::{Scope, ScopeColumn};
use crate::binder::Binder;
use crate::binder::clause::Clause;
use crate::binder::places::Places;
use crate::binder::precedence::rebind_all;
use crate::relation::Relation;
use crate::syntax::{SqlDialect, parser_of};
use crate::tables::TableEntry;
use crate::{SqlError, SqlState};

/// Most views within views: a stack has room for their queries.
const VIEW_DEPTH_MAX: u32 = 32;

impl Binder<'_> {
    /// The rows of a view, and its columns under the view's names for them.
    ///
    /// # Errors
    /// Those of its query, without a place; 54001 for too many views within views.
    pub(super) fn view(&self, view: &TableEntry, text: &str) -> Result<(Relation, Vec<ScopeColumn>), SqlError> {
        let depth = &self.statement.view_depth;
        if depth.get() == VIEW_DEPTH_MAX {
            let message = format!("view \"{}\" is within {VIEW_DEPTH_MAX} other views", view.name);
            return Err(SqlError::new(SqlState::StatementTooComplex, message));
        }
        depth.set(depth.get() + 1);
        let bound = self.view_query(view, text).map_err(SqlError::without_position);
        depth.set(depth.get() - 1);
        bound
    }

    /// Whether what is bound is the text of a view.
    pub(super) fn is_in_view(&self) -> bool {
        self.statement.view_depth.get() > 0
    }

    fn view_query(&self, view: &TableEntry, text: &str) -> Result<(Relation, Vec<ScopeColumn>), SqlError> {
        let mut syntax = parsed(view, text)?;
        rebind_all(&mut *syntax);
        self.statement.row_names.note(&syntax);
        let binder = Binder { places: Places::new(text), scope: None, clause: Clause::None, ..*self };
        let query = binder.query(&syntax, Scope::within(&binder))?;
        let columns = query.outputs.into_iter().zip(&view.columns).map(|(output, column)| ScopeColumn {
            name: column.name.clone(),
            id: output.column,
            sql_type: output.sql_type,
        });
        Ok((query.relation, columns.collect()))
    }
}

fn parsed(view: &TableEntry, text: &str) -> Result<Box<Syntax>, SqlError> {
    let dialect = SqlDialect::for_text(text);
    parser_of(&dialect, text).and_then(|mut parser| parser.parse_query()).map_err(|error| {
        SqlError::new(SqlState::InternalError, format!("the text of view \"{}\" does not parse: {error}", view.name))
    })
}
