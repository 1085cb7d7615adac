//! COPY over the wire: data from the client, data to the client.

use braid_engine::{CopyIn, CopyOut};
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
    let response = CopyInResponse::new(format, count, column_formats);
    running.wire.put(&PgWireBackendMessage::CopyInResponse(response));
    running.flush().await?;
    loop {
        match running.receive().await? {
            FrontendMessage::CopyData(bytes) => running.wait(copy.data(bytes)).await??,
            FrontendMessage::CopyDone => {
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
    let response = CopyOutResponse::new(format, count, column_formats);
    running.wire.put(&PgWireBackendMessage::CopyOutResponse(response));
    while let Some(records) = running.wait_for_rows(copy.next()).await? {
        for record in records?.iter() {
            put_copy_data(running.wire.output(), record)?;
            if running.wire.is_full() {
                running.flush().await?;
            }
        }
    }
    running.wire.put(&PgWireBackendMessage::CopyDone(CopyDone::new()));
    Ok(format!("COPY {}", copy.row_count()))
}

/// CopyData: `d`, the length that counts itself, bytes.
fn put_copy_data(output: &mut Vec<u8>, record: &[u8]) -> Result<(), ErrorReport> {
    let length = i32::try_from(record.len() + 4).map_err(|_| ErrorReport::error("54000", "a COPY row is too long"))?;
    output.push(b'd');
    output.extend_from_slice(&length.to_be_bytes());
    output.extend_from_slice(record);
    Ok(())
}
