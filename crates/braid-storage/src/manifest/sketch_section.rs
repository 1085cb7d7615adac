//! The sketch of a column in its table's section of the manifest (see [`crate::distinct_sketch`]): the ranks of its 1024
//! registers.
//!
//! | width | meaning |
//! |---|---|
//! | 1 | form: 0 no sketch, 1 few ranks, 2 all ranks |
//! | | form 1: 2 for the number of registers that have a rank; 2 for each of them, by ascending register: bits 0 to 5 its rank, 1 to 55, bits 6 to 15 the register |
//! | | form 2: 768: register r's rank, 0 to 55, in bits 6 r to 6 r + 5; bit b is bit b mod 8 of byte b / 8 |
//!
//! The shorter form is written, and both are read: most columns of small tables have few values.

use super::byte_reader::ByteReader;
use crate::DistinctSketch;
use crate::ManifestError;
use crate::distinct_sketch::{RANK_MAX, REGISTER_COUNT};

const NO_SKETCH: u8 = 0;
const FEW_RANKS: u8 = 1;
const ALL_RANKS: u8 = 2;

const RANK_BITS: usize = 6;
const RANK_MASK: u16 = (1 << RANK_BITS) - 1;
/// 1024 registers of 6 bits.
const ALL_RANKS_BYTES: usize = REGISTER_COUNT * RANK_BITS / 8;
/// Number of ranks from which on the form of few ranks takes no less space: 2 + 2 * 383 = 768.
const FEW_RANKS_END: usize = (ALL_RANKS_BYTES - 2) / 2;

const _: () = assert!(RANK_MAX as u16 <= RANK_MASK && REGISTER_COUNT << RANK_BITS == 1 << u16::BITS);

/// Writes what is known of a column.
pub(super) fn put_sketch(out: &mut Vec<u8>, sketch: Option<&DistinctSketch>) {
    let Some(sketch) = sketch else { return out.push(NO_SKETCH) };
    let ranks = sketch.ranks();
    let rank_count = ranks.iter().filter(|&&rank| rank > 0).count();
    if rank_count >= FEW_RANKS_END {
        out.push(ALL_RANKS);
        for group in ranks.as_chunks::<4>().0 {
            let bits = group.iter().rev().fold(0, |bits, &rank| bits << RANK_BITS | u32::from(rank));
            out.extend_from_slice(&bits.to_le_bytes()[..3]);
        }
        return;
    }
    out.push(FEW_RANKS);
    out.extend_from_slice(&(rank_count as u16).to_le_bytes());
    for (register, &rank) in ranks.iter().enumerate().filter(|(_, rank)| **rank > 0) {
        out.extend_from_slice(&((register as u16) << RANK_BITS | u16::from(rank)).to_le_bytes());
    }
}

/// Reads what is known of a column.
pub(super) fn take_sketch(reader: &mut ByteReader<'_>) -> Result<Option<DistinctSketch>, ManifestError> {
    let ranks = match reader.u8()? {
        NO_SKETCH => return Ok(None),
        FEW_RANKS => take_few_ranks(reader)?,
        ALL_RANKS => take_all_ranks(reader)?,
        other => return Err(reader.malformed(format!("a sketch has form {other}"))),
    };
    match DistinctSketch::from_ranks(ranks) {
        Some(sketch) => Ok(Some(sketch)),
        None => Err(reader.malformed(format!("a sketch has a rank above {RANK_MAX}"))),
    }
}

fn take_few_ranks(reader: &mut ByteReader<'_>) -> Result<[u8; REGISTER_COUNT], ManifestError> {
    let mut ranks = [0; REGISTER_COUNT];
    let mut next_register = 0;
    for _ in 0..reader.u16()? {
        let entry = reader.u16()?;
        let (register, rank) = (usize::from(entry >> RANK_BITS), (entry & RANK_MASK) as u8);
        if register < next_register || rank == 0 {
            return Err(reader.malformed(format!("a sketch has rank {rank} in register {register}, out of order")));
        }
        next_register = register + 1;
        ranks[register] = rank;
    }
    Ok(ranks)
}

fn take_all_ranks(reader: &mut ByteReader<'_>) -> Result<[u8; REGISTER_COUNT], ManifestError> {
    let mut ranks = [0; REGISTER_COUNT];
    let bytes = reader.take(ALL_RANKS_BYTES)?;
    for (group, bytes) in ranks.as_chunks_mut::<4>().0.iter_mut().zip(bytes.as_chunks::<3>().0) {
        let bits = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
        for (at, rank) in group.iter_mut().enumerate() {
            *rank = (bits >> (at * RANK_BITS)) as u8 & RANK_MASK as u8;
        }
    }
    Ok(ranks)
}
