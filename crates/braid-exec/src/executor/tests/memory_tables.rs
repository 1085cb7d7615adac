//! Small random tables as sources, in pieces, with all representations of vectors. Some apply row filters, others ignore them.

use std::cmp::Ordering;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use braid_base::{Random, SeededRandom};
use braid_storage::scalar::compare_floats;
use braid_storage::{ColumnPredicate, PhysicalType};

use super::tables_with_sets::TableWithSets;
use super::*;
use crate::runtime::pipeline::{Feed, Morsel, RowFilter, SetFilter, StartedSource};
use crate::runtime::result_rows::ResultRows;
use crate::scan::placed_predicate::placed;
use crate::values::vector::{CodedStrings, Values};
use crate::{Batch, ByteStrings, IntegerBounds, Vector};

/// The values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Int,
    /// Integers; some need 128 bits.
    Wide,
    Text,
    Bool,
    Float,
}

pub const KINDS: [Kind; 5] = [Kind::Int, Kind::Wide, Kind::Text, Kind::Bool, Kind::Float];

impl Kind {
    pub fn is_integer(self) -> bool {
        matches!(self, Self::Int | Self::Wide)
    }

    /// The type of a column on disk.
    fn physical(self) -> PhysicalType {
        match self {
            Self::Int => PhysicalType::Int,
            Self::Wide => PhysicalType::Int128,
            Self::Text => PhysicalType::Bytes,
            Self::Bool => PhysicalType::Bool,
            Self::Float => PhysicalType::Float64,
        }
    }

    /// Whether values of both kinds can be compared, and can be in one column.
    pub fn is_like(self, other: Self) -> bool {
        self == other || self.is_integer() && other.is_integer()
    }

    /// The value that represents a small number. Integers are `step` apart.
    pub fn scalar(self, number: u64, step: i64) -> Scalar {
        let n = number as i64 - 3;
        match self {
            Self::Wide if number % 3 == 2 => Scalar::Int128(i128::from(n) << 66),
            Self::Int | Self::Wide => Scalar::Int(n * step),
            Self::Text if number % 4 == 3 => Scalar::Bytes(format!("a string beyond a view {number}").into_bytes()),
            Self::Text => Scalar::Bytes(
                ["", "a", "ab", "b", "ba", "c"][number as usize % 6].repeat(1 + number as usize / 6).into_bytes(),
            ),
            Self::Bool => Scalar::Bool(number % 2 == 1),
            // Sums of quarters are exact in any order.
            Self::Float => Scalar::Float(match number {
                0 => f64::NAN,
                1 => -0.0,
                2 => 0.0,
                _ => n as f64 / 4.0,
            }),
        }
    }
}

/// The value in a form that is identical for equal values.
pub fn canonical(value: Value) -> Value {
    value.map(|value| match value {
        Scalar::Int128(value) => i64::try_from(value).map_or(Scalar::Int128(value), Scalar::Int),
        // -0, too.
        Scalar::Float(0.0) => Scalar::Float(0.0),
        Scalar::Float(value) if value.is_nan() => Scalar::Float(f64::NAN),
        other => other,
    })
}

pub fn integer(value: &Scalar) -> i128 {
    match value {
        Scalar::Int(value) => (*value).into(),
        Scalar::Int128(value) => *value,
        other => panic!("{other:?} is no integer"),
    }
}

/// The order of values of one kind.
pub fn compare(a: &Scalar, b: &Scalar) -> Ordering {
    match (a, b) {
        (Scalar::Bool(a), Scalar::Bool(b)) => a.cmp(b),
        (Scalar::Float(a), Scalar::Float(b)) => compare_floats(*a, *b),
        (Scalar::Bytes(a), Scalar::Bytes(b)) => a.cmp(b),
        _ => integer(a).cmp(&integer(b)),
    }
}

