//! The model: a table as rows of scalars, random values and random predicates over them, and what a scan should answer.

use std::ops::Bound;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, RecordBatch,
    StringViewArray, Time64MicrosecondArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNano,
    IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType,
};
use braid_base::{ColumnId, Random, SeededRandom};
use braid_storage::{ColumnDef, ColumnPredicate, ColumnType, NUMERIC_OID, NUMERIC_TAG, Scalar};

/// A value, or null.
pub type Value = Option<Scalar>;

/// Every type a column can have, numerics in both widths.
pub const TYPES: [ColumnType; 21] = [
    ColumnType::Boolean,
    ColumnType::SmallInt,
    ColumnType::Integer,
    ColumnType::BigInt,
    ColumnType::Real,
    ColumnType::Double,
    ColumnType::Numeric { precision: 12, scale: 2 },
    ColumnType::Numeric { precision: 30, scale: 4 },
    ColumnType::Text,
    ColumnType::Char(10),
    ColumnType::Date,
    ColumnType::Timestamp,
    ColumnType::TimestampTz,
    ColumnType::Interval,
    ColumnType::Bytea,
    ColumnType::Uuid,
    ColumnType::UnlimitedVarchar,
    ColumnType::Name,
    ColumnType::Time,
    ColumnType::Encoded { type_oid: 3802, modifier: -1 },
    ColumnType::Encoded { type_oid: NUMERIC_OID, modifier: -1 },
];

/// A random row source: `distinct` values per column, growing with the row number in clustered columns.
pub struct Generator {
    pub random: SeededRandom,
    pub columns: Vec<ColumnDef>,
    /// Per column: how many different values, and whether they follow the row number.
    shapes: Vec<(u64, bool)>,
}

impl Generator {
    pub fn new(seed: u64) -> Self {
        let mut random = SeededRandom::new(seed);
        let count = 2 + random.below(6) as usize;
        let column = |at: usize, random: &mut SeededRandom| {
            let column_type = TYPES[random.below(TYPES.len() as u64) as usize];
            ColumnDef { nullable: random.chance(1, 2), ..ColumnDef::new(format!("c{at}"), column_type) }
        };
        let columns: Vec<ColumnDef> = (0..count).map(|at| column(at, &mut random)).collect();
        let shapes =
            columns.iter().map(|_| ([2, 20, 100_000][random.below(3) as usize], random.chance(1, 3))).collect();
        Self { random, columns, shapes }
    }

    pub fn row(&mut self, row: usize) -> Vec<Value> {
        (0..self.columns.len()).map(|at| self.value(at, row)).collect()
    }

    fn value(&mut self, at: usize, row: usize) -> Value {
        if self.columns[at].nullable && self.random.chance(1, 5) {
            return None;
        }
        let (distinct, clustered) = self.shapes[at];
        let number = if clustered { row as u64 / 500 } else { self.random.below(distinct) };
        Some(scalar(self.columns[at].column_type, number))
    }

    /// A value to compare column `at` with: often one that occurs.
    pub fn constant(&mut self, at: usize) -> Scalar {
        let (distinct, clustered) = self.shapes[at];
        let number = self.random.below(if clustered { 50 } else { distinct + 2 });
        scalar(self.columns[at].column_type, number)
    }

    pub fn predicate(&mut self) -> (ColumnId, ColumnPredicate) {
        let at = self.random.below(self.columns.len() as u64) as usize;
        let kinds = match self.columns[at].column_type {
            // Their chunks may hold integers: no predicate but on nulls is of one type in all of them.
            encoded if encoded.is_encoded_numeric() => 2,
            ColumnType::Interval => 6,
            _ => 9,
        };
        let predicate = match self.random.below(kinds) {
            0 => ColumnPredicate::IsNull,
            1 => ColumnPredicate::IsNotNull,
            2 => ColumnPredicate::NotEqual(self.constant(at)),
            3 => ColumnPredicate::equal(self.constant(at)),
            4 => ColumnPredicate::In(self.constants(at)),
            5 => ColumnPredicate::NotIn(self.constants(at)),
            _ => {
                let (a, b) = (self.constant(at), self.constant(at));
                let (low, high) = if a.compare(&b).unwrap().is_le() { (a, b) } else { (b, a) };
                ColumnPredicate::Range { low: self.bound(low), high: self.bound(high) }
            }
        };
        (ColumnId(at as u16), predicate)
    }

    fn constants(&mut self, at: usize) -> Vec<Scalar> {
        let count = self.random.below(6);
        let mut constants: Vec<Scalar> = (0..count).map(|_| self.constant(at)).collect();
        constants.sort_by(|a, b| a.compare(b).unwrap_or(std::cmp::Ordering::Equal));
        constants.dedup();
        constants
    }

