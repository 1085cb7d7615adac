//! Who can read what the server writes: its files, and the passwords of statements in its log.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::statement_log::log_of;

/// `braid` under a umask that takes nothing away.
fn braid(arguments: &[&str], data: &Path) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", "umask 0; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_braid")]).args(arguments);
    command.arg("--data").arg(data).env_remove("RUST_LOG").env_remove("PGUSER");
    command.output().unwrap()
}

fn succeeds(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    error.into_owned()
}

/// All files and directories at and below a path, with their permissions.
fn modes(path: &Path) -> Vec<(PathBuf, u32)> {
    let mut all = vec![(path.to_owned(), fs::metadata(path).unwrap().mode() & 0o7777)];
    if path.is_dir() {
        let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        all.extend(entries.flat_map(|entry| modes(&entry)));
    }
    all
}

fn check_private(data: &Path) {
    let modes = modes(data);
    for (path, mode) in &modes {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(*mode, expected, "{} has permissions {mode:04o}", path.display());
    }
    assert!(modes.len() > 5, "{modes:?}");
}

#[test]
fn a_data_directory_is_its_owners_whatever_the_umask() {
    let root = tempfile::tempdir().unwrap();
    let data = root.path().join("above/data");
    let sql = "create table t (a int primary key, s text); insert into t select g, 'x' || g from generate_series(1, 20000) g(g); vacuum t";
    succeeds(&braid(&["sql", sql], &data));
    check_private(&root.path().join("above"));

    // One that is open to others is tightened, and the log says so.
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).unwrap();
    let log = succeeds(&braid(&["sql", "insert into t values (0, 'y')"], &data));
    assert!(log.contains("open to other users") && log.contains("0755"), "{log}");
    check_private(&data);
}

#[test]
fn a_directory_with_other_entries_is_not_taken() {
    let root = tempfile::tempdir().unwrap();
    let shared = root.path().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::write(shared.join("letter"), "").unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
    let refused = braid(&["sql", "select 1"], &shared);
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && error.contains("permissions 0777"), "{error}");
    assert_eq!(modes(&shared).len(), 2, "nothing was written");
    assert_eq!(modes(&shared)[0].1, 0o777);
}

#[tokio::test]
async fn no_line_of_the_log_has_a_password() {
    let lines = log_of(async |client, _| {
        client.batch_execute("set log_min_duration_statement = 0").await.unwrap();
        client.batch_execute("create role a login password 'secret1'").await.unwrap();
        client.batch_execute("select 1; alter role nosuch password 'secret2'").await.unwrap_err();
        client.batch_execute("alter role a password 'secret3' 'secret4'").await.unwrap_err();
        client.batch_execute("alter role a password secret5").await.unwrap_err();
        client.batch_execute("alter role a password 'secret6").await.unwrap_err();
        client.batch_execute("do $$begin alter role nosuch password 'secret7'; end$$").await.unwrap_err();
        client.execute("alter role a password 'secret8'", &[]).await.unwrap();
        client.batch_execute("set log_min_error_statement = panic; alter role a password secret9").await.unwrap_err();
    })
    .await;
    let log = lines.join("\n");
    assert!(lines.iter().filter(|line| line.contains("password ***")).count() >= 6, "{log}");
    for secret in (1..=9).map(|number| format!("secret{number}")).filter(|secret| secret != "secret4") {
        assert!(!log.contains(&secret), "{secret} in\n{log}");
    }
}