/// An arbitrary total order of rows, in which equal rows compare as equal.
pub fn compare_rows(a: &[Value], b: &[Value]) -> Ordering {
    let values = |(a, b): (&Value, &Value)| match (a, b) {
        (Some(a), Some(b)) => compare(a, b),
        _ => a.is_some().cmp(&b.is_some()),
    };
    a.iter().zip(b).map(values).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// The use that a table makes of row filters.
#[derive(Clone, Copy, Debug)]
enum Obedience {
    /// A [`ResultSource`], which ignores filters.
    None,
    /// Drops rows outside the bounds.
    Bounds,
    /// Drops rows without partners.
    Keys,
    Both,
}

/// A table.
#[derive(Clone)]
pub struct Table {
    number: usize,
    pub kinds: Vec<Kind>,
    pub rows: Vec<Row>,
    parts: Vec<Arc<ResultRows>>,
    obedience: Obedience,
    batch_rows: usize,
    yields: bool,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table {}: {:?}, {} rows, {:?}", self.number, self.kinds, self.rows.len(), self.obedience)
    }
}

impl Table {
    /// A table of integers that drops as many rows as the filters allow.
    pub fn of_integers(number: usize, column_count: usize, rows: &[&[Option<i64>]]) -> Arc<Self> {
        let rows: Vec<Row> = rows.iter().map(|row| row.iter().map(|value| value.map(Scalar::Int)).collect()).collect();
        let (kinds, mut random) = (vec![Kind::Int; column_count], SeededRandom::new(0));
        let column = |at: usize| rows.iter().map(|row| row[at].clone()).collect::<Vec<Value>>();
        let columns = (0..column_count).map(|at| vector(Kind::Int, &column(at), &mut random)).collect();
        let parts = vec![Arc::new(ResultRows::new(rows.len(), columns))];
        Arc::new(Self {
            number,
            kinds,
            rows,
            parts,
            obedience: Obedience::Both,
            batch_rows: VECTOR_ROWS,
            yields: false,
        })
    }

    pub fn random(number: usize, row_count_max: u64, step: i64, random: &mut SeededRandom) -> Arc<Self> {
        let column_count = 1 + random.below(4);
        let kinds: Vec<Kind> =
            (0..column_count).map(|_| KINDS[[0, 0, 0, 1, 2, 2, 3, 4][random.below(8) as usize]]).collect();
        // Some rows have partners in other tables, some have not.
        let varieties = [2, 5, 12, row_count_max];
        let variety: Vec<(u64, bool)> =
            kinds.iter().map(|_| (varieties[random.below(4) as usize], random.chance(1, 2))).collect();
        let row_count_max = row_count_max.min([3, 30, 30, 300][random.below(4) as usize]);
        let row_count = random.below(row_count_max) as usize;
        let mut row = |_| {
            let mut value = |(kind, (variety, nulls)): (&Kind, &(u64, bool))| {
                let is_null = *nulls && random.chance(1, 4);
                (!is_null).then(|| kind.scalar(random.below(*variety), step))
            };
            kinds.iter().zip(&variety).map(&mut value).collect()
        };
        let rows = (0..row_count).map(&mut row).collect();
        Self::of_rows(number, kinds, rows, random)
    }

    /// A table of these rows, in random pieces and representations.
    pub fn of_rows(number: usize, kinds: Vec<Kind>, rows: Vec<Row>, random: &mut SeededRandom) -> Arc<Self> {
        let mut parts = Vec::new();
        let mut rest = &rows[..];
        while !rest.is_empty() {
            let (part, after) = rest.split_at(1 + random.below(rest.len() as u64) as usize);
            let columns = kinds.iter().enumerate().map(|(at, kind)| {
                let values: Vec<Value> = part.iter().map(|row| row[at].clone()).collect();
                vector(*kind, &values, random)
            });
            parts.push(Arc::new(ResultRows::new(part.len(), columns.collect())));
            rest = after;
        }
        let rows: Vec<Row> = rows.into_iter().map(|row| row.into_iter().map(canonical).collect()).collect();
        let obedience =
            [Obedience::None, Obedience::Bounds, Obedience::Keys, Obedience::Both][random.below(4) as usize];
        let batch_rows = 1 + random.below(if rows.len() > 300 { VECTOR_ROWS as u64 } else { 64 }) as usize;
        let yields = random.chance(1, 4);
        Arc::new(Self { number, kinds, rows, parts, obedience, batch_rows, yields })
    }
}

