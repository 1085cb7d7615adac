//! The definition that an ALTER TABLE makes, and how the values of its columns are made of the rows that are there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use braid_base::{ColumnId, TableId};
use braid_storage::{
    Catalog, ColumnChangeError, ColumnDef, ColumnDomain, Reference, StoreError, TableDef, TableVersion, ViewDef,
};
use sqlparser::ast::Expr;

use super::own_sequences::AlteredSequences;
use crate::{EngineError, SqlState};

/// How the values of a column are made, where they are not those that are stored.
#[derive(Clone, Debug)]
pub(super) enum NewValues {
    /// The column's own, cast to its new type.
    Cast,
    /// USING: an expression over the columns that there were.
    Using(Expr),
    /// The default of a new column, for each row.
    Default(Expr),
    /// Those of a new column that is generated, computed of the new values of the others.
    Generated,
    /// Numbers of the sequence of a new column.
    Numbers,
}

/// A table on its way to another definition.
#[derive(Debug)]
pub(super) struct AlteredTable {
    catalog: Arc<Catalog>,
    before: Arc<TableVersion>,
    pub(super) def: TableDef,
    pub(super) new_values: BTreeMap<ColumnId, NewValues>,
    /// The defaults that columns were added with: the rows that are there have these, whatever default a later action sets.
    pub(super) added_defaults: BTreeMap<ColumnId, Expr>,
    /// The check constraints that rows are not known to satisfy.
    pub(super) unverified: Vec<String>,
    /// The columns whose values are not known to be those of their domains.
    unverified_domains: BTreeSet<ColumnId>,
    /// Whether rows are written again though no value of them changes.
    has_deleted_nulls: bool,
    /// The views that go with dropped columns.
    pub(super) dropped_views: Vec<Arc<ViewDef>>,
    /// The foreign keys that rows are not known to satisfy.
    pub(super) unchecked: Vec<TableId>,
    /// The foreign keys of other tables whose rows are not known to satisfy them any more.
    pub(super) rechecked: Vec<Reference>,
    /// The foreign keys of other tables that go with dropped columns and keys.
    pub(super) dropped_references: Vec<Reference>,
    /// The sequences of columns that are made, changed and dropped.
    pub(super) sequences: AlteredSequences,
}

impl AlteredTable {
    /// A table as the statement sees it, not altered yet.
    pub fn of(catalog: &Arc<Catalog>, before: &Arc<TableVersion>) -> Self {
        let (catalog, before, def) = (catalog.clone(), before.clone(), (*before.def).clone());
        let (new_values, added_defaults, unverified, dropped_views, sequences) = Default::default();
        let (unchecked, rechecked, dropped_references) = Default::default();
        Self {
            catalog,
            before,
            def,
            new_values,
            added_defaults,
            unverified,
            unverified_domains: BTreeSet::new(),
            has_deleted_nulls: false,
            dropped_views,
            unchecked,
            rechecked,
            dropped_references,
            sequences,
        }
    }

    /// The state that the statement sees.
    pub(super) fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// The table before.
    pub fn before(&self) -> &TableVersion {
        &self.before
    }

    /// Notes that the values of a column may not be those of its domain.
    pub(super) fn verify_domain(&mut self, column: ColumnId) {
        self.unverified_domains.insert(column);
    }

    /// The columns of domains whose values are not known to be those of the domains, with their places.
    pub(super) fn unverified_domains(&self) -> impl Iterator<Item = (usize, ColumnDomain)> {
        let columns = self.def.columns.iter().enumerate();
        let unverified = columns.filter(|(_, column)| self.unverified_domains.contains(&column.id));
        unverified.filter_map(|(at, column)| Some((at, column.domain?)))
    }

    /// The definition so far.
    pub fn definition(&self) -> &TableDef {
        &self.def
    }

    /// The definition after all actions.
    pub fn into_definition(self) -> TableDef {
        self.def
    }

    /// Whether an action has changed something.
    pub fn is_changed(&self) -> bool {
        self.def != *self.before.def || self.is_rewritten()
    }

    /// Whether rows are to be written again.
    pub fn is_rewritten(&self) -> bool {
        !self.new_values.is_empty() || self.has_deleted_nulls
    }

    /// Whether the values of a column are computed of the new values of others.
    pub(super) fn is_computed(&self, column: ColumnId) -> bool {
        matches!(self.new_values.get(&column), Some(NewValues::Generated))
    }

    /// Whether it gets keys that its rows are not known to differ in, or to refer to.
    pub fn has_new_keys(&self) -> bool {
        !self.unchecked.is_empty()
            || self.def.unique_keys().any(|key| {
                let known = self.before.def.keys.iter().find(|known| known.id == key.id);
                known.is_none_or(|known| known.form != key.form)
            })
    }

    /// RENAME TO.
    ///
    /// # Errors
    /// For the name that it has.
    pub fn rename(&mut self, name: String) -> Result<(), EngineError> {
        if name == self.def.name {
            return Err(EngineError::new(SqlState::DuplicateTable, format!("relation \"{name}\" already exists")));
        }
        self.def.name = name;
        Ok(())
    }

    /// The column of a name.
    ///
    /// # Errors
    /// If there is none.
    pub fn column(&mut self, name: &str) -> Result<&mut ColumnDef, EngineError> {
        let table = self.def.name.clone();
        let unknown = || store_error(ColumnChangeError::Unknown { table, column: name.to_owned() });
        self.def.columns.iter_mut().find(|column| column.name == name).ok_or_else(unknown)
    }

    /// Lets a column have no nulls, if it has none.
    pub fn forbid_nulls(&mut self, name: &str) -> Result<(), EngineError> {
        let column = self.column(name)?;
        column.nullable = false;
        let (id, has_missing) = (column.id, column.missing.is_some());
        let version = &self.before;
        let null_count = |id: ColumnId| {
            let counts = version.chunks.iter().filter_map(|chunk| chunk.find_segment(id));
            counts.map(|segment| u64::from(segment.zone_map.null_count)).sum::<u64>()
        };
        match version.def.column_by_id(id) {
            // The rewriting finds those of rows that are not deleted.
            Some(_) => self.has_deleted_nulls |= null_count(id) > 0,
            None if has_missing || version.chunks.is_empty() || self.new_values.contains_key(&id) => {}
            None => {
                let (schema, table, column) = (self.def.schema, self.def.name.clone(), name.to_owned());
                return Err(store_error(ColumnChangeError::ContainsNulls { schema, table, column }));
            }
        }
        Ok(())
    }
}

/// A refusal of the store as the statement's.
pub(super) fn store_error(error: ColumnChangeError) -> EngineError {
    StoreError::Columns(error).into()
}
