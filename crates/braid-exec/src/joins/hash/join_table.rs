//! The complete build side: its columns, its rows by key, and marks of the rows with partners.
//!
//! All probing workers share the table. Only the marks change during the probe; they are set and never cleared. Relaxed ordering
//! suffices, because the marks are read after the workers have been joined.

mod filter_builder;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::joins::hash::JoinSpec;
use crate::joins::hash::build::atomic_cells::zeroed_u8;
use crate::joins::hash::build::directory_builder::{DirectoryBuilder, groups_with_keys, ranges};
use crate::joins::hash::build::united_columns::{BuildColumns, unite};
use crate::joins::hash::build_tasks::{BuildMemory, BuildTasks, Grain, without_waiting};
use crate::joins::hash::directory::Directory;
use crate::joins::hash::directory::direct_addresses::groups_of_addresses;
use crate::joins::hash::directory::hashed_keys::Search;
use crate::joins::hash::directory::row_lists::RowLists;
use crate::keys::key_filter::KeyFilter;
use crate::keys::key_hashes::KeyHasher;
use crate::keys::null_keys::NullKeys;
use crate::runtime::collected_rows::CollectedRows;
use crate::runtime::stop::StopFlag;
use crate::values::batch::Origin;
use crate::values::row_numbers::RowNumbers;
use crate::values::vector::NO_ROW;
use crate::{ExecError, SetNumber, Vector};

/// The build side of a join during the probe.
pub struct JoinTable {
    pub(crate) spec: JoinSpec,
    /// The columns; empty if the join needs only keys and the directory has them.
    columns: Vec<Arc<Vector>>,
    pub(crate) row_count: usize,
    pub(crate) directory: Directory,
    /// The rows of each group; `None` if a group is its row, or if the join needs no rows.
    pub(crate) lists: Option<RowLists>,
    /// Rows whose key equals nothing, because it is null.
    pub(crate) null_key_rows: Vec<u32>,
    /// The properties of the other partitions of the build side.
    elsewhere: Elsewhere,
    /// Whether each row (with a residual) or group (without one) has a partner. Empty if the kind does not need marks.
    pub(crate) marks: Vec<AtomicU8>,
    /// The key filter, if the asynchronous construction has built it.
    pub(crate) filter: Option<KeyFilter>,
    memory: BuildMemory,
}

/// The properties of a partitioned build side that NOT IN needs in each partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elsewhere {
    /// Whether other partitions may have rows.
    pub(crate) has_rows: bool,
    /// Whether a row of another partition has a null key.
    pub(crate) has_null_keys: bool,
    /// In a pass, the queries with any row.
    pub(crate) rows_for: SetNumber,
    /// In a pass, the queries with a row whose key is null.
    pub(crate) null_keys_for: SetNumber,
}

impl Default for Elsewhere {
    /// There are no other partitions.
    fn default() -> Self {
        let none = SetNumber::EMPTY;
        Self { has_rows: false, has_null_keys: false, rows_for: none, null_keys_for: none }
    }
}

/// One worker's buffers for looking up groups.
#[derive(Default)]
pub(crate) struct Finder {
    numbers: Vec<u64>,
    active: Vec<u32>,
    hasher: KeyHasher,
    search: Search,
}

impl JoinTable {
    /// Combines the workers' rows in the caller's thread.
    ///
    /// # Errors
    /// When memory is refused.
    ///
    /// # Panics
    /// On an invalid join: see [`JoinSpec`].
    pub fn new(spec: JoinSpec, parts: Vec<CollectedRows>) -> Result<Self, ExecError> {
        let row_count = parts.iter().map(CollectedRows::row_count).sum();
        without_waiting(Self::build_with(spec, parts, BuildTasks::synchronous(row_count)))
    }

    /// Combines the workers' rows with up to `worker_count` workers, depending on the number of rows. The workers stop when the
    /// query is cancelled.
    ///
    /// # Errors
    /// When memory is refused, or the query is cancelled.
    ///
    /// # Panics
    /// On an invalid join: see [`JoinSpec`].
    pub async fn build(
        spec: JoinSpec,
        parts: Vec<CollectedRows>,
        worker_count: usize,
        cancelled: &StopFlag,
    ) -> Result<Self, ExecError> {
        let row_count = parts.iter().map(CollectedRows::row_count).sum();
        let tasks = BuildTasks::new(worker_count, row_count, cancelled, Grain::default());
        Self::build_with(spec, parts, tasks).await
    }

    /// The table as one partition of a build side.
    pub(crate) fn beside(self, elsewhere: Elsewhere) -> Self {
        Self { elsewhere, ..self }
    }

    /// Whether the whole build side has rows.
    pub(super) fn has_any_rows(&self) -> bool {
        self.row_count > 0 || self.elsewhere.has_rows
    }

    /// Whether a row of the whole build side has a null key.
    pub(super) fn has_any_null_keys(&self) -> bool {
        !self.null_key_rows.is_empty() || self.elsewhere.has_null_keys
    }

    /// The properties of the other partitions of the build side.
    pub(crate) fn elsewhere(&self) -> Elsewhere {
        self.elsewhere
    }

