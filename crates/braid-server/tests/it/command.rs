//! The `braid` command as a process, under limits of the operating system.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

/// Starts a server under a hard limit of descriptors, stops it when it listens, and returns its log.
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
