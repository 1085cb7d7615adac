//! CancelRequest, vanished clients, large results.

use std::time::Duration;

use braid_testing::{PAUSE, Wait};
use tokio_postgres::NoTls;

use crate::harness::{ENDLESS, LONG, TestServer, eventually, in_time, sqlstate, text_rows};
use crate::raw_client::kinds;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_request_stops_a_statement_that_computes() {
    let server = TestServer::start().await;
    let client = server.client().await;
    let token = client.cancel_token();
    let cancel = async {
        server.one_statement_runs().await;
        token.cancel_query(NoTls).await.unwrap();
    };
    let answers = async { futures::join!(client.simple_query(LONG), cancel) };
    let (answer, ()) = in_time("the end of a cancelled statement", answers).await;
    assert_eq!(sqlstate(answer), "57014");
    assert_eq!(text_rows(&client, "select 1").await.len(), 1, "the next statement is not hit");
    token.cancel_query(NoTls).await.unwrap();
    // The client library does not wait for the server to have taken the request.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(text_rows(&client, "select 1").await.len(), 1, "nothing ran, nothing was cancelled");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_cancels_and_ends_others() {
    let server = TestServer::start().await;
    let (client, other) = (server.client().await, server.client().await);
    let pid = |rows: Vec<Vec<Option<String>>>| rows[0][0].clone().unwrap();
    let target = pid(text_rows(&client, "select pg_backend_pid()").await);
    let cancel = async {
        server.one_statement_runs().await;
        let activity = format!("select state, query from pg_stat_activity where pid = {target}");
        let shown = text_rows(&other, &activity).await;
        assert_eq!(shown[0], [Some("active".to_owned()), Some(LONG.to_owned())]);
        text_rows(&other, &format!("select pg_cancel_backend({target})")).await;
    };
    let (answer, ()) = futures::join!(client.simple_query(LONG), cancel);
    assert_eq!(sqlstate(answer), "57014");
    assert_eq!(text_rows(&client, "select 1").await.len(), 1, "the next statement is not hit");
    let activity = format!("select state, wait_event, query from pg_stat_activity where pid = {target}");
    let shown = text_rows(&other, &activity).await;
    assert_eq!(shown[0], ["idle", "ClientRead", "select 1"].map(|text| Some(text.to_owned())));

    assert_eq!(sqlstate(client.simple_query("select pg_cancel_backend(pg_backend_pid())").await), "57014");
    let end = async {
        server.one_statement_runs().await;
        text_rows(&other, &format!("select pg_terminate_backend({target})")).await;
    };
    let (answer, ()) = futures::join!(client.simple_query(LONG), end);
    assert_eq!(sqlstate(answer), "57P01");
    eventually("the connection ends", || client.is_closed()).await;

    let mut idle = server.raw().await;
    idle.query("begin").await;
    let ended = "select pg_terminate_backend(pid) from pg_stat_activity where state = 'idle in transaction'";
    assert_eq!(text_rows(&other, ended).await, [[Some("t".to_owned())]]);
    let message = idle.read().await.unwrap();
    assert_eq!((message.field(b'S').as_deref(), message.field(b'C').as_deref()), (Some("FATAL"), Some("57P01")));
    assert!(idle.read().await.is_none());
    let wait = Wait::new("the sessions to be gone");
    loop {
        let left = text_rows(&other, "select pid from pg_stat_activity").await;
        if left.len() == 1 {
            break;
        }
        wait.check(|| format!("{left:?}"));
        tokio::time::sleep(PAUSE).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_request_stops_a_statement_that_streams() {
    let server = TestServer::start().await;
    let client = server.client().await;
    let token = client.cancel_token();
    let rows = client.query_raw(ENDLESS, std::iter::empty::<i64>()).await.unwrap();
    futures::pin_mut!(rows);
    let mut count = 0_u64;
    let failure = loop {
        match futures::StreamExt::next(&mut rows).await {
            Some(Ok(_)) => count += 1,
            Some(Err(error)) => break error,
            None => panic!("the result has no end"),
        }
        if count == 10_000 {
            token.cancel_query(NoTls).await.unwrap();
        }
    };
    assert_eq!(failure.code().unwrap().code(), "57014");
    assert_eq!(text_rows(&client, "select 1").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_holds_up_nobody_and_costs_no_memory() {
    let server = TestServer::start().await;
    let before = resident_bytes();
    let mut raw = server.raw().await;
    raw.send(b'Q', format!("{ENDLESS}\0").as_bytes()).await;
    assert_eq!(raw.read().await.unwrap().kind, 'T');
    tokio::time::sleep(Duration::from_secs(2)).await;
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 100 << 20, "the result was buffered: {} MB", grown >> 20);
    assert_eq!(text_rows(&server.client().await, "select 1").await.len(), 1);
    // It reads on where it was.
    for _ in 0..100_000 {
        assert_eq!(raw.read().await.unwrap().kind, 'D');
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vanished_client_stops_its_work() {
    let server = TestServer::start().await;
    for sql in [LONG, ENDLESS] {
        let mut raw = server.raw().await;
        raw.send(b'Q', format!("{sql}\0").as_bytes()).await;
        eventually("the work to begin", || server.database.running_statement_count() == 1).await;
        drop(raw);
        eventually("the work to stop", || server.database.running_statement_count() == 0).await;
    }
}

#[tokio::test]
async fn a_bug_ends_the_statement_and_not_the_connection() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    // What the wire cannot carry shows an error in the middle of a result; rows before it arrive.
    let sql = "select arrow_cast(v, 'UInt64') - 1 from (values (1), (0)) t(v)";
    let answers = raw.query(sql).await;
    assert!(kinds(&answers).ends_with("EZ") || kinds(&answers).ends_with("CZ"), "{answers:?}");
    assert_eq!(kinds(&raw.query("select 1").await), "TDCZ");
}

fn proc_status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Resident memory of this process, server and all.
fn resident_bytes() -> u64 {
    proc_status("VmRSS:")
}