    pub(super) async fn build_with(
        spec: JoinSpec,
        parts: Vec<CollectedRows>,
        mut tasks: BuildTasks,
    ) -> Result<Self, ExecError> {
        spec.check();
        let BuildColumns { columns, row_count } = unite(spec.build_column_count, parts, &mut tasks).await?;
        let columns: Vec<Arc<Vector>> = columns.into_iter().map(Arc::new).collect();
        let keys: Arc<[Arc<Vector>]> = spec.build_keys.iter().map(|key| columns[*key].clone()).collect();
        let null_key_rows =
            if spec.null_keys.are_equal() { Vec::new() } else { null_rows(&keys, row_count, &mut tasks).await? };
        let mut builder = DirectoryBuilder { keys, row_count, spec: &spec, tasks: &mut tasks };
        let (directory, lists) = builder.build(null_key_rows.len()).await?;
        drop(builder);
        let mark_count = match &lists {
            _ if !spec.kind.marks_build_rows() => 0,
            Some(lists) if !spec.has_residual => lists.group_count(),
            _ => row_count,
        };
        tasks.memory.grow(mark_count)?;
        let (marks, memory) = (zeroed_u8(mark_count), tasks.memory.clone());
        let mut table = Self {
            spec,
            columns,
            row_count,
            directory,
            lists,
            null_key_rows,
            elsewhere: Elsewhere::default(),
            marks,
            filter: None,
            memory,
        };
        if tasks.can_wait() {
            table.filter = table.make_key_filter(&mut tasks).await?;
        }
        table.release_columns();
        Ok(table)
    }

    /// Drops columns that are no longer read.
    fn release_columns(&mut self) {
        if self.spec.needs_keys_only() && !matches!(self.directory, Directory::HashedColumns(..)) {
            let bytes: usize = self.columns.iter().map(|column| column.bytes()).sum();
            self.columns.clear();
            self.memory.shrink(bytes);
        }
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// The key columns, if they are still held.
    pub(crate) fn keys(&self) -> Vec<Arc<Vector>> {
        self.spec.build_keys.iter().map(|key| self.columns[*key].clone()).collect()
    }

    /// A column of the build side. Only for joins that keep columns, such as joins that make pairs.
    pub(crate) fn column(&self, at: usize) -> &Vector {
        &self.columns[at]
    }

    pub(crate) fn finder(&self) -> Finder {
        Finder::default()
    }

    /// The group of each key, or [`NO_ROW`]. A group may have no rows.
    pub(crate) fn find(&self, keys: &[Arc<Vector>], row_count: usize, finder: &mut Finder, groups: &mut Vec<u32>) {
        let Finder { numbers, active, hasher, search } = finder;
        match &self.directory {
            Directory::Members(addresses, bitmap) => {
                addresses.fill(keys, 0..row_count, numbers);
                groups.clear();
                groups.extend(numbers.iter().map(|address| if bitmap.contains(*address) { 0 } else { NO_ROW }));
            }
            Directory::Rows(addresses, rows) => {
                addresses.fill(keys, 0..row_count, numbers);
                rows.find(numbers, groups);
            }
            Directory::Addresses(addresses) => {
                addresses.fill(keys, 0..row_count, numbers);
                groups_of_addresses(numbers, addresses.count, groups);
            }
            Directory::Ranks(addresses, ranks) => {
                addresses.fill(keys, 0..row_count, numbers);
                ranks.find(numbers, groups);
            }
            Directory::HashedAddresses(addresses, hashed) => {
                addresses.fill(keys, 0..row_count, numbers);
                hashed.find(numbers, active, groups);
            }
            Directory::HashedColumns(hashed) => {
                hasher.fill(keys, 0..row_count, numbers);
                groups_with_keys(keys, 0..row_count, self.spec.null_keys, groups);
                hashed.find(&self.keys(), keys, numbers, search, groups);
            }
        }
    }

    /// Whether the group has rows.
    #[inline]
    pub(crate) fn has_rows(&self, group: u32) -> bool {
        match &self.lists {
            None => group != NO_ROW,
            Some(lists) => {
                let (start, end) = lists.range(group);
                start < end
            }
        }
    }

    /// Marks a row or group that has a partner.
    #[inline]
    pub(crate) fn mark(&self, at: u32) {
        let mark = &self.marks[at as usize];
        // A read keeps the cache line shared between workers if the mark is set already.
        if mark.load(Ordering::Relaxed) == 0 {
            mark.store(1, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn is_marked(&self, at: u32) -> bool {
        self.marks[at as usize].load(Ordering::Relaxed) != 0
    }
}

impl Origin for JoinTable {
    fn read(&self, column: usize, rows: &RowNumbers) -> Vector {
        self.columns[column].take(rows.as_slice())
    }
}

/// The rows with a null in any of these columns, in order.
async fn null_rows(keys: &Arc<[Arc<Vector>]>, row_count: usize, tasks: &mut BuildTasks) -> Result<Vec<u32>, ExecError> {
    if keys.iter().all(|key| key.valid().is_none()) {
        return Ok(Vec::new());
    }
    let pieces = ranges(row_count, tasks.piece_rows(row_count));
    let keys = Arc::new(keys.clone());
    let found = tasks.each(&keys, pieces, |keys, rows, pace| {
        Box::pin(async move {
            let mut groups = Vec::new();
            groups_with_keys(keys, rows.clone(), NullKeys::EqualNothing, &mut groups);
            pace.step(rows.len()).await?;
            let nulls = (rows.start as u32..).zip(groups).filter(|(_, group)| *group == NO_ROW);
            Ok(nulls.map(|(row, _)| row).collect::<Vec<u32>>())
        })
    });
    let found = found.await?;
    let count = found.iter().map(Vec::len).sum();
    tasks.memory.grow(count * size_of::<u32>())?;
    let mut all = Vec::with_capacity(count);
    for rows in found {
        all.extend_from_slice(&rows);
        tasks.pace().step(rows.len()).await?;
    }
    Ok(all)
}
