//! A transaction's changes of the enumerated types.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_base::SchemaId;
use braid_base::enum_types::{EnumLabel, EnumType};

use crate::StoreError;
use crate::catalog::CatalogType;

type Types = BTreeMap<u32, CatalogType>;

/// Types as they were, and as they are to be.
#[derive(Clone)]
pub(super) struct TypeEdits {
    before: Types,
    after: Types,
}

impl TypeEdits {
    pub(super) fn new(before: Types, after: Types) -> Self {
        Self { before, after }
    }

    /// The types without these changes: those that are not changed, as a statement sees them now, and the others before the first change.
    pub(super) fn before(&self, seen: &Types) -> Types {
        let is_touched = |oid: &u32| match (self.before.get(oid), self.after.get(oid)) {
            (Some(before), Some(after)) => !is_same(before, after),
            (None, None) => false,
            _ => true,
        };
        let mut before = seen.clone();
        before.retain(|oid, _| !is_touched(oid));
        before.extend(self.before.iter().filter(|(oid, _)| is_touched(oid)).map(|(oid, known)| (*oid, known.clone())));
        before
    }

    /// The types that only the transaction has.
    pub(super) fn added(&self) -> impl Iterator<Item = &CatalogType> {
        self.after.iter().filter(|(oid, _)| !self.before.contains_key(oid)).map(|(_, known)| known)
    }

    /// The types that there were before, and that are others.
    pub(super) fn changed(&self) -> impl Iterator<Item = &CatalogType> {
        let is_changed =
            |(oid, known): &(&u32, &CatalogType)| self.before.get(oid).is_some_and(|before| !is_same(before, known));
        self.after.iter().filter(is_changed).map(|(_, known)| known)
    }

    /// Whether a type that there was before, or a label of one, has another name.
    pub(super) fn has_renamed(&self) -> bool {
        self.before.iter().any(|(oid, before)| {
            let Some(after) = self.after.get(oid) else { return false };
            let (before, after) = (&before.definition, &after.definition);
            let keeps =
                |label: &EnumLabel| after.labels.iter().any(|other| other.oid == label.oid && other.text == label.text);
            before.name != after.name || before.schema != after.schema || !before.labels.iter().all(keeps)
        })
    }

    /// The types that are to be removed.
    pub(super) fn removed(&self) -> impl Iterator<Item = &CatalogType> {
        self.before.iter().filter(|(oid, _)| !self.after.contains_key(oid)).map(|(_, known)| known)
    }

    /// The types with these changes, whatever others have changed.
    pub(super) fn shown_on(&self, committed: &Types) -> Types {
        let mut types = committed.clone();
        for (oid, known) in &self.after {
            if !self.before.get(oid).is_some_and(|before| is_same(before, known)) {
                types.insert(*oid, known.clone());
            }
        }
        self.removed().for_each(|known| drop(types.remove(&known.definition.oid)));
        types
    }

    /// The types with these changes.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if others have changed one of the same types, [`StoreError::TypeExists`] if they have taken a name.
    pub(super) fn committed_on(&self, newest: &Types) -> Result<Types, StoreError> {
        for (oid, before) in &self.before {
            let is_touched = !self.after.get(oid).is_some_and(|after| is_same(before, after));
            if is_touched && !newest.get(oid).is_some_and(|newest| is_same(before, newest)) {
                return Err(StoreError::Conflict { what: format!("type \"{}\"", before.definition.name) });
            }
        }
        let types = self.shown_on(newest);
        let mut names: Vec<(SchemaId, &str)> = Vec::with_capacity(2 * types.len());
        for known in types.values() {
            let EnumType { schema, name, array_name, .. } = &*known.definition;
            names.extend([(*schema, &**name), (*schema, &**array_name)]);
        }
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(StoreError::TypeExists { name: pair[0].1.to_owned() }),
            None => Ok(types),
        }
    }
}

fn is_same(a: &CatalogType, b: &CatalogType) -> bool {
    Arc::ptr_eq(&a.definition, &b.definition)
}
