//! The least or the greatest value of each group.
//!
//! If the kind has a neutral value, a group starts with it: the other end of the range. Most loops are then a comparison and
//! a store. The caller tracks which groups have a value.

use std::cmp::Ordering;
use std::ops::Range;

use braid_storage::scalar::compare_floats;

use super::sums::{of_rows, without_nulls};
use crate::values::byte_strings::{ByteStrings, order_prefix};
use crate::values::narrow_integers::narrow;
use crate::values::vector::{Values, Vector};

/// The end of the range: minimum or maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Least,
    Greatest,
}

/// An extreme for each group.
#[derive(Debug)]
pub(crate) struct Extremes {
    end: End,
    /// Bytes of replaced strings are given up when they are more than the others, and than these.
    unused_bytes_min: usize,
    values: ExtremeValues,
}

#[derive(Clone, Debug)]
enum ExtremeValues {
    /// No values so far.
    Nothing,
    Bool(Vec<bool>),
    Int(Vec<i64>),
    Int128(Vec<i128>),
    Float(Vec<f64>),
    Strings(ExtremeStrings),
}

/// Replaceable strings in one buffer.
#[derive(Clone, Debug, Default)]
struct ExtremeStrings {
    places: Vec<Place>,
    bytes: Vec<u8>,
    /// Unused bytes of replaced strings.
    unused: usize,
}

/// The position of a group's string.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Its first bytes, padded with zeros, which decide most comparisons.
    prefix: u64,
    offset: usize,
    len: u32,
    /// Bytes that a new string can have in place.
    room: u32,
}

impl Place {
    const NOWHERE: Self = Self { prefix: 0, offset: usize::MAX, len: 0, room: 0 };

    fn range(self) -> Option<Range<usize>> {
        (self.offset != usize::MAX).then(|| self.offset..self.offset + self.len as usize)
    }
}

/// The rows to process, and whether their groups have a value already.
pub(crate) struct ExtremeRows<'a, Known: Fn(usize) -> bool> {
    pub(crate) groups: &'a [u32],
    pub(crate) group_count: usize,
    pub(crate) known: Known,
}

impl Extremes {
    /// No groups yet.
    pub(crate) fn new(end: End, unused_bytes_min: usize) -> Self {
        Self { end, unused_bytes_min, values: ExtremeValues::Nothing }
    }

    /// Processes the rows' values. Not all values are null; nulls are skipped.
    pub(crate) fn update<Known: Fn(usize) -> bool>(&mut self, rows: &ExtremeRows<'_, Known>, vector: &Vector) {
        let valid = vector.valid();
        match vector.values() {
            Values::Bool(values) => {
                self.update_bools(rows, without_nulls(values, valid, self.neutral_bool()).as_ref().unwrap_or(values));
            }
            Values::Int(values) if !self.is_wide() => {
                let neutral = self.neutral_integer();
                self.update_integers(rows, without_nulls(values, valid, neutral).as_ref().unwrap_or(values));
            }
            Values::Int(values) => {
                let mut values: Vec<i128> = values.iter().copied().map(i128::from).collect();
                set_nulls(&mut values, valid, self.neutral_wide());
                self.update_wide(rows, &values);
            }
            Values::Int128(values) => match narrow(values, valid).filter(|_| !self.is_wide()) {
                Some(mut values) => {
                    set_nulls(&mut values, valid, self.neutral_integer());
                    self.update_integers(rows, &values);
                }
                None => {
                    let neutral = self.neutral_wide();
                    self.update_wide(rows, without_nulls(values, valid, neutral).as_ref().unwrap_or(values));
                }
            },
            Values::Float(values) => {
                let neutral = self.neutral_float();
                self.update_floats(rows, without_nulls(values, valid, neutral).as_ref().unwrap_or(values));
            }
            Values::Bytes(strings) => {
                self.update_strings(rows, |row| vector.is_valid(row).then(|| strings.get(row)));
            }
            Values::Coded(coded) => self.update_strings(rows, |row| vector.is_valid(row).then(|| coded.get(row))),
        }
    }

    fn is_wide(&self) -> bool {
        matches!(self.values, ExtremeValues::Int128(_))
    }

    fn neutral_bool(&self) -> bool {
        self.end == End::Least
    }

    fn neutral_integer(&self) -> i64 {
        if self.end == End::Least { i64::MAX } else { i64::MIN }
    }

    fn neutral_wide(&self) -> i128 {
        if self.end == End::Least { i128::MAX } else { i128::MIN }
    }

