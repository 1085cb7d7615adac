//! The `braid` command as a process, under limits of the operating system.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use braid_testing::{PATIENCE, PAUSE, Wait};
use tokio_postgres::NoTls;

use crate::harness::text_rows;

/// Starts a server under a hard limit of descriptors, stops it when it listens, and returns its log.
fn log_under_limit(descriptors: u32, max_connections: u32) -> String {
    let data = tempfile::tempdir().unwrap();
    let limit = format!("ulimit -Sn 256; ulimit -Hn {descriptors}; exec \"$0\" \"$@\"");
    let mut server = Command::new("sh")
        .args(["-c", &limit, env!("CARGO_BIN_EXE_braid"), "serve", "--listen", "127.0.0.1:0", "--buffer", "64MB"])
        .args(["--max-connections", &max_connections.to_string(), "--data"])
        .arg(data.path().join("data"))
        .env_remove("RUST_LOG")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    server.kill().unwrap();
    let mut log = String::new();
    server.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    server.wait().unwrap();
    assert!(first.starts_with("braid listens on 127.0.0.1:"), "{first}{log}");
    log
}

#[test]
fn a_server_raises_its_limit_on_open_files_and_warns_when_that_is_not_enough() {
    let log = log_under_limit(600, 100);
    assert!(log.contains("descriptors=600") && !log.contains("WARN"), "{log}");
    let log = log_under_limit(600, 1000);
    assert!(log.contains("the limit of open files and sockets is 600, but 1256 may be needed"), "{log}");
}

#[test]
fn a_load_beyond_the_file_size_limit_fails_as_on_a_full_disk() {
    let directory = tempfile::tempdir().unwrap();
    let (csv, data) = (directory.path().join("t.csv"), directory.path().join("data"));
    let numbers: Vec<String> =
        (0..50_000_u64).map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 1).to_string()).collect();
    std::fs::write(&csv, format!("n\n{}\n", numbers.join("\n"))).unwrap();
    // 100 blocks of 512 bytes, for 8 bytes a row.
    for (blocks, success) in [("100", false), ("unlimited", true)] {
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -f $0; exec \"$@\"", blocks])
            .arg(env!("CARGO_BIN_EXE_braid"))
            .arg("load")
            .arg(&csv)
            .args(["--table", "t", "--data"]);
        let output = command.arg(&data).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.success(), error.contains("SQLSTATE 53100")), (success, !success), "{error}");
    }
}

/// Stops a process, also when its test fails.
pub struct Stopped(pub Child);

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Mebibytes of a process that are in memory and that no file backs: `RssAnon` of `/proc/PID/status`.
fn anonymous_mib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() >> 10
}

/// With mimalloc alone 90 MiB or more stay in the heaps of the threads.
#[tokio::test]
async fn an_idle_server_gives_back_what_large_groups_took() {
    let data = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_braid"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--buffer", "64MB", "--total-memory", "3GB", "--data"]);
    command.arg(data.path()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Stopped(command.spawn().unwrap());
    let mut first = String::new();
    BufReader::new(server.0.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    let address = first.strip_prefix("braid listens on 127.0.0.1:").unwrap();
    let port = address.split_ascii_whitespace().next().unwrap().parse().unwrap();

    let mut clients = Vec::new();
    for _ in 0..8 {
        let mut config = tokio_postgres::Config::new();
        config.host("127.0.0.1").port(port).user("tester").dbname("braid");
        let (client, connection) = config.connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        text_rows(&client, "select 1").await;
        clients.push(client);
    }
    let pid = server.0.id();
    let before_mib = anonymous_mib(pid);
    let groups = "select count(*), max(s) from (
            select value % 200000 as k, min(repeat('abcdefgh', 3 + cast(value % 40 as int))) as s
            from generate_series(1, 400000) as g(value) group by 1) x";
    let peak = async {
        let mut peak_mib = 0;
        loop {
            peak_mib = anonymous_mib(pid).max(peak_mib);
            if peak_mib > before_mib + 300 {
                return peak_mib;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let answers = futures::future::join_all(clients.iter().map(|client| text_rows(client, groups)));
    let (answers, peak_mib) = tokio::join!(answers, tokio::time::timeout(PATIENCE, peak));
    assert!(answers.iter().all(|rows| rows[0][0].as_deref() == Some("200000")), "{answers:?}");
    peak_mib.expect("the groups take 300 MiB and more");

    let (wait, bound_mib) = (Wait::new("the memory to be given back"), before_mib + 40);
    while anonymous_mib(pid) > bound_mib {
        wait.check(|| format!("{} MiB are held, {before_mib} MiB before", anonymous_mib(pid)));
        tokio::time::sleep(PAUSE).await;
    }
}
