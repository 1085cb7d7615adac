//! What is known of each template: its times, its memory, its trials.
//!
//! A template is known once one of its passes has finished. At most `models_max` templates are known; beyond, the one that
//! finished a pass least recently is forgotten, and is predicted by the prior again. A million templates that run once
//! leave the last `models_max` of them behind.
//!
//! The prior is the mean time of the templates' first queries, so that it follows the size of the database.

use std::collections::{BTreeMap, HashMap};

use crate::cost_model::CostModel;
use crate::estimate::Estimate;
use crate::ids::TemplateNumber;
use crate::memory_model::MemoryModel;
use crate::options::Form;
use crate::trials::Trials;

/// What is known of one template.
#[derive(Clone, Debug, Default)]
pub(crate) struct TemplateModel {
    pub(crate) costs: CostModel,
    pub(crate) memory: MemoryModel,
    pub(crate) trials: Trials,
    /// When it was last used, as a count of uses.
    used: u64,
}

/// What the router asks of a template, known or not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Predictions<'a> {
    model: &'a TemplateModel,
    prior_us: f64,
}

impl Predictions<'_> {
    /// Microseconds of one query alone.
    pub(crate) fn alone_us(&self) -> f64 {
        self.model.costs.alone_us(self.prior_us)
    }

    /// Whether a query alone has been observed.
    pub(crate) fn has_run_alone(&self) -> bool {
        self.model.costs.has_run_alone()
    }

    /// Microseconds of a pass of `distinct` queries.
    pub(crate) fn shared_us(&self, distinct: usize) -> f64 {
        self.model.costs.shared_us(distinct, self.prior_us)
    }

    /// Bytes of a pass of `distinct` queries.
    pub(crate) fn memory_bytes(&self, distinct: usize) -> Option<u64> {
        self.model.memory.bytes(distinct)
    }

    /// The most queries, up to `most`, whose pass takes at most `bytes_max`.
    pub(crate) fn distinct_max(&self, most: usize, bytes_max: u64) -> usize {
        self.model.memory.distinct_max(most, bytes_max)
    }

    /// The template's trials.
    pub(crate) fn trials(&self) -> &Trials {
        &self.model.trials
    }
}

/// An execution that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Execution {
    pub(crate) form: Form,
    /// Distinct queries, at least 1.
    pub(crate) distinct: usize,
    pub(crate) predicted_us: f64,
    pub(crate) executed_us: f64,
}

/// The known templates.
#[derive(Debug)]
pub(crate) struct TemplateModels {
    known: HashMap<TemplateNumber, TemplateModel>,
    /// The known templates by their last use.
    by_use: BTreeMap<u64, TemplateNumber>,
    uses: u64,
    models_max: usize,
    prior: Estimate,
    unknown: TemplateModel,
}

impl TemplateModels {
    /// No template is known. `prior_us` counts as the first query of one.
    pub(crate) fn new(models_max: usize, prior_us: f64) -> Self {
        Self {
            known: HashMap::new(),
            by_use: BTreeMap::new(),
            uses: 0,
            models_max,
            prior: Estimate::new(prior_us),
            unknown: TemplateModel::default(),
        }
    }

