//! The keys of groups, column by column: row g of each column is the key of group g.
//!
//! Every method of finding groups (by codes, integers or hashes) maps to these rows. One method can therefore replace
//! another without changing the groups.

use std::sync::Arc;

use crate::values::byte_strings::ByteStrings;
use crate::values::vector::{CodedStrings, Values, Vector};

/// Keys of groups.
#[derive(Debug)]
pub(crate) struct StoredKeys {
    columns: Vec<Vector>,
    count: usize,
}

impl StoredKeys {
    /// Keys of no groups.
    pub(crate) fn new(column_count: usize) -> Self {
        Self { columns: (0..column_count).map(|_| Vector::integers(Vec::new())).collect(), count: 0 }
    }

    /// Groups with these keys, of at least one column.
    pub(crate) fn of_columns(columns: Vec<Vector>) -> Self {
        let count = columns[0].len();
        Self { columns, count }
    }

    /// Number of groups.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The key columns.
    pub(crate) fn columns(&self) -> &[Vector] {
        &self.columns
    }

    /// Appends the keys of these rows, one group each.
    pub(crate) fn append(&mut self, keys: &[Arc<Vector>], rows: &[u32]) {
        if rows.is_empty() {
            return;
        }
        self.count += rows.len();
        for (column, key) in self.columns.iter_mut().zip(keys) {
            let (values, valid) = key.take(rows).into_parts();
            // Columns without a validity are compared faster.
            let added = Vector::new(values, valid.filter(|valid| valid.contains(&false)));
            if column.is_empty() {
                *column = without_rows(&added);
            }
            column.append(&added);
        }
    }

    /// Keeps the rows of `candidates` whose key equals that of the row's group, and moves the others to `different`.
    pub(crate) fn retain_equal(
        &self,
        keys: &[Arc<Vector>],
        groups: &[u32],
        candidates: &mut Vec<u32>,
        different: &mut Vec<u32>,
    ) {
        for (stored, key) in self.columns.iter().zip(keys) {
            Comparison { stored, key, groups, candidates, different }.retain_equal();
        }
    }

    /// Moves strings to shared buffers, so that several threads can take rows of the columns.
    pub(crate) fn shrink(&mut self) {
        for column in &mut self.columns {
            let (mut values, valid) = std::mem::replace(column, Vector::integers(Vec::new())).into_parts();
            if let Values::Bytes(strings) = &mut values {
                strings.shrink();
            }
            *column = Vector::new(values, valid);
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.columns.iter().map(Vector::bytes).sum()
    }
}

/// An empty vector of the same kind. It shares the dictionary, but no buffers of strings.
fn without_rows(vector: &Vector) -> Vector {
    let values = match vector.values() {
        Values::Bool(_) => Values::Bool(Vec::new()),
        Values::Int(_) => Values::Int(Vec::new()),
        Values::Int128(_) => Values::Int128(Vec::new()),
        Values::Float(_) => Values::Float(Vec::new()),
        Values::Bytes(_) => Values::Bytes(ByteStrings::default()),
        Values::Coded(coded) => Values::Coded(CodedStrings { codes: Vec::new(), dictionary: coded.dictionary.clone() }),
    };
    Vector::new(values, None)
}

/// One column's part of comparing rows with groups.
struct Comparison<'a> {
    stored: &'a Vector,
    key: &'a Vector,
    groups: &'a [u32],
    candidates: &'a mut Vec<u32>,
    different: &'a mut Vec<u32>,
}

impl Comparison<'_> {
    fn retain_equal(self) {
        let (stored, key) = (self.stored, self.key);
        match (stored.values(), key.values()) {
            (Values::Int(a), Values::Int(b)) => self.retain(|group, row| a[group] == b[row]),
            (Values::Int(a), Values::Int128(b)) => self.retain(|group, row| i128::from(a[group]) == b[row]),
            (Values::Int128(a), Values::Int(b)) => self.retain(|group, row| a[group] == i128::from(b[row])),
            (Values::Int128(a), Values::Int128(b)) => self.retain(|group, row| a[group] == b[row]),
            (Values::Bool(a), Values::Bool(b)) => self.retain(|group, row| a[group] == b[row]),
            (Values::Float(a), Values::Float(b)) => {
                self.retain(|group, row| a[group] == b[row] || a[group].is_nan() && b[row].is_nan());
            }
            (Values::Bytes(a), Values::Bytes(b)) => self.retain(|group, row| a.equal(group, b, row)),
            (Values::Bytes(a), Values::Coded(b)) => {
                self.retain(|group, row| a.equal(group, &b.dictionary, b.codes[row] as usize));
            }
            (Values::Coded(a), Values::Bytes(b)) => {
                self.retain(|group, row| a.dictionary.equal(a.codes[group] as usize, b, row));
            }
            (Values::Coded(a), Values::Coded(b)) if Arc::ptr_eq(&a.dictionary, &b.dictionary) => {
                self.retain(|group, row| a.codes[group] == b.codes[row]);
            }
            (Values::Coded(a), Values::Coded(b)) => self
                .retain(|group, row| a.dictionary.equal(a.codes[group] as usize, &b.dictionary, b.codes[row] as usize)),
            // Kinds differ only if one side has only nulls.
            _ => self.retain(|_, _| false),
        }
    }

    #[inline(always)]
    fn retain(self, equal: impl Fn(usize, usize) -> bool) {
        let Self { stored, key, groups, candidates, different } = self;
        let mut keep = |row: u32, equal: bool| {
            if !equal {
                different.push(row);
            }
            equal
        };
        if stored.valid().is_none() && key.valid().is_none() {
            candidates.retain(|row| keep(*row, equal(groups[*row as usize] as usize, *row as usize)));
        } else {
            candidates.retain(|at| {
                let (group, row) = (groups[*at as usize] as usize, *at as usize);
                let equal = match (stored.is_valid(group), key.is_valid(row)) {
                    (true, true) => equal(group, row),
                    (a, b) => a == b,
                };
                keep(*at, equal)
            });
        }
    }
}
