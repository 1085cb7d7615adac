//! Damaged bytes: a short relative of a fuzzer, for ordinary tests of everything that decodes.

use std::path::{Path, PathBuf};

use braid_base::Random;

/// What decoders stumble over: bounds of widths and signs.
const EDGES: [u64; 10] = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF];

/// The seeds of a fuzz target, `fuzz/seeds/NAME` of the workspace. Panics if there are none.
pub fn corpus(target: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let entries = std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} is empty", directory.display());
    paths.iter().map(|path| std::fs::read(path).expect("a seed can be read")).collect()
}

/// Bytes of `corpus` after one to eight changes, sometimes none, or bytes without any form. Panics if the corpus is empty.
pub fn mutated(corpus: &[Vec<u8>], random: &mut impl Random) -> Vec<u8> {
    let pick = |random: &mut dyn Random| corpus[random.below(corpus.len() as u64) as usize].clone();
    if random.chance(1, 16) {
        let length = random.below(64);
        return (0..length).map(|_| random.next_u64() as u8).collect();
    }
    let mut bytes = pick(random);
    for _ in 0..random.below(9) {
        let other = pick(random);
        change(&mut bytes, &other, random);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, other: &[u8], random: &mut dyn Random) {
    let at = random.below(bytes.len() as u64 + 1) as usize;
    match random.below(7) {
        0 => bytes.truncate(at),
        1 => bytes.insert(at, random.next_u64() as u8),
        2 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        3 if at < bytes.len() => drop(bytes.remove(at)),
        4 => overwrite_number(bytes, at, random),
        5 => {
            let end = (at + random.below(32) as usize).min(bytes.len());
            let piece = bytes[at..end].to_vec();
            bytes.splice(at..at, piece);
        }
        6 => {
            let from = random.below(other.len() as u64 + 1) as usize;
            bytes.truncate(at);
            bytes.extend(&other[from..]);
        }
        _ => bytes.push(0),
    }
}

/// An edge in one of the widths and byte orders that numbers have.
fn overwrite_number(bytes: &mut [u8], at: usize, random: &mut dyn Random) {
    let edge = EDGES[random.below(EDGES.len() as u64) as usize].wrapping_add(random.below(3)).wrapping_sub(1);
    let width = 1 << random.below(4);
    let mut number = edge.to_le_bytes()[..width].to_vec();
    if random.chance(1, 2) {
        number.reverse();
    }
    for (byte, new) in bytes.iter_mut().skip(at).zip(number) {
        *byte = new;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn mutations_differ_and_some_leave_the_bytes() {
        let corpus = [b"the first".to_vec(), b"another one, a longer one".to_vec(), Vec::new()];
        let mut found = BTreeSet::new();
        for case in crate::cases!(0..1000) {
            found.insert(mutated(&corpus, &mut case.random()));
        }
        assert!(corpus.iter().all(|bytes| found.contains(bytes)));
        assert!(found.len() > 700, "{}", found.len());
    }
}
