//! Simple and prepared statements, errors, transaction state.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_postgres::SimpleQueryMessage;

use crate::harness::{TestServer, sqlstate, text_rows};
use crate::raw_client::{bind, describe_portal, execute, kinds, parse, sync};

#[tokio::test]
async fn simple_queries_answer_each_statement_in_turn() {
    let server = TestServer::start().await;
    let client = server.client().await;
    let rows = text_rows(&client, "select 1 as a, null as b; select 'x' as c").await;
    assert_eq!(rows, [vec![Some("1".to_owned()), None], vec![Some("x".to_owned())]]);
    let messages = client.simple_query("select * from generate_series(1, 3)").await.unwrap();
    assert!(matches!(messages.last(), Some(SimpleQueryMessage::CommandComplete(3))));
}

#[tokio::test]
async fn empty_queries_have_an_answer_of_their_own() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    for sql in ["", " ;; ", "-- nothing"] {
        assert_eq!(kinds(&raw.query(sql).await), "IZ", "{sql:?}");
        let messages = [parse("", sql, &[]), bind("", "", 0, &[], 0), execute("", 0), sync()];
        raw.stream.write_all(&messages.concat()).await.unwrap();
        assert_eq!(kinds(&raw.until_ready().await), "12IZ", "{sql:?}");
    }
}

#[tokio::test]
async fn an_error_has_its_sqlstate_and_ends_the_text() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    let answers = raw.query("select 1; select * from nowhere; select 2").await;
    assert_eq!(kinds(&answers), "TDCEZ");
    let error = &answers[3];
    assert_eq!(error.field(b'C').as_deref(), Some("42P01"));
    assert_eq!((error.field(b'S').as_deref(), error.field(b'V').as_deref()), (Some("ERROR"), Some("ERROR")));
    let answers = raw.query("selec 1").await;
    assert_eq!(answers[0].field(b'C').as_deref(), Some("42601"));
    assert_eq!(answers[0].field(b'P').as_deref(), Some("1"));
    assert_eq!(kinds(&raw.query("select 1").await), "TDCZ", "the connection goes on");
}

#[tokio::test]
async fn errors_from_the_middle_of_a_result_have_a_sqlstate_too() {
    let server = TestServer::start().await;
    let client = server.client().await;
    client.batch_execute("create table divisors (a integer)").await.unwrap();
    client.batch_execute("insert into divisors values (1), (0)").await.unwrap();
    assert_eq!(sqlstate(client.simple_query("select 1 / a from divisors").await), "22012");
    assert_eq!(sqlstate(client.query("select 1 / a from divisors", &[]).await), "22012");
    assert_eq!(text_rows(&client, "select 1").await.len(), 1);
}

#[tokio::test]
async fn prepared_statements_run_many_times() {
    let server = TestServer::start().await;
    let client = server.client().await;
    let statement = client.prepare("select $1::bigint + 1 as next").await.unwrap();
    assert_eq!(statement.columns()[0].name(), "next");
    for value in [1_i64, 41, -1] {
        assert_eq!(client.query_one(&statement, &[&value]).await.unwrap().get::<_, i64>(0), value + 1);
    }
    let (a, b) = (client.prepare("select 1::bigint").await.unwrap(), client.prepare("select 2::bigint").await.unwrap());
    let one = client.query_one(&a, &[]);
    let two = client.query_one(&b, &[]);
    let (one, two) = futures::join!(one, two);
    assert_eq!((one.unwrap().get::<_, i64>(0), two.unwrap().get::<_, i64>(0)), (1, 2), "pipelined");
}