    /// A NaN is above all numbers.
    fn neutral_float(&self) -> f64 {
        if self.end == End::Least { f64::NAN } else { f64::NEG_INFINITY }
    }

    fn update_bools<Known: Fn(usize) -> bool>(&mut self, rows: &ExtremeRows<'_, Known>, values: &[bool]) {
        let (end, neutral) = (self.end, self.neutral_bool());
        if matches!(self.values, ExtremeValues::Nothing) {
            self.values = ExtremeValues::Bool(Vec::new());
        }
        let ExtremeValues::Bool(extremes) = &mut self.values else { panic!("extremes of one kind") };
        extremes.resize(rows.group_count, neutral);
        match end {
            End::Least => replace(extremes, rows.groups, values, |old, new| old & new),
            End::Greatest => replace(extremes, rows.groups, values, |old, new| old | new),
        }
    }

    fn update_integers<Known: Fn(usize) -> bool>(&mut self, rows: &ExtremeRows<'_, Known>, values: &[i64]) {
        let (end, neutral) = (self.end, self.neutral_integer());
        if matches!(self.values, ExtremeValues::Nothing) {
            self.values = ExtremeValues::Int(Vec::new());
        }
        let ExtremeValues::Int(extremes) = &mut self.values else { panic!("extremes of one kind") };
        extremes.resize(rows.group_count, neutral);
        match end {
            End::Least => replace(extremes, rows.groups, values, i64::min),
            End::Greatest => replace(extremes, rows.groups, values, i64::max),
        }
    }

    fn update_wide<Known: Fn(usize) -> bool>(&mut self, rows: &ExtremeRows<'_, Known>, values: &[i128]) {
        let (end, neutral) = (self.end, self.neutral_wide());
        match &self.values {
            ExtremeValues::Nothing => self.values = ExtremeValues::Int128(Vec::new()),
            ExtremeValues::Int(extremes) => {
                let wide = |(group, value): (usize, &i64)| {
                    if (rows.known)(group) { i128::from(*value) } else { neutral }
                };
                self.values = ExtremeValues::Int128(extremes.iter().enumerate().map(wide).collect());
            }
            _ => {}
        }
        let ExtremeValues::Int128(extremes) = &mut self.values else { panic!("extremes of one kind") };
        extremes.resize(rows.group_count, neutral);
        match end {
            End::Least => replace(extremes, rows.groups, values, i128::min),
            End::Greatest => replace(extremes, rows.groups, values, i128::max),
        }
    }

    fn update_floats<Known: Fn(usize) -> bool>(&mut self, rows: &ExtremeRows<'_, Known>, values: &[f64]) {
        let (end, neutral) = (self.end, self.neutral_float());
        if matches!(self.values, ExtremeValues::Nothing) {
            self.values = ExtremeValues::Float(Vec::new());
        }
        let ExtremeValues::Float(extremes) = &mut self.values else { panic!("extremes of one kind") };
        extremes.resize(rows.group_count, neutral);
        let better = if end == End::Least { Ordering::Less } else { Ordering::Greater };
        replace(extremes, rows.groups, values, |old, new| if compare_floats(new, old) == better { new } else { old });
    }

