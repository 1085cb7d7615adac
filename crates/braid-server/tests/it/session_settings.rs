//! What a session begins with, and what RESET returns to: the startup packet, then the role and the database. The rows are PostgreSQL's.

use tokio::net::TcpStream;

use crate::harness::TestServer;
use crate::raw_client::{Message, RawClient, bind, execute, kinds, parse, sync};

/// The settings that are not the server's, in their order.
const SHOWN: &str = "select concat_ws('|', name, setting, source, reset_val) from pg_settings
    where source not in ('default', 'configuration file', 'override') and name not in ('client_encoding', 'DateStyle') order by name";

async fn connect(server: &TestServer, parameters: &[(&str, &str)]) -> (RawClient, Vec<Message>) {
    let mut client = RawClient { stream: TcpStream::connect(server.address).await.unwrap() };
    let answers = client.startup(parameters).await;
    (client, answers)
}

/// The rows of a statement as texts, or the SQLSTATE of its failure.
async fn ask(client: &mut RawClient, sql: &str) -> Vec<String> {
    let answers = client.query(sql).await;
    if let Some(error) = answers.iter().find(|message| message.kind == 'E') {
        return vec![error.field(b'C').unwrap()];
    }
    let text = |value: Option<Vec<u8>>| value.map_or("NULL".to_owned(), |bytes| String::from_utf8(bytes).unwrap());
    let row = |message: &Message| message.values().into_iter().map(text).collect::<Vec<_>>().join("|");
    answers.iter().filter(|message| message.kind == 'D').map(row).collect()
}

/// The parameters that messages report, with their values.
fn reported(messages: &[Message]) -> Vec<String> {
    let all = messages.iter().filter(|message| message.kind == 'S');
    all.map(|message| String::from_utf8(message.body.clone()).unwrap().trim_end_matches('\0').replace('\0', "="))
        .collect()
}

#[tokio::test]
async fn reset_returns_to_the_startup_packet() {
    let server = TestServer::start().await;
    let parameters = [
        ("user", "tester"),
        ("options", "-c search_path=t1 -c lock_timeout=13s -c my.opt=x"),
        ("TimeZone", "Asia/Tokyo"),
        ("application_name", "pool"),
    ];
    let (mut client, answers) = connect(&server, &parameters).await;
    assert!(reported(&answers).contains(&"TimeZone=Asia/Tokyo".to_owned()));
    let begun = [
        "TimeZone|Asia/Tokyo|client|Asia/Tokyo",
        "application_name|pool|client|pool",
        "lock_timeout|13000|client|13000",
        "search_path|t1|client|t1",
    ];
    let changes =
        "set search_path = t2; set timezone = 'UTC'; set lock_timeout = 1; set my.opt = 'y'; set work_mem = '7MB'";
    for reset in ["reset all", "discard all"] {
        assert_eq!(ask(&mut client, SHOWN).await, begun);
        client.query(changes).await;
        let changed = ask(&mut client, SHOWN).await;
        assert!(changed.contains(&"search_path|t2|session|t1".to_owned()), "{changed:?}");
        assert!(changed.contains(&"work_mem|7168|session|4096".to_owned()), "{changed:?}");
        let answers = client.query(reset).await;
        assert_eq!((kinds(&answers).as_str(), reported(&answers)), ("CSZ", vec!["TimeZone=Asia/Tokyo".to_owned()]));
        assert_eq!(ask(&mut client, "select current_setting('my.opt')").await, ["x"]);
    }
    assert_eq!(ask(&mut client, SHOWN).await, begun);
    let single = [
        ("set search_path = t2; reset search_path; show search_path", "t1"),
        ("set search_path = t2; set search_path to default; show search_path", "t1"),
        ("set timezone = 'UTC'; set time zone local; show timezone", "Asia/Tokyo"),
        ("set search_path = t2; begin; set local search_path to default; commit; show search_path", "t2"),
        ("begin; reset search_path; rollback; show search_path", "t2"),
        ("begin; savepoint a; reset all; rollback to a; commit; show search_path", "t2"),
        ("select set_config('search_path', null, false)", "t1"),
    ];
    for (sql, expected) in single {
        assert_eq!(ask(&mut client, sql).await, [expected], "{sql}");
    }
}

