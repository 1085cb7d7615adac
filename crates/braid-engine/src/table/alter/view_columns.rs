//! Columns that views and generated columns read: they are dropped with these or not at all, and keep their types. So is the primary key that
//! a view groups by.

use crate::dependents::{Behavior, Dropped, described, drop_with};
use crate::front_end::needs_primary_key;
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};
use braid_base::ColumnId;

use super::altered_table::AlteredTable;

impl AlteredTable {
    /// Lets the views go that read a column, or a generated column that reads it. The generated columns go with the column.
    ///
    /// # Errors
    /// With RESTRICT, if there are some (2BP01).
    pub(super) fn drop_readers_of(
        &mut self,
        context: &StatementContext,
        name: &str,
        behavior: Behavior,
    ) -> Result<(), EngineError> {
        let Some((column, _)) = self.def.column(name) else { return Ok(()) };
        let generated = self.generated_from(column);
        let columns: Vec<(ColumnId, &str)> =
            std::iter::once((column, name)).chain(generated.iter().map(|(id, name)| (*id, name.as_str()))).collect();
        let dropped = Dropped::Columns(self.def.id, &columns);
        let views = drop_with(context, self.catalog(), dropped, &self.dropped_views, behavior)?;
        self.dropped_views.extend(views);
        Ok(())
    }

    /// Lets the views go whose queries need the primary key.
    ///
    /// # Errors
    /// With RESTRICT, if there are some (2BP01).
    pub(super) fn drop_views_by_key(
        &mut self,
        context: &StatementContext,
        name: &str,
        behavior: Behavior,
    ) -> Result<(), EngineError> {
        let (table, mut views) = (self.def.id, Vec::new());
        for view in self.catalog().views_of(table) {
            if needs_primary_key(context, self.catalog(), view, table)? {
                views.push(view.id);
            }
        }
        let dropped = Dropped::Key(table, name, &views);
        let views = drop_with(context, self.catalog(), dropped, &self.dropped_views, behavior)?;
        self.dropped_views.extend(views);
        Ok(())
    }

    /// Refuses another type of a column that a view reads.
    ///
    /// # Errors
    /// 0A000.
    pub(super) fn check_unread(&self, context: &StatementContext, name: &str) -> Result<(), EngineError> {
        let Some((column, _)) = self.def.column(name) else { return Ok(()) };
        let (table, catalog) = (self.def.id, self.catalog());
        let mut views = catalog.views_of(table).filter(|view| view.reads_column(table, column));
        let Some(view) = views.find(|view| self.dropped_views.iter().all(|gone| gone.id != view.id)) else {
            return Ok(());
        };
        let view = described(context, catalog, view.id);
        let message = "cannot alter type of a column used by a view or rule";
        Err(EngineError::new(SqlState::FeatureNotSupported, message)
            .with_detail(format!("rule _RETURN on {view} depends on column \"{name}\"")))
    }
}
