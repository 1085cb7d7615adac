//! IN with a list of constants: whether a value is an element of a set.
//!
//! A set stores its values by kind, each kind in the form with the fastest lookup. Few values are compared one by one,
//! integers of a small range are positions in a table, and other values are hashed. A numeric is looked up by its value among
//! the integers or the wide integers, independent of the width of its vector.

use std::collections::HashSet;

use braid_storage::Scalar;

use crate::expression::operand::{Operand, booleans, nulls};
use crate::expression::string_predicate::{DictionaryCache, select_strings};
use crate::values::vector::Values;

/// Maximum number of values that are compared one by one.
const FEW: usize = 4;

/// Maximum number of integers that are compared one by one: all rows with one integer, then with the next, in vector
/// instructions.
const FEW_INTEGERS: usize = 12;

/// Maximum range of integers that are looked up in a table of 4 KiB.
const TABLE_SPAN: u64 = 4096;

/// Constants of one kind.
#[derive(Debug)]
pub(super) struct ValueSet {
    integers: Integers,
    wide: HashSet<i128>,
    /// Keys of [`float_key`].
    floats: Many<u64>,
    strings: Many<Vec<u8>>,
    bools: [bool; 2],
    cache: DictionaryCache<Vec<bool>>,
}

#[derive(Debug)]
enum Integers {
    Few(Vec<i64>),
    Table { least: i64, contains: Vec<bool> },
    Hashed(HashSet<i64>),
}

#[derive(Debug)]
enum Many<T> {
    Few(Vec<T>),
    Hashed(HashSet<T>),
}

impl ValueSet {
    /// The set of these constants.
    pub fn new(list: Vec<Scalar>) -> Self {
        let (mut integers, mut floats, mut strings) = (Vec::new(), Vec::new(), Vec::new());
        let (mut wide, mut bools) = (HashSet::new(), [false; 2]);
        for constant in list {
            match constant {
                Scalar::Bool(value) => bools[usize::from(value)] = true,
                Scalar::Int(value) => integers.push(value),
                Scalar::Int128(value) => match i64::try_from(value) {
                    Ok(value) => integers.push(value),
                    Err(_) => drop(wide.insert(value)),
                },
                Scalar::Float(value) => floats.push(float_key(value)),
                Scalar::Bytes(value) => strings.push(value),
                Scalar::Interval(..) => panic!("vectors hold no intervals"),
            }
        }
        Self {
            integers: Integers::new(integers),
            wide,
            floats: Many::new(floats),
            strings: Many::new(strings),
            bools,
            cache: DictionaryCache::default(),
        }
    }

    /// Whether each value is in the set; null for null.
    pub fn contains(&mut self, operand: &Operand) -> Operand {
        if operand.is_null() {
            return nulls();
        }
        let vector = operand.clone().into_vector(1);
        let found = match vector.values() {
            Values::Bool(values) => values.iter().map(|value| self.bools[usize::from(*value)]).collect(),
            Values::Int(values) => self.integers.contain(values),
            Values::Int128(values) => values
                .iter()
                .map(|value| match i64::try_from(*value) {
                    Ok(value) => self.integers.contains(value),
                    Err(_) => self.wide.contains(value),
                })
                .collect(),
            Values::Float(values) => match &self.floats {
                Many::Few(few) => values.iter().map(|value| few.contains(&float_key(*value))).collect(),
                Many::Hashed(many) => values.iter().map(|value| many.contains(&float_key(*value))).collect(),
            },
            values => match &self.strings {
                Many::Few(few) => {
                    select_strings(values, &mut self.cache, |string| few.iter().any(|known| same(known, string)))
                }
                Many::Hashed(many) => select_strings(values, &mut self.cache, |string| many.contains(string)),
            }
            .expect("the other kinds are strings"),
        };
        match operand {
            Operand::Vector(vector) => booleans(found, vector.valid().map(<[bool]>::to_vec)),
            Operand::Constant(_) => Operand::Constant(Some(Scalar::Bool(found[0]).into())),
        }
    }
}

impl Integers {
    fn new(values: Vec<i64>) -> Self {
        let (Some(least), Some(greatest)) = (values.iter().min(), values.iter().max()) else {
            return Self::Hashed(HashSet::new());
        };
        let is_wide = greatest.abs_diff(*least) >= TABLE_SPAN;
        if values.len() <= FEW || is_wide && values.len() <= FEW_INTEGERS {
            return Self::Few(values);
        }
        if is_wide {
            return Self::Hashed(values.into_iter().collect());
        }
        let mut contains = vec![false; greatest.abs_diff(*least) as usize + 1];
        values.iter().for_each(|value| contains[value.abs_diff(*least) as usize] = true);
        Self::Table { least: *least, contains }
    }

    fn contain(&self, values: &[i64]) -> Vec<bool> {
        match self {
            Self::Few(few) => {
                let mut found = vec![false; values.len()];
                for known in few {
                    found.iter_mut().zip(values).for_each(|(found, value)| *found |= value == known);
                }
                found
            }
            Self::Table { least, contains } => values
                .iter()
                .map(|value| contains.get(value.wrapping_sub(*least) as u64 as usize) == Some(&true))
                .collect(),
            Self::Hashed(many) => values.iter().map(|value| many.contains(value)).collect(),
        }
    }

    fn contains(&self, value: i64) -> bool {
        match self {
            Self::Few(few) => few.contains(&value),
            Self::Table { least, contains } => contains.get(value.wrapping_sub(*least) as u64 as usize) == Some(&true),
            Self::Hashed(many) => many.contains(&value),
        }
    }
}

impl<T: Eq + std::hash::Hash> Many<T> {
    fn new(values: Vec<T>) -> Self {
        if values.len() <= FEW { Self::Few(values) } else { Self::Hashed(values.into_iter().collect()) }
    }
}

/// Whether two strings are equal. Avoids comparing 0 bytes at the dangling pointer of an empty vector, which is slow.
#[inline]
fn same(known: &[u8], string: &[u8]) -> bool {
    known.len() == string.len() && (known.is_empty() || known == string)
}

/// Bits of a float that are equal for equal floats: one NaN, one zero.
#[inline]
fn float_key(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() }
}
