//! FSST (Boncz, Neumann, Leis: FSST: Fast Random Access String Compression, VLDB 2020): a table of up to 255 symbols
//! of 1 to 8 bytes; each string becomes a sequence of one-byte codes, where code 255 escapes a literal byte. Strings
//! are compressed one by one, so that each is decompressed alone.
//!
//! Bytes over `n` strings:
//!
//! | bytes | meaning |
//! |---|---|
//! | 1 | number of symbols s, 0 to 255 |
//! | s | length of each symbol, 1 to 8 |
//! | 8 s | bytes of each symbol, filled up with zeros |
//! | | n compressed strings: [strings](super::strings) |
//!
//! Compression is canonical: at each position the longest symbol that matches is taken, and a literal only where none
//! does. So equal strings have equal codes, and equality is tested without decompressing.
//!
//! What opening guarantees: no string ends within an escape; text is UTF-8. When all symbols and all literals are
//! ASCII (one pass over the codes, many at a time), that follows without decompressing; otherwise each string is
//! decompressed once. A code without a symbol stands for nothing.

use fsst::{Compressor, ESCAPE_CODE};

use super::frame_of_reference::PackedIntegers;
use super::strings::Strings;
use crate::sections::{SectionReader, SectionWriter, check_limit};
use crate::segment_error::{SEGMENT_BYTES_MAX, SegmentError};

/// Bytes that a symbol is stored with, and the most it stands for.
const SYMBOL_BYTES: usize = 8;

/// Codes, in bytes, up to which the room for their string is not computed but taken to be the most it can be.
const ROOM_ESTIMATED_BYTES_MAX: usize = 1 << 20;

/// Codes to symbols.
#[derive(Debug)]
pub(crate) struct SymbolTable {
    /// Little-endian bytes by code; code 255 has none.
    symbols: [u64; 256],
    /// Lengths by code; 0 for codes without a symbol.
    lengths: [u8; 256],
}

impl SymbolTable {
    fn parse(reader: &mut SectionReader) -> Result<Self, SegmentError> {
        let count = usize::from(reader.u8("the number of symbols")?);
        check_limit("the number of symbols", count as u64, u64::from(ESCAPE_CODE))?;
        let stored_lengths = reader.take("symbol lengths", count as u64)?;
        let stored_symbols = reader.u64s("symbols", count)?;
        let (mut symbols, mut lengths) = ([0; 256], [0; 256]);
        for (code, (&length, &symbol)) in stored_lengths.iter().zip(&stored_symbols).enumerate() {
            check_limit("a symbol's length", u64::from(length).wrapping_sub(1), SYMBOL_BYTES as u64 - 1)?;
            (symbols[code], lengths[code]) = (symbol, length);
        }
        Ok(Self { symbols, lengths })
    }

    /// Whether every symbol is ASCII text.
    fn is_ascii(&self) -> bool {
        let symbols = self.symbols.iter().zip(&self.lengths);
        symbols.fold(true, |ascii, (symbol, &length)| ascii & symbol.to_le_bytes()[..usize::from(length)].is_ascii())
    }

    /// Appends the string behind `codes` to `out` at `at`, which must leave room for 8 bytes a code; returns its end.
    #[inline]
    pub(crate) fn decompress(&self, codes: &[u8], out: &mut [u8], mut at: usize) -> usize {
        let mut rest = codes.iter();
        while let Some(&code) = rest.next() {
            if code == ESCAPE_CODE {
                // Opening the segment refused strings that end within an escape.
                out[at] = *rest.next().unwrap_or(&0);
                at += 1;
            } else {
                out[at..at + SYMBOL_BYTES].copy_from_slice(&self.symbols[usize::from(code)].to_le_bytes());
                at += usize::from(self.lengths[usize::from(code)]);
            }
        }
        at
    }

    /// Bytes of the string behind `codes`.
    fn decompressed_bytes(&self, codes: &[u8]) -> usize {
        let mut bytes = 0;
        let mut rest = codes.iter();
        while let Some(&code) = rest.next() {
            if code == ESCAPE_CODE {
                rest.next();
                bytes += 1;
            } else {
                bytes += usize::from(self.lengths[usize::from(code)]);
            }
        }
        bytes
    }