#[tokio::test]
async fn after_an_error_everything_up_to_sync_is_skipped() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    let first = [parse("", "select * from nowhere", &[]), bind("", "", 0, &[], 0), execute("", 0), sync()];
    let second = [parse("", "select 1", &[]), bind("", "", 0, &[], 0), execute("", 0), sync()];
    raw.stream.write_all(&[first.concat(), second.concat()].concat()).await.unwrap();
    assert_eq!(kinds(&raw.until_ready().await), "EZ");
    assert_eq!(kinds(&raw.until_ready().await), "12DCZ");
    for (messages, code) in [
        (vec![parse("s", "select 1", &[]), parse("s", "select 2", &[])], "42P05"),
        (vec![parse("", "select 1; select 2", &[])], "42601"),
        (vec![bind("", "nothing", 0, &[], 0)], "26000"),
        (vec![execute("nothing", 0)], "34000"),
        (vec![parse("", "select 1", &[]), bind("", "", 0, &[Some(b"1")], 0)], "08P01"),
    ] {
        raw.stream.write_all(&[messages.concat(), sync()].concat()).await.unwrap();
        let answers = raw.until_ready().await;
        let error = answers.iter().find(|m| m.kind == 'E').unwrap_or_else(|| panic!("{answers:?}"));
        assert_eq!(error.field(b'C').as_deref(), Some(code));
    }
}

#[tokio::test]
async fn a_failed_transaction_refuses_until_its_end() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    let status = |answers: &[crate::raw_client::Message]| char::from(answers.last().unwrap().body[0]);
    assert_eq!(status(&raw.query("select 1").await), 'I');
    assert_eq!(status(&raw.query("begin").await), 'T');
    assert_eq!(status(&raw.query("select 1").await), 'T');
    assert_eq!(status(&raw.query("select * from nowhere").await), 'E');
    let refused = raw.query("select 1").await;
    assert_eq!((refused[0].field(b'C').as_deref(), status(&refused)), (Some("25P02"), 'E'));
    // An error of the server's own counts as well.
    let answers = raw.query("rollback").await;
    assert_eq!((answers[0].text().as_str(), status(&answers)), ("ROLLBACK", 'I'));
    raw.query("begin").await;
    raw.stream.write_all(&[execute("nothing", 0), sync()].concat()).await.unwrap();
    assert_eq!(status(&raw.until_ready().await), 'E');
    assert_eq!(status(&raw.query("commit").await), 'I');
}

#[tokio::test]
async fn useless_transaction_commands_get_a_warning() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    let answers = raw.query("commit").await;
    assert_eq!(kinds(&answers), "NCZ");
    assert_eq!(answers[0].field(b'C').as_deref(), Some("25P01"));
    assert_eq!(answers[0].field(b'S').as_deref(), Some("WARNING"));
    raw.query("begin").await;
    let answers = raw.query("begin").await;
    assert_eq!((kinds(&answers).as_str(), answers[0].field(b'C').as_deref()), ("NCZ", Some("25001")));
}

#[tokio::test]
async fn notices_come_before_the_end_of_their_statement() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    let answers = raw.query("drop table if exists a, b").await;
    assert_eq!(kinds(&answers), "NNCZ");
    let told = |code: u8| answers[1].field(code);
    assert_eq!(told(b'S').as_deref(), Some("NOTICE"));
    assert_eq!(told(b'C').as_deref(), Some("00000"));
    assert_eq!(told(b'M').as_deref(), Some("table \"b\" does not exist, skipping"));
    raw.stream
        .write_all(&[parse("", "commit", &[]), bind("", "", 0, &[], 0), execute("", 0), sync()].concat())
        .await
        .unwrap();
    assert_eq!(kinds(&raw.until_ready().await), "12NCZ");
    raw.query("set client_min_messages = warning").await;
    assert_eq!(kinds(&raw.query("drop table if exists a").await), "CZ");
    assert_eq!(kinds(&raw.query("commit").await), "NCZ");
    raw.query("set client_min_messages = error").await;
    assert_eq!(kinds(&raw.query("commit").await), "CZ");
}

