//! Every Arrow type that a query can yield, as text and as binary, against what PostgreSQL sends.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::*;

use super::*;

/// Encodes one column; `None` is a null.
fn values(array: ArrayRef, format: Format) -> Result<Vec<Option<Vec<u8>>>, ValueError> {
    let batch = RecordBatch::try_from_iter([("c", array)]).unwrap();
    let encoder = RowEncoder::new(&batch.schema(), &[format.code()]).unwrap();
    let mut out = Vec::new();
    let mut cursor = encoder.start(&batch)?;
    while cursor.remaining() > 0 {
        // A buffer that is full after every row: what a slow client sees.
        let full = ByteSize(out.len() as u64 + 1);
        assert_eq!(cursor.append(&mut out, usize::MAX, full)?, 1);
    }
    let mut rows = Vec::new();
    let mut rest = out.as_slice();
    while !rest.is_empty() {
        let length = 1 + i32::from_be_bytes(rest[1..5].try_into().unwrap()) as usize;
        let (row, after) = rest.split_at(length);
        assert_eq!((row[0], &row[5..7]), (b'D', &[0, 1][..]));
        let size = i32::from_be_bytes(row[7..11].try_into().unwrap());
        assert_eq!(size.max(0) as usize, row.len() - 11);
        rows.push((size >= 0).then(|| row[11..].to_vec()));
        rest = after;
    }
    Ok(rows)
}

fn check(array: impl Array + 'static, texts: &[Option<&str>], binaries: &[Option<&[u8]>]) {
    let array: ArrayRef = Arc::new(array);
    let label = array.data_type().clone();
    let got = values(array.clone(), Format::Text).unwrap();
    let got: Vec<Option<&str>> = got.iter().map(|v| v.as_deref().map(|b| std::str::from_utf8(b).unwrap())).collect();
    assert_eq!(got, texts, "{label} as text");
    let got = values(array, Format::Binary).unwrap();
    assert_eq!(got.iter().map(Option::as_deref).collect::<Vec<_>>(), binaries, "{label} as binary");
}

#[test]
fn booleans_and_integers() {
    check(
        BooleanArray::from(vec![Some(true), None, Some(false)]),
        &[Some("t"), None, Some("f")],
        &[Some(&[1]), None, Some(&[0])],
    );
    check(Int8Array::from(vec![-1]), &[Some("-1")], &[Some(&[255, 255])]);
    check(UInt8Array::from(vec![255]), &[Some("255")], &[Some(&[0, 255])]);
    check(Int16Array::from(vec![i16::MIN]), &[Some("-32768")], &[Some(&[128, 0])]);
    check(UInt16Array::from(vec![65535]), &[Some("65535")], &[Some(&[0, 0, 255, 255])]);
    check(Int32Array::from(vec![Some(258), None]), &[Some("258"), None], &[Some(&[0, 0, 1, 2]), None]);
    check(Int64Array::from(vec![-2]), &[Some("-2")], &[Some(&[255, 255, 255, 255, 255, 255, 255, 254])]);
    check(UInt64Array::from(vec![5]), &[Some("5")], &[Some(&[0, 0, 0, 0, 0, 0, 0, 5])]);
    check(NullArray::new(2), &[None, None], &[None, None]);
}

#[test]
fn a_value_that_does_not_fit_is_an_error_and_leaves_no_bytes() {
    let error = values(Arc::new(UInt64Array::from(vec![u64::MAX])), Format::Text).unwrap_err();
    assert_eq!(error.sqlstate(), "22003");
    let batch =
        RecordBatch::try_from_iter([("c", Arc::new(Date32Array::from(vec![0, i32::MIN + 1])) as ArrayRef)]).unwrap();
    let mut out = Vec::new();
    let mut cursor = RowEncoder::new(&batch.schema(), &[1]).unwrap().start(&batch).unwrap();
    assert_eq!(cursor.append(&mut out, usize::MAX, ByteSize(u64::MAX)).unwrap_err().sqlstate(), "22003");
    assert_eq!(out.len(), 15, "one whole row and nothing of the second");
}

#[test]
fn infinite_dates_and_timestamps() {
    let texts = [Some("infinity"), Some("-infinity")];
    let (latest, earliest) = (i32::MAX.to_be_bytes(), i32::MIN.to_be_bytes());
    check(Date32Array::from(vec![i32::MAX, i32::MIN]), &texts, &[Some(&latest), Some(&earliest)]);
    let (latest, earliest) = (i64::MAX.to_be_bytes(), i64::MIN.to_be_bytes());
    check(TimestampMicrosecondArray::from(vec![i64::MAX, i64::MIN]), &texts, &[Some(&latest), Some(&earliest)]);
}