    /// The canonical codes of a string.
    pub(crate) fn compress(&self, mut string: &[u8]) -> Vec<u8> {
        let mut codes = Vec::with_capacity(string.len());
        while let Some(&first) = string.first() {
            let matching = |code: &usize| {
                let length = usize::from(self.lengths[*code]);
                length > 0 && string.starts_with(&self.symbols[*code].to_le_bytes()[..length])
            };
            match (0..usize::from(ESCAPE_CODE)).filter(matching).max_by_key(|&code| self.lengths[code]) {
                Some(code) => {
                    codes.push(code as u8);
                    string = &string[usize::from(self.lengths[code])..];
                }
                None => {
                    codes.extend([ESCAPE_CODE, first]);
                    string = &string[1..];
                }
            }
        }
        codes
    }
}

/// Strings compressed with FSST.
#[derive(Debug)]
pub(crate) struct FsstStrings {
    table: Box<SymbolTable>,
    codes: Strings,
}

impl FsstStrings {
    /// Reads the sections of `count` strings, which must be UTF-8 when they are `text`.
    pub(crate) fn parse(reader: &mut SectionReader, count: usize, text: bool) -> Result<Self, SegmentError> {
        let table = Box::new(SymbolTable::parse(reader)?);
        let strings = Self { table, codes: Strings::parse(reader, count)? };
        // Damaged bytes must not make a reader allocate more than an encoder can have written.
        if (strings.codes.data().len() * SYMBOL_BYTES) as u64 > SEGMENT_BYTES_MAX {
            let bytes: usize = strings.codes.iter().map(|codes| strings.table.decompressed_bytes(codes)).sum();
            check_limit("the size of the decompressed strings", bytes as u64, SEGMENT_BYTES_MAX)?;
        }
        if strings.table.is_ascii() && !has_high_literal(strings.codes.data()) {
            // Literals are below 128, so a final 255 can only be an escape.
            for codes in strings.codes.iter() {
                check_escape(codes.last() == Some(&ESCAPE_CODE))?;
            }
        } else {
            strings.check_each(text)?;
        }
        Ok(strings)
    }

    /// Decompresses each string once, to see that it can be.
    fn check_each(&self, text: bool) -> Result<(), SegmentError> {
        let mut buffer = Vec::new();
        for codes in self.codes.iter() {
            let mut rest = codes.iter();
            while let Some(&code) = rest.next() {
                check_escape(code == ESCAPE_CODE && rest.next().is_none())?;
            }
            if text {
                self.reserve_at(0, codes, &mut buffer);
                let end = self.table.decompress(codes, &mut buffer, 0);
                std::str::from_utf8(&buffer[..end])
                    .map_err(|_| SegmentError::Utf8 { section: "compressed strings" })?;
            }
        }
        Ok(())
    }

    /// Codes and symbols.
    pub(crate) fn table(&self) -> &SymbolTable {
        &self.table
    }

    /// The compressed strings.
    pub(crate) fn codes(&self) -> &Strings {
        &self.codes
    }

    /// Makes `buffer` long enough to decompress `codes` into it from `at` on.
    #[inline]
    pub(crate) fn reserve_at(&self, at: usize, codes: &[u8], buffer: &mut Vec<u8>) {
        let mut room = (codes.len() + 1) * SYMBOL_BYTES;
        if codes.len() > ROOM_ESTIMATED_BYTES_MAX {
            room = self.table.decompressed_bytes(codes) + SYMBOL_BYTES;
        }
        if buffer.len() < at + room {
            buffer.resize((at + room).max(buffer.len() * 2), 0);
        }
    }

    /// The string at `index`.
    pub(crate) fn get(&self, index: usize) -> Vec<u8> {
        let codes = self.codes.get(index);
        let mut string = Vec::new();
        self.reserve_at(0, codes, &mut string);
        let end = self.table.decompress(codes, &mut string, 0);
        string.truncate(end);
        string
    }
}

/// Whether somewhere an escape is followed by a byte above 127. Also sees pairs that are no escape (a literal 255 and
/// what follows), which then costs the careful check and nothing else.
fn has_high_literal(codes: &[u8]) -> bool {
    let pairs = codes.iter().zip(codes.get(1..).unwrap_or_default());
    // A sum of 0 and 1 without an early end is what compilers vectorise.
    let mut chunks = pairs.map(|(&code, &next)| u8::from(code == ESCAPE_CODE) & (next >> 7));
    chunks.by_ref().fold(0, |found, high| found | high) != 0
}

fn check_escape(unfinished: bool) -> Result<(), SegmentError> {
    check_limit("the number of strings that end within an escape", u64::from(unfinished), 0)
}