    /// How many templates are known.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// Predictions for a template.
    pub(crate) fn predictions(&self, template: TemplateNumber) -> Predictions<'_> {
        Predictions { model: self.known.get(&template).unwrap_or(&self.unknown), prior_us: self.prior.value() }
    }

    /// `distinct` queries of a template start.
    pub(crate) fn started(&mut self, template: TemplateNumber, form: Form, distinct: usize, predicted_us: f64) {
        let one_by_one_us = self.predictions(template).alone_us() * distinct as f64;
        // An unknown template needs no trials: its first pass makes it known.
        let Some(model) = self.known.get_mut(&template) else { return };
        match form {
            Form::Alone => model.trials.alone_started(predicted_us),
            Form::Shared => model.trials.shared_started(predicted_us, one_by_one_us),
        }
    }

    /// Queries of a template were answered. Returns the template that is forgotten for it.
    pub(crate) fn answered(&mut self, template: TemplateNumber, execution: Execution) -> Option<TemplateNumber> {
        let Execution { form, distinct, predicted_us, executed_us } = execution;
        let one_by_one_us = self.predictions(template).alone_us() * distinct as f64;
        let (model, forgotten) = self.used(template);
        let is_first = model.costs.is_empty();
        match form {
            Form::Alone => {
                model.costs.observe_alone(executed_us);
                model.trials.alone_finished(executed_us);
            }
            Form::Shared => {
                model.costs.observe_shared(distinct, executed_us);
                model.trials.shared_finished(executed_us, predicted_us, one_by_one_us);
            }
        }
        if is_first {
            let alone_us = model.costs.alone_us(executed_us);
            self.prior.observe(alone_us);
        }
        forgotten
    }

    /// Queries failed in this form after `elapsed_us`. Returns the template that is forgotten for it.
    pub(crate) fn failed(&mut self, template: TemplateNumber, form: Form, elapsed_us: f64) -> Option<TemplateNumber> {
        let (model, forgotten) = self.used(template);
        match form {
            Form::Alone => model.trials.alone_finished(elapsed_us),
            Form::Shared => model.trials.shared_failed(elapsed_us),
        }
        forgotten
    }

    /// A pass of `distinct` queries took `bytes`. Returns the template that is forgotten for it.
    pub(crate) fn took_memory(
        &mut self,
        template: TemplateNumber,
        distinct: usize,
        bytes: u64,
    ) -> Option<TemplateNumber> {
        let (model, forgotten) = self.used(template);
        model.memory.observe(distinct, bytes);
        forgotten
    }

    /// The trials of a template, for tests to let time pass.
    #[cfg(test)]
    pub(crate) fn known_trials(&mut self, template: TemplateNumber) -> Option<&mut Trials> {
        self.known.get_mut(&template).map(|model| &mut model.trials)
    }

    /// Forgets a template.
    pub(crate) fn forget(&mut self, template: TemplateNumber) {
        if let Some(model) = self.known.remove(&template) {
            self.by_use.remove(&model.used);
        }
    }

    /// The model of a template, as the last one used.
    fn used(&mut self, template: TemplateNumber) -> (&mut TemplateModel, Option<TemplateNumber>) {
        self.uses += 1;
        let is_new = !self.known.contains_key(&template);
        let is_full = is_new && self.known.len() >= self.models_max;
        let forgotten = is_full.then(|| self.by_use.pop_first()).flatten().map(|(_, oldest)| oldest);
        if let Some(oldest) = forgotten {
            self.known.remove(&oldest);
        }
        let model = self.known.entry(template).or_default();
        self.by_use.remove(&model.used);
        self.by_use.insert(self.uses, template);
        model.used = self.uses;
        (model, forgotten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone(us: f64) -> Execution {
        Execution { form: Form::Alone, distinct: 1, predicted_us: us, executed_us: us }
    }

    #[test]
    fn the_least_recently_used_template_is_forgotten() {
        let mut models = TemplateModels::new(2, 1000.0);
        let [a, b, c] = [1, 2, 3].map(TemplateNumber);
        assert_eq!(models.answered(a, alone(50.0)), None);
        assert_eq!(models.answered(b, alone(60.0)), None);
        assert_eq!(models.answered(a, alone(50.0)), None);
        assert_eq!(models.took_memory(c, 4, 100), Some(b));
        assert_eq!((models.len(), models.by_use.len()), (2, 2));
        assert_eq!(models.predictions(a).alone_us().round(), 50.0);
        models.forget(a);
        models.forget(a);
        assert_eq!((models.len(), models.by_use.len()), (1, 1));
    }

    #[test]
    fn a_million_templates_that_run_once_leave_a_bounded_number_behind() {
        let mut models = TemplateModels::new(100, 1000.0);
        for number in 0..1_000_000 {
            models.answered(TemplateNumber(number), alone(5000.0));
        }
        assert_eq!((models.len(), models.by_use.len()), (100, 100));
    }

    #[test]
    fn the_prior_follows_the_first_queries_of_templates() {
        let mut models = TemplateModels::new(100, 30_000.0);
        for number in 0..20 {
            models.answered(TemplateNumber(number), alone(500.0));
        }
        let prior_us = models.predictions(TemplateNumber(99)).alone_us();
        assert!((500.0..1000.0).contains(&prior_us), "{prior_us}");
    }
}