#[tokio::test]
async fn changes_are_reported_whatever_makes_them() {
    let server = TestServer::start().await;
    let (mut client, _) = connect(&server, &[("user", "tester"), ("timezone", "Asia/Tokyo")]).await;
    client.query("begin").await;
    let steps: [(&str, &[&str]); 9] = [
        ("set local timezone = 'UTC'", &["TimeZone=UTC"]),
        ("commit", &["TimeZone=Asia/Tokyo"]),
        ("select set_config('timezone', 'Europe/Berlin', false)", &["TimeZone=Europe/Berlin"]),
        ("set timezone = 'UTC'; select 1/0", &[]),
        ("begin; savepoint a; set timezone = 'UTC'", &["TimeZone=UTC"]),
        ("rollback to a", &["TimeZone=Europe/Berlin"]),
        ("commit; set application_name = 'x'", &["application_name=x"]),
        ("set timezone to default", &["TimeZone=Asia/Tokyo"]),
        ("set work_mem = '8MB'", &[]),
    ];
    for (sql, expected) in steps {
        assert_eq!(reported(&client.query(sql).await), expected, "{sql}");
    }
    let sent = [parse("", "set timezone = 'UTC'", &[]), bind("", "", 0, &[], 0), execute("", 0), sync()].concat();
    tokio::io::AsyncWriteExt::write_all(&mut client.stream, &sent).await.unwrap();
    let answers = client.until_ready().await;
    assert_eq!((kinds(&answers).as_str(), reported(&answers)), ("12CSZ", vec!["TimeZone=UTC".to_owned()]));
}

