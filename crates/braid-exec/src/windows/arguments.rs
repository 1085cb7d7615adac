//! The arguments of an aggregate over frames: which rows count, and their numbers.

use crate::values::vector::{Values, Vector};

/// The arguments of a call.
pub(super) struct Arguments<'a> {
    /// Numbers, if the argument has any.
    pub numbers: Numbers<'a>,
    /// Whether each row counts; `None` if all do.
    counted: Option<Vec<bool>>,
}

/// The numbers of an argument; arbitrary in rows that do not count.
pub(super) enum Numbers<'a> {
    /// There is no argument, or it has no numbers.
    Nothing,
    Int(&'a [i64]),
    Int128(&'a [i128]),
    Float(&'a [f64]),
}

impl<'a> Arguments<'a> {
    /// The rows where the argument is not null and the filter is true.
    pub fn new(argument: Option<&'a Vector>, filter: Option<&Vector>) -> Self {
        let numbers = match argument.map(Vector::values) {
            Some(Values::Int(values)) => Numbers::Int(values),
            Some(Values::Int128(values)) => Numbers::Int128(values),
            Some(Values::Float(values)) => Numbers::Float(values),
            _ => Numbers::Nothing,
        };
        let mut counted = argument.and_then(Vector::valid).map(<[bool]>::to_vec);
        if let Some(filter) = filter {
            let is_true = |row: usize| match filter.values() {
                Values::Bool(values) => values[row] && filter.is_valid(row),
                // A vector of nulls may have any kind.
                _ => false,
            };
            let counted = counted.get_or_insert_with(|| vec![true; filter.len()]);
            counted.iter_mut().enumerate().for_each(|(row, counts)| *counts &= is_true(row));
        }
        Self { numbers, counted }
    }

    /// Whether a row counts.
    pub fn counts(&self, row: usize) -> bool {
        self.counted.as_ref().is_none_or(|counted| counted[row])
    }

    /// Whether all rows count.
    pub fn counts_all(&self) -> bool {
        self.counted.is_none()
    }
}
