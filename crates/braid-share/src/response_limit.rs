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
//! The prediction is not a guarantee. It does not know the queries that arrive later: they enlarge the passes that run
//! before this query (by little: that is the point of passes), and other queues may be served twice before it.

use std::time::Duration;

use crate::refusal::Refusal;

/// Share of its elapsed time that an overrunning pass is expected to go on for.
const OVERRUN_SHARE: f64 = 0.25;

/// The rest of a pass that was predicted to take `predicted_us` and has run for `elapsed_us`.
pub(crate) fn remaining_us(predicted_us: f64, elapsed_us: f64) -> f64 {
    (predicted_us - elapsed_us).max(elapsed_us * OVERRUN_SHARE)
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
    pub(crate) fn response_us(&self) -> f64 {
        (self.running_us + self.backlog_us) / self.lanes.max(1) as f64
    }

    /// Refuses a query whose predicted response time exceeds its limit.
    pub(crate) fn check(&self, limit: Duration) -> Result<(), Refusal> {
        let predicted = Duration::from_micros(self.response_us() as u64);
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

    #[test]
    fn a_query_is_refused_with_prediction_and_limit() {
        let ahead = WorkAhead { running_us: 500_000.0, backlog_us: 2_500_000.0, lanes: 2 };
        assert_eq!(ahead.check(Duration::from_millis(1500)), Ok(()));
        let refusal = ahead.check(Duration::from_millis(1499)).unwrap_err();
        let expected = "the predicted response time is 1.500 s, the limit is 1.499 s";
        assert_eq!(refusal.to_string(), expected);
    }
}
