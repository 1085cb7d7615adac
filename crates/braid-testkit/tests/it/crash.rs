//! A loading process is killed at random moments; what it had reported as committed is there, nothing is there by half.
//!
//! The child is this test binary, started again for the one ignored test below. It loads tables and inserts into a
//! ledger without end and prints a line after each commit has returned. The parent kills it with SIGKILL some
//! milliseconds later, opens the data directory itself and counts: every printed commit must be whole, the one under way may
//! be whole or absent. The next child goes on with the same directory, so crashes pile up on each other.
//!
//! SIGKILL takes the process, not the machine: what the kernel was given stays given. Lost writes are the fault device's
//! part, in the store's own tests.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use braid_base::Random;
use braid_bench::drivers::client::{Client, SessionClient};
use braid_engine::{Config, Database};
use braid_testing::cases;

const DIRECTORY: &str = "BRAID_CRASH_DIRECTORY";
const ROUNDS: u64 = 10;

/// Every third commit of the child is a table of its own, the others are INSERTs into the ledger.
const TABLE_EVERY: u64 = 3;

/// Rows of commit `number`: some commits are one row, some are several chunks.
fn row_count(number: u64) -> u64 {
    if number.is_multiple_of(TABLE_EVERY) { 20_000 + number * 9973 % 150_000 } else { 1 + number * 31 % 400 }
}

/// 0 to 999 999, from the ten rows of `digits`.
const SERIES: &str = "select cast(a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d + 100000 * g.d as bigint) as item \
                      from digits a, digits b, digits c, digits e, digits f, digits g";

/// The statement of commit `number`.
fn statement(number: u64) -> String {
    let rows = row_count(number);
    if number.is_multiple_of(TABLE_EVERY) {
        return format!(
            "create table loaded_{number} as select cast({number} as bigint) as number, item, \
             concat('note ', item * 7919 % 1000, ' of {number}') as note from ({SERIES}) as s where item < {rows}"
        );
    }
    let values = (0..rows).map(|item| format!("({number}, {item}, '{}')", note(number, item)));
    format!("insert into ledger values {}", values.collect::<Vec<_>>().join(", "))
}

fn note(number: u64, item: u64) -> String {
    format!("note {} of {number}", item * 7919 % 1000)
}

/// The child: not a test, but what the test starts.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "started, and killed, by committed_rows_survive_a_kill"]
async fn child_that_is_killed() {
    let directory = std::env::var_os(DIRECTORY).expect("this is no test: another one starts it");
    let database = Database::open(Config::new(Path::new(&directory))).await.unwrap();
    let mut client = SessionClient::new(&database);
    client.run("create table if not exists ledger (number bigint not null, item bigint, note text)").await.unwrap();
    let digits =
        "create table digits as select * from (values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) as t(d)";
    if database.store().snapshot().table("digits").is_none() {
        client.run(digits).await.unwrap();
    }
    let done = client.answer("select coalesce(max(number), 0) from ledger").await.unwrap().rows[0][0].clone();
    let tables = database.store().snapshot().tables().filter_map(|t| loaded_number(&t.def.name)).max().unwrap_or(0);
    let mut number = done.parse::<u64>().unwrap().max(tables);
    loop {
        number += 1;
        client.run(&statement(number)).await.unwrap();
        // One write of one line: the parent reads lines that were finished before the kill.
        std::io::stdout().write_all(format!("committed {number}\n").as_bytes()).unwrap();
    }
}

fn loaded_number(table: &str) -> Option<u64> {
    table.strip_prefix("loaded_")?.parse().ok()
}

fn start_child(directory: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child_that_is_killed", "--ignored", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Lets a child work, kills it `after` its first commit, and answers the last commit it reported.
fn run_and_kill(directory: &Path, after: Duration) -> u64 {
    let mut child = start_child(directory);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let committed = |line: String| line.strip_prefix("committed ").map(|n| n.parse::<u64>().unwrap());
    let mut last = loop {
        match lines.next() {
            Some(line) => {
                if let Some(number) = committed(line.unwrap()) {
                    break number;
                }
            }
            None => panic!("the child ended by itself: {:?}", child.wait()),
        }
    };
    std::thread::sleep(after);
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(9), "the child was to be killed, not to end: {status}");
    for line in lines {
        last = committed(line.unwrap()).unwrap_or(last);
    }
    last
}

/// Checks every commit up to the last one reported, and that a later one is whole or absent.
async fn check(directory: &Path, reported: u64) -> Result<(), String> {
    let database = Database::open(Config::new(directory)).await.map_err(|e| format!("{e:?}"))?;
    let mut client = SessionClient::new(&database);
    let sql =
        "select number, count(*), sum(item), count(distinct item), min(note), max(note) from ledger group by number";
    let inserts = client.answer(sql).await.map_err(|e| e.to_string())?;
    let mut present: Vec<u64> = Vec::new();
    for row in &inserts.rows {
        present.push(check_commit(row)?);
    }
    let tables: Vec<u64> = database.store().snapshot().tables().filter_map(|t| loaded_number(&t.def.name)).collect();
    for number in tables {
        let sql = format!(
            "select number, count(*), sum(item), count(distinct item), min(note), max(note) from loaded_{number} \
             group by number"
        );
        match client.answer(&sql).await.map_err(|e| e.to_string())?.rows.first() {
            Some(row) => present.push(check_commit(row)?),
            None => return Err(format!("loaded_{number} is there without its rows")),
        }
    }
    present.sort_unstable();
    let missing: Vec<u64> = (1..=reported).filter(|n| present.binary_search(n).is_err()).collect();
    if !missing.is_empty() {
        return Err(format!("commits {missing:?} of {reported} were reported and are gone"));
    }
    if let Some(beyond) = present.iter().find(|n| **n > reported + 1) {
        return Err(format!("commit {beyond} is there though only {reported} were reported"));
    }
    database.close().await;
    Ok(())
}

/// A commit's number, if all its rows are there exactly once and unchanged.
fn check_commit(row: &[String]) -> Result<u64, String> {
    let number: u64 = row[0].parse().map_err(|_| format!("{row:?}"))?;
    let rows = row_count(number);
    let notes: Vec<String> = (0..rows).map(|item| note(number, item)).collect();
    let expected = [
        number.to_string(),
        rows.to_string(),
        (rows * (rows - 1) / 2).to_string(),
        rows.to_string(),
        notes.iter().min().expect("at least one row").clone(),
        notes.iter().max().expect("at least one row").clone(),
    ];
    if row == expected { Ok(number) } else { Err(format!("commit {number} is not whole: {expected:?} became {row:?}")) }
}

#[tokio::test(flavor = "multi_thread")]
async fn committed_rows_survive_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let mut reported = 0;
    for (round, case) in cases!(0..ROUNDS).enumerate() {
        let mut random = case.random();
        let after = Duration::from_micros(random.below(150_000));
        let path = directory.path().to_owned();
        let last = tokio::task::spawn_blocking(move || run_and_kill(&path, after)).await.unwrap();
        assert!(last > reported, "the child of round {round} went on from {reported} to {last}");
        reported = last;
        if let Err(failure) = check(directory.path(), reported).await {
            panic!("round {round}, killed {after:?} after its first commit: {failure}");
        }
    }
}
