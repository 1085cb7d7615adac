//! A transaction's changes of access control, and the owners of what it creates.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_base::SchemaId;

use super::WriteSet;
use super::table_writes::Base;
use crate::StoreError;
use crate::access::{AccessControl, AccessEntry, AccessKey, AccessObject, DefaultsKind, RoleId};
use crate::catalog::Catalog;

/// What a transaction has created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewObject {
    /// The object.
    pub object: AccessObject,
    /// What it is, of the kinds that have default privileges.
    pub kind: DefaultsKind,
    /// The schema that it is in; `None` for a schema.
    pub schema: Option<SchemaId>,
}

impl WriteSet {
    /// An id for a role that is created.
    ///
    /// # Errors
    /// [`StoreError::TooManyTypes`].
    pub fn new_role_id(&self) -> Result<RoleId, StoreError> {
        self.shared.next_type_oids(1).map(RoleId)
    }

    /// Sets an entry of access control, in the place of that with its key. `view` is what the statement sees.
    pub fn set_access(&mut self, view: &Catalog, entry: AccessEntry) {
        let key = entry.key();
        let is_initial = matches!(entry, AccessEntry::Owner { owner, object } if owner == object.initial_owner());
        self.access.set(view.access().entries(), key, (!is_initial).then(|| Arc::new(entry)));
    }

    /// Removes an entry of access control.
    pub fn remove_access(&mut self, view: &Catalog, key: AccessKey) {
        self.access.set(view.access().entries(), key, None);
    }

    /// What the transaction has created since the last call: it gets an owner.
    pub fn take_new_objects(&mut self) -> Vec<NewObject> {
        let relation = |id, schema, kind| NewObject { object: AccessObject::Relation(id), kind, schema: Some(schema) };
        let tables = self.tables.iter().filter(|(_, writes)| writes.base == Base::New);
        let tables = tables.map(|(id, writes)| relation(*id, writes.def.schema, DefaultsKind::Relation));
        let views = self.views.iter().flat_map(|edits| edits.added());
        let views = views.map(|view| relation(view.id, view.schema, DefaultsKind::Relation));
        let sequences = self.sequences.added();
        let sequences = sequences.map(|def| relation(def.id, def.schema, DefaultsKind::Sequence));
        let schemas = self.schemas.added().map(|schema| NewObject {
            object: AccessObject::Schema(schema.id),
            kind: DefaultsKind::Schema,
            schema: None,
        });
        let types = self.types.iter().flat_map(|edits| edits.added()).map(|known| NewObject {
            object: AccessObject::Type(known.definition.oid),
            kind: DefaultsKind::Type,
            schema: Some(known.definition.schema),
        });
        let domains = self.domains.added().map(|known| NewObject {
            object: AccessObject::Type(known.definition.oid),
            kind: DefaultsKind::Type,
            schema: Some(known.definition.schema),
        });
        let types = types.chain(domains);
        let all: BTreeMap<AccessObject, NewObject> =
            tables.chain(views).chain(sequences).chain(schemas).chain(types).map(|new| (new.object, new)).collect();
        let new: Vec<NewObject> = all.values().filter(|new| !self.owned.contains(&new.object)).copied().collect();
        self.owned = all.into_keys().collect();
        new
    }

    /// The access control with the transaction's changes, whatever others have changed.
    pub(super) fn shown_access(&self, base: &Catalog) -> AccessControl {
        AccessControl::new(self.access.shown_on(base.access().entries()))
    }

    /// The access control with the transaction's changes. What is about objects that others have dropped is still there.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if others have changed the same entry, or have dropped a role that one names.
    pub(super) fn committed_access(&self, newest: &Catalog) -> Result<AccessControl, StoreError> {
        let entries = self.access.committed_on(newest.access().entries());
        let conflict = |what: &str| StoreError::Conflict { what: what.to_owned() };
        let access = AccessControl::new(entries.ok_or_else(|| conflict("a role or a privilege"))?);
        match access.fault() {
            Some(fault) if !self.access.is_empty() => Err(conflict(&fault)),
            _ => Ok(access),
        }
    }

    /// Whether the transaction sets or removes an entry of access control.
    pub fn has_access_edit(&self, key: AccessKey) -> bool {
        self.access.has(&key)
    }
}
