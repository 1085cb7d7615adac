//! COPY over the wire: data from the client, data to the client, in the client's encoding.

use std::borrow::Cow;

use braid_engine::{CopyIn, CopyOut, Encoding, StreamDecoder};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::copy::{CopyDone, CopyInResponse, CopyOutResponse};

use crate::error_report::{ErrorReport, Failure};
use crate::frontend_message::FrontendMessage;
use crate::running::Running;

/// Format codes of a COPY: one for the whole, one for each column. All are 0, which is text, or 1, which is binary.
fn formats(column_count: usize, is_binary: bool) -> Result<(i8, i16, Vec<i16>), ErrorReport> {
    let count = i16::try_from(column_count).map_err(|_| ErrorReport::error("54011", "too many columns for COPY"))?;
    Ok((i8::from(is_binary), count, vec![i16::from(is_binary); column_count]))
}

/// Reads the client's data until CopyDone, and returns the command tag. After a failure the table is unchanged, because
/// the load is dropped without a commit.
pub(crate) async fn copy_in(running: &mut Running<'_>, mut copy: CopyIn) -> Result<String, Failure> {
    let (format, count, column_formats) = formats(copy.column_count(), copy.is_binary())?;
    let encoding = running.wire.encoding;
    check_format(copy.is_binary(), encoding)?;
    let mut decoder = StreamDecoder::of(encoding);
    let response = CopyInResponse::new(format, count, column_formats);
    running.wire.put(&PgWireBackendMessage::CopyInResponse(response));
    running.flush().await?;
    loop {
        match running.receive().await? {
            FrontendMessage::CopyData(bytes) => {
                let decoded = match decoder.next(&bytes)? {
                    Cow::Borrowed(_) => None,
                    Cow::Owned(decoded) => Some(decoded.into()),
                };
                running.wait(copy.data(decoded.unwrap_or(bytes))).await??;
            }
            FrontendMessage::CopyDone => {
                decoder.finish()?;
                let rows = running.wait(copy.finish()).await??;
                return Ok(format!("COPY {rows}"));
            }
            FrontendMessage::CopyFail(message) => {
                return Err(ErrorReport::error("57014", format!("COPY from stdin failed: {message}")).into());
            }
            // Pipelining clients send these after the Execute that started the COPY.
            FrontendMessage::Flush | FrontendMessage::Sync => {}
            FrontendMessage::Terminate => return Err(Failure::Gone),
            _ => return Err(ErrorReport::protocol_violation("unexpected message type during COPY from stdin").into()),
        }
    }
}

/// Sends the data of a COPY TO STDOUT, a message for each record, a header among them: clients may not rely on that, but
/// psycopg does, and PostgreSQL sends it so. Answers the command tag.
pub(crate) async fn copy_out(running: &mut Running<'_>, mut copy: CopyOut) -> Result<String, Failure> {
    let (format, count, column_formats) = formats(copy.column_count(), copy.is_binary())?;
    let encoding = running.wire.encoding;
    check_format(copy.is_binary(), encoding)?;
    let response = CopyOutResponse::new(format, count, column_formats);
    running.wire.put(&PgWireBackendMessage::CopyOutResponse(response));
    while let Some(records) = running.wait_for_rows(copy.next()).await? {
        for record in records?.iter() {
            match encoding.is_unconverted() {
                true => put_copy_data(running.wire.output(), record)?,
                false => {
                    let text = std::str::from_utf8(record)
                        .map_err(|_| ErrorReport::error("XX000", "a COPY row is no text"))?;
                    put_copy_data(running.wire.output(), &encoding.encode(text)?)?;
                }
            }
            if running.wire.is_full() {
                running.flush().await?;
            }
        }
    }
    running.wire.put(&PgWireBackendMessage::CopyDone(CopyDone::new()));
    Ok(format!("COPY {}", copy.row_count()))
}

/// Refuses binary rows with texts in another encoding.
fn check_format(is_binary: bool, encoding: Encoding) -> Result<(), ErrorReport> {
    if !is_binary || encoding.is_unconverted() {
        return Ok(());
    }
    let message = format!("COPY in binary format is not supported with client_encoding {}", encoding.name());
    Err(ErrorReport::error("0A000", message).with_hint("SET client_encoding = 'UTF8', or copy text."))
}

/// CopyData: `d`, the length that counts itself, bytes.
fn put_copy_data(output: &mut Vec<u8>, record: &[u8]) -> Result<(), ErrorReport> {
    let length = i32::try_from(record.len() + 4).map_err(|_| ErrorReport::error("54000", "a COPY row is too long"))?;
    output.push(b'd');
    output.extend_from_slice(&length.to_be_bytes());
    output.extend_from_slice(record);
    Ok(())
}
