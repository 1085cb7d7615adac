//! Alone or in a pass: what runs next of one queue.
//!
//! 1. *Equal queries are one query.* A queue with one distinct query runs it alone, and all its queries get the answer.
//! 2. *Auto.* A pass of n distinct queries runs if it is predicted to take less time than its queries alone, one after
//!    another (SharedDB, section 3.5: `f(o) < sum of f(n_i)`). Otherwise the oldest query runs alone, then the next one.
//! 3. *Trials.* The form that is predicted to be dearer runs now and then, rarely and bounded (`trials.rs`). A query alone
//!    is tried only if the decision could change: if it would, were one query alone [`ALONE_CHANGE_MAX`] times cheaper; and
//!    before all else if none has been observed, because passes say little of queries alone.
//! 4. *Global.* If a query of the queue asks for it, a pass runs, whatever it costs and also for one query.
//!
//! Why sharing is never much worse than off: predictions come from outcomes, so a template whose passes lose has lost
//! once or a few times when its prediction says so; after that only trials lose, at most 1 % (`trials.rs`).

use crate::options::Form;
use crate::pass_size::PassLimits;
use crate::template_models::Predictions;

/// By what factor the time of one query alone may have fallen without being noticed.
const ALONE_CHANGE_MAX: f64 = 8.0;

/// The queries that wait in one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueLoad {
    /// All queries.
    pub(crate) queries: usize,
    /// Distinct ones.
    pub(crate) distinct: usize,
    /// Those with the mode `Global`.
    pub(crate) global: usize,
}

/// What runs next of a queue, and what the whole queue costs. Times are microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NextPass {
    /// The form.
    pub(crate) form: Form,
    /// Expected number of queries that it answers, the oldest of the queue. `Alone` counts one where the queue has several
    /// distinct queries, although the equals of the oldest are answered with it.
    pub(crate) queries: usize,
    /// Predicted time.
    pub(crate) cost_us: f64,
    /// Predicted time until the queue is empty, if nothing is added to it and nothing else runs.
    pub(crate) backlog_us: f64,
}

/// What runs next of a queue that has at least one query.
pub(crate) fn route(load: QueueLoad, predictions: &Predictions<'_>, limits: PassLimits) -> NextPass {
    let alone_us = predictions.alone_us();
    let all_alone =
        NextPass { form: Form::Alone, queries: 1, cost_us: alone_us, backlog_us: alone_us * load.distinct as f64 };
    if load.global > 0 {
        return pass(load, predictions, limits);
    }
    if load.distinct == 1 {
        return NextPass { queries: load.queries, ..all_alone };
    }
    let size = limits.expected_size(load.queries, load.distinct);
    let trials = predictions.trials();
    if size.distinct < 2 || trials.is_suspended() {
        return all_alone;
    }
    let shared = pass(load, predictions, limits);
    let one_by_one_us = alone_us * size.distinct as f64;
    let is_cheaper = shared.cost_us < one_by_one_us;
    let could_change = !predictions.has_run_alone() || shared.cost_us > one_by_one_us / ALONE_CHANGE_MAX;
    let is_tried = if is_cheaper { could_change && trials.alone_is_due() } else { trials.shared_is_due() };
    match (is_cheaper, is_tried) {
        // After the trial, the rest is passes again.
        (true, true) => NextPass { backlog_us: alone_us + shared.backlog_us, ..all_alone },
        (false, false) => all_alone,
        (true, false) | (false, true) => shared,
    }
}

