//! The entry of the fuzz target for blocks of temporary files. The fuzzer provides the bytes behind the header.
//!
//! The header is always right, because a fuzzer cannot guess a checksum, and because a reader knows the numbers of rows and
//! columns of a block.

use braid_storage::checksum::checksum;

use super::row_block::{BlockShape, CHECKSUM_BYTES, decode, encode};

/// Maximum rows and columns of a block. They and its length bound the memory that a broken block can take.
const ROWS_MAX: u16 = 2048;
const COLUMNS_MAX: u8 = 16;

/// Reads `data` as a block. Reading must return an error, or rows that are the same after they are written and read again;
/// otherwise it panics.
///
/// The first two bytes are the number of rows, the third is that of columns.
pub fn fuzz_spill_block(data: &[u8]) {
    let Some(([low, high, columns], rest)) = data.split_first_chunk() else { return };
    let row_count = usize::from(u16::from_le_bytes([*low, *high]) % ROWS_MAX);
    let shape = BlockShape { row_count, column_count: usize::from(columns % COLUMNS_MAX) };
    drop(decode(data, shape));
    let counts = [shape.row_count as u32, shape.column_count as u32].map(u32::to_le_bytes).concat();
    let body = [&counts, rest].concat();
    let block = [&checksum(&body).to_le_bytes()[..], &body].concat();
    assert_eq!(block.len(), CHECKSUM_BYTES + body.len());
    let Ok(columns) = decode(&block, shape) else { return };
    assert_eq!(columns.len(), shape.column_count);
    assert!(columns.iter().all(|column| column.len() == shape.row_count));
    let values = |row: usize| columns.iter().map(|column| format!("{:?}", column.value(row))).collect::<Vec<_>>();
    let again = decode(&encode(shape.row_count, columns.iter()), shape).expect("what was read can be written");
    for row in 0..shape.row_count {
        let found: Vec<String> = again.iter().map(|column| format!("{:?}", column.value(row))).collect();
        assert_eq!(found, values(row), "row {row}");
    }
    let other = BlockShape { row_count: shape.row_count + 1, ..shape };
    assert!(decode(&block, other).is_err(), "a block of another number of rows");
}

#[cfg(test)]
mod tests {
    use braid_testing::cases;
    use braid_testing::mutation::{corpus, mutated};

    use super::*;

    #[test]
    fn mutated_blocks_are_read_or_refused() {
        let corpus = corpus("spill_block");
        corpus.iter().for_each(|data| fuzz_spill_block(data));
        for case in cases!(0..20_000) {
            fuzz_spill_block(&mutated(&corpus, &mut case.random()));
        }
    }
}
