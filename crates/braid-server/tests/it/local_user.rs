//! Who `braid sql` is, and who may connect to `braid serve`, when roles have been created.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::Stopped;
use crate::security::certificate;

/// `braid` for a user of the operating system whose name no role has.
fn braid(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_braid"));
    command.env_remove("PGUSER").env("USER", "nosuch").env_remove("RUST_LOG").env_remove("BRAID_PASSWORD");
    command.current_dir(data);
    command
}

/// Runs `braid sql --format csv`, and returns its output, or its error.
fn sql(data: &Path, statements: &str, arguments: &[&str]) -> Result<String, String> {
    let output = braid(data).args(["sql", statements, "--format", "csv", "--data"]).arg(data).args(arguments).output();
    let output = output.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// Starts a server, and returns its second line: how to connect.
fn serve(data: &Path, arguments: &[&str]) -> (Stopped, String) {
    let mut command = braid(data);
    command.args(["serve", "--listen", "127.0.0.1:0", "--buffer", "64MB", "--data"]).arg(data).args(arguments);
    let mut server = Stopped(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let mut lines = BufReader::new(server.0.stdout.as_mut().unwrap()).lines();
    lines.next().unwrap().unwrap();
    let second = lines.next().unwrap().unwrap();
    (server, second)
}

#[test]
fn a_session_on_the_directory_is_the_superusers_whatever_the_roles() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let current = "select current_user";
    sql(data, "create role reader login", &["--user", "alice"]).unwrap();
    assert!(sql(data, current, &[]).unwrap().contains("alice"));
    assert!(sql(data, current, &["--user", "reader"]).unwrap().contains("reader"));
    let refused = sql(data, current, &["--user", "nobody"]).unwrap_err();
    assert!(refused.contains("role \"nobody\" does not exist") && refused.contains("--user"), "{refused}");

    // What locks everybody out of a server does not lock the directory's owner out.
    sql(data, "alter role alice nologin valid until '2001-01-01' password 'secret'; alter role reader nologin", &[])
        .unwrap();
    let (server, told) = serve(data, &[]);
    assert!(told.contains("no role can connect") && told.contains("braid sql"), "{told}");
    drop(server);
    sql(data, "alter role alice login valid until 'infinity' password ''", &[]).unwrap();
    let (_server, told) = serve(data, &[]);
    assert!(told.contains("-U alice braid"), "{told}");
    // A server is asked as the superuser that it has published.
    assert!(sql(data, current, &[]).unwrap().contains("alice"));
    assert_eq!(sql(data, "set role reader; select current_user", &[]).unwrap().lines().last(), Some("reader"));
}

#[test]
fn the_example_is_a_user_that_can_connect() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path();
    let (server, told) = serve(data, &[]);
    assert!(told.contains("-U braid braid"), "{told}");
    drop(server);
    let roles =
        "create role \"o'neil\" superuser login password 'x'; create role reader login; alter role alice nologin";
    sql(data, roles, &["--user", "alice"]).unwrap();
    let (server, told) = serve(data, &[]);
    assert!(told.contains(r"-U 'o'\''neil' braid"), "{told}");
    let refused = sql(data, "select 1", &["--user", "nobody"]).unwrap_err();
    assert!(refused.contains("role \"nobody\" does not exist") && refused.contains("PGUSER"), "{refused}");
    assert!(sql(data, "select current_user", &["--user", "reader"]).unwrap().contains("reader"));
    drop(server);
}

#[test]
fn a_server_that_requires_tls_says_so() {
    let data = tempfile::tempdir().unwrap();
    let files = certificate(data.path());
    let paths = [files.certificate.to_str().unwrap(), files.key.to_str().unwrap()];
    let data = data.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let (_server, told) = serve(&data, &["--require-tls", "--tls-cert", paths[0], "--tls-key", paths[1]]);
    assert!(told.ends_with("-U braid 'dbname='\\''braid'\\'' sslmode=require'"), "{told}");
    let refused = sql(&data, "select 1", &[]).unwrap_err();
    assert!(refused.contains("no encryption") && refused.contains("sslmode=require"), "{refused}");
    assert!(!refused.contains("PGUSER"), "{refused}");
}
