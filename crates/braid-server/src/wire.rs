//! One client's socket with its two buffers.
//!
//! `output` collects responses; it is sent when it is full or when the protocol requires it. Rows are encoded directly
//! into it. `input` holds received bytes that are not decoded yet. An idle connection has neither buffer, so that it costs
//! only its task and its session.
//!
//! While a statement runs, [`Wire::client_gone`] keeps reading. It notices when the client closes its socket, and the
//! statement stops. Bytes that the client sends meanwhile stay in `input`, up to [`READ_AHEAD_BYTES_MAX`]. Beyond that
//! limit the server reads nothing until the statement ends (back-pressure), and notices a lost client when a write fails.

use std::borrow::Cow;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::{Duration, Instant};

use braid_base::ByteSize;
use braid_engine::{Encoding, Encryption};
use bytes::{Bytes, BytesMut};
use pgwire::messages::PgWireBackendMessage;
use pgwire::tokio::server::MaybeTls;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::client_text::translated;
use crate::error_report::ErrorReport;
use crate::frontend_message::{LARGE_MESSAGE_BYTES_MAX, missing_bytes, take_frame};

/// Bytes in `output` at which rows wait until it is sent: large enough that system calls do not count.
pub(crate) const OUTPUT_FULL: ByteSize = ByteSize(64 << 10);

/// Bytes received while a statement runs.
const READ_AHEAD_BYTES_MAX: usize = 64 << 10;

/// Bytes asked for in one read; of a message that is longer, at most [`READ_STEP_BYTES_MAX`] are made room for at a
/// time, so that a length alone costs no memory.
const READ_BYTES: usize = 8 << 10;
const READ_STEP_BYTES_MAX: usize = 1 << 20;

/// A buffer above this size is freed when the client is idle.
const IDLE_BUFFER_BYTES_MAX: usize = 8 << 10;

/// Input from the client.
#[derive(Debug)]
pub(crate) enum Received {
    /// A frame: type and body.
    Frame(u8, Bytes),
    /// The end of the stream, or a broken socket.
    End,
}

/// The name that OpenSSL has for a cipher suite: `TLS13_AES_256_GCM_SHA384` is `TLS_AES_256_GCM_SHA384`, and
/// `TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384` is `ECDHE-RSA-AES256-GCM-SHA384`.
fn openssl_name(suite: &str) -> String {
    match suite.strip_prefix("TLS13_") {
        Some(rest) => format!("TLS_{rest}"),
        None => {
            let rest = suite.trim_start_matches("TLS_").replace("_WITH_", "-").replace("AES_", "AES").replace('_', "-");
            // The digest belongs to the suite alone.
            if rest.contains("POLY1305") { rest.trim_end_matches("-SHA256").to_owned() } else { rest }
        }
    }
}

/// The socket.
pub(crate) struct Wire {
    socket: MaybeTls,
    input: BytesMut,
    output: Vec<u8>,
    sent: usize,
    ended: bool,
    client_wait: Duration,
    /// The encoding of the client's texts.
    pub encoding: Encoding,
}

impl Wire {
    /// How it is encrypted, if it is.
    pub fn encryption(&self) -> Option<Encryption> {
        let MaybeTls::Tls(stream) = &self.socket else { return None };
        let connection = stream.get_ref().1;
        let version = connection.protocol_version().and_then(|version| version.as_str()).unwrap_or_default();
        let suite = connection.negotiated_cipher_suite().map(|suite| suite.suite());
        let suite = suite.and_then(|suite| suite.as_str()).unwrap_or_default();
        let key_bits = if suite.contains("_128_") { 128 } else { 256 };
        Some(Encryption { version: version.replace('_', "."), cipher: openssl_name(suite), key_bits })
    }

    /// Over an open socket.
    pub fn new(socket: MaybeTls) -> Self {
        let (input, output, client_wait) = (BytesMut::new(), Vec::new(), Duration::ZERO);
        Self { socket, input, output, sent: 0, ended: false, client_wait, encoding: Encoding::UTF8 }
    }

    /// Whether the connection is encrypted.
    pub fn is_tls(&self) -> bool {
        matches!(self.socket, MaybeTls::Tls(_))
    }

    /// The next frame. Cancelling it loses nothing.
    pub async fn receive(&mut self) -> Result<Received, ErrorReport> {
        self.receive_bounded(LARGE_MESSAGE_BYTES_MAX).await
    }

    /// The next frame, which is refused as soon as it is known to be longer than `bytes_max`.
    pub async fn receive_bounded(&mut self, bytes_max: usize) -> Result<Received, ErrorReport> {
        loop {
            if missing_bytes(&self.input) > bytes_max {
                return Err(ErrorReport::fatal("08P01", format!("message longer than {bytes_max} bytes")));
            }
            if let Some((kind, body)) = take_frame(&mut self.input)? {
                return Ok(Received::Frame(kind, body));
            }
            if self.ended {
                return Ok(Received::End);
            }
            if self.input.is_empty()
                && let MaybeTls::Plain(socket) = &self.socket
            {
                // No buffer is held while nothing comes; an error shows in the read below.
                let _ = socket.readable().await;
            }
            let room = missing_bytes(&self.input).clamp(READ_BYTES, READ_STEP_BYTES_MAX);
            if self.read(room).await.is_err() {
                self.ended = true;
            }
        }
    }

