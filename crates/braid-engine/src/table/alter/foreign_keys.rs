//! FOREIGN KEY of a table that is there: ADD CONSTRAINT, and what refers to dropped columns and keys.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_base::{ColumnId, TableId};
use braid_sql::pg_catalog::key_words::quote_identifier;
use braid_storage::{ColumnDef, ForeignKeyDef, Reference, TableDef};

use super::altered_table::AlteredTable;
use crate::dependents::{Behavior, described};
use crate::statement_context::StatementContext;
use crate::table::foreign_keys::{ReferringTable, WrittenForeignKey, check_types, constraint_names, released};
use crate::{EngineError, SqlState};

impl AlteredTable {
    /// `ADD [CONSTRAINT …] FOREIGN KEY (…) REFERENCES … [NOT VALID]`, or of a new column.
    pub(super) fn add_foreign_key(
        &mut self,
        context: &StatementContext,
        written: &WrittenForeignKey,
        validated: bool,
    ) -> Result<(), EngineError> {
        let taken: BTreeSet<String> = constraint_names(&self.def).map(str::to_owned).collect();
        let key = written.define(context, self.catalog(), ReferringTable::of(&self.def), &taken)?;
        let id = context.database().store().write_set().new_relation_id();
        self.def.foreign_keys.push(Arc::new(ForeignKeyDef { id, validated, ..key }));
        if validated {
            self.unchecked.push(id);
        }
        Ok(())
    }

    /// Lets the foreign keys of other tables go that refer to a column, and its own ones.
    ///
    /// # Errors
    /// With RESTRICT, if there are some of others (2BP01).
    pub(super) fn release_column(
        &mut self,
        context: &StatementContext,
        name: &str,
        behavior: Behavior,
    ) -> Result<(), EngineError> {
        let Some((column, _)) = self.def.column(name) else { return Ok(()) };
        let column_of = format!("column {} of {}", quote_identifier(name), self.described(context));
        let references = self.references(|key| key.key.contains(&column));
        self.release(context, references, (&column_of, &column_of), behavior)
    }

    /// Lets the foreign keys go that refer to a key, if no other key has the same columns.
    ///
    /// # Errors
    /// With RESTRICT, if there are some (2BP01).
    pub(super) fn release_key(
        &mut self,
        context: &StatementContext,
        (name, columns): (&str, &[ColumnId]),
        behavior: Behavior,
    ) -> Result<(), EngineError> {
        if self.def.has_unique_columns(columns) {
            return Ok(());
        }
        let dropped = format!("constraint {} on {}", quote_identifier(name), self.described(context));
        let needed = format!("index {}", quote_identifier(name));
        let is_of =
            |key: &ForeignKeyDef| key.key.len() == columns.len() && key.key.iter().all(|at| columns.contains(at));
        let references = self.references(is_of);
        self.release(context, references, (&dropped, &needed), behavior)
    }

    fn release(
        &mut self,
        context: &StatementContext,
        references: Vec<Reference>,
        names: (&str, &str),
        behavior: Behavior,
    ) -> Result<(), EngineError> {
        let released = released(context, self.catalog(), references, names, behavior)?;
        let (own, others): (Vec<Reference>, Vec<Reference>) =
            released.into_iter().partition(|reference| reference.table.id == self.def.id);
        self.def.foreign_keys.retain(|key| own.iter().all(|reference| reference.key.id != key.id));
        self.dropped_references.extend(others);
        Ok(())
    }

    /// The foreign keys that refer to this table, but for those that are dropped already.
    fn references(&self, is_meant: impl Fn(&ForeignKeyDef) -> bool) -> Vec<Reference> {
        let own_id = self.def.id;
        let is_left = |reference: &Reference| match reference.table.id == own_id {
            true => self.def.foreign_keys.iter().any(|key| key.id == reference.key.id),
            false => self.dropped_references.iter().all(|gone| gone.key.id != reference.key.id),
        };
        let all = self.catalog().references_to(own_id).into_iter();
        all.filter(|reference| is_meant(&reference.key) && is_left(reference)).collect()
    }

    pub(super) fn described(&self, context: &StatementContext) -> String {
        described(context, self.catalog(), self.def.id)
    }

    /// Compares foreign keys anew in which a column has another type, its own and those of others.
    ///
    /// # Errors
    /// For types that cannot be compared any more (42804).
    pub(super) fn recheck_references(&mut self, column: ColumnId, keeps_keys: bool) -> Result<(), EngineError> {
        let mut own: Vec<Arc<ForeignKeyDef>> =
            self.def.foreign_keys.iter().filter(|key| key.columns.contains(&column)).cloned().collect();
        let (own_side, others): (Vec<Reference>, Vec<Reference>) = self
            .references(|key| key.key.contains(&column))
            .into_iter()
            .partition(|reference| reference.table.id == self.def.id);
        own.extend(own_side.into_iter().map(|reference| reference.key));
        let catalog = self.catalog().clone();
        let columns = |def: &TableDef, ids: &[ColumnId]| -> Vec<ColumnDef> {
            ids.iter().filter_map(|id| def.column_by_id(*id)).cloned().collect()
        };
        for key in own {
            let other = catalog.by_id(key.referenced).map(|version| &*version.def).filter(|def| def.id != self.def.id);
            let (referring, referred) =
                (columns(&self.def, &key.columns), columns(other.unwrap_or(&self.def), &key.key));
            check_types(&key.name, &referring.iter().collect::<Vec<_>>(), &referred.iter().collect::<Vec<_>>())?;
            if !keeps_keys && key.validated && !self.unchecked.contains(&key.id) {
                self.unchecked.push(key.id);
            }
        }
        for reference in others {
            let key = &reference.key;
            let (referring, referred) = (columns(&reference.table, &key.columns), columns(&self.def, &key.key));
            check_types(&key.name, &referring.iter().collect::<Vec<_>>(), &referred.iter().collect::<Vec<_>>())?;
            if !keeps_keys {
                self.rechecked.push(reference);
            }
        }
        Ok(())
    }
}

/// Lets no other transaction add rows that refer to the keys of these.
///
/// # Errors
/// For a deadlock (40P01).
pub(super) async fn lock_references(context: &StatementContext, references: &[Reference]) -> Result<(), EngineError> {
    if references.is_empty() {
        return Ok(());
    }
    let mut writes = context.take_writes();
    writes.lock_references(references).await?;
    context.put_writes(writes);
    Ok(())
}

/// Checks that the rows of a table satisfy foreign keys that it has got, and those of others the foreign keys that refer to it.
///
/// # Errors
/// If they do not (23503).
pub(super) async fn check_references(
    context: &StatementContext,
    (table, keys): (TableId, &[TableId]),
    others: &[Reference],
) -> Result<(), EngineError> {
    if keys.is_empty() && others.is_empty() {
        return Ok(());
    }
    let view = context.snapshot();
    let unknown = || EngineError::new(SqlState::InternalError, "a table that was altered is gone");
    let def = view.by_id(table).ok_or_else(unknown)?.def.clone();
    let mut writes = context.take_writes();
    for key in def.foreign_keys.iter().filter(|key| keys.contains(&key.id)) {
        writes.check_reference(&Reference { table: def.clone(), key: key.clone() }).await?;
    }
    for reference in others {
        writes.check_reference(reference).await?;
    }
    context.put_writes(writes);
    Ok(())
}