/// Values in a random representation. The values below nulls are arbitrary.
fn vector(kind: Kind, values: &[Value], random: &mut SeededRandom) -> Vector {
    if values.iter().all(Option::is_none) && random.chance(1, 2) {
        return Vector::repeat(None, values.len());
    }
    let valid: Vec<bool> = values.iter().map(Option::is_some).collect();
    let under_null = kind.scalar(random.below(9), 1);
    let filled: Vec<&Scalar> = values.iter().map(|value| value.as_ref().unwrap_or(&under_null)).collect();
    let values = match kind {
        Kind::Bool => Values::Bool(filled.iter().map(|value| matches!(value, Scalar::Bool(true))).collect()),
        Kind::Float => Values::Float(
            filled.iter().map(|value| if let Scalar::Float(value) = value { *value } else { 0.0 }).collect(),
        ),
        Kind::Text => strings(&filled, random),
        Kind::Int | Kind::Wide => {
            let wide: Vec<i128> = filled.iter().map(|value| integer(value)).collect();
            let narrow: Result<Vec<i64>, _> = wide.iter().map(|value| i64::try_from(*value)).collect();
            let stays_wide = kind == Kind::Wide && random.chance(1, 2);
            narrow.ok().filter(|_| !stays_wide).map_or(Values::Int128(wide), Values::Int)
        }
    };
    Vector::new(values, (valid.contains(&false) || random.chance(1, 4)).then_some(valid))
}

fn strings(values: &[&Scalar], random: &mut SeededRandom) -> Values {
    let bytes = |value: &&Scalar| if let Scalar::Bytes(bytes) = value { bytes.clone() } else { panic!("{value:?}") };
    let strings: Vec<Vec<u8>> = values.iter().map(bytes).collect();
    if random.chance(1, 2) {
        return Values::Bytes(ByteStrings::from_strings(strings.iter().map(Vec::as_slice)));
    }
    let mut distinct = strings.clone();
    distinct.sort_by_key(|string| (string.len() % 3, string.clone()));
    distinct.dedup();
    let code = |string: &Vec<u8>| distinct.iter().position(|known| known == string).unwrap() as u32;
    let codes = strings.iter().map(code).collect();
    Values::Coded(CodedStrings {
        codes,
        dictionary: Arc::new(ByteStrings::from_strings(distinct.iter().map(Vec::as_slice))),
    })
}

impl Source for Table {
    fn worker_count_max(&self) -> usize {
        self.parts.len()
    }

    fn start(&self, filters: &[RowFilter]) -> Arc<dyn StartedSource> {
        for column in filters.iter().flat_map(|filter| &filter.columns) {
            assert!(*column < self.kinds.len(), "a filter of columns that are there");
        }
        if let Obedience::None = self.obedience {
            return ResultSource::new(self.parts.clone()).start(filters);
        }
        let (parts, obedience) = (self.parts.clone(), self.obedience);
        let (batch_rows, yields) = (self.batch_rows, self.yields);
        let started =
            Started { parts, filters: filters.to_vec(), obedience, batch_rows, yields, next: AtomicUsize::new(0) };
        Arc::new(Arc::new(started))
    }

    fn row_count_max(&self) -> Option<u64> {
        (self.number % 5 != 4).then_some(self.rows.len() as u64)
    }

    fn is_narrowed(&self) -> bool {
        self.number.is_multiple_of(3)
    }

    fn describe(&self) -> String {
        self.number.to_string()
    }

    fn integer_bounds(&self, column: usize) -> Option<IntegerBounds> {
        if !self.kinds[column].is_integer() {
            return None;
        }
        let values = self.rows.iter().filter_map(|row| row[column].as_ref()).map(integer).map(IntegerBounds::only);
        Some(values.reduce(IntegerBounds::or).unwrap_or(IntegerBounds::only(0)))
    }

    fn is_null_free(&self, column: usize) -> bool {
        self.rows.iter().all(|row| row[column].is_some())
    }

