//! The queries that run beside the lanes, each alone: first come, first served, a bounded number at a time.
//!
//! Such queries come in storms: a pass of a thousand queries that fails as a whole sends all of them here at once. Each needs
//! memory and threads of its own, so that the rest waits. Equal ones wait for one run.
//!
//! Costs: an arrival, a departure, and each query of a start take O(log n) for n waiting queries.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::ids::{QueryTicket, TemplateNumber};

/// What equal queries have in common.
type Identity = (TemplateNumber, u64);

/// The queries that have arrived and not yet started.
#[derive(Debug, Default)]
pub(crate) struct Unqueued {
    /// By number of arrival, so oldest first.
    queries: BTreeMap<u64, (QueryTicket, Identity)>,
    /// The numbers of equal queries.
    equal: HashMap<Identity, BTreeSet<u64>>,
    /// The number of each query.
    places: HashMap<QueryTicket, u64>,
    arrivals: u64,
}

impl Unqueued {
    /// Whether a query waits.
    pub(crate) fn contains(&self, ticket: QueryTicket) -> bool {
        self.places.contains_key(&ticket)
    }

    /// A query waits from now on.
    pub(crate) fn add(&mut self, ticket: QueryTicket, template: TemplateNumber, identity: u64) {
        self.arrivals += 1;
        let identity = (template, identity);
        self.queries.insert(self.arrivals, (ticket, identity));
        self.equal.entry(identity).or_default().insert(self.arrivals);
        self.places.insert(ticket, self.arrivals);
    }

    /// A query waits no longer. False if it did not wait.
    pub(crate) fn remove(&mut self, ticket: QueryTicket) -> bool {
        let Some(number) = self.places.remove(&ticket) else { return false };
        let (_, identity) = self.queries.remove(&number).expect("a place is that of a query");
        let equal = self.equal.get_mut(&identity).expect("the numbers of waiting queries are kept");
        equal.remove(&number);
        if equal.is_empty() {
            self.equal.remove(&identity);
        }
        true
    }

    /// Takes the oldest query and its equals, at most `queries_max`, oldest first, with their template. `None` if no query waits.
    pub(crate) fn take_equal(&mut self, queries_max: usize) -> Option<(TemplateNumber, Vec<QueryTicket>)> {
        let (_, (_, identity)) = self.queries.first_key_value()?;
        let identity = *identity;
        let ticket = |number: &u64| self.queries[number].0;
        let tickets: Vec<QueryTicket> = self.equal[&identity].iter().take(queries_max).map(ticket).collect();
        for ticket in &tickets {
            self.remove(*ticket);
        }
        Some((identity.0, tickets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_query_is_taken_with_its_equals() {
        let (a, b) = (TemplateNumber(1), TemplateNumber(2));
        let tickets = |of: &[u64]| of.iter().map(|ticket| QueryTicket(*ticket)).collect::<Vec<_>>();
        let mut unqueued = Unqueued::default();
        for (ticket, template, identity) in [(1, a, 5), (2, b, 5), (3, a, 5), (4, a, 6), (5, a, 5), (6, b, 5)] {
            unqueued.add(QueryTicket(ticket), template, identity);
        }
        assert_eq!(unqueued.take_equal(2), Some((a, tickets(&[1, 3]))));
        assert!(
            unqueued.remove(QueryTicket(2)) && !unqueued.remove(QueryTicket(2)) && !unqueued.remove(QueryTicket(1))
        );
        assert_eq!(unqueued.take_equal(9), Some((a, tickets(&[4]))));
        assert_eq!(unqueued.take_equal(9), Some((a, tickets(&[5]))));
        assert!(unqueued.contains(QueryTicket(6)));
        assert_eq!(unqueued.take_equal(9), Some((b, tickets(&[6]))));
        assert_eq!(unqueued.take_equal(9), None);
        assert!(unqueued.equal.is_empty() && unqueued.places.is_empty());
    }
}