    fn bound(&mut self, value: Scalar) -> Bound<Scalar> {
        match self.random.below(3) {
            0 => Bound::Unbounded,
            1 => Bound::Included(value),
            _ => Bound::Excluded(value),
        }
    }
}

/// The value of a type that stands for `number`; order-preserving, with some special values in between.
fn scalar(column_type: ColumnType, number: u64) -> Scalar {
    let n = number as i64;
    match column_type {
        ColumnType::Boolean => Scalar::Bool(n % 2 == 1),
        ColumnType::SmallInt => Scalar::Int(n % 30_000 - 10),
        ColumnType::Integer | ColumnType::Date => Scalar::Int(n * 7 - 1000),
        ColumnType::BigInt
        | ColumnType::Enum(_)
        | ColumnType::Time
        | ColumnType::Timestamp
        | ColumnType::TimestampTz
        | ColumnType::RoundedTime(_)
        | ColumnType::RoundedTimestamp(_)
        | ColumnType::RoundedTimestampTz(_) => Scalar::Int(n * 1_000_000_007 - 5),
        ColumnType::Real | ColumnType::Double => Scalar::Float(match number {
            0 => f64::NEG_INFINITY,
            1 => -0.0,
            2 => 0.0,
            3 => f64::NAN,
            _ => number as f64 * 0.25,
        }),
        ColumnType::Numeric { precision, .. } if precision > 18 => Scalar::Int128(i128::from(n) * 10_i128.pow(20) - 3),
        ColumnType::Numeric { .. } => Scalar::Int(n * 25 - 100),
        ColumnType::Text => Scalar::Bytes(format!("some longer text {number:06} and its tail").into_bytes()),
        ColumnType::Char(_) | ColumnType::Varchar(_) | ColumnType::UnlimitedVarchar | ColumnType::Name => {
            Scalar::Bytes(format!("é{number}").into_bytes())
        }
        ColumnType::Interval => Scalar::Interval(n as i32, -(n as i32), n),
        ColumnType::Encoded { type_oid: NUMERIC_OID, .. } => {
            // Up to here all have one scale, which clustered columns keep for some chunks.
            let scale: u16 = if number < 40 { 2 } else { number as u16 % 5 };
            Scalar::Bytes([&[NUMERIC_TAG][..], &scale.to_le_bytes(), &i128::from(n).to_le_bytes()].concat())
        }
        ColumnType::Bytea | ColumnType::Encoded { .. } => {
            Scalar::Bytes(number.to_be_bytes()[(8 - number as usize % 9)..].to_vec())
        }
        ColumnType::Uuid => Scalar::Bytes((u128::from(number) << 64 | 7).to_be_bytes().to_vec()),
    }
}

/// Rows as one batch of the table's schema.
pub fn batch(columns: &[ColumnDef], schema: arrow::datatypes::SchemaRef, rows: &[Vec<Value>]) -> RecordBatch {
    let arrays =
        columns.iter().enumerate().map(|(at, column)| array(column.column_type, rows.iter().map(|row| &row[at])));
    RecordBatch::try_new(schema, arrays.collect()).unwrap()
}

fn array<'a>(column_type: ColumnType, values: impl Iterator<Item = &'a Value>) -> ArrayRef {
    let values: Vec<&Value> = values.collect();
    let ints = || values.iter().map(|v| v.as_ref().map(|v| if let Scalar::Int(v) = v { *v } else { panic!("{v:?}") }));
    let floats =
        || values.iter().map(|v| v.as_ref().map(|v| if let Scalar::Float(v) = v { *v } else { panic!("{v:?}") }));
    let bytes = || {
        values.iter().map(|v| v.as_ref().map(|v| if let Scalar::Bytes(v) = v { v.as_slice() } else { panic!("{v:?}") }))
    };
    let text = || bytes().map(|v| v.map(|v| std::str::from_utf8(v).unwrap()));
    match column_type {
        ColumnType::Boolean => {
            let bools = values.iter().map(|v| v.as_ref().map(|v| *v == Scalar::Bool(true)));
            Arc::new(bools.collect::<BooleanArray>())
        }
        ColumnType::SmallInt => Arc::new(ints().map(|v| v.map(|v| v as i16)).collect::<Int16Array>()),
        ColumnType::Integer => Arc::new(ints().map(|v| v.map(|v| v as i32)).collect::<Int32Array>()),
        ColumnType::BigInt | ColumnType::Enum(_) => Arc::new(ints().collect::<Int64Array>()),
        ColumnType::Real => Arc::new(floats().map(|v| v.map(|v| v as f32)).collect::<Float32Array>()),
        ColumnType::Double => Arc::new(floats().collect::<Float64Array>()),
        ColumnType::Numeric { precision, scale } => {
            let unscaled = values.iter().map(|v| match v {
                Some(Scalar::Int(v)) => Some(i128::from(*v)),
                Some(Scalar::Int128(v)) => Some(*v),
                _ => None,
            });
            let array: Decimal128Array = unscaled.collect();
            Arc::new(array.with_precision_and_scale(precision, scale as i8).unwrap())
        }
        ColumnType::Text
        | ColumnType::Varchar(_)
        | ColumnType::UnlimitedVarchar
        | ColumnType::Char(_)
        | ColumnType::Name => Arc::new(text().collect::<StringViewArray>()),
        ColumnType::Date => Arc::new(ints().map(|v| v.map(|v| v as i32)).collect::<Date32Array>()),
        ColumnType::Time | ColumnType::RoundedTime(_) => Arc::new(ints().collect::<Time64MicrosecondArray>()),
        ColumnType::Timestamp | ColumnType::RoundedTimestamp(_) => {
            Arc::new(ints().collect::<TimestampMicrosecondArray>())
        }
        ColumnType::TimestampTz | ColumnType::RoundedTimestampTz(_) => {
            Arc::new(ints().collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
        }
        ColumnType::Interval => {
            let intervals = values.iter().map(|v| match v {
                Some(Scalar::Interval(months, days, nanos)) => Some(IntervalMonthDayNano::new(*months, *days, *nanos)),
                _ => None,
            });
            Arc::new(intervals.collect::<IntervalMonthDayNanoArray>())
        }
        ColumnType::Bytea | ColumnType::Encoded { .. } => Arc::new(bytes().collect::<BinaryViewArray>()),
        ColumnType::Uuid => Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes(), 16).unwrap()),
    }
}

