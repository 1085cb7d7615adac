//! ALTER TABLE: what it makes of definitions, and of the versions that have them.
//!
//! A change is a pure function from a definition to the next one, and a version with another definition keeps its chunks
//! ([`TableVersion::defined_as`]): their identities and files, and the segments of all columns that are left. Nothing but the manifest
//! is written. Rows that are there have the *missing value* of a column that is
//! added ([`crate::missing_segments`]). A column that is dropped is left out of the definition; its bytes go when its
//! chunks are rewritten. A version without the column shares chunks by identity with those that have it, because a segment
//! belongs to a column's id, and no id is given out twice.
//!
//! Deliberately not done here: what a default's text means (the caller computes the missing value), who depends on a column, and
//! the rewriting of data files.

use std::sync::Arc;

use braid_base::ColumnId;
use futures::future::BoxFuture;

use crate::column_change_error::{COLUMNS_MAX, check_column_name};
use crate::distinct_sketch::{DistinctCount, DistinctSketch};
use crate::missing_segments::{MissingSegments, distinct_missing};
use crate::write_set::AlteredRows;
use crate::{ChunkMeta, ColumnChangeError, ColumnDef, Store, StoreError, TableDef, TableVersion};

/// A change of a table's columns.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnChange {
    /// Adds a column behind the others. Whatever id it has, it gets one of its own. In rows that are there its value is
    /// [`ColumnDef::missing`].
    Add(ColumnDef),
    /// Drops the column of this name. A primary key that it is part of is dropped too, and so are check constraints and generated columns
    /// that read it.
    Drop(String),
    /// Renames a column.
    Rename {
        /// Its name.
        from: String,
        /// Its next name.
        to: String,
    },
}

impl TableDef {
    /// The definition after a change.
    ///
    /// # Errors
    /// Those of the functions below.
    pub fn with_change(&self, change: ColumnChange) -> Result<Self, ColumnChangeError> {
        match change {
            ColumnChange::Add(column) => self.with_added_column(column),
            ColumnChange::Drop(name) => self.without_column(&name),
            ColumnChange::Rename { from, to } => self.with_renamed_column(&from, &to),
        }
    }

    /// The definition with one more column, which has an id of its own.
    ///
    /// # Errors
    /// [`ColumnChangeError::Exists`], [`ColumnChangeError::SystemName`], [`ColumnChangeError::TooMany`], [`ColumnChangeError::Invalid`].
    pub fn with_added_column(&self, column: ColumnDef) -> Result<Self, ColumnChangeError> {
        let (table, name) = (self.name.clone(), column.name.clone());
        check_column_name(&name)?;
        if self.column(&name).is_some() {
            return Err(ColumnChangeError::Exists { table, column: name });
        }
        if usize::from(self.next_column_id) >= COLUMNS_MAX {
            return Err(ColumnChangeError::TooMany);
        }
        let id = ColumnId(self.next_column_id);
        let mut def = Self { next_column_id: id.0 + 1, ..self.clone() };
        def.columns.push(ColumnDef { id, ..column });
        match def.validate() {
            Ok(()) => Ok(def),
            Err(reason) => Err(ColumnChangeError::Invalid { table, column: name, reason }),
        }
    }

    /// The definition without a column.
    ///
    /// # Errors
    /// [`ColumnChangeError::Unknown`], [`ColumnChangeError::IsOnly`].
    pub fn without_column(&self, name: &str) -> Result<Self, ColumnChangeError> {
        let (id, _) = self.named(name)?;
        let gone: Vec<ColumnId> = std::iter::once(id).chain(self.generated_from(id).map(|column| column.id)).collect();
        if self.columns.len() == gone.len() {
            return Err(ColumnChangeError::IsOnly { table: self.name.clone(), column: name.to_owned() });
        }
        let stays = |columns: &[ColumnId]| !columns.iter().any(|column| gone.contains(column));
        let mut def = self.clone();
        def.columns.retain(|column| stays(&[column.id]));
        if !stays(&def.primary_key) {
            def.primary_key.clear();
        }
        def.checks.retain(|check| stays(&check.columns));
        def.keys.retain(|key| stays(&key.needed_columns().collect::<Vec<_>>()));
        def.foreign_keys.retain(|key| stays(&key.columns));
        Ok(def)
    }

