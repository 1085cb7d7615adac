//! Which queue is served next.
//!
//! 1. *Waits over cost.* The queue with the largest sum of waiting times divided by the predicted time of its next pass
//!    goes first: it ends the most waiting for a second of work. (The rule of shortest job first, weighted by the waiting
//!    that the job ends; a queue gains with every query and with every moment.) The mix of docs/one-pass.md with 64 clients
//!    gets 288 queries/s, against 259 with round robin and 166 with all types that wait (`cargo test -p braid-share
//!    closed_loop -- --nocapture`).
//! 2. *Bound.* A queue is overdue when its oldest query has waited for the wait bound, or when one more round would make it
//!    miss its response limit. A limit is therefore also a priority, for queries that are accepted with it. If queues are overdue, the one that has been for the longest time goes first.
//! 3. *A round* is the predicted time of one pass of each queue. The wait bound is [`WAIT_ROUNDS`] rounds, and
//!    [`WAIT_BOUND_US_MIN`] at least. Under round robin a query waits for one round; eight leave room for rule 1, which
//!    serves cheap queues several times in a round. The minimum keeps short rounds from turning the choice into first come,
//!    first served.
//! 4. *Ties* go to the older query, then to the lower template number, so that equal inputs give equal decisions.
//!
//! # Why no query starves
//!
//! Let a query q arrive, with a wait bound that never exceeds W later. After W it is overdue, unless it has started. From
//! then on every pass that starts in a heavy lane is that of a queue whose oldest query has been overdue for at least as
//! long as q. A query cannot be overdue before it arrives, so that oldest query arrived before q became overdue; the pass
//! takes it, since passes take the oldest of their queue. Of these queries at most k wait when q becomes overdue, so **q
//! waits at most W, then the rest of the passes that run, then k passes**. k is bounded by the limit on waiting queries.
//! Without response limits, the overdue order is the order of arrival, so k is the number of queries that q found; or, more
//! precisely, the number of passes into which these are divided. Light lanes only shorten this: they take queries that would
//! otherwise be served before q.

use std::cmp::{Ordering, Reverse};

use crate::ids::TemplateNumber;

/// Rounds that a query may wait before its queue goes first.
pub(crate) const WAIT_ROUNDS: f64 = 8.0;

/// Least wait bound: 1 second.
pub(crate) const WAIT_BOUND_US_MIN: u64 = 1_000_000;

/// A queue that could be served.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) template: TemplateNumber,
    /// When its oldest query arrived.
    pub(crate) oldest_us: u64,
    /// Until when that query is to be answered; `u64::MAX` without a response limit.
    pub(crate) due_us: u64,
    /// Sum of the waiting times of the queries that its next pass answers.
    pub(crate) waits_us: f64,
    /// Predicted time of its next pass.
    pub(crate) cost_us: f64,
}

impl Candidate {
    /// From when on the queue is overdue, for the predicted time of a round.
    fn overdue_us(&self, round_us: f64) -> u64 {
        let bound_us = self.oldest_us.saturating_add(wait_bound_us(round_us));
        let last_round_us = self.due_us.saturating_sub(round_us as u64);
        bound_us.min(last_round_us).max(self.oldest_us)
    }
}

/// The wait bound, for the predicted time of a round.
pub(crate) fn wait_bound_us(round_us: f64) -> u64 {
    WAIT_BOUND_US_MIN.max((WAIT_ROUNDS * round_us) as u64)
}

/// Why a candidate goes first. Ordered: the greatest rank does.
#[derive(Clone, Copy, Debug)]
enum Rank {
    /// Waits over cost.
    Score(f64),
    /// Overdue since.
    Overdue(Reverse<u64>),
}

impl Rank {
    fn of(candidate: &Candidate, now_us: u64, round_us: f64) -> Self {
        let overdue_us = candidate.overdue_us(round_us);
        if now_us > overdue_us {
            Self::Overdue(Reverse(overdue_us))
        } else {
            Self::Score(candidate.waits_us / candidate.cost_us.max(1.0))
        }
    }

    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Score(a), Self::Score(b)) => a.total_cmp(b),
            (Self::Overdue(a), Self::Overdue(b)) => a.cmp(b),
            (Self::Score(_), Self::Overdue(_)) => Ordering::Less,
            (Self::Overdue(_), Self::Score(_)) => Ordering::Greater,
        }
    }
}

