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
//!
//! 4. *Correction.* The sum does not know the queries that arrive later: they enlarge the passes that run before this
//!    query, and other queues may be served twice before it. So predictions are multiplied by a factor that is learned from
//!    outcomes: it grows by [`RISE`] when the oldest query of a pass misses its limit although it was accepted, and shrinks
//!    by [`FALL`] when it does not. Under overload it settles where `FALL / (RISE + FALL) = 5 %` of them miss it; without
//!    overload it is 1.
//!
//! The prediction is not a guarantee: queries that are accepted close to their limit may be answered after it.

use std::time::Duration;

use crate::refusal::Refusal;

/// Share of its elapsed time that an overrunning pass is expected to go on for.
const OVERRUN_SHARE: f64 = 0.25;

/// The rest of a pass that was predicted to take `predicted_us` and has run for `elapsed_us`.
pub(crate) fn remaining_us(predicted_us: f64, elapsed_us: f64) -> f64 {
    (predicted_us - elapsed_us).max(elapsed_us * OVERRUN_SHARE)
}

/// Growth of the correction when an accepted query misses its limit.
const RISE: f64 = 0.019;

/// Shrinking of the correction when it is not.
const FALL: f64 = 0.001;

/// Greatest correction. Beyond it, the limit would refuse queries because of a few that were held up.
const CORRECTION_MAX: f64 = 3.0;

/// The factor by which responses take longer than what is known when a query arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Correction(f64);

impl Correction {
    /// No correction.
    pub(crate) fn new() -> Self {
        Self(1.0)
    }

    /// An accepted query that had to wait was answered, in time or not.
    pub(crate) fn observe(&mut self, is_in_time: bool) {
        let factor = if is_in_time { 1.0 - FALL } else { 1.0 + RISE };
        self.0 = (self.0 * factor).clamp(1.0, CORRECTION_MAX);
    }
}

/// What lies before the answer of a query, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkAhead {
    /// The rest of what runs in the lanes that the query waits for.
    pub(crate) running_us: f64,
    /// All that waits for these lanes, with the query's own pass.
    pub(crate) backlog_us: f64,
    /// How many lanes these are.
    pub(crate) lanes: usize,
}

impl WorkAhead {
    /// The predicted response time in microseconds.
    pub(crate) fn response_us(&self, correction: Correction) -> f64 {
        (self.running_us + self.backlog_us) / self.lanes.max(1) as f64 * correction.0
    }
}

/// Refuses a query whose predicted response time exceeds its limit.
pub(crate) fn check(predicted_us: f64, limit: Duration) -> Result<(), Refusal> {
    let predicted = Duration::from_micros(predicted_us.round() as u64);
    if predicted > limit { Err(Refusal::TooSlow { predicted, limit }) } else { Ok(()) }
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

    #[test]
    fn a_query_is_refused_with_prediction_and_limit() {
        let ahead = WorkAhead { running_us: 500_000.0, backlog_us: 2_500_000.0, lanes: 2 };
        let predicted_us = ahead.response_us(Correction::new());
        assert_eq!(check(predicted_us, Duration::from_millis(1500)), Ok(()));
        let refusal = check(predicted_us, Duration::from_millis(1499)).unwrap_err();
        let expected = "the predicted response time is 1.500 s, the limit is 1.499 s";
        assert_eq!(refusal.to_string(), expected);
    }

    #[test]
    fn the_correction_settles_where_one_in_twenty_is_late() {
        let ahead = WorkAhead { running_us: 0.0, backlog_us: 1000.0, lanes: 1 };
        let mut correction = Correction::new();
        let mut late = 0;
        for query in 0..20_000_u64 {
            // Responses take evenly between 1000 and 2000.
            let response_us = 1000.0 + (query * 7919 % 1000) as f64;
            let predicted_us = ahead.response_us(correction);
            let is_in_time = response_us <= predicted_us;
            late += u64::from(query >= 10_000 && !is_in_time);
            correction.observe(is_in_time);
        }
        assert!((400..600).contains(&late), "{late} of 10000");
        for _ in 0..1000 {
            correction.observe(false);
        }
        assert_eq!(ahead.response_us(correction), CORRECTION_MAX * 1000.0);
    }
}
