//! All views of a state of the database, by id and by name.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use braid_base::TableId;

use crate::ViewDef;

/// All views of a state of the database.
#[derive(Clone, Debug, Default)]
pub struct Views {
    by_id: BTreeMap<TableId, Arc<ViewDef>>,
    ids: HashMap<String, TableId>,
}

impl Views {
    pub(crate) fn new(by_id: BTreeMap<TableId, Arc<ViewDef>>) -> Self {
        let ids = by_id.values().map(|view| (view.name.clone(), view.id)).collect();
        Self { by_id, ids }
    }

    /// All views by their ids.
    pub fn by_id(&self) -> &BTreeMap<TableId, Arc<ViewDef>> {
        &self.by_id
    }

    /// The view called `name`, exactly as stored.
    pub fn named(&self, name: &str) -> Option<&Arc<ViewDef>> {
        self.ids.get(name).and_then(|id| self.by_id.get(id))
    }
}