    /// The definition with another name of a column.
    ///
    /// # Errors
    /// [`ColumnChangeError::Unknown`], [`ColumnChangeError::Exists`], [`ColumnChangeError::SystemName`], [`ColumnChangeError::Invalid`].
    pub fn with_renamed_column(&self, from: &str, to: &str) -> Result<Self, ColumnChangeError> {
        let (_, at) = self.named(from)?;
        let (table, column) = (self.name.clone(), to.to_owned());
        check_column_name(to)?;
        if self.column(to).is_some() {
            return Err(ColumnChangeError::Exists { table, column });
        }
        let mut def = self.clone();
        def.columns[at].name.clone_from(&column);
        match def.validate() {
            Ok(()) => Ok(def),
            Err(reason) => Err(ColumnChangeError::Invalid { table, column, reason }),
        }
    }

    /// The column called `name` and its place.
    fn named(&self, name: &str) -> Result<(ColumnId, usize), ColumnChangeError> {
        let unknown = || ColumnChangeError::Unknown { table: self.name.clone(), column: name.to_owned() };
        let at = self.columns.iter().position(|column| column.name == name).ok_or_else(unknown)?;
        Ok((self.columns[at].id, at))
    }
}

impl TableVersion {
    /// The version with another definition of its table: each chunk has the segments of its columns. A column that both have keeps the
    /// form of its values. Whether they fit is for [`Self::check_nulls`].
    pub(crate) fn defined_as(&self, def: &Arc<TableDef>, sequence: u64) -> Self {
        let mut missing = MissingSegments::default();
        let altered = |chunk: &Arc<ChunkMeta>| {
            let segments = missing.complete(def, chunk.row_count, &chunk.segments);
            Arc::new(ChunkMeta { segments, ..(**chunk).clone() })
        };
        let chunks = self.chunks.iter().map(altered).collect();
        let distinct = def.columns.iter().map(|column| self.distinct_in(column)).collect();
        Self::new(Arc::clone(def), chunks, sequence, distinct)
    }

    /// The different values of a column that another definition has.
    fn distinct_in(&self, column: &ColumnDef) -> Option<DistinctCount> {
        match self.def.position(column.id) {
            Some(at) => self.distinct[at].clone(),
            None if self.chunks.is_empty() => Some(DistinctCount::new(DistinctSketch::empty())),
            None => Some(DistinctCount::new(distinct_missing(column))),
        }
    }

    /// Checks that no chunk has a null in a column without nulls, deleted rows included.
    ///
    /// # Errors
    /// [`ColumnChangeError::ContainsNulls`].
    pub(crate) fn check_nulls(&self) -> Result<(), ColumnChangeError> {
        let not_null = self.def.columns.iter().enumerate().filter(|(_, column)| !column.nullable);
        let has_null = |at: usize| self.chunks.iter().any(|chunk| chunk.segments[at].zone_map.null_count > 0);
        match not_null.into_iter().find(|(at, _)| has_null(*at)) {
            Some((_, column)) => {
                let (schema, table, column) = (self.def.schema, self.def.name.clone(), column.name.clone());
                Err(ColumnChangeError::ContainsNulls { schema, table, column })
            }
            None => Ok(()),
        }
    }
}

impl Store {
    /// Changes the columns of a table; durable when it returns. Scans of versions before go on.
    ///
    /// # Errors
    /// [`StoreError::UnknownTable`], [`StoreError::Columns`], [`StoreError::Conflict`] if others alter it at the same time, and what
    /// commits can fail with.
    pub fn change_columns<'a>(
        &'a self,
        table: &'a str,
        change: ColumnChange,
    ) -> BoxFuture<'a, Result<Arc<TableVersion>, StoreError>> {
        Box::pin(async move {
            let (snapshot, mut writes) = (self.snapshot(), self.write_set());
            let unknown = || StoreError::UnknownTable { table: table.to_owned() };
            let before = snapshot.table(table).ok_or_else(unknown)?;
            let def = before.def.with_change(change)?;
            let id = def.id;
            writes.alter_table((&snapshot, &snapshot), def, AlteredRows::Kept).await?;
            drop(snapshot);
            let catalog = writes.commit().await?;
            catalog.by_id(id).cloned().ok_or_else(unknown)
        })
    }
}
