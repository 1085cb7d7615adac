//! Access control: roles and what they are members of, the owners of objects, and privileges.
//!
//! | module | contents |
//! |---|---|
//! | [`roles`] | roles and their attributes |
//! | [`privileges`] | sets of privileges, and access control lists |
//! | [`entries`] | what is kept, by what it is about |
//!
//! What is not kept is as from the beginning: an object belongs to its [initial owner](AccessObject::initial_owner), and has the privileges
//! that its kind has without an access control list. What a role may do is decided elsewhere, from these.

mod entries;
mod privileges;
mod roles;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use braid_base::SchemaId;

pub use entries::{AccessEntry, AccessKey, AccessObject, DefaultsKind, DefaultsSubject, Membership, SettingsSubject};
pub use privileges::{Acl, AclItem, Privileges};
pub use roles::{RoleAttributes, RoleDef, RoleId};

/// What a commit changes: an entry, or `None` where it is removed.
pub(crate) type AccessChange = (AccessKey, Option<Arc<AccessEntry>>);

/// All entries of one state of the database.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccessControl {
    entries: BTreeMap<AccessKey, Arc<AccessEntry>>,
}

impl AccessControl {
    pub(crate) fn new(entries: BTreeMap<AccessKey, Arc<AccessEntry>>) -> Self {
        debug_assert!(entries.iter().all(|(key, entry)| *key == entry.key()), "entries are kept by their keys");
        Self { entries }
    }

    /// All entries, by what they are about.
    pub fn entries(&self) -> &BTreeMap<AccessKey, Arc<AccessEntry>> {
        &self.entries
    }

    /// Whether nothing is kept but settings: there is only the bootstrap superuser, under any name.
    pub fn is_empty(&self) -> bool {
        self.entries.keys().all(|key| matches!(key, AccessKey::Settings(_)))
    }

    /// The roles that were created, and the bootstrap superuser if it has a name; by ascending id.
    pub fn roles(&self) -> impl Iterator<Item = &RoleDef> {
        let (first, last) = (AccessKey::Role(RoleId(0)), AccessKey::Role(RoleId(u32::MAX)));
        self.entries.range(first..=last).filter_map(|(_, entry)| entry.as_role())
    }

    /// A role by its id.
    pub fn role(&self, id: RoleId) -> Option<&RoleDef> {
        self.entries.get(&AccessKey::Role(id))?.as_role()
    }

    /// A role by its name, exactly as stored.
    pub fn role_named(&self, name: &str) -> Option<&RoleDef> {
        self.roles().find(|role| role.name == name)
    }

    /// All memberships, by role and member.
    pub fn memberships(&self) -> impl Iterator<Item = &Membership> {
        let first = AccessKey::Membership { role: RoleId(0), member: RoleId(0) };
        let last = AccessKey::Membership { role: RoleId(u32::MAX), member: RoleId(u32::MAX) };
        self.entries.range(first..=last).filter_map(|(_, entry)| match &**entry {
            AccessEntry::Membership(membership) => Some(membership),
            _ => None,
        })
    }

    /// Who owns an object.
    pub fn owner(&self, object: AccessObject) -> RoleId {
        match self.entries.get(&AccessKey::Owner(object)).map(|entry| &**entry) {
            Some(AccessEntry::Owner { owner, .. }) => *owner,
            _ => object.initial_owner(),
        }
    }

    /// The objects with owners that are not their initial ones.
    pub fn owners(&self) -> impl Iterator<Item = (AccessObject, RoleId)> {
        self.entries.values().filter_map(|entry| match &**entry {
            AccessEntry::Owner { object, owner } => Some((*object, *owner)),
            _ => None,
        })
    }

    /// The access control list of an object; `None` if it has the privileges of its kind.
    pub fn acl(&self, object: AccessObject) -> Option<&Acl> {
        match &**self.entries.get(&AccessKey::Privileges(object))? {
            AccessEntry::Privileges { acl, .. } => Some(acl),
            _ => None,
        }
    }

    /// The objects with access control lists.
    pub fn acls(&self) -> impl Iterator<Item = (AccessObject, &Acl)> {
        self.entries.values().filter_map(|entry| match &**entry {
            AccessEntry::Privileges { object, acl } => Some((*object, acl)),
            _ => None,
        })
    }

