//! No bytes make the readers of key trees panic: of pages, and of headers.
//!
//! A fuzzer cannot guess checksums, so that what it makes gets the right ones: what is fuzzed is everything behind them.

#![no_main]

use braid_storage::{TREE_PAGE_BYTES, TreeHeader, TreePage, checksum};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    page(bytes);
    header(bytes);
});

fn page(bytes: &[u8]) {
    let mut page = vec![0; TREE_PAGE_BYTES];
    let count = bytes.len().min(TREE_PAGE_BYTES - 12);
    page[12..12 + count].copy_from_slice(&bytes[..count]);
    let sum = checksum(&page[8..]);
    page[..8].copy_from_slice(&sum.to_le_bytes());
    let Ok(page) = TreePage::open(page.into(), 0) else { return };
    let mut key = Vec::new();
    for at in 0..page.len() {
        page.read_key(at, &mut key);
        page.child_of(&key);
        if page.is_leaf() {
            page.place(at);
        }
    }
}

fn header(bytes: &[u8]) {
    let mut header = b"BRAIDKEY\x01\0\0\0\x02\0\0\0".to_vec();
    header.resize(24, 0);
    header.extend_from_slice(bytes);
    header.resize(2 * TREE_PAGE_BYTES, 0);
    let sum = checksum(&header[24..]);
    header[16..24].copy_from_slice(&sum.to_le_bytes());
    if let Ok(read) = TreeHeader::decode(&header) {
        assert_eq!(TreeHeader::decode(&read.encode()), Ok(read));
    }
}
