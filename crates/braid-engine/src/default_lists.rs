//! The access control lists of objects to come, one for each role that creates them.

use braid_catalog::privileges::ObjectKind;
use braid_storage::{AccessEntry, AccessKey, Acl, AclItem, Catalog, DefaultsSubject, WriteSet};

/// The list of new objects of which nothing is said.
pub(crate) fn initial_list(subject: DefaultsSubject) -> Acl {
    match subject.schema {
        Some(_) => Acl::new(),
        None => ObjectKind::of_defaults(subject.kind).default_list(subject.creator),
    }
}

/// Keeps the list of new objects, by roles as PostgreSQL sorts it; none that says nothing.
pub(crate) fn put_default_list(writes: &mut WriteSet, view: &Catalog, subject: DefaultsSubject, mut acl: Acl) {
    acl.sort_by_key(|item| (item.grantee, item.grantor));
    match is_same(&acl, &initial_list(subject)) {
        true => writes.remove_access(view, AccessKey::Defaults(subject)),
        false => writes.set_access(view, AccessEntry::Defaults { subject, acl }),
    }
}

/// Whether two lists say the same, in any order.
fn is_same(one: &[AclItem], other: &[AclItem]) -> bool {
    one.len() == other.len() && one.iter().all(|item| other.contains(item))
}
