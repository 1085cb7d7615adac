//! How each TPC-H column is encoded, how small it gets, and how fast it is encoded, decoded and filtered, on one core.
//!
//! `cargo run --release -p braid-storage --example codec_report [SCALE [COLUMN]]`
//!
//! Each decoded segment is compared with what went in. The last lines give the sum over all tables, with the padding
//! that segments have in files. Decoding counts the bytes of the Arrow array (a view of 16 bytes and its string for
//! text); the filter is an equality with a value that occurs for strings, and a range over half of the values for
//! everything else.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::{Duration, Instant};

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::DataType;
use braid_base::{CHUNK_ROWS, SEGMENT_ALIGN_BYTES};
use braid_storage::{Codec, ColumnPredicate, ColumnType, Scalar, Segment, Selection, encode_segment};
use bytes::Bytes;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow, SupplierArrow,
};

/// Vectors gathered at a time, as scans do: 8192 rows.
const GATHER_VECTORS: usize = 8;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let scale: f64 = arguments.next().map_or(1.0, |scale| scale.parse().expect("the scale is a number"));
    let only = arguments.next();
    let mut total = Figures::default();
    println!("{:<18} {:<20} {}", "column", "codecs", Figures::HEADINGS);
    for batches in tables(scale) {
        let mut columns: Vec<(String, Figures)> = Vec::new();
        for batch in batches {
            for (i, field) in batch.schema().fields().iter().enumerate() {
                if columns.len() == i {
                    columns.push((field.name().clone(), Figures::default()));
                }
                if only.as_ref().is_none_or(|only| only == field.name()) {
                    columns[i].1.measure(batch.column(i));
                }
            }
        }
        for (name, figures) in columns.iter().filter(|(_, figures)| figures.rows > 0) {
            println!("{name:<18} {:<20} {figures}", figures.codec_names());
            total.add(figures);
        }
    }
    println!("{:<18} {:<20} {total}", "all", "");
    println!(
        "in files, padded: {:.1} MB; encoding took {:.1} s",
        mega(total.padded_bytes),
        total.encoding.as_secs_f64()
    );
}

type Batches = Box<dyn Iterator<Item = RecordBatch>>;

fn tables(scale: f64) -> Vec<Batches> {
    macro_rules! table {
        ($arrow:ident, $generator:ident) => {
            Box::new($arrow::new($generator::new(scale, 1, 1)).with_batch_size(CHUNK_ROWS).map(|b| b.expect("a batch")))
        };
    }
    vec![
        table!(LineItemArrow, LineItemGenerator),
        table!(OrderArrow, OrderGenerator),
        table!(PartSuppArrow, PartSuppGenerator),
        table!(PartArrow, PartGenerator),
        table!(CustomerArrow, CustomerGenerator),
        table!(SupplierArrow, SupplierGenerator),
        table!(NationArrow, NationGenerator),
        table!(RegionArrow, RegionGenerator),
    ]
}

#[derive(Default)]
struct Figures {
    codecs: BTreeMap<&'static str, usize>,
    rows: usize,
    raw_bytes: usize,
    encoded_bytes: usize,
    padded_bytes: usize,
    encoding: Duration,
    opening: Duration,
    decoding: Duration,
    filtering: Duration,
}

impl Figures {
    const HEADINGS: &str = "    raw MB  enc. MB  bits/row  enc. MB/s  open GB/s  dec. GB/s  filter Mrows/s";

    fn measure(&mut self, array: &ArrayRef) {
        let column_type = column_type(array.data_type());
        let start = Instant::now();
        let encoded = encode_segment(array, column_type).expect("TPC-H rows are encoded");
        self.encoding += start.elapsed();
        let bytes = Bytes::from(encoded.bytes);
        self.rows += array.len();
        self.raw_bytes += raw_bytes(array);
        self.encoded_bytes += bytes.len();
        self.padded_bytes += bytes.len().next_multiple_of(SEGMENT_ALIGN_BYTES);
        *self.codecs.entry(name(encoded.codec)).or_default() += 1;

        let start = Instant::now();
        let segment = Segment::open(bytes, column_type).expect("what was encoded opens");
        self.opening += start.elapsed();
        self.decode(&segment, array);

        let predicate = predicate(&segment);
        let start = Instant::now();
        let prepared = segment.prepare(&predicate);
        let mut matching = 0;
        for vector in 0..segment.vector_count() {
            let mut selection = Selection::all(segment.vector_rows(vector));
            segment.filter_prepared(vector, &prepared, &mut selection);
            matching += selection.count();
        }
        self.filtering += start.elapsed();
        assert!(matching > 0, "the predicate was made from values that occur");
    }

