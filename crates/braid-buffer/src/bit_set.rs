//! Sets of small numbers as bits: the chunks a scan still needs, the scans that want a chunk, the columns of a query.
//!
//! The set grows with its largest member; sets of different capacity mix freely. Set operations cost one step per 64
//! numbers, which is what keeps a scheduling decision over thousands of chunks and scans in the microseconds. The first
//! 64 numbers need no allocation: sets of columns, and of scans on a server that is not crowded.

/// A set of `usize`.
#[derive(Clone, Debug, Default)]
pub struct BitSet {
    /// Members below 64.
    first: u64,
    /// The others, 64 to a word.
    rest: Vec<u64>,
}

impl BitSet {
    /// The empty set, without an allocation.
    pub const fn new() -> Self {
        Self { first: 0, rest: Vec::new() }
    }

    fn word(&self, at: usize) -> u64 {
        if at == 0 { self.first } else { self.rest.get(at - 1).copied().unwrap_or(0) }
    }

    fn word_count(&self) -> usize {
        1 + self.rest.len()
    }

    /// Adds `member`; true if it was not there.
    pub fn insert(&mut self, member: usize) -> bool {
        let (at, bit) = (member / 64, 1 << (member % 64));
        if at > self.rest.len() {
            self.rest.resize(at, 0);
        }
        let word = if at == 0 { &mut self.first } else { &mut self.rest[at - 1] };
        let added = *word & bit == 0;
        *word |= bit;
        added
    }

    /// Takes `member` out; true if it was there.
    pub fn remove(&mut self, member: usize) -> bool {
        let (at, bit) = (member / 64, 1 << (member % 64));
        let word = if at == 0 { Some(&mut self.first) } else { self.rest.get_mut(at - 1) };
        let Some(word) = word else { return false };
        let removed = *word & bit != 0;
        *word &= !bit;
        removed
    }

    /// Adds or takes out `member`; true if that changed the set.
    pub fn set(&mut self, member: usize, present: bool) -> bool {
        if present { self.insert(member) } else { self.remove(member) }
    }

    /// Whether `member` is in the set.
    pub fn contains(&self, member: usize) -> bool {
        self.word(member / 64) & (1 << (member % 64)) != 0
    }

    /// Number of members.
    pub fn count(&self) -> usize {
        self.first.count_ones() as usize + self.rest.iter().map(|word| word.count_ones() as usize).sum::<usize>()
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.first == 0 && self.rest.iter().all(|&word| word == 0)
    }

    /// Whether the sets have a member in common.
    pub fn intersects(&self, other: &Self) -> bool {
        self.first & other.first != 0 || self.rest.iter().zip(&other.rest).any(|(a, b)| a & b != 0)
    }

    /// Number of members in common.
    pub fn count_common(&self, other: &Self) -> usize {
        let rest = self.rest.iter().zip(&other.rest).map(|(a, b)| (a & b).count_ones() as usize);
        (self.first & other.first).count_ones() as usize + rest.sum::<usize>()
    }

    /// Number of members that all three sets have.
    pub fn count_common_of_three(&self, second: &Self, third: &Self) -> usize {
        let rest = self.rest.iter().zip(&second.rest).zip(&third.rest);
        let rest = rest.map(|((a, b), c)| (a & b & c).count_ones() as usize);
        (self.first & second.first & third.first).count_ones() as usize + rest.sum::<usize>()
    }

    /// Whether the four sets have a member in common.
    pub fn intersects_all(&self, second: &Self, third: &Self, fourth: &Self) -> bool {
        let mut rest = self.rest.iter().zip(&second.rest).zip(third.rest.iter().zip(&fourth.rest));
        self.first & second.first & third.first & fourth.first != 0 || rest.any(|((a, b), (c, d))| a & b & c & d != 0)
    }