    fn update_strings<'a, Known: Fn(usize) -> bool>(
        &mut self,
        rows: &ExtremeRows<'_, Known>,
        string: impl Fn(usize) -> Option<&'a [u8]>,
    ) {
        if matches!(self.values, ExtremeValues::Nothing) {
            self.values = ExtremeValues::Strings(ExtremeStrings::default());
        }
        let ExtremeValues::Strings(extremes) = &mut self.values else { panic!("extremes of one kind") };
        extremes.places.resize(rows.group_count, Place::NOWHERE);
        for (row, group) in rows.groups.iter().enumerate() {
            if let Some(string) = string(row) {
                extremes.update(self.end, self.unused_bytes_min, *group as usize, string);
            }
        }
    }

    /// Merges the extremes of `other_rows`, which are groups of `other`.
    pub(crate) fn merge<Known: Fn(usize) -> bool>(
        &mut self,
        other: &Self,
        other_rows: &[u32],
        other_known: impl Fn(usize) -> bool,
        rows: &ExtremeRows<'_, Known>,
    ) {
        match &other.values {
            ExtremeValues::Nothing => {}
            ExtremeValues::Bool(values) => {
                self.update_bools(rows, &of_rows(values, other_rows, self.neutral_bool()));
            }
            // Wide extremes have other neutral values, so that the merge uses a vector with nulls for missing values.
            ExtremeValues::Int(_) | ExtremeValues::Int128(_) => {
                self.update(rows, &other.of_groups(other_rows.iter().map(|row| *row as usize), other_known));
            }
            ExtremeValues::Float(values) => {
                self.update_floats(rows, &of_rows(values, other_rows, self.neutral_float()));
            }
            ExtremeValues::Strings(values) => self.update_strings(rows, |at| values.get(other_rows[at] as usize)),
        }
    }

    /// The extremes of some groups; null for a group without a value.
    pub(crate) fn of_groups(
        &self,
        groups: impl ExactSizeIterator<Item = usize> + Clone,
        known: impl Fn(usize) -> bool,
    ) -> Vector {
        let valid: Vec<bool> = groups.clone().map(known).collect();
        let values = match &self.values {
            ExtremeValues::Nothing => return Vector::repeat(None, groups.len()),
            ExtremeValues::Bool(values) => Values::Bool(entries(values, groups)),
            ExtremeValues::Int(values) => Values::Int(entries(values, groups)),
            ExtremeValues::Int128(values) => Values::Int128(entries(values, groups)),
            ExtremeValues::Float(values) => Values::Float(entries(values, groups)),
            ExtremeValues::Strings(values) => {
                let strings = groups.map(|group| values.get(group).unwrap_or_default());
                Values::Bytes(ByteStrings::from_strings(strings))
            }
        };
        Vector::new(values, valid.contains(&false).then_some(valid))
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        match &self.values {
            ExtremeValues::Nothing => 0,
            ExtremeValues::Bool(values) => values.capacity(),
            ExtremeValues::Int(values) => values.capacity() * 8,
            ExtremeValues::Int128(values) => values.capacity() * 16,
            ExtremeValues::Float(values) => values.capacity() * 8,
            ExtremeValues::Strings(values) => values.places.capacity() * size_of::<Place>() + values.bytes.capacity(),
        }
    }
}

impl ExtremeStrings {
    fn get(&self, group: usize) -> Option<&[u8]> {
        Some(&self.bytes[self.places.get(group)?.range()?])
    }

    fn update(&mut self, end: End, unused_bytes_min: usize, group: usize, string: &[u8]) {
        let better = if end == End::Least { Ordering::Less } else { Ordering::Greater };
        let (place, prefix) = (self.places[group], order_prefix(string));
        if let Some(old) = place.range()
            && prefix.cmp(&place.prefix).then_with(|| string.cmp(&self.bytes[old])) != better
        {
            return;
        }
        let len = u32::try_from(string.len()).expect("strings are below 4 GiB");
        if place.range().is_some() && len <= place.room {
            self.bytes[place.offset..][..string.len()].copy_from_slice(string);
            self.places[group] = Place { prefix, len, ..place };
            return;
        }
        self.unused += place.room as usize;
        if self.unused > unused_bytes_min.max(self.bytes.len() / 2) {
            self.places[group] = Place::NOWHERE;
            self.compact();
        }
        self.places[group] = Place { prefix, offset: self.bytes.len(), len, room: len };
        self.bytes.extend_from_slice(string);
    }

    /// Removes the unused bytes.
    fn compact(&mut self) {
        let mut bytes = Vec::with_capacity(self.bytes.len() - self.unused);
        for place in &mut self.places {
            let Some(range) = place.range() else { continue };
            (place.offset, place.room) = (bytes.len(), place.len);
            bytes.extend_from_slice(&self.bytes[range]);
        }
        (self.bytes, self.unused) = (bytes, 0);
    }
}

#[inline(always)]
fn replace<T: Copy>(extremes: &mut [T], groups: &[u32], values: &[T], better: impl Fn(T, T) -> T) {
    for (group, value) in groups.iter().zip(values) {
        let extreme = &mut extremes[*group as usize];
        *extreme = better(*extreme, *value);
    }
}

fn set_nulls<T: Copy>(values: &mut [T], valid: Option<&[bool]>, neutral: T) {
    let nulls = values.iter_mut().zip(valid.into_iter().flatten()).filter(|(_, valid)| !**valid);
    nulls.for_each(|(value, _)| *value = neutral);
}

/// The entries of groups; the default for a group without an entry.
fn entries<T: Copy + Default>(values: &[T], groups: impl Iterator<Item = usize>) -> Vec<T> {
    groups.map(|group| values.get(group).copied().unwrap_or_default()).collect()
}
