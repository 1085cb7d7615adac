//! The values of a column for a number of rows. Operators pass columns to each other as vectors.
//!
//! Vectors have the representation that operators compute with. Integers, dates, timestamps and numerics are 64-bit integers;
//! they are 128 bits wide only where a value needs it, so that the vectors of a numeric may have either width. Strings are
//! Arrow's views, or codes of a dictionary that many vectors share. Only the plan knows the SQL type of the numbers.
//!
//! The value under a null is arbitrary, and no result may depend on it.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use braid_storage::Scalar;

use crate::values::byte_strings::ByteStrings;
pub use crate::values::coded_strings::CodedStrings;

/// The number of a row that does not exist, for a row of an outer join without a partner. Reading it gives null.
pub const NO_ROW: u32 = u32::MAX;

/// Values of one kind.
#[derive(Clone, Debug)]
pub enum Values {
    /// boolean
    Bool(Vec<bool>),
    /// integers, dates, timestamps, numerics that fit
    Int(Vec<i64>),
    /// numerics, some of them beyond 64 bits
    Int128(Vec<i128>),
    /// real and double precision
    Float(Vec<f64>),
    /// text, bytea, uuid
    Bytes(ByteStrings),
    /// the same, as positions in a dictionary
    Coded(CodedStrings),
}

/// Values and their validity.
#[derive(Clone, Debug)]
pub struct Vector {
    values: Values,
    /// False for a null; `None` without nulls.
    valid: Option<Vec<bool>>,
}

impl Vector {
    /// A vector. Panics unless `valid` has an entry for each value.
    pub fn new(values: Values, valid: Option<Vec<bool>>) -> Self {
        if let Some(valid) = &valid {
            assert_eq!(valid.len(), values.len(), "one validity for each value");
        }
        Self { values, valid }
    }

    /// Integers without nulls.
    pub fn integers(values: Vec<i64>) -> Self {
        Self { values: Values::Int(values), valid: None }
    }

