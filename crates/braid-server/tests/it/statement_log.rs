//! What a server's log tells of statements.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use braid_testing::{PAUSE, Wait};
use tokio_postgres::{Client, NoTls};

use crate::command::Stopped;

/// Runs a session against a server of its own, and returns the lines of the log that tell of its statements.
pub async fn log_of(session: impl AsyncFnOnce(&Client, &Client)) -> Vec<String> {
    let data = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_braid"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--buffer", "64MB", "--data"]).arg(data.path());
    command.env_remove("RUST_LOG").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = Stopped(command.spawn().unwrap());
    let mut first = String::new();
    BufReader::new(server.0.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    let address = first.strip_prefix("braid listens on 127.0.0.1:").unwrap();
    let port = address.split_ascii_whitespace().next().unwrap().parse().unwrap();
    let connect = async || {
        let mut config = tokio_postgres::Config::new();
        let (client, connection) =
            config.host("127.0.0.1").port(port).user("tester").dbname("braid").connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    };
    session(&connect().await, &connect().await).await;
    let mut log = String::new();
    server.0.kill().unwrap();
    server.0.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    log.lines().filter(|line| line.contains("user=")).map(str::to_owned).collect()
}

#[tokio::test]
async fn failed_statements_are_told_with_their_sqlstate_on_one_line() {
    let lines = log_of(async |client, _| {
        client.batch_execute("select 1").await.unwrap();
        client.batch_execute("select 1;\nselect 1/0").await.unwrap_err();
        client.prepare("select nosuch").await.unwrap_err();
        client.query("select 1/$1::int", &[&0]).await.unwrap_err();
        client.batch_execute("set log_min_error_statement = panic; select 'se\ncret'::int").await.unwrap_err();
    })
    .await;
    let expected = [
        ("sqlstate=\"22012\"", "division by zero", r#"statement="select 1;\nselect 1/0""#),
        ("sqlstate=\"42703\"", "column \"nosuch\" does not exist", "statement=\"select nosuch\""),
        ("sqlstate=\"22012\"", "division by zero", "statement=\"select 1/$1::int\""),
    ];
    assert_eq!(lines.len(), expected.len() + 1, "{lines:#?}");
    for (line, (state, message, statement)) in lines.iter().zip(expected) {
        assert!(line.contains("INFO") && line.contains("pid=") && line.contains("user=\"tester\""), "{line}");
        assert!(line.contains(state) && line.contains(message) && line.contains(statement), "{line}");
    }
    let last = lines.last().unwrap();
    assert!(last.contains("22P02") && last.contains(r#"invalid input syntax for type integer: "se\ncret""#), "{last}");
    assert!(!last.contains("statement="), "{last}");
}

/// The milliseconds that a line gives for a part.
fn part_ms(line: &str, part: &str) -> f64 {
    let at = line.find(&format!("{part}_ms=")).unwrap_or_else(|| panic!("no {part} in {line}"));
    let value = line[at..].split('=').nth(1).unwrap().split_ascii_whitespace().next().unwrap();
    value.parse().unwrap()
}

#[tokio::test]
async fn slow_statements_are_told_with_where_their_time_went() {
    let lines = log_of(async |client, other| {
        client.batch_execute("create table t (a int primary key); insert into t values (1)").await.unwrap();
        client.batch_execute("begin; update t set a = 2").await.unwrap();
        other.batch_execute("set log_min_duration_statement = '200ms'; select 1").await.unwrap();
        let waits = other.batch_execute("update t set a = 3");
        let commits = async {
            let waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock'";
            let wait = Wait::new("the second writer to wait for the first");
            while client.query(waiting, &[]).await.unwrap().is_empty() {
                wait.check(String::new);
                tokio::time::sleep(PAUSE).await;
            }
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
            client.batch_execute("commit").await.unwrap();
        };
        let (waited, ()) = tokio::join!(waits, commits);
        waited.unwrap();
        other.batch_execute("set log_min_duration_statement = 0").await.unwrap();
        other.query("select a from t", &[]).await.unwrap();
        other.batch_execute("set log_min_duration_statement = -1").await.unwrap();
        other.batch_execute("select 2").await.unwrap();
    })
    .await;
    let waited = lines.iter().find(|line| line.contains("update t set a = 3")).unwrap();
    assert!(part_ms(waited, "locks") >= 50.0, "{waited}");
    let rest = &lines;
    let told: Vec<&str> = rest.iter().filter_map(|line| line.split("statement=").nth(1)).collect();
    // What sets the limit is told by the one that holds when it ends.
    assert!(told.iter().all(|line| !line.contains("select 2")), "{told:#?}");
    assert!(told.iter().filter(|line| line.contains("select a from t")).count() >= 2, "Parse and Execute: {told:#?}");
    let parse = rest.iter().find(|line| line.contains("select a from t")).unwrap();
    assert!(part_ms(parse, "planning") > 0.0, "{parse}");
}
