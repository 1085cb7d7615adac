//! What no driver sends.

use braid_base::Random;
use braid_testing::cases;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{TestServer, text_rows};
use crate::raw_client::{RawClient, kinds, message, sync};

async fn unstarted(server: &TestServer) -> RawClient {
    RawClient { stream: TcpStream::connect(server.address).await.unwrap() }
}

#[tokio::test]
async fn startup_packets_that_cannot_be_served_are_refused_with_a_reason() {
    let server = TestServer::start().await;
    for (version, parameters, code) in [
        (2 << 16, &[("user", "x")][..], "0A000"),
        (3 << 16, &[], "28000"),
        (3 << 16, &[("user", "x"), ("replication", "database")], "0A000"),
    ] {
        let mut client = unstarted(&server).await;
        client.send_startup(version, parameters).await;
        let answer = client.read().await.unwrap();
        assert_eq!((answer.kind, answer.field(b'C').as_deref()), ('E', Some(code)));
        assert_eq!(answer.field(b'S').as_deref(), Some("FATAL"));
        assert!(client.read().await.is_none());
    }
    let mut client = unstarted(&server).await;
    client.stream.write_all(&[0xFF; 64]).await.unwrap();
    assert_eq!(client.read().await.unwrap().field(b'C').as_deref(), Some("08P01"));
}

#[tokio::test]
async fn newer_protocols_are_negotiated_down() {
    let server = TestServer::start().await;
    let mut client = unstarted(&server).await;
    client.send_startup(3 << 16 | 9, &[("user", "x"), ("_pq_.compression", "on")]).await;
    let answers = client.until_ready().await;
    assert_eq!(answers[0].kind, 'v');
    assert_eq!(answers[0].body[..8], [0, 3, 0, 2, 0, 0, 0, 1]);
    let key = answers.iter().find(|m| m.kind == 'K').unwrap();
    assert_eq!(key.body.len(), 4 + 32, "protocol 3.2 has long keys");
    let mut client = unstarted(&server).await;
    client.send_startup(3 << 16, &[("user", "x")]).await;
    let answers = client.until_ready().await;
    assert_eq!(answers.iter().find(|m| m.kind == 'K').unwrap().body.len(), 8);
}

#[tokio::test]
async fn encryption_requests_are_declined_without_a_certificate() {
    let server = TestServer::start().await;
    let mut client = unstarted(&server).await;
    for code in [80_877_104_u32, 80_877_103] {
        client.stream.write_all(&[&8_u32.to_be_bytes()[..], &code.to_be_bytes()].concat()).await.unwrap();
        assert_eq!(client.stream.read_u8().await.unwrap(), b'N');
    }
    assert_eq!(client.startup(&[("user", "x")]).await.last().unwrap().kind, 'Z');
}

#[tokio::test]
async fn broken_frames_end_the_connection_and_broken_bodies_do_not() {
    let server = TestServer::start().await;
    for bytes in [&b"?\0\0\0\x04"[..], b"Q\0\0\0\x03", b"Q\xFF\xFF\xFF\xFF", b"S\0\x01\0\0"] {
        let mut client = server.raw().await;
        client.stream.write_all(bytes).await.unwrap();
        let answer = client.read().await.unwrap();
        assert_eq!((answer.field(b'S').as_deref(), answer.field(b'C').as_deref()), (Some("FATAL"), Some("08P01")));
        assert!(client.read().await.is_none());
    }
    let mut client = server.raw().await;
    for bytes in [message(b'B', b"\0\0\0\x07"), message(b'P', b"no end"), message(b'D', b"X\0")] {
        client.stream.write_all(&[bytes, sync()].concat()).await.unwrap();
        assert_eq!(kinds(&client.until_ready().await), "EZ");
    }
    client.send(b'Q', b"no end").await;
    assert_eq!(kinds(&client.until_ready().await), "EZ");
    client.send(b'F', b"\0\0\0\x01").await;
    let answers = client.until_ready().await;
    assert_eq!((kinds(&answers).as_str(), answers[0].field(b'C').as_deref()), ("EZ", Some("0A000")));
    assert_eq!(kinds(&client.query("select 1").await), "TDCZ");
}

#[tokio::test]
async fn random_bytes_do_not_hurt_the_server() {
    let server = TestServer::start().await;
    for case in cases!(0..30) {
        let mut random = case.random();
        let mut client = if case.seed % 2 == 0 { server.raw().await } else { unstarted(&server).await };
        let kinds = b"PBDECHSdcfpQ";
        for _ in 0..20 {
            let body: Vec<u8> = (0..random.below(40)).map(|_| random.below(4) as u8 * 60).collect();
            let bytes = message(kinds[random.below(kinds.len() as u64) as usize], &body);
            if client.stream.write_all(&bytes).await.is_err() {
                break;
            }
        }
    }
    assert_eq!(text_rows(&server.client().await, "select 1").await.len(), 1);
}

#[tokio::test]
async fn messages_may_come_byte_by_byte_and_all_at_once() {
    let server = TestServer::start().await;
    let mut client = server.raw().await;
    client.stream.set_nodelay(true).unwrap();
    for byte in message(b'Q', b"select 1\0") {
        client.stream.write_all(&[byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    assert_eq!(kinds(&client.until_ready().await), "TDCZ");
    // More than is read ahead while a statement runs: a thousand times a thousand bytes.
    let many = message(b'Q', format!("select 1 -- {}\0", "x".repeat(1000)).as_bytes()).repeat(1000);
    let (mut read, mut write) = client.stream.into_split();
    let sending = tokio::spawn(async move { write.write_all(&many).await.map(|()| write) });
    let mut received = Vec::new();
    let ready = b"Z\0\0\0\x05I";
    while received.windows(ready.len()).filter(|w| w == ready).count() < 1000 {
        assert!(read.read_buf(&mut received).await.unwrap() > 0, "the server left");
    }
    sending.await.unwrap().unwrap();
}
