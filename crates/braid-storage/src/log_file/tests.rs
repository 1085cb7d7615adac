use braid_base::Random;
use braid_testing::cases;

use super::*;

const NUMBER: u64 = 7;

/// A log with batches of these records, and room behind them.
fn log(batches: &[Vec<Vec<u8>>]) -> Vec<u8> {
    let mut log = encode_header(NUMBER);
    for records in batches {
        let offset = log.len() as u64;
        log.extend(encode_batch(NUMBER, offset, records.iter().map(Vec::as_slice)));
        log.resize(log.len().next_multiple_of(SEGMENT_ALIGN_BYTES), 0);
    }
    log.resize(log.len() + 3 * SEGMENT_ALIGN_BYTES, 0);
    log
}

fn random_batches(random: &mut impl Random) -> Vec<Vec<Vec<u8>>> {
    let mut record = || {
        let length = if random.chance(1, 5) { random.below(20_000) } else { random.below(600) };
        (0..length).map(|_| 1 + random.below(255) as u8).collect::<Vec<u8>>()
    };
    let mut batches = Vec::new();
    for count in [1, 3, 2, 5] {
        batches.push((0..count).map(|_| record()).collect());
    }
    batches
}

/// Where the batches begin, and where the last one ends.
fn starts(batches: &[Vec<Vec<u8>>]) -> Vec<usize> {
    (0..=batches.len()).map(|count| log(&batches[..count]).len() - 3 * SEGMENT_ALIGN_BYTES).collect()
}

#[test]
fn records_come_back_in_their_order() {
    for case in cases!(0..50) {
        let batches = random_batches(&mut case.random());
        let log = log(&batches);
        let contents = read_log(&log, NUMBER).unwrap();
        assert!(contents.records.iter().copied().eq(batches.iter().flatten().map(Vec::as_slice)));
        let end = *starts(&batches).last().unwrap() as u64;
        assert_eq!((contents.end, contents.is_torn), (end, false));
    }
    let empty = encode_empty_log(NUMBER);
    let expected = LogContents { records: Vec::new(), end: 4096, is_torn: false };
    assert_eq!(read_log(&empty, NUMBER), Ok(expected));
}

#[test]
fn sectors_that_were_not_written_end_the_log_before_the_last_batch() {
    for case in cases!(0..200) {
        let mut random = case.random();
        let batches = random_batches(&mut random);
        let mut log = log(&batches);
        let starts = starts(&batches);
        let [last, end] = starts[starts.len() - 2..] else { panic!("there are batches") };
        let sectors: Vec<usize> = (last..end).step_by(SECTOR_BYTES).filter(|at| !is_zero(&log[*at..][..512])).collect();
        let lost: Vec<usize> = sectors.iter().copied().filter(|_| random.chance(1, 2)).collect();
        lost.iter().for_each(|at| log[*at..][..SECTOR_BYTES].fill(0));
        let contents = read_log(&log, NUMBER).unwrap();
        let read = batches.len() - usize::from(!lost.is_empty());
        assert_eq!(contents.records.len(), batches[..read].iter().map(Vec::len).sum::<usize>());
        assert_eq!(contents.is_torn, !lost.is_empty() && lost.len() < sectors.len());
    }
}

/// Behind the last batch it is as if a batch had been begun.
#[test]
fn a_flipped_bit_in_a_batch_or_the_header_is_a_fault() {
    for case in cases!(0..300) {
        let mut random = case.random();
        let batches = random_batches(&mut random);
        let mut log = log(&batches);
        let end = *starts(&batches).last().unwrap() as u64;
        let bit = random.below(end * 8) as usize;
        log[bit / 8] ^= 1 << (bit % 8);
        match read_log(&log, NUMBER) {
            Err(LogFault::Damaged { offset, .. }) => assert!(offset as usize <= bit / 8, "{offset} for bit {bit}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_log_that_is_cut_short_or_of_another_number_or_version_is_a_fault() {
    for case in cases!(0..50) {
        let mut random = case.random();
        let batches = random_batches(&mut random);
        let whole = log(&batches);
        let end = *starts(&batches).last().unwrap();
        let cut = random.below((end + SEGMENT_ALIGN_BYTES) as u64) as usize;
        read_log(&whole[..cut], NUMBER).unwrap_err();
        read_log(&whole, NUMBER + 1).unwrap_err();
    }
    let mut other = encode_empty_log(NUMBER);
    other[8] = 2;
    assert!(read_log(&other, NUMBER).unwrap_err().to_string().contains("version is 2"));
    // A batch of another log, or at another place, is none.
    let mut moved = encode_header(NUMBER);
    moved.extend(encode_batch(NUMBER, 8192, [[1].as_slice()].into_iter()));
    moved.resize(5 * SEGMENT_ALIGN_BYTES, 0);
    read_log(&moved, NUMBER).unwrap_err();
}

#[test]
fn any_bytes_give_contents_or_a_fault() {
    for case in cases!(0..300) {
        let mut random = case.random();
        let mut log = log(&random_batches(&mut random));
        for _ in 0..random.below(20) {
            let at = random.below(log.len() as u64) as usize;
            log[at] = random.below(256) as u8;
        }
        log.truncate(random.below(log.len() as u64 + 1) as usize);
        drop(read_log(&log, NUMBER));
    }
}
