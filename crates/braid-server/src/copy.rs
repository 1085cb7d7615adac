//! COPY over the wire: data from the client, data to the client.

use braid_engine::{CopyIn, CopyOut};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::copy::{CopyDone, CopyInResponse, CopyOutResponse};

use crate::error_report::{ErrorReport, Failure};
use crate::frontend_message::FrontendMessage;
use crate::running::Running;

/// Format codes of a COPY: one for the whole, one per column; the column's say the same again.
fn formats(columns: usize, binary: bool) -> Result<(i8, i16, Vec<i16>), ErrorReport> {
    let count = i16::try_from(columns).map_err(|_| ErrorReport::error("54011", "too many columns for COPY"))?;
    Ok((i8::from(binary), count, vec![i16::from(binary); columns]))
}

/// Takes the client's data until it says that this was all; answers the command tag. On any failure nothing of it is
/// kept, because the load is dropped uncommitted.
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
            // Clients that pipeline send these behind the Execute that started the COPY.
            FrontendMessage::Flush | FrontendMessage::Sync => {}
            FrontendMessage::Terminate => return Err(Failure::Gone),
            _ => return Err(ErrorReport::protocol_violation("unexpected message type during COPY from stdin").into()),
        }
    }
}

/// Sends the data of a COPY TO STDOUT; answers the command tag.
pub(crate) async fn copy_out(running: &mut Running<'_>, mut copy: CopyOut) -> Result<String, Failure> {
    let (format, count, column_formats) = formats(copy.column_count(), copy.is_binary())?;
    let response = CopyOutResponse::new(format, count, column_formats);
    running.wire.put(&PgWireBackendMessage::CopyOutResponse(response));
    let mut rows_before = 0;
    while let Some(data) = running.wait_for_rows(copy.next()).await? {
        let data = data?;
        let record_count = copy.rows() - rows_before;
        rows_before = copy.rows();
        for record in records(&data, record_count) {
            // `d`, length, bytes.
            let length = i32::try_from(record.len() + 4);
            let length = length.map_err(|_| ErrorReport::error("54000", "a COPY row is too long"))?;
            let output = running.wire.output();
            output.push(b'd');
            output.extend_from_slice(&length.to_be_bytes());
            output.extend_from_slice(record);
            if running.wire.is_full() {
                running.flush().await?;
            }
        }
    }
    running.wire.put(&PgWireBackendMessage::CopyDone(CopyDone::new()));
    Ok(format!("COPY {}", copy.rows()))
}

/// Cuts a piece of `count` records into one message's worth each. Clients may not rely on a message being a record, but
/// psycopg does, and PostgreSQL sends it so. A header line counts as no record.
///
/// In the text format every record is a line; in CSV a line may also end within quotes. Which of the two a piece is
/// shows in the number of lines; where neither fits, as with unusual quotes, the piece stays whole.
fn records(data: &[u8], count: u64) -> Vec<&[u8]> {
    let fits = |records: &[&[u8]]| (count..=count + 1).contains(&(records.len() as u64));
    let lines: Vec<&[u8]> = data.split_inclusive(|b| *b == b'\n').collect();
    if fits(&lines) {
        return lines;
    }
    let mut quoted = false;
    let unquoted: Vec<&[u8]> = data
        .split_inclusive(|byte| {
            quoted ^= *byte == b'"';
            *byte == b'\n' && !quoted
        })
        .collect();
    if fits(&unquoted) { unquoted } else { vec![data] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_a_record() {
        for (data, count, expected) in [
            ("1\n2\n", 2, vec!["1\n", "2\n"]),
            ("a\n1\n", 1, vec!["a\n", "1\n"]),
            ("\"\n\"x\n", 2, vec!["\"\n", "\"x\n"]),
            ("\"1\n2\"\"\n\"\n3\n", 2, vec!["\"1\n2\"\"\n\"\n", "3\n"]),
            ("'1\n2\n'\n", 1, vec!["'1\n2\n'\n"]),
        ] {
            let got: Vec<&str> =
                records(data.as_bytes(), count).iter().map(|r| std::str::from_utf8(r).unwrap()).collect();
            assert_eq!(got, expected);
        }
    }
}
