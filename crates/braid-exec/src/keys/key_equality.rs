//! Comparison of the keys of pairs of rows, column by column.

use std::sync::Arc;

use crate::Vector;
use crate::values::vector::Values;

/// Pairs of rows: of one side's vectors and of the other's.
pub(crate) struct RowPairs<'a> {
    pub(crate) left_rows: &'a [u32],
    pub(crate) right_rows: &'a [u32],
}

impl RowPairs<'_> {
    /// Clears the entries of `equal` for pairs with different keys. Nulls equal each other; the caller excludes nulls if they
    /// must not match.
    pub(crate) fn compare(&self, left: &[Arc<Vector>], right: &[Arc<Vector>], equal: &mut Vec<bool>) {
        equal.clear();
        equal.resize(self.left_rows.len(), true);
        for (left, right) in left.iter().zip(right) {
            self.compare_column(left, right, equal);
        }
    }

    fn compare_column(&self, left: &Vector, right: &Vector, equal: &mut [bool]) {
        let (left_valid, right_valid) = (left.valid(), right.valid());
        if left_valid.is_none() && right_valid.is_none() {
            return self.compare_values(left.values(), right.values(), equal);
        }
        let mut values_equal = vec![true; equal.len()];
        self.compare_values(left.values(), right.values(), &mut values_equal);
        let is_valid = |valid: Option<&[bool]>, row: u32| valid.is_none_or(|valid| valid[row as usize]);
        for (at, equal) in equal.iter_mut().enumerate() {
            let left_valid = is_valid(left_valid, self.left_rows[at]);
            let right_valid = is_valid(right_valid, self.right_rows[at]);
            *equal &= left_valid == right_valid && (!left_valid || values_equal[at]);
        }
    }

    fn compare_values(&self, left: &Values, right: &Values, equal: &mut [bool]) {
        match (left, right) {
            (Values::Bool(left), Values::Bool(right)) => self.compare_each(equal, |l, r| left[l] == right[r]),
            (Values::Int(left), Values::Int(right)) => self.compare_each(equal, |l, r| left[l] == right[r]),
            (Values::Int(left), Values::Int128(right)) => {
                self.compare_each(equal, |l, r| i128::from(left[l]) == right[r]);
            }
            (Values::Int128(left), Values::Int(right)) => {
                self.compare_each(equal, |l, r| left[l] == i128::from(right[r]));
            }
            (Values::Int128(left), Values::Int128(right)) => self.compare_each(equal, |l, r| left[l] == right[r]),
            (Values::Float(left), Values::Float(right)) => {
                self.compare_each(equal, |l, r| left[l] == right[r] || left[l].is_nan() && right[r].is_nan());
            }
            (Values::Bytes(left), Values::Bytes(right)) => self.compare_each(equal, |l, r| left.equal(l, right, r)),
            (Values::Bytes(left), Values::Coded(right)) => {
                self.compare_each(equal, |l, r| coded_equal(right, r, |code| right.dictionary.equal(code, left, l)));
            }
            (Values::Coded(left), Values::Bytes(right)) => {
                self.compare_each(equal, |l, r| coded_equal(left, l, |code| left.dictionary.equal(code, right, r)));
            }
            (Values::Coded(left), Values::Coded(right)) if Arc::ptr_eq(&left.dictionary, &right.dictionary) => {
                self.compare_each(equal, |l, r| left.codes[l] == right.codes[r]);
            }
            (Values::Coded(left), Values::Coded(right)) => self.compare_each(equal, |l, r| {
                coded_equal(left, l, |code| {
                    coded_equal(right, r, |other| left.dictionary.equal(code, &right.dictionary, other))
                })
            }),
            // Kinds differ only if one side has only nulls.
            _ => equal.fill(false),
        }
    }

    #[inline]
    fn compare_each(&self, equal: &mut [bool], values_equal: impl Fn(usize, usize) -> bool) {
        for ((equal, left), right) in equal.iter_mut().zip(self.left_rows).zip(self.right_rows) {
            *equal &= values_equal(*left as usize, *right as usize);
        }
    }
}

/// Compares the string of a code. The code of a null may be out of the range of the dictionary.
#[inline]
fn coded_equal(coded: &crate::values::vector::CodedStrings, row: usize, equal: impl Fn(usize) -> bool) -> bool {
    let code = coded.codes[row] as usize;
    code < coded.dictionary.len() && equal(code)
}
