//! How large a function's result will be, from its arguments, before it is made.
//!
//! An upper bound wherever that is cheap. For `replace` and `regexp_replace`, whose cheap bound is far too high for most
//! arguments, occurrences are counted where it matters: a bound that is too high must not refuse what PostgreSQL answers.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type, Int64Type, IntervalMonthDayNanoType, TimestampMicrosecondType};
use braid_base::BATCH_BYTES_MAX;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::ColumnarValue;

use super::counted_array::value_bytes;
use super::growing_functions::Growth;

/// Maximum bytes of a character in UTF-8. PostgreSQL's limit on padding assumes this number for every character.
const CHARACTER_BYTES_MAX: u64 = 4;

/// Bytes that an element of a list takes in a text, beside the delimiter, where it is a number.
const NUMBER_BYTES: u64 = 40;

const US_PER_DAY: i64 = 86_400_000_000;

/// Bytes of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ResultSize {
    /// Of all rows.
    pub total: u64,
    /// Of the row that has most, as the limit on values counts them.
    pub largest: u64,
}

/// The size of the result of a call for `row_count` rows.
pub(super) fn result_size(growth: Growth, args: &[ColumnarValue], row_count: usize) -> Result<ResultSize> {
    let call = Call::new(args, row_count)?;
    let mut size = ResultSize::default();
    for row in 0..call.row_count {
        let (bytes, counted) = call.bytes(growth, row)?;
        size.total = size.total.saturating_add(bytes);
        size.largest = size.largest.max(counted);
    }
    if call.row_count < row_count {
        // A constant, which the caller may need once for each row.
        size.total = size.total.saturating_mul(row_count as u64);
    }
    Ok(size)
}

/// An argument: arrays of one row stand for constants.
struct Argument {
    array: ArrayRef,
    is_constant: bool,
    /// Bytes of an element, where it is a list.
    element_bytes: u64,
}

struct Call {
    arguments: Vec<Argument>,
    /// One where all arguments are constants.
    row_count: usize,
}

impl Call {
    fn new(args: &[ColumnarValue], row_count: usize) -> Result<Self> {
        let argument = |arg: &ColumnarValue| {
            let (array, is_constant) = match arg {
                ColumnarValue::Array(array) => (array.clone(), array.len() == 1),
                ColumnarValue::Scalar(value) => (value.to_array_of_size(1)?, true),
            };
            let element_bytes = element_bytes(&array);
            Ok(Argument { array, is_constant, element_bytes })
        };
        let arguments: Vec<Argument> = args.iter().map(argument).collect::<Result<_>>()?;
        let all_constant = args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        Ok(Self { arguments, row_count: if all_constant { row_count.min(1) } else { row_count } })
    }

    /// Bytes of one row's result, and those that the limit on values counts.
    fn bytes(&self, growth: Growth, row: usize) -> Result<(u64, u64)> {
        let length = |at: usize| self.length(at, row);
        let sum = || (0..self.arguments.len()).map(length).fold(0, u64::saturating_add);
        let bytes = match growth {
            Growth::Repeat => length(0).saturating_mul(self.count(1, row)?),
            Growth::Pad => {
                let (characters, wide) = (self.count(1, row)?, !self.is_ascii(0, row) || !self.is_ascii(2, row));
                let width = if wide { CHARACTER_BYTES_MAX } else { 1 };
                let counted = characters.saturating_mul(CHARACTER_BYTES_MAX);
                return Ok((characters.saturating_mul(width), counted));
            }
            Growth::Replace => self.replaced(row),
            Growth::RegexpReplace => self.regexp_replaced(row)?,
            Growth::Sum => sum(),
            Growth::SumWithSeparators => {
                let separators = self.arguments.len().saturating_sub(2) as u64;
                sum().saturating_add(length(0).saturating_mul(separators.saturating_sub(1)))
            }
            Growth::Times(factor) => length(0).saturating_mul(factor as u64),
            Growth::Series => 8_u64.saturating_mul(self.series_length(row)?),
            Growth::ArrayRepeat => length(0).max(8).saturating_mul(self.count(1, row)?),
            Growth::ArrayResize => {
                let element = self.element_bytes(0).max(length(2));
                length(0).saturating_add(element.saturating_mul(self.count(1, row)?))
            }
            Growth::ArrayReplace => length(0).saturating_add(self.elements(0, row).saturating_mul(length(2))),
            Growth::ArrayToString => {
                let each = NUMBER_BYTES.saturating_add(length(1)).saturating_add(length(2));
                length(0).saturating_add(self.elements(0, row).saturating_mul(each))
            }
        };
        Ok((bytes, bytes))
    }

