//! Groups: from the key columns of a row to a small number, dense from 0 in order of appearance.
//!
//! Each distinct value of a key column has an id of its own in the pass. Strings are looked up once for each value of a
//! segment's dictionary; after that a row costs one table lookup. Ids of several columns are paired from left to right;
//! pairs of small ids, the usual case of low-cardinality keys, are found in a table without hashing.

use std::collections::HashMap;

use braid_storage::{PhysicalType, Scalar, Segment, Selection};

use crate::multiplicative_hasher::{NumberMap, pair};

/// Ids below this are paired by table: 2^8 * 2^8 entries of 4 bytes, 256 KiB.
const TABLE_IDS: u32 = 1 << 8;

/// An entry of a table that is not in use.
const UNUSED: u32 = u32::MAX;

/// One value of a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyValue {
    /// Null: in GROUP BY, nulls are equal.
    Null,
    /// An integer in physical form.
    Integer(i64),
    /// A string.
    Bytes(Box<[u8]>),
}

/// The groups of a pass, as one worker has met them.
#[derive(Debug)]
pub(crate) struct GroupKeys {
    columns: Vec<KeyColumn>,
    /// How the numbers of the first `i + 1` columns and the ids of column `i + 1` are paired.
    pairs: Vec<PairNumbers>,
}

/// A key column and the ids of its values.
#[derive(Debug)]
struct KeyColumn {
    /// Position among a chunk's segments.
    segment: usize,
    values: Vec<KeyValue>,
    ids: HashMap<KeyValue, u32>,
    /// Bytes of the strings among the values.
    string_bytes: usize,
}

/// Numbers of pairs, dense from 0.
#[derive(Debug)]
struct PairNumbers {
    table: Box<[u32]>,
    others: NumberMap<u32>,
    pairs: Vec<(u32, u32)>,
}

/// The ids of the dictionaries of one chunk's key columns; `None` where a segment has no dictionary.
#[derive(Debug)]
pub(crate) struct ChunkIds(Vec<Option<Vec<u32>>>);

impl GroupKeys {
    /// No groups yet, of the columns at these positions among a chunk's segments.
    pub(crate) fn new(segments: &[usize]) -> Self {
        let columns = segments.iter().map(|segment| KeyColumn::new(*segment)).collect();
        let pairs = (1..segments.len()).map(|_| PairNumbers::new()).collect();
        Self { columns, pairs }
    }

    /// Prepares for the rows of a chunk.
    pub(crate) fn begin_chunk(&mut self, segments: &[&Segment]) -> ChunkIds {
        let ids = self.columns.iter_mut().map(|column| {
            let dictionary = segments[column.segment].dictionary()?;
            Some(dictionary.into_iter().map(|value| column.id(key_value(Some(value)))).collect())
        });
        ChunkIds(ids.collect())
    }

    /// Replaces `groups` by the groups of the selected rows of a vector.
    pub(crate) fn of_rows(
        &mut self,
        chunk: &ChunkIds,
        segments: &[&Segment],
        vector: usize,
        selection: &Selection,
        groups: &mut Vec<u32>,
    ) {
        groups.clear();
        if self.columns.is_empty() {
            groups.resize(selection.count(), 0);
            return;
        }
        let mut ids = Vec::new();
        for (at, column) in self.columns.iter_mut().enumerate() {
            let out = if at == 0 { &mut *groups } else { &mut ids };
            column.ids_of_rows(chunk.0[at].as_deref(), segments[column.segment], vector, selection, out);
            if at > 0 {
                let pairs = &mut self.pairs[at - 1];
                groups.iter_mut().zip(&ids).for_each(|(group, id)| *group = pairs.number(*group, *id));
            }
        }
    }

    /// Whether there is a key column.
    pub(crate) fn has_columns(&self) -> bool {
        !self.columns.is_empty()
    }

    /// The key of a group.
    pub(crate) fn key(&self, group: u32) -> Box<[KeyValue]> {
        let mut ids = Vec::with_capacity(self.columns.len());
        let mut number = group;
        for pairs in self.pairs.iter().rev() {
            let (left, id) = pairs.pairs[number as usize];
            ids.push(id);
            number = left;
        }
        if !self.columns.is_empty() {
            ids.push(number);
        }
        ids.iter().rev().zip(&self.columns).map(|(id, column)| column.values[*id as usize].clone()).collect()
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let column = |c: &KeyColumn| c.values.len() * (2 * size_of::<KeyValue>() + 8) + 2 * c.string_bytes;
        let pairs = |p: &PairNumbers| size_of_val(&*p.table) + p.others.len() * 24 + p.pairs.len() * 8;
        self.columns.iter().map(column).sum::<usize>() + self.pairs.iter().map(pairs).sum::<usize>()
    }
}

