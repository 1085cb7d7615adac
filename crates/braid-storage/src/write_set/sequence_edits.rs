//! A transaction's changes of the sequences.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_base::TableId;

use super::WriteSet;
use super::redefinitions::Redefinition;
use super::table_writes::Base;
use crate::StoreError;
use crate::catalog::{Catalog, CatalogSequence};
use crate::sequence_changes::SequenceChanges;
use crate::sequences::{SequenceCounter, SequenceDef, SequenceScope, SequenceState};

type Sequences = BTreeMap<TableId, CatalogSequence>;

/// Sequences as they were and as they are to be, and where others stand after a crash.
#[derive(Clone, Default)]
pub(super) struct SequenceEdits {
    /// Those before the first change; `None` without changes.
    changes: Option<Changes>,
    reserved: BTreeMap<TableId, (Arc<SequenceCounter>, SequenceState)>,
}

#[derive(Clone)]
struct Changes {
    before: Sequences,
    after: Sequences,
}

impl SequenceEdits {
    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_none() && self.reserved.is_empty()
    }

    /// Whether a sequence is created, altered or dropped.
    pub(super) fn has_changes(&self) -> bool {
        self.changes.is_some()
    }

    /// The sequences that are created, altered or dropped, as they were and as they are to be.
    pub(super) fn touched(&self) -> impl Iterator<Item = Arc<SequenceDef>> {
        let of_changes = |changes: &'_ Changes| -> Vec<_> {
            let all = changes.before.iter().chain(&changes.after);
            all.filter(|(id, _)| changes.is_touched(id)).map(|(_, known)| Arc::clone(&known.definition)).collect()
        };
        self.changes.iter().flat_map(of_changes)
    }

    /// The committed sequences that are altered or dropped.
    pub(super) fn redefined(&self) -> impl Iterator<Item = (TableId, Redefinition)> {
        let of_changes = |changes: &'_ Changes| -> Vec<_> {
            let touched = changes.before.iter().filter(|(id, _)| changes.is_touched(id));
            let how = |(id, before): (&TableId, &CatalogSequence)| {
                let place = |known: &CatalogSequence| (known.definition.schema, known.definition.name.clone());
                let keeps_place = changes.after.get(id).is_some_and(|after| place(after) == place(before));
                (*id, if keeps_place { Redefinition::BesideReaders } else { Redefinition::Alone })
            };
            touched.map(how).collect()
        };
        self.changes.iter().flat_map(of_changes)
    }

    /// The sequences that only the transaction has.
    pub(super) fn added<'a>(&'a self) -> impl Iterator<Item = &'a Arc<SequenceDef>> {
        let new = |changes: &'a Changes| {
            changes.after.iter().filter(|(id, _)| !changes.before.contains_key(id)).map(|(_, known)| &known.definition)
        };
        self.changes.iter().flat_map(new)
    }

    /// The sequences without these changes: those that are not changed, as `view` shows them, and the others before the first change.
    fn before(&self, view: &Catalog) -> Sequences {
        let mut before = view.sequences_by_id().clone();
        if let Some(changes) = &self.changes {
            before.retain(|id, _| !changes.is_touched(id));
            let changed = changes.before.iter().filter(|(id, _)| changes.is_touched(id));
            before.extend(changed.map(|(id, known)| (*id, known.clone())));
        }
        before
    }

    /// The sequences with these changes, whatever others have changed.
    pub(super) fn shown_on(&self, committed: &Sequences) -> Sequences {
        self.changes.as_ref().map_or_else(|| committed.clone(), |changes| changes.shown_on(committed))
    }

    /// The sequences with these changes, as the next manifest has them. Those of dropped tables are still among them, so that names are
    /// compared later ([`Catalog::check_names`]).
    ///
    /// # Errors
    /// [`StoreError::Conflict`] if others have changed one of the same sequences.
    pub(super) fn committed_on(&self, newest: &Sequences) -> Result<Sequences, StoreError> {
        let mut sequences = match &self.changes {
            Some(changes) => changes.committed_on(newest)?,
            None => newest.clone(),
        };
        for (id, (counter, reserved)) in &self.reserved {
            // The numbers of a sequence that was dropped or restarted meanwhile are of no account.
            if let Some(known) = sequences.get_mut(id).filter(|known| Arc::ptr_eq(&known.counter, counter)) {
                known.reserved = *reserved;
            }
        }
        Ok(sequences)
    }
}

