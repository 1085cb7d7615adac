//! A client of the wire protocol that asks a statement in the simple or the extended protocol, and reads the answer as text.
//!
//! It is small and strict, where drivers forgive: messages have their order and their exact length, every row has as many
//! values as were described, and the results of the extended protocol come in binary form, some rows at a time.

use std::io;
use std::net::SocketAddr;

use arrow::array::timezone::Tz;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::binary_values::text_of_binary;

/// Version 3.0 of the protocol.
const VERSION: u32 = 3 << 16;

/// The sub-protocol that statements are asked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// A Query message; values come as text.
    Simple,
    /// Parse, Bind, Describe, and then Execute, for a number of rows at a time, until all rows have arrived. Values come in
    /// binary form.
    Extended {
        /// Rows for each Execute.
        rows_max: u32,
    },
}

/// Why a statement has no answer.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The server's own error.
    #[error("{message}")]
    Server {
        /// Its SQLSTATE.
        sqlstate: String,
        /// Its message.
        message: String,
    },
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Broken(#[from] io::Error),
    /// The server sent a message that the protocol does not allow, or an invalid value.
    #[error("against the protocol: {0}")]
    Protocol(String),
}

/// What a statement answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Rows, with the oid of each column's type.
    Rows {
        /// The types.
        oids: Vec<u32>,
        /// The values as text.
        rows: Vec<Vec<Option<String>>>,
    },
    /// The lines of COPY TO STDOUT.
    Copied(String),
    /// A command tag; empty for an empty statement.
    Done(String),
}

/// A connection.
pub struct WireClient {
    stream: TcpStream,
    /// As the server last reported it: instants in binary form are shown in it.
    time_zone: Tz,
}

/// A message from the server.
struct Message {
    kind: u8,
    body: Vec<u8>,
}

/// A column of a RowDescription.
struct Column {
    oid: u32,
    is_binary: bool,
}

/// The answer of a statement as far as it is read.
#[derive(Default)]
struct Answer {
    columns: Option<Vec<Column>>,
    rows: Vec<Vec<Option<String>>>,
    copied: Option<String>,
}

