//! A transaction's changes of the views.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_base::{ColumnId, TableId};

use crate::catalog::Catalog;
use crate::{ColumnType, StoreError, ViewDef};

type Views = BTreeMap<TableId, Arc<ViewDef>>;

/// Views as they were, and as they are to be.
#[derive(Clone)]
pub(super) struct ViewEdits {
    before: Views,
    after: Views,
    /// What the text of each changed view was bound to.
    bound: BTreeMap<TableId, Bound>,
}

/// A view's text with the columns that it reads: their types when it was bound.
#[derive(Clone)]
struct Bound {
    text: Arc<str>,
    columns: Vec<(TableId, ColumnId, ColumnType)>,
}

impl Bound {
    fn of(view: &ViewDef, seen: &Catalog) -> Self {
        let read = view.stored_sources().flat_map(|(table, columns)| {
            columns.iter().filter(|column| column.is_used).map(move |column| (table, column.id))
        });
        let columns = read.filter_map(|(table, column)| Some((table, column, type_in(seen, table, column)?)));
        Self { text: Arc::clone(&view.text), columns: columns.collect() }
    }
}

fn type_in(catalog: &Catalog, table: TableId, column: ColumnId) -> Option<ColumnType> {
    catalog.by_id(table)?.def.column_by_id(column).map(|column| column.column_type)
}

impl ViewEdits {
    /// No changes yet of what a transaction sees.
    pub(super) fn of(before: &Views) -> Self {
        Self { before: before.clone(), after: before.clone(), bound: BTreeMap::new() }
    }

    /// The views that are there no more, or as something else.
    pub(super) fn redefined(&self) -> impl Iterator<Item = TableId> {
        let is_same = |id: &TableId, view: &Arc<ViewDef>| self.after.get(id).is_some_and(|now| Arc::ptr_eq(now, view));
        self.before.iter().filter(move |(id, view)| !is_same(id, view)).map(|(id, _)| *id)
    }

    /// These changes with further ones, of a statement that has seen this state.
    pub(super) fn changed_to(self, after: Views, seen: &Catalog) -> Self {
        let before = self.before_of(seen.views().by_id());
        let mut bound = self.bound;
        bound.retain(|id, known| after.get(id).is_some_and(|view| Arc::ptr_eq(&known.text, &view.text)));
        for (id, view) in &after {
            if !before.get(id).is_some_and(|before| Arc::ptr_eq(before, view)) {
                bound.entry(*id).or_insert_with(|| Bound::of(view, seen));
            }
        }
        Self { before, after, bound }
    }

    /// The views without these changes: those that are not changed, as a statement sees them now, and the others before the first change.
    fn before_of(&self, seen: &Views) -> Views {
        let is_touched = |id: &TableId| match (self.before.get(id), self.after.get(id)) {
            (Some(before), Some(after)) => !Arc::ptr_eq(before, after),
            (None, None) => false,
            _ => true,
        };
        let mut before = seen.clone();
        before.retain(|id, _| !is_touched(id));
        before.extend(self.before.iter().filter(|(id, _)| is_touched(id)).map(|(id, view)| (*id, Arc::clone(view))));
        before
    }

    /// Checks that the columns that changed views read have the types that they had when the views were bound.
    ///
    /// # Errors
    /// [`StoreError::Conflict`].
    pub(super) fn check_types(&self, next: &Catalog) -> Result<(), StoreError> {
        let has_types = |bound: &Bound| {
            bound
                .columns
                .iter()
                .all(|(table, column, column_type)| type_in(next, *table, *column) == Some(*column_type))
        };
        match self.bound.iter().find(|(_, bound)| !has_types(bound)) {
            Some((id, _)) => Err(StoreError::Conflict { what: format!("view \"{}\"", self.after[id].name) }),
            None => Ok(()),
        }
    }

    /// The views that only the transaction has.
    pub(super) fn added(&self) -> impl Iterator<Item = &Arc<ViewDef>> {
        self.after.iter().filter(|(id, _)| !self.before.contains_key(id)).map(|(_, view)| view)
    }

    /// The views with these changes, whatever others have changed.
    pub(super) fn shown_on(&self, committed: &Views) -> Views {
        let mut views = committed.clone();
        for (id, view) in &self.after {
            if !self.before.get(id).is_some_and(|before| Arc::ptr_eq(before, view)) {
                views.insert(*id, Arc::clone(view));
            }
        }
        self.before.keys().filter(|id| !self.after.contains_key(id)).for_each(|id| drop(views.remove(id)));
        views
    }

    /// The views with these changes.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if others have changed one of the same views, [`StoreError::TableExists`] if they have taken a name.
    pub(super) fn committed_on(&self, newest: &Views) -> Result<Views, StoreError> {
        for (id, before) in &self.before {
            let is_same = |view: &Arc<ViewDef>| Arc::ptr_eq(before, view);
            if !self.after.get(id).is_some_and(is_same) && !newest.get(id).is_some_and(is_same) {
                return Err(StoreError::Conflict { what: format!("view \"{}\"", before.name) });
            }
        }
        let views = self.shown_on(newest);
        let mut names: Vec<_> = views.values().map(|view| (view.schema, &*view.name)).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(StoreError::TableExists { table: pair[0].1.to_owned() }),
            None => Ok(views),
        }
    }
}
