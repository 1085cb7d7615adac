//! `braid load` as a process: what it prints, standard input, and errors of one line.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the command with an input; answers whether it has succeeded, and what it has printed.
fn load(data: &Path, arguments: &[&str], input: &[u8]) -> (bool, String, String) {
    let mut process = Command::new(env!("CARGO_BIN_EXE_braid"))
        .arg("load")
        .args(arguments)
        .args(["--buffer", "64MB", "--data"])
        .arg(data)
        .env_remove("RUST_LOG")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = process.stdin.take().unwrap();
    // A command that refuses its options does not read.
    let _ = stdin.write_all(input);
    drop(stdin);
    let output = process.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

fn rows(data: &Path, sql: &str) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_braid")).args(["sql", sql, "--format", "csv", "--data"]).arg(data).output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

#[test]
fn decisions_are_printed_with_their_reasons() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let csv = b"id;zip;price\r\n1;01234;1.50\r\n2;99999;\r\n";
    let (success, printed, error) = load(&data, &["-", "--table", "t"], csv);
    assert!(success, "{error}");
    let lines: Vec<&str> = printed.lines().collect();
    let expected = [
        "delimiter \";\": it divides all 3 lines looked at into 3 fields",
        "the first line is a header: \"id\" is of another kind than the values below it",
        "types from all 3 lines",
        "column  type     why",
        "id      bigint   all 2 values fit",
        "zip     text     a number would lose a leading zero of \"01234\" (standard input, line 2)",
        "price   numeric  the only value fits, 1 null",
    ];
    assert_eq!(lines[..expected.len()], expected);
    assert!(lines[expected.len()].starts_with("loaded 2 rows into t in "), "{printed}");
    assert!(!error.contains(" left"), "a bar is for terminals: {error}");

    let (success, _, error) = load(&data, &["-", "--table", "t", "--append"], b"zip;id\n00001;x\n");
    assert!(!success && error.lines().filter(|line| line.starts_with("braid: ")).count() == 1, "{error}");
    assert!(error.contains("standard input, line 2, column id: \"x\"") && error.contains("22P02"), "{error}");
    let (success, _, error) = load(&data, &["-", "--table", "t", "--append"], b"zip;id\n00001;3\n");
    assert!(success, "{error}");
    assert_eq!(rows(&data, "select id, zip from t order by id"), "id,zip\n1,01234\n2,99999\n3,00001\n");
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    for (arguments, part) in [
        (&["x.csv"][..], "--table"),
        (&["tpch", "--table", "t"], "--table cannot be used with tpch"),
        (&["tpch", "--append"], "--append cannot be used with tpch"),
        (&["-", "--table", "t", "--delimiter", "ab"], "not one character"),
        (&["-", "--table", "t", "--header", "--no-header"], "cannot be used with"),
        (&["-", "--table", "t", "--types", "a"], "COLUMN=TYPE"),
        (&["-", "--table", "t", "--types", "zz=int"], "has not"),
        (&["-", "--table", "a b"], "is no name of a table"),
        (&["nosuch-*.csv", "--table", "t"], "58P01"),
    ] {
        let (success, _, error) = load(&data, arguments, b"a,b\n1,2\n");
        assert!(!success && error.contains(part), "{arguments:?}: {error}");
    }
}

/// Behind the lines that are looked at, too, no value is stored otherwise than it is written.
#[test]
fn a_later_value_that_would_change_stops_the_load() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let sample = "n,day,amount,at\n".to_owned() + &"12,2024-02-03,1.50,2024-01-01 10:00\n".repeat(100_050);
    for (last, column) in [
        ("01234,2024-01-01,1.50,2024-01-01 10:00", "n: \"01234\""),
        ("1,01/02/2024,1.50,2024-01-01 10:00", "day: \"01/02/2024\""),
        ("1,2024-01-01,1e5,2024-01-01 10:00", "amount: \"1e5\""),
        ("1,2024-01-01,1.50,2024-01-01T10:00:00+02:00", "at: \"2024-01-01T10:00:00+02:00\""),
    ] {
        let (success, _, error) = load(&data, &["-", "--table", "t"], format!("{sample}{last}\n").as_bytes());
        assert!(!success && error.contains(&format!("line 100052, column {column}")), "{error}");
        assert!(error.contains("22P02") && error.contains("--types"), "{error}");
    }
}

#[test]
fn a_line_that_would_end_a_copy_is_a_value() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let (success, _, error) = load(&data, &["-", "--table", "t"], b"a\nx\n\\.\ny\n");
    assert!(success, "{error}");
    assert_eq!(rows(&data, "select count(*) from t"), "count\n3\n");
}
