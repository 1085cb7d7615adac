//! All views of a state of the database, by id and by name.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use braid_base::{SchemaId, TableId};

use crate::ViewDef;

/// All views of a state of the database.
#[derive(Clone, Debug, Default)]
pub struct Views {
    by_id: BTreeMap<TableId, Arc<ViewDef>>,
    /// Those of a name, of all schemas.
    ids: HashMap<String, Vec<TableId>>,
}

impl Views {
    pub(crate) fn new(by_id: BTreeMap<TableId, Arc<ViewDef>>) -> Self {
        let mut ids: HashMap<String, Vec<TableId>> = HashMap::new();
        by_id.values().for_each(|view| ids.entry(view.name.clone()).or_default().push(view.id));
        Self { by_id, ids }
    }

    /// All views by their ids.
    pub fn by_id(&self) -> &BTreeMap<TableId, Arc<ViewDef>> {
        &self.by_id
    }

    /// The views called `name`, exactly as stored, of all schemas.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &Arc<ViewDef>> {
        self.ids.get(name).into_iter().flatten().filter_map(|id| self.by_id.get(id))
    }

    /// The view called `name` in a schema, exactly as stored.
    pub fn in_schema(&self, schema: SchemaId, name: &str) -> Option<&Arc<ViewDef>> {
        self.named(name).find(|view| view.schema == schema)
    }
}
