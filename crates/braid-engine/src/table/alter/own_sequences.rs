//! Sequences of columns in ALTER TABLE: new columns with one, identity columns that are made, changed, and made plain.
//!
//! The sequence of a new column numbers the rows that are there while they are written again. It is not there yet, so that its numbers are
//! counted here; it begins behind them.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use braid_base::{ColumnId, TableId};
use braid_catalog::object_ids::table_object_id;
use braid_sql::pg_catalog::key_words::quote_identifier;
use braid_storage::{Catalog, CatalogSequence, SequenceDef, SequenceState, SequenceUse, StoreError, WriteSet};
use sqlparser::ast::{GeneratedAs, SequenceOptions as WrittenOptions};

use super::altered_table::{AlteredTable, NewValues};
use crate::dependents::Behavior;
use crate::front_end::StatementFacts;
use crate::notices::Notice;
use crate::sequences::defaults::default_of_sequence;
use crate::sequences::{Dependent, OwnSequence, changed_identity, dependents, free_name, retyped_identity};
use crate::statement::IdentityChange;
use crate::statement_context::StatementContext;
use crate::table::Missing;
use crate::{EngineError, SqlState};

/// A sequence as it is to be.
#[derive(Clone, Debug)]
pub(super) struct AlteredSequence {
    def: SequenceDef,
    /// Where it begins anew; `None` if its numbers go on.
    restart: Option<SequenceState>,
}

/// Sequences that an ALTER TABLE makes and changes, and `None` for those that it drops.
pub(super) type AlteredSequences = std::collections::BTreeMap<TableId, Option<AlteredSequence>>;

/// Changes the sequences.
///
/// # Errors
/// For names that are taken.
pub(super) fn alter_sequences(
    writes: &mut WriteSet,
    view: &Catalog,
    sequences: &AlteredSequences,
) -> Result<(), StoreError> {
    if sequences.is_empty() {
        return Ok(());
    }
    writes.change_sequences(view, |changes| {
        for (id, altered) in sequences {
            match altered {
                None => changes.remove(*id),
                Some(AlteredSequence { def, restart: Some(state) }) => changes.restart(def.clone(), *state)?,
                Some(AlteredSequence { def, restart: None }) => changes.redefine(def.clone())?,
            }
        }
        Ok(())
    })
}

impl AlteredTable {
    /// Gives the last column, which is new, a sequence that numbers the rows.
    pub(super) fn number_last(&mut self, context: &StatementContext, own: &OwnSequence) -> Result<(), EngineError> {
        let at = self.def.columns.len() - 1;
        self.own(context, at, own)?;
        self.new_values.insert(self.def.columns[at].id, NewValues::Numbers);
        Ok(())
    }

    /// `ALTER COLUMN … ADD GENERATED … AS IDENTITY`
    pub(super) fn add_identity(
        &mut self,
        context: &StatementContext,
        name: &str,
        (generated_as, options): (Option<GeneratedAs>, &[WrittenOptions]),
    ) -> Result<(), EngineError> {
        let usage = match generated_as {
            Some(GeneratedAs::Always) => SequenceUse::Always,
            Some(GeneratedAs::ByDefault) => SequenceUse::ByDefault,
            _ => return Err(EngineError::new(SqlState::SyntaxError, "syntax error at or near \"AS\"")),
        };
        let column = self.column(name)?.clone();
        let own = OwnSequence::of_identity(usage, options, column.column_type)?;
        let refused = |what: &str| {
            let message = format!("column \"{name}\" of relation \"{}\" {what}", self.def.name);
            Err(EngineError::new(SqlState::ObjectNotInPrerequisiteState, message))
        };
        if column.nullable {
            return refused("must be declared NOT NULL before identity can be added");
        }
        if self.identity(column.id).is_some() {
            return refused("is already an identity column");
        }
        if column.default.is_some() || column.generated.is_some() {
            return refused("already has a default value");
        }
        match self.def.position(column.id) {
            Some(at) => self.own(context, at, &own),
            None => Ok(()),
        }
    }