#[tokio::test]
async fn sessions_begin_with_the_settings_of_their_role_and_database() {
    let server = TestServer::start().await;
    let mut boss = server.raw().await;
    for sql in [
        "alter database braid set work_mem = '5MB'",
        "alter role all set statement_timeout = '11s'",
        "alter role all in database braid set application_name = 'all in db'",
    ] {
        assert_eq!(ask(&mut boss, sql).await, [""; 0], "{sql}");
    }
    // Nobody has a name yet, so that any user may connect.
    let (mut other, _) = connect(&server, &[("user", "other")]).await;
    assert_eq!(ask(&mut other, "show work_mem").await, ["5MB"]);
    for sql in [
        "create role a login; create role b login; grant b to a; create schema t1; grant all on schema t1 to a",
        "alter role all set lock_timeout = '11s'",
        "alter role a set lock_timeout = '12s'",
        "alter role a set search_path = t1, public",
        "alter role a in database braid set work_mem = '6MB'",
        "alter role a in database braid set timezone = 'Asia/Tokyo'",
        "alter role a set role = b",
        "alter role a set my.opt = 'from role'",
    ] {
        assert_eq!(ask(&mut boss, sql).await, [""; 0], "{sql}");
    }
    let kept = "select coalesce(d.datname, ''), coalesce(r.rolname, ''), setconfig from pg_db_role_setting s
        left join pg_database d on d.oid = setdatabase left join pg_roles r on r.oid = setrole order by 1, 2";
    let expected = [
        "||{statement_timeout=11s,lock_timeout=11s}",
        "|a|{lock_timeout=12s,\"search_path=t1, public\",role=b,\"my.opt=from role\"}",
        "braid||{work_mem=5MB,\"application_name=all in db\"}",
        "braid|a|{work_mem=6MB,TimeZone=Asia/Tokyo}",
    ];
    assert_eq!(ask(&mut boss, kept).await, expected);
    let parameters = [
        ("user", "a"),
        ("database", "braid"),
        ("options", "-c lock_timeout=13s -c search_path=t1"),
        ("timezone", "Europe/Berlin"),
    ];
    let (mut client, _) = connect(&server, &parameters).await;
    let begun = [
        "TimeZone|Europe/Berlin|client|Europe/Berlin",
        "application_name|all in db|database|all in db",
        "lock_timeout|13000|client|13000",
        "search_path|t1|client|t1",
        "statement_timeout|11000|global|11000",
        "work_mem|6144|database user|6144",
    ];
    let who = "select current_user, session_user, current_setting('role'), current_setting('my.opt')";
    assert_eq!(ask(&mut client, SHOWN).await, begun);
    assert_eq!(ask(&mut client, who).await, ["b|a|b|from role"]);
    client
        .query("set search_path = x; set timezone = 'UTC'; set role none; set my.opt = 'y'; set work_mem = '7MB'")
        .await;
    client.query("reset all").await;
    assert_eq!(ask(&mut client, SHOWN).await, begun);
    assert_eq!(ask(&mut client, who).await, ["a|a|none|from role"]);
    for sql in ["reset role", "set role none; set session authorization default"] {
        client.query(sql).await;
        assert_eq!(ask(&mut client, who).await, ["b|a|b|from role"], "{sql}");
    }
    client.query("set role none").await;
    client.query("discard all").await;
    assert_eq!(ask(&mut client, who).await, ["b|a|b|from role"]);
    for (sql, state) in [
        ("alter role a set work_mem = '1MB'", "42501"),
        ("alter role b set log_min_duration_statement = 1", "42501"),
        ("alter role all set work_mem = '1MB'", "42501"),
        ("alter database braid set work_mem = '1MB'", "42501"),
        ("alter role all in database braid set work_mem = '1MB'", "42501"),
        ("alter role a in database nosuch set work_mem = '1MB'", "42501"),
        ("set log_min_duration_statement = 1", "42501"),
    ] {
        assert_eq!(ask(&mut client, sql).await, [state], "{sql}");
    }
    for (sql, state) in [
        ("alter database nosuch set work_mem = '1MB'", "3D000"),
        ("alter database braid set nosuch = 1", "42704"),
        ("alter database braid set work_mem = 'x'", "22023"),
        ("alter database braid set server_version = 'x'", "55P02"),
    ] {
        assert_eq!(ask(&mut boss, sql).await, [state], "{sql}");
    }
    boss.query("alter role a reset all; alter role a in database braid reset work_mem; alter database braid reset all")
        .await;
    boss.query("alter role all reset lock_timeout").await;
    assert_eq!(ask(&mut boss, kept).await, ["||{statement_timeout=11s}", "braid|a|{TimeZone=Asia/Tokyo}"]);
    boss.query("drop role a").await;
    assert_eq!(ask(&mut boss, kept).await.len(), 2, "its schema privileges keep it");
    boss.query("revoke all on schema t1 from a; drop role a").await;
    assert_eq!(ask(&mut boss, kept).await, ["||{statement_timeout=11s}"]);
}

#[tokio::test]
async fn settings_that_cannot_be_begun_with_are_told() {
    let server = TestServer::start().await;
    for (name, value, state) in [
        ("timezone", "Mars/Base", "22023"),
        ("options", "-c work_mem=x", "22023"),
        ("options", "-c server_version=9", "55P02"),
        ("options", "-c role=nosuch", "22023"),
        ("datestyle", "French", "22023"),
    ] {
        let (_, answers) = connect(&server, &[("user", "tester"), (name, value)]).await;
        let error = answers.last().unwrap();
        assert_eq!((error.kind, error.field(b'S').as_deref()), ('E', Some("FATAL")), "{value}");
        assert_eq!(error.field(b'C').as_deref(), Some(state), "{value}");
    }
    let mut boss = server.raw().await;
    boss.query("create role a login; create role b; grant b to a; alter role a set role = b; revoke b from a").await;
    let (mut client, answers) = connect(&server, &[("user", "a")]).await;
    let warning = answers.iter().find(|message| message.kind == 'N').unwrap();
    assert_eq!(warning.field(b'M').as_deref(), Some("permission denied to set role \"b\""));
    assert_eq!(ask(&mut client, "select current_user").await, ["a"]);
}
