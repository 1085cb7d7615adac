//! Clients that write and read other encodings than UTF8: statements, parameters, rows, errors, notices, names, COPY.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::harness::TestServer;
use crate::raw_client::{Message, RawClient, bind, describe_portal, execute, kinds, message, parse, sync};

async fn connect(server: &TestServer, encoding: &str) -> RawClient {
    let mut client = RawClient { stream: TcpStream::connect(server.address).await.unwrap() };
    let answers = client.startup(&[("user", "tester"), ("client_encoding", encoding)]).await;
    assert_eq!(answers.last().map(|message| message.kind), Some('Z'), "{encoding}");
    client
}

/// Sends bytes as a Query.
async fn query(client: &mut RawClient, sql: &[u8]) -> Vec<Message> {
    client.send(b'Q', &[sql, b"\0"].concat()).await;
    client.until_ready().await
}

/// The first value of the first row.
fn value(answers: &[Message]) -> Vec<u8> {
    let row = answers.iter().find(|message| message.kind == 'D').unwrap_or_else(|| panic!("no row in {answers:?}"));
    row.values()[0].clone().unwrap()
}

/// A field of the error.
fn error(answers: &[Message], field: u8) -> String {
    let error = answers.iter().find(|message| message.kind == 'E').unwrap_or_else(|| panic!("no error in {answers:?}"));
    error.field(field).unwrap()
}

/// The bytes of a field of an error or a notice.
fn field_bytes(answers: &[Message], kind: char, field: u8) -> Vec<u8> {
    let told = answers.iter().find(|message| message.kind == kind).unwrap();
    told.body.split(|byte| *byte == 0).find(|found| found.first() == Some(&field)).unwrap()[1..].to_vec()
}

#[tokio::test]
async fn statements_and_answers_are_in_the_client_s_encoding() {
    let server = TestServer::start().await;
    let mut client = connect(&server, "latin1").await;
    let mut other = server.raw().await;
    assert_eq!(value(&query(&mut client, b"show client_encoding").await), b"LATIN1");
    let answers = query(&mut client, b"select '\xe9' || chr(252) as \"n\xe9\"").await;
    assert_eq!((kinds(&answers).as_str(), value(&answers).as_slice()), ("TDCZ", &b"\xe9\xfc"[..]));
    assert_eq!(&answers[0].body[2..5], b"n\xe9\0");
    query(&mut client, b"create table t\xe4 (a text); insert into t\xe4 values ('\xe9')").await;
    assert_eq!(value(&other.query("select a || octet_length(a) from tä").await), "é2".as_bytes());
    let answers = query(&mut client, b"select * from u\xe4").await;
    assert_eq!(field_bytes(&answers, 'E', b'M'), b"relation \"u\xe4\" does not exist");
    let answers = query(&mut client, b"do $$ begin raise notice '\xe9'; end $$").await;
    assert_eq!(field_bytes(&answers, 'N', b'M'), b"\xe9");
    // What LATIN1 lacks.
    other.query("create view eu as select 1 as \"€\"").await;
    let lacks =
        "character with byte sequence 0xe2 0x82 0xac in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\"";
    for sql in ["select chr(8364)", "table eu", "select (chr(8364))::int"] {
        let answers = query(&mut client, sql.as_bytes()).await;
        assert_eq!((error(&answers, b'C'), error(&answers, b'M')), ("22P05".to_owned(), lacks.to_owned()), "{sql}");
    }
    let answers = query(&mut client, b"values ('a'), (chr(8364))").await;
    assert_eq!(kinds(&answers), "TDEZ");
    // From the next statement on.
    query(&mut client, b"set client_encoding = '''utf-8'''").await;
    assert_eq!(value(&query(&mut client, "select '€', a from tä".as_bytes()).await), "€".as_bytes());
    let answers = query(&mut client, b"select '\xe9'").await;
    assert_eq!(error(&answers, b'M'), "invalid byte sequence for encoding \"UTF8\": 0xe9 0x27");
    let reset = query(&mut client, b"reset client_encoding").await;
    assert_eq!(kinds(&reset), "CSZ");
    assert_eq!(reset[1].body, b"client_encoding\0LATIN1\0");
    assert_eq!(value(&query(&mut client, b"select pg_client_encoding()").await), b"LATIN1");
    assert_eq!(value(&query(&mut client, b"set names 'sjis'; select 'x' || chr(26085)").await), b"x\x93\xfa");
    query(&mut client, b"set client_encoding = sql_ascii").await;
    assert_eq!(value(&query(&mut client, b"select chr(8364)").await), b"\xe2\x82\xac");
    for (name, state) in [("nosuch", "22023"), ("", "22023"), ("mule_internal", "0A000"), ("johab", "0A000")] {
        let answers = query(&mut client, format!("set client_encoding = '{name}'").as_bytes()).await;
        assert_eq!(error(&answers, b'C'), state, "{name}");
    }
}

