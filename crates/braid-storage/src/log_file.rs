//! The bytes of a log: a header, and batches of commit records.
//!
//! Header, 4096 bytes:
//!
//! | offset | width | meaning |
//! |---|---|---|
//! | 0 | 8 | magic `BRAIDLOG` |
//! | 8 | 4 | format version, [`LOG_VERSION`] |
//! | 12 | 4 | 0 |
//! | 16 | 8 | number of the log |
//! | 24 | 8 | XXH3-64 of bytes 0 to 24 |
//! | 32 | | zeros |
//!
//! Batches follow without gaps, each at a multiple of 4096:
//!
//! | offset | width | meaning |
//! |---|---|---|
//! | 0 | 8 | magic `BRAIDBAT` |
//! | 8 | 8 | number of the log |
//! | 16 | 8 | offset of the batch in the log |
//! | 24 | 8 | bytes of the batch, padding excluded |
//! | 32 | 8 | XXH3-64 of the bytes from 48 on, padding excluded |
//! | 40 | 8 | XXH3-64 of bytes 0 to 40 |
//! | 48 | 4 | number of records; then each of them: 4 bytes, its length, and its bytes |
//! | | 1 | 255 |
//! | | | zeros up to a multiple of 4096 |
//!
//! Behind the last batch there are only zeros, at least 4096: the log is filled with zeros, durably, before a batch is written into
//! it. So a log that was cut short is noticed.
//!
//! A batch is written and synced before the next one is written. So a power cut can leave at most the last one incomplete, and of
//! that one sectors of 512 bytes as they were: zeros. [`read_log`] tells a batch that is incomplete, which no commit was reported
//! for, from one that is damaged: an incomplete batch has a sector of zeros, and only zeros follow it. Anything else is an error.
//! A batch with 512 zeros of its own that is damaged elsewhere, is the last one, and was not followed by a checkpoint, is taken for
//! incomplete.

use braid_base::SEGMENT_ALIGN_BYTES;

use crate::checksum::checksum;
use crate::manifest_error::ManifestError;

/// The version of the log's format.
pub const LOG_VERSION: u32 = 1;

/// Bytes of a log's header.
pub(crate) const LOG_HEADER_BYTES: usize = SEGMENT_ALIGN_BYTES;

const MAGIC: [u8; 8] = *b"BRAIDLOG";
const BATCH_MAGIC: [u8; 8] = *b"BRAIDBAT";
/// Bytes of a log's header that are no padding.
const HEADER_END: usize = 32;
/// Bytes of a batch before its records.
const BATCH_HEADER_BYTES: usize = 48;
/// What a disk writes as a whole.
const SECTOR_BYTES: usize = 512;
/// The last byte of a batch, so that its last sector is not all zeros.
const BATCH_END: u8 = 0xFF;

/// What is wrong with a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogFault {
    /// It is not there.
    #[error("it is missing")]
    Missing,
    /// Its bytes are not those that were written.
    #[error("damaged at byte {offset}: {what}")]
    Damaged {
        /// Where, in bytes from the start.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// It follows a log that ends with an incomplete batch, and has records.
    #[error("it follows a log that ends with an incomplete batch")]
    FollowsIncomplete,
    /// Its checksums hold, and a record is of no commit that follows the state before: a bug.
    #[error("the record of commit {commit} is {source}")]
    Record {
        /// The number that the commit should have.
        commit: u64,
        /// What is wrong with the record.
        source: ManifestError,
    },
    /// The tables, types and sequences of the newest state do not go together: a bug.
    #[error("its newest state is wrong: {0}")]
    State(String),
}

/// What a log holds.
#[derive(Debug, PartialEq, Eq)]
pub struct LogContents<'a> {
    /// The records of all complete batches.
    pub records: Vec<&'a [u8]>,
    /// Where the last complete batch ends, padding included.
    pub end: u64,
    /// Whether an incomplete batch follows.
    pub is_torn: bool,
}

/// The header of the log with this number.
fn encode_header(number: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(LOG_HEADER_BYTES);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&LOG_VERSION.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(&checksum(&out).to_le_bytes());
    out.resize(LOG_HEADER_BYTES, 0);
    out
}

/// The log with this number, without batches.
pub fn encode_empty_log(number: u64) -> Vec<u8> {
    let mut out = encode_header(number);
    out.resize(LOG_HEADER_BYTES + SEGMENT_ALIGN_BYTES, 0);
    out
}

/// A batch of records at this offset of a log, without padding.
pub fn encode_batch<'a>(number: u64, offset: u64, records: impl Iterator<Item = &'a [u8]> + Clone) -> Vec<u8> {
    let length = BATCH_HEADER_BYTES + 4 + records.clone().map(|record| 4 + record.len()).sum::<usize>() + 1;
    let mut body = Vec::with_capacity(length - BATCH_HEADER_BYTES);
    body.extend_from_slice(&length_of(records.clone().count()));
    for record in records {
        body.extend_from_slice(&length_of(record.len()));
        body.extend_from_slice(record);
    }
    body.push(BATCH_END);
    let mut out = Vec::with_capacity(length);
    out.extend_from_slice(&BATCH_MAGIC);
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(&offset.to_le_bytes());
    out.extend_from_slice(&(length as u64).to_le_bytes());
    out.extend_from_slice(&checksum(&body).to_le_bytes());
    out.extend_from_slice(&checksum(&out).to_le_bytes());
    out.extend_from_slice(&body);
    out
}

