//! `kill -9` at random moments: what a process was told is committed is there afterwards, whole.
//!
//! The test binary runs itself as a child that inserts until it is killed, telling each commit on its standard output. A
//! child that ends by itself, or is killed before it has committed more than was there, fails the test.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use braid_base::{Random, SeededRandom};
use braid_storage::StoreError;
use braid_testing::cases;

use crate::test_table::{data_files, insert, named_files, new_table, open, read_ids, test_device};

const DIR_VARIABLE: &str = "BRAID_KILL_TEST_DIR";

/// SIGKILL, which no process can catch.
const KILLED: Option<i32> = Some(9);

/// Not a test of its own: what the child does. It has no end.
#[tokio::test]
#[ignore = "started, and killed, by committed_rows_survive_and_others_come_whole_or_not_at_all"]
async fn child() {
    let dir = PathBuf::from(std::env::var_os(DIR_VARIABLE).expect("this is no test: another one starts it"));
    let store = open(&dir).unwrap();
    if store.snapshot().table("t").is_none() {
        store.create_table(new_table("t")).await.unwrap();
    }
    let mut next = store.snapshot().table("t").unwrap().row_count() as i64;
    tell(&format!("committed {next}"));
    let mut random = SeededRandom::new(next as u64);
    loop {
        let below = if random.chance(1, 4) { 3_000 } else { 20 };
        let count = 1 + random.below(below) as i64;
        insert(&store, "t", next..next + count).await.unwrap();
        next += count;
        tell(&format!("committed {next}"));
        // Files that come and go.
        let mut scratch = store.create_and_append(new_table("scratch")).unwrap();
        scratch.append(crate::test_table::rows(0..count)).await.unwrap();
        scratch.commit().await.unwrap();
        store.drop_table("scratch").await.unwrap();
    }
}

fn tell(line: &str) {
    // The harness captures `println`; the parent reads what is written to the pipe itself.
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

/// Lets a child work for a while, kills it, and returns the rows that it last told are committed.
fn run_and_kill(dir: &Path, random: &mut SeededRandom) -> i64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["kills::child", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(DIR_VARIABLE, dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = child.id();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The first line tells what was there, the others a commit each.
    let lines_before_the_kill = 2 + random.below(8);
    let mut committed = None;
    let mut seen = 0;
    for line in lines.map_while(Result::ok) {
        // The harness puts its own words on the first line.
        let Some(at) = line.find("committed ") else { continue };
        committed = Some(line[at + "committed ".len()..].parse().unwrap());
        seen += 1;
        if seen == 1 {
            match open(dir).err() {
                Some(StoreError::InUse { pid: held, .. }) => assert_eq!(held, Some(pid)),
                other => panic!("{other:?}"),
            }
        }
        if seen == lines_before_the_kill {
            std::thread::sleep(Duration::from_micros(random.below(20_000)));
            child.kill().unwrap();
        }
    }
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), KILLED, "the child was to be killed at work, after {seen} lines: {status}");
    assert!(seen >= lines_before_the_kill, "the child told {seen} lines of {lines_before_the_kill}");
    committed.expect("the child got as far as its first commit")
}

#[tokio::test]
async fn committed_rows_survive_and_others_come_whole_or_not_at_all() {
    let temp = tempfile::tempdir().unwrap();
    let device = test_device(temp.path());
    let mut before = 0;
    for (round, case) in cases!(0..8).enumerate() {
        let mut random = case.random();
        let committed = run_and_kill(temp.path(), &mut random);
        let store = open(temp.path()).unwrap();
        let snapshot = store.snapshot();
        let ids = read_ids(device.as_ref(), snapshot.table("t").unwrap()).await;
        let count = ids.len() as i64;
        assert!(ids.into_iter().eq(0..count));
        assert!(committed > before && count >= committed, "round {round}: {committed} committed, {count} found");
        if let Some(scratch) = snapshot.table("scratch") {
            let ids = read_ids(device.as_ref(), scratch).await;
            assert!(!ids.is_empty() && ids.iter().copied().eq(0..ids.len() as i64));
            store.drop_table("scratch").await.unwrap();
        }
        drop(snapshot);
        assert_eq!(data_files(temp.path()), named_files(&store));
        let report = store.check(|_| {}).await;
        assert!(report.is_sound() && report.orphans.is_empty(), "{report:?}");
        before = count;
    }
}
