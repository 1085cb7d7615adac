//! Window functions of another crate: arrays in place of vectors, errors of the operator.

use super::segment::Segment;
use crate::plan::{ForeignError, ForeignWindowCall, WindowRows};
use crate::{ExecError, Vector};

/// The results of a call for whole partitions. `watch` is told how many bytes are held beside the rows.
///
/// # Errors
/// When the function fails, and the errors of `watch`.
pub(super) fn foreign_results(
    call: &ForeignWindowCall,
    segment: &Segment<'_>,
    key_count: usize,
    watch: &mut dyn FnMut(usize) -> Result<(), ExecError>,
) -> Result<Vector, ExecError> {
    let read = || call.arguments.iter().map(|(column, data_type)| (&segment.columns[*column], data_type));
    let array_bytes = read().map(|(vector, _)| vector.bytes()).sum::<usize>();
    watch(array_bytes)?;
    let arrays = read().map(|(vector, data_type)| vector.to_array(data_type));
    let arrays = arrays.collect::<Result<Vec<_>, _>>().map_err(|error| ExecError::Foreign(Box::new(error)))?;
    let rows = WindowRows {
        arguments: &arrays,
        partitions: &segment.partitions,
        peers: segment.peers(key_count),
        row_count: segment.row_count,
    };
    let mut watch_all = |bytes: usize| watch(array_bytes + bytes).map_err(|error| Box::new(error) as ForeignError);
    let results = call.function.results(&rows, &mut watch_all).map_err(ExecError::of_foreign)?;
    if results.len() != segment.row_count {
        let reason = format!("{} gave {} values for {} rows", call.function, results.len(), segment.row_count);
        return Err(ExecError::Foreign(reason.into()));
    }
    Vector::from_array(&results)
        .ok_or_else(|| ExecError::Foreign(format!("{} is not supported", results.data_type()).into()))
}
