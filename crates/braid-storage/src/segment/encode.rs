//! Rows to segments: the codecs are measured, the smallest result is kept.
//!
//! Integers: exact sizes are computed before anything is packed. Floats: ALP against the integer codecs over the
//! floats' bits. Strings: the dictionary, cut short when it grows beyond what plain strings take; FSST, unless the
//! dictionary is so small that not even its highest ratio of 8 could beat it.
//!
//! Encoded numerics: integers if all have one scale ([`super::encoded_numerics`]).
//!
//! The sketch of distinct values is made of the dictionary's values, even if the dictionary is not used, and otherwise of all
//! rows, with equal neighbours hashed once.

use arrow::array::Array;
use braid_base::{CHUNK_ROWS, VECTOR_ROWS};
use bytes::Bytes;

use super::body::Constant;
use super::bounds::zone_map;
use super::column_values::ColumnValues;
use super::encoded_numerics::integers_of;
use super::header::{self, Header};
use super::string_column::StringDictionary;
use super::{SEGMENT_BYTES_MAX, SegmentError};
use crate::codec::alp::{EncodedFloats, Float};
use crate::codec::dictionary::Dictionary;
use crate::codec::fsst::CompressedStrings;
use crate::codec::integers::IntegerChoice;
use crate::codec::sixteen_bytes::SixteenBytes;
use crate::codec::strings::Strings;
use crate::codec::{Codec, bitmap};
use crate::sections::SectionWriter;
use crate::{ColumnType, CommonScale, DistinctSketch, PhysicalType, ZoneMap, checksum};

/// Strings sampled to see whether a dictionary is worth building.
const DICTIONARY_SAMPLE_ROWS: usize = 2048;

/// A segment ready to be written.
#[derive(Clone, Debug)]
pub struct EncodedSegment {
    /// The segment's bytes, without padding.
    pub bytes: Vec<u8>,
    /// Bounds and null count.
    pub zone_map: ZoneMap,
    /// XXH3-64 of `bytes`.
    pub checksum: u64,
    /// The scale of encoded numerics that are stored as integers.
    pub scale: Option<u8>,
    /// The codec that won.
    pub codec: Codec,
    /// The values that are not null.
    pub distinct: DistinctSketch,
}

/// Encodes `array` with the codec that makes it smallest.
///
/// # Errors
/// When the array is not of the column's Arrow type, has no rows or more than [`CHUNK_ROWS`], holds a numeric that the
/// column cannot hold, or its values take more than [`SEGMENT_BYTES_MAX`] bytes.
pub fn encode_segment(array: &dyn Array, column_type: ColumnType) -> Result<EncodedSegment, SegmentError> {
    if *array.data_type() != column_type.arrow() {
        let (expected, found) = (column_type.arrow(), array.data_type().clone());
        return Err(SegmentError::ArrowType { column_type, expected, found });
    }
    let row_count = array.len();
    if row_count == 0 || row_count > CHUNK_ROWS {
        return Err(SegmentError::RowCount { rows: row_count, limit: CHUNK_ROWS });
    }
    match column_type.is_encoded_numeric().then(|| integers_of(array)).flatten() {
        Some((integers, scale)) => {
            let encoded = encode_rows(&integers, CommonScale::stored_type(scale))?;
            Ok(EncodedSegment { scale: Some(scale), ..encoded })
        }
        None => encode_rows(array, column_type),
    }
}

/// Encodes rows of the column's Arrow type, of which there are a chunk's.
fn encode_rows(array: &dyn Array, column_type: ColumnType) -> Result<EncodedSegment, SegmentError> {
    let (row_count, physical) = (array.len(), column_type.physical());
    let null_count = array.logical_null_count();
    let mut encoder = Encoder::new(row_count, null_count, physical);
    let zone_map = if null_count == row_count {
        encoder.nulls()
    } else {
        if let Some(nulls) = array.logical_nulls().filter(|_| null_count > 0) {
            encoder.nulls = nulls.iter().map(|valid| !valid).collect();
            encoder.header.validity = Some(Bytes::from(bitmap::from_bits(nulls.iter())));
        }
        let values = ColumnValues::of(array, column_type)?;
        let zone_map = zone_map(&values, physical, null_count);
        encoder.encode(&values, column_type)?;
        zone_map
    };
    Ok(encoder.finish(zone_map))
}

