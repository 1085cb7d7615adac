//! The queries of a pass that have neither left nor been answered: those that it started with, and those that were attached since.
//!
//! One lock guards them, which may be taken under the dispatcher's, never the other way round. Queries are attached under the
//! dispatcher's lock while it knows the pass. The pass takes its queries after the dispatcher has let go of it, so that it
//! misses none.

use std::collections::{BTreeMap, HashMap};

use braid_exec::{PassMembers, QueryNumber};
use braid_share::{Form, QueryTicket, SharingMode};
use braid_storage::scalar::ScalarKey;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::equal_queries::QueryKey;
use super::query_handle::{BoundQuery, QueryAnswer, Wanted};
use super::table_versions::TableVersions;
use crate::templates::plan_template::ParameterRow;

/// A query that waits or runs, on its way to its answer.
pub(super) struct PendingQuery {
    pub ticket: QueryTicket,
    pub query: BoundQuery,
    /// A hash of its parameters.
    pub identity: u64,
    /// When it arrived, in microseconds of the dispatcher's clock.
    pub arrived_us: u64,
    pub answer: oneshot::Sender<QueryAnswer>,
}

impl PendingQuery {
    pub fn key(&self) -> QueryKey {
        QueryKey { plan: self.query.template.number, identity: self.identity }
    }

    /// Whether it has the parameters of another query of its plan.
    pub fn equals(&self, other: &Self) -> bool {
        keys_of(&self.query.row).eq(keys_of(&other.query.row))
    }

    /// Answers it. Its statement may have ended.
    pub fn answer(self, answer: QueryAnswer) {
        let _ = self.answer.send(answer);
    }
}

/// Answers queries that have one answer.
pub(super) fn answer_all(queries: Vec<PendingQuery>, answer: impl Fn() -> QueryAnswer) {
    queries.into_iter().for_each(|query| query.answer(answer()));
}

/// The queries of a pass.
pub(super) struct RunningQueries {
    form: Form,
    /// What the pass reads; `None` if a table of its plan is gone.
    versions: Option<TableVersions>,
    distinct: Vec<DistinctQuery>,
    /// The distinct query of each ticket.
    place_of: HashMap<QueryTicket, usize>,
    /// The handle of a pass with sets, once it has one.
    members: Option<PassMembers>,
    /// Cancelled when the last query leaves.
    none_left: CancellationToken,
}

/// Equal queries.
struct DistinctQuery {
    key: QueryKey,
    row: ParameterRow,
    /// In the order of their arrival. Once they have all left, the pass has given the distinct query up.
    staying: BTreeMap<QueryTicket, PendingQuery>,
}

impl RunningQueries {
    /// The queries that a pass starts with.
    pub fn new(form: Form, queries: Vec<PendingQuery>, versions: Option<TableVersions>) -> Self {
        let places = places_of(&queries);
        let mut distinct: Vec<DistinctQuery> = Vec::new();
        let mut place_of = HashMap::with_capacity(queries.len());
        for (query, place) in queries.into_iter().zip(places) {
            place_of.insert(query.ticket, place);
            if place == distinct.len() {
                let (key, row) = (query.key(), query.query.row.clone());
                distinct.push(DistinctQuery { key, row, staying: BTreeMap::new() });
            }
            distinct[place].staying.insert(query.ticket, query);
        }
        Self { form, versions, distinct, place_of, members: None, none_left: CancellationToken::new() }
    }

    /// The parameters of the distinct queries.
    pub fn rows(&self) -> Vec<ParameterRow> {
        self.distinct.iter().map(|distinct| distinct.row.clone()).collect()
    }

    /// What the pass reads; `None` if a table of its plan is gone.
    pub fn versions(&self) -> Option<TableVersions> {
        self.versions.clone()
    }

    /// The keys of the distinct queries, if others can be attached to them.
    pub fn keys(&self) -> Vec<QueryKey> {
        let keys = self.distinct.iter().map(|distinct| distinct.key);
        if self.versions.is_some() { keys.collect() } else { Vec::new() }
    }

