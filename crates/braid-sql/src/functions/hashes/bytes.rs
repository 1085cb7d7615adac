//! PostgreSQL's hash of bytes: Bob Jenkins' `lookup3` (2006) with PostgreSQL's start value, read as a little-endian machine does.

/// A hash of 32 bits.
pub(super) fn hash(bytes: &[u8]) -> u32 {
    state(bytes, 0).1
}

/// A hash of 64 bits that depends on a seed. Its lower half without a seed is [`hash`].
pub(super) fn hash_extended(bytes: &[u8], seed: u64) -> u64 {
    let (high, low) = state(bytes, seed);
    u64::from(high) << 32 | u64::from(low)
}

/// The second and the third word of the state in the end.
fn state(bytes: &[u8], seed: u64) -> (u32, u32) {
    // The golden ratio, the length, and a constant of PostgreSQL's.
    let start = 0x9e37_79b9_u32.wrapping_add(bytes.len() as u32).wrapping_add(3_923_095);
    let mut words = [start; 3];
    if seed != 0 {
        words[0] = words[0].wrapping_add((seed >> 32) as u32);
        words[1] = words[1].wrapping_add(seed as u32);
        mix(&mut words);
    }
    let (blocks, rest) = bytes.as_chunks::<12>();
    for block in blocks {
        add(&mut words, block);
        mix(&mut words);
    }
    // The lowest byte of the third word is kept for the length.
    let mut last = [0; 12];
    let (first, third) = rest.split_at(rest.len().min(8));
    last[..first.len()].copy_from_slice(first);
    last[9..9 + third.len()].copy_from_slice(third);
    add(&mut words, &last);
    finish(&mut words);
    (words[1], words[2])
}

fn add(words: &mut [u32; 3], block: &[u8; 12]) {
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = word.wrapping_add(u32::from_le_bytes(*bytes));
    }
}

fn mix(words: &mut [u32; 3]) {
    let [mut a, mut b, mut c] = *words;
    for (first, second, third) in [(4, 6, 8), (16, 19, 4)] {
        a = a.wrapping_sub(c) ^ c.rotate_left(first);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(second);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(third);
        b = b.wrapping_add(a);
    }
    *words = [a, b, c];
}

fn finish(words: &mut [u32; 3]) {
    let [mut a, mut b, mut c] = *words;
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    c = (c ^ b).wrapping_sub(b.rotate_left(24));
    *words = [a, b, c];
}
