//! What kernels get: a vector, or a constant that stands for as many rows as are wanted.
//!
//! Constants are not expanded, so that a comparison with one reads one column. A vector of nothing but nulls, or of no
//! rows, may be of another kind than its column's values are, so kernels ask [`Operand::is_null`] before they insist on a
//! kind; what is left then is a mistake of the plan.

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

    /// False for each null; `None` when there is none.
    pub fn valid(&self) -> Option<&[bool]> {
        match self {
            Self::Vector(vector) => vector.valid(),
            Self::Constant(_) => None,
        }
    }

    /// Its values for so many rows.
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

/// Values of one type, or one of them for all rows.
#[derive(Clone, Copy)]
pub(super) enum Side<'a, T> {
    Each(&'a [T]),
    All(T),
}

/// Combines two sides row by row, `row_count` rows. The shapes are told apart once, so that the loops are tight.
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

/// Where both operands are not null.
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

/// Null in all rows: what an operation on nothing but nulls gives.
pub(super) fn nulls() -> Operand {
    Operand::Constant(None)
}
