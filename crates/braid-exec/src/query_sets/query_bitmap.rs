//! A query set as a bitmap over the queries of a pass. Other representations are made from bitmaps.

use crate::QueryNumber;

/// Number of words of a bitmap over `query_count` queries.
pub fn words_for(query_count: usize) -> usize {
    query_count.div_ceil(64)
}

/// A set of the queries of one pass.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueryBitmap {
    words: Box<[u64]>,
}

impl QueryBitmap {
    /// The empty set of `query_count` queries.
    pub fn none(query_count: usize) -> Self {
        Self { words: vec![0; words_for(query_count)].into() }
    }

    /// Those of `query_count` queries for which `wanted` holds.
    pub fn from_fn(query_count: usize, wanted: impl Fn(QueryNumber) -> bool) -> Self {
        let mut bitmap = Self::none(query_count);
        (0..query_count).map(QueryNumber::at).filter(|query| wanted(*query)).for_each(|query| bitmap.insert(query));
        bitmap
    }

    /// Adds a query. Panics when the query is not of the pass.
    pub fn insert(&mut self, query: QueryNumber) {
        self.words[query.index() / 64] |= 1 << (query.index() % 64);
    }

    /// Removes a query. Panics when the query is not of the pass.
    pub fn remove(&mut self, query: QueryNumber) {
        self.words[query.index() / 64] &= !(1 << (query.index() % 64));
    }

    /// Whether the set contains the query.
    pub fn contains(&self, query: QueryNumber) -> bool {
        self.words[query.index() / 64] >> (query.index() % 64) & 1 == 1
    }

    /// Number of queries.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// The queries, ascending.
    pub fn iter(&self) -> impl Iterator<Item = QueryNumber> + '_ {
        queries_of(&self.words)
    }

    /// The bits, least significant first.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

/// The queries whose bits are set, ascending.
pub fn queries_of(words: &[u64]) -> impl Iterator<Item = QueryNumber> + '_ {
    words.iter().enumerate().flat_map(|(at, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = rest.trailing_zeros() as usize;
            (rest != 0).then(|| {
                rest &= rest - 1;
                QueryNumber::at(at * 64 + bit)
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_come_back_ascending() {
        let wanted = [0, 1, 63, 64, 127, 129];
        let mut bitmap = QueryBitmap::from_fn(130, |query| wanted.contains(&query.index()));
        assert!(bitmap.iter().map(QueryNumber::index).eq(wanted));
        assert_eq!((bitmap.len(), bitmap.is_empty()), (6, false));
        bitmap.remove(QueryNumber(64));
        assert!(!bitmap.contains(QueryNumber(64)) && bitmap.contains(QueryNumber(63)));
        assert!(QueryBitmap::none(130).is_empty());
    }
}
