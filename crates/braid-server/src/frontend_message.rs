//! Messages from clients: framing and decoding, with every length checked.
//!
//! A frame is a type byte, a length that counts itself (4 bytes, big-endian), and a body. The decoder is Braid's own
//! because clients are not trusted: a wrong length must give an error of this connection, and never a panic, an
//! allocation of that size or a read beyond the frame.
//!
//! An unknown type or an impossible length is fatal, because the start of the next frame is unknown. A body that does not
//! decode is an ordinary error, because the framing is intact.

use braid_engine::Encoding;
use bytes::{Buf, Bytes, BytesMut};

use crate::error_report::ErrorReport;

/// Bytes in the largest message with a statement, parameters or COPY data: a quarter of PostgreSQL's 1 GB, because it
/// has to lie in memory as a whole.
pub(crate) const LARGE_MESSAGE_BYTES_MAX: usize = 256 << 20;

/// Bytes in the largest of all other messages, as in PostgreSQL (`PQ_SMALL_MESSAGE_LIMIT`).
pub(crate) const SMALL_MESSAGE_BYTES_MAX: usize = 10_000;

/// The target of Describe and Close.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// A prepared statement; the empty name is the unnamed one.
    Statement(String),
    /// A portal; likewise.
    Portal(String),
}

/// Parse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parse {
    pub statement: String,
    pub sql: String,
    /// Declared types; 0 leaves one open, and there may be fewer than parameters.
    pub parameter_oids: Vec<u32>,
}

/// Bind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bind {
    pub portal: String,
    pub statement: String,
    pub parameter_formats: Vec<i16>,
    pub parameters: Vec<Option<Bytes>>,
    pub result_formats: Vec<i16>,
}

/// A message after startup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FrontendMessage {
    Query(String),
    Parse(Parse),
    Bind(Bind),
    Describe(Target),
    /// `max_rows` 0 means all rows.
    Execute {
        portal: String,
        max_rows: usize,
    },
    Close(Target),
    Flush,
    Sync,
    CopyData(Bytes),
    CopyDone,
    CopyFail(String),
    /// Password, SASLInitialResponse or SASLResponse, depending on the state of the login.
    Password(Bytes),
    FunctionCall,
    Terminate,
}

impl FrontendMessage {
    /// Whether it belongs to the extended query protocol, in which an error makes the server skip to the next Sync.
    pub fn is_extended(&self) -> bool {
        matches!(
            self,
            Self::Parse(_) | Self::Bind(_) | Self::Describe(_) | Self::Execute { .. } | Self::Close(_) | Self::Flush
        )
    }
}

/// Takes the next whole frame off `input`: its type and body. `None` when more bytes are needed.
pub(crate) fn take_frame(input: &mut BytesMut) -> Result<Option<(u8, Bytes)>, ErrorReport> {
    let Some(header) = input.first_chunk::<5>() else {
        return Ok(None);
    };
    let end = frame_bytes(header)?;
    if input.len() < end {
        return Ok(None);
    }
    let kind = header[0];
    let mut frame = input.split_to(end).freeze();
    frame.advance(5);
    Ok(Some((kind, frame)))
}

/// The number of bytes that the frame at the start of `input` still lacks, as far as it is known.
pub(crate) fn missing_bytes(input: &BytesMut) -> usize {
    match input.first_chunk::<5>() {
        Some(header) => frame_bytes(header).map_or(0, |end| end.saturating_sub(input.len())),
        None => 5 - input.len(),
    }
}

fn frame_bytes(header: &[u8; 5]) -> Result<usize, ErrorReport> {
    let limit = match header[0] {
        b'Q' | b'P' | b'B' | b'd' | b'F' => LARGE_MESSAGE_BYTES_MAX,
        b'D' | b'E' | b'C' | b'H' | b'S' | b'c' | b'f' | b'p' | b'X' => SMALL_MESSAGE_BYTES_MAX,
        other => {
            return Err(ErrorReport::fatal("08P01", format!("invalid frontend message type {other}")));
        }
    };
    let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
    if !(4..=limit).contains(&length) {
        let message = format!("invalid message length {length} (4 to {limit} bytes are allowed)");
        return Err(ErrorReport::fatal("08P01", message));
    }
    Ok(length + 1)
}