/// The rows of a batch as values, by the types of its columns.
pub fn values(types: &[ColumnType], batch: &RecordBatch) -> Vec<Vec<Value>> {
    let value = |at: usize, row: usize| {
        let array = batch.column(at);
        array.is_valid(row).then(|| match types[at] {
            ColumnType::Boolean => Scalar::Bool(array.as_boolean().value(row)),
            ColumnType::SmallInt => Scalar::Int(array.as_primitive::<Int16Type>().value(row).into()),
            ColumnType::Integer => Scalar::Int(array.as_primitive::<Int32Type>().value(row).into()),
            ColumnType::BigInt | ColumnType::Enum(_) => Scalar::Int(array.as_primitive::<Int64Type>().value(row)),
            ColumnType::Real => Scalar::Float(array.as_primitive::<Float32Type>().value(row).into()),
            ColumnType::Double => Scalar::Float(array.as_primitive::<Float64Type>().value(row)),
            ColumnType::Numeric { precision, .. } => match array.as_primitive::<Decimal128Type>().value(row) {
                v if precision <= 18 => Scalar::Int(v as i64),
                v => Scalar::Int128(v),
            },
            ColumnType::Text
            | ColumnType::Varchar(_)
            | ColumnType::UnlimitedVarchar
            | ColumnType::Char(_)
            | ColumnType::Name => Scalar::Bytes(array.as_string_view().value(row).as_bytes().to_vec()),
            ColumnType::Date => Scalar::Int(array.as_primitive::<Date32Type>().value(row).into()),
            ColumnType::Time | ColumnType::RoundedTime(_) => {
                Scalar::Int(array.as_primitive::<Time64MicrosecondType>().value(row))
            }
            ColumnType::Timestamp
            | ColumnType::TimestampTz
            | ColumnType::RoundedTimestamp(_)
            | ColumnType::RoundedTimestampTz(_) => {
                Scalar::Int(array.as_primitive::<TimestampMicrosecondType>().value(row))
            }
            ColumnType::Interval => {
                let v = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
                Scalar::Interval(v.months, v.days, v.nanoseconds)
            }
            ColumnType::Bytea | ColumnType::Encoded { .. } => Scalar::Bytes(array.as_binary_view().value(row).to_vec()),
            ColumnType::Uuid => Scalar::Bytes(array.as_fixed_size_binary().value(row).to_vec()),
        })
    };
    (0..batch.num_rows()).map(|row| (0..types.len()).map(|at| value(at, row)).collect()).collect()
}

/// The rows that a scan of `projection` with `predicates` should produce, in row order.
pub fn expected(
    rows: &[Vec<Value>],
    projection: &[ColumnId],
    predicates: &[(ColumnId, ColumnPredicate)],
) -> Vec<Vec<Value>> {
    let satisfies = |row: &&Vec<Value>| predicates.iter().all(|(c, p)| p.matches(row[usize::from(c.0)].as_ref()));
    let project = |row: &Vec<Value>| projection.iter().map(|c| row[usize::from(c.0)].clone()).collect();
    rows.iter().filter(satisfies).map(project).collect()
}

/// Rows as text, sorted: multisets to compare, NaN and -0 included.
pub fn sorted(rows: Vec<Vec<Value>>) -> Vec<String> {
    let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows
}
