//! Groups of keys with few values, found without hashing: flags, countries, years.
//!
//! Each distinct value of a key column has an id in that column. The id is found by the code of a string (in a table for the
//! latest dictionary), or by the value of a small integer or a boolean. The ids of a row's columns, concatenated in the bits
//! of one number, are the index of its group in a table. A column gets more bits as its ids grow. When there are too many
//! bits or values, the caller switches to hashing.

use std::collections::HashMap;
use std::sync::Arc;

use super::direct_groups::bounds;
use crate::values::byte_strings::ByteStrings;
use crate::values::narrow_integers::narrow;
use crate::values::vector::{CodedStrings, Values, Vector};

/// The entry for a missing id or group.
const NONE: u32 = u32::MAX;

/// Maximum number of strings of a dictionary whose codes are mapped.
const DICTIONARY_STRINGS_MAX: usize = 1 << 12;

/// Maximum difference between the least and the greatest integer of a column.
const INTEGER_RANGE_MAX: i64 = 1 << 12;

/// Groups by ids of key values.
#[derive(Debug)]
pub(crate) struct DenseGroups {
    columns: Vec<KeyIds>,
    /// Maximum number of bits of an index.
    index_bits_max: u32,
    /// By index.
    table: Vec<u32>,
    indexes: Vec<u32>,
}

/// The ids of one column's values.
#[derive(Debug, Default)]
struct KeyIds {
    id_count: u32,
    /// The column's bits in the index, and their position.
    bits: u32,
    shift: u32,
    null: Option<u32>,
    bools: [Option<u32>; 2],
    first_integer: i64,
    integers: Vec<u32>,
    strings: HashMap<Box<[u8]>, u32>,
    /// Bytes of the strings.
    string_bytes: usize,
    dictionary: Option<Arc<ByteStrings>>,
    by_code: Vec<u32>,
    /// Of the rows that are looked up.
    ids: Vec<u32>,
}

impl DenseGroups {
    /// No groups yet.
    pub(crate) fn new(column_count: usize, index_bits_max: u32) -> Self {
        let columns = (0..column_count).map(|_| KeyIds::default()).collect();
        Self { columns, index_bits_max, table: vec![NONE], indexes: Vec::new() }
    }

    /// Replaces `groups` by the groups of the rows, and appends the first row of each new group to `new`. False, without a new
    /// group, if the keys have too many values.
    pub(crate) fn find(
        &mut self,
        keys: &[Arc<Vector>],
        row_count: usize,
        group_count: usize,
        groups: &mut Vec<u32>,
        new: &mut Vec<u32>,
    ) -> bool {
        for (column, key) in self.columns.iter_mut().zip(keys) {
            if !column.find(key) {
                return false;
            }
        }
        if !self.grow() {
            return false;
        }
        self.indexes.clear();
        self.indexes.resize(row_count, 0);
        for column in &self.columns {
            let ids = self.indexes.iter_mut().zip(&column.ids);
            ids.for_each(|(index, id)| *index |= id << column.shift);
        }
        groups.clear();
        let table = &mut self.table[..];
        groups.extend((0..).zip(&self.indexes).map(|(row, index)| {
            let group = &mut table[*index as usize];
            if *group == NONE {
                *group = (group_count + new.len()) as u32;
                new.push(row);
            }
            *group
        }));
        true
    }

    /// Gives each column the bits that its ids need. False if there are too many.
    fn grow(&mut self) -> bool {
        let needed = |column: &KeyIds| u32::BITS - column.id_count.saturating_sub(1).leading_zeros();
        if self.columns.iter().all(|column| needed(column) <= column.bits) {
            return true;
        }
        if self.columns.iter().map(needed).sum::<u32>() > self.index_bits_max {
            return false;
        }
        let before: Vec<(u32, u32)> = self.columns.iter().map(|column| (column.shift, column.bits)).collect();
        let mut shift = 0;
        for column in &mut self.columns {
            column.bits = column.bits.max(needed(column));
            column.shift = shift;
            shift += column.bits;
        }
        let table = vec![NONE; 1 << shift];
        let groups = std::mem::replace(&mut self.table, table);
        for (index, group) in groups.into_iter().enumerate().filter(|(_, group)| *group != NONE) {
            let moved = self.columns.iter().zip(&before).map(|(column, (shift, bits))| {
                let id = index >> shift & ((1 << bits) - 1);
                id << column.shift
            });
            let moved: usize = moved.sum();
            self.table[moved] = group;
        }
        true
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let column =
            |ids: &KeyIds| (ids.integers.len() + ids.by_code.len()) * 4 + ids.strings.len() * 32 + ids.string_bytes;
        self.table.len() * 4 + self.columns.iter().map(column).sum::<usize>()
    }
}

