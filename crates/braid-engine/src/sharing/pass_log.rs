//! The passes that run with their queries, the last ones that have ended, and totals of all: what the system views show.
//!
//! A synchronous state machine, guarded by the dispatcher's lock. Records are small and plain, so that a reader copies them under
//! the lock and works on the copies.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use braid_share::{Ending, Form, PassNumber, QueryTicket, SharingMode};

/// Most passes that have ended and are remembered.
pub(super) const ENDED_MAX: usize = 100;

/// The template of a query or a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TemplateRef {
    /// The number of the text template.
    pub text: u64,
    /// The number of the plan, which the scheduler calls the template.
    pub plan: u64,
}

/// A pass that runs or has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassRecord {
    pub number: PassNumber,
    pub template: TemplateRef,
    pub form: Form,
    /// Queries at its start, and those that were attached since.
    pub query_count: usize,
    /// Distinct ones among them.
    pub distinct_count: usize,
    pub predicted: Duration,
    /// When it started, in microseconds of the dispatcher's clock.
    pub started_us: u64,
    /// How long it has executed, once it has given its lane up or has ended.
    pub taken: Option<Duration>,
    /// How it ended; `None` while it runs.
    pub end: Option<PassEnd>,
}

/// How a pass ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassEnd {
    pub ending: Ending,
    /// The most memory that it held, in bytes, if known.
    pub memory_bytes: Option<u64>,
    pub size: PassSize,
}

/// What is counted in a pass, as far as it came.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PassSize {
    /// Distinct query sets, with the empty one and that of all queries; `None` for a query alone.
    pub set_count: Option<usize>,
    /// Rows of the distinct queries' results.
    pub row_count: Option<u64>,
}

/// A query that waits or runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueryRecord {
    pub ticket: QueryTicket,
    pub template: TemplateRef,
    pub mode: SharingMode,
    /// When it arrived, in microseconds of the dispatcher's clock.
    pub arrived_us: u64,
}

impl PassRecord {
    /// How long it has executed until `now_us`.
    pub fn taken_until(&self, now_us: u64) -> Duration {
        self.taken.unwrap_or(Duration::from_micros(now_us.saturating_sub(self.started_us)))
    }
}

/// Totals of the passes that have answered their queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PassTotals {
    pub passes: u64,
    /// Queries of these, with those that were attached and those that left.
    pub queries: u64,
    /// Passes with several distinct queries.
    pub shared_passes: u64,
    /// Queries of these.
    pub shared_queries: u64,
    /// Distinct queries of the largest pass.
    pub distinct_count_max: usize,
}

impl PassTotals {
    fn add(&mut self, pass: &PassRecord) {
        let queries = pass.query_count as u64;
        self.passes += 1;
        self.queries += queries;
        if pass.distinct_count > 1 {
            self.shared_passes += 1;
            self.shared_queries += queries;
        }
        self.distinct_count_max = self.distinct_count_max.max(pass.distinct_count);
    }
}

/// The passes.
#[derive(Debug, Default)]
pub(super) struct PassLog {
    /// Passes that run, with the queries that have not left them.
    running: BTreeMap<PassNumber, (PassRecord, Vec<QueryRecord>)>,
    /// The oldest first.
    ended: VecDeque<PassRecord>,
    totals: PassTotals,
}

impl PassLog {
    /// A pass starts.
    pub fn start(&mut self, pass: PassRecord, queries: Vec<QueryRecord>) {
        self.running.insert(pass.number, (pass, queries));
    }

    /// A query is attached to a pass.
    pub fn attach(&mut self, pass: PassNumber, query: QueryRecord) {
        if let Some((record, queries)) = self.running.get_mut(&pass) {
            record.query_count += 1;
            queries.push(query);
        }
    }

    /// A query leaves a pass.
    pub fn leave(&mut self, pass: PassNumber, ticket: QueryTicket) {
        let Some((_, queries)) = self.running.get_mut(&pass) else { return };
        queries.retain(|query| query.ticket != ticket);
    }

    /// A pass has executed, and only waits for its reader.
    pub fn give_up_lane(&mut self, now_us: u64, pass: PassNumber) {
        if let Some((record, _)) = self.running.get_mut(&pass) {
            record.taken = Some(record.taken_until(now_us));
        }
    }

    /// A pass ends.
    pub fn end(&mut self, now_us: u64, pass: PassNumber, end: PassEnd) {
        let Some((mut record, _)) = self.running.remove(&pass) else { return };
        record.taken = Some(record.taken_until(now_us));
        record.end = Some(end);
        if end.ending == Ending::Answered {
            self.totals.add(&record);
        }
        self.ended.push_back(record);
        if self.ended.len() > ENDED_MAX {
            self.ended.pop_front();
        }
    }

