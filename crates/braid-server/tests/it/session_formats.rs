//! DateStyle, IntervalStyle, bytea_output and extra_float_digits as clients see them: texts follow them, binary values do not.
//!
//! The texts are PostgreSQL 15's.

use futures::future::join_all;
use tokio::io::AsyncWriteExt;

use crate::harness::TestServer;
use crate::raw_client::{Message, RawClient, bind, execute, parse, sync};

/// Formats, and the row of [`ROW`] in them.
const FORMATS: &[(&str, [&str; 8])] = &[
    (
        "set datestyle = 'iso, mdy'",
        [
            "2024-02-05",
            "2024-02-05 01:02:03.5",
            "2024-07-05 01:02:03+02",
            "1 day -01:00:00",
            "\\x61ff",
            "0.30000000000000004",
            "{2024-02-05,NULL}",
            "(2024-02-05,\"1 day -01:00:00\",\"\\\\x61ff\")",
        ],
    ),
    (
        "set datestyle = 'sql, dmy'; set intervalstyle = 'sql_standard'",
        [
            "05/02/2024",
            "05/02/2024 01:02:03.5",
            "05/07/2024 01:02:03 CEST",
            "+0-0 +1 -1:00:00",
            "\\x61ff",
            "0.30000000000000004",
            "{05/02/2024,NULL}",
            "(05/02/2024,\"+0-0 +1 -1:00:00\",\"\\\\x61ff\")",
        ],
    ),
    (
        "set datestyle = 'postgres, mdy'; set intervalstyle = 'postgres_verbose'; set bytea_output = 'escape'",
        [
            "02-05-2024",
            "Mon Feb 05 01:02:03.5 2024",
            "Fri Jul 05 01:02:03 2024 CEST",
            "@ 1 day -1 hours",
            "a\\377",
            "0.30000000000000004",
            "{02-05-2024,NULL}",
            "(02-05-2024,\"@ 1 day -1 hours\",\"a\\\\377\")",
        ],
    ),
    (
        "set datestyle = 'german'; set intervalstyle = 'iso_8601'; set extra_float_digits = 0",
        [
            "05.02.2024",
            "05.02.2024 01:02:03.5",
            "05.07.2024 01:02:03 CEST",
            "P1DT-1H",
            "\\x61ff",
            "0.3",
            "{05.02.2024,NULL}",
            "(05.02.2024,P1DT-1H,\"\\\\x61ff\")",
        ],
    ),
];

/// A row with a value of each type, of a table.
const ROW: &str = "select d, s, z, i, b, f, array[d, null], row(d, i, b) from t where a = 1";

/// The same without a table.
const CONSTANTS: &str = "select date '2024-02-05', timestamp '2024-02-05 01:02:03.5', timestamptz '2024-07-05 01:02:03', \
    interval '1 day -1 hour', '\\x61ff'::bytea, 0.1::float8 + 0.2::float8, array[date '2024-02-05', null], \
    row(date '2024-02-05', interval '1 day -1 hour', '\\x61ff'::bytea)";

async fn server() -> TestServer {
    let server = TestServer::start().await;
    let mut client = session(&server, "").await;
    let table = "create table t (a int, d date, s timestamp, z timestamptz, i interval, b bytea, f float8)";
    assert_done(&client.query(table).await);
    let row = "insert into t values (1, '2024-02-05', '2024-02-05 01:02:03.5', '2024-07-05 01:02:03', '1 day -1 hour', \
        '\\x61ff', 0.1::float8 + 0.2::float8)";
    assert_done(&client.query(row).await);
    server
}

async fn session(server: &TestServer, settings: &str) -> RawClient {
    let mut client = server.raw().await;
    assert_done(&client.query(&format!("set timezone = 'Europe/Berlin'; {settings}")).await);
    client
}

fn assert_done(answers: &[Message]) {
    assert!(answers.iter().all(|answer| answer.kind != 'E'), "{answers:?}");
}

/// The values of the only row.
fn values(answers: &[Message]) -> Vec<Option<Vec<u8>>> {
    answers.iter().find(|answer| answer.kind == 'D').unwrap_or_else(|| panic!("{answers:?}")).values()
}

fn texts(answers: &[Message]) -> Vec<String> {
    values(answers).into_iter().map(|value| String::from_utf8(value.unwrap()).unwrap()).collect()
}

/// The values of a query in a format, by the extended protocol.
async fn extended(client: &mut RawClient, sql: &str, format: u16) -> Vec<Message> {
    let messages = [parse("", sql, &[]), bind("", "", 0, &[], format), execute("", 0), sync()];
    client.stream.write_all(&messages.concat()).await.unwrap();
    client.until_ready().await
}

#[tokio::test]
async fn texts_follow_the_formats_and_binary_values_do_not() {
    let server = server().await;
    let mut first = session(&server, "").await;
    for (settings, expected) in FORMATS {
        let mut client = session(&server, settings).await;
        for sql in [ROW, CONSTANTS] {
            // The second and third are those that make a template and have it.
            for _ in 0..4 {
                assert_eq!(texts(&client.query(sql).await), *expected, "{settings}: {sql}");
            }
            assert_eq!(texts(&extended(&mut client, sql, 0).await), *expected, "{settings}: {sql}");
            let binary = values(&extended(&mut client, sql, 1).await);
            assert_eq!(binary, values(&extended(&mut first, sql, 1).await), "{settings}: {sql}");
        }
    }
}

