//! Which queue is served next.
//!
//! 1. *Waits over cost.* The queue with the largest sum of waiting times divided by the predicted time of its next pass
//!    goes first: it ends the most waiting for a second of work. (The rule of shortest job first, weighted by the waiting
//!    that the job ends; a queue gains with every query and with every moment.)
//! 2. *Bound.* If queries have waited longer than the wait bound, the queue with the oldest query goes first.
//! 3. *The bound* is [`WAIT_ROUNDS`] times the predicted time of one pass of each queue, and [`WAIT_BOUND_US_MIN`] at least.
//!    Under round robin a query waits for one round; eight leave room for rule 1, which serves cheap queues several times
//!    in a round. The minimum keeps short rounds from turning the choice into first come, first served.
//! 4. *Ties* go to the older query, then to the lower template number, so that equal inputs give equal decisions.
//!
//! # Why no query starves
//!
//! Let a query q arrive when k queries wait, with a bound that never exceeds W later. After W, rule 2 holds until q starts:
//! every pass that starts in a heavy lane is that of the queue whose oldest query is the oldest of all. This pass takes that
//! query, since passes take the oldest of their queue, and it is q itself or older than q. At most k queries are older, so
//! at most k passes start before that of q: **q waits at most W, the rest of the passes that run then, and k passes**. If all
//! predictions were right, k is the number of passes into which the older queries are divided, so this is W plus the backlog
//! that q found plus one pass. Light lanes only shorten this: they take queries that would otherwise be served before q.

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
    /// Sum of the waiting times of the queries that its next pass answers.
    pub(crate) waits_us: f64,
    /// Predicted time of its next pass.
    pub(crate) cost_us: f64,
}

/// The wait bound, for the predicted time of one pass of each queue.
pub(crate) fn wait_bound_us(round_us: f64) -> u64 {
    WAIT_BOUND_US_MIN.max((WAIT_ROUNDS * round_us) as u64)
}

/// The queue that is served next; `None` without candidates.
pub(crate) fn choose(
    candidates: impl Iterator<Item = Candidate>,
    now_us: u64,
    wait_bound_us: u64,
) -> Option<TemplateNumber> {
    let mut best: Option<(bool, f64, Candidate)> = None;
    for candidate in candidates {
        let is_overdue = now_us.saturating_sub(candidate.oldest_us) > wait_bound_us;
        let score = if is_overdue { 0.0 } else { candidate.waits_us / candidate.cost_us.max(1.0) };
        let is_first = best.as_ref().is_none_or(|(best_overdue, best_score, best)| {
            let by_score = is_overdue.cmp(best_overdue).then(score.total_cmp(best_score));
            let by_age = best.oldest_us.cmp(&candidate.oldest_us).then(best.template.cmp(&candidate.template));
            by_score.then(by_age).is_gt()
        });
        if is_first {
            best = Some((is_overdue, score, candidate));
        }
    }
    best.map(|(_, _, candidate)| candidate.template)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Candidates are (oldest, waits, cost); the expectation is an index.
    fn check(candidates: &[(u64, f64, f64)], expected: Option<u64>) {
        let listed = candidates.iter().zip(0..).map(|(&(oldest_us, waits_us, cost_us), number)| Candidate {
            template: TemplateNumber(number),
            oldest_us,
            waits_us,
            cost_us,
        });
        let found = choose(listed, 10_000, 5_000).map(|template| template.0);
        assert_eq!(found, expected, "{candidates:?}");
    }

    #[test]
    fn the_most_waiting_for_a_second_of_work_goes_first() {
        check(&[], None);
        check(&[(9_000, 1000.0, 10.0)], Some(0));
        check(&[(9_000, 1000.0, 10.0), (8_000, 2000.0, 10.0)], Some(1));
        check(&[(9_000, 1000.0, 10.0), (8_000, 2000.0, 30.0)], Some(0));
        check(&[(9_000, 8000.0, 10.0), (8_000, 2000.0, 10.0)], Some(0));
    }

    #[test]
    fn beyond_the_bound_the_oldest_goes_first() {
        check(&[(9_000, 1e9, 1.0), (5_000, 1.0, 1e9)], Some(0));
        check(&[(9_000, 1e9, 1.0), (4_999, 1.0, 1e9)], Some(1));
        check(&[(4_999, 1e9, 1.0), (4_000, 1.0, 1e9), (4_500, 1e9, 1.0)], Some(1));
    }

    #[test]
    fn ties_go_to_the_older_query_then_to_the_lower_template() {
        check(&[(10_000, 0.0, 10.0), (10_000, 0.0, 5.0)], Some(0));
        check(&[(9_000, 1000.0, 10.0), (8_000, 1000.0, 10.0)], Some(1));
    }

    #[test]
    fn the_bound_is_eight_rounds_and_a_second_at_least() {
        assert_eq!([0.0, 1e5, 1e6].map(wait_bound_us), [1_000_000, 1_000_000, 8_000_000]);
    }
}
