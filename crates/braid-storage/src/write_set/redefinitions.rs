//! The committed relations that a transaction defines anew, empties or drops: what others are to be kept from, and how.
//!
//! Tables that are altered are left out: how much of a table is kept from others depends on what is altered, which who alters it knows.

use std::collections::BTreeMap;

use braid_base::TableId;

use super::WriteSet;
use super::table_writes::Base;
use super::view_edits::ViewEdits;

/// Who is kept from a relation while its new definition is not committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Redefinition {
    /// Others may read it: a foreign key of a new table refers to it, or it is a sequence with other numbers.
    BesideReaders,
    /// All others.
    Alone,
}

impl WriteSet {
    /// The committed relations that are defined anew, emptied or dropped, without altered tables.
    pub fn redefinitions(&self) -> BTreeMap<TableId, Redefinition> {
        let mut all = BTreeMap::new();
        let mut note = |relation: TableId, how: Redefinition| {
            let known = all.entry(relation).or_insert(how);
            *known = how.max(*known);
        };
        for (id, writes) in &self.tables {
            if matches!(writes.base, Base::Dropped | Base::Emptied) {
                note(*id, Redefinition::Alone);
            }
            let of_references = match writes.base {
                Base::New => Redefinition::BesideReaders,
                Base::Dropped => Redefinition::Alone,
                Base::Emptied | Base::Newest => continue,
            };
            let referenced = writes.def.foreign_keys.iter().map(|key| key.referenced);
            referenced.filter(|other| self.is_committed(*other)).for_each(|other| note(other, of_references));
        }
        self.views.iter().flat_map(ViewEdits::redefined).for_each(|view| note(view, Redefinition::Alone));
        self.sequences.redefined().for_each(|(sequence, how)| note(sequence, how));
        all
    }

    /// Whether others know a table.
    fn is_committed(&self, table: TableId) -> bool {
        self.tables.get(&table).is_none_or(|writes| writes.base != Base::New)
    }
}
