//! Randomness as a trait, and a seeded generator small enough to read: any failing run can be replayed from its seed.
//!
//! Not for secrets: passwords and nonces come from the TLS library's generator.

/// A source of uniformly distributed bits.
pub trait Random: Send {
    /// The next 64 bits.
    fn next_u64(&mut self) -> u64;

    /// A number in `0..bound`. Panics if `bound` is 0.
    ///
    /// Lemire's multiply-shift; the bias is below `bound / 2^64` and of no consequence to simulations.
    fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "an empty range has no random member");
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// True with probability `numerator / denominator`.
    fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }
}

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): one addition and three mixing steps a number; any seed is a good one.
#[derive(Clone, Debug)]
pub struct SeededRandom {
    state: u64,
}

impl SeededRandom {
    /// A generator whose whole sequence is determined by `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }
}

impl Random for SeededRandom {
    fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_sequences() {
        let (mut a, mut b) = (SeededRandom::new(7), SeededRandom::new(7));
        assert!((0..100).all(|_| a.next_u64() == b.next_u64()));
        // First value of SplitMix64 for seed 0, from the reference implementation.
        assert_eq!(SeededRandom::new(0).next_u64(), 0xE220_A839_7B1D_CDAF);
    }

    #[test]
    fn below_stays_below_and_reaches_every_value() {
        let mut random = SeededRandom::new(1);
        let mut seen = [false; 10];
        for _ in 0..1000 {
            seen[random.below(10) as usize] = true;
        }
        assert_eq!(seen, [true; 10]);
    }
}