    /// Whether every member is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        (0..self.word_count()).all(|at| self.word(at) & !other.word(at) == 0)
    }

    /// Whether every member is in `first` or in `second`.
    pub fn is_subset_of_union(&self, first: &Self, second: &Self) -> bool {
        (0..self.word_count()).all(|at| self.word(at) & !(first.word(at) | second.word(at)) == 0)
    }

    /// Adds all members of `other`.
    pub fn unite(&mut self, other: &Self) {
        self.first |= other.first;
        if self.rest.len() < other.rest.len() {
            self.rest.resize(other.rest.len(), 0);
        }
        for (word, other) in self.rest.iter_mut().zip(&other.rest) {
            *word |= other;
        }
    }

    /// The smallest member that is at least `from`.
    pub fn next_from(&self, from: usize) -> Option<usize> {
        self.next_in(from, |at| self.word(at))
    }

    /// The smallest member that is at least `from` and in neither of the other sets.
    pub fn next_from_without(&self, from: usize, first: &Self, second: &Self) -> Option<usize> {
        self.next_in(from, |at| self.word(at) & !first.word(at) & !second.word(at))
    }

    /// The first member from `from` on of the set that `word_of` yields.
    fn next_in(&self, from: usize, word_of: impl Fn(usize) -> u64) -> Option<usize> {
        let start = from / 64;
        if start >= self.word_count() {
            return None;
        }
        let word = word_of(start) & (u64::MAX << (from % 64));
        if word != 0 {
            return Some(start * 64 + word.trailing_zeros() as usize);
        }
        let at = (start + 1..self.word_count()).find(|&at| word_of(at) != 0)?;
        Some(at * 64 + word_of(at).trailing_zeros() as usize)
    }

    /// The smallest member that is at least `from`, else the smallest of all: the next one going round.
    pub fn next_around(&self, from: usize) -> Option<usize> {
        self.next_from(from).or_else(|| self.next_from(0))
    }

    /// The members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.iter_from(0)
    }

    /// The members that are at least `from`, ascending.
    pub fn iter_from(&self, from: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.next_from(from), |&member| self.next_from(member + 1))
    }

    /// The members in common with `other`, ascending.
    pub fn iter_common<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = usize> + 'a {
        let common = |at: usize| self.word(at) & other.word(at);
        std::iter::successors(self.next_in(0, common), move |&member| self.next_in(member + 1, common))
    }
}

impl PartialEq for BitSet {
    fn eq(&self, other: &Self) -> bool {
        self.is_subset(other) && other.is_subset(self)
    }
}

impl Eq for BitSet {}

impl FromIterator<usize> for BitSet {
    fn from_iter<I: IntoIterator<Item = usize>>(members: I) -> Self {
        let mut set = Self::new();
        for member in members {
            set.insert(member);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use braid_base::{Random, SeededRandom};
    use braid_testing::cases;

    use super::*;

    fn random_pair(random: &mut SeededRandom) -> (BitSet, BTreeSet<usize>) {
        let bound = 1 + random.below(300);
        let members: BTreeSet<usize> = (0..random.below(100)).map(|_| random.below(bound) as usize).collect();
        (members.iter().copied().collect(), members)
    }

    #[test]
    fn it_behaves_as_a_set_does() {
        for case in cases!(0..300) {
            let mut random = case.random();
            let (mut a, mut model_a) = random_pair(&mut random);
            let (b, model_b) = random_pair(&mut random);
            let (c, model_c) = random_pair(&mut random);
            let common: Vec<usize> = model_a.intersection(&model_b).copied().collect();
            let common_of_three = common.iter().filter(|m| model_c.contains(m)).count();
            assert_eq!(a.iter_common(&b).collect::<Vec<_>>(), common);
            assert_eq!((a.count(), a.is_empty()), (model_a.len(), model_a.is_empty()));
            assert_eq!((a.count_common(&b), a.intersects(&b)), (common.len(), !common.is_empty()));
            assert_eq!(a.count_common_of_three(&b, &c), common_of_three);
            assert_eq!(a.intersects_all(&b, &c, &c), common_of_three > 0);
            assert_eq!(a.is_subset(&b), model_a.is_subset(&model_b));
            let union = &model_b | &model_c;
            assert_eq!(a.is_subset_of_union(&b, &c), model_a.is_subset(&union));
            assert_eq!(a == b, model_a == model_b);
            for from in [0, 1, 63, 64, 100, 299, 1000] {
                let next = model_a.range(from..).next().copied();
                assert_eq!(a.next_from(from), next);
                assert_eq!(a.next_around(from), next.or(model_a.first().copied()));
                let without = model_a.range(from..).find(|m| !model_b.contains(m) && !model_c.contains(m)).copied();
                assert_eq!(a.next_from_without(from, &b, &c), without);
                assert!(a.iter_from(from).eq(model_a.range(from..).copied()));
            }
            let member = random.below(400) as usize;
            assert_eq!(a.insert(member), model_a.insert(member));
            let member = random.below(400) as usize;
            assert_eq!(a.remove(member), model_a.remove(&member));
            a.unite(&b);
            assert!(a.iter().eq((&model_a | &model_b).iter().copied()));
        }
    }
}
