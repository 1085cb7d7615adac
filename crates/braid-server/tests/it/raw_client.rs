//! A client that sends and reads single messages, for what drivers do not do.

use std::net::SocketAddr;

use braid_testing::in_time;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// One message from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub kind: char,
    pub body: Vec<u8>,
}

impl Message {
    /// A field of an ErrorResponse or NoticeResponse.
    pub fn field(&self, code: u8) -> Option<String> {
        let field = self.body.split(|b| *b == 0).find(|field| field.first() == Some(&code))?;
        Some(String::from_utf8_lossy(&field[1..]).into_owned())
    }

    /// The zero-terminated text at the start.
    pub fn text(&self) -> String {
        let end = self.body.iter().position(|b| *b == 0).unwrap_or(self.body.len());
        String::from_utf8_lossy(&self.body[..end]).into_owned()
    }

    /// The values of a DataRow.
    pub fn values(&self) -> Vec<Option<Vec<u8>>> {
        assert_eq!(self.kind, 'D');
        let count = u16::from_be_bytes([self.body[0], self.body[1]]);
        let mut rest = &self.body[2..];
        let mut next = || {
            let (length, after) = rest.split_first_chunk::<4>().unwrap();
            rest = after;
            let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
            let (value, after) = rest.split_at(length);
            rest = after;
            Some(value.to_vec())
        };
        (0..count).map(|_| next()).collect()
    }
}

/// The client, over TCP or TLS.
pub struct RawClient<S = TcpStream> {
    pub stream: S,
}

impl RawClient {
    /// Connected and ready.
    pub async fn connect(address: SocketAddr) -> Self {
        let mut client = Self { stream: TcpStream::connect(address).await.unwrap() };
        client.startup(&[("user", "tester")]).await;
        client
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> RawClient<S> {
    /// Sends a startup packet and reads up to ReadyForQuery, or to the end.
    pub async fn startup(&mut self, parameters: &[(&str, &str)]) -> Vec<Message> {
        self.send_startup(3 << 16, parameters).await;
        self.until_ready().await
    }

    pub async fn send_startup(&mut self, version: u32, parameters: &[(&str, &str)]) {
        let mut body = version.to_be_bytes().to_vec();
        for (name, value) in parameters {
            body.extend([name.as_bytes(), b"\0", value.as_bytes(), b"\0"].concat());
        }
        body.push(0);
        let length = (body.len() as u32 + 4).to_be_bytes();
        self.stream.write_all(&[&length[..], &body].concat()).await.unwrap();
    }

    pub async fn send(&mut self, kind: u8, body: &[u8]) {
        self.stream.write_all(&message(kind, body)).await.unwrap();
    }

    pub async fn query(&mut self, sql: &str) -> Vec<Message> {
        self.send(b'Q', &[sql.as_bytes(), b"\0"].concat()).await;
        self.until_ready().await
    }

    /// The next message, or `None` at the end.
    pub async fn read(&mut self) -> Option<Message> {
        in_time("a message from the server", self.next_message()).await
    }

    async fn next_message(&mut self) -> Option<Message> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head).await.ok()?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4;
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.ok()?;
        Some(Message { kind: char::from(head[0]), body })
    }

    /// All messages up to ReadyForQuery, or to the end.
    pub async fn until_ready(&mut self) -> Vec<Message> {
        let mut messages = Vec::new();
        while let Some(message) = self.read().await {
            let ready = message.kind == 'Z';
            messages.push(message);
            if ready {
                break;
            }
        }
        messages
    }
}

/// A message as bytes.
pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

pub fn parse(statement: &str, sql: &str, oids: &[u32]) -> Vec<u8> {
    let count = (oids.len() as u16).to_be_bytes();
    let oids: Vec<u8> = oids.iter().flat_map(|oid| oid.to_be_bytes()).collect();
    message(b'P', &[statement.as_bytes(), b"\0", sql.as_bytes(), b"\0", &count, &oids].concat())
}

/// Parameters and results in one format each.
pub fn bind(portal: &str, statement: &str, format: u16, values: &[Option<&[u8]>], result_format: u16) -> Vec<u8> {
    let mut body = [portal.as_bytes(), b"\0", statement.as_bytes(), b"\0\0\x01", &format.to_be_bytes()].concat();
    body.extend((values.len() as u16).to_be_bytes());
    for value in values {
        match value {
            Some(value) => {
                body.extend((value.len() as u32).to_be_bytes());
                body.extend(*value);
            }
            None => body.extend((-1_i32).to_be_bytes()),
        }
    }
    body.extend([&[0, 1][..], &result_format.to_be_bytes()].concat());
    message(b'B', &body)
}

pub fn describe_portal(portal: &str) -> Vec<u8> {
    message(b'D', &[b"P", portal.as_bytes(), b"\0"].concat())
}

pub fn execute(portal: &str, max_rows: u32) -> Vec<u8> {
    message(b'E', &[portal.as_bytes(), b"\0", &max_rows.to_be_bytes()].concat())
}

pub fn sync() -> Vec<u8> {
    message(b'S', b"")
}

/// The kinds of messages as one word.
pub fn kinds(messages: &[Message]) -> String {
    messages.iter().map(|m| m.kind).collect()
}