impl WireClient {
    /// A connection that is ready for statements.
    pub async fn connect(address: SocketAddr) -> Result<Self, WireError> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let mut client = Self { stream, time_zone: utc() };
        let mut startup = VERSION.to_be_bytes().to_vec();
        startup.extend(b"user\0tester\0database\0braid\0\0");
        let length = (startup.len() as u32 + 4).to_be_bytes();
        client.stream.write_all(&[&length[..], &startup].concat()).await?;
        let mut ignored = Answer::default();
        client.until_ready(&mut ignored).await?;
        Ok(client)
    }

    /// Runs one statement, or several in the simple protocol, and returns the answer of the last one.
    ///
    /// The extended protocol takes single statements only: where the server says that there are several, they are asked
    /// in the simple one.
    pub async fn ask(&mut self, sql: &str, protocol: Protocol) -> Result<Reply, WireError> {
        match protocol {
            Protocol::Simple => self.ask_simply(sql).await,
            Protocol::Extended { rows_max } => match self.ask_extended(sql, rows_max).await {
                Err(WireError::Server { message, .. }) if message.contains("insert multiple commands") => {
                    self.ask_simply(sql).await
                }
                other => other,
            },
        }
    }

    async fn ask_simply(&mut self, sql: &str) -> Result<Reply, WireError> {
        self.send(message(b'Q', &[sql.as_bytes(), b"\0"])).await?;
        let mut answer = Answer::default();
        self.until_ready(&mut answer).await?.ok_or_else(|| WireError::Protocol("no answer before Z".to_owned()))
    }

    async fn ask_extended(&mut self, sql: &str, rows_max: u32) -> Result<Reply, WireError> {
        let execute = message(b'E', &[b"\0", &rows_max.to_be_bytes()]);
        let flush = message(b'H', &[]);
        let mut begin = message(b'P', &[b"\0", sql.as_bytes(), b"\0\0\0"]);
        // No parameters; one format for all results, the binary one.
        begin.extend(message(b'B', &[b"\0\0\0\0\0\0\0\x01\0\x01"]));
        begin.extend(message(b'D', &[b"P\0"]));
        begin.extend(&execute);
        begin.extend(&flush);
        self.send(begin).await?;
        let mut answer = Answer::default();
        let reply = loop {
            match self.until_step_ends(&mut answer).await {
                Ok(Some(reply)) => break Ok(reply),
                Ok(None) => self.send([&execute[..], &flush].concat()).await?,
                Err(error @ WireError::Server { .. }) => break Err(error),
                Err(error) => return Err(error),
            }
        };
        self.send(message(b'S', &[])).await?;
        match self.until_ready(&mut Answer::default()).await? {
            None => reply,
            Some(late) => Err(WireError::Protocol(format!("{late:?} after the end of the statement"))),
        }
    }

    /// Reads up to ReadyForQuery: the last answer, or the first error.
    async fn until_ready(&mut self, answer: &mut Answer) -> Result<Option<Reply>, WireError> {
        let (mut last, mut failed) = (None, None);
        loop {
            let message = self.receive().await?;
            if message.kind == b'Z' {
                return failed.map_or(Ok(last), Err);
            }
            match self.take(message, answer).await {
                Ok(Step::Ended(reply)) => last = Some(reply),
                Ok(Step::GoesOn) => {}
                Ok(Step::Suspended) => return Err(WireError::Protocol("PortalSuspended without Execute".to_owned())),
                Err(error @ WireError::Server { .. }) => failed = failed.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads up to the end of an Execute: the answer, or `None` where the portal has more rows.
    async fn until_step_ends(&mut self, answer: &mut Answer) -> Result<Option<Reply>, WireError> {
        loop {
            let message = self.receive().await?;
            match self.take(message, answer).await? {
                Step::Ended(reply) => return Ok(Some(reply)),
                Step::Suspended => return Ok(None),
                Step::GoesOn => {}
            }
        }
    }

    /// What a message adds to an answer.
    async fn take(&mut self, message: Message, answer: &mut Answer) -> Result<Step, WireError> {
        let mut body = Body(&message.body);
        match message.kind {
            b'E' => return Err(server_error(&message.body)),
            b'S' => self.note_setting(&mut body)?,
            b'T' => answer.columns = Some(body.columns()?),
            b'D' => answer.rows.push(body.row(answer.columns.as_deref(), self.time_zone)?),
            b'C' => return Ok(Step::Ended(std::mem::take(answer).reply(body.text()?))),
            b'I' => return Ok(Step::Ended(Reply::Done(String::new()))),
            b's' => return Ok(Step::Suspended),
            b'H' => answer.copied = Some(String::new()),
            b'd' => {
                let text = std::str::from_utf8(&message.body).map_err(|e| WireError::Protocol(e.to_string()))?;
                let copied = answer.copied.as_mut().ok_or_else(|| WireError::Protocol("d before H".to_owned()))?;
                copied.push_str(text);
            }
            // A file of statements has no data to send: the load gets none, and ends.
            b'G' => self.send(self::message(b'c', &[])).await?,
            b'c' | b'n' | b'N' | b'1' | b'2' | b'R' | b'K' => {}
            other => return Err(WireError::Protocol(format!("a message {:?}", char::from(other)))),
        }
        Ok(Step::GoesOn)
    }

    fn note_setting(&mut self, body: &mut Body) -> Result<(), WireError> {
        let (name, value) = (body.text()?, body.text()?);
        if name == "TimeZone" {
            // Zones of POSIX are not read here: tests cast their values to text.
            self.time_zone = value
                .parse()
                .or_else(|_| "UTC".parse())
                .map_err(|_| WireError::Protocol(format!("TimeZone is {value:?}")))?;
        }
        Ok(())
    }

    async fn send(&mut self, bytes: Vec<u8>) -> Result<(), WireError> {
        Ok(self.stream.write_all(&bytes).await?)
    }

    async fn receive(&mut self) -> Result<Message, WireError> {
        let kind = self.stream.read_u8().await?;
        let length = self.stream.read_u32().await?;
        let length = length.checked_sub(4).ok_or_else(|| WireError::Protocol(format!("{length} is no length")))?;
        let mut body = vec![0; length as usize];
        self.stream.read_exact(&mut body).await?;
        Ok(Message { kind, body })
    }
}

/// What a message was to the statement it belongs to.
enum Step {
    GoesOn,
    Suspended,
    Ended(Reply),
}

impl Answer {
    fn reply(self, tag: String) -> Reply {
        match (self.columns, self.copied) {
            (_, Some(copied)) => Reply::Copied(copied),
            (Some(columns), None) => Reply::Rows { oids: columns.iter().map(|c| c.oid).collect(), rows: self.rows },
            (None, None) => Reply::Done(tag),
        }
    }
}

/// What is left of a message's body.
struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let short = || WireError::Protocol("a message ends too early".to_owned());
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        Ok(self.take(N)?.try_into().expect("as many were taken"))
    }

    /// A text that ends with a zero.
    fn text(&mut self) -> Result<String, WireError> {
        let end = self.0.iter().position(|byte| *byte == 0);
        let text = self.take(end.ok_or_else(|| WireError::Protocol("a text has no end".to_owned()))?)?;
        self.take(1)?;
        String::from_utf8(text.to_vec()).map_err(|e| WireError::Protocol(e.to_string()))
    }

    fn columns(&mut self) -> Result<Vec<Column>, WireError> {
        let count = u16::from_be_bytes(self.number()?);
        let columns = (0..count).map(|_| self.column()).collect::<Result<_, _>>()?;
        self.end()?;
        Ok(columns)
    }

    /// Name, table, column, type, length, modifier, format.
    fn column(&mut self) -> Result<Column, WireError> {
        self.text()?;
        self.take(4 + 2)?;
        let oid = u32::from_be_bytes(self.number()?);
        self.take(2 + 4)?;
        match u16::from_be_bytes(self.number()?) {
            format @ (0 | 1) => Ok(Column { oid, is_binary: format == 1 }),
            other => Err(WireError::Protocol(format!("{other} is no format"))),
        }
    }

    fn row(&mut self, columns: Option<&[Column]>, zone: Tz) -> Result<Vec<Option<String>>, WireError> {
        let columns = columns.ok_or_else(|| WireError::Protocol("a row before its description".to_owned()))?;
        let count = usize::from(u16::from_be_bytes(self.number()?));
        if count != columns.len() {
            return Err(WireError::Protocol(format!("{count} values for {} columns", columns.len())));
        }
        let row = columns.iter().map(|column| self.value(column, zone)).collect::<Result<_, _>>()?;
        self.end()?;
        Ok(row)
    }

    fn value(&mut self, column: &Column, zone: Tz) -> Result<Option<String>, WireError> {
        let length = i32::from_be_bytes(self.number()?);
        if length == -1 {
            return Ok(None);
        }
        let length = usize::try_from(length).map_err(|_| WireError::Protocol(format!("{length} is no length")))?;
        let bytes = self.take(length)?;
        let text = if column.is_binary {
            text_of_binary(column.oid, bytes, zone)
        } else {
            String::from_utf8(bytes.to_vec()).map_err(|e| e.to_string())
        };
        text.map(Some).map_err(WireError::Protocol)
    }

    fn end(&self) -> Result<(), WireError> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(WireError::Protocol(format!("{} bytes are left over in a message", self.0.len())))
    }
}

fn message(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), &body].concat()
}

fn server_error(body: &[u8]) -> WireError {
    let field = |code: u8| {
        let field = body.split(|byte| *byte == 0).find(|field| field.first() == Some(&code));
        field.map(|field| String::from_utf8_lossy(&field[1..]).into_owned()).unwrap_or_default()
    };
    WireError::Server { sqlstate: field(b'C'), message: field(b'M') }
}

fn utc() -> Tz {
    "UTC".parse().expect("UTC is a time zone")
}