#[test]
fn floats_and_numerics() {
    check(Float32Array::from(vec![0.1]), &[Some("0.1")], &[Some(&0.1_f32.to_be_bytes())]);
    check(
        Float64Array::from(vec![f64::NAN, 1e15]),
        &[Some("NaN"), Some("1e+15")],
        &[Some(&f64::NAN.to_be_bytes()), Some(&1e15_f64.to_be_bytes())],
    );
    let binary: &[u8] = &[0, 2, 0, 0, 0x40, 0, 0, 2, 0, 123, 0x11, 0x94];
    let decimal = Decimal128Array::from(vec![Some(-12_345), None]).with_precision_and_scale(15, 2).unwrap();
    check(decimal, &[Some("-123.45"), None], &[Some(binary), None]);
    let decimal = Decimal256Array::from(vec![i256::from_i128(-12_345)]).with_precision_and_scale(50, 2).unwrap();
    check(decimal, &[Some("-123.45")], &[Some(binary)]);
    let decimal = Decimal64Array::from(vec![-12_345]).with_precision_and_scale(15, 2).unwrap();
    check(decimal, &[Some("-123.45")], &[Some(binary)]);
}

#[test]
fn texts_and_bytes() {
    let texts = &[Some("ä b"), None, Some("a string longer than twelve bytes")];
    let bytes: Vec<Option<&[u8]>> = texts.iter().map(|t| t.map(str::as_bytes)).collect();
    check(StringArray::from(texts.to_vec()), texts, &bytes);
    check(LargeStringArray::from(texts.to_vec()), texts, &bytes);
    check(StringViewArray::from(texts.to_vec()), texts, &bytes);
    let dictionary: DictionaryArray<Int8Type> = texts.iter().copied().collect();
    check(dictionary, texts, &bytes);
    let raw: Vec<Option<&[u8]>> = vec![Some(&[0, 0xAB, 255]), None, Some(&[])];
    let hex = &[Some("\\x00abff"), None, Some("\\x")];
    check(BinaryArray::from(raw.clone()), hex, &raw);
    check(LargeBinaryArray::from(raw.clone()), hex, &raw);
    check(BinaryViewArray::from(raw.clone()), hex, &raw);
    let uuid: Vec<u8> = (0..16).collect();
    let array = FixedSizeBinaryArray::try_from_iter(std::iter::once(uuid.clone())).unwrap();
    check(array, &[Some("00010203-0405-0607-0809-0a0b0c0d0e0f")], &[Some(&uuid)]);
    let array = FixedSizeBinaryArray::try_from_iter(std::iter::once(vec![1, 2])).unwrap();
    check(array, &[Some("\\x0102")], &[Some(&[1, 2])]);
}

#[test]
fn dates_and_times() {
    check(
        Date32Array::from(vec![10_957, 0]),
        &[Some("2000-01-01"), Some("1970-01-01")],
        &[Some(&0_i32.to_be_bytes()), Some(&(-10_957_i32).to_be_bytes())],
    );
    let noon = 43_200_000_000_i64;
    check(Time64MicrosecondArray::from(vec![noon + 1]), &[Some("12:00:00.000001")], &[Some(&(noon + 1).to_be_bytes())]);
    check(Time64NanosecondArray::from(vec![noon * 1000]), &[Some("12:00:00")], &[Some(&noon.to_be_bytes())]);
    check(Time32SecondArray::from(vec![43_200]), &[Some("12:00:00")], &[Some(&noon.to_be_bytes())]);
    let (seconds, text) = (946_684_801_i64, "2000-01-01 00:00:01");
    let binary = &1_000_000_i64.to_be_bytes()[..];
    check(TimestampSecondArray::from(vec![seconds]), &[Some(text)], &[Some(binary)]);
    check(TimestampMillisecondArray::from(vec![seconds * 1000]), &[Some(text)], &[Some(binary)]);
    check(TimestampMicrosecondArray::from(vec![seconds * 1_000_000]), &[Some(text)], &[Some(binary)]);
    check(TimestampNanosecondArray::from(vec![seconds * 1_000_000_000]), &[Some(text)], &[Some(binary)]);
    let zoned = TimestampMicrosecondArray::from(vec![seconds * 1_000_000]).with_timezone("Europe/Berlin");
    check(zoned, &[Some("2000-01-01 01:00:01+01")], &[Some(binary)]);
}

#[test]
fn intervals() {
    let binary = |micros: i64, days: i32, months: i32| {
        [&micros.to_be_bytes()[..], &days.to_be_bytes(), &months.to_be_bytes()].concat()
    };
    let value = IntervalMonthDayNano::new(14, -3, 3_723_000_004_000);
    check(
        IntervalMonthDayNanoArray::from(vec![value]),
        &[Some("1 year 2 mons -3 days +01:02:03.000004")],
        &[Some(&binary(3_723_000_004, -3, 14))],
    );
    check(IntervalYearMonthArray::from(vec![13]), &[Some("1 year 1 mon")], &[Some(&binary(0, 0, 13))]);
    let value = IntervalDayTime::new(2, 1500);
    check(IntervalDayTimeArray::from(vec![value]), &[Some("2 days 00:00:01.5")], &[Some(&binary(1_500_000, 2, 0))]);
    check(DurationSecondArray::from(vec![90_000]), &[Some("25:00:00")], &[Some(&binary(90_000_000_000, 0, 0))]);
}

