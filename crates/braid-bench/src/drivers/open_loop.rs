//! The open loop: queries arrive at given times, whether earlier ones are answered or not.
//!
//! A pool of connections sends them. An arrival that finds no free connection waits in the driver, first come, first served. A response
//! time is measured from the time at which the query was to arrive, so that all waiting counts, in the driver too. (A closed
//! loop hides it: its clients do not ask while they wait, which is called coordinated omission.)
//!
//! After the last arrival, the loop waits for answers, but not longer than its drain limit. What is unfinished then counts as a
//! response with the time that has passed since its arrival, which is too short: a quantile with unfinished queries is a lower
//! bound. Their connections are closed, which cancels the queries in the server.
//!
//! Arrivals are announced by a thread that sleeps until each of them, because timers of tokio have a resolution of a millisecond.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::BenchError;
use crate::drivers::client::Client;
use crate::drivers::closed_loop::Clients;
use crate::report::summary::quantile;
use crate::workloads::workload::{Texts, Workload};

/// SQLSTATE of a refusal: insufficient resources.
const REFUSED: &str = "53000";

/// What arrives, and when.
pub(crate) struct OpenLoad<'a> {
    /// The texts.
    pub(crate) workload: &'a Arc<dyn Workload>,
    /// Seed of the texts.
    pub(crate) seed: u64,
    /// Times of the arrivals from the start of the loop, in order.
    pub(crate) arrivals: Vec<Duration>,
    /// The time that the arrivals are spread over. No arrival is later.
    pub(crate) duration: Duration,
    /// How long to wait for answers after `duration`.
    pub(crate) drain: Duration,
}

/// How a query ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Answered,
    /// The server refused it because of its load (SQLSTATE 53000).
    Refused,
    /// Any other error.
    Failed(String),
    /// It still waited or ran when the loop ended.
    Unfinished,
}

/// One query. Times are from the start of the loop.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    /// When it was to arrive.
    pub(crate) arrived: Duration,
    /// When it was sent; `None` if no connection was free until the end.
    pub(crate) sent: Option<Duration>,
    /// When it ended; the end of the loop if it is unfinished.
    pub(crate) ended: Duration,
    pub(crate) ending: Ending,
}

impl Response {
    /// Time from the intended arrival to the end.
    pub(crate) fn time(&self) -> Duration {
        self.ended.saturating_sub(self.arrived)
    }

    /// Time from sending to the end; zero if it was not sent.
    pub(crate) fn time_since_sent(&self) -> Duration {
        self.sent.map_or(Duration::ZERO, |sent| self.ended.saturating_sub(sent))
    }
}

/// The figures of an open loop.
#[derive(Clone, Debug)]
pub(crate) struct OpenLoopFigures {
    /// All queries, in the order of their arrivals.
    pub(crate) responses: Vec<Response>,
    /// The time that the arrivals were spread over.
    pub(crate) duration: Duration,
    /// From the start to the last answer, or to the end of the drain.
    pub(crate) elapsed: Duration,
    /// Number of different texts.
    pub(crate) distinct: usize,
}

impl OpenLoopFigures {
    /// Number of queries that ended in this way.
    pub(crate) fn count(&self, is_counted: impl Fn(&Ending) -> bool) -> u64 {
        self.responses.iter().filter(|response| is_counted(&response.ending)).count() as u64
    }

    /// Number of queries that failed, and the first failure.
    pub(crate) fn failures(&self) -> (u64, Option<&str>) {
        let mut failures = self.responses.iter().filter_map(|response| match &response.ending {
            Ending::Failed(error) => Some(error.as_str()),
            _ => None,
        });
        let first = failures.next();
        (u64::from(first.is_some()) + failures.count() as u64, first)
    }

    /// Answers per second until the last arrival could come. Later answers do not count: they belong to no steady state.
    pub(crate) fn throughput(&self) -> f64 {
        let is_counted = |r: &&Response| r.ending == Ending::Answered && r.ended <= self.duration;
        self.responses.iter().filter(is_counted).count() as f64 / self.duration.as_secs_f64()
    }

    /// Response time at a quantile in milliseconds, of the answered and the unfinished queries; 0 if there are none.
    pub(crate) fn response_ms(&self, share: f64) -> f64 {
        self.quantile_ms(share, |ending| matches!(ending, Ending::Answered | Ending::Unfinished), Response::time)
    }

    /// Time from sending to the refusal at a quantile in milliseconds; 0 if none was refused.
    pub(crate) fn refusal_ms(&self, share: f64) -> f64 {
        self.quantile_ms(share, |ending| *ending == Ending::Refused, Response::time_since_sent)
    }

    /// Time from the arrival to sending at a quantile in milliseconds, of the queries that were sent.
    pub(crate) fn driver_wait_ms(&self, share: f64) -> f64 {
        let wait = |r: &Response| r.sent.map(|sent| milliseconds(sent.saturating_sub(r.arrived)));
        quantile(self.responses.iter().filter_map(wait).collect(), share)
    }

