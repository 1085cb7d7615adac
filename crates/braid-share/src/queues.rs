//! The queries that wait: one queue per template, oldest first (SharedDB, section 3.2: while one batch runs, new queries
//! are queued).
//!
//! Costs: an arrival and a departure take O(log n) for n waiting queries; the sums over all queues that predictions need
//! (`backlog_us`, `round_us`) are kept up to date and read in O(1). A queue without queries does not exist.

use std::collections::{BTreeMap, HashMap};

use crate::ids::{QueryTicket, TemplateNumber};
use crate::lanes::Weight;
use crate::pass_size::PassLimits;
use crate::router::{NextPass, QueueLoad};

/// A query that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingQuery {
    pub(crate) ticket: QueryTicket,
    /// Queries of one template with equal identities are equal.
    pub(crate) identity: u64,
    pub(crate) arrived_us: u64,
    /// Until when it is to be answered; `u64::MAX` without a response limit.
    pub(crate) due_us: u64,
    /// Whether the query asks for a pass whatever it costs.
    pub(crate) is_global: bool,
}

/// What runs next of a queue and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedPass {
    pub(crate) next: NextPass,
    pub(crate) weight: Weight,
}

/// The queue of one template. Never empty, except while it is changed.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// By number of arrival, so oldest first.
    queries: BTreeMap<u64, WaitingQuery>,
    /// How many queries have an identity.
    identities: HashMap<u64, usize>,
    global: usize,
    /// Sum of the times of arrival.
    arrived_us_sum: u128,
    planned: Option<PlannedPass>,
}

impl Queue {
    /// The queries, oldest first.
    pub(crate) fn queries(&self) -> impl Iterator<Item = &WaitingQuery> {
        self.queries.values()
    }

    /// The numbers that the router needs.
    pub(crate) fn load(&self) -> QueueLoad {
        QueueLoad { queries: self.queries.len(), distinct: self.identities.len(), global: self.global }
    }

    /// What runs next of this queue.
    pub(crate) fn planned(&self) -> &PlannedPass {
        self.planned.as_ref().expect("a queue is planned after each change")
    }

    /// The oldest query.
    pub(crate) fn oldest(&self) -> &WaitingQuery {
        self.queries.first_key_value().expect("a queue is not empty").1
    }

    /// Sum of the waiting times of the `queries` oldest, in microseconds.
    pub(crate) fn waits_us(&self, queries: usize, now_us: u64) -> f64 {
        let (count, arrived_us_sum) = if queries < self.queries.len() {
            (queries, self.queries().take(queries).map(|query| u128::from(query.arrived_us)).sum())
        } else {
            (self.queries.len(), self.arrived_us_sum)
        };
        (count as u128 * u128::from(now_us)).saturating_sub(arrived_us_sum) as f64
    }

    fn add(&mut self, number: u64, query: WaitingQuery) {
        *self.identities.entry(query.identity).or_default() += 1;
        self.global += usize::from(query.is_global);
        self.arrived_us_sum += u128::from(query.arrived_us);
        self.queries.insert(number, query);
    }

    fn remove(&mut self, number: u64) -> WaitingQuery {
        let query = self.queries.remove(&number).expect("a waiting query is in its queue");
        let equal = self.identities.get_mut(&query.identity).expect("the identities of waiting queries are counted");
        *equal -= 1;
        if *equal == 0 {
            self.identities.remove(&query.identity);
        }
        self.global -= usize::from(query.is_global);
        self.arrived_us_sum -= u128::from(query.arrived_us);
        query
    }
}

/// Predicted microseconds until all queues of a weight are empty, and of the next pass of each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct QueueSums {
    /// Of all passes of queues whose next pass is light.
    light_backlog_us: f64,
    /// Of all passes of the other queues.
    heavy_backlog_us: f64,
    /// Of one pass of each queue.
    pub(crate) round_us: f64,
}

impl QueueSums {
    /// Of all passes of queues whose next pass has this weight.
    pub(crate) fn backlog_us(&self, weight: Weight) -> f64 {
        match weight {
            Weight::Light => self.light_backlog_us,
            Weight::Heavy => self.heavy_backlog_us,
        }
    }

    fn add(&mut self, planned: &PlannedPass, sign: f64) {
        let backlog_us = match planned.weight {
            Weight::Light => &mut self.light_backlog_us,
            Weight::Heavy => &mut self.heavy_backlog_us,
        };
        *backlog_us = (*backlog_us + sign * planned.next.backlog_us).max(0.0);
        self.round_us = (self.round_us + sign * planned.next.cost_us).max(0.0);
    }
}

/// All queues.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    /// Ordered, so that equal inputs give equal decisions.
    by_template: BTreeMap<TemplateNumber, Queue>,
    /// Where each query waits.
    places: HashMap<QueryTicket, (TemplateNumber, u64)>,
    arrivals: u64,
    sums: QueueSums,
}