    /// An argument's array and the place of a row in it; `None` for a null, and for an argument that is not there.
    fn value(&self, at: usize, row: usize) -> Option<(&ArrayRef, usize)> {
        let argument = self.arguments.get(at)?;
        let row = if argument.is_constant { 0 } else { row };
        (row < argument.array.len() && argument.array.is_valid(row)).then_some((&argument.array, row))
    }

    fn string(&self, at: usize, row: usize) -> Option<&[u8]> {
        let (array, row) = self.value(at, row)?;
        Some(match array.data_type() {
            DataType::Utf8View => array.as_string_view().value(row).as_bytes(),
            DataType::Utf8 => array.as_string::<i32>().value(row).as_bytes(),
            DataType::LargeUtf8 => array.as_string::<i64>().value(row).as_bytes(),
            DataType::BinaryView => array.as_binary_view().value(row),
            DataType::Binary => array.as_binary::<i32>().value(row),
            DataType::LargeBinary => array.as_binary::<i64>().value(row),
            _ => return None,
        })
    }

    /// Bytes of a value: of a text its own, of a list those of its elements, else the type's width.
    fn length(&self, at: usize, row: usize) -> u64 {
        match (self.string(at, row), self.value(at, row)) {
            (Some(string), _) => string.len() as u64,
            (None, None) => 0,
            (None, Some((array, _))) => match array.data_type() {
                DataType::List(_) => self.elements(at, row).saturating_mul(self.element_bytes(at)),
                other => other.primitive_width().unwrap_or(16) as u64,
            },
        }
    }

    fn is_ascii(&self, at: usize, row: usize) -> bool {
        self.string(at, row).is_none_or(<[u8]>::is_ascii)
    }

    fn element_bytes(&self, at: usize) -> u64 {
        self.arguments.get(at).map_or(0, |argument| argument.element_bytes)
    }

    /// Elements of a list.
    fn elements(&self, at: usize, row: usize) -> u64 {
        match self.value(at, row) {
            Some((array, row)) if matches!(array.data_type(), DataType::List(_)) => {
                u64::from(array.as_list::<i32>().value_length(row).unsigned_abs())
            }
            _ => 0,
        }
    }

    fn integer(&self, at: usize, row: usize) -> Result<Option<i64>> {
        let Some((array, row)) = self.value(at, row) else { return Ok(None) };
        let value = match array.data_type() {
            DataType::Int64 => array.clone().slice(row, 1),
            _ => cast(&array.slice(row, 1), &DataType::Int64)?,
        };
        Ok(value.is_valid(0).then(|| value.as_primitive::<Int64Type>().value(0)))
    }

    /// An argument that says how often or how long; negative ones are none.
    fn count(&self, at: usize, row: usize) -> Result<u64> {
        Ok(self.integer(at, row)?.map_or(0, |count| count.max(0) as u64))
    }

    fn replaced(&self, row: usize) -> u64 {
        let (Some(text), Some(from), Some(to)) = (self.string(0, row), self.string(1, row), self.string(2, row)) else {
            return 0;
        };
        let length = text.len() as u64;
        if from.is_empty() || to.len() <= from.len() {
            return length.saturating_mul(if from.is_empty() { to.len() as u64 + 1 } else { 1 });
        }
        let grown = |count: u64| length.saturating_add(count.saturating_mul((to.len() - from.len()) as u64));
        let bound = grown(length / from.len() as u64);
        if bound <= BATCH_BYTES_MAX as u64 { bound } else { grown(occurrences(text, from)) }
    }