    /// Cancelled when the last query leaves.
    pub fn none_left(&self) -> CancellationToken {
        self.none_left.clone()
    }

    /// Whether a query equals the distinct one of this number, and may have its answer. A query that a pass could not answer needs
    /// that of a query alone.
    pub fn takes(&self, distinct: usize, query: &PendingQuery) -> bool {
        let PendingQuery { query, .. } = query;
        let DistinctQuery { row, staying, .. } = &self.distinct[distinct];
        !staying.is_empty()
            && (self.form == Form::Alone || query.mode != SharingMode::Off)
            && keys_of(row).eq(keys_of(&query.row))
            && self.versions.as_ref().is_some_and(|versions| query.reads.allow(versions))
    }

    /// A query that it takes is attached to it.
    pub fn attach(&mut self, distinct: usize, query: PendingQuery) {
        self.place_of.insert(query.ticket, distinct);
        self.distinct[distinct].staying.insert(query.ticket, query);
    }

    /// A query leaves; its distinct query is given up with the last of its tickets.
    pub fn leave(&mut self, ticket: QueryTicket) {
        let Some(distinct) = self.place_of.remove(&ticket) else { return };
        let staying = &mut self.distinct[distinct].staying;
        staying.remove(&ticket);
        if let (true, Some(members)) = (staying.is_empty(), &self.members) {
            members.leave(QueryNumber::at(distinct));
        }
        if self.place_of.is_empty() {
            self.none_left.cancel();
        }
    }

    /// The pass has its handle. Queries that have left meanwhile are given up.
    pub fn set_members(&mut self, members: PassMembers) {
        for (number, _) in self.distinct.iter().enumerate().filter(|(_, distinct)| distinct.staying.is_empty()) {
            members.leave(QueryNumber::at(number));
        }
        self.members = Some(members);
    }

    /// Whether a statement wants to know the plan.
    pub fn is_plan_wanted(&self) -> bool {
        let mut staying = self.distinct.iter().flat_map(|distinct| distinct.staying.values());
        staying.any(|query| query.query.wanted == Wanted::RowsAndPlan)
    }

    /// Takes the queries, by the number of their distinct one and in the order of their arrival.
    pub fn take(&mut self) -> Vec<Vec<PendingQuery>> {
        self.place_of.clear();
        let take = |distinct: &mut DistinctQuery| std::mem::take(&mut distinct.staying).into_values().collect();
        self.distinct.iter_mut().map(take).collect()
    }

    /// Takes the queries of some of the distinct ones, which are given up as if they had left.
    pub fn take_distinct(&mut self, taken: &[bool]) -> Vec<PendingQuery> {
        let taken = self.distinct.iter_mut().zip(taken).filter(|(_, taken)| **taken);
        let queries: Vec<PendingQuery> =
            taken.flat_map(|(distinct, _)| std::mem::take(&mut distinct.staying).into_values()).collect();
        for query in &queries {
            self.place_of.remove(&query.ticket);
        }
        queries
    }

    /// Whether all queries have left or were taken.
    pub fn is_empty(&self) -> bool {
        self.place_of.is_empty()
    }

    /// Takes the queries, all in one list.
    pub fn take_all(&mut self) -> Vec<PendingQuery> {
        self.take().into_iter().flatten().collect()
    }
}

fn keys_of(row: &ParameterRow) -> impl Iterator<Item = ScalarKey<'_>> {
    row.iter().map(ScalarKey::of)
}

/// The distinct query of each query, numbered in the order in which they occur.
fn places_of(queries: &[PendingQuery]) -> Vec<usize> {
    let mut places: HashMap<Vec<ScalarKey<'_>>, usize> = HashMap::new();
    let mut of_queries = Vec::with_capacity(queries.len());
    for query in queries {
        let next = places.len();
        of_queries.push(*places.entry(keys_of(&query.query.row).collect()).or_insert(next));
    }
    of_queries
}
