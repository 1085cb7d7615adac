//! Columns of all types and many shapes, made from seeds.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryBuilder, Float32Array,
    Float64Array, Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, StringViewArray,
    Time64MicrosecondArray, TimestampMicrosecondArray,
};
use arrow::datatypes::IntervalMonthDayNano;
use braid_base::{Random, SeededRandom};

use crate::ColumnType;

/// Number of shapes: `shape` is taken modulo this.
pub(crate) const SHAPES: u64 = 12;

/// A column of `rows` rows. `null_percent` percent of them are null.
pub(crate) fn column(column_type: ColumnType, shape: u64, rows: usize, null_percent: u64, seed: u64) -> ArrayRef {
    let random = &mut SeededRandom::new(seed);
    let mut column = Column { integers: integers(shape % SHAPES, rows, random), valid: Vec::new() };
    column.valid = (0..rows).map(|_| !random.chance(null_percent, 100)).collect();
    match column_type {
        ColumnType::Boolean => Arc::new(column.map(|v| v & 1 == 1).collect::<BooleanArray>()),
        ColumnType::SmallInt => Arc::new(column.map(|v| v as i16).collect::<Int16Array>()),
        ColumnType::Integer => Arc::new(column.map(|v| v as i32).collect::<Int32Array>()),
        ColumnType::BigInt | ColumnType::Enum(_) => Arc::new(column.map(|v| v).collect::<Int64Array>()),
        ColumnType::Date => Arc::new(column.map(|v| v as i32).collect::<Date32Array>()),
        ColumnType::Time | ColumnType::RoundedTime(_) => {
            Arc::new(column.map(|v| v).collect::<Time64MicrosecondArray>())
        }
        ColumnType::Timestamp | ColumnType::RoundedTimestamp(_) => {
            Arc::new(column.map(|v| v).collect::<TimestampMicrosecondArray>())
        }
        ColumnType::TimestampTz | ColumnType::RoundedTimestampTz(_) => {
            Arc::new(column.map(|v| v).collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
        }
        ColumnType::Real => Arc::new(column.map(|v| float(shape, v, seed) as f32).collect::<Float32Array>()),
        ColumnType::Double => Arc::new(column.map(|v| float(shape, v, seed)).collect::<Float64Array>()),
        ColumnType::Numeric { precision, .. } => {
            let modulus = 10i128.pow(precision.into());
            let wide = |v: i64| if seed.is_multiple_of(2) { i128::from(v) } else { i128::from(v) << 40 | 7 };
            let array = column.map(|v| wide(v) % modulus).collect::<Decimal128Array>();
            Arc::new(array.with_data_type(column_type.arrow()))
        }
        ColumnType::Interval => {
            let interval = |v: i64| IntervalMonthDayNano { months: v as i32, days: (v >> 32) as i32, nanoseconds: v };
            Arc::new(column.map(interval).collect::<IntervalMonthDayNanoArray>())
        }
        ColumnType::Text
        | ColumnType::Varchar(_)
        | ColumnType::UnlimitedVarchar
        | ColumnType::Char(_)
        | ColumnType::Name => Arc::new(column.map(|v| text(v, seed)).collect::<StringViewArray>()),
        ColumnType::Bytea | ColumnType::Encoded { .. } => {
            Arc::new(column.map(|v| bytes(v, seed)).collect::<BinaryViewArray>())
        }
        ColumnType::Uuid => {
            let mut uuids = FixedSizeBinaryBuilder::new(16);
            column.map(|v| i128::from(v).wrapping_mul(0x1_0000_0000_0000_0001).to_be_bytes()).for_each(
                |uuid| match uuid {
                    Some(uuid) => uuids.append_value(uuid).unwrap(),
                    None => uuids.append_null(),
                },
            );
            Arc::new(uuids.finish())
        }
    }
}

struct Column {
    integers: Vec<i64>,
    valid: Vec<bool>,
}

impl Column {
    fn map<T>(&self, value: impl Fn(i64) -> T) -> impl Iterator<Item = Option<T>> {
        self.integers.iter().zip(&self.valid).map(move |(&v, &valid)| valid.then(|| value(v)))
    }
}

/// Integers in a shape that some codec likes or fears.
fn integers(shape: u64, rows: usize, random: &mut SeededRandom) -> Vec<i64> {
    let constant = random.next_u64() as i64;
    let step = 1 + random.below(30);
    let mut last = constant % 1_000_000;
    let mut run = 0;
    let mut next = |row: usize| match shape {
        // Frame of reference: small, negative, large offset.
        0 => random.below(50) as i64 - 25,
        1 => 1_000_000_007 + random.below(1 << 20) as i64,
        // Outliers.
        2 => {
            if random.chance(1, 300) {
                random.next_u64() as i64
            } else {
                random.below(10) as i64
            }
        }
        // All 64 bits, and the ends of the range, where differences overflow.
        3 => random.next_u64() as i64,
        4 => [i64::MIN, i64::MAX, -1, 0, 1, i64::MIN + 1][random.below(6) as usize],
        // Delta: ascending, descending past the end.
        5 => {
            last += random.below(step) as i64;
            last
        }
        6 => {
            last = last.wrapping_sub((random.below(3) as i64) << 50);
            last
        }
        // Runs, long and short, also across vectors.
        7 | 8 => {
            if run == 0 {
                run = 1 + random.below(if shape == 7 { 3000 } else { 6 });
                last = random.below(1 << 30) as i64;
            }
            run -= 1;
            last
        }
        // Dictionary: few values, far apart.
        9 => (random.below(40) as i64).wrapping_mul(0x1234_5678_9ABC_DEF1),
        10 => constant,
        // Two values at most, in long stretches.
        _ => (row / 1500 % 2) as i64 * constant,
    };
    (0..rows).map(&mut next).collect()
}

/// A float: decimals for some seeds, everything else for others.
fn float(shape: u64, value: i64, seed: u64) -> f64 {
    match (seed % 4, shape % SHAPES) {
        // Raw bits: NaNs with payloads, subnormals, infinities.
        (0, 3) => f64::from_bits(value as u64),
        (0 | 1, 4) => [f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, 1e-320][value as u64 as usize % 6],
        (1, _) => (value % 1_000_000) as f64 / 3.0,
        (2, _) if value % 50 == 0 => [f64::NAN, -0.0, f64::NEG_INFINITY, 1e300][value as u64 as usize / 50 % 4],
        _ => (value % 10_000_000) as f64 / 100.0,
    }
}

/// Text: words, some of them not ASCII, empty strings, long strings.
fn text(value: i64, seed: u64) -> String {
    const WORDS: [&str; 12] =
        ["furiously", "final", "deposits", "", "ü", "naïve", "carefully", "日本語", "a", "requests ", "\0", "x\0y"];
    let ascii = seed.is_multiple_of(3);
    let mut random = SeededRandom::new(value as u64 ^ seed);
    let words = random.below([4, 12, 60, 2][seed as usize % 4]);
    let mut text = String::new();
    for _ in 0..words {
        let word = WORDS[random.below(WORDS.len() as u64) as usize];
        if !ascii || word.is_ascii() {
            text.push_str(word);
            text.push(' ');
        }
    }
    if seed.is_multiple_of(2) { format!("{value}{text}") } else { text }
}

/// Bytes: text as well as noise, with many 0 and 255.
fn bytes(value: i64, seed: u64) -> Vec<u8> {
    let mut random = SeededRandom::new(value as u64 ^ seed);
    if seed.is_multiple_of(2) {
        return text(value, seed).into_bytes();
    }
    (0..random.below(20)).map(|_| [0, 255, 254, 1, random.next_u64() as u8][random.below(5) as usize]).collect()
}
