//! A transaction's changes of the views.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_base::TableId;

use crate::{StoreError, ViewDef};

type Views = BTreeMap<TableId, Arc<ViewDef>>;

/// Views as they were, and as they are to be.
#[derive(Clone)]
pub(super) struct ViewEdits {
    before: Views,
    after: Views,
}

impl ViewEdits {
    pub(super) fn new(before: Views, after: Views) -> Self {
        Self { before, after }
    }

    /// The views before the transaction's first change.
    pub(super) fn into_base(self) -> Views {
        self.before
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
        let mut names: Vec<&str> = views.values().map(|view| &*view.name).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(StoreError::TableExists { table: pair[0].to_owned() }),
            None => Ok(views),
        }
    }
}
