//! The passes that run, and the queries that each of them still answers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::events::Attachment;
use crate::ids::{PassNumber, QueryTicket, TemplateNumber};
use crate::lanes::Lane;
use crate::options::Form;
use crate::response_limit::remaining_us;

/// A pass that runs.
#[derive(Clone, Debug)]
pub(crate) struct RunningPass {
    pub(crate) template: TemplateNumber,
    /// The lane; `None` after the pass gave it up.
    pub(crate) lane: Option<Lane>,
    pub(crate) form: Form,
    /// The queries that it still answers.
    pub(crate) queries: BTreeSet<QueryTicket>,
    /// Distinct queries at its start. Those that leave do not shorten it, and those that are attached equal one of them.
    pub(crate) distinct: usize,
    pub(crate) started_us: u64,
    pub(crate) predicted_us: f64,
    /// Until when its oldest query is to be answered, if that has a response limit and waited.
    pub(crate) due_us: Option<u64>,
    /// How long it executed, once it has given its lane up.
    pub(crate) executed_us: Option<f64>,
    /// Whether its time says nothing about its template.
    pub(crate) is_disturbed: bool,
}

impl RunningPass {
    /// Microseconds since its start.
    pub(crate) fn elapsed_us(&self, now_us: u64) -> f64 {
        now_us.saturating_sub(self.started_us) as f64
    }
}

/// All passes that run.
#[derive(Debug, Default)]
pub(crate) struct RunningPasses {
    passes: BTreeMap<PassNumber, RunningPass>,
    pass_of: HashMap<QueryTicket, PassNumber>,
}

impl RunningPasses {
    /// The passes by number, so in the order of their starts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (PassNumber, &RunningPass)> {
        self.passes.iter().map(|(number, pass)| (*number, pass))
    }

    /// Whether a pass answers the query.
    pub(crate) fn contains(&self, ticket: QueryTicket) -> bool {
        self.pass_of.contains_key(&ticket)
    }

    /// A pass starts. The time of an unqueued query is disturbed if it does not have the machine to itself: any number of
    /// others may run beside it. Passes in lanes run beside the other lanes most of the time, so their times are those to
    /// expect.
    pub(crate) fn start(&mut self, number: PassNumber, mut pass: RunningPass) {
        let is_unqueued = pass.lane == Some(Lane::Unqueued);
        pass.is_disturbed = is_unqueued && !self.passes.is_empty();
        for other in self.passes.values_mut() {
            other.is_disturbed |= other.lane == Some(Lane::Unqueued);
        }
        self.pass_of.extend(pass.queries.iter().map(|&ticket| (ticket, number)));
        self.passes.insert(number, pass);
    }

    /// A running pass.
    pub(crate) fn get_mut(&mut self, number: PassNumber) -> Option<&mut RunningPass> {
        self.passes.get_mut(&number)
    }

    /// A pass ends.
    pub(crate) fn end(&mut self, number: PassNumber) -> Option<RunningPass> {
        let pass = self.passes.remove(&number)?;
        for ticket in &pass.queries {
            self.pass_of.remove(ticket);
        }
        Some(pass)
    }

    /// A query becomes one of a pass that runs in a lane or beside them; see [`crate::Scheduler::attach`].
    pub(crate) fn attach(&mut self, now_us: u64, attachment: Attachment, queries_max: usize) -> bool {
        let Attachment { query, pass: number, response_limit } = attachment;
        let Some(pass) = self.passes.get_mut(&number) else { return false };
        let rest_us = remaining_us(pass.predicted_us, pass.elapsed_us(now_us));
        let is_in_time = response_limit.is_none_or(|limit| rest_us <= limit.as_secs_f64() * 1e6);
        let takes_queries = pass.lane.is_some() && (1..queries_max).contains(&pass.queries.len());
        if takes_queries && is_in_time {
            pass.queries.insert(query);
            self.pass_of.insert(query, number);
        }
        takes_queries && is_in_time
    }

    /// A query leaves its pass. Returns the pass and how many queries it still answers.
    pub(crate) fn leave(&mut self, ticket: QueryTicket) -> Option<(PassNumber, usize)> {
        let number = self.pass_of.remove(&ticket)?;
        let pass = self.passes.get_mut(&number).expect("the pass of a running query runs");
        pass.queries.remove(&ticket);
        Some((number, pass.queries.len()))
    }

    /// The predicted rest of the passes in lanes that `is_counted`, in microseconds.
    pub(crate) fn remaining_us(&self, now_us: u64, is_counted: impl Fn(Lane) -> bool) -> f64 {
        let counted = self.passes.values().filter(|pass| pass.lane.is_some_and(&is_counted));
        counted.map(|pass| remaining_us(pass.predicted_us, pass.elapsed_us(now_us))).sum()
    }
}
