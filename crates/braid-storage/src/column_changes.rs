//! ALTER TABLE of columns: ADD, DROP, RENAME.
//!
//! A change is a pure function from a version to the next one. It writes nothing but the manifest: the chunks keep their
//! identities and files, and the segments of all other columns. Rows that are there have the *missing value* of a column that is
//! added ([`crate::missing_segments`]). A column that is dropped is left out of the definition; its bytes go when its
//! chunks are rewritten. A version without the column shares chunks by identity with those that have it, because a segment
//! belongs to a column's id, and no id is given out twice.
//!
//! Deliberately not done here: what a default's text means (the caller computes the missing value), who depends on a column, and
//! the rewriting of data files.

use std::sync::Arc;

use braid_base::ColumnId;
use futures::future::BoxFuture;

use crate::catalog::TableEntry;
use crate::column_change_error::COLUMNS_MAX;
use crate::distinct_sketch::{DistinctCount, DistinctSketch};
use crate::missing_segments::{MissingSegments, distinct_missing};
use crate::store_shared::{Commit, CommitLock};
use crate::{ChunkMeta, ColumnChangeError, ColumnDef, Store, StoreError, TableDef, TableVersion};

/// A change of a table's columns.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnChange {
    /// Adds a column behind the others. Whatever id it has, it gets one of its own. In rows that are there its value is
    /// [`ColumnDef::missing`].
    Add(ColumnDef),
    /// Drops the column of this name. A primary key that it is part of is dropped too.
    Drop(String),
    /// Renames a column.
    Rename {
        /// Its name.
        from: String,
        /// Its next name.
        to: String,
    },
}

impl TableVersion {
    /// The next version, made by the manifest with the number `sequence`.
    ///
    /// # Errors
    /// Those of the functions below.
    pub fn with_change(&self, change: &ColumnChange, sequence: u64) -> Result<Self, ColumnChangeError> {
        match change {
            ColumnChange::Add(column) => self.with_added_column(column.clone(), sequence),
            ColumnChange::Drop(name) => self.without_column(name, sequence),
            ColumnChange::Rename { from, to } => self.with_renamed_column(from, to, sequence),
        }
    }

    /// The version with one more column, which has an id of its own.
    ///
    /// # Errors
    /// [`ColumnChangeError::Exists`], [`ColumnChangeError::TooMany`], [`ColumnChangeError::ContainsNulls`],
    /// [`ColumnChangeError::Invalid`].
    pub fn with_added_column(&self, column: ColumnDef, sequence: u64) -> Result<Self, ColumnChangeError> {
        let (table, name) = (self.def.name.clone(), column.name.clone());
        if self.def.column(&name).is_some() {
            return Err(ColumnChangeError::Exists { table, column: name });
        }
        if usize::from(self.def.next_column_id) >= COLUMNS_MAX {
            return Err(ColumnChangeError::TooMany);
        }
        if !self.chunks.is_empty() && !column.nullable && column.missing.is_none() {
            return Err(ColumnChangeError::ContainsNulls { table, column: name });
        }
        let id = ColumnId(self.def.next_column_id);
        let mut def = TableDef { next_column_id: id.0 + 1, ..(*self.def).clone() };
        def.columns.push(ColumnDef { id, ..column });
        if let Err(reason) = def.validate() {
            return Err(ColumnChangeError::Invalid { table, column: name, reason });
        }
        let distinct = match def.columns.last() {
            Some(column) if !self.chunks.is_empty() => distinct_missing(column),
            _ => DistinctSketch::empty(),
        };
        let mut counts = self.distinct.to_vec();
        counts.push(Some(DistinctCount::new(distinct)));
        Ok(self.with_columns_of(def, counts, sequence))
    }

    /// The version without a column.
    ///
    /// # Errors
    /// [`ColumnChangeError::Unknown`], [`ColumnChangeError::IsOnly`].
    pub fn without_column(&self, name: &str, sequence: u64) -> Result<Self, ColumnChangeError> {
        let (id, at) = self.named(name)?;
        if self.def.columns.len() == 1 {
            let (table, column) = (self.def.name.clone(), name.to_owned());
            return Err(ColumnChangeError::IsOnly { table, column });
        }
        let (mut def, mut counts) = ((*self.def).clone(), self.distinct.to_vec());
        def.columns.remove(at);
        counts.remove(at);
        if def.primary_key.contains(&id) {
            def.primary_key.clear();
        }
        Ok(self.with_columns_of(def, counts, sequence))
    }

    /// The version with another name of a column.
    ///
    /// # Errors
    /// [`ColumnChangeError::Unknown`], [`ColumnChangeError::Exists`], [`ColumnChangeError::Invalid`].
    pub fn with_renamed_column(&self, from: &str, to: &str, sequence: u64) -> Result<Self, ColumnChangeError> {
        let (_, at) = self.named(from)?;
        let (table, column) = (self.def.name.clone(), to.to_owned());
        if self.def.column(to).is_some() {
            return Err(ColumnChangeError::Exists { table, column });
        }
        let mut def = (*self.def).clone();
        def.columns[at].name = column.clone();
        match def.validate() {
            Ok(()) => Ok(self.with_columns_of(def, self.distinct.to_vec(), sequence)),
            Err(reason) => Err(ColumnChangeError::Invalid { table, column, reason }),
        }
    }

    /// The column called `name` and its place.
    fn named(&self, name: &str) -> Result<(ColumnId, usize), ColumnChangeError> {
        let unknown = || ColumnChangeError::Unknown { table: self.def.name.clone(), column: name.to_owned() };
        let (id, _) = self.def.column(name).ok_or_else(unknown)?;
        Ok((id, self.position(id)))
    }

    /// The version with another definition of its table: each chunk has the segments of its columns.
    fn with_columns_of(&self, def: TableDef, counts: Vec<Option<DistinctCount>>, sequence: u64) -> Self {
        let mut missing = MissingSegments::default();
        let altered = |chunk: &Arc<ChunkMeta>| {
            let segments = missing.complete(&def, chunk.row_count, &chunk.segments);
            Arc::new(ChunkMeta { segments, ..(**chunk).clone() })
        };
        let chunks = self.chunks.iter().map(altered).collect();
        Self::new(Arc::new(def), chunks, sequence, counts.into())
    }
}

impl Store {
    /// Changes the columns of a table; durable when it returns. Scans of versions before go on.
    ///
    /// # Errors
    /// [`StoreError::UnknownTable`], [`StoreError::Columns`], and what commits can fail with.
    pub fn change_columns<'a>(
        &'a self,
        table: &'a str,
        change: ColumnChange,
    ) -> BoxFuture<'a, Result<Arc<TableVersion>, StoreError>> {
        Box::pin(async move {
            let lock = CommitLock::acquire(self.shared()).await?;
            let newest = lock.catalog();
            let entry = newest.table(table).and_then(|version| newest.entry(version.def.id));
            let entry = entry.ok_or_else(|| StoreError::UnknownTable { table: table.to_owned() })?;
            let sequence = newest.sequence() + 1;
            let version = Arc::new(entry.version.with_change(&change, sequence)?);
            newest.check_types_of(&version.def)?;
            let mut catalog = newest.numbered(sequence);
            catalog.put(TableEntry::new(Arc::clone(&version), entry.next_chunk_id));
            catalog.check_views(&newest)?;
            lock.publish(Commit { catalog, added: Vec::new(), removed: Vec::new() }).await?;
            Ok(version)
        })
    }
}
