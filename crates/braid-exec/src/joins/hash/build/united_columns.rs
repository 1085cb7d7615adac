//! The combination of the workers' columns.
//!
//! Columns are combined one after the other. Each is allocated at its final size, and all workers copy pieces into it; the
//! workers' parts are then dropped. In addition to the rows, at most one column is therefore held, and it is reserved from
//! the budget. If the budget refuses it, the workers' parts are appended to the first one, one at a time.
//!
//! Long strings are not copied: their buffers are shared, and only views are copied. Strings stay codes if the parts have one
//! dictionary or can share one.

use std::sync::Arc;

use braid_base::ByteSize;

use crate::exec_error::MemoryExceeded;
use crate::joins::hash::build::column_parts::ColumnParts;
use crate::joins::hash::build_tasks::{BuildMemory, BuildTasks, Pace};
use crate::runtime::collected_rows::CollectedRows;
use crate::values::vector::{Kind, NO_ROW};
use crate::{ExecError, Vector};

/// Maximum number of build rows. Rows have 32-bit numbers; the last number is [`NO_ROW`], whose successor would be zero.
pub(crate) const ROW_COUNT_MAX: usize = NO_ROW as usize - 1;

/// Columns of the build side. The tasks that built them hold their memory.
pub(crate) struct BuildColumns {
    pub(crate) columns: Vec<Vector>,
    pub(crate) row_count: usize,
}

/// Combines all parts.
///
/// # Errors
/// When memory is refused, or the query is cancelled.
pub(crate) async fn unite(
    column_count: usize,
    parts: Vec<CollectedRows>,
    tasks: &mut BuildTasks,
) -> Result<BuildColumns, ExecError> {
    let row_count = parts.iter().map(CollectedRows::row_count).sum();
    let (mut columns_of_parts, mut reservations, mut bytes) = (Vec::new(), Vec::new(), 0);
    for part in parts.into_iter().filter(|part| part.row_count() > 0) {
        let (columns, reservation) = part.into_vectors();
        bytes += columns.iter().map(Vector::bytes).sum::<usize>();
        columns_of_parts.push(columns.into_iter());
        reservations.push(reservation);
    }
    tasks.memory = BuildMemory::of(reservations);
    check_row_count(row_count)?;
    let mut columns = Vec::with_capacity(column_count);
    for _ in 0..column_count {
        let vectors: Vec<Vector> = columns_of_parts.iter_mut().filter_map(Iterator::next).collect();
        if vectors.is_empty() {
            columns.push(Vector::repeat(None, 0));
            continue;
        }
        bytes -= vectors.iter().map(Vector::bytes).sum::<usize>();
        let column = unite_column(vectors, bytes, tasks).await?;
        bytes += column.bytes();
        columns.push(column);
    }
    Ok(BuildColumns { columns, row_count })
}

/// Combines one column. The other columns take `bytes_of_others`.
async fn unite_column(
    vectors: Vec<Vector>,
    bytes_of_others: usize,
    tasks: &mut BuildTasks,
) -> Result<Vector, ExecError> {
    let bytes_before: usize = vectors.iter().map(Vector::bytes).sum();
    let vectors: Vec<Vector> = vectors.into_iter().map(Vector::closed).collect();
    let mut parts = Arc::new(ColumnParts::new(vectors));
    let has_nulls = any_null(&parts, tasks).await?;
    let taken = |parts| Arc::into_inner(parts).map(|parts: ColumnParts| parts.vectors).expect("tasks have ended");
    if parts.vectors.len() == 1 {
        let (values, valid) = taken(parts).remove(0).into_parts();
        return Ok(Vector::new(values, valid.filter(|_| has_nulls)));
    }
    let kind = kind_of(&parts.vectors, tasks.pace()).await?;
    let parts_mut = Arc::get_mut(&mut parts).expect("no tasks yet");
    let strings = (kind == Kind::String).then(|| parts_mut.plan_strings());
    let row_bytes = parts.row_bytes(kind) + usize::from(has_nulls);
    let new_bytes = parts.vectors.iter().map(Vector::len).sum::<usize>() * row_bytes;
    let united = if tasks.memory.hold(bytes_of_others + bytes_before + new_bytes).is_ok() {
        let values = parts.unite_values(kind, strings, tasks).await?;
        let valid = if has_nulls { Some(parts.unite_validity(tasks).await?) } else { None };
        drop(parts);
        Vector::new(values, valid)
    } else {
        drop(strings);
        let (values, valid) = append_each(taken(parts), tasks.pace()).await?.closed().into_parts();
        Vector::new(values, valid.filter(|_| has_nulls))
    };
    tasks.memory.hold(bytes_of_others + united.bytes())?;
    Ok(united)
}

/// Appends the parts one by one, without additional memory.
async fn append_each(vectors: Vec<Vector>, pace: &mut Pace) -> Result<Vector, ExecError> {
    let mut vectors = vectors.into_iter();
    let mut united = vectors.next().expect("a column has parts");
    for vector in vectors {
        united.append(&vector);
        pace.step(vector.len()).await?;
    }
    Ok(united)
}

async fn any_null(parts: &Arc<ColumnParts>, tasks: &mut BuildTasks) -> Result<bool, ExecError> {
    let mut pieces = parts.pieces(tasks);
    pieces.retain(|(part, _)| parts.vectors[*part].valid().is_some());
    let found = tasks.each(parts, pieces, |parts, (part, rows), pace| {
        Box::pin(async move {
            pace.step(rows.len()).await?;
            Ok(parts.vectors[part].valid().is_some_and(|valid| valid[rows].contains(&false)))
        })
    });
    Ok(found.await?.contains(&true))
}

/// The kind of the parts that have values other than null.
async fn kind_of(vectors: &[Vector], pace: &mut Pace) -> Result<Kind, ExecError> {
    let first = vectors[0].values().kind();
    if vectors.iter().all(|vector| vector.values().kind() == first) {
        return Ok(first);
    }
    for vector in vectors {
        if vector.valid().is_none_or(|valid| valid.contains(&true)) {
            return Ok(vector.values().kind());
        }
        pace.step(vector.len()).await?;
    }
    Ok(first)
}

fn check_row_count(row_count: usize) -> Result<(), ExecError> {
    if row_count <= ROW_COUNT_MAX {
        return Ok(());
    }
    Err(ExecError::Memory(MemoryExceeded {
        operator: "hash join",
        asked: ByteSize(0),
        reason: format!("the build side has {row_count} rows; a build side has at most {ROW_COUNT_MAX} rows"),
    }))
}
