//! Every parameter type in both forms: what is sent, what the engine gets, what is refused and how.

use arrow::array::Int32Array;
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use braid_base::ByteSize;

use super::super::pg_type::*;
use super::super::row_encoder::RowEncoder;
use super::*;

fn text(pg_type: PgType, text: &str) -> Result<ArrayRef, ValueError> {
    decode(pg_type.oid, Format::Text, Some(text.as_bytes()), &DataType::Null)
}

/// What the row encoder sends for a value.
fn encoded(value: &ArrayRef, format: Format) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter([("c", value.clone())]).unwrap();
    let schema: &Schema = &batch.schema();
    let mut out = Vec::new();
    RowEncoder::new(schema, &[format.code()])
        .unwrap()
        .start(&batch)
        .unwrap()
        .append(&mut out, 1, ByteSize(u64::MAX))
        .unwrap();
    out[11..].to_vec()
}

#[test]
fn what_is_printed_reads_back_in_both_forms() {
    for (pg_type, printed) in [
        (BOOL, "t"),
        (INT2, "-32768"),
        (INT4, "2147483647"),
        (INT8, "-9223372036854775808"),
        (FLOAT4, "0.1"),
        (FLOAT8, "1e+300"),
        (FLOAT8, "NaN"),
        (FLOAT8, "-Infinity"),
        (NUMERIC, "-123.4500"),
        (NUMERIC, "0.000"),
        (NUMERIC, "99999999999999999999999999999999999999"),
        (TEXT, "ä 'quoted'"),
        (VARCHAR, ""),
        (BPCHAR, "x"),
        (BYTEA, "\\x00ff"),
        (DATE, "2024-02-29"),
        (TIME, "23:59:59.999999"),
        (TIMESTAMP, "2024-02-29 12:00:00.5"),
        (TIMESTAMPTZ, "1969-07-20 20:17:40+00"),
        (INTERVAL, "1 year -2 days +00:00:03.5"),
        (UUID, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ] {
        let value = text(pg_type, printed).unwrap();
        assert_eq!(String::from_utf8(encoded(&value, Format::Text)).unwrap(), printed, "{}", pg_type.name);
        let binary = encoded(&value, Format::Binary);
        let read = decode(pg_type.oid, Format::Binary, Some(&binary), &DataType::Null).unwrap();
        assert_eq!(encoded(&read, Format::Text), printed.as_bytes(), "{} in binary", pg_type.name);
        if let Some(declared) = declared_type(pg_type.oid) {
            assert_eq!(*read.data_type(), declared);
        }
        // Every beginning of a binary value is refused or another value, never a panic.
        for length in 0..binary.len() {
            let _ = decode(pg_type.oid, Format::Binary, Some(&binary[..length]), &DataType::Null);
        }
    }
}

#[test]
fn other_spellings_are_understood() {
    for (pg_type, written, printed) in [
        (BOOL, " YES ", "t"),
        (BOOL, "of", "f"),
        (INT4, " +7 ", "7"),
        (FLOAT8, "inf", "Infinity"),
        (NUMERIC, "1.5e3", "1500"),
        (BYTEA, "a\\\\b\\001", "\\x615c6201"),
        (UUID, "{A0EEBC999C0B4EF8BB6D6BB9BD380A11}", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        (TIMESTAMPTZ, "2020-06-01T12:00:00+02", "2020-06-01 10:00:00+00"),
        (TIMESTAMP, "2020-06-01 12:00:00+02", "2020-06-01 12:00:00"),
        (DATE, "2020-06-01 12:00:00+02", "2020-06-01"),
    ] {
        let value = text(pg_type, written).unwrap();
        assert_eq!(String::from_utf8(encoded(&value, Format::Text)).unwrap(), printed, "{written}");
    }
}

#[test]
fn what_is_no_value_is_refused_with_postgresqls_sqlstate() {
    for (pg_type, written, state) in [
        (BOOL, "o", "22P02"),
        (INT4, "abc", "22P02"),
        (INT4, "", "22P02"),
        (INT4, "2147483648", "22003"),
        (INT8, "9223372036854775808", "22003"),
        (FLOAT8, "1e400", "22003"),
        (FLOAT8, "one", "22P02"),
        (NUMERIC, "1,5", "22P02"),
        (NUMERIC, "NaN", "0A000"),
        (NUMERIC, "1e40", "22003"),
        (BYTEA, "\\x0", "22P02"),
        (BYTEA, "\\9", "22P02"),
        (UUID, "a0eebc99", "22P02"),
        (DATE, "29.02.2024", "22007"),
        (DATE, "2023-02-29", "22008"),
        (TIMESTAMP, "2023-01-01 25:00:00", "22008"),
        (INTERVAL, "1 parsec", "22007"),
    ] {
        let error = text(pg_type, written).unwrap_err();
        assert_eq!(error.sqlstate(), state, "{} {written:?}: {error}", pg_type.name);
    }
    let error = decode(TEXT.oid, Format::Text, Some(&[0xC3, 0x28]), &DataType::Null).unwrap_err();
    assert_eq!(error.sqlstate(), "22021");
    let error = decode(INT4.oid, Format::Binary, Some(&[1, 2]), &DataType::Null).unwrap_err();
    assert_eq!(error.sqlstate(), "22P03");
}

#[test]
fn a_declared_type_counts_and_otherwise_the_inferred_one() {
    let decimal = DataType::Decimal128(15, 2);
    let inferred = |data_type: &DataType| ParameterType { oid: 0, data_type: Some(data_type.clone()) };
    assert_eq!(described_oid(0, &inferred(&decimal)), NUMERIC.oid);
    assert_eq!(described_oid(UNKNOWN.oid, &inferred(&DataType::Int32)), INT4.oid);
    assert_eq!(described_oid(INT8.oid, &inferred(&DataType::Int32)), INT8.oid);
    // json is a type that Arrow does not have; the engine may have it.
    assert_eq!(described_oid(114, &inferred(&DataType::Utf8View)), TEXT.oid);
    assert_eq!(described_oid(114, &ParameterType { oid: 114, data_type: None }), 114);
    assert_eq!(declared_type(NUMERIC.oid), None);
    // Nothing rounds what a client compares with.
    let value = decode(NUMERIC.oid, Format::Text, Some(b"10.125"), &decimal).unwrap();
    let expected = Decimal128Array::from(vec![10_125]).with_precision_and_scale(5, 3).unwrap();
    assert_eq!(value.as_ref(), &expected as &dyn Array);
}

#[test]
fn nulls_have_the_parameters_type() {
    let null = |pg_type: PgType, inferred| decode(pg_type.oid, Format::Binary, None, &inferred).unwrap();
    assert_eq!(null(INT4, DataType::Null).as_ref(), &Int32Array::from(vec![None]) as &dyn Array);
    let decimal = DataType::Decimal128(15, 2);
    assert_eq!(null(NUMERIC, decimal.clone()).as_ref(), new_null_array(&decimal, 1).as_ref());
}

#[test]
fn arrays_are_lists() {
    let array =
        |element: PgType, text: &str| decode(element.array_oid, Format::Text, Some(text.as_bytes()), &DataType::Null);
    for (element, written, printed) in [
        (INT4, "{1, NULL ,3}", "{1,NULL,3}"),
        (INT4, "{}", "{}"),
        (INT4, " { } ", "{}"),
        (TEXT, r#"{a,"b \"c\"",NULL,"null",x y}"#, r#"{a,"b \"c\"",NULL,"null","x y"}"#),
        (NUMERIC, "{1,2.50,NULL}", "{1.00,2.50,NULL}"),
    ] {
        let value = array(element, written).unwrap();
        assert_eq!(String::from_utf8(encoded(&value, Format::Text)).unwrap(), printed);
        let binary = encoded(&value, Format::Binary);
        let read = decode(element.array_oid, Format::Binary, Some(&binary), &DataType::Null).unwrap();
        assert_eq!(encoded(&read, Format::Text), printed.as_bytes());
        for length in 0..binary.len() {
            assert!(decode(element.array_oid, Format::Binary, Some(&binary[..length]), &DataType::Null).is_err());
        }
    }
    for written in ["", "1,2", "{1,2", "{1,,2}", "{1,}", "{{1},{2}}", "{1}x", "{\"1}"] {
        assert!(array(INT4, written).is_err(), "{written}");
    }
}