    fn decode(&mut self, segment: &Segment, array: &ArrayRef) {
        let selections: Vec<Selection> =
            (0..segment.vector_count()).map(|vector| Selection::all(segment.vector_rows(vector))).collect();
        for first in (0..segment.vector_count()).step_by(GATHER_VECTORS) {
            let last = segment.vector_count().min(first + GATHER_VECTORS);
            let start = Instant::now();
            let gathered = segment.gather(first..last, &selections[first..last]);
            self.decoding += start.elapsed();
            assert_eq!(&gathered, &array.slice(first * braid_base::VECTOR_ROWS, gathered.len()));
        }
    }

    fn codec_names(&self) -> String {
        self.codecs.keys().copied().collect::<Vec<_>>().join("+")
    }

    fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.raw_bytes += other.raw_bytes;
        self.encoded_bytes += other.encoded_bytes;
        self.padded_bytes += other.padded_bytes;
        self.encoding += other.encoding;
        self.opening += other.opening;
        self.decoding += other.decoding;
        self.filtering += other.filtering;
    }
}

impl std::fmt::Display for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:>10.1} {:>8.2} {:>9.2} {:>10.0} {:>10.2} {:>10.2} {:>15.0}",
            mega(self.raw_bytes),
            mega(self.encoded_bytes),
            self.encoded_bytes as f64 * 8.0 / self.rows as f64,
            mega(self.raw_bytes) / self.encoding.as_secs_f64(),
            mega(self.encoded_bytes) / 1e3 / self.opening.as_secs_f64(),
            mega(self.raw_bytes) / 1e3 / self.decoding.as_secs_f64(),
            mega(self.rows) / self.filtering.as_secs_f64(),
        )
    }
}

fn mega(n: usize) -> f64 {
    n as f64 / 1e6
}

fn name(codec: Codec) -> &'static str {
    match codec {
        Codec::Constant => "constant",
        Codec::FrameOfReference => "for",
        Codec::Delta => "delta",
        Codec::Dictionary => "dictionary",
        Codec::RunLength => "run-length",
        Codec::Fsst => "fsst",
        Codec::Alp => "alp",
        Codec::Plain => "plain",
    }
}

fn column_type(data_type: &DataType) -> ColumnType {
    match data_type {
        DataType::Int32 => ColumnType::Integer,
        DataType::Int64 => ColumnType::BigInt,
        DataType::Decimal128(precision, scale) => {
            ColumnType::Numeric { precision: *precision, scale: u8::try_from(*scale).expect("a TPC-H scale is 2") }
        }
        DataType::Date32 => ColumnType::Date,
        DataType::Utf8View => ColumnType::Text,
        other => panic!("TPC-H has no {other}"),
    }
}

fn raw_bytes(array: &ArrayRef) -> usize {
    match array.data_type() {
        DataType::Utf8View => array.as_string_view().iter().flatten().map(|string| string.len() + 16).sum(),
        other => array.len() * other.primitive_width().expect("a number or a date"),
    }
}

fn predicate(segment: &Segment) -> ColumnPredicate {
    let first = segment.value(0).expect("TPC-H has no nulls");
    match (&first, segment.value(segment.row_count() / 2)) {
        (Scalar::Bytes(_), _) => ColumnPredicate::equal(first),
        (_, Some(middle)) => ColumnPredicate::Range { low: Bound::Included(middle), high: Bound::Unbounded },
        _ => unreachable!("TPC-H has no nulls"),
    }
}