    /// Number of answers that took longer than `limit` by a measure.
    pub(crate) fn late(&self, limit: Duration, time: impl Fn(&Response) -> Duration) -> u64 {
        self.responses.iter().filter(|r| r.ending == Ending::Answered && time(r) > limit).count() as u64
    }

    /// The longest response time of an answer, in milliseconds; 0 if there is none.
    pub(crate) fn answer_ms_max(&self) -> f64 {
        self.quantile_ms(1.0, |ending| *ending == Ending::Answered, Response::time)
    }

    fn quantile_ms(
        &self,
        share: f64,
        is_counted: impl Fn(&Ending) -> bool,
        time: impl Fn(&Response) -> Duration,
    ) -> f64 {
        let counted = self.responses.iter().filter(|response| is_counted(&response.ending));
        quantile(counted.map(|response| milliseconds(time(response))).collect(), share)
    }
}

fn milliseconds(time: Duration) -> f64 {
    1e3 * time.as_secs_f64()
}

/// A query's end, from its task.
struct Ended {
    number: usize,
    at: Instant,
    answer: Result<u64, BenchError>,
    client: Box<dyn Client>,
}

/// The state of a loop.
struct OpenLoop {
    start: Instant,
    /// By number of the arrival; unfinished until the end is known.
    responses: Vec<Response>,
    /// The last one used is the next one used.
    free: Clients,
    /// Numbers of arrivals without a connection. No more than there are arrivals.
    waiting: VecDeque<usize>,
    running: JoinSet<Ended>,
    texts: Texts,
    distinct: HashSet<String>,
}

/// Sends all queries at their times. Returns the figures, and the clients whose queries have ended; the others are closed.
///
/// # Errors
/// When a task of a client panicked. A failed query is a figure.
pub(crate) async fn open_loop(clients: Clients, load: OpenLoad<'_>) -> Result<(OpenLoopFigures, Clients), BenchError> {
    assert!(!clients.is_empty(), "an open loop needs a connection");
    let start = Instant::now();
    let response = |&arrived: &Duration| Response { arrived, sent: None, ended: arrived, ending: Ending::Unfinished };
    let mut state = OpenLoop {
        start,
        responses: load.arrivals.iter().map(response).collect(),
        free: clients,
        waiting: VecDeque::new(),
        running: JoinSet::new(),
        texts: Texts::of_client(load.workload, 0, load.seed),
        distinct: HashSet::new(),
    };
    let end = tokio::time::Instant::from_std(start + load.duration + load.drain);
    state.run(announced(start, load.arrivals), end).await?;
    let elapsed = start.elapsed();
    state.running.shutdown().await;
    for response in state.responses.iter_mut().filter(|response| response.ending == Ending::Unfinished) {
        response.ended = elapsed;
    }
    let (responses, distinct) = (state.responses, state.distinct.len());
    Ok((OpenLoopFigures { responses, duration: load.duration, elapsed, distinct }, state.free))
}

impl OpenLoop {
    /// Until all queries have ended, or until `end`.
    async fn run(
        &mut self,
        mut arrivals: mpsc::UnboundedReceiver<usize>,
        end: tokio::time::Instant,
    ) -> Result<(), BenchError> {
        let mut is_arriving = true;
        while is_arriving || !self.waiting.is_empty() || !self.running.is_empty() {
            tokio::select! {
                ended = self.running.join_next(), if !self.running.is_empty() => {
                    let ended = ended.expect("a task runs").map_err(|e| BenchError::other("a client's task", e))?;
                    self.record(ended);
                }
                number = arrivals.recv(), if is_arriving => match number {
                    Some(number) => self.waiting.push_back(number),
                    None => is_arriving = false,
                },
                () = tokio::time::sleep_until(end) => return Ok(()),
            }
            self.send_waiting();
        }
        Ok(())
    }

    fn send_waiting(&mut self) {
        while !self.free.is_empty() {
            let Some(number) = self.waiting.pop_front() else { return };
            let mut client = self.free.pop().expect("one is free");
            let text = self.texts.next().expect("texts are endless");
            self.distinct.insert(text.clone());
            self.responses[number].sent = Some(self.start.elapsed());
            self.running.spawn(async move {
                let answer = client.run(&text).await;
                Ended { number, at: Instant::now(), answer, client }
            });
        }
    }

    fn record(&mut self, Ended { number, at, answer, client }: Ended) {
        let is_lost = answer.as_ref().is_err_and(BenchError::is_lost_connection);
        let response = &mut self.responses[number];
        response.ended = at - self.start;
        response.ending = match answer {
            Ok(_) => Ending::Answered,
            Err(error) if error.sqlstate() == Some(REFUSED) => Ending::Refused,
            Err(error) => Ending::Failed(error.to_string()),
        };
        if !is_lost {
            self.free.push(client);
        }
    }
}

/// The numbers of the arrivals, each at its time. The queue holds no more than there are arrivals.
fn announced(start: Instant, arrivals: Vec<Duration>) -> mpsc::UnboundedReceiver<usize> {
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::task::spawn_blocking(move || {
        for (number, at) in arrivals.into_iter().enumerate() {
            std::thread::sleep((start + at).saturating_duration_since(Instant::now()));
            if sender.send(number).is_err() {
                return;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests;