    fn regexp_replaced(&self, row: usize) -> Result<u64> {
        let (Some(text), Some(to)) = (self.string(0, row), self.string(2, row)) else { return Ok(0) };
        let length = text.len() as u64;
        // What groups hold of all matches together is at most the text.
        let groups = to.windows(2).filter(|pair| pair[0] == b'\\' && pair[1] != b'\\').count() as u64;
        let grown = |count: u64| {
            let of_groups = length.saturating_mul(groups);
            length.saturating_add(of_groups).saturating_add(count.saturating_mul(to.len() as u64))
        };
        if self.string(3, row).is_none_or(|flags| !flags.contains(&b'g')) {
            return Ok(grown(1));
        }
        let bound = grown(length + 1);
        if bound <= BATCH_BYTES_MAX as u64 { Ok(bound) } else { Ok(grown(self.matches(row)?)) }
    }

    /// Matches of a regular expression in a text, counted as it is going to be replaced.
    fn matches(&self, row: usize) -> Result<u64> {
        let argument = |at: usize| self.value(at, row).map(|(array, row)| array.slice(row, 1));
        let (Some(text), Some(pattern)) = (argument(0), argument(1)) else { return Ok(0) };
        let flags: String = String::from_utf8_lossy(self.string(3, row).unwrap_or_default()).replace('g', "");
        let mut args = vec![ColumnarValue::Array(text), ColumnarValue::Array(pattern)];
        if !flags.is_empty() {
            args.extend([ScalarValue::from(1_i64), ScalarValue::from(flags.as_str())].map(ColumnarValue::Scalar));
        }
        count_matches(args)
    }

    /// Values of `generate_series`.
    fn series_length(&self, row: usize) -> Result<u64> {
        let Some((first, _)) = self.value(0, row) else { return Ok(0) };
        let (start, stop, step) = match first.data_type() {
            DataType::Date32 | DataType::Timestamp(..) => {
                (self.instant(0, row)?, self.instant(1, row)?, self.step(row))
            }
            _ => {
                // `range(stop)` begins at 0.
                let (start, stop) = if self.arguments.len() == 1 { (None, 0) } else { (Some(0), 1) };
                let start = start.map_or(Ok(Some(0)), |at| self.integer(at, row))?;
                (start, self.integer(stop, row)?, self.integer(2, row)?.or(Some(1)))
            }
        };
        let (Some(start), Some(stop), Some(step)) = (start, stop, step) else { return Ok(0) };
        let (distance, step) = (i128::from(stop) - i128::from(start), i128::from(step));
        if step == 0 || distance.signum() * step.signum() < 0 {
            return Ok(0);
        }
        Ok(u64::try_from(distance / step + 1).unwrap_or(u64::MAX))
    }

    /// Microseconds since 1970.
    fn instant(&self, at: usize, row: usize) -> Result<Option<i64>> {
        let Some((array, row)) = self.value(at, row) else { return Ok(None) };
        let value = array.slice(row, 1);
        if *array.data_type() == DataType::Date32 {
            let days = cast(&value, &DataType::Int32)?;
            return Ok(Some(i64::from(days.as_primitive::<Int32Type>().value(0)).saturating_mul(US_PER_DAY)));
        }
        let us = DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, None);
        let value = cast(&value, &us)?;
        Ok(Some(value.as_primitive::<TimestampMicrosecondType>().value(0)))
    }

    /// Microseconds of a step, a month being its shortest.
    fn step(&self, row: usize) -> Option<i64> {
        let (array, row) = self.value(2, row)?;
        let step = array.as_primitive_opt::<IntervalMonthDayNanoType>()?.value(row);
        let days = i64::from(step.months) * 28 + i64::from(step.days);
        Some(days * US_PER_DAY + step.nanoseconds / 1000)
    }
}

/// Bytes of one element of a list on average.
fn element_bytes(array: &ArrayRef) -> u64 {
    if !matches!(array.data_type(), DataType::List(_)) {
        return 0;
    }
    let values = array.as_list::<i32>().values();
    if values.is_empty() { 0 } else { value_bytes(values).div_ceil(values.len()) as u64 }
}

fn occurrences(text: &[u8], pattern: &[u8]) -> u64 {
    let (mut at, mut count) = (0, 0);
    while at + pattern.len() <= text.len() {
        if text[at..].starts_with(pattern) {
            count += 1;
            at += pattern.len();
        } else {
            at += 1;
        }
    }
    count
}