#[tokio::test]
async fn settings_are_reported_at_start_and_when_they_change() {
    let server = TestServer::start().await;
    let mut raw =
        crate::raw_client::RawClient { stream: tokio::net::TcpStream::connect(server.address).await.unwrap() };
    let answers = raw.startup(&[("user", "tester"), ("application_name", "it's a test")]).await;
    let settings: Vec<(String, String)> = answers
        .iter()
        .filter(|m| m.kind == 'S')
        .map(|m| {
            let mut parts = m.body.split(|b| *b == 0).map(|p| String::from_utf8(p.to_vec()).unwrap());
            (parts.next().unwrap(), parts.next().unwrap())
        })
        .collect();
    for name in ["server_version", "client_encoding", "server_encoding", "DateStyle", "TimeZone", "integer_datetimes"] {
        assert!(settings.iter().any(|(known, _)| known == name), "{name} in {settings:?}");
    }
    assert!(settings.contains(&("application_name".into(), "it's a test".into())), "{settings:?}");
    assert!(settings.contains(&("session_authorization".into(), "tester".into())));
    let answers = raw.query("set application_name = 'other'").await;
    assert_eq!((kinds(&answers).as_str(), answers[1].body.as_slice()), ("CSZ", &b"application_name\0other\0"[..]));
    assert_eq!(kinds(&raw.query("set application_name = 'other'").await), "CZ", "nothing changed");
}

#[tokio::test]
async fn deallocate_forgets_the_protocols_statements() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    raw.stream.write_all(&[parse("s", "select 1", &[]), sync()].concat()).await.unwrap();
    raw.until_ready().await;
    assert_eq!(raw.query("deallocate s").await[0].text(), "DEALLOCATE");
    assert_eq!(raw.query("deallocate s").await[0].field(b'C').as_deref(), Some("26000"));
    raw.stream.write_all(&[parse("s", "select 1", &[]), sync()].concat()).await.unwrap();
    raw.until_ready().await;
    raw.query("deallocate all").await;
    raw.stream.write_all(&[bind("", "s", 0, &[], 0), sync()].concat()).await.unwrap();
    assert_eq!(raw.until_ready().await[0].field(b'C').as_deref(), Some("26000"));
}

#[tokio::test]
async fn a_client_that_idles_in_a_transaction_is_sent_away() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    raw.query("set idle_in_transaction_session_timeout = '50ms'").await;
    // Outside of a block nothing happens.
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!(kinds(&raw.query("begin").await), "CZ");
    let mut told = String::new();
    raw.stream.read_to_string(&mut told).await.unwrap_or_default();
    assert!(told.contains("25P03"), "{told:?}");
}

#[tokio::test]
async fn a_client_that_idles_outside_of_transactions_is_sent_away() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    // A block is not bound by it.
    let answers = raw.query("begin; set idle_session_timeout = '50ms'; select pg_sleep(0.01)").await;
    assert_eq!(kinds(&answers), "CCTDCZ");
    raw.query("commit").await;
    let mut told = String::new();
    raw.stream.read_to_string(&mut told).await.unwrap_or_default();
    assert!(told.contains("57P05") && told.contains("due to idle-session timeout"), "{told:?}");
}

#[tokio::test]
async fn instants_are_shown_in_the_sessions_time_zone() {
    let server = TestServer::start().await;
    let client = server.client().await;
    client.batch_execute("set timezone = 'America/New_York'").await.unwrap();
    let rows = text_rows(&client, "select timestamptz '2024-07-01 12:00', timestamptz '2024-01-01 00:00:00+00'").await;
    let texts: Vec<_> = rows[0].iter().flatten().map(String::as_str).collect();
    assert_eq!(texts, ["2024-07-01 12:00:00-04", "2023-12-31 19:00:00-05"]);
}

/// A numeric that nothing else gives a type: it was NULL once.
#[tokio::test]
async fn a_numeric_parameter_is_its_own_value() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    for value in ["1.5", "-0.00012", "9223372036854775808", "5"] {
        let messages = [
            parse("", "select $1, $1 + 1", &[1700]),
            bind("", "", 0, &[Some(value.as_bytes())], 0),
            describe_portal(""),
            execute("", 0),
            sync(),
        ];
        raw.stream.write_all(&messages.concat()).await.unwrap();
        let answered = raw.until_ready().await;
        assert_eq!(kinds(&answered), "12TDCZ");
        let row = answered.iter().find(|message| message.kind == 'D').unwrap().values();
        assert_eq!(row[0].as_deref(), Some(value.as_bytes()));
    }
}
