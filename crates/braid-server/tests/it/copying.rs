//! COPY in both protocols.

use bytes::Bytes;
use futures::{SinkExt, StreamExt, pin_mut};
use tokio::io::AsyncWriteExt;

use crate::harness::{TestServer, sqlstate, text_rows};
use crate::raw_client::{bind, execute, kinds, message, parse, sync};

async fn server_with_table() -> TestServer {
    let server = TestServer::start().await;
    server.client().await.batch_execute("create table pairs (a integer, b text)").await.unwrap();
    server
}

#[tokio::test]
async fn copy_in_takes_data_cut_anywhere() {
    let server = server_with_table().await;
    let client = server.client().await;
    let sink = client.copy_in("copy pairs from stdin").await.unwrap();
    pin_mut!(sink);
    for piece in ["1\ton", "e\n2", "\t\\N\n", "3\tthree"] {
        sink.send(Bytes::from(piece)).await.unwrap();
    }
    assert_eq!(sink.finish().await.unwrap(), 3);
    let rows = text_rows(&client, "select * from pairs order by a").await;
    let text = |t: &str| Some(t.to_owned());
    assert_eq!(rows, [[text("1"), text("one")], [text("2"), None], [text("3"), text("three")]]);
}

#[tokio::test]
async fn a_bad_row_keeps_nothing_of_the_load_and_the_connection_goes_on() {
    let server = server_with_table().await;
    let client = server.client().await;
    let sink = client.copy_in("copy pairs from stdin with (format csv)").await.unwrap();
    pin_mut!(sink);
    sink.send(Bytes::from("1,one\nx,two\n")).await.unwrap();
    assert_eq!(sqlstate(sink.finish().await), "22P02");
    assert_eq!(text_rows(&client, "select * from pairs").await.len(), 0);

    let mut raw = server.raw().await;
    raw.send(b'Q', b"copy pairs from stdin\0").await;
    assert_eq!(raw.read().await.unwrap().kind, 'G');
    let pieces = [message(b'd', b"x\ty\n"), message(b'd', b"1\tone\n"), message(b'c', b"")];
    raw.stream.write_all(&pieces.concat()).await.unwrap();
    let answers = raw.until_ready().await;
    assert_eq!((kinds(&answers).as_str(), answers[0].field(b'C').as_deref()), ("EZ", Some("22P02")));
    assert!(answers[0].field(b'W').is_some_and(|context| context.contains("line 1")), "{:?}", answers[0].field(b'W'));
    assert_eq!(kinds(&raw.query("select 1").await), "TDCZ", "the rest of the data was ignored");
}

#[tokio::test]
async fn a_client_may_give_up_or_vanish() {
    let server = server_with_table().await;
    let mut raw = server.raw().await;
    raw.send(b'Q', b"copy pairs from stdin\0").await;
    raw.read().await.unwrap();
    raw.stream.write_all(&[message(b'd', b"1\tone\n"), message(b'f', b"enough\0")].concat()).await.unwrap();
    let answers = raw.until_ready().await;
    assert_eq!(answers[0].field(b'C').as_deref(), Some("57014"));
    assert_eq!(answers[0].field(b'M').as_deref(), Some("COPY from stdin failed: enough"));

    raw.send(b'Q', b"copy pairs from stdin\0").await;
    raw.read().await.unwrap();
    raw.send(b'd', b"1\tone\n").await;
    drop(raw);
    let client = server.client().await;
    assert_eq!(text_rows(&client, "select * from pairs").await.len(), 0);
}

#[tokio::test]
async fn copy_in_through_the_extended_protocol_with_pipelining() {
    let server = server_with_table().await;
    let mut raw = server.raw().await;
    let steps = [
        parse("", "copy pairs from stdin", &[]),
        bind("", "", 0, &[], 0),
        execute("", 0),
        sync(),
        message(b'd', b"1\tone\n"),
        message(b'c', b""),
        sync(),
    ];
    raw.stream.write_all(&steps.concat()).await.unwrap();
    let answers = raw.until_ready().await;
    assert_eq!(kinds(&answers), "12GCZ");
    assert_eq!(answers[3].text(), "COPY 1");
    // A failure skips to the Sync behind the data.
    let steps = [
        parse("", "copy pairs from stdin", &[]),
        bind("", "", 0, &[], 0),
        execute("", 0),
        message(b'd', b"x\tone\n"),
        message(b'c', b""),
        sync(),
    ];
    raw.stream.write_all(&steps.concat()).await.unwrap();
    assert_eq!(kinds(&raw.until_ready().await), "12GEZ");
    assert_eq!(kinds(&raw.query("select 1").await), "TDCZ");
}

#[tokio::test]
async fn copy_out_streams_rows() {
    let server = server_with_table().await;
    let client = server.client().await;
    client.batch_execute("insert into pairs values (1, 'one'), (2, null)").await.unwrap();
    let stream = client.copy_out("copy (select * from pairs order by a) to stdout").await.unwrap();
    pin_mut!(stream);
    let mut text = Vec::new();
    while let Some(piece) = stream.next().await {
        text.extend_from_slice(&piece.unwrap());
    }
    assert_eq!(String::from_utf8(text).unwrap(), "1\tone\n2\t\\N\n");
}

#[tokio::test]
async fn a_copy_out_message_is_a_record_whatever_its_quotes_hold() {
    let server = server_with_table().await;
    let mut raw = server.raw().await;
    raw.query("insert into pairs values (1, e'two\\nlines'), (2, e'\\n\"\\n'), (3, null), (4, e'\\'')").await;
    for (options, records) in [
        ("format csv", vec!["1,\"two\nlines\"\n", "2,\"\n\"\"\n\"\n", "3,\n", "4,'\n"]),
        ("format csv, header", vec!["a,b\n", "1,\"two\nlines\"\n", "2,\"\n\"\"\n\"\n", "3,\n", "4,'\n"]),
        // Quotes that are not `"`, and an escape that is not the quote.
        ("format csv, quote '|', escape '\\'", vec!["1,|two\nlines|\n", "2,|\n\"\n|\n", "3,\n", "4,'\n"]),
        ("format text", vec!["1\ttwo\\nlines\n", "2\t\\n\"\\n\n", "3\t\\N\n", "4\t'\n"]),
    ] {
        let answers = raw.query(&format!("copy (select * from pairs order by a) to stdout with ({options})")).await;
        let data = answers.iter().filter(|m| m.kind == 'd');
        let messages: Vec<&str> = data.map(|m| std::str::from_utf8(&m.body).unwrap()).collect();
        assert_eq!(messages, records, "{options}");
        assert_eq!(answers[answers.len() - 2].text(), "COPY 4", "{options}");
    }
}