/// A segment in the making.
pub(super) struct Encoder {
    header: Header,
    physical: PhysicalType,
    /// Which rows are null; empty when none is.
    nulls: Vec<bool>,
    writer: SectionWriter,
    distinct: DistinctSketch,
}

impl Encoder {
    /// An encoder of values of which some rows may be null.
    pub(super) fn new(row_count: usize, null_count: usize, physical: PhysicalType) -> Self {
        let header = Header { codec: Codec::Constant, row_count, null_count, narrowed: false, validity: None };
        let writer = SectionWriter::with_capacity(row_count);
        Self { header, physical, nulls: Vec::new(), writer, distinct: DistinctSketch::empty() }
    }

    /// The segment.
    pub(super) fn finish(self, zone_map: ZoneMap) -> EncodedSegment {
        let (codec, distinct) = (self.header.codec, self.distinct);
        let bytes = header::finish(self.writer);
        EncodedSegment { checksum: checksum(&bytes), bytes, zone_map, scale: None, codec, distinct }
    }

    /// Writes nulls only; returns what is known of them.
    pub(super) fn nulls(&mut self) -> ZoneMap {
        self.constant(&Constant::Null);
        ZoneMap { min: None, max: None, null_count: self.header.null_count as u32, exact: false }
    }

    /// Writes values. One value stands for rows that all have it.
    pub(super) fn encode(&mut self, values: &ColumnValues<'_>, column_type: ColumnType) -> Result<(), SegmentError> {
        match values {
            ColumnValues::Bits(bits) => self.bits(bits),
            ColumnValues::Integers(integers) => {
                self.header.narrowed = self.physical == PhysicalType::Int128;
                self.integers(integers);
            }
            ColumnValues::SixteenBytes(values) => self.sixteen_bytes(values),
            ColumnValues::Floats32(floats) => self.floats(floats),
            ColumnValues::Floats64(floats) => self.floats(floats),
            ColumnValues::Strings(strings) => return self.strings(strings, column_type),
        }
        Ok(())
    }

    /// Writes the header. The codec's sections follow.
    fn begin(&mut self, codec: Codec) -> &mut SectionWriter {
        self.header.codec = codec;
        self.header.write(self.physical, &mut self.writer);
        &mut self.writer
    }

    fn constant(&mut self, constant: &Constant) {
        constant.write(self.begin(Codec::Constant));
    }

    fn bits(&mut self, bits: &[bool]) {
        for value in [false, true].into_iter().filter(|value| bits.contains(value)) {
            self.distinct.insert_integers(&[i64::from(value)]);
        }
        if bits.iter().all(|&bit| bit == bits[0]) {
            return self.constant(&Constant::Integer(i64::from(bits[0])));
        }
        self.begin(Codec::Plain).put(&bitmap::from_bits(bits.iter().copied()));
    }

    fn integers(&mut self, values: &[i64]) {
        if values.iter().all(|&value| value == values[0]) {
            self.distinct.insert_integers(&values[..1]);
            return self.constant(&Constant::Integer(values[0]));
        }
        let choice = IntegerChoice::measure(values);
        self.distinct.insert_integers(choice.occurring_values());
        choice.write(self.begin(choice.codec()));
    }

    fn sixteen_bytes(&mut self, values: &[i128]) {
        if values.iter().all(|&value| value == values[0]) {
            self.distinct.insert_sixteen_bytes(&values[..1]);
            return self.constant(&Constant::SixteenBytes(values[0]));
        }
        let dictionary = SixteenBytes::dictionary_of(values);
        self.distinct.insert_sixteen_bytes(dictionary.as_ref().map_or(values, |dictionary| &dictionary.values));
        let codec = if dictionary.is_some() { Codec::Dictionary } else { Codec::Plain };
        SixteenBytes::write(values, dictionary.as_ref(), self.begin(codec));
    }

