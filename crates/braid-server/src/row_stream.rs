//! The rows that a running query sends to the client, one batch at a time.
//!
//! A stream can stop after any row and resume later (portals with a row limit). The client's speed limits the query: the
//! stream requests the next batch only after the output has gone to the socket.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use braid_engine::{Formats, RowBatches, check_same_columns};
use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::error_report::{ErrorReport, Failure};
use crate::running::Running;
use crate::scrolled_rows::ScrolledRows;
use crate::value::row_encoder::{RowCursor, RowEncoder};
use crate::wire::OUTPUT_FULL;

/// A query's rows, at some place.
pub(crate) struct RowStream {
    encoder: RowEncoder,
    stream: RowBatches,
    cursor: Option<RowCursor>,
    /// The token that stops the query, in this Execute or a later one.
    pub token: CancellationToken,
    /// The command tag without the count.
    pub tag: &'static str,
}

/// Where [`RowStream::send`] stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Rows sent by this call.
    pub rows: usize,
    /// Whether the rows have ended; with a row limit this is known only when fewer rows came.
    pub at_end: bool,
}

impl RowStream {
    /// A stream over `stream`. `described` is the description that the client has already got, if any.
    pub fn new(
        schema: &SchemaRef,
        stream: RowBatches,
        described: Option<&SchemaRef>,
        formats: &[i16],
        token: CancellationToken,
        tag: &'static str,
    ) -> Result<Self, ErrorReport> {
        let described = described.unwrap_or(schema);
        check_same_columns(described, schema)?;
        let encoder = encoder(described, formats)?;
        Ok(Self { encoder, stream, cursor: None, token, tag })
    }

    /// The same rows, none of which has been sent, for a cursor that keeps them.
    pub fn into_scrolled(self) -> ScrolledRows {
        ScrolledRows::new(self.encoder, self.stream, self.token)
    }

    /// Notes the formats of the session in which the rows are asked for.
    pub fn note_formats(&mut self, formats: Formats) {
        self.encoder.note_formats(formats);
    }

    /// How the rows are encoded.
    pub fn encoder(&self) -> &RowEncoder {
        &self.encoder
    }

    /// Sends the rows from here on in other formats.
    pub fn reformat(&mut self, formats: &[i16]) -> Result<(), ErrorReport> {
        self.encoder = reformatted(&self.encoder, formats)?;
        if let Some(cursor) = &mut self.cursor {
            cursor.set_formats(&self.encoder);
        }
        Ok(())
    }

    /// Sends up to `rows_max` rows. The last of them may still lie in the output.
    pub async fn send(&mut self, running: &mut Running<'_>, rows_max: usize) -> Result<Sent, Failure> {
        let mut rows = 0;
        while rows < rows_max {
            let Some(cursor) = self.batch(running).await? else {
                return Ok(Sent { rows, at_end: true });
            };
            let start = running.wire.output().len();
            rows += cursor.append(running.wire.output(), rows_max - rows, OUTPUT_FULL)?;
            running.translate_rows(start, &self.encoder)?;
            if running.wire.is_full() {
                running.flush().await?;
            }
        }
        Ok(Sent { rows, at_end: false })
    }

    /// Passes over up to `rows_max` rows.
    pub async fn skip(&mut self, running: &mut Running<'_>, rows_max: usize) -> Result<Sent, Failure> {
        let mut rows = 0;
        while rows < rows_max {
            let Some(cursor) = self.batch(running).await? else {
                return Ok(Sent { rows, at_end: true });
            };
            rows += cursor.skip(rows_max - rows);
        }
        Ok(Sent { rows, at_end: false })
    }

    /// The place in a batch with rows left; `None` at the end of the result.
    async fn batch(&mut self, running: &mut Running<'_>) -> Result<Option<&mut RowCursor>, Failure> {
        // With a source and a socket that are always ready, the loop would never reach an await that checks the token.
        if self.token.is_cancelled() {
            return Err(ErrorReport::cancelled().into());
        }
        while self.cursor.as_ref().is_none_or(|cursor| cursor.remaining() == 0) {
            // The batch is dropped before the next one is awaited.
            self.cursor = None;
            match running.wait_for_rows(self.stream.next()).await? {
                Some(Ok(batch)) => self.cursor = Some(self.encoder.start(&batch)?),
                Some(Err(error)) => return Err(error.into()),
                None => return Ok(None),
            }
        }
        Ok(self.cursor.as_mut())
    }

    /// The CommandComplete tag for `rows` rows.
    pub fn complete_tag(&self, rows: usize) -> String {
        match self.tag {
            "EXPLAIN" | "SHOW" => self.tag.to_owned(),
            tag => format!("{tag} {rows}"),
        }
    }
}

/// An encoder for rows of `schema`, if the client's format codes fit it.
pub(crate) fn encoder(schema: &Arc<Schema>, formats: &[i16]) -> Result<RowEncoder, ErrorReport> {
    RowEncoder::new(schema, formats).ok_or_else(|| wrong_formats(formats, schema.fields().len()))
}

/// The same encoder in other formats.
pub(crate) fn reformatted(encoder: &RowEncoder, formats: &[i16]) -> Result<RowEncoder, ErrorReport> {
    encoder.with_formats(formats).ok_or_else(|| wrong_formats(formats, encoder.column_count()))
}

fn wrong_formats(formats: &[i16], column_count: usize) -> ErrorReport {
    let message = format!("bind message has {} result formats but query has {column_count} columns", formats.len());
    ErrorReport::protocol_violation(message)
}
