//! Values that functions make long: the memory that statements take, when they end after their timeout, what they answer.
//!
//! The server is a process of its own, whose memory nothing else in the tests touches. Each statement would make 490 MB
//! of one batch of 8192 rows, or a value of 300 MB, and its budget is 64 MB.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use braid_io::ResidentMemory;
use futures::TryStreamExt;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::harness::{in_time, sqlstate};

/// What a statement's process may take beside its budget: batches on their way, messages, and what the allocator has kept of the
/// statements before, and gives back at another time on a busy machine.
const GROWTH_MAX_BYTES: u64 = (64 + 192) << 20;

/// A server that ends with the test.
struct ServerProcess(Child);

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl ServerProcess {
    fn start(data: &Path) -> (Self, u16) {
        let mut process = Command::new(env!("CARGO_BIN_EXE_braid"))
            .args(["serve", "--listen", "127.0.0.1:0", "--buffer", "64MB", "--query-memory", "64MB", "--data"])
            .arg(data)
            .env("RUST_LOG", "off")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
        let after = first.split("127.0.0.1:").nth(1).unwrap_or_else(|| panic!("no address in {first}"));
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        (Self(process), digits.parse().unwrap())
    }

    fn memory(&self) -> ResidentMemory {
        ResidentMemory::of(self.0.id()).unwrap()
    }

    /// Lets the peak of its memory begin at what it has now.
    fn forget_peak(&self) -> u64 {
        std::fs::write(format!("/proc/{}/clear_refs", self.0.id()), "5").unwrap();
        self.memory().now_bytes
    }
}

/// Runs a statement and drops its rows as they come; how many there were.
async fn row_count(client: &Client, sql: &str) -> Result<u64, tokio_postgres::Error> {
    let messages = client.simple_query_raw(sql).await?;
    let is_row = |message: SimpleQueryMessage| u64::from(matches!(message, SimpleQueryMessage::Row(_)));
    messages.try_fold(0, |count, message| async move { Ok(count + is_row(message)) }).await
}

/// The outcome of a statement: a number of rows, a SQLSTATE, or either rows or a timeout, depending on the machine.
#[derive(Clone, Copy, Debug)]
enum Outcome {
    Rows(u64),
    Fails(&'static str),
    RowsOrTimeout(u64),
}

use Outcome::{Fails, Rows, RowsOrTimeout};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_values_stay_within_memory_and_time() {
    let data = tempfile::tempdir().unwrap();
    let (server, port) = ServerProcess::start(&data.path().join("data"));
    let mut config = tokio_postgres::Config::new();
    config.host("127.0.0.1").port(port).user("tester").dbname("braid");
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    let table = "create table t (a int, b text); \
                 insert into t select value, repeat('x', 10) from generate_series(1, 8192) as s(value)";
    for sql in table.split(';') {
        client.batch_execute(sql).await.unwrap();
    }
    for (sql, expected) in STATEMENTS {
        // What is to fail otherwise has the time for it.
        let timeout = Duration::from_secs(if matches!(expected, RowsOrTimeout(_) | Fails("57014")) { 3 } else { 100 });
        client.batch_execute(&format!("set statement_timeout = '{}ms'", timeout.as_millis())).await.unwrap();
        let before = server.forget_peak();
        let answer = in_time(format!("the end of {sql}"), row_count(&client, sql)).await;
        let grown = server.memory().peak_bytes.saturating_sub(before);
        assert!(grown < GROWTH_MAX_BYTES, "{sql}: {} MB", grown >> 20);
        let (rows, state) = (answer.as_ref().ok().copied(), sqlstate(answer));
        let is_expected = match *expected {
            Rows(count) => rows == Some(count),
            Fails(expected) => state == expected,
            RowsOrTimeout(count) => rows == Some(count) || state == "57014",
        };
        assert!(is_expected, "{sql}: {rows:?} rows, {state}, instead of {expected:?}");
    }
}

const STATEMENTS: &[(&str, Outcome)] = &[
    // What a projection makes, from columns and from constants alone.
    ("select repeat('ab', 30000 + a % 2) from t", RowsOrTimeout(8192)),
    ("select repeat('ab', 30000) from t", RowsOrTimeout(8192)),
    ("select repeat('ab', 60000) from t", RowsOrTimeout(8192)),
    ("select rpad(b, 60000, 'ab') from t", RowsOrTimeout(8192)),
    ("select replace(repeat(b, 100), 'x', repeat('y', 60)) from t", RowsOrTimeout(8192)),
    (
        "select regexp_replace(repeat(b, 100), 'x', 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy', 'g') from t",
        RowsOrTimeout(8192),
    ),
    ("select concat(repeat(b, 6000), a) from t", RowsOrTimeout(8192)),
    ("select case when a > 3 then repeat(b, 6000) else 'x' end from t", RowsOrTimeout(8192)),
    (
        "with c as (select repeat(b, 1000) s from t), d as (select s || s || s s from c) select s || s from d",
        RowsOrTimeout(8192),
    ),
    // What other operators make of it.
    ("select count(*) from t where length(repeat(b, 6000)) > 5", RowsOrTimeout(1)),
    ("select max(repeat(b, 6000)) from t", RowsOrTimeout(1)),
    ("select distinct repeat(b, 6000) from t", RowsOrTimeout(1)),
    ("select x.b || y.b from (select repeat(b, 1000) b from t) x, t y", Fails("57014")),
    ("select a from t where a < 3 union all select length(repeat(b, 6000)) from t", RowsOrTimeout(8194)),
    // Single values.
    ("select length(repeat('x', 1000000))", Rows(1)),
    ("select length(repeat('x', 300000000))", Fails("53200")),
    ("select length(repeat('x', 2000000000))", Fails("54000")),
    ("select length(lpad('x', 300000000))", Fails("54000")),
    ("values (repeat('x', 1000000)), (repeat('y', 1000000))", Rows(2)),
    ("values (repeat('x', 100000000)), (repeat('y', 100000000))", Fails("53200")),
    ("select count(*) from (select generate_series(1, 100000000)) s", RowsOrTimeout(1)),
    (
        "with recursive r(s) as (select 'x'::text union all select s || s from r where length(s) < 500000000) \
         select max(length(s)) from r",
        Fails("53200"),
    ),
    // What aggregate functions hold.
    ("select length(string_agg(repeat(b, 6000), ',')) from t", Fails("53200")),
    ("select length(string_agg(b, repeat(',', 60000))) from t", Fails("53200")),
    ("select array_agg(repeat(b, 6000)) from t", Fails("53200")),
    // What window functions hold, partition by partition; what is not looked at is spilled.
    ("select first_value(repeat(b, 6000)) over (partition by a % 10 order by a), a from t", RowsOrTimeout(8192)),
    ("select sum(a) over (), repeat(b, 6000) from t", RowsOrTimeout(8192)),
    ("select sum(a) over (), s from (select a, repeat(b, 6000) s from t) q", Fails("53200")),
];