    /// Reads exactly `length` bytes, before frames have types; `None` at the end of the stream.
    pub async fn receive_exact(&mut self, length: usize) -> Option<Bytes> {
        while self.input.len() < length {
            if self.ended || self.read(length - self.input.len()).await.is_err() {
                self.ended = true;
                return None;
            }
        }
        Some(self.input.split_to(length).freeze())
    }

    async fn read(&mut self, room: usize) -> io::Result<()> {
        self.input.reserve(room);
        // `room` bounds what one call may take: before TLS starts, nothing beyond the request may be read.
        let mut limited = (&mut self.socket).take(room as u64);
        if limited.read_buf(&mut self.input).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    /// Resolves when the client has closed its socket or lost it. Cancelling it loses nothing.
    pub async fn client_gone(&mut self) {
        while !self.ended {
            if self.input.len() >= READ_AHEAD_BYTES_MAX {
                return std::future::pending().await;
            }
            if self.read(READ_BYTES).await.is_err() {
                self.ended = true;
            }
        }
    }

    /// Adds a message to the output, in the client's encoding. An error that has no words in it is another error to the client; elsewhere
    /// `?` stands for what the encoding lacks.
    pub fn put(&mut self, message: &PgWireBackendMessage) {
        if let Err(error) = self.put_translated(message) {
            let what_there_is = |text: &str| Ok(self.encoding.encode_what_there_is(text));
            let bytes = match message {
                PgWireBackendMessage::ErrorResponse(_) => encoded(&error.message()).to_vec(),
                _ => translated(&encoded(message), what_there_is).unwrap_or_default(),
            };
            self.output.extend_from_slice(&bytes);
        }
    }

    /// Adds a message to the output, in the client's encoding.
    ///
    /// # Errors
    /// For a character that the encoding lacks (22P05).
    pub fn put_translated(&mut self, message: &PgWireBackendMessage) -> Result<(), ErrorReport> {
        let bytes = encoded(message);
        match self.encoding.is_unconverted() {
            true => self.output.extend_from_slice(&bytes),
            false => {
                let encode = |text: &str| self.encoding.encode(text).map(Cow::into_owned);
                self.output.extend_from_slice(&translated(&bytes, encode)?);
            }
        }
        Ok(())
    }

    /// The output, to append encoded messages to.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// Whether rows should wait for [`Wire::flush`].
    pub fn is_full(&self) -> bool {
        self.output.len() as u64 >= OUTPUT_FULL.0
    }

    /// Sends the output. After a cancellation, the next call continues at the same byte.
    pub async fn flush(&mut self) -> io::Result<()> {
        let begun = Instant::now();
        let Self { socket, output, sent, .. } = self;
        let flushed = poll_fn(|context| {
            while *sent < output.len() {
                match Pin::new(&mut *socket).poll_write(context, &output[*sent..]) {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    Poll::Ready(Ok(count)) => *sent += count,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => return Poll::Pending,
                }
            }
            pin!(&mut *socket).poll_flush(context)
        })
        .await;
        self.client_wait += begun.elapsed();
        flushed?;
        self.output.clear();
        self.sent = 0;
        Ok(())
    }

    /// The time that sending has taken since the last call: the wait for a client that does not read.
    pub fn take_client_wait(&mut self) -> Duration {
        std::mem::take(&mut self.client_wait)
    }

    /// Whether the output is empty.
    pub fn is_flushed(&self) -> bool {
        self.output.is_empty()
    }

    /// Frees memory before a wait that may be long.
    pub fn relax(&mut self) {
        if self.output.is_empty() && self.output.capacity() > IDLE_BUFFER_BYTES_MAX {
            self.output = Vec::new();
        }
        if self.input.is_empty() {
            self.input = BytesMut::new();
        }
    }

    /// Sends what is left and closes the socket.
    pub async fn close(mut self) {
        if self.flush().await.is_ok() {
            // An error means that the peer is gone already.
            let _ = self.socket.shutdown().await;
        }
    }

    /// The socket, for the TLS handshake; fails when bytes were received that should not be there yet.
    pub fn into_socket(self) -> Result<MaybeTls, ErrorReport> {
        if self.input.is_empty() {
            Ok(self.socket)
        } else {
            Err(ErrorReport::protocol_violation("received unencrypted data after SSL request"))
        }
    }
}

/// A message as bytes. Only one beyond its length limit fails, such as a name of 30 kB; the connection must survive it.
fn encoded(message: &PgWireBackendMessage) -> BytesMut {
    let mut bytes = BytesMut::new();
    if let Err(error) = message.encode(&mut bytes) {
        let report = ErrorReport::error("54000", format!("a response cannot be encoded: {error}"));
        bytes.clear();
        if report.message().encode(&mut bytes).is_err() {
            bytes.clear();
        }
    }
    bytes
}