impl KeyColumn {
    fn new(segment: usize) -> Self {
        Self { segment, values: Vec::new(), ids: HashMap::new(), string_bytes: 0 }
    }

    fn id(&mut self, value: KeyValue) -> u32 {
        if let Some(id) = self.ids.get(&value) {
            return *id;
        }
        let id = u32::try_from(self.values.len()).expect("2^32 values take more memory than there is");
        if let KeyValue::Bytes(bytes) = &value {
            self.string_bytes += bytes.len();
        }
        self.values.push(value.clone());
        self.ids.insert(value, id);
        id
    }

    fn ids_of_rows(
        &mut self,
        by_code: Option<&[u32]>,
        segment: &Segment,
        vector: usize,
        selection: &Selection,
        ids: &mut Vec<u32>,
    ) {
        ids.clear();
        match (by_code, segment.column_type().physical()) {
            (Some(by_code), _) => {
                let mut codes = Vec::with_capacity(selection.count());
                segment.gather_codes(vector, selection, &mut codes);
                ids.extend(codes.iter().map(|code| by_code[*code as usize]));
            }
            (None, PhysicalType::Int) => self.ids_of_integers(segment, vector, selection, ids),
            (None, PhysicalType::Bytes) => {
                segment.for_each_string(vector, selection, |bytes| ids.push(self.id(KeyValue::Bytes(bytes.into()))));
            }
            (None, _) => ids.extend(
                selection.iter().map(|row| self.id(key_value(segment.value(vector * braid_base::VECTOR_ROWS + row)))),
            ),
        }
        if let Some(valid) = segment.valid_rows(vector) {
            let null = self.id(KeyValue::Null);
            let nulls = ids.iter_mut().zip(selection.iter()).filter(|(_, row)| !valid.contains(*row));
            nulls.for_each(|(id, _)| *id = null);
        }
    }

    fn ids_of_integers(&mut self, segment: &Segment, vector: usize, selection: &Selection, ids: &mut Vec<u32>) {
        let mut integers = Vec::with_capacity(selection.count());
        segment.gather_integers(vector, selection, &mut integers);
        // Equal neighbours are common and cheaper to see than to look up.
        let mut last = None;
        for value in integers {
            let id = match last {
                Some((before, id)) if before == value => id,
                _ => self.id(KeyValue::Integer(value)),
            };
            last = Some((value, id));
            ids.push(id);
        }
    }
}

impl PairNumbers {
    fn new() -> Self {
        let table = vec![UNUSED; (TABLE_IDS * TABLE_IDS) as usize].into();
        Self { table, others: NumberMap::default(), pairs: Vec::new() }
    }

    #[inline]
    fn number(&mut self, left: u32, id: u32) -> u32 {
        let next = self.pairs.len() as u32;
        let number = if left < TABLE_IDS && id < TABLE_IDS {
            let entry = &mut self.table[(left * TABLE_IDS + id) as usize];
            if *entry == UNUSED {
                *entry = next;
            }
            *entry
        } else {
            *self.others.entry(pair(left, id)).or_insert(next)
        };
        if number == next {
            self.pairs.push((left, id));
        }
        number
    }
}

/// A value as a key; what is no integer of 64 bits goes by the bytes of its physical form.
fn key_value(value: Option<Scalar>) -> KeyValue {
    match value {
        None => KeyValue::Null,
        Some(Scalar::Int(value)) => KeyValue::Integer(value),
        Some(Scalar::Bool(value)) => KeyValue::Integer(value.into()),
        Some(Scalar::Bytes(bytes)) => KeyValue::Bytes(bytes.into()),
        Some(Scalar::Int128(value)) => KeyValue::Bytes(value.to_le_bytes().into()),
        Some(Scalar::Float(value)) => {
            // Equal floats have one form: zeros are positive, NaNs are one NaN.
            let canonical = if value == 0.0 {
                0.0
            } else if value.is_nan() {
                f64::NAN
            } else {
                value
            };
            KeyValue::Bytes(canonical.to_bits().to_le_bytes().into())
        }
        Some(Scalar::Interval(months, days, nanoseconds)) => {
            let bytes = [&months.to_le_bytes()[..], &days.to_le_bytes(), &nanoseconds.to_le_bytes()].concat();
            KeyValue::Bytes(bytes.into())
        }
    }
}
