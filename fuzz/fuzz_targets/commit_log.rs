//! No bytes make the reader of logs or of commit records panic, and a state that a record makes encodes to the same state.
//!
//! A fuzzer cannot guess checksums, so what it makes is also put into a batch of a log whose checksums hold.

#![no_main]

use braid_storage::{Manifest, encode_batch, encode_empty_log, read_log};
use libfuzzer_sys::fuzz_target;

const LOG: u64 = 1;
const HEADER_BYTES: usize = 4096;

fuzz_target!(|record: &[u8]| {
    let _ = read_log(record, LOG);
    let mut log = encode_empty_log(LOG);
    log.truncate(HEADER_BYTES);
    log.extend(encode_batch(LOG, HEADER_BYTES as u64, [record].into_iter()));
    log.resize(log.len().next_multiple_of(4096) + 4096, 0);
    assert_eq!(read_log(&log, LOG).map(|contents| contents.records), Ok(vec![record]));
    let mut state = Manifest::empty();
    if state.apply(record).is_ok() && state.validate().is_ok() {
        assert_eq!(Manifest::decode(&state.encode()), Ok(state));
    }
});