#[test]
fn lists_are_arrays() {
    let list =
        ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None, Some(3)]), None, Some(vec![])]);
    let words = |words: &[i32]| words.iter().flat_map(|w| w.to_be_bytes()).collect::<Vec<u8>>();
    check(
        list.clone(),
        &[Some("{1,NULL,3}"), None, Some("{}")],
        &[Some(&words(&[1, 1, 23, 3, 1, 4, 1, -1, 4, 3])), None, Some(&words(&[0, 0, 23]))],
    );
    // A slice starts within the values.
    check(list.slice(2, 1), &[Some("{}")], &[Some(&words(&[0, 0, 23]))]);

    let texts = StringViewArray::from(vec!["", "null", "a b", "q\"\\", "{x,y}", "plain"]);
    let item = Arc::new(Field::new("item", DataType::Utf8View, true));
    let list = LargeListArray::new(item.clone(), OffsetBuffer::from_lengths([6]), Arc::new(texts.clone()), None);
    let got = values(Arc::new(list), Format::Text).unwrap();
    assert_eq!(got[0].as_deref().unwrap(), br#"{"","null","a b","q\"\\","{x,y}",plain}"#);
    let pairs = FixedSizeListArray::new(item, 2, Arc::new(texts), None);
    let got = values(Arc::new(pairs.slice(2, 1)), Format::Text).unwrap();
    assert_eq!(got[0].as_deref().unwrap(), br#"{"{x,y}",plain}"#);
}

#[test]
fn lists_of_lists_are_dimensions() {
    let nested = |lengths: [usize; 2]| {
        let inner = Arc::new(Field::new("item", DataType::Int16, true));
        let values = Arc::new(Int16Array::from_iter_values(0..(lengths[0] + lengths[1]) as i16));
        let lists = ListArray::new(inner, OffsetBuffer::from_lengths(lengths), values, None);
        let outer = Arc::new(Field::new("item", lists.data_type().clone(), true));
        Arc::new(ListArray::new(outer, OffsetBuffer::from_lengths([2]), Arc::new(lists), None)) as ArrayRef
    };
    assert_eq!(values(nested([2, 2]), Format::Text).unwrap()[0].as_deref().unwrap(), b"{{0,1},{2,3}}");
    let binary = values(nested([1, 1]), Format::Binary).unwrap()[0].clone().unwrap();
    let header: Vec<i32> = binary[..28].chunks(4).map(|w| i32::from_be_bytes(w.try_into().unwrap())).collect();
    assert_eq!(header, [2, 0, 21, 2, 1, 1, 1]);
    assert_eq!(binary[28..], [0, 0, 0, 2, 0, 0, 0, 0, 0, 2, 0, 1]);
    assert_eq!(values(nested([1, 2]), Format::Binary).unwrap_err().sqlstate(), "2202E");
}

#[test]
fn structs_are_records() {
    let array = StructArray::from(vec![
        (Arc::new(Field::new("a", DataType::Int32, true)), Arc::new(Int32Array::from(vec![Some(1), None])) as ArrayRef),
        (Arc::new(Field::new("b", DataType::Utf8, true)), Arc::new(StringArray::from(vec!["x \"y", ""])) as ArrayRef),
    ]);
    let array: ArrayRef = Arc::new(array);
    let got = values(array.clone(), Format::Text).unwrap();
    assert_eq!(got[0].as_deref().unwrap(), br#"(1,"x ""y")"#);
    assert_eq!(got[1].as_deref().unwrap(), br#"(,"")"#);
    let got = values(array, Format::Binary).unwrap();
    assert_eq!(got[1].as_deref().unwrap(), [0, 0, 0, 2, 0, 0, 0, 23, 255, 255, 255, 255, 0, 0, 0, 25, 0, 0, 0, 0],);
}

#[test]
fn the_description_names_types_and_formats() {
    let schema = Schema::new(vec![
        Field::new("a", DataType::Decimal128(15, 2), true),
        Field::new("b", DataType::Utf8View, true),
    ]);
    let fields = RowEncoder::new(&schema, &[0, 1]).unwrap().description().fields;
    let described: Vec<_> =
        fields.iter().map(|f| (f.name.as_str(), f.type_id, f.type_modifier, f.format_code)).collect();
    assert_eq!(described, [("a", 1700, 983_046, 0), ("b", 25, -1, 1)]);
    assert!(RowEncoder::new(&schema, &[0, 1, 0]).is_none());
}

#[test]
fn a_batch_of_another_type_is_cast_to_what_was_described() {
    let described = Schema::new(vec![Field::new("a", DataType::Int64, true)]);
    let batch = RecordBatch::try_from_iter([("a", Arc::new(Int32Array::from(vec![7])) as ArrayRef)]).unwrap();
    let mut out = Vec::new();
    let mut cursor = RowEncoder::new(&described, &[1]).unwrap().start(&batch).unwrap();
    cursor.append(&mut out, 1, ByteSize(u64::MAX)).unwrap();
    assert_eq!(out[7..], [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7]);
}
