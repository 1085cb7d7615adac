//! No bytes make the manifest's reader panic, and what it accepts encodes to something it accepts as the same.
//!
//! A fuzzer cannot guess checksums, so the target puts the right magic, version, length and checksum in front of
//! whatever it is given, for each version: what is fuzzed is everything behind them.

#![no_main]

use braid_storage::manifest::{FORMAT_VERSION, FORMAT_VERSION_OLDEST};
use braid_storage::{Manifest, checksum};
use libfuzzer_sys::fuzz_target;

const CHECKED_FROM: usize = 24;
const BODY_FROM: usize = 32;

fuzz_target!(|body: &[u8]| {
    let _ = Manifest::decode(body);
    for version in FORMAT_VERSION_OLDEST..=FORMAT_VERSION {
        decode(version, body);
    }
});

fn decode(version: u32, body: &[u8]) {
    let mut bytes = Vec::with_capacity(BODY_FROM + body.len());
    bytes.extend_from_slice(b"BRAIDMAN");
    bytes.extend_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(&[0; 12]);
    bytes.extend_from_slice(&((BODY_FROM + body.len()) as u64).to_le_bytes());
    bytes.extend_from_slice(body);
    let sum = checksum(&bytes[CHECKED_FROM..]);
    bytes[16..CHECKED_FROM].copy_from_slice(&sum.to_le_bytes());
    if let Ok(manifest) = Manifest::decode(&bytes) {
        assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest));
    }
}
