//! The open loop with clients of known behaviour. Times on a busy machine have lower bounds only.

use braid_engine::{EngineError, SqlState};
use futures::future::BoxFuture;

use super::*;
use crate::workloads::answer::Answer;
use crate::workloads::tpch::TpchMix;

const SERVICE: Duration = Duration::from_millis(20);

/// What a client does with its queries, one after the other and again from the start.
#[derive(Clone, Copy)]
enum Act {
    /// Answers after [`SERVICE`].
    Answer,
    Refuse,
    Fail,
    Never,
}

struct Actor {
    acts: &'static [Act],
    asked: usize,
}

impl Client for Actor {
    fn run<'a>(&'a mut self, _: &'a str) -> BoxFuture<'a, Result<u64, BenchError>> {
        Box::pin(async {
            let act = self.acts[self.asked % self.acts.len()];
            self.asked += 1;
            match act {
                Act::Answer => tokio::time::sleep(SERVICE).await,
                Act::Refuse => return Err(EngineError::new(SqlState::InsufficientResources, "full").into()),
                Act::Fail => return Err(BenchError::other("a query", "failed")),
                Act::Never => std::future::pending().await,
            }
            Ok(1)
        })
    }

    fn answer<'a>(&'a mut self, _: &'a str) -> BoxFuture<'a, Result<Answer, BenchError>> {
        Box::pin(async { Ok(Answer::default()) })
    }
}

async fn run(clients: usize, acts: &'static [Act], arrivals_ms: &[u64], drain: Duration) -> (OpenLoopFigures, usize) {
    let clients = (0..clients).map(|_| Box::new(Actor { acts, asked: 0 }) as Box<dyn Client>).collect();
    let workload: Arc<dyn Workload> = Arc::new(TpchMix);
    let arrivals: Vec<Duration> = arrivals_ms.iter().copied().map(Duration::from_millis).collect();
    let duration = arrivals.last().copied().unwrap_or_default() + Duration::from_millis(1);
    let load = OpenLoad { workload: &workload, seed: 1, arrivals, duration, drain };
    let (figures, clients) = open_loop(clients, load).await.unwrap();
    assert_eq!(figures.responses.len(), arrivals_ms.len());
    assert!(figures.responses.iter().all(|r| r.ended >= r.arrived && r.sent.is_none_or(|sent| sent >= r.arrived)));
    assert!(figures.elapsed >= figures.responses.iter().map(|r| r.ended).max().unwrap_or_default());
    (figures, clients.len())
}

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn waiting_for_a_connection_counts_from_the_arrival() {
    let (figures, clients) = run(1, &[Act::Answer], &[0, 0, 0, 0, 5], LONG).await;
    assert_eq!((clients, figures.count(|ending| *ending == Ending::Answered)), (1, 5));
    for (number, response) in figures.responses.iter().enumerate() {
        // One connection answers them one after the other, in the order of arrivals.
        let end = SERVICE * (number as u32 + 1);
        assert!(response.ended >= end && response.time() >= end - response.arrived, "{number}: {response:?}");
        assert!(response.sent.unwrap() >= SERVICE * number as u32, "{number}: {response:?}");
        assert!(response.time_since_sent() >= SERVICE, "{number}: {response:?}");
    }
    // The last one arrived at 5 ms, when four were before it.
    assert!(figures.response_ms(1.0) >= 95.0 && figures.answer_ms_max() >= 95.0, "{figures:?}");
    assert!(figures.driver_wait_ms(1.0) >= 75.0, "{figures:?}");
    assert_eq!(figures.late(SERVICE * 3 - Duration::from_millis(6), Response::time), 3, "{figures:?}");
    assert_eq!(figures.late(LONG, Response::time), 0);
}

#[tokio::test]
async fn a_larger_pool_answers_at_the_same_time() {
    let (figures, clients) = run(8, &[Act::Answer], &[0; 8], LONG).await;
    assert_eq!((clients, figures.count(|ending| *ending == Ending::Answered)), (8, 8));
    // The last one was sent before the first one was answered.
    let sent = figures.responses.iter().map(|response| response.sent.unwrap()).max().unwrap();
    assert!(figures.responses.iter().all(|response| sent < response.ended), "{figures:?}");
    assert!(figures.distinct > 1 && figures.distinct <= 8, "{figures:?}");
}

#[tokio::test]
async fn arrivals_are_sent_at_their_times_and_not_before() {
    let (figures, _) = run(4, &[Act::Answer], &[0, 30, 31, 90], LONG).await;
    assert!(figures.responses[3].ended >= Duration::from_millis(110), "{figures:?}");
    // The last answer is after the last arrival, so it does not count in the throughput.
    assert!(figures.throughput() <= 3.0 / 0.091, "{figures:?}");
}

#[tokio::test]
async fn refused_and_failed_queries_are_no_responses() {
    let (figures, clients) = run(1, &[Act::Refuse, Act::Answer, Act::Fail], &[0; 7], LONG).await;
    let refused = figures.count(|ending| *ending == Ending::Refused);
    assert_eq!((clients, refused, figures.count(|ending| *ending == Ending::Answered)), (1, 3, 2));
    assert_eq!(figures.failures(), (2, Some("a query: failed")));
    // The last refusal waited for two answers, and only that in the driver.
    assert!(figures.responses[6].time() >= SERVICE * 2, "{figures:?}");
    assert!(figures.refusal_ms(0.0) < 20.0, "{figures:?}");
    assert!(figures.response_ms(0.0) >= 20.0, "{figures:?}");
}

#[tokio::test]
async fn unfinished_queries_count_with_the_time_they_have_waited() {
    let drain = Duration::from_millis(80);
    let (figures, clients) = run(2, &[Act::Answer, Act::Never], &[0, 0, 10, 10, 10], drain).await;
    // Both connections have answered one, and wait for their second one for ever. The fifth query is not sent.
    assert_eq!((clients, figures.count(|ending| *ending == Ending::Unfinished)), (0, 3));
    assert_eq!(figures.count(|ending| *ending == Ending::Answered), 2);
    assert!(figures.responses[3].sent.is_some() && figures.responses[4].sent.is_none(), "{figures:?}");
    assert_eq!(figures.responses[4].time_since_sent(), Duration::ZERO);
    // Until 11 ms + 80 ms, from 10 ms on.
    assert!(figures.responses[2..].iter().all(|response| response.time() >= Duration::from_millis(81)), "{figures:?}");
    assert!(figures.response_ms(0.5) >= 81.0 && figures.answer_ms_max() > 0.0, "{figures:?}");
}