impl KeyIds {
    /// Finds the ids of the rows. False if there are too many values, or if their kind requires hashing.
    fn find(&mut self, key: &Vector) -> bool {
        let valid = key.valid();
        let found = match key.values() {
            Values::Bool(values) => self.find_bools(values, valid),
            Values::Int(values) => self.find_integers(values, valid),
            Values::Int128(values) => {
                narrow(values, valid).is_some_and(|narrowed| self.find_integers(&narrowed, valid))
            }
            Values::Coded(coded) => self.find_codes(coded, valid),
            Values::Float(_) | Values::Bytes(_) => false,
        };
        if let Some(valid) = valid.filter(|valid| found && valid.contains(&false)) {
            let null = *self.null.get_or_insert_with(|| next(&mut self.id_count));
            self.ids.iter_mut().zip(valid).filter(|(_, valid)| !**valid).for_each(|(id, _)| *id = null);
        }
        found
    }

    fn find_bools(&mut self, values: &[bool], valid: Option<&[bool]>) -> bool {
        for value in [false, true] {
            let occurs = (0..values.len()).any(|row| values[row] == value && valid.is_none_or(|valid| valid[row]));
            if occurs && self.bools[usize::from(value)].is_none() {
                self.bools[usize::from(value)] = Some(next(&mut self.id_count));
            }
        }
        let ids = self.bools.map(|id| id.unwrap_or(0));
        self.ids.clear();
        self.ids.extend(values.iter().map(|value| ids[usize::from(*value)]));
        true
    }

    fn find_integers(&mut self, values: &[i64], valid: Option<&[bool]>) -> bool {
        if let Some((least, greatest)) = bounds(values, valid)
            && !self.cover(least, greatest)
        {
            return false;
        }
        let Self { ids, integers, id_count, first_integer, .. } = self;
        let position = |value: i64| value.wrapping_sub(*first_integer) as usize;
        ids.clear();
        ids.extend(values.iter().map(|value| integers.get(position(*value)).copied().unwrap_or(NONE)));
        assign(ids, valid, |row| {
            let id = &mut integers[position(values[row])];
            if *id == NONE {
                *id = next(id_count);
            }
            *id
        });
        true
    }

    fn cover(&mut self, least: i64, greatest: i64) -> bool {
        let (first, last) = if self.integers.is_empty() {
            (least, greatest)
        } else {
            (least.min(self.first_integer), greatest.max(self.first_integer + (self.integers.len() as i64 - 1)))
        };
        if last.checked_sub(first).is_none_or(|range| range >= INTEGER_RANGE_MAX) {
            return false;
        }
        if !self.integers.is_empty() && first < self.first_integer {
            self.integers.splice(0..0, std::iter::repeat_n(NONE, (self.first_integer - first) as usize));
        }
        self.first_integer = first;
        self.integers.resize((last - first + 1) as usize, NONE);
        true
    }

    fn find_codes(&mut self, coded: &CodedStrings, valid: Option<&[bool]>) -> bool {
        if !self.dictionary.as_ref().is_some_and(|known| Arc::ptr_eq(known, &coded.dictionary)) {
            if coded.dictionary.len() > DICTIONARY_STRINGS_MAX {
                return false;
            }
            self.dictionary = Some(coded.dictionary.clone());
            self.by_code.clear();
            self.by_code.resize(coded.dictionary.len(), NONE);
        }
        let Self { ids, by_code, strings, string_bytes, id_count, .. } = self;
        ids.clear();
        ids.extend(coded.codes.iter().map(|code| by_code.get(*code as usize).copied().unwrap_or(NONE)));
        assign(ids, valid, |row| {
            let id = &mut by_code[coded.codes[row] as usize];
            if *id == NONE {
                let string = coded.get(row);
                *id = strings.get(string).copied().unwrap_or_else(|| {
                    *string_bytes += string.len();
                    let added = next(id_count);
                    strings.insert(string.into(), added);
                    added
                });
            }
            *id
        });
        true
    }
}

/// Assigns ids to the rows without an id that are not null.
fn assign(ids: &mut [u32], valid: Option<&[bool]>, mut id: impl FnMut(usize) -> u32) {
    if !ids.contains(&NONE) {
        return;
    }
    for (row, found) in ids.iter_mut().enumerate() {
        if *found == NONE && valid.is_none_or(|valid| valid[row]) {
            *found = id(row);
        }
    }
}

fn next(id_count: &mut u32) -> u32 {
    *id_count += 1;
    *id_count - 1
}
