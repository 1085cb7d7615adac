//! A disk that is really full: loads fail with 53100, the tables are as before, the space is given back.
//!
//! The child is this test binary, started again for the one ignored test below. It works in a directory with room for
//! [`ROOM_BYTES`]: a small file system of its own, mounted where only it and its children see it, and, as that is not
//! permitted everywhere, a limit on the size of its files. The kernel says no in both, in the middle of a load. The child
//! tells its end with a file beside its directory, without which its parent fails.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use braid_bench::BenchError;
use braid_bench::benchmarks::data_directory::directory_bytes;
use braid_bench::drivers::client::{Client, SessionClient};
use braid_engine::{Config, Database};
use braid_testing::{Requirement, skip};

const DIRECTORY: &str = "BRAID_FULL_DIRECTORY";

/// Enough for the tables before, not for what is loaded.
const ROOM_BYTES: u64 = 4 << 20;

/// The exit status of a test binary whose test failed, and one that says that there was no test.
const TEST_FAILED: i32 = 101;
const NO_ROOM_MADE: i32 = 77;

/// 10 MB of digests, which no codec makes smaller than half.
const LARGE: &str = "select value as number, concat(md5(cast(value as text)), md5(cast(-value as text)), \
                     md5(cast(value + 1000000 as text)), md5(cast(value + 2000000 as text))) as note \
                     from generate_series(1, 80000) as s(value)";

/// The child: not a test, but what the tests start.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "started by the tests of this module, in a directory with little room"]
async fn child_without_room() {
    let room = std::env::var_os(DIRECTORY).expect("this is no test: another one starts it");
    let directory = Path::new(&room).join("data");
    let database = Database::open(Config::new(&directory)).await.unwrap();
    let mut client = SessionClient::new(&database);
    client
        .run("create table small as select value as number, 'note' as note from generate_series(1, 1000) as s(value)")
        .await
        .unwrap();
    let bytes_before = directory_bytes(&directory).unwrap();

    for load in [format!("create table large as {LARGE}"), format!("insert into small {LARGE}")] {
        let error = match client.run(&load).await {
            Err(BenchError::Engine(error)) => error,
            other => panic!("{other:?}: there was to be no room for {load}"),
        };
        assert_eq!(error.sqlstate(), "53100", "{error:?}");
        assert_eq!(directory_bytes(&directory).unwrap(), bytes_before, "the space is given back");
        check_small(&mut client, 1000).await;
    }
    // There is room for what is small, at once and after a restart.
    client.run("insert into small values (1001, 'note')").await.unwrap();
    check_small(&mut client, 1001).await;
    drop(client);
    database.close().await;
    drop(database);

    let database = Database::open(Config::new(&directory)).await.unwrap();
    check_small(&mut SessionClient::new(&database), 1001).await;
    assert!(database.store().snapshot().table("large").is_none());
    let report = database.store().check(|_| {}).await;
    assert!(report.is_sound() && report.orphans.is_empty(), "{report:?}");
    std::fs::write(done(Path::new(&room)), b"").unwrap();
}

/// The file that tells that the child has come to its end: a test binary that finds no test succeeds too.
fn done(room: &Path) -> PathBuf {
    room.with_file_name("done")
}

async fn check_small(client: &mut SessionClient, rows: u64) {
    let answer = client.answer("select count(*), sum(number), min(note), max(note) from small").await.unwrap();
    let expected = [rows.to_string(), (rows * (rows + 1) / 2).to_string(), "note".to_owned(), "note".to_owned()];
    assert_eq!(answer.rows, [expected]);
}

/// Starts the child behind `command`, which sees to it that there is little room in the directory.
fn run_child(mut command: Command) -> io::Result<ExitStatus> {
    let directory = tempfile::tempdir().unwrap();
    let room = directory.path().join("room");
    std::fs::create_dir(&room).unwrap();
    let status = command
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "disk_full::child_without_room", "--ignored", "--nocapture"])
        .env(DIRECTORY, &room)
        .stdin(Stdio::null())
        .status()?;
    assert_eq!(status.success(), done(&room).exists(), "the child ended with {status}");
    Ok(status)
}

#[test]
fn a_load_that_fills_the_file_system_leaves_everything_as_before() {
    let mount = format!(
        "mount -t tmpfs -o size={ROOM_BYTES} tmpfs \"${DIRECTORY}\" || exit {NO_ROOM_MADE}; exec \"$0\" \"$@\""
    );
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &mount]);
    match run_child(command) {
        Ok(status) if status.success() => {}
        Ok(status) if [Some(TEST_FAILED), None].contains(&status.code()) => panic!("the child failed: {status}"),
        Ok(status) => skip(Requirement::SmallFileSystem, format!("unshare and mount ended with {status}")),
        Err(error) => skip(Requirement::SmallFileSystem, format!("unshare: {error}")),
    }
}

#[test]
fn a_load_beyond_the_file_size_limit_leaves_everything_as_before() {
    // `ulimit -f` counts blocks of 512 bytes; without the trap, its signal would end the child.
    let limit = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", ROOM_BYTES / 512);
    let mut command = Command::new("sh");
    command.args(["-c", &limit]);
    let status = run_child(command).unwrap();
    assert!(status.success(), "the child failed: {status}");
}