#[tokio::test]
async fn parameters_and_rows_are_in_the_client_s_encoding() {
    let server = TestServer::start().await;
    let mut client = connect(&server, "'WIN1252'").await;
    let mut ask = async |sql: &str, format: u16, value: &[u8], result_format: u16| {
        let bound = bind("", "", format, &[Some(value)], result_format);
        let sent = [parse("", sql, &[]), bound, describe_portal(""), execute("", 0), sync()].concat();
        client.stream.write_all(&sent).await.unwrap();
        client.until_ready().await
    };
    for format in [0, 1] {
        let answers = ask("select $1 || chr(8364)", format, b"\x84\xe9", format).await;
        assert_eq!((kinds(&answers).as_str(), value(&answers).as_slice()), ("12TDCZ", &b"\x84\xe9\x80"[..]));
    }
    let answers = ask("select $1::jsonb", 1, b"\x01\"\x80\"", 1).await;
    assert_eq!(value(&answers), b"\x01\"\x80\"");
    let answers = ask("select $1::int4[]", 0, b"{200}", 1).await;
    assert_eq!(value(&answers).last(), Some(&200));
    let answers = ask("select $1::text[]", 0, b"{\x80}", 0).await;
    assert_eq!(value(&answers), b"{\x80}");
    assert_eq!(error(&ask("select $1::text[]", 0, b"{a}", 1).await, b'C'), "0A000");
    let answers = ask("select $1::text", 0, b"\x81", 0).await;
    let lacks = "character with byte sequence 0x81 in encoding \"WIN1252\" has no equivalent in encoding \"UTF8\"";
    assert_eq!((error(&answers, b'C'), error(&answers, b'M')), ("22P05".to_owned(), lacks.to_owned()));
}

#[tokio::test]
async fn copies_are_in_the_client_s_encoding() {
    let server = TestServer::start().await;
    let mut client = connect(&server, "Shift_JIS").await;
    query(&mut client, b"create table t (a text, n int)").await;
    client.send(b'Q', b"copy t from stdin\0").await;
    assert_eq!(client.read().await.unwrap().kind, 'G');
    // The first character is cut, and the second byte of the other one is a backslash.
    let pieces: [&[u8]; 3] = [b"\x93", b"\xfa\t1\n\x83", b"\x5c\t2\n"];
    let sent: Vec<u8> = pieces.iter().flat_map(|piece| message(b'd', piece)).chain(message(b'c', b"")).collect();
    client.stream.write_all(&sent).await.unwrap();
    assert_eq!(kinds(&client.until_ready().await), "CZ");
    let mut other = server.raw().await;
    let answers = other.query("select string_agg(a || n, '|' order by n) from t").await;
    assert_eq!(value(&answers), "日1|ソ2".as_bytes());
    let answers = query(&mut client, b"copy (select * from t order by n) to stdout").await;
    let copied: Vec<u8> = answers.iter().filter(|m| m.kind == 'd').flat_map(|m| m.body.clone()).collect();
    assert_eq!(copied, b"\x93\xfa\t1\n\x83\x5c\t2\n");
    for sql in ["copy t to stdout (format binary)", "copy t from '/nowhere'"] {
        assert_eq!(error(&query(&mut client, sql.as_bytes()).await, b'C'), "0A000", "{sql}");
    }
    client.send(b'Q', b"copy t from stdin\0").await;
    client.read().await.unwrap();
    let sent = [message(b'd', b"\xff\t1\n"), message(b'c', b"")].concat();
    client.stream.write_all(&sent).await.unwrap();
    let answers = client.until_ready().await;
    assert_eq!(error(&answers, b'M'), "invalid byte sequence for encoding \"SJIS\": 0xff 0x09");
}

#[tokio::test]
async fn a_startup_packet_with_an_unknown_encoding_is_refused() {
    let server = TestServer::start().await;
    for (encoding, state) in [("nosuch", "22023"), ("mule_internal", "0A000")] {
        let mut client = RawClient { stream: TcpStream::connect(server.address).await.unwrap() };
        let answers = client.startup(&[("user", "tester"), ("client_encoding", encoding)]).await;
        assert_eq!((error(&answers, b'S').as_str(), error(&answers, b'C').as_str()), ("FATAL", state));
    }
}