/// The queue that is served next; `None` without candidates.
pub(crate) fn choose(
    candidates: impl Iterator<Item = Candidate>,
    now_us: u64,
    round_us: f64,
) -> Option<TemplateNumber> {
    let ranked = candidates.map(|candidate| (Rank::of(&candidate, now_us, round_us), candidate));
    let first = ranked.max_by(|(a_rank, a), (b_rank, b)| {
        let by_age = (b.oldest_us, b.template).cmp(&(a.oldest_us, a.template));
        a_rank.cmp(b_rank).then(by_age)
    });
    first.map(|(_, candidate)| candidate.template)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_US: u64 = 10_000_000;

    /// Candidates are (age, time to the response limit, sum of waits, cost); the expectation is an index.
    fn check(candidates: &[(u64, u64, f64, f64)], expected: Option<u64>) {
        let listed = candidates.iter().zip(0..).map(|(&(age_us, left_us, waits_us, cost_us), number)| Candidate {
            template: TemplateNumber(number),
            oldest_us: NOW_US - age_us,
            due_us: left_us.saturating_add(NOW_US),
            waits_us,
            cost_us,
        });
        let round_us = 500_000.0;
        let found = choose(listed, NOW_US, round_us).map(|template| template.0);
        assert_eq!(found, expected, "{candidates:?}");
    }

    const NO_LIMIT: u64 = u64::MAX;

    #[test]
    fn the_most_waiting_for_a_second_of_work_goes_first() {
        check(&[], None);
        check(&[(1000, NO_LIMIT, 1000.0, 10.0)], Some(0));
        check(&[(1000, NO_LIMIT, 1000.0, 10.0), (2000, NO_LIMIT, 2000.0, 10.0)], Some(1));
        check(&[(1000, NO_LIMIT, 1000.0, 10.0), (2000, NO_LIMIT, 2000.0, 30.0)], Some(0));
        check(&[(1000, NO_LIMIT, 8000.0, 10.0), (2000, NO_LIMIT, 2000.0, 10.0)], Some(0));
    }

    #[test]
    fn beyond_the_wait_bound_the_oldest_goes_first() {
        // Eight rounds are 4 seconds.
        check(&[(1000, NO_LIMIT, 1e9, 1.0), (4_000_000, NO_LIMIT, 1.0, 1e9)], Some(0));
        check(&[(1000, NO_LIMIT, 1e9, 1.0), (4_000_001, NO_LIMIT, 1.0, 1e9)], Some(1));
        check(&[(5_000_000, NO_LIMIT, 1e9, 1.0), (5_000_001, NO_LIMIT, 1.0, 1e9)], Some(1));
    }

    #[test]
    fn a_query_that_would_miss_its_limit_in_another_round_goes_first() {
        check(&[(1000, NO_LIMIT, 1e9, 1.0), (2000, 500_000, 1.0, 1e9)], Some(0));
        check(&[(1000, NO_LIMIT, 1e9, 1.0), (2000, 499_999, 1.0, 1e9)], Some(1));
        check(&[(2000, 499_998, 1.0, 1.0), (2000, 499_999, 1.0, 1.0)], Some(0));
        // It is not overdue before it arrives, however short its limit is.
        check(&[(4_000_003, NO_LIMIT, 1.0, 1.0), (2, 0, 1e9, 1.0)], Some(0));
        check(&[(4_000_001, NO_LIMIT, 1.0, 1.0), (2, 0, 1e9, 1.0)], Some(1));
    }

    #[test]
    fn ties_go_to_the_older_query_then_to_the_lower_template() {
        check(&[(0, NO_LIMIT, 0.0, 10.0), (0, NO_LIMIT, 0.0, 5.0)], Some(0));
        check(&[(1000, NO_LIMIT, 1000.0, 10.0), (2000, NO_LIMIT, 1000.0, 10.0)], Some(1));
    }

    #[test]
    fn the_bound_is_eight_rounds_and_a_second_at_least() {
        assert_eq!([0.0, 1e5, 1e6].map(wait_bound_us), [1_000_000, 1_000_000, 8_000_000]);
    }
}
