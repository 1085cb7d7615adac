//! Choices by one seeded generator.

use braid_base::{Random, SeededRandom};

/// A source of choices, determined by its seed.
#[derive(Clone, Debug)]
pub struct Draw {
    random: SeededRandom,
    /// The source of literals, if it is another one.
    literals: Option<SeededRandom>,
}

impl Draw {
    /// The choices that `seed` determines.
    pub fn new(seed: u64) -> Self {
        Self { random: SeededRandom::new(seed), literals: None }
    }

    /// As [`Self::new`], but `literals` determines the literals, so that the queries of one `seed` differ only in them.
    pub fn with_literals(seed: u64, literals: u64) -> Self {
        Self { random: SeededRandom::new(seed), literals: Some(SeededRandom::new(literals)) }
    }

    /// The source of literals in the place of this one; itself if there is no other.
    pub(super) fn for_literal<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> T {
        let Some(literals) = self.literals.take() else { return draw(self) };
        let mut source = Self { random: literals, literals: None };
        let drawn = draw(&mut source);
        self.literals = Some(source.random);
        drawn
    }

    /// A number in `0..bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.random.below((high - low) as u64 + 1) as i64
    }

    /// True in `percent` of 100 cases.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.random.chance(percent, 100)
    }

    /// One of the items. Panics without items.
    pub fn choose<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }

    /// The position of a weight. The probability of a position is proportional to its weight.
    pub fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut at = self.below(weights.iter().sum());
        for (position, weight) in weights.iter().enumerate() {
            if at < *weight {
                return position;
            }
            at -= weight;
        }
        weights.len() - 1
    }

    /// `count` distinct items in random order, or all if there are fewer.
    pub fn sample<'a, T>(&mut self, among: &'a [T], count: usize) -> Vec<&'a T> {
        let mut left: Vec<&T> = among.iter().collect();
        let mut sample = Vec::new();
        while sample.len() < count && !left.is_empty() {
            sample.push(left.swap_remove(self.below(left.len())));
        }
        sample
    }
}
