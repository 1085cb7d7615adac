//! When the dearer form of execution is tried again, because its prediction may have aged.
//!
//! A form that is never chosen is never observed. So the router tries it now and then. Intervals are measured in execution
//! time of the template, not in wall time: trials of a hundred templates together are then as rare as those of one.
//!
//! 1. *One percent.* A trial that took C is followed by no other trial of that form until the template has run for
//!    [`TRIAL_INTERVAL`] times C.
//! 2. *Won trials.* A pass that was predicted to be dearer and was cheaper is tried again at once, until the prediction
//!    has followed.
//! 3. *Back-off.* Each pass that loses against its queries alone doubles the interval, up to
//!    `2^`[`LOSS_DOUBLINGS_MAX`] `= 8` times. So a change is noticed after 800 times C at the latest.
//! 4. *Failed passes.* The queries of a pass that fails may have to be repeated alone. After k failures in a row, k > 1,
//!    passes of the template are suspended until it has run for `2^(k - 1)` times as long as the last one took, up to
//!    `2^`[`FAILURE_DOUBLINGS_MAX`] `= 64` times. One success ends this.
//!
//! Therefore a template of which passes always lose runs at most 1 % longer than with sharing off, after its first pass;
//! and one of which every pass fails at most 1 / 64 longer in the long run.

/// Interval between trials, in costs of a trial: 1 / 1 %.
const TRIAL_INTERVAL: f64 = 100.0;

/// Most often that the interval is doubled because passes lose.
const LOSS_DOUBLINGS_MAX: u32 = 3;

/// Most often that the suspension is doubled because passes fail.
const FAILURE_DOUBLINGS_MAX: u32 = 6;

/// The trials of one template. All times are execution times of the template, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Trials {
    /// How long the template has run.
    spent_us: f64,
    alone_from_us: f64,
    shared_from_us: f64,
    suspended_until_us: f64,
    losses: u32,
    failures: u32,
}

impl Trials {
    /// Whether a query alone may be tried where a pass is predicted to be cheaper.
    pub(crate) fn alone_is_due(&self) -> bool {
        self.spent_us >= self.alone_from_us
    }

    /// Whether a pass may be tried where its queries alone are predicted to be cheaper.
    pub(crate) fn shared_is_due(&self) -> bool {
        self.spent_us >= self.shared_from_us
    }

    /// Whether passes are suspended because they failed.
    pub(crate) fn is_suspended(&self) -> bool {
        self.spent_us < self.suspended_until_us
    }

    /// A query alone starts.
    pub(crate) fn alone_started(&mut self, predicted_us: f64) {
        self.alone_from_us = self.spent_us + TRIAL_INTERVAL * predicted_us;
    }

    /// A pass starts. `one_by_one_us` is the predicted time of its queries alone, one after another.
    pub(crate) fn shared_started(&mut self, predicted_us: f64, one_by_one_us: f64) {
        if predicted_us >= one_by_one_us {
            self.shared_from_us = self.spent_us + TRIAL_INTERVAL * predicted_us;
        }
    }

    /// A query alone took `cost_us`, or failed after it.
    pub(crate) fn alone_finished(&mut self, cost_us: f64) {
        self.spent_us += cost_us;
        self.alone_from_us = self.spent_us + TRIAL_INTERVAL * cost_us;
    }

    /// A pass took `cost_us` and was predicted to take `predicted_us`, its queries one after another `one_by_one_us`.
    pub(crate) fn shared_finished(&mut self, cost_us: f64, predicted_us: f64, one_by_one_us: f64) {
        self.spent_us += cost_us;
        self.failures = 0;
        self.suspended_until_us = 0.0;
        if cost_us >= one_by_one_us {
            self.shared_from_us = self.spent_us + TRIAL_INTERVAL * cost_us * doubled(self.losses, LOSS_DOUBLINGS_MAX);
            self.losses = self.losses.saturating_add(1);
            return;
        }
        self.losses = 0;
        if predicted_us >= one_by_one_us {
            self.shared_from_us = self.spent_us;
        }
    }

    /// The template runs for `us` without an event.
    #[cfg(test)]
    pub(crate) fn spend(&mut self, us: f64) {
        self.spent_us += us;
    }

    /// A pass failed after `elapsed_us`.
    pub(crate) fn shared_failed(&mut self, elapsed_us: f64) {
        self.spent_us += elapsed_us;
        if self.failures > 0 {
            self.suspended_until_us = self.spent_us + elapsed_us * doubled(self.failures, FAILURE_DOUBLINGS_MAX);
        }
        self.failures = self.failures.saturating_add(1);
    }
}

fn doubled(times: u32, times_max: u32) -> f64 {
    f64::from(1_u32 << times.min(times_max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losing_passes_back_off_and_a_won_one_ends_it() {
        let mut trials = Trials::default();
        for interval_us in [1000.0, 2000.0, 4000.0, 8000.0, 8000.0] {
            assert!(trials.shared_is_due());
            trials.shared_finished(10.0, 10.0, 9.0);
            trials.alone_finished(interval_us - 1.0);
            assert!(!trials.shared_is_due(), "{interval_us}");
            trials.alone_finished(1.0);
        }
        trials.shared_started(10.0, 9.0);
        assert!(!trials.shared_is_due());
        trials.shared_finished(8.0, 10.0, 9.0);
        assert!(trials.shared_is_due(), "a won trial is repeated");
        trials.shared_finished(10.0, 10.0, 9.0);
        trials.alone_finished(1000.0);
        assert!(trials.shared_is_due());
    }

    #[test]
    fn passes_that_are_predicted_to_win_neither_delay_nor_cause_trials() {
        let mut trials = Trials::default();
        trials.shared_finished(10.0, 10.0, 9.0);
        for _ in 0..99 {
            trials.shared_started(10.0, 40.0);
            trials.shared_finished(10.0, 10.0, 40.0);
            assert!(!trials.shared_is_due());
        }
        trials.shared_finished(10.0, 10.0, 40.0);
        assert!(trials.shared_is_due());
    }

    #[test]
    fn a_query_alone_is_due_after_a_hundred_of_its_times() {
        let mut trials = Trials::default();
        assert!(trials.alone_is_due());
        trials.alone_started(10.0);
        assert!(!trials.alone_is_due());
        trials.alone_finished(20.0);
        trials.shared_finished(1999.0, 1.0, 1e9);
        assert!(!trials.alone_is_due());
        trials.shared_finished(1.0, 1.0, 1e9);
        assert!(trials.alone_is_due());
    }

    #[test]
    fn passes_are_suspended_from_the_second_failure_in_a_row() {
        let mut trials = Trials::default();
        trials.shared_failed(10.0);
        assert!(!trials.is_suspended());
        for suspended_us in [20.0, 40.0, 80.0] {
            trials.shared_failed(10.0);
            trials.alone_finished(suspended_us - 1.0);
            assert!(trials.is_suspended());
            trials.alone_finished(1.0);
            assert!(!trials.is_suspended());
        }
        trials.shared_finished(10.0, 10.0, 20.0);
        trials.shared_failed(10.0);
        assert!(!trials.is_suspended());
    }
}