/// Decodes a frame, whose texts are in the client's encoding. Those of a COPY and of parameters are decoded later.
pub(crate) fn decode(kind: u8, body: Bytes, encoding: Encoding) -> Result<FrontendMessage, ErrorReport> {
    let mut body = Body::new(body, encoding);
    let message = match kind {
        b'Q' => FrontendMessage::Query(body.string()?),
        b'P' => FrontendMessage::Parse(decode_parse(&mut body)?),
        b'B' => FrontendMessage::Bind(decode_bind(&mut body)?),
        b'D' => FrontendMessage::Describe(body.target()?),
        b'C' => FrontendMessage::Close(body.target()?),
        b'E' => {
            let portal = body.string()?;
            FrontendMessage::Execute { portal, max_rows: usize::try_from(body.int4()?).unwrap_or(0) }
        }
        b'H' => FrontendMessage::Flush,
        b'S' => FrontendMessage::Sync,
        b'd' => return Ok(FrontendMessage::CopyData(body.bytes)),
        b'c' => FrontendMessage::CopyDone,
        b'f' => FrontendMessage::CopyFail(body.string()?),
        b'p' => return Ok(FrontendMessage::Password(body.bytes)),
        b'F' => return Ok(FrontendMessage::FunctionCall),
        _ => FrontendMessage::Terminate,
    };
    if body.bytes.is_empty() { Ok(message) } else { Err(malformed("it has bytes after its contents")) }
}

fn decode_parse(body: &mut Body) -> Result<Parse, ErrorReport> {
    let (statement, sql) = (body.string()?, body.string()?);
    let count = body.count()?;
    let parameter_oids = (0..count).map(|_| body.int4().map(|oid| oid as u32)).collect::<Result<_, _>>()?;
    Ok(Parse { statement, sql, parameter_oids })
}

fn decode_bind(body: &mut Body) -> Result<Bind, ErrorReport> {
    let (portal, statement) = (body.string()?, body.string()?);
    let parameter_formats = body.formats()?;
    let count = body.count()?;
    let parameters = (0..count).map(|_| body.sized()).collect::<Result<_, _>>()?;
    let result_formats = body.formats()?;
    Ok(Bind { portal, statement, parameter_formats, parameters, result_formats })
}

/// SASLInitialResponse: the mechanism's name and the client's first message.
pub(crate) fn decode_sasl_initial(body: Bytes) -> Result<(String, Bytes), ErrorReport> {
    let mut body = Body::new(body, Encoding::UTF8);
    let mechanism = body.string()?;
    Ok((mechanism, body.sized()?.unwrap_or_default()))
}

fn malformed(what: &'static str) -> ErrorReport {
    ErrorReport::protocol_violation(format!("invalid message format: {what}"))
}

/// What is left of a body.
pub(crate) struct Body {
    bytes: Bytes,
    encoding: Encoding,
}

impl Body {
    /// A body with texts in an encoding.
    pub fn new(bytes: Bytes, encoding: Encoding) -> Self {
        Self { bytes, encoding }
    }

    /// A string up to its zero byte.
    pub fn string(&mut self) -> Result<String, ErrorReport> {
        let end = self.bytes.iter().position(|b| *b == 0).ok_or_else(|| malformed("a string is not terminated"))?;
        let text = self.bytes.split_to(end);
        self.bytes.advance(1);
        Ok(self.encoding.decode(&text)?.into_owned())
    }

    fn int2(&mut self) -> Result<i16, ErrorReport> {
        if self.bytes.len() < 2 { Err(malformed("it ends inside a number")) } else { Ok(self.bytes.get_i16()) }
    }

    fn int4(&mut self) -> Result<i32, ErrorReport> {
        if self.bytes.len() < 4 { Err(malformed("it ends inside a number")) } else { Ok(self.bytes.get_i32()) }
    }

    /// A number of elements; PostgreSQL allows 65535.
    fn count(&mut self) -> Result<u16, ErrorReport> {
        self.int2().map(|n| n as u16)
    }

    fn formats(&mut self) -> Result<Vec<i16>, ErrorReport> {
        let count = self.count()?;
        let format = |code| match code {
            0 | 1 => Ok(code),
            _ => Err(ErrorReport::protocol_violation(format!("unsupported format code: {code}"))),
        };
        (0..count).map(|_| self.int2().and_then(format)).collect()
    }

    /// A length and that number of bytes; -1 is null.
    fn sized(&mut self) -> Result<Option<Bytes>, ErrorReport> {
        match self.int4()? {
            -1 => Ok(None),
            length => match usize::try_from(length) {
                Ok(length) if length <= self.bytes.len() => Ok(Some(self.bytes.split_to(length))),
                _ => Err(malformed("a value is longer than the message")),
            },
        }
    }

    fn target(&mut self) -> Result<Target, ErrorReport> {
        if self.bytes.is_empty() {
            return Err(malformed("the target is missing"));
        }
        match self.bytes.get_u8() {
            b'S' => self.string().map(Target::Statement),
            b'P' => self.string().map(Target::Portal),
            _ => Err(malformed("the target is neither a statement nor a portal")),
        }
    }
}

#[cfg(test)]
#[path = "frontend_message_tests.rs"]
mod tests;