    /// Most tables evaluate predicates themselves.
    fn with_predicate(&self, column: usize, predicate: ColumnPredicate) -> Option<Arc<dyn Source>> {
        let kind = self.kinds[column];
        let predicate = placed(predicate, kind.physical()).filter(|_| self.number % 4 != 1)?;
        let satisfies = |value: Value| match (kind, value) {
            (Kind::Wide, Some(value)) => predicate.matches(Some(&Scalar::Int128(integer(&value)))),
            (_, value) => predicate.matches(value.as_ref()),
        };
        let part = |part: &Arc<ResultRows>| {
            let kept: Vec<u32> = (0..part.row_count())
                .filter(|row| satisfies(part.columns()[column].value(*row)))
                .map(|row| row as u32)
                .collect();
            let columns = part.columns().iter().map(|column| column.take(&kept)).collect();
            Arc::new(ResultRows::new(kept.len(), columns))
        };
        let parts: Vec<Arc<ResultRows>> = self.parts.iter().map(part).collect();
        let rows = self.rows.iter().filter(|row| satisfies(row[column].clone())).cloned().collect();
        Some(Arc::new(Self { rows, parts, ..self.clone() }))
    }

    /// Every second table evaluates sets itself.
    fn with_sets(&self, filters: Vec<SetFilter>) -> Option<Arc<dyn Source>> {
        assert!(filters.iter().all(|filter| filter.column < self.kinds.len()), "a filter of columns that are there");
        self.number.is_multiple_of(2).then(|| Arc::new(TableWithSets::new(self.clone(), filters)) as Arc<dyn Source>)
    }
}

struct Started {
    parts: Vec<Arc<ResultRows>>,
    filters: Vec<RowFilter>,
    obedience: Obedience,
    batch_rows: usize,
    yields: bool,
    next: AtomicUsize,
}

impl StartedSource for Arc<Started> {
    fn feed(&self) -> Box<dyn Feed> {
        Box::new(TableFeed { started: self.clone(), filters: self.filters.clone() })
    }
}

struct TableFeed {
    started: Arc<Started>,
    filters: Vec<RowFilter>,
}

impl Feed for TableFeed {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>> {
        Box::pin(async move {
            if self.started.yields {
                tokio::task::yield_now().await;
            }
            let part = self.started.parts.get(self.started.next.fetch_add(1, Relaxed)).cloned();
            let (started, filters) = (&*self.started, &mut self.filters[..]);
            Ok(part.map(|rows| Box::new(Part { started, filters, rows, next: 0 }) as Box<dyn Morsel>))
        })
    }
}

struct Part<'a> {
    started: &'a Started,
    filters: &'a mut [RowFilter],
    rows: Arc<ResultRows>,
    next: usize,
}

impl Part<'_> {
    /// Keeps the rows that the filters accept.
    fn narrow(&mut self, rows: &mut Vec<u32>) {
        let (bounds, keys) = match self.started.obedience {
            Obedience::None => (false, false),
            Obedience::Bounds => (true, false),
            Obedience::Keys => (false, true),
            Obedience::Both => (true, true),
        };
        for filter in &mut *self.filters {
            let vectors: Vec<Arc<Vector>> =
                filter.columns.iter().map(|column| Arc::new(self.rows.columns()[*column].take(rows))).collect();
            let mut keep = vec![true; rows.len()];
            if keys {
                filter.keys.retain(&vectors, &mut keep);
            }
            for (key, vector) in vectors.iter().enumerate().filter(|_| bounds) {
                let Some((low, high)) = filter.keys.bounds(key) else { continue };
                let within = |row: usize| match vector.value(row) {
                    Some(value @ (Scalar::Int(_) | Scalar::Int128(_))) => {
                        (low.into()..=high.into()).contains(&integer(&value))
                    }
                    // As a scan's predicates have it, nulls are within no bounds.
                    None => false,
                    Some(_) => true,
                };
                keep.iter_mut().enumerate().for_each(|(row, keep)| *keep &= within(row));
            }
            let mut keep = keep.into_iter();
            rows.retain(|_| keep.next().unwrap());
        }
    }
}

impl Morsel for Part<'_> {
    fn next_batch(&mut self) -> Result<Option<Batch>, ExecError> {
        while self.next < self.rows.row_count() {
            let end = (self.next + self.started.batch_rows).min(self.rows.row_count());
            let mut rows: Vec<u32> = (self.next as u32..end as u32).collect();
            self.next = end;
            self.narrow(&mut rows);
            if !rows.is_empty() {
                let mut batch = Batch::new(rows.len());
                batch.push_deferred(self.rows.clone(), rows, 0..self.rows.columns().len());
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}