impl Queues {
    /// How many queries wait.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The queues, by template.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TemplateNumber, &Queue)> {
        self.by_template.iter().map(|(template, queue)| (*template, queue))
    }

    /// The queue of a template, if one of its queries waits.
    pub(crate) fn get(&self, template: TemplateNumber) -> Option<&Queue> {
        self.by_template.get(&template)
    }

    /// The sums over all queues.
    pub(crate) fn sums(&self) -> QueueSums {
        self.sums
    }

    /// Whether a query waits.
    pub(crate) fn contains(&self, ticket: QueryTicket) -> bool {
        self.places.contains_key(&ticket)
    }

    /// A query waits from now on. Its queue has to be planned next.
    pub(crate) fn add(&mut self, template: TemplateNumber, query: WaitingQuery) {
        self.arrivals += 1;
        self.places.insert(query.ticket, (template, self.arrivals));
        self.by_template.entry(template).or_default().add(self.arrivals, query);
    }

    /// A query waits no longer. Returns its template, whose queue has to be planned next; `None` if it did not wait.
    pub(crate) fn remove(&mut self, ticket: QueryTicket) -> Option<TemplateNumber> {
        let (template, number) = self.places.remove(&ticket)?;
        let queue = self.by_template.get_mut(&template).expect("the queue of a waiting query exists");
        queue.remove(number);
        if queue.queries.is_empty() {
            let emptied = self.by_template.remove(&template);
            self.forget_plan(emptied.and_then(|queue| queue.planned));
            if self.by_template.is_empty() {
                // What rounding left behind.
                self.sums = QueueSums::default();
            }
        }
        Some(template)
    }

    /// Sets what runs next of a queue.
    pub(crate) fn plan(&mut self, template: TemplateNumber, planned: PlannedPass) {
        if let Some(queue) = self.by_template.get_mut(&template) {
            let before = queue.planned.replace(planned);
            self.forget_plan(before);
            self.sums.add(&planned, 1.0);
        }
    }

    /// Takes the queries of a pass, oldest first. The queue has to be planned next.
    pub(crate) fn take_pass(&mut self, template: TemplateNumber, limits: PassLimits) -> Vec<WaitingQuery> {
        let queue = &self.by_template[&template];
        let size = limits.size(queue.queries().map(|query| query.identity));
        let taken: Vec<WaitingQuery> = queue.queries().take(size.queries).copied().collect();
        self.remove_all(&taken);
        taken
    }

    /// Takes the oldest query and its equals, at most `queries_max`, oldest first. The queue has to be planned next.
    pub(crate) fn take_equal(&mut self, template: TemplateNumber, queries_max: usize) -> Vec<WaitingQuery> {
        let queue = &self.by_template[&template];
        let identity = queue.oldest().identity;
        let equal = queue.identities[&identity].min(queries_max);
        let same = queue.queries().filter(|query| query.identity == identity);
        let taken: Vec<WaitingQuery> = same.take(equal).copied().collect();
        self.remove_all(&taken);
        taken
    }

    fn remove_all(&mut self, queries: &[WaitingQuery]) {
        for query in queries {
            self.remove(query.ticket);
        }
    }

    fn forget_plan(&mut self, planned: Option<PlannedPass>) {
        if let Some(planned) = planned {
            self.sums.add(&planned, -1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: TemplateNumber = TemplateNumber(1);
    const LIMITS: PassLimits = PassLimits { queries_max: 3, distinct_max: 2 };

    fn queues(identities: &[u64]) -> Queues {
        let mut queues = Queues::default();
        for (at, &identity) in identities.iter().enumerate() {
            let (ticket, arrived_us) = (QueryTicket(at as u64), 10 * at as u64);
            queues.add(TEMPLATE, WaitingQuery { ticket, identity, arrived_us, due_us: u64::MAX, is_global: false });
        }
        queues
    }

    fn tickets(queries: &[WaitingQuery]) -> Vec<u64> {
        queries.iter().map(|query| query.ticket.0).collect()
    }

    #[test]
    fn a_pass_takes_the_oldest_and_a_query_alone_its_equals() {
        for (identities, pass, equal) in [
            (&[1, 2, 3][..], &[0, 1][..], &[0][..]),
            (&[1, 1, 1, 1], &[0, 1, 2], &[0, 1, 2]),
            (&[1, 2, 1, 2], &[0, 1, 2], &[0, 2]),
        ] {
            assert_eq!(tickets(&queues(identities).take_pass(TEMPLATE, LIMITS)), pass, "{identities:?}");
            assert_eq!(tickets(&queues(identities).take_equal(TEMPLATE, 3)), equal, "{identities:?}");
        }
    }

    #[test]
    fn waits_are_those_of_the_oldest() {
        let queues = queues(&[1, 2, 1]);
        let queue = queues.get(TEMPLATE).unwrap();
        assert_eq!([1, 2, 3, 4].map(|queries| queue.waits_us(queries, 100)), [100.0, 190.0, 270.0, 270.0]);
        assert_eq!((queue.oldest().arrived_us, queue.load().distinct), (0, 2));
    }

    #[test]
    fn an_empty_queue_is_gone() {
        let mut queues = queues(&[1, 2]);
        assert_eq!(queues.remove(QueryTicket(0)), Some(TEMPLATE));
        assert_eq!(queues.remove(QueryTicket(0)), None);
        assert_eq!(queues.get(TEMPLATE).unwrap().load().distinct, 1);
        assert_eq!(queues.remove(QueryTicket(1)), Some(TEMPLATE));
        assert!(queues.get(TEMPLATE).is_none() && queues.len() == 0);
    }
}