/// DataFusion's `regexp_count`, of one row.
fn count_matches(args: Vec<ColumnarValue>) -> Result<u64> {
    use std::sync::Arc;

    use arrow::datatypes::Field;
    use datafusion::logical_expr::ScalarFunctionArgs;
    let fields = args.iter().map(|arg| Arc::new(Field::new("argument", arg.data_type(), true))).collect();
    let result = datafusion::functions::regex::regexp_count().invoke_with_args(ScalarFunctionArgs {
        args,
        arg_fields: fields,
        number_rows: 1,
        return_field: Arc::new(Field::new("count", DataType::Int64, true)),
        config_options: Default::default(),
    })?;
    let counts = result.into_array(1)?;
    Ok(counts.as_primitive::<Int64Type>().value(0).max(0) as u64)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use arrow::array::{Int64Array, StringViewArray};

    fn text(value: &str) -> ColumnarValue {
        ColumnarValue::Scalar(ScalarValue::from(value))
    }

    fn int(value: i64) -> ColumnarValue {
        ColumnarValue::Scalar(ScalarValue::from(value))
    }

    fn size(growth: Growth, args: &[ColumnarValue], row_count: usize) -> (u64, u64) {
        let size = result_size(growth, args, row_count).unwrap();
        (size.total, size.largest)
    }

    #[test]
    fn sizes_are_bounds() {
        let long = "ab".repeat(BATCH_BYTES_MAX);
        let rows: ColumnarValue =
            ColumnarValue::Array(Arc::new(StringViewArray::from_iter(["abc", "", "é"].map(Some))));
        let counts = ColumnarValue::Array(Arc::new(Int64Array::from(vec![Some(10), Some(-1), None])));
        let days = |count: i32| ColumnarValue::Scalar(ScalarValue::Date32(Some(count)));
        let day = ColumnarValue::Scalar(ScalarValue::new_interval_mdn(0, 1, 0));
        for (growth, args, row_count, expected) in [
            (Growth::Repeat, vec![text("ab"), int(3)], 1, (6, 6)),
            (Growth::Repeat, vec![text("abc"), int(i64::MAX)], 1, (u64::MAX, u64::MAX)),
            (Growth::Repeat, vec![text("ab"), int(3)], 10, (60, 6)),
            (Growth::Repeat, vec![rows.clone(), counts.clone()], 3, (30, 30)),
            (Growth::Pad, vec![rows.clone(), int(5)], 3, (30, 20)),
            (Growth::Pad, vec![text("a"), int(5), text("é")], 1, (20, 20)),
            (Growth::Replace, vec![text("aXbX"), text("X"), text("long")], 1, (16, 16)),
            (Growth::Replace, vec![text(&long), text("a"), text("ccc")], 1, (4 << 20, 4 << 20)),
            (Growth::Replace, vec![text(&long), text("z"), text("ccc")], 1, (2 << 20, 2 << 20)),
            (Growth::RegexpReplace, vec![text("aXbX"), text("X"), text("yy"), text("g")], 1, (14, 14)),
            (Growth::RegexpReplace, vec![text("aXbX"), text("(X)"), text("\\1y")], 1, (11, 11)),
            (
                Growth::RegexpReplace,
                vec![text(&long), text("B"), text("yy"), text("gi")],
                1,
                ((2 << 20) + (1 << 20) * 2, (2 << 20) + (1 << 20) * 2),
            ),
            (Growth::Sum, vec![text("ab"), rows.clone()], 3, (11, 5)),
            (Growth::SumWithSeparators, vec![text(","), text("a"), text("b"), text("c")], 1, (5, 5)),
            (Growth::Times(3), vec![rows], 3, (15, 9)),
            (Growth::Series, vec![int(1), int(10)], 1, (80, 80)),
            (Growth::Series, vec![int(10), int(1)], 1, (0, 0)),
            (Growth::Series, vec![int(10), int(1), int(-3)], 1, (32, 32)),
            (Growth::Series, vec![days(0), days(30), day], 1, (248, 248)),
            (Growth::ArrayRepeat, vec![text("twelve bytes"), int(3)], 1, (36, 36)),
        ] {
            assert_eq!(size(growth, &args, row_count), expected, "{growth:?} {:?}", args.len());
        }
    }
}
