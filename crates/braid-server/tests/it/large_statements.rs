//! Large and deep statements of every kind, sent to the `braid` command as a process: each is answered, or refused with a
//! SQLSTATE of class 54, within [`braid_testing::PATIENCE`]; the server lives on below [`MEMORY_BYTES_MAX`], and the same session and
//! another one answer the next statement.
//!
//! Sizes are chosen below, at and beyond the limits of the engine (`statement_limits`).

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use braid_testing::{PAUSE, Wait};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

use crate::harness::{in_time, sqlstate, text_rows};

/// Maximum memory of the server, including 64 MB for its buffer.
const MEMORY_BYTES_MAX: u64 = 1 << 30;

/// A server process with a table `t (a, b, c)` of one row: 1, 'x1', 2.
struct Server {
    process: Child,
    port: u16,
    _data: TempDir,
}

impl Server {
    async fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_braid"))
            .args(["serve", "--listen", "127.0.0.1:0", "--buffer", "64MB", "--data"])
            .arg(data.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
        let port = first.split("127.0.0.1:").nth(1).and_then(|rest| rest.split(' ').next());
        let port = port.and_then(|port| port.trim().parse().ok()).unwrap_or_else(|| panic!("{first}"));
        let server = Self { process, port, _data: data };
        let client = server.client().await;
        client.batch_execute("create table t (a int, b text, c int)").await.unwrap();
        client.batch_execute("insert into t values (1, 'x1', 2)").await.unwrap();
        server
    }

    async fn client(&self) -> Client {
        let mut config = tokio_postgres::Config::new();
        config.host("127.0.0.1").port(self.port).user("tester").dbname("braid");
        let (client, connection) = config.connect(NoTls).await.expect("the server lives and lets a client in");
        tokio::spawn(connection);
        client
    }

