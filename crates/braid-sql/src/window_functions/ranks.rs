//! Window functions of a row's place: `row_number`, `rank`, `dense_rank`, `percent_rank`, `cume_dist` and `ntile`.

use super::{Partition, WindowFunction};
use crate::{SqlError, SqlState, Value};

/// The functions.
pub(super) const FUNCTIONS: &[WindowFunction] = &[
    WindowFunction::of_partition("window_row_number", |partition| partition.each(|row| Ok(bigint(row + 1)))),
    WindowFunction::of_partition("window_rank", |partition| {
        partition.each(|row| Ok(bigint(partition.peers.peers_of(row).start + 1)))
    }),
    WindowFunction::of_partition("window_dense_rank", |partition| {
        partition.each(|row| Ok(bigint(partition.peers.group_of(row) + 1)))
    }),
    WindowFunction::of_partition("window_percent_rank", |partition| {
        let others = partition.row_count().saturating_sub(1).max(1) as f64;
        partition.each(|row| Ok(Value::Float8(partition.peers.peers_of(row).start as f64 / others)))
    }),
    WindowFunction::of_partition("window_cume_dist", |partition| {
        let count = partition.row_count() as f64;
        partition.each(|row| Ok(Value::Float8(partition.peers.peers_of(row).end as f64 / count)))
    }),
    WindowFunction::of_partition("window_ntile", ntile),
];

fn bigint(number: usize) -> Value {
    Value::Int8(number as i64)
}

/// The number of buckets is that of the first row where it is not null; rows before it have none. The first buckets are larger by one.
fn ntile(partition: &Partition<'_>) -> Result<Vec<Value>, SqlError> {
    let first = partition.arguments.iter().position(|row| !row[0].is_null()).unwrap_or(partition.row_count());
    let Some(row) = partition.arguments.get(first) else { return Ok(vec![Value::Null; first]) };
    let Some(bucket_count) = usize::try_from(row[0].as_int4()).ok().filter(|count| *count > 0) else {
        let message = "argument of ntile must be greater than zero";
        return Err(SqlError::new(SqlState::InvalidNtileArgument, message));
    };
    let (size, larger) = (partition.row_count() / bucket_count, partition.row_count() % bucket_count);
    let in_larger = larger * (size + 1);
    partition.each(|row| match row.checked_sub(first) {
        None => Ok(Value::Null),
        Some(at) if at < in_larger => Ok(bucket(at / (size + 1))),
        Some(at) => Ok(bucket(larger + (at - in_larger) / size.max(1))),
    })
}

fn bucket(index: usize) -> Value {
    Value::Int4(i32::try_from(index + 1).expect("there are at most as many buckets as an integer says"))
}
