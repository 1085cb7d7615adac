//! The checksum of everything Braid writes: XXH3, 64 bits.
//!
//! XXH3 runs near memory bandwidth, so that every segment is checked at every read. It guards against bad disks and
//! bugs, not against attackers: an attacker who can write the files can write matching checksums, which is why the readers
//! of segments and manifests are total on arbitrary bytes all the same.

/// XXH3-64 (seed 0) of `bytes`.
pub fn checksum(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_xxh3_with_seed_zero() {
        // The value of the empty input, from the reference implementation.
        assert_eq!(checksum(b""), 0x2D06_8005_38D3_94C2);
        assert_ne!(checksum(b"a"), checksum(b"b"));
    }
}