    /// One value, repeated `row_count` times.
    pub fn repeat(value: Option<&Scalar>, row_count: usize) -> Self {
        let values = match value {
            Some(Scalar::Bool(value)) => Values::Bool(vec![*value; row_count]),
            Some(Scalar::Int(value)) => Values::Int(vec![*value; row_count]),
            Some(Scalar::Int128(value)) => match i64::try_from(*value) {
                Ok(value) => Values::Int(vec![value; row_count]),
                Err(_) => Values::Int128(vec![*value; row_count]),
            },
            Some(Scalar::Float(value)) => Values::Float(vec![*value; row_count]),
            Some(Scalar::Bytes(value)) => {
                let dictionary = Arc::new(ByteStrings::from_strings([value.as_slice()]));
                Values::Coded(CodedStrings { codes: vec![0; row_count], dictionary })
            }
            Some(Scalar::Interval(..)) => panic!("vectors hold no intervals"),
            None => Values::Int(vec![0; row_count]),
        };
        Self { values, valid: value.is_none().then(|| vec![false; row_count]) }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values; arbitrary under a null.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// False for each null; `None` without nulls.
    pub fn valid(&self) -> Option<&[bool]> {
        self.valid.as_deref()
    }

    /// The values and their validity.
    pub fn into_parts(self) -> (Values, Option<Vec<bool>>) {
        (self.values, self.valid)
    }

    /// Whether the row is not null.
    pub fn is_valid(&self, row: usize) -> bool {
        self.valid.as_ref().is_none_or(|valid| valid[row])
    }

    /// One value; `None` for null. Integers are [`Scalar::Int`] whenever they fit.
    pub fn value(&self, row: usize) -> Option<Scalar> {
        self.is_valid(row).then(|| match &self.values {
            Values::Bool(values) => Scalar::Bool(values[row]),
            Values::Int(values) => Scalar::Int(values[row]),
            Values::Int128(values) => i64::try_from(values[row]).map_or(Scalar::Int128(values[row]), Scalar::Int),
            Values::Float(values) => Scalar::Float(values[row]),
            Values::Bytes(strings) => Scalar::Bytes(strings.get(row).to_vec()),
            Values::Coded(coded) => Scalar::Bytes(coded.get(row).to_vec()),
        })
    }

    /// The rows at these positions, in this order and with repetitions; [`NO_ROW`] gives null.
    pub fn take(&self, rows: &[u32]) -> Self {
        if rows.contains(&NO_ROW) {
            return self.take_or_null(rows);
        }
        let valid = self.valid.as_ref().map(|valid| take(valid, rows));
        Self { values: self.values.take(rows), valid }
    }

    /// As [`Self::take`], without a share of these strings' buffers. Panics when a row does not exist.
    pub(crate) fn copy(&self, rows: &[u32]) -> Self {
        let Values::Bytes(strings) = &self.values else { return self.take(rows) };
        let mut copies = ByteStrings::default();
        copies.append_selected(strings, rows);
        Self { values: Values::Bytes(copies), valid: self.valid.as_ref().map(|valid| take(valid, rows)) }
    }

    fn take_or_null(&self, rows: &[u32]) -> Self {
        if self.is_empty() {
            return Self { values: self.values.nothing(rows.len()), valid: Some(vec![false; rows.len()]) };
        }
        let existing: Vec<u32> = rows.iter().map(|row| if *row == NO_ROW { 0 } else { *row }).collect();
        let valid = rows.iter().map(|row| *row != NO_ROW && self.is_valid(*row as usize)).collect();
        Self { values: self.values.take(&existing), valid: Some(valid) }
    }

    /// Appends the rows of another vector of the same kind. The widths of integers and the representations of strings may
    /// differ.
    ///
    /// Panics when the kinds differ, unless one of the vectors has only nulls.
    pub fn append(&mut self, other: &Self) {
        let (before, added) = (self.len(), other.len());
        match (&mut self.valid, &other.valid) {
            (None, None) => {}
            (Some(valid), None) => valid.resize(before + added, true),
            (valid, Some(others)) => valid.get_or_insert_with(|| vec![true; before]).extend_from_slice(others),
        }
        if self.values.kind() != other.values.kind() {
            if other.is_all_null() {
                return self.values.append(&self.values.nothing(added));
            }
            assert!(
                self.valid.as_ref().is_some_and(|valid| valid[..before].iter().all(|valid| !valid)),
                "{:?} appended to {:?}",
                other.values.kind(),
                self.values.kind()
            );
            self.values = other.values.nothing(before);
        }
        self.values.append(&other.values);
    }

    /// Appends these rows of another vector, as [`Self::append`] does. Panics also when a row does not exist.
    pub(crate) fn append_rows(&mut self, other: &Self, rows: &[u32]) {
        let is_alike = self.values.append_rows(&other.values, rows);
        if !is_alike {
            return self.append(&other.take(rows));
        }
        let before = self.len() - rows.len();
        match (&mut self.valid, &other.valid) {
            (None, None) => {}
            (Some(valid), None) => valid.resize(before + rows.len(), true),
            (valid, Some(others)) => {
                let others = rows.iter().map(|row| others[*row as usize]);
                valid.get_or_insert_with(|| vec![true; before]).extend(others);
            }
        }
    }

    /// The vector with its buffers of strings closed, so that they can be shared.
    pub(crate) fn closed(mut self) -> Self {
        if let Values::Bytes(strings) = &mut self.values {
            strings.shrink();
        }
        self
    }

    /// Whether all rows are null. The kind has no meaning then.
    pub(crate) fn is_all_null(&self) -> bool {
        self.valid.as_ref().is_some_and(|valid| valid.iter().all(|valid| !valid))
    }

    /// Bytes held, including those shared with other vectors.
    pub fn bytes(&self) -> usize {
        self.valid.as_ref().map_or(0, Vec::len) + self.values.bytes()
    }
}

/// Kinds of values. Integers of both widths are one kind, and so are both representations of strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Integer,
    Float,
    String,
}

impl Values {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Bool(values) => values.len(),
            Self::Int(values) => values.len(),
            Self::Int128(values) => values.len(),
            Self::Float(values) => values.len(),
            Self::Bytes(strings) => strings.len(),
            Self::Coded(coded) => coded.codes.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The string of a row. Panics when the values are not strings.
    pub(crate) fn string(&self, row: usize) -> &[u8] {
        match self {
            Self::Bytes(strings) => strings.get(row),
            Self::Coded(coded) => coded.get(row),
            _ => panic!("{:?} values are no strings", self.kind()),
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Bool(_) => Kind::Bool,
            Self::Int(_) | Self::Int128(_) => Kind::Integer,
            Self::Float(_) => Kind::Float,
            Self::Bytes(_) | Self::Coded(_) => Kind::String,
        }
    }

