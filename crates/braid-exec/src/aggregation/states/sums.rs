//! Sums of numbers by group: 64 bits wide until a sum needs more, then 128.
//!
//! With few groups, most rows add to the sum that the previous row has changed, and the wait for that result dominates the
//! cost. Neighbouring rows therefore add to different copies, which are combined once per vector.

use crate::ExecError;
use crate::values::vector::{Values, Vector};

/// Maximum number of groups with copies: 4 * 64 sums of 8 bytes are 2 KiB.
const COPIED_GROUPS_MAX: usize = 64;

/// Number of copies, one for each of as many neighbouring rows.
const COPIES: usize = 4;

/// Number of rows that are added to copies at a time.
const COPY_ROWS: usize = 1024;

/// Integers below this many bits can be added `COPY_ROWS` times: 52 + 10 < 63.
const COPIED_BITS: u32 = 52;

const NUMERIC_OUT_OF_RANGE: ExecError = ExecError::OutOfRange { type_name: "numeric" };

/// A sum for each group. The caller tracks which groups have a value.
#[derive(Clone, Debug, Default)]
pub(crate) enum Sums {
    /// No numbers so far.
    #[default]
    Nothing,
    Int(Vec<i64>),
    Int128(Vec<i128>),
    Float(Vec<f64>),
}

impl Sums {
    /// Adds the rows' values to the sums of their groups. Not all values are null; nulls are skipped.
    ///
    /// # Errors
    /// When a sum goes out of range.
    pub(crate) fn add(&mut self, groups: &[u32], group_count: usize, vector: &Vector) -> Result<(), ExecError> {
        match vector.values() {
            Values::Int(values) => match without_nulls(values, vector.valid(), 0) {
                Some(values) => self.add_integers(groups, group_count, &values),
                None => self.add_integers(groups, group_count, values),
            },
            Values::Int128(values) => match without_nulls(values, vector.valid(), 0) {
                Some(values) => self.add_wide(groups, group_count, &values),
                None => self.add_wide(groups, group_count, values),
            },
            Values::Float(values) => match without_nulls(values, vector.valid(), 0.0) {
                Some(values) => self.add_floats(groups, group_count, &values),
                None => self.add_floats(groups, group_count, values),
            },
            _ => panic!("sums are of numbers"),
        }
    }

    /// The sums of some groups; all null if no number was added.
    pub(crate) fn of_groups(&self, groups: &[u32]) -> Vector {
        let values = match self {
            Self::Nothing => return Vector::repeat(None, groups.len()),
            Self::Int(sums) => Values::Int(of_rows(sums, groups, 0)),
            Self::Int128(sums) => Values::Int128(of_rows(sums, groups, 0)),
            Self::Float(sums) => Values::Float(of_rows(sums, groups, 0.0)),
        };
        Vector::new(values, None)
    }

    /// Extends the sums to `group_count` groups, with sums of this kind.
    fn grow(&mut self, group_count: usize, kind: &Self) {
        if matches!(self, Self::Nothing) {
            *self = kind.clone();
        }
        match self {
            Self::Nothing => {}
            Self::Int(sums) => sums.resize(group_count, 0),
            Self::Int128(sums) => sums.resize(group_count, 0),
            Self::Float(sums) => sums.resize(group_count, 0.0),
        }
    }

    fn add_integers(&mut self, groups: &[u32], group_count: usize, values: &[i64]) -> Result<(), ExecError> {
        self.grow(group_count, &Self::Int(Vec::new()));
        if group_count > COPIED_GROUPS_MAX {
            return self.add_each_integer(groups, values);
        }
        for (groups, values) in groups.chunks(COPY_ROWS).zip(values.chunks(COPY_ROWS)) {
            // The number of bits without the leading copies of the sign.
            let bits = values.iter().fold(0, |bits, value| bits | (value ^ (value >> 63)));
            if bits >> COPIED_BITS != 0 {
                self.add_each_integer(groups, values)?;
            } else if group_count == 1 {
                self.add_one(0, values.iter().sum())?;
            } else {
                let sums = sums_in_copies(groups, values);
                (0..group_count).try_for_each(|group| self.add_one(group, sums[group]))?;
            }
        }
        Ok(())
    }

    fn add_one(&mut self, group: usize, value: i64) -> Result<(), ExecError> {
        if value == 0 { Ok(()) } else { self.add_each_integer(&[group as u32], &[value]) }
    }

    fn add_each_integer(&mut self, groups: &[u32], values: &[i64]) -> Result<(), ExecError> {
        let mut done = 0;
        if let Self::Int(sums) = self {
            for (group, value) in groups.iter().zip(values) {
                let sum = &mut sums[*group as usize];
                let Some(added) = sum.checked_add(*value) else { break };
                *sum = added;
                done += 1;
            }
            if done == values.len() {
                return Ok(());
            }
            self.widen();
        }
        let Self::Int128(sums) = self else { panic!("sums of one kind of numbers") };
        for (group, value) in groups[done..].iter().zip(&values[done..]) {
            let sum = &mut sums[*group as usize];
            *sum = sum.checked_add(i128::from(*value)).ok_or(NUMERIC_OUT_OF_RANGE)?;
        }
        Ok(())
    }

