//! `braid serve` as a process: what it says when it starts.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

/// Starts a server under a hard limit of so many descriptors, and stops it when it listens; what it logged.
fn log_under_limit(descriptors: u32, max_connections: u32) -> String {
    let data = tempfile::tempdir().unwrap();
    let limit = format!("ulimit -Sn 256; ulimit -Hn {descriptors}; exec \"$0\" \"$@\"");
    let mut server = Command::new("sh")
        .args(["-c", &limit, env!("CARGO_BIN_EXE_braid"), "serve", "--listen", "127.0.0.1:0", "--buffer", "64MB"])
        .args(["--max-connections", &max_connections.to_string(), "--data"])
        .arg(data.path())
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
    assert!(log.contains("only 600 files and sockets may be open at a time, and 1256 may be needed"), "{log}");
}