#[tokio::test]
async fn sessions_of_other_formats_share_no_texts() {
    let server = server().await;
    let texts_of = "select d::text || s::text || z::text || i::text || b::text || f::text, '01/02/2024'::date - d, \
        $1::date - date '2024-01-01', d from t where a = 1";
    let answer = async |settings: &str| {
        let mut client = session(&server, &format!("set braid.result_cache = on; {settings}")).await;
        let mut answers = Vec::new();
        for _ in 0..5 {
            let messages =
                [parse("", texts_of, &[]), bind("", "", 0, &[Some(b"05/02/2024")], 0), execute("", 0), sync()];
            client.stream.write_all(&messages.concat()).await.unwrap();
            answers.push(texts(&client.until_ready().await));
            answers.push(texts(&client.query(ROW).await));
        }
        answers
    };
    let all: Vec<&str> = FORMATS.iter().chain(FORMATS).chain(FORMATS).map(|(settings, _)| *settings).collect();
    let concurrent = join_all(all.iter().map(|settings| answer(settings))).await;
    for ((settings, expected), answers) in FORMATS.iter().chain(FORMATS).chain(FORMATS).zip(concurrent) {
        let is_day_first = settings.contains("dmy") || settings.contains("german");
        let (of_literal, of_parameter) = if is_day_first { ("-4", "35") } else { ("-34", "122") };
        let joined = expected[..6].concat();
        for pair in answers.chunks(2) {
            assert_eq!(pair[0], [&joined, of_literal, of_parameter, expected[0]], "{settings}");
            assert_eq!(pair[1], *expected, "{settings}");
        }
    }
}

#[tokio::test]
async fn a_prepared_statement_answers_in_the_formats_of_each_execution() {
    let server = server().await;
    let mut client = session(&server, "set datestyle = 'iso, dmy'").await;
    let sql = "select d, d - date '03/02/2024' from t where a = 1";
    client.stream.write_all(&[parse("q", sql, &[]), sync()].concat()).await.unwrap();
    assert_done(&client.until_ready().await);
    for (setting, date) in
        [("dmy", "2024-02-05"), ("german", "05.02.2024"), ("sql, mdy", "02/05/2024"), ("iso, ymd", "2024-02-05")]
    {
        assert_done(&client.query(&format!("set datestyle = '{setting}'")).await);
        for _ in 0..3 {
            let messages = [bind("", "q", 0, &[], 0), execute("", 0), sync()];
            client.stream.write_all(&messages.concat()).await.unwrap();
            // The literal keeps the meaning that it had when the statement was prepared.
            assert_eq!(texts(&client.until_ready().await), [date, "2"], "{setting}");
        }
    }
}

#[tokio::test]
async fn clients_are_told_of_the_formats() {
    let server = TestServer::start().await;
    let told = |answers: &[Message], name: &str| -> Vec<String> {
        let pairs = answers.iter().filter(|answer| answer.kind == 'S' && answer.text() == name);
        pairs
            .map(|pair| String::from_utf8_lossy(&pair.body[name.len() + 1..pair.body.len() - 1]).into_owned())
            .collect()
    };
    let mut client = RawClient { stream: tokio::net::TcpStream::connect(server.address).await.unwrap() };
    let parameters = [("user", "tester"), ("datestyle", "sql, dmy"), ("options", "-c intervalstyle=iso_8601")];
    let answers = client.startup(&parameters).await;
    assert_eq!(told(&answers, "DateStyle"), ["SQL, DMY"]);
    assert_eq!(told(&answers, "IntervalStyle"), ["iso_8601"]);
    for (sql, date_style) in [
        ("set datestyle = 'german'", Some("German, DMY")),
        ("set datestyle = 'mdy'", Some("German, MDY")),
        ("begin; set local datestyle = 'iso'", Some("ISO, MDY")),
        ("rollback", Some("German, MDY")),
        ("select set_config('datestyle', 'postgres, euro', false)", Some("Postgres, DMY")),
        ("set datestyle = 'dmy'", None),
        ("begin; set local datestyle = 'iso, ymd'", Some("ISO, YMD")),
        ("commit", Some("Postgres, DMY")),
    ] {
        let answers = client.query(sql).await;
        assert_eq!(told(&answers, "DateStyle"), Vec::from_iter(date_style), "{sql}");
    }
    let answers = client.query("set datestyle = 'french'").await;
    let error = answers.iter().find(|answer| answer.kind == 'E').unwrap();
    assert_eq!(error.field(b'C').as_deref(), Some("22023"));
    assert_eq!(error.field(b'M').as_deref(), Some("invalid value for parameter \"DateStyle\": \"french\""));
    assert_eq!(error.field(b'D').as_deref(), Some("Unrecognized key word: \"french\"."));
}

#[tokio::test]
async fn cursors_are_not_read_in_other_formats() {
    let server = server().await;
    let mut client = session(&server, "").await;
    let cursor = "declare c scroll cursor for select d, a from t";
    for sql in ["begin", cursor] {
        assert_done(&client.query(sql).await);
    }
    assert_eq!(texts(&client.query("fetch from c").await), ["2024-02-05", "1"]);
    // What changes no text of theirs changes nothing.
    assert_done(&client.query("set intervalstyle = 'iso_8601'").await);
    assert_eq!(texts(&client.query("fetch first from c").await), ["2024-02-05", "1"]);
    assert_done(&client.query("set datestyle = 'german'").await);
    let answers = client.query("fetch first from c").await;
    let error = answers.iter().find(|answer| answer.kind == 'E').unwrap();
    assert_eq!(error.field(b'C').as_deref(), Some("0A000"), "{error:?}");
    assert_done(&client.query("rollback").await);
    for sql in ["begin", "set local datestyle = 'german'", cursor] {
        assert_done(&client.query(sql).await);
    }
    assert_eq!(texts(&client.query("fetch from c").await), ["05.02.2024", "1"]);
}