    /// The privileges that new objects get: ALTER DEFAULT PRIVILEGES.
    pub fn default_acl(&self, subject: DefaultsSubject) -> Option<&Acl> {
        match &**self.entries.get(&AccessKey::Defaults(subject))? {
            AccessEntry::Defaults { acl, .. } => Some(acl),
            _ => None,
        }
    }

    /// All of [`Self::default_acl`].
    pub fn default_acls(&self) -> impl Iterator<Item = (DefaultsSubject, &Acl)> {
        self.entries.values().filter_map(|entry| match &**entry {
            AccessEntry::Defaults { subject, acl } => Some((*subject, acl)),
            _ => None,
        })
    }

    /// The settings that sessions begin with, beside those of their role in all databases.
    pub fn settings(&self, subject: SettingsSubject) -> &[(String, String)] {
        match self.entries.get(&AccessKey::Settings(subject)).map(|entry| &**entry) {
            Some(AccessEntry::Settings { settings, .. }) => settings,
            _ => &[],
        }
    }

    /// All of [`Self::settings`].
    pub fn all_settings(&self) -> impl Iterator<Item = (SettingsSubject, &[(String, String)])> {
        self.entries.values().filter_map(|entry| match &**entry {
            AccessEntry::Settings { subject, settings } => Some((*subject, &settings[..])),
            _ => None,
        })
    }

    /// The entries without those on objects and schemas that are gone; `None` if all are there.
    pub(crate) fn without_gone(
        &self,
        is_there: impl Fn(AccessObject) -> bool,
        is_schema: impl Fn(SchemaId) -> bool,
    ) -> Option<Self> {
        let is_kept = |key: &AccessKey| match key {
            AccessKey::Owner(object) | AccessKey::Privileges(object) => is_there(*object),
            AccessKey::Defaults(subject) => subject.schema.is_none_or(&is_schema),
            AccessKey::Role(_) | AccessKey::Membership { .. } | AccessKey::Settings(_) => true,
        };
        if self.entries.keys().all(is_kept) {
            return None;
        }
        let kept = self.entries.iter().filter(|(key, _)| is_kept(key));
        Some(Self::new(kept.map(|(key, entry)| (*key, Arc::clone(entry))).collect()))
    }

    /// What does not go together, if something does not: two roles of one name, a circle of memberships, or a role that is not there.
    pub(crate) fn fault(&self) -> Option<String> {
        let mut names = BTreeSet::new();
        if let Some(twice) = self.roles().find(|role| !names.insert(&role.name)) {
            return Some(format!("two roles are called \"{}\"", twice.name));
        }
        let is_known = |role: RoleId| role.is_built_in() || self.role(role).is_some();
        for entry in self.entries.values() {
            if let Some(unknown) = entry.mentioned_roles().find(|role| !is_known(*role)) {
                return Some(format!("role {} does not exist", unknown.0));
            }
        }
        let members: BTreeSet<RoleId> = self.memberships().map(|membership| membership.member).collect();
        let circular = members.into_iter().find(|member| self.groups_of(*member).contains(member));
        circular.map(|role| format!("role {} is a member of itself", role.0))
    }

    /// The roles that a role is a member of, directly or not; it is among them only if it is in a circle.
    fn groups_of(&self, member: RoleId) -> BTreeSet<RoleId> {
        let mut found = BTreeSet::new();
        let mut waiting = vec![member];
        while let Some(next) = waiting.pop() {
            let groups = self.memberships().filter(|membership| membership.member == next);
            waiting.extend(groups.map(|membership| membership.role).filter(|role| found.insert(*role)));
        }
        found
    }
}

/// The entries that differ between two states: those after, `None` where there is none.
pub(crate) fn changed_access(before: &AccessControl, after: &AccessControl) -> Vec<AccessChange> {
    let gone = before.entries.keys().filter(|key| !after.entries.contains_key(key)).map(|key| (*key, None));
    let new = after.entries.iter().filter(|(key, entry)| before.entries.get(key) != Some(entry));
    gone.chain(new.map(|(key, entry)| (*key, Some(Arc::clone(entry))))).collect()
}
