//! The predicted response time of a new query, and its refusal.
//!
//! The prediction is the rest of what runs, plus the backlog of all queues with the query in its own, divided by the
//! lanes that work on them: the query is answered last of all that wait now. (SharedDB, section 3.5, predicts one cycle of
//! queueing and one of processing; here a cycle is the time in which the queues are emptied once.)
//!
//! 1. *What runs.* The predicted time less the elapsed time. A pass that has overrun its prediction is expected to run
//!    for another [`OVERRUN_SHARE`] of its elapsed time.
//! 2. *Lanes.* Light queues wait for light lanes, the others for heavy lanes.
//! 3. *No refusal without a queue.* A query that starts at once is never refused: a refusal would relieve no one, and a
//!    template that is always refused would never be observed again.
//! 4. *Correction.* The sum does not know the queries that arrive later: they enlarge the passes that run before this
//!    query, and other queues may be served twice before it. So predictions are multiplied by a factor that is learned from
//!    outcomes: it grows by [`RISE`] when the oldest query of a pass misses its limit although it was accepted, and shrinks
//!    by [`FALL`] when it does not. Under overload it settles where `FALL / (RISE + FALL) = 5 %` of them miss it; without
//!    overload it is 1.
//! 5. *Equal chances.* Under overload the backlog stays at the limit. There, a query that joins a pass would fit and one
//!    that begins an expensive pass would never: its template would always be refused. So each query has to leave room for
//!    the most that a recent query added to the backlog, up to [`RESERVED_SHARE_MAX`] of its limit.
//!
//! The prediction is not a guarantee: queries that are accepted close to their limit may be answered after it; and so may
//! the first queries of templates that nothing is known of.

use std::time::Duration;

use crate::refusal::Refusal;

/// Share of its elapsed time that an overrunning pass is expected to go on for.
const OVERRUN_SHARE: f64 = 0.25;

/// Growth of the correction when an accepted query misses its limit.
const RISE: f64 = 0.019;

/// Shrinking of the correction when an accepted query is in time.
const FALL: f64 = 0.001;

/// Greatest correction. Beyond it, the limit would refuse queries because of a few that were held up.
const CORRECTION_MAX: f64 = 3.0;

/// Most of a limit that is reserved for expensive queries. One expensive query must not cause the refusal of all others.
const RESERVED_SHARE_MAX: f64 = 0.25;

/// What remains of the reserve with each query: 1 / e after 1000 queries.
const RESERVE_DECAY: f64 = 0.999;

/// The rest of a pass that was predicted to take `predicted_us` and has run for `elapsed_us`.
pub(crate) fn remaining_us(predicted_us: f64, elapsed_us: f64) -> f64 {
    (predicted_us - elapsed_us).max(elapsed_us * OVERRUN_SHARE)
}

/// What lies before the answer of a query, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkAhead {
    /// The rest of what runs in the lanes that the query waits for.
    pub(crate) running_us: f64,
    /// All that waits for these lanes, without the query.
    pub(crate) backlog_us: f64,
    /// What the query adds to it.
    pub(crate) own_us: f64,
    /// How many lanes these are.
    pub(crate) lanes: usize,
}

/// Accepts and refuses queries with a response limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admission {
    /// By what factor responses take longer than what is known when a query arrives (rule 4).
    correction: f64,
    /// The most that a recent query added to the backlog (rule 5).
    reserve_us: f64,
}

impl Admission {
    /// Nothing is known of responses.
    pub(crate) fn new() -> Self {
        Self { correction: 1.0, reserve_us: 0.0 }
    }

    /// An accepted query that had to wait was answered, in time or not.
    pub(crate) fn observe(&mut self, is_in_time: bool) {
        let factor = if is_in_time { 1.0 - FALL } else { 1.0 + RISE };
        self.correction = (self.correction * factor).clamp(1.0, CORRECTION_MAX);
    }

    /// Refuses a query whose predicted response time, with the reserve, exceeds its limit.
    pub(crate) fn check(&mut self, ahead: WorkAhead, limit: Duration) -> Result<(), Refusal> {
        self.reserve_us = (self.reserve_us * RESERVE_DECAY).max(ahead.own_us);
        let reserved_us = self.reserve_us.min(limit.as_secs_f64() * 1e6 * RESERVED_SHARE_MAX);
        let work_us = ahead.running_us + ahead.backlog_us + ahead.own_us.max(reserved_us);
        let predicted_us = work_us / ahead.lanes.max(1) as f64 * self.correction;
        let predicted = Duration::from_micros(predicted_us.round() as u64);
        if predicted > limit { Err(Refusal::TooSlow { predicted, limit }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overrunning_pass_is_expected_to_go_on() {
        for (predicted_us, elapsed_us, expected_us) in
            [(100.0, 0.0, 100.0), (100.0, 60.0, 40.0), (100.0, 90.0, 22.5), (100.0, 1000.0, 250.0)]
        {
            assert_eq!(remaining_us(predicted_us, elapsed_us), expected_us, "{predicted_us} {elapsed_us}");
        }
    }

    fn ahead(backlog_us: f64, own_us: f64) -> WorkAhead {
        WorkAhead { running_us: 500.0, backlog_us, own_us, lanes: 1 }
    }

    #[test]
    fn a_query_is_refused_with_prediction_and_limit() {
        let ahead = WorkAhead { running_us: 500_000.0, backlog_us: 2_000_000.0, own_us: 500_000.0, lanes: 2 };
        assert_eq!(Admission::new().check(ahead, Duration::from_millis(1500)), Ok(()));
        let refusal = Admission::new().check(ahead, Duration::from_millis(1499)).unwrap_err();
        let expected = "the predicted response time is 1.500 s, the limit is 1.499 s";
        assert_eq!(refusal.to_string(), expected);
    }

    #[test]
    fn cheap_queries_leave_room_for_expensive_ones_within_a_share_of_the_limit() {
        let limit = Duration::from_micros(10_000);
        for (expensive_us, backlog_us, is_accepted) in [
            (0.0, 9400.0, true),
            (2000.0, 7500.0, true),
            (2000.0, 7510.0, false),
            (1e9, 7000.0, true),
            (1e9, 7001.0, false),
        ] {
            let mut admission = Admission::new();
            let _ = admission.check(ahead(0.0, expensive_us), limit);
            let accepted = admission.check(ahead(backlog_us, 10.0), limit).is_ok();
            assert_eq!(accepted, is_accepted, "{expensive_us} {backlog_us}");
        }
    }

    #[test]
    fn the_correction_settles_where_one_in_twenty_is_late() {
        let mut admission = Admission::new();
        let mut late = 0;
        for query in 0..20_000_u64 {
            // Responses take evenly between once and twice what is known.
            let needed = 1.0 + (query * 7919 % 1000) as f64 / 1000.0;
            let is_in_time = needed <= admission.correction;
            late += u64::from(query >= 10_000 && !is_in_time);
            admission.observe(is_in_time);
        }
        assert!((400..600).contains(&late), "{late} of 10000");
        (0..1000).for_each(|_| admission.observe(false));
        assert_eq!(admission.correction, CORRECTION_MAX);
    }
}
