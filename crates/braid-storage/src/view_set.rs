//! All views of a state of the database, by id and by name, with their section of the manifest.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use braid_base::TableId;

use crate::ViewDef;
use crate::manifest::encode_views;

/// All views of a state of the database.
#[derive(Clone, Debug)]
pub struct Views {
    by_id: BTreeMap<TableId, Arc<ViewDef>>,
    ids: HashMap<String, TableId>,
    /// Their section of the manifest.
    section: Vec<u8>,
}

impl Views {
    pub(crate) fn new(by_id: BTreeMap<TableId, Arc<ViewDef>>) -> Self {
        let ids = by_id.values().map(|view| (view.name.clone(), view.id)).collect();
        let section = encode_views(by_id.values().map(Arc::as_ref));
        Self { by_id, ids, section }
    }

    /// All views by their ids.
    pub fn by_id(&self) -> &BTreeMap<TableId, Arc<ViewDef>> {
        &self.by_id
    }

    /// The view called `name`, exactly as stored.
    pub fn named(&self, name: &str) -> Option<&Arc<ViewDef>> {
        self.ids.get(name).and_then(|id| self.by_id.get(id))
    }

    pub(crate) fn section(&self) -> &[u8] {
        &self.section
    }
}

impl Default for Views {
    fn default() -> Self {
        Self::new(BTreeMap::new())
    }
}
