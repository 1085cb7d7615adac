//! The bits of queries in the words that rows carry.
//!
//! The queries of one template are divided into *branches* of at most 64 queries. The bits of a branch lie in one word, so that
//! a fork tests one word for each branch, and a branch's bits are the key of its query sets.

use braid_exec::QueryNumber;

use crate::workloads::star::StarQuery;

/// Bits of a word.
pub const WORD_BITS: usize = 64;

/// How branches are placed in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Each branch has a word of its own, whatever the number of its queries.
    OwnWords,
    /// Branches share words as far as their queries fit.
    SharedWords,
}

/// Some queries of one template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The statement type.
    pub number: usize,
    /// Its queries: positions among the distinct queries of the pass.
    pub queries: Vec<usize>,
    /// The word that has its bits.
    pub word: usize,
    /// The first of its bits. Its queries have consecutive bits.
    pub shift: u32,
}

impl Branch {
    /// All its queries, shifted to the lowest bits.
    pub fn all(&self) -> u64 {
        u64::MAX >> (WORD_BITS - self.queries.len())
    }

    /// All its queries, in its word.
    pub fn mask(&self) -> u64 {
        self.all() << self.shift
    }
}

/// The words of a pass.
#[derive(Clone, Debug)]
pub struct QueryLayout {
    /// The branches, ascending by type.
    pub branches: Vec<Branch>,
    /// The bits of each word that have a query.
    pub used: Vec<u64>,
}

impl QueryLayout {
    /// The layout for distinct queries, ascending by type.
    pub fn new(queries: &[StarQuery], placement: Placement) -> Self {
        let mut layout = Self { branches: Vec::new(), used: Vec::new() };
        let mut free: Vec<usize> = Vec::new();
        let mut first = 0;
        for of_type in queries.chunk_by(|a, b| a.number == b.number) {
            for part in of_type.chunks(WORD_BITS) {
                let fits = |free: &usize| placement == Placement::SharedWords && *free >= part.len();
                let word = free.iter().position(fits).unwrap_or_else(|| {
                    free.push(WORD_BITS);
                    layout.used.push(0);
                    free.len() - 1
                });
                let shift = (WORD_BITS - free[word]) as u32;
                free[word] -= part.len();
                let queries = (first..first + part.len()).collect();
                first += part.len();
                let branch = Branch { number: part[0].number, queries, word, shift };
                layout.used[word] |= branch.mask();
                layout.branches.push(branch);
            }
        }
        layout
    }

    /// Number of bits of a row, used or not: the number of queries of sets over them.
    pub fn bit_count(&self) -> usize {
        self.used.len() * WORD_BITS
    }

    /// The bit of each distinct query.
    pub fn bits(&self) -> impl Iterator<Item = (usize, QueryNumber)> {
        self.branches.iter().flat_map(|branch| {
            let first = branch.word * WORD_BITS + branch.shift as usize;
            branch.queries.iter().enumerate().map(move |(at, query)| (*query, QueryNumber::at(first + at)))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn queries(counts: &[usize]) -> Vec<StarQuery> {
        let of_type = |(number, count): (usize, &usize)| vec![StarQuery { number, conditions: Vec::new() }; *count];
        counts.iter().enumerate().flat_map(of_type).collect()
    }

    fn check(counts: &[usize], placement: Placement, expected: &[(usize, usize, u32, usize)]) {
        let queries = queries(counts);
        let layout = QueryLayout::new(&queries, placement);
        let found: Vec<_> = layout
            .branches
            .iter()
            .map(|branch| (branch.number, branch.word, branch.shift, branch.queries.len()))
            .collect();
        assert_eq!(found, expected);
        let bits: BTreeSet<QueryNumber> = layout.bits().map(|(_, bit)| bit).collect();
        assert_eq!(bits.len(), queries.len(), "each query has a bit of its own");
        assert!(bits.iter().all(|bit| layout.used[bit.index() / 64] >> (bit.index() % 64) & 1 == 1));
        assert!(layout.bits().map(|(query, _)| query).eq(0..queries.len()));
    }

    #[test]
    fn branches_have_words_of_their_own_or_share_them() {
        check(&[3, 0, 65], Placement::OwnWords, &[(0, 0, 0, 3), (2, 1, 0, 64), (2, 2, 0, 1)]);
        check(&[3, 0, 65], Placement::SharedWords, &[(0, 0, 0, 3), (2, 1, 0, 64), (2, 0, 3, 1)]);
        check(&[40, 20, 30, 4], Placement::SharedWords, &[(0, 0, 0, 40), (1, 0, 40, 20), (2, 1, 0, 30), (3, 0, 60, 4)]);
        check(&[], Placement::SharedWords, &[]);
    }
}
