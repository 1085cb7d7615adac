//! The access control of a catalog is of what it has: owners and privileges of what is dropped go with it.

use std::sync::Arc;

use crate::access::{AccessControl, AccessObject};
use crate::catalog::Catalog;

impl Catalog {
    /// Puts this access control in the place of its own, without what is about objects that are gone.
    pub(crate) fn take_access(&mut self, access: AccessControl) {
        self.set_access(access);
        self.drop_orphaned_access();
    }

    /// Removes the owners and privileges of objects that are gone.
    pub(crate) fn drop_orphaned_access(&mut self) {
        let access = Arc::clone(self.shared_access());
        let kept = access.without_gone(|object| self.has_object(object), |schema| self.schema_name(schema).is_some());
        if let Some(kept) = kept {
            self.set_access(kept);
        }
    }

    /// Whether there is such an object.
    fn has_object(&self, object: AccessObject) -> bool {
        match object {
            AccessObject::Relation(id) => {
                self.by_id(id).is_some() || self.view_by_id(id).is_some() || self.sequence_by_id(id).is_some()
            }
            AccessObject::Column(id, column) => match (self.by_id(id), self.view_by_id(id)) {
                (Some(version), _) => version.def.column_by_id(column).is_some(),
                (None, Some(view)) => usize::from(column.0) < view.columns.len(),
                (None, None) => false,
            },
            AccessObject::Schema(id) => self.schema_name(id).is_some(),
            AccessObject::Type(oid) => self.types_by_oid().contains_key(&oid) || self.domain(oid).is_some(),
            AccessObject::Database => true,
        }
    }
}