/// Strings compressed for writing.
pub(crate) struct CompressedStrings {
    symbols: Vec<u64>,
    symbol_lengths: Vec<u8>,
    codes: Vec<u8>,
    lengths: Vec<i64>,
}

impl CompressedStrings {
    /// Trains a symbol table on a sample of the strings and compresses them all.
    pub(crate) fn compress(strings: &Vec<&[u8]>) -> Self {
        let compressor = Compressor::train(strings);
        let (mut codes, mut ends) = (Vec::new(), Vec::with_capacity(strings.len()));
        compressor.compress_bulk_into::<{ Compressor::DEFAULT_BULK_LANES }>(strings, &mut codes, &mut ends);
        let mut start = 0;
        let lengths = ends.iter().map(|&end| (end - std::mem::replace(&mut start, end)) as i64).collect();
        Self {
            symbols: compressor.symbol_table().iter().map(|s| s.to_u64()).collect(),
            symbol_lengths: compressor.symbol_lengths().to_vec(),
            codes,
            lengths,
        }
    }

    /// Bytes that [`Self::write`] will take, padding before the sections not included.
    pub(crate) fn encoded_bytes(&self) -> usize {
        1 + self.symbols.len() * (SYMBOL_BYTES + 1) + PackedIntegers::encoded_bytes(&self.lengths) + self.codes.len()
    }

    /// Writes the sections that [`FsstStrings::parse`] reads.
    pub(crate) fn write(&self, writer: &mut SectionWriter) {
        writer.put_u8(self.symbols.len() as u8);
        writer.put(&self.symbol_lengths);
        self.symbols.iter().for_each(|&symbol| writer.put_u64(symbol));
        Strings::write(&self.lengths, &[&self.codes], writer);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    /// The strings as a segment would hold them.
    fn stored(strings: &Vec<&[u8]>, text: bool) -> FsstStrings {
        let mut writer = SectionWriter::with_capacity(0);
        let compressed = CompressedStrings::compress(strings);
        compressed.write(&mut writer);
        let bytes = writer.into_bytes();
        assert!(bytes.len() <= compressed.encoded_bytes() + 128);
        let bytes = Bytes::from_owner(braid_io::AlignedBuffer::from_slice(&bytes));
        FsstStrings::parse(&mut SectionReader::new(bytes), strings.len(), text).unwrap()
    }

    #[test]
    fn compression_is_canonical() {
        let noise = |i: u32| (0..i % 30).map(move |j| (i.wrapping_mul(2_654_435_761 + j) >> 24) as u8).collect();
        let mut owned: Vec<Vec<u8>> =
            (0..3000u32).map(|i| format!("final deposits {} sleep\0{i}", i % 17).into()).collect();
        owned.extend((0..500u32).map(noise));
        owned.extend([vec![], vec![0], vec![0, 0], vec![255], vec![255; 9], b"fin".to_vec(), b"final de".to_vec()]);
        let strings: Vec<&[u8]> = owned.iter().map(Vec::as_slice).collect();
        let column = stored(&strings, false);
        for (i, string) in strings.iter().enumerate() {
            assert_eq!(column.get(i), *string);
            assert_eq!(column.table().compress(string), column.codes().get(i), "{string:?}");
        }
    }

    #[test]
    fn text_is_checked_with_and_without_decompressing() {
        let ascii: Vec<String> = (0..200).map(|i| format!("requests sleep {i} ~")).collect();
        let other: Vec<String> = (0..200).map(|i| format!("Anträge schlafen {i} 日本")).collect();
        for (strings, is_ascii) in [(ascii, true), (other, false)] {
            let strings: Vec<&[u8]> = strings.iter().map(String::as_bytes).collect();
            let column = stored(&strings, true);
            assert_eq!(column.table().is_ascii() && !has_high_literal(column.codes().data()), is_ascii);
            assert_eq!(column.get(7), strings[7]);
        }
    }

    #[test]
    fn pairs_of_escape_and_high_byte_are_found_wherever_they_are() {
        for at in 0..99 {
            let mut codes = vec![7; 100];
            codes[at] = ESCAPE_CODE;
            assert!(!has_high_literal(&codes));
            codes[at + 1] = 0x80;
            assert!(has_high_literal(&codes));
        }
        assert!(!has_high_literal(&[]) && !has_high_literal(&[ESCAPE_CODE]));
    }
}