    fn widen(&mut self) {
        if let Self::Int(sums) = self {
            *self = Self::Int128(sums.iter().copied().map(i128::from).collect());
        }
    }

    fn add_wide(&mut self, groups: &[u32], group_count: usize, values: &[i128]) -> Result<(), ExecError> {
        self.widen();
        self.grow(group_count, &Self::Int128(Vec::new()));
        let Self::Int128(sums) = self else { panic!("sums of one kind of numbers") };
        for (group, value) in groups.iter().zip(values) {
            let sum = &mut sums[*group as usize];
            *sum = sum.checked_add(*value).ok_or(NUMERIC_OUT_OF_RANGE)?;
        }
        Ok(())
    }

    fn add_floats(&mut self, groups: &[u32], group_count: usize, values: &[f64]) -> Result<(), ExecError> {
        self.grow(group_count, &Self::Float(Vec::new()));
        let Self::Float(sums) = self else { panic!("sums of one kind of numbers") };
        for (group, value) in groups.iter().zip(values) {
            let sum = &mut sums[*group as usize];
            let added = *sum + *value;
            if added.is_infinite() && sum.is_finite() && value.is_finite() {
                return Err(ExecError::OutOfRange { type_name: "double precision" });
            }
            *sum = added;
        }
        Ok(())
    }

    /// Adds the sums of rows, which are groups of `other`, to those of their groups.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(crate) fn merge(
        &mut self,
        other: &Self,
        RowGroups { rows, groups }: RowGroups<'_>,
        group_count: usize,
    ) -> Result<(), ExecError> {
        match other {
            Self::Nothing => Ok(()),
            Self::Int(sums) => self.add_integers(groups, group_count, &of_rows(sums, rows, 0)),
            Self::Int128(sums) => self.add_wide(groups, group_count, &of_rows(sums, rows, 0)),
            Self::Float(sums) => self.add_floats(groups, group_count, &of_rows(sums, rows, 0.0)),
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Int(sums) => sums.capacity() * 8,
            Self::Int128(sums) => sums.capacity() * 16,
            Self::Float(sums) => sums.capacity() * 8,
        }
    }
}

/// The sums of rows by group, of at most `COPY_ROWS` integers of at most `COPIED_BITS`.
fn sums_in_copies(groups: &[u32], values: &[i64]) -> [i64; COPIED_GROUPS_MAX] {
    let mut copies = [[0_i64; COPIED_GROUPS_MAX]; COPIES];
    let ((group_rows, last_groups), (value_rows, last_values)) =
        (groups.as_chunks::<COPIES>(), values.as_chunks::<COPIES>());
    for (groups, values) in group_rows.iter().zip(value_rows) {
        for ((group, value), copy) in groups.iter().zip(values).zip(&mut copies) {
            copy[*group as usize % COPIED_GROUPS_MAX] += value;
        }
    }
    let [first, others @ ..] = &mut copies;
    for (group, value) in last_groups.iter().zip(last_values) {
        first[*group as usize % COPIED_GROUPS_MAX] += value;
    }
    for copy in others {
        first.iter_mut().zip(copy).for_each(|(sum, copy)| *sum += *copy);
    }
    *first
}

/// Some rows, and the group of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowGroups<'a> {
    pub(crate) rows: &'a [u32],
    pub(crate) groups: &'a [u32],
}

/// Counts rows by group.
pub(crate) fn count_rows(counts: &mut Vec<i64>, groups: &[u32], group_count: usize) {
    counts.resize(group_count, 0);
    if group_count == 1 {
        counts[0] += groups.len() as i64;
    } else if group_count <= COPIED_GROUPS_MAX {
        for groups in groups.chunks(COPY_ROWS) {
            let sums = sums_in_copies(groups, &[1; COPY_ROWS][..groups.len()]);
            counts.iter_mut().zip(sums).for_each(|(count, added)| *count += added);
        }
    } else {
        groups.iter().for_each(|group| counts[*group as usize] += 1);
    }
}

/// The values with nulls replaced by `neutral`; `None` without nulls.
pub(crate) fn without_nulls<T: Copy>(values: &[T], valid: Option<&[bool]>, neutral: T) -> Option<Vec<T>> {
    let valid = valid?;
    Some(values.iter().zip(valid).map(|(value, valid)| if *valid { *value } else { neutral }).collect())
}

/// The entries of rows; `neutral` for a row without an entry.
pub(crate) fn of_rows<T: Copy>(values: &[T], rows: &[u32], neutral: T) -> Vec<T> {
    rows.iter().map(|row| values.get(*row as usize).copied().unwrap_or(neutral)).collect()
}
