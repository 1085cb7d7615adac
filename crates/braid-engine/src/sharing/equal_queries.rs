//! The distinct queries of the passes that run, found by a query that equals one of them.
//!
//! Guarded by the dispatcher's lock. An entry only says where to look: whether the queries are equal is told by their
//! parameters, and whether the answer is right by the versions of the tables ([`super::running_queries`]).

use std::collections::HashMap;

use braid_share::PassNumber;

/// A plan and a hash of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct QueryKey {
    /// The number of the plan.
    pub plan: u64,
    /// The hash.
    pub identity: u64,
}

/// Where queries run, by their keys.
#[derive(Debug, Default)]
pub(super) struct EqualQueries {
    places: HashMap<QueryKey, Vec<Place>>,
    of_pass: HashMap<PassNumber, Vec<QueryKey>>,
}

/// A distinct query of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The pass.
    pub pass: PassNumber,
    /// The distinct query's number in it.
    pub distinct: usize,
}

impl EqualQueries {
    /// A pass starts with these distinct queries.
    pub fn start(&mut self, pass: PassNumber, keys: Vec<QueryKey>) {
        for (distinct, key) in keys.iter().enumerate() {
            self.places.entry(*key).or_default().push(Place { pass, distinct });
        }
        self.of_pass.insert(pass, keys);
    }

    /// A pass takes no more queries. One that is not known may end again.
    pub fn end(&mut self, pass: PassNumber) {
        for key in self.of_pass.remove(&pass).unwrap_or_default() {
            let Some(places) = self.places.get_mut(&key) else { continue };
            places.retain(|place| place.pass != pass);
            if places.is_empty() {
                self.places.remove(&key);
            }
        }
    }

    /// Where a query runs that may be equal, the oldest pass first.
    pub fn places(&self, key: QueryKey) -> &[Place] {
        self.places.get(&key).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_found_while_their_pass_takes_more() {
        let key = |identity| QueryKey { plan: 1, identity };
        let place = |pass, distinct| Place { pass: PassNumber(pass), distinct };
        let mut equal = EqualQueries::default();
        equal.start(PassNumber(1), vec![key(5), key(6)]);
        // Unequal queries may have one hash.
        equal.start(PassNumber(2), vec![key(6), key(6)]);
        assert_eq!(equal.places(key(6)), [place(1, 1), place(2, 0), place(2, 1)]);
        assert_eq!(equal.places(QueryKey { plan: 2, identity: 6 }), []);
        equal.end(PassNumber(1));
        equal.end(PassNumber(1));
        assert_eq!((equal.places(key(5)), equal.places(key(6))), (&[][..], &[place(2, 0), place(2, 1)][..]));
        equal.end(PassNumber(2));
        assert!(equal.places.is_empty() && equal.of_pass.is_empty());
    }
}