    /// `ALTER COLUMN … SET GENERATED …`, `SET` of options, and `RESTART`
    pub(super) fn change_identity(
        &mut self,
        context: &StatementContext,
        name: &str,
        changes: &[IdentityChange],
    ) -> Result<(), EngineError> {
        let id = self.column(name)?.id;
        let Some((known, last_value)) = self.identity(id) else { return Err(self.no_identity(name)) };
        let (def, restart) = changed_identity((&known, last_value), changes, &StatementFacts::of(context))?;
        self.put_sequence(def, restart);
        Ok(())
    }

    /// `ALTER COLUMN … DROP IDENTITY [IF EXISTS]`
    pub(super) fn drop_identity(
        &mut self,
        context: &StatementContext,
        name: &str,
        missing: Missing,
    ) -> Result<(), EngineError> {
        let id = self.column(name)?.id;
        match (self.identity(id), missing) {
            (Some((known, _)), _) => {
                let sequence = format!("sequence {}", quote_identifier(&known.name));
                if let Some(known) = self.catalog().sequence_by_id(known.id) {
                    self.check_unnamed(known, (name, &sequence), Behavior::Restrict)?;
                }
                self.sequences.insert(known.id, None);
                self.column(name)?.default = None;
                Ok(())
            }
            (None, Missing::Refused) => Err(self.no_identity(name)),
            (None, Missing::Skipped) => {
                context.raise(Notice::skipping(SqlState::SuccessfulCompletion, self.no_identity(name).message()));
                Ok(())
            }
        }
    }

    /// Refuses to drop a column, or its sequence, while a default of another column names the sequence. `dropped` is what the statement
    /// drops.
    ///
    /// # Errors
    /// 2BP01; with CASCADE 0A000.
    pub(super) fn check_unnamed(
        &self,
        known: &CatalogSequence,
        (column, dropped): (&str, &str),
        behavior: Behavior,
    ) -> Result<(), EngineError> {
        let is_own = |other: &Dependent| other.table == self.def.id;
        let is_left = |other: &Dependent| {
            let now = self.def.columns.iter().find(|now| now.name == other.column);
            now.is_some_and(|now| now.name != column && now.default.is_some())
        };
        let others = dependents(self.catalog(), known).filter(|other| !is_own(other) || is_left(other));
        let others: Vec<String> = others.map(|other| other.text).collect();
        if others.is_empty() {
            return Ok(());
        }
        if behavior == Behavior::Cascade {
            let message = "DROP COLUMN … CASCADE of columns whose sequences are in defaults of others is not supported";
            return Err(EngineError::unsupported(message).with_detail(others.join("\n")));
        }
        let message = format!("cannot drop {dropped} because other objects depend on it");
        Err(EngineError::new(SqlState::DependentObjectsStillExist, message)
            .with_detail(others.join("\n"))
            .with_hint("Use DROP ... CASCADE to drop the dependent objects too."))
    }