fn length_of(length: usize) -> [u8; 4] {
    u32::try_from(length).expect("records are below 4 GiB").to_le_bytes()
}

/// Reads the log with this number. Total: any bytes give contents or a fault.
///
/// # Errors
/// When something is damaged.
pub fn read_log(bytes: &[u8], number: u64) -> Result<LogContents<'_>, LogFault> {
    check_header(bytes, number)?;
    let mut contents = LogContents { records: Vec::new(), end: LOG_HEADER_BYTES as u64, is_torn: false };
    loop {
        let offset = contents.end;
        let rest = &bytes[(offset as usize).min(bytes.len())..];
        let fault = |what: &str| LogFault::Damaged { offset, what: what.to_owned() };
        if rest.len() < SEGMENT_ALIGN_BYTES {
            return Err(fault("the log ends without the zeros that follow its last batch"));
        }
        if is_zero(rest) {
            return Ok(contents);
        }
        let header = batch_header(rest, number, offset);
        let Some(header) = header else {
            // Without its first sector a batch's length is unknown.
            if !is_zero(&rest[..SECTOR_BYTES]) || has_batch(rest, number, offset) {
                return Err(fault("there is no batch, and no part of one"));
            }
            contents.is_torn = true;
            return Ok(contents);
        };
        let Some((batch, behind)) = rest.split_at_checked(header.length) else {
            return Err(fault("the log ends within this batch"));
        };
        if checksum(&batch[BATCH_HEADER_BYTES..]) != header.checksum {
            if !batch.chunks(SECTOR_BYTES).any(is_zero) || !is_zero(behind) {
                return Err(fault("the checksum of this batch is wrong"));
            }
            contents.is_torn = true;
            return Ok(contents);
        }
        take_records(&batch[BATCH_HEADER_BYTES..], &mut contents.records).ok_or_else(|| fault("no whole records"))?;
        let padded = header.length.next_multiple_of(SEGMENT_ALIGN_BYTES);
        if !is_zero(&behind[..behind.len().min(padded - header.length)]) {
            return Err(fault("the padding of this batch is not zero"));
        }
        contents.end += padded as u64;
    }
}

fn check_header(bytes: &[u8], number: u64) -> Result<(), LogFault> {
    let fault = |what: String| Err(LogFault::Damaged { offset: 0, what });
    if bytes.len() < LOG_HEADER_BYTES || bytes[..8] != MAGIC {
        return fault("it does not start with a log's header".to_owned());
    }
    let version = u32::from_le_bytes(array_at(bytes, 8));
    if version != LOG_VERSION {
        return fault(format!("its format version is {version}, this program reads version {LOG_VERSION}"));
    }
    match bytes[..LOG_HEADER_BYTES] == encode_header(number) {
        true => Ok(()),
        false => fault(format!("its first {HEADER_END} bytes are no header of log {number}")),
    }
}

struct BatchHeader {
    length: usize,
    checksum: u64,
}

/// The header of the batch that begins here, at an offset of a log.
fn batch_header(bytes: &[u8], number: u64, offset: u64) -> Option<BatchHeader> {
    let header = bytes.get(..BATCH_HEADER_BYTES)?;
    let is_here = header[..8] == BATCH_MAGIC
        && u64::from_le_bytes(array_at(header, 8)) == number
        && u64::from_le_bytes(array_at(header, 16)) == offset
        && u64::from_le_bytes(array_at(header, 40)) == checksum(&header[..40]);
    let length = usize::try_from(u64::from_le_bytes(array_at(header, 24))).ok()?;
    let is_long_enough = length > BATCH_HEADER_BYTES + 4;
    (is_here && is_long_enough).then(|| BatchHeader { length, checksum: u64::from_le_bytes(array_at(header, 32)) })
}

/// Whether a batch begins somewhere behind the start of these bytes.
fn has_batch(bytes: &[u8], number: u64, offset: u64) -> bool {
    let starts = (SEGMENT_ALIGN_BYTES..bytes.len()).step_by(SEGMENT_ALIGN_BYTES);
    starts.into_iter().any(|at| batch_header(&bytes[at..], number, offset + at as u64).is_some())
}

fn take_records<'a>(body: &'a [u8], records: &mut Vec<&'a [u8]>) -> Option<()> {
    let (count, mut rest) = body.split_at_checked(4)?;
    for _ in 0..u32::from_le_bytes(array_at(count, 0)) {
        let (length, behind) = rest.split_at_checked(4)?;
        let (record, behind) = behind.split_at_checked(u32::from_le_bytes(array_at(length, 0)) as usize)?;
        records.push(record);
        rest = behind;
    }
    (rest == [BATCH_END]).then_some(())
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("a slice of N bytes is an array")
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests;