/// A pass of the first queries of the queue.
fn pass(load: QueueLoad, predictions: &Predictions<'_>, limits: PassLimits) -> NextPass {
    let size = limits.expected_size(load.queries, load.distinct);
    let cost_us = predictions.shared_us(size.distinct);
    let (full_passes, rest) = (load.queries / size.queries, load.queries % size.queries);
    let rest_distinct = (rest * size.distinct).div_ceil(size.queries);
    let rest_us = if rest == 0 { 0.0 } else { predictions.shared_us(rest_distinct) };
    NextPass { form: Form::Shared, queries: size.queries, cost_us, backlog_us: cost_us * full_passes as f64 + rest_us }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::TemplateNumber;
    use crate::template_models::{Execution, TemplateModels};

    const TEMPLATE: TemplateNumber = TemplateNumber(7);
    const LIMITS: PassLimits = PassLimits { queries_max: 8, distinct_max: 8 };

    /// One query alone takes 100, a pass of four `pass_of_four_us`; since one of each the template has run for `spent_us`.
    fn models(pass_of_four_us: f64, spent_us: f64) -> TemplateModels {
        let mut models = TemplateModels::new(8, 1000.0);
        for (form, distinct, us) in [(Form::Alone, 1, 100.0), (Form::Shared, 4, pass_of_four_us)] {
            let execution = Execution { form, distinct, predicted_us: us, executed_us: us };
            models.answered(TEMPLATE, execution);
            models.started(TEMPLATE, form, distinct, us);
        }
        models.known_trials(TEMPLATE).unwrap().spend(spent_us);
        models
    }

    fn check(pass_of_four_us: f64, load: (usize, usize, usize), spent_us: f64, expected: (Form, usize, f64, f64)) {
        let models = models(pass_of_four_us, spent_us);
        let load = QueueLoad { queries: load.0, distinct: load.1, global: load.2 };
        let next = route(load, &models.predictions(TEMPLATE), LIMITS);
        let found = (next.form, next.queries, next.cost_us.round(), next.backlog_us.round());
        assert_eq!(found, expected, "a pass of four takes {pass_of_four_us}, {load:?}, after {spent_us}");
    }

    #[test]
    fn one_distinct_query_runs_alone_and_answers_its_equals() {
        check(150.0, (1, 1, 0), 0.0, (Form::Alone, 1, 100.0, 100.0));
        check(150.0, (5, 1, 0), 0.0, (Form::Alone, 5, 100.0, 100.0));
    }

    #[test]
    fn the_cheaper_form_runs() {
        check(150.0, (4, 4, 0), 0.0, (Form::Shared, 4, 150.0, 150.0));
        check(399.0, (4, 4, 0), 0.0, (Form::Shared, 4, 399.0, 399.0));
        check(401.0, (4, 4, 0), 0.0, (Form::Alone, 1, 100.0, 400.0));
        // Two distinct queries among four: a pass of two against twice one query alone.
        check(410.0, (4, 2, 0), 0.0, (Form::Alone, 1, 100.0, 200.0));
        check(200.0, (4, 2, 0), 0.0, (Form::Shared, 4, 174.0, 174.0));
    }

    #[test]
    fn a_long_queue_costs_several_passes() {
        check(136.0, (16, 16, 0), 0.0, (Form::Shared, 8, 154.0, 308.0));
        check(136.0, (20, 20, 0), 0.0, (Form::Shared, 8, 154.0, 444.0));
    }

    #[test]
    fn global_always_takes_a_pass() {
        check(136.0, (1, 1, 1), 0.0, (Form::Shared, 1, 100.0, 100.0));
        check(4000.0, (4, 4, 1), 0.0, (Form::Shared, 4, 4000.0, 4000.0));
    }

    #[test]
    fn the_dearer_form_is_tried_when_its_prediction_has_aged() {
        // A lost pass of 500 is tried again after 100 times 500.
        check(500.0, (4, 4, 0), 49_999.0, (Form::Alone, 1, 100.0, 400.0));
        check(500.0, (4, 4, 0), 50_000.0, (Form::Shared, 4, 500.0, 500.0));
        // A query alone is tried after 100 times 100, unless even an eighth of its time would change nothing.
        check(150.0, (4, 4, 0), 9_849.0, (Form::Shared, 4, 150.0, 150.0));
        check(150.0, (4, 4, 0), 9_950.0, (Form::Alone, 1, 100.0, 250.0));
        check(49.0, (4, 4, 0), 9_950.0, (Form::Shared, 4, 49.0, 49.0));
    }
}