    /// `row_count` arbitrary values of this kind, to stand under nulls.
    fn nothing(&self, row_count: usize) -> Self {
        match self.kind() {
            Kind::Bool => Self::Bool(vec![false; row_count]),
            Kind::Integer => Self::Int(vec![0; row_count]),
            Kind::Float => Self::Float(vec![0.0; row_count]),
            Kind::String => Self::Bytes(ByteStrings::empty_strings(row_count)),
        }
    }

    fn take(&self, rows: &[u32]) -> Self {
        match self {
            Self::Bool(values) => Self::Bool(take(values, rows)),
            Self::Int(values) => Self::Int(take(values, rows)),
            Self::Int128(values) => Self::Int128(take(values, rows)),
            Self::Float(values) => Self::Float(take(values, rows)),
            Self::Bytes(strings) => Self::Bytes(strings.take(rows)),
            Self::Coded(coded) => {
                Self::Coded(CodedStrings { codes: take(&coded.codes, rows), dictionary: coded.dictionary.clone() })
            }
        }
    }

    fn append(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::Bool(to), Self::Bool(from)) => to.extend_from_slice(from),
            (Self::Int(to), Self::Int(from)) => to.extend_from_slice(from),
            (Self::Int128(to), Self::Int128(from)) => to.extend_from_slice(from),
            (Self::Int128(to), Self::Int(from)) => to.extend(from.iter().copied().map(i128::from)),
            (Self::Int(to), Self::Int128(from)) => {
                let mut wide: Vec<i128> = to.iter().copied().map(i128::from).collect();
                wide.extend_from_slice(from);
                *self = Self::Int128(wide);
            }
            (Self::Float(to), Self::Float(from)) => to.extend_from_slice(from),
            (Self::Bytes(to), Self::Bytes(from)) => to.append(from),
            (Self::Bytes(to), Self::Coded(from)) => to.append_selected(&from.dictionary, &from.codes),
            (Self::Coded(to), Self::Coded(from)) if Arc::ptr_eq(&to.dictionary, &from.dictionary) => {
                to.codes.extend_from_slice(&from.codes);
            }
            (Self::Coded(to), _) => {
                if let Self::Coded(from) = other
                    && to.append_recoded(from)
                {
                    return;
                }
                let mut strings = to.dictionary.take(&to.codes);
                match other {
                    Self::Coded(from) => strings.append_selected(&from.dictionary, &from.codes),
                    Self::Bytes(from) => strings.append(from),
                    _ => unreachable!("the caller compared the kinds"),
                }
                *self = Self::Bytes(strings);
            }
            _ => unreachable!("the caller compared the kinds"),
        }
    }

    /// Appends these rows of values of the same representation. False if the representations differ.
    fn append_rows(&mut self, other: &Self, rows: &[u32]) -> bool {
        match (self, other) {
            (Self::Bool(to), Self::Bool(from)) => extend(to, from, rows),
            (Self::Int(to), Self::Int(from)) => extend(to, from, rows),
            (Self::Int128(to), Self::Int128(from)) => extend(to, from, rows),
            (Self::Float(to), Self::Float(from)) => extend(to, from, rows),
            (Self::Bytes(to), Self::Bytes(from)) => to.append_selected(from, rows),
            (Self::Coded(to), Self::Coded(from)) if Arc::ptr_eq(&to.dictionary, &from.dictionary) => {
                extend(&mut to.codes, &from.codes, rows);
            }
            _ => return false,
        }
        true
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Bool(values) => values.len(),
            Self::Int(values) => values.len() * 8,
            Self::Int128(values) => values.len() * 16,
            Self::Float(values) => values.len() * 8,
            Self::Bytes(strings) => strings.bytes(),
            Self::Coded(coded) => coded.codes.len() * 4,
        }
    }
}

fn take<T: Copy>(values: &[T], rows: &[u32]) -> Vec<T> {
    rows.iter().map(|row| values[*row as usize]).collect()
}

fn extend<T: Copy>(to: &mut Vec<T>, values: &[T], rows: &[u32]) {
    to.extend(rows.iter().map(|row| values[*row as usize]));
}