    /// The most memory that the process has had.
    fn memory_bytes_max(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("the process lives");
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What a statement must come to.
#[derive(Clone, Debug, PartialEq)]
enum Answer {
    /// One row whose first column is this.
    Value(String),
    /// A refusal: 54000, 54001 or 54011.
    Refused,
    /// Another error.
    Error(&'static str),
}

use Answer::{Error, Refused};

fn value(value: impl ToString) -> Answer {
    Answer::Value(value.to_string())
}

fn joined(count: usize, between: &str, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(between)
}

fn nested(levels: usize, open: &str, core: &str, close: &str) -> String {
    format!("{}{core}{}", open.repeat(levels), close.repeat(levels))
}

fn repeated(count: usize, between: &str, part: &str) -> String {
    joined(count, between, |_| part.to_owned())
}

/// Chains of operators.
fn chains() -> Vec<(String, String, Answer)> {
    let mut cases = Vec::new();
    let mut add = |name: &str, sql: String, answer: Answer| cases.push((name.to_owned(), sql, answer));
    for terms in [31, 32, 2000, 20_000] {
        add("sum of literals", format!("select {}", repeated(terms, "+", "1")), value(terms));
    }
    add("too many terms", format!("select {}", repeated(60_000, "+", "1")), Refused);
    for terms in [31, 10_000] {
        add("sum of columns", format!("select {} from t", repeated(terms, "+", "a")), value(terms));
        add("difference", format!("select {} from t", repeated(terms, "-", "a")), value(2 - terms as i64));
        let products = repeated(terms, " + ", "a * c");
        add("sum of products", format!("select {products} from t"), value(2 * terms));
    }
    add("overflow", format!("select {} from t", repeated(40, "+", "a * 100000000")), Error("22003"));
    add("sum in a condition", format!("select count(*) from t where {} = 500", repeated(500, "+", "a")), value(1));
    for terms in [31, 3000] {
        add("texts", format!("select length({})", repeated(terms, "||", "'a'")), value(terms));
        add("columns of text", format!("select length({}) from t", repeated(terms, "||", "b")), value(2 * terms));
    }
    for terms in [31, 10_000] {
        let or = joined(terms, " or ", |n| format!("a = {n}"));
        add("or", format!("select count(*) from t where {or}"), value(1));
        let and = joined(terms, " and ", |n| format!("a <> {}", n + 2));
        add("and", format!("select count(*) from t where {and}"), value(1));
    }
    let pairs = joined(500, " or ", |n| format!("(a = {n} and b = 'x{n}')"));
    add("or of ands", format!("select count(*) from t where {pairs}"), value(1));
    for (terms, answer) in [(60, value(1)), (20_000, Refused)] {
        add("product", format!("select {} from t", repeated(terms, "*", "a")), answer);
    }
    for operator in ["+", "||", "*", " or ", " and ", "=", " union all select "] {
        let sql = format!("select {} frm t whre", repeated(10_000, operator, "a"));
        add("a long text that does not parse", sql, Error("42601"));
    }
    cases
}

/// Trees that are deep.
fn nests() -> Vec<(String, String, Answer)> {
    let mut cases = Vec::new();
    let mut add = |name: &str, sql: String, answer: Answer| cases.push((name.to_owned(), sql, answer));
    let both = |levels: usize, answer: Answer| [(levels, answer), (5000, Refused)];
    for (levels, answer) in both(200, value(1)) {
        add("parentheses", format!("select {}", nested(levels, "(", "1", ")")), answer);
    }
    for (levels, answer) in both(100, value(1)) {
        add("not", format!("select count(*) from t where {}", nested(levels, "not (", "a = 1", ")")), answer.clone());
        add(
            "case",
            format!("select {} from t", nested(levels, "case when a = 0 then 0 else ", "1", " end")),
            answer.clone(),
        );
        add("signs", format!("select {} from t", nested(levels, "- ", "a", "")), answer);
    }
    for (levels, answer) in both(60, value(1)) {
        add("calls", format!("select {} from t", nested(levels, "abs(", "a", ")")), answer.clone());
        add("casts", format!("select a{} from t", "::text::int".repeat(levels / 2)), answer.clone());
        add("FROM", format!("select * from {}", nested(levels, "(select * from ", "(select 1) s", ") s")), answer);
    }
    for (levels, answer) in both(30, value(1)) {
        add("scalar subqueries", format!("select {}", nested(levels, "(select ", "1", ")")), answer.clone());
        let exists = nested(levels, "exists (select 1 from t where ", "a = 1", ")");
        add("EXISTS", format!("select count(*) from t where {exists}"), answer.clone());
        let within = nested(levels, "a in (select a from t where ", "a = 1", ")");
        add("IN", format!("select count(*) from t where {within}"), answer);
    }
    for (levels, answer) in both(100, value(1)) {
        add("coalesce", format!("select {} from t", nested(levels, "coalesce(", "a", ", 0)")), answer);
    }
    add("arrays", format!("select {}", nested(5000, "array[", "1", "]")), Refused);
    add("tuples", format!("select {}", nested(5000, "(1, ", "1", ")")), Refused);
    add("calls on system tables", format!("select {} from pg_class", nested(60, "abs(", "1", ")")), value(1));
    add("a default", format!("create table d (a int default {})", nested(60, "abs(", "1", ")")), Refused);
    add("COPY", format!("copy (select {}) to stdout", nested(5000, "(", "1", ")")), Refused);
    add("INSERT", format!("insert into t (a) select {}", nested(5000, "abs(", "1", ")")), Refused);
    add("open parentheses", "select ".to_owned() + &"(".repeat(100_000), Refused);
    add("open calls", "select ".to_owned() + &"f(".repeat(100), Error("42601"));
    cases
}

/// Statements with very many parts.
fn lists() -> Vec<(String, String, Answer)> {
    let mut cases = Vec::new();
    let mut add = |name: &str, sql: String, answer: Answer| cases.push((name.to_owned(), sql, answer));
    let numbers = |count: usize| joined(count, ", ", |n| n.to_string());
    add("IN", format!("select count(*) from t where a in ({})", numbers(5000)), value(1));
    let rows = joined(300, ", ", |n| format!("({n}, {})", n + 1));
    add("IN of rows", format!("select count(*) from t where (a, c) in ({rows})"), value(1));
    add("VALUES", format!("select count(*) from (values {}) v", joined(2000, ", ", |n| format!("({n})"))), value(2000));
    for (count, answer) in [(1600, value(1)), (1700, Refused)] {
        add("columns", format!("select {} from t", joined(count, ", ", |n| format!("a as a{n}"))), answer);
    }
    add("WHEN", format!("select case {} end from t", joined(500, " ", |n| format!("when a = {n} then {n}"))), value(1));
    for (count, answer) in [(100, value(100)), (1000, value(1000)), (5000, Refused)] {
        let union = repeated(count, " union all ", "select 1 as x");
        add("UNION ALL", format!("select count(*) from ({union}) u"), answer);
    }
    for (count, answer) in [(20, value(1)), (60, value(1)), (200, Refused)] {
        let joins = joined(count - 1, "", |n| format!(" join t t{} on t{}.a = t{n}.a", n + 1, n + 1));
        add("joins", format!("select count(*) from t t0{joins}"), answer);
    }
    for (count, answer) in [(50, value(1)), (1000, Refused)] {
        let ctes = joined(count - 1, "", |n| format!(", c{} as (select * from c{n})", n + 1));
        add("WITH", format!("with c0 as (select 1 as x){ctes} select * from c{}", count - 1), answer);
    }
    add(
        "rows of an INSERT",
        format!("insert into t (a) values {}", joined(700_000, ",", |_| "(1)".to_owned())),
        Refused,
    );
    add("blanks", format!("select{}1", " ".repeat(3_000_000)), Refused);
    add("blanks in a literal", format!("select length('{}')", " ".repeat(3_000_000)), value(3_000_000));
    add("a name", format!("select 1 as {}", "x".repeat(100_000)), value(1));
    add("a literal", format!("select length('{}')", "x".repeat(1 << 20)), value(1 << 20));
    cases
}

async fn answer_of(client: &Client, sql: &str) -> Answer {
    match client.simple_query(sql).await {
        Ok(messages) => {
            let first = messages.iter().find_map(|message| match message {
                tokio_postgres::SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("NULL").to_owned()),
                _ => None,
            });
            Answer::Value(first.unwrap_or_default())
        }
        Err(error) => match sqlstate::<()>(Err(error)).as_str() {
            "54000" | "54001" | "54011" => Refused,
            "42601" => Error("42601"),
            "22003" => Error("22003"),
            other => panic!("SQLSTATE {other} for {sql:.100}"),
        },
    }
}

async fn check_all(cases: Vec<(String, String, Answer)>) {
    let server = Server::start().await;
    let client = server.client().await;
    let mut slowest = String::new();
    for (name, sql, expected) in cases {
        let began = Instant::now();
        let case = format!("{name}, {} bytes: {sql:.60}", sql.len());
        let answered = in_time(&case, answer_of(&client, &sql)).await;
        assert_eq!(answered, expected, "{case}");
        writeln!(slowest, "{:>6} ms  {case}", began.elapsed().as_millis()).unwrap();
        assert_eq!(text_rows(&client, "select 1").await, [[Some("1".to_owned())]], "the same session after {case}");
        assert_eq!(text_rows(&server.client().await, "select 1").await.len(), 1, "another session after {case}");
    }
    println!("{slowest}");
    let memory_bytes = server.memory_bytes_max();
    assert!(memory_bytes < MEMORY_BYTES_MAX, "the server took {} MB", memory_bytes >> 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_chains_of_operators_are_answered() {
    check_all(chains()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deep_trees_are_answered_or_refused() {
    check_all(nests()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_of_many_parts_are_answered_or_refused() {
    check_all(lists()).await;
}

/// A statement that takes long to plan in any build.
fn slow_to_plan() -> String {
    let union = repeated(1000, " union all ", "select 1 as x");
    format!("select count(*) from ({union}) u")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timeouts_and_cancels_end_planning() {
    let server = Server::start().await;
    let client = server.client().await;
    let slow = slow_to_plan();
    client.batch_execute("set statement_timeout = 10").await.unwrap();
    let mut longest = Duration::ZERO;
    for _ in 0..3 {
        let began = Instant::now();
        assert_eq!(sqlstate(client.simple_query(&slow).await), "57014");
        longest = longest.max(began.elapsed());
    }
    client.batch_execute("set statement_timeout = 0").await.unwrap();
    let token = client.cancel_token();
    let other = server.client().await;
    let running = "select count(*) from pg_stat_activity where state = 'active' and query like '%union all%'";
    let cancel = async {
        let wait = Wait::new("the statement to run");
        // The statement that asks is active too.
        while text_rows(&other, running).await[0][0].as_deref() != Some("2") {
            wait.check(String::new);
            tokio::time::sleep(PAUSE).await;
        }
        token.cancel_query(NoTls).await.unwrap();
    };
    let began = Instant::now();
    let (cancelled, ()) = futures::join!(client.simple_query(&slow), cancel);
    assert_eq!(sqlstate(cancelled), "57014");
    longest = longest.max(began.elapsed());
    // Neither waits for the planners that were abandoned.
    let began = Instant::now();
    assert_eq!(text_rows(&client, "select 1").await.len(), 1);
    assert_eq!(text_rows(&server.client().await, "select a from t").await.len(), 1);
    longest = longest.max(began.elapsed());
    let began = Instant::now();
    assert_eq!(answer_of(&client, &slow).await, value(1000), "after them it is planned");
    // Whatever else the machine does, what waits for no planner takes a small part of what one takes.
    assert!(longest < began.elapsed(), "{longest:?} beside {:?}", began.elapsed());
}