    fn floats<F: Float>(&mut self, values: &[F]) {
        let bits: Vec<i64> = values.iter().map(|value| value.bits()).collect();
        if bits.iter().all(|&value| value == bits[0]) {
            self.distinct.insert_integers(&bits[..1]);
            return self.constant(&Constant::Integer(bits[0]));
        }
        let alp = EncodedFloats::encode(values);
        let integers = IntegerChoice::measure(&bits);
        self.distinct.insert_integers(integers.occurring_values());
        if alp.encoded_bytes() < integers.encoded_bytes() {
            alp.write(self.begin(Codec::Alp));
        } else {
            integers.write(self.begin(integers.codec()));
        }
    }

    fn strings(&mut self, strings: &[&[u8]], column_type: ColumnType) -> Result<(), SegmentError> {
        // One by one, the string of a null is empty; a dictionary has its code already.
        let stored: Vec<&[u8]> = match self.nulls.is_empty() {
            true => strings.to_vec(),
            false => strings.iter().zip(&self.nulls).map(|(&string, &null)| if null { &[] } else { string }).collect(),
        };
        let bytes: u64 = stored.iter().map(|string| string.len() as u64).sum();
        if bytes > SEGMENT_BYTES_MAX {
            return Err(SegmentError::TooLarge { bytes, limit: SEGMENT_BYTES_MAX });
        }
        if strings.iter().all(|&string| string == strings[0]) {
            self.distinct.insert_strings(&strings[..1]);
            self.constant(&Constant::Bytes(strings[0].to_vec()));
            return Ok(());
        }
        let lengths: Vec<i64> = stored.iter().map(|string| string.len() as i64).collect();
        let plain_bytes = Strings::encoded_bytes(&lengths);
        let dictionary = build_dictionary(strings, plain_bytes);
        self.distinct.insert_strings(dictionary.as_ref().map_or(strings, |dictionary| &dictionary.values));
        let dictionary_bytes = dictionary.as_ref().map_or(usize::MAX, StringDictionary::encoded_bytes);
        let best_bytes = plain_bytes.min(dictionary_bytes);
        // Uuids have no substrings in common.
        if column_type != ColumnType::Uuid && best_bytes > plain_bytes / 8 {
            let compressed = CompressedStrings::compress(&stored);
            // Decompressing costs more than looking up: it must save a sixteenth.
            if compressed.encoded_bytes() < best_bytes - best_bytes / 16 {
                compressed.write(self.begin(Codec::Fsst));
                return Ok(());
            }
        }
        match dictionary.filter(|_| dictionary_bytes < plain_bytes) {
            Some(dictionary) => StringDictionary::write(&dictionary, self.begin(Codec::Dictionary)),
            None => Strings::write(&lengths, &stored, self.begin(Codec::Plain)),
        }
        Ok(())
    }
}

/// A dictionary of the strings, unless a sample or its size says that it is not worth it.
fn build_dictionary<'a>(strings: &[&'a [u8]], bytes_max: usize) -> Option<Dictionary<&'a [u8]>> {
    if strings.len() > 2 * DICTIONARY_SAMPLE_ROWS {
        // Short runs spread over the segment: neighbours are often equal in sorted columns.
        let run = VECTOR_ROWS / 16;
        let step = strings.len() / (DICTIONARY_SAMPLE_ROWS / run);
        let sample: Vec<&[u8]> =
            strings.chunks(step).flat_map(|chunk| &chunk[..run.min(chunk.len())]).copied().collect();
        let distinct = Dictionary::build(&sample, usize::MAX, |string| string.len())?;
        // 98 % different: of d values drawn alike, 2048 draws meet d (1 - e^(-2048 / d)), so d is above 50 000.
        if distinct.values.len() > sample.len() - sample.len() / 50 {
            return None;
        }
    }
    Dictionary::build(strings, bytes_max, |string| string.len() + 1)
}