    /// All passes: those that have ended in the order of their ends, then those that run.
    pub fn passes(&self) -> Vec<PassRecord> {
        self.ended.iter().chain(self.running.values().map(|(pass, _)| pass)).copied().collect()
    }

    /// What all passes together were that have answered their queries.
    pub fn totals(&self) -> PassTotals {
        self.totals
    }

    /// The queries that run, each with its pass.
    pub fn queries(&self) -> impl Iterator<Item = (QueryRecord, PassRecord)> {
        self.running.values().flat_map(|(pass, queries)| queries.iter().map(|query| (*query, *pass)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: TemplateRef = TemplateRef { text: 1, plan: 2 };

    fn started(number: u64, queries: u64) -> (PassRecord, Vec<QueryRecord>) {
        let of_ticket = |ticket| QueryRecord {
            ticket: QueryTicket(ticket),
            template: TEMPLATE,
            mode: SharingMode::Auto,
            arrived_us: 0,
        };
        let pass = PassRecord {
            number: PassNumber(number),
            template: TEMPLATE,
            form: Form::Shared,
            query_count: queries as usize,
            distinct_count: 1,
            predicted: Duration::from_millis(1),
            started_us: 1000 * number,
            taken: None,
            end: None,
        };
        (pass, (0..queries).map(of_ticket).collect())
    }

    fn end() -> PassEnd {
        PassEnd { ending: Ending::Answered, memory_bytes: None, size: PassSize::default() }
    }

    #[test]
    fn the_last_passes_are_remembered() {
        let mut log = PassLog::default();
        for number in 0..250 {
            let (pass, queries) = started(number, 1);
            log.start(pass, queries);
            log.end(1000 * number + 7, PassNumber(number), end());
        }
        let (pass, queries) = started(250, 3);
        log.start(pass, queries);
        let passes = log.passes();
        assert_eq!((passes.len(), passes[0].number, passes[100].number), (101, PassNumber(150), PassNumber(250)));
        assert_eq!(passes[0].taken, Some(Duration::from_micros(7)));
        assert_eq!(passes[100].taken_until(250_500), Duration::from_micros(500));
        assert_eq!(log.queries().count(), 3);
    }

    #[test]
    fn totals_count_what_was_answered_and_tell_equal_queries_from_different_ones() {
        let mut log = PassLog::default();
        for (number, queries, distinct, ending) in [
            (1, 1, 1, Ending::Answered),
            (2, 4, 1, Ending::Answered),
            (3, 5, 3, Ending::Answered),
            (4, 2, 2, Ending::Answered),
            (5, 7, 7, Ending::Failed),
            (6, 8, 8, Ending::Cancelled),
        ] {
            let (pass, queries) = started(number, queries);
            log.start(PassRecord { distinct_count: distinct, ..pass }, queries);
            log.end(9000, PassNumber(number), PassEnd { ending, ..end() });
        }
        // One that runs does not count yet.
        let (pass, queries) = started(7, 3);
        log.start(pass, queries);
        let expected =
            PassTotals { passes: 4, queries: 12, shared_passes: 2, shared_queries: 7, distinct_count_max: 3 };
        assert_eq!(log.totals(), expected);
    }

    #[test]
    fn attached_queries_are_counted_and_shown() {
        let mut log = PassLog::default();
        let (pass, queries) = started(1, 3);
        let attached = QueryRecord { ticket: QueryTicket(9), ..queries[0] };
        log.start(pass, queries);
        log.attach(PassNumber(1), attached);
        log.attach(PassNumber(2), attached);
        log.leave(PassNumber(1), QueryTicket(9));
        assert_eq!((log.passes()[0].query_count, log.passes()[0].distinct_count, log.queries().count()), (4, 1, 3));
    }

    #[test]
    fn queries_leave_and_slow_readers_do_not_count() {
        let mut log = PassLog::default();
        let (pass, queries) = started(1, 3);
        log.start(pass, queries);
        log.leave(PassNumber(1), QueryTicket(1));
        let tickets: Vec<QueryTicket> = log.queries().map(|(query, _)| query.ticket).collect();
        assert_eq!(tickets, [QueryTicket(0), QueryTicket(2)]);
        log.give_up_lane(1200, PassNumber(1));
        log.end(9000, PassNumber(1), end());
        assert_eq!(log.passes()[0].taken, Some(Duration::from_micros(200)));
        // What was not started is not known.
        log.end(9000, PassNumber(2), end());
        log.leave(PassNumber(2), QueryTicket(1));
        assert_eq!((log.passes().len(), log.queries().count()), (1, 0));
    }
}
