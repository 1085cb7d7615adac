//! What a statement changes, until it is kept: the rows that its parts have found, and those that they add.
//!
//! A statement with changes in its WITH has several parts. All read one snapshot, and nothing is changed before all of them have ended. A row
//! that two of them would change belongs to the first, which is one of the outcomes that PostgreSQL leaves open.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray, Int64Array};
use arrow::compute::filter_record_batch;
use arrow::datatypes::Int64Type;
use arrow::record_batch::RecordBatch;
use braid_base::TableId;
use braid_storage::{AppendedRows, Catalog, TableAppender, TableDef, TableVersion};

use super::found_rows::FoundRows;
use super::referential_actions::enforce;
use super::replaced_rows::ReplacedRows;
use crate::EngineError;
use crate::statement_context::{RowChange, StatementContext};

/// The changes of a statement.
#[derive(Default)]
pub(super) struct Changes {
    tables: BTreeMap<TableId, TableChanges>,
    replaced: ReplacedRows,
}

/// The changes of one table.
struct TableChanges {
    def: Arc<TableDef>,
    found: FoundRows,
    appended: Vec<AppendedRows>,
}

impl Changes {
    /// Notes the rows of a batch, whose first column has their identities; returns those that come for the first time. `None` if a chunk is
    /// gone: others have merged it.
    pub fn find(&mut self, snapshot: &Catalog, def: &Arc<TableDef>, batch: RecordBatch) -> Option<RecordBatch> {
        self.find_between([snapshot, snapshot], def, batch)
    }

    /// As [`Self::find`], of rows of a state between these two.
    pub fn find_between(
        &mut self,
        [first, last]: [&Catalog; 2],
        def: &Arc<TableDef>,
        batch: RecordBatch,
    ) -> Option<RecordBatch> {
        let last = last.by_id(def.id)?;
        let first = first.by_id(def.id).unwrap_or(last);
        add_found(&mut self.of(def).found, [first, last], batch)
    }

    /// Notes that rows take the places of others, by the identities of these, so that foreign keys can follow. They are
    /// appended besides.
    ///
    /// # Errors
    /// As [`ReplacedRows::note`].
    pub fn replace(
        &mut self,
        states: (&StatementContext, &Catalog),
        def: &TableDef,
        replaced: &Int64Array,
        rows: &RecordBatch,
    ) -> Result<(), EngineError> {
        self.replaced.note_numbers(states, def, replaced, rows)
    }

    /// Adds rows to a table.
    pub fn append(&mut self, def: &Arc<TableDef>, rows: AppendedRows) {
        self.of(def).appended.push(rows);
    }

    /// Makes the changes and what follows from them, in the transaction or by a commit. False if others have changed some of the rows: nothing is changed then.
    ///
    /// # Errors
    /// What locks, writing and commits fail with.
    pub async fn make(mut self, context: &StatementContext) -> Result<bool, EngineError> {
        for (id, changes) in &self.tables {
            let added: u64 = changes.appended.iter().map(AppendedRows::row_count).sum();
            if added != self.replaced.count_of(*id) {
                self.replaced.note_others(*id);
            }
        }
        let changes = self.tables.into_values().map(|TableChanges { def, found, appended }| RowChange {
            table: def,
            committed: found.committed,
            own: found.own,
            appended,
        });
        let is_change =
            |change: &RowChange| !change.committed.is_empty() || !change.own.is_empty() || !change.appended.is_empty();
        let changes: Vec<RowChange> = changes.filter(is_change).collect();
        if changes.is_empty() {
            return Ok(true);
        }
        let Some(renumbered) = context.change_rows(changes).await? else { return Ok(false) };
        self.replaced.follow(&renumbered);
        enforce(context, self.replaced).await?;
        context.keep_changes().await?;
        Ok(true)
    }

    fn of(&mut self, def: &Arc<TableDef>) -> &mut TableChanges {
        let none = || TableChanges { def: def.clone(), found: FoundRows::default(), appended: Vec::new() };
        self.tables.entry(def.id).or_insert_with(none)
    }
}

/// Adds rows to their table, as COPY does, in the transaction or by a commit; returns their number.
///
/// # Errors
/// What writing, foreign keys and commits fail with.
pub(crate) async fn add_rows(context: &StatementContext, appender: TableAppender) -> Result<u64, EngineError> {
    let row_count = context.add_rows(appender).await?;
    enforce(context, ReplacedRows::default()).await?;
    context.keep_changes().await?;
    Ok(row_count)
}

/// Notes the rows of a batch, whose first column has their identities, as [`Changes::find`].
fn add_found(found: &mut FoundRows, between: [&TableVersion; 2], batch: RecordBatch) -> Option<RecordBatch> {
    let numbers = batch.column(0).as_primitive::<Int64Type>().clone();
    let is_new = numbers.values().iter().map(|number| found.insert_between(between, *number));
    let is_new: Vec<bool> = is_new.collect::<Option<_>>()?;
    match is_new.iter().all(|is_new| *is_new) {
        true => Some(batch),
        false => {
            Some(filter_record_batch(&batch, &BooleanArray::from(is_new)).expect("a mask has a value for each row"))
        }
    }
}
