//! The operands of kernels: a vector, or a constant for any number of rows.
//!
//! Constants are not expanded, so that a comparison with a constant reads one column. A vector of only nulls, or without
//! rows, may have another kind than its column. Kernels therefore check [`Operand::is_null`] before they require a kind; a
//! mismatch after that check is an error of the plan.

use std::sync::Arc;

use braid_storage::Scalar;

use crate::Vector;

/// A vector or a constant.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    Vector(Arc<Vector>),
    Constant(Option<Arc<Scalar>>),
}

impl Operand {
    /// Whether no row has a value.
    pub fn is_null(&self) -> bool {
        match self {
            Self::Vector(vector) => {
                vector.is_empty() || vector.valid().is_some_and(|valid| !valid[0] && !valid.contains(&true))
            }
            Self::Constant(value) => value.is_none(),
        }
    }

    /// False for each null; `None` without nulls.
    pub fn valid(&self) -> Option<&[bool]> {
        match self {
            Self::Vector(vector) => vector.valid(),
            Self::Constant(_) => None,
        }
    }

    /// Its values for `row_count` rows.
    pub fn into_vector(self, row_count: usize) -> Arc<Vector> {
        match self {
            Self::Vector(vector) => vector,
            Self::Constant(value) => Arc::new(Vector::repeat(value.as_deref(), row_count)),
        }
    }
}

impl From<Vector> for Operand {
    fn from(vector: Vector) -> Self {
        Self::Vector(Arc::new(vector))
    }
}

/// Values of one type, or one value for all rows.
#[derive(Clone, Copy)]
pub(super) enum Side<'a, T> {
    Each(&'a [T]),
    All(T),
}

/// Combines two sides row by row, for `row_count` rows. Dispatches on the shapes once, so that the loops are tight.
#[inline(always)]
pub(super) fn combine<A: Copy, B: Copy, R>(
    left: Side<'_, A>,
    right: Side<'_, B>,
    row_count: usize,
    mut with: impl FnMut(A, B) -> R,
) -> Vec<R> {
    match (left, right) {
        (Side::Each(left), Side::Each(right)) => {
            left.iter().zip(right).map(|(left, right)| with(*left, *right)).collect()
        }
        (Side::Each(left), Side::All(right)) => left.iter().map(|left| with(*left, right)).collect(),
        (Side::All(left), Side::Each(right)) => right.iter().map(|right| with(left, *right)).collect(),
        (Side::All(left), Side::All(right)) => (0..row_count).map(|_| with(left, right)).collect(),
    }
}

/// The rows in which both operands are not null.
pub(super) fn both_valid(left: Option<&[bool]>, right: Option<&[bool]>) -> Option<Vec<bool>> {
    match (left, right) {
        (None, None) => None,
        (Some(valid), None) | (None, Some(valid)) => Some(valid.to_vec()),
        (Some(left), Some(right)) => Some(left.iter().zip(right).map(|(left, right)| *left & *right).collect()),
    }
}

/// Boolean results that are null where `valid` is false.
pub(super) fn booleans(values: Vec<bool>, valid: Option<Vec<bool>>) -> Operand {
    Vector::new(crate::values::vector::Values::Bool(values), valid).into()
}

/// Null in all rows: the result of an operation on nulls.
pub(super) fn nulls() -> Operand {
    Operand::Constant(None)
}