    /// Refuses another default, and nulls, of an identity column. `hint` says what to use instead.
    pub(super) fn check_no_identity(&mut self, name: &str, hint: Option<&str>) -> Result<(), EngineError> {
        let id = self.column(name)?.id;
        if self.identity(id).is_none() {
            return Ok(());
        }
        let message = format!("column \"{name}\" of relation \"{}\" is an identity column", self.def.name);
        let error = EngineError::new(SqlState::SyntaxError, message);
        Err(match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        })
    }

    /// Gives the sequence of an identity column the column's type.
    pub(super) fn retype_identity(&mut self, context: &StatementContext, name: &str) -> Result<(), EngineError> {
        let column = self.column(name)?.clone();
        let Some((known, last_value)) = self.identity(column.id) else { return Ok(()) };
        let def = retyped_identity((&known, last_value), column.column_type, &StatementFacts::of(context))?;
        self.put_sequence(def, None);
        Ok(())
    }

    /// Whether the rows that are there get numbers of a new sequence in a column.
    pub(super) fn is_numbered(&self, column: ColumnId) -> bool {
        matches!(self.new_values.get(&column), Some(NewValues::Numbers))
    }

    /// The next numbers of the sequence of a new column.
    ///
    /// # Errors
    /// If the sequence has no more (2200H).
    pub(super) fn next_numbers(&mut self, column: ColumnId, count: usize) -> Result<ArrayRef, EngineError> {
        let is_of = |own: &&mut AlteredSequence| own.def.owner.is_some_and(|owner| owner.column == column);
        let own = self.sequences.values_mut().flatten().find(is_of);
        let own = own.ok_or_else(|| EngineError::internal("a column is numbered without a sequence"))?;
        let mut state = own.restart.unwrap_or(SequenceState { last_value: own.def.start, is_called: false });
        let mut numbers = Vec::with_capacity(count);
        for _ in 0..count {
            state = own.def.advance(state)?;
            numbers.push(state.last_value);
        }
        own.restart = Some(state);
        Ok(Arc::new(Int64Array::from(numbers)))
    }

    /// Notes the last numbers that rows were given, in the order of the columns, for `currval` and `lastval`.
    pub(super) fn note_numbers(&self, context: &StatementContext) {
        for column in self.def.columns.iter().filter(|column| self.is_numbered(column.id)) {
            let is_of = |own: &&AlteredSequence| own.def.owner.is_some_and(|owner| owner.column == column.id);
            let Some(own) = self.sequences.values().flatten().find(is_of) else { continue };
            if let Some(SequenceState { last_value, is_called: true }) = own.restart {
                context.sequences().note(own.def.id, last_value);
            }
        }
    }

    /// Makes a sequence that the column at a place owns, and takes its default from.
    fn own(&mut self, context: &StatementContext, at: usize, own: &OwnSequence) -> Result<(), EngineError> {
        let schema = self.def.schema;
        let is_new = |name: &str| self.sequences.values().flatten().any(|other| other.def.name == name);
        let is_dropped = |name: &str| {
            let known = self
                .catalog()
                .sequences()
                .find(|known| known.definition.schema == schema && known.definition.name == name);
            known.is_some_and(|known| matches!(self.sequences.get(&known.definition.id), Some(None)))
        };
        let is_known = |name: &str| self.catalog().has_relation(schema, name) && !is_dropped(name);
        let is_taken = |name: &str| is_known(name) || is_new(name);
        let free = || free_name(&self.def.name, &self.def.columns[at].name, is_taken);
        let name = own.name_in(self.catalog(), schema, is_taken)?.unwrap_or_else(free);
        let id = context.database().store().write_set().new_relation_id();
        let (def, state) = own.define(id, name, &StatementFacts::of(context))?;
        let owner = Some(own.owner(&self.def, at));
        self.put_sequence(SequenceDef { owner, schema, ..def }, Some(state));
        self.def.columns[at].default = Some(default_of_sequence(table_object_id(id)));
        Ok(())
    }

    fn put_sequence(&mut self, def: SequenceDef, restart: Option<SequenceState>) {
        let before = self.sequences.get(&def.id).and_then(|known| known.as_ref()?.restart);
        self.sequences.insert(def.id, Some(AlteredSequence { restart: restart.or(before), def }));
    }

    /// The sequence of an identity column, and where it stands.
    fn identity(&self, column: ColumnId) -> Option<(SequenceDef, i64)> {
        let is_its = |def: &SequenceDef| {
            let owner = def.owner.filter(|owner| owner.table == self.def.id && owner.column == column);
            owner.is_some_and(|owner| owner.usage != SequenceUse::Owned)
        };
        let known = self.catalog().sequences_of(self.def.id, column).filter(|known| is_its(&known.definition));
        let mut kept = known.filter(|known| !self.sequences.contains_key(&known.definition.id));
        if let Some(known) = kept.next() {
            return Some(((*known.definition).clone(), known.counter.shown().state.last_value));
        }
        let altered = self.sequences.values().flatten().find(|altered| is_its(&altered.def))?;
        let of_catalog = || self.catalog().sequence_by_id(altered.def.id).map(|known| known.counter.shown().state);
        let last_value = altered.restart.or_else(of_catalog).map_or(altered.def.start, |state| state.last_value);
        Some((altered.def.clone(), last_value))
    }

    fn no_identity(&self, name: &str) -> EngineError {
        let message = format!("column \"{name}\" of relation \"{}\" is not an identity column", self.def.name);
        EngineError::new(SqlState::ObjectNotInPrerequisiteState, message)
    }
}
