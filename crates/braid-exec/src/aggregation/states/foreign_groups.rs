//! The states of a foreign aggregate within the operator: arrays in place of vectors, errors of the operator.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

use crate::ExecError;
use crate::aggregation::MERGED_ROWS;
use crate::aggregation::states::sums::RowGroups;
use crate::plan::{ForeignCall, ForeignStates};
use crate::runtime::stop::StopFlag;
use crate::values::vector::Vector;

/// The foreign calls of an aggregation.
#[derive(Clone, Debug, Default)]
pub(crate) struct ForeignCalls {
    pub(crate) calls: Arc<[ForeignCall]>,
    /// The cancellation of the query.
    pub(crate) cancelled: StopFlag,
}

/// The states of one call.
#[derive(Debug)]
pub(crate) struct ForeignGroups {
    states: Box<dyn ForeignStates>,
    cancelled: StopFlag,
}

impl ForeignCalls {
    /// States of no groups, for each call.
    pub(crate) fn states(&self) -> impl Iterator<Item = ForeignGroups> + '_ {
        let states =
            |call: &ForeignCall| ForeignGroups { states: call.function.states(), cancelled: self.cancelled.clone() };
        self.calls.iter().map(states)
    }
}

impl ForeignGroups {
    /// Accumulates rows, given by their groups and a vector for each argument of the call.
    ///
    /// # Errors
    /// When the aggregate fails.
    pub(crate) fn update(
        &mut self,
        call: &ForeignCall,
        groups: &[u32],
        group_count: usize,
        vectors: &[Arc<Vector>],
    ) -> Result<(), ExecError> {
        let arrays = vectors.iter().zip(&call.arguments).map(|(vector, (_, data_type))| array_of(vector, data_type));
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        self.states.update(groups, group_count, &arrays).map_err(ExecError::of_foreign)
    }

    /// The parts of some groups.
    ///
    /// # Errors
    /// When a part is too long.
    pub(crate) fn parts(&self, groups: &[u32]) -> Result<Vector, ExecError> {
        let parts = self.states.save(groups).map_err(ExecError::of_foreign)?;
        vector_of(&parts, groups.len())
    }

    /// Merges such parts into `groups`.
    ///
    /// # Errors
    /// When the aggregate fails.
    pub(crate) fn merge_parts(&mut self, parts: &Vector, groups: &[u32], group_count: usize) -> Result<(), ExecError> {
        let parts = array_of(parts, &DataType::BinaryView)?;
        self.states.merge(groups, group_count, &parts).map_err(ExecError::of_foreign)
    }

    /// Merges the states of rows, which are groups of `other`, into those of their groups, some at a time. `each` is told how many bytes
    /// the states have grown by.
    ///
    /// # Errors
    /// When the aggregate fails, and the errors of `each`.
    pub(crate) fn merge(
        &mut self,
        other: &Self,
        RowGroups { rows, groups }: RowGroups<'_>,
        group_count: usize,
        mut each: impl FnMut(usize) -> Result<(), ExecError>,
    ) -> Result<(), ExecError> {
        for (rows, groups) in rows.chunks(MERGED_ROWS).zip(groups.chunks(MERGED_ROWS)) {
            let before = self.bytes();
            self.merge_parts(&other.parts(rows)?, groups, group_count)?;
            each(self.bytes().saturating_sub(before))?;
        }
        Ok(())
    }

    /// The results of a range of groups.
    ///
    /// # Errors
    /// When the aggregate fails.
    pub(crate) fn results(&self, groups: Range<usize>) -> Result<Vector, ExecError> {
        let count = groups.len();
        let results = self.states.results(groups, &self.cancelled).map_err(ExecError::of_foreign)?;
        vector_of(&results, count)
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.states.bytes()
    }

    /// Bytes that the results of these groups need while they are computed.
    pub(crate) fn results_bytes(&self, groups: Range<usize>) -> usize {
        self.states.results_bytes(groups)
    }
}

fn array_of(vector: &Vector, data_type: &DataType) -> Result<ArrayRef, ExecError> {
    vector.to_array(data_type).map_err(|error| ExecError::Foreign(Box::new(error)))
}

fn vector_of(array: &ArrayRef, count: usize) -> Result<Vector, ExecError> {
    if array.len() != count {
        let reason = format!("an aggregate gave {} values for {count} groups", array.len());
        return Err(ExecError::Foreign(reason.into()));
    }
    Vector::from_array(array)
        .ok_or_else(|| ExecError::Foreign(format!("{} is not supported", array.data_type()).into()))
}