impl Changes {
    fn is_any(&self) -> bool {
        self.before.keys().chain(self.after.keys()).any(|id| self.is_touched(id))
    }

    fn is_touched(&self, id: &TableId) -> bool {
        match (self.before.get(id), self.after.get(id)) {
            (Some(before), Some(after)) => !before.is_same(after),
            (before, after) => before.is_some() != after.is_some(),
        }
    }

    fn shown_on(&self, committed: &Sequences) -> Sequences {
        let mut sequences = committed.clone();
        for (id, after) in self.after.iter().filter(|(id, _)| self.is_touched(id)) {
            sequences.insert(*id, after.clone());
        }
        self.before.keys().filter(|id| !self.after.contains_key(id)).for_each(|id| drop(sequences.remove(id)));
        sequences
    }

    fn committed_on(&self, newest: &Sequences) -> Result<Sequences, StoreError> {
        for (id, before) in self.before.iter().filter(|(id, _)| self.is_touched(id)) {
            if !newest.get(id).is_some_and(|newest| newest.is_same(before)) {
                return Err(StoreError::Conflict { what: format!("sequence \"{}\"", before.definition.name) });
            }
        }
        let mut sequences = self.shown_on(newest);
        for (id, known) in sequences.iter_mut().filter(|(id, _)| self.is_touched(id)) {
            let keeps_counter = newest.get(id).is_some_and(|newest| Arc::ptr_eq(&newest.counter, &known.counter));
            // Numbers of the definition before are not reserved by the next one.
            known.reserved = if keeps_counter { known.counter.give_up_reserved() } else { known.counter.reserved() };
        }
        Ok(sequences)
    }
}

impl WriteSet {
    /// An identity for a sequence that is to be added: for what names it before it is there.
    pub fn new_relation_id(&self) -> TableId {
        self.shared.new_relation_id()
    }

    /// Changes sequences as `change` says, of what the statement sees.
    ///
    /// # Errors
    /// Those of `change`.
    pub fn change_sequences<T, E>(
        &mut self,
        view: &Catalog,
        change: impl FnOnce(&mut SequenceChanges<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut shown = self.sequences.shown_on(view.sequences_by_id());
        shown.retain(|id, known| view.sequence_by_id(*id).is_some() || !self.has_lost_owner(view, known));
        let mut changes = SequenceChanges::new(&self.shared, view, shown);
        let result = change(&mut changes)?;
        let changes = Changes { before: self.sequences.before(view), after: changes.into_sequences() };
        self.sequences.changes = changes.is_any().then_some(changes);
        Ok(result)
    }

    /// Whether the column that a sequence of the transaction's own belongs to is gone, so that its name is free.
    fn has_lost_owner(&self, view: &Catalog, known: &CatalogSequence) -> bool {
        let Some(owner) = known.definition.owner else { return false };
        let def = match self.tables.get(&owner.table) {
            Some(writes) if writes.base == Base::Dropped => None,
            Some(writes) => Some(&writes.def),
            None => view.by_id(owner.table).map(|version| &version.def),
        };
        def.is_none_or(|def| def.column_by_id(owner.column).is_none())
    }

    /// Says where a sequence stands after a crash.
    pub(crate) fn reserve(&mut self, sequence: &CatalogSequence, reserved: SequenceState) {
        self.sequences.reserved.insert(sequence.definition.id, (Arc::clone(&sequence.counter), reserved));
    }

    /// A sequence as the transaction's statements see it on a committed state, and who else sees it.
    pub fn sequence(&self, committed: &Catalog, id: TableId) -> Option<(CatalogSequence, SequenceScope)> {
        let before = committed.sequence_by_id(id);
        let now = match &self.sequences.changes {
            Some(changes) if changes.is_touched(&id) => changes.after.get(&id),
            _ => before,
        };
        let is_shared = |now: &CatalogSequence| before.is_some_and(|before| Arc::ptr_eq(&before.counter, &now.counter));
        let scope = |now| if is_shared(now) { SequenceScope::Committed } else { SequenceScope::Transaction };
        now.map(|now| (now.clone(), scope(now)))
    }
}
