//! Which codes of an encoding are which characters, in PostgreSQL's tables, which `postgres/read_conversions.py` reads from it.
//!
//! `conversions.bin` has for each encoding:
//!
//! | width | meaning |
//! |---|---|
//! | 1 | PostgreSQL's number of the encoding |
//! | 4 | the bytes that follow, little-endian |
//! | | pairs of a code and its character |
//! | | pairs of a character and the code that it is written as, where that is not the first code of it |
//!
//! Pairs are in runs, in which both numbers grow by one: their number, then of each how much its first number is above the last one before, how
//! much the second differs from the last one before (twice, or twice less one and negative), and its length. Numbers are of 7 bits a byte, the
//! lowest first; the highest bit says that more follow. A code is its bytes as a number, but for GB18030's of four bytes, which are counted from
//! 0x10000 on; those of characters beyond 0xFFFF are computed. A table is read when it is first used.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::Encoding;

static CONVERSIONS: &[u8] = include_bytes!("../../postgres/conversions.bin");

/// Encodings that PostgreSQL has numbers for, and some to spare.
const ENCODINGS_MAX: usize = 48;

static TABLES: [OnceLock<Table>; ENCODINGS_MAX] = [const { OnceLock::new() }; ENCODINGS_MAX];

/// GB18030: what four bytes are counted from, how many there are below each byte, and the first ones of characters beyond 0xFFFF.
const COUNTED_FROM: u32 = 0x1_0000;
const FOUR_BYTES: [(u32, u32); 4] = [(0x81, 12_600), (0x30, 1260), (0x81, 10), (0x30, 1)];
const FIRST_SUPPLEMENTARY: u32 = COUNTED_FROM + (0x90 - 0x81) * 12_600;

/// The table of one encoding.
struct Table {
    characters: HashMap<u32, char>,
    codes: HashMap<char, u32>,
}

/// Whether there is a table of an encoding.
pub(super) fn has_table(encoding: Encoding) -> bool {
    section(encoding).is_some()
}

/// The character of a code.
pub(super) fn character(encoding: Encoding, code: &[u8]) -> Option<char> {
    let number = number_of(code);
    match number.checked_sub(FIRST_SUPPLEMENTARY).filter(|_| code.len() == 4 && encoding.name() == "GB18030") {
        Some(beyond) => char::from_u32(COUNTED_FROM + beyond),
        None => table(encoding)?.characters.get(&number).copied(),
    }
}

/// Appends the code of a character; false if it has none.
pub(super) fn push_code(encoding: Encoding, c: char, out: &mut Vec<u8>) -> bool {
    let is_counted = encoding.name() == "GB18030";
    let beyond = u32::from(c).checked_sub(0x1_0000).filter(|_| is_counted).map(|beyond| FIRST_SUPPLEMENTARY + beyond);
    let Some(number) = beyond.or_else(|| table(encoding)?.codes.get(&c).copied()) else { return false };
    if is_counted && number >= COUNTED_FROM {
        let mut rest = number - COUNTED_FROM;
        for (first, below) in FOUR_BYTES {
            out.push((first + rest / below) as u8);
            rest %= below;
        }
    } else {
        out.extend(number.to_be_bytes().into_iter().skip_while(|byte| *byte == 0));
    }
    true
}

fn number_of(code: &[u8]) -> u32 {
    match code {
        [_, 0x30..=0x39, _, _] => {
            let digits = code.iter().zip(FOUR_BYTES);
            COUNTED_FROM + digits.map(|(byte, (first, below))| (u32::from(*byte) - first) * below).sum::<u32>()
        }
        _ => code.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)),
    }
}

fn table(encoding: Encoding) -> Option<&'static Table> {
    let section = section(encoding)?;
    let cell = TABLES.get(usize::try_from(encoding.number()).ok()?)?;
    Some(cell.get_or_init(|| Table::read(section)))
}

/// The bytes of an encoding's table.
fn section(encoding: Encoding) -> Option<&'static [u8]> {
    let mut rest = CONVERSIONS;
    loop {
        let (number, after) = rest.split_first()?;
        let (length, after) = after.split_first_chunk::<4>()?;
        let (section, others) = after.split_at(u32::from_le_bytes(*length) as usize);
        if i32::from(*number) == encoding.number() {
            return Some(section);
        }
        rest = others;
    }
}

impl Table {
    fn read(mut section: &[u8]) -> Self {
        let mut table = Self { characters: HashMap::new(), codes: HashMap::new() };
        let character = |number: u32| char::from_u32(number).expect("the table has characters");
        take_runs(&mut section, |code, number| {
            table.characters.insert(code, character(number));
            table.codes.entry(character(number)).or_insert(code);
        });
        take_runs(&mut section, |number, code| {
            table.codes.insert(character(number), code);
        });
        table
    }
}

fn take_runs(bytes: &mut &[u8], mut pair: impl FnMut(u32, u32)) {
    let (mut first, mut second) = (0, 0);
    for _ in 0..take_number(bytes) {
        first += take_number(bytes);
        let step = take_number(bytes);
        second = if step.is_multiple_of(2) { second + step / 2 } else { second - step / 2 - 1 };
        let length = take_number(bytes);
        (0..length).for_each(|at| pair(first + at, second + at));
        (first, second) = (first + length - 1, second + length - 1);
    }
}

fn take_number(bytes: &mut &[u8]) -> u32 {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (byte, rest) = bytes.split_first().expect("the table ends with its last run");
        *bytes = rest;
        number |= u32::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those that do not, in PostgreSQL neither: 0x8EAEA1A6 and its like in EUC_TW, and characters that are written as similar ones.
    #[test]
    fn all_characters_of_all_encodings_come_back_but_few() {
        let mut others = Vec::new();
        for encoding in (0..42).filter_map(Encoding::numbered).filter(|encoding| has_table(*encoding)) {
            let comes_back = |c: &char| {
                let text = c.to_string();
                let bytes = encoding.encode(&text).unwrap();
                encoding.decode(&bytes).is_ok_and(|read| read == text)
            };
            others.push((encoding.name(), table(encoding).unwrap().codes.keys().filter(|c| !comes_back(c)).count()));
        }
        assert_eq!(others.len(), 36);
        others.retain(|(_, count)| *count > 0);
        assert_eq!(others, [("EUC_JP", 1), ("EUC_TW", 4197), ("SJIS", 8), ("GBK", 1)]);
    }
}
