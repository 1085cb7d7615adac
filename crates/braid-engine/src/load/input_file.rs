//! A file to load, or standard input: its bytes, decompressed, and how many were read.
//!
//! What a file is tell its first bytes, not its name: gzip and zstd are decompressed (also of several members one after the other), a
//! UTF-8 byte order mark is left out. Other compressions and UTF-16 are refused with what to do. What was read of standard input to
//! look at it is kept, as it cannot be read again, and so of a pipe; a file is opened again.

use std::fs::File;
use std::io::{BufReader, Cursor, ErrorKind, Read, Stdin};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::request::{STANDARD_INPUT, shown_name};
use crate::copy::cannot_open;
use crate::{EngineError, SqlState};

/// Bytes per read.
const BLOCK_BYTES: usize = 1 << 20;

/// Maximum number of blocks that wait for the parser.
const BLOCKS_WAITING_MAX: usize = 4;

/// The longest of the marks below.
const MARK_BYTES: usize = 6;

type Bytestream = Box<dyn Read + Send>;

/// A file of text.
pub(super) struct InputFile {
    /// Its name in messages.
    pub name: String,
    source: Source,
}

enum Source {
    Path(PathBuf),
    /// What was read already, and the rest.
    Begun(Vec<u8>, Bytestream),
}

/// Counts the bytes that are read before they are decompressed.
struct Counted<R> {
    inner: R,
    bytes_read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes_read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl InputFile {
    /// The file of a name. `look` is given its text block by block, an empty one at the end, until it has seen enough.
    pub fn look_into(
        name: &str,
        bytes_read: &Arc<AtomicU64>,
        mut look: impl FnMut(&[u8]) -> Result<Look, EngineError>,
    ) -> Result<Self, EngineError> {
        let is_standard_input = name == STANDARD_INPUT;
        let shown = shown_name(name).to_owned();
        // A pipe is read once, as standard input is; of a file only the second time counts.
        let is_read_again = !is_standard_input && std::fs::metadata(name).is_ok_and(|data| data.is_file());
        let (mut stream, path) = if is_standard_input {
            let counted = Counted::<Stdin> { inner: std::io::stdin(), bytes_read: bytes_read.clone() };
            (decompressed(Box::new(counted), &shown)?, None)
        } else if is_read_again {
            (open(Path::new(name), &Arc::default())?, Some(PathBuf::from(name)))
        } else {
            (open(Path::new(name), bytes_read)?, None)
        };
        let mut kept = Vec::new();
        loop {
            let block = read_block(&mut stream, &shown)?;
            let look = look(&block)?;
            let is_end = block.is_empty();
            if path.is_none() {
                kept.extend_from_slice(&block);
            }
            if is_end || look == Look::Enough {
                break;
            }
        }
        let source = path.map_or_else(|| Source::Begun(kept, stream), Source::Path);
        Ok(Self { name: shown, source })
    }

    /// Its text, read ahead by a thread; dropping the receiver stops it.
    pub fn read(self, bytes_read: Arc<AtomicU64>) -> Result<mpsc::Receiver<Result<Bytes, EngineError>>, EngineError> {
        let name = self.name;
        let mut stream: Bytestream = match self.source {
            Source::Path(path) => open(&path, &bytes_read)?,
            Source::Begun(kept, rest) => Box::new(Cursor::new(kept).chain(rest)),
        };
        let (sender, receiver) = mpsc::channel(BLOCKS_WAITING_MAX);
        tokio::task::spawn_blocking(move || {
            loop {
                let block = read_block(&mut stream, &name).map(Bytes::from);
                let is_last = block.as_ref().map_or(true, Bytes::is_empty);
                if sender.blocking_send(block).is_err() || is_last {
                    return;
                }
            }
        });
        Ok(receiver)
    }
}

/// Whether more of a file is to be looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// The next block, too.
    On,
    /// No more.
    Enough,
}

/// Whether a file is a Parquet file, by its first bytes.
pub(super) fn is_parquet(name: &str) -> Result<bool, EngineError> {
    if name == STANDARD_INPUT {
        return Ok(false);
    }
    let path = Path::new(name);
    let is_named_so = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"));
    let metadata = std::fs::metadata(path).map_err(|error| cannot_open(path, &error))?;
    if is_named_so || !metadata.is_file() {
        return Ok(is_named_so);
    }
    let (mut first, file) = ([0; 4], File::open(path));
    Ok(file.map_err(|error| cannot_open(path, &error))?.read_exact(&mut first).is_ok() && first == *b"PAR1")
}

fn open(path: &Path, bytes_read: &Arc<AtomicU64>) -> Result<Bytestream, EngineError> {
    let inner = File::open(path).map_err(|error| cannot_open(path, &error))?;
    decompressed(Box::new(Counted { inner, bytes_read: bytes_read.clone() }), &path.display().to_string())
}

/// The text in a file that may be compressed.
fn decompressed(mut stream: Bytestream, name: &str) -> Result<Bytestream, EngineError> {
    let mut mark = Vec::new();
    (&mut stream).take(MARK_BYTES as u64).read_to_end(&mut mark).map_err(|error| unreadable(name, &error))?;
    let whole = Cursor::new(mark.clone()).chain(stream);
    let text: Bytestream = match &mark[..] {
        [0x1F, 0x8B, ..] => Box::new(flate2::read::MultiGzDecoder::new(BufReader::with_capacity(BLOCK_BYTES, whole))),
        [0x28, 0xB5, 0x2F, 0xFD, ..] => {
            Box::new(zstd::stream::read::Decoder::new(whole).map_err(|error| unreadable(name, &error))?)
        }
        [0xFD, b'7', b'z', b'X', b'Z', ..] => return Err(other_form(name, "compressed with xz", "xz -dc")),
        [b'B', b'Z', b'h', ..] => return Err(other_form(name, "compressed with bzip2", "bzip2 -dc")),
        [b'P', b'K', 3, 4, ..] => return Err(other_form(name, "a zip archive", "unzip -p")),
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => return Err(other_form(name, "UTF-16", "iconv -f UTF-16 -t UTF-8")),
        _ => Box::new(whole),
    };
    without_byte_order_mark(text, name)
}

fn without_byte_order_mark(mut text: Bytestream, name: &str) -> Result<Bytestream, EngineError> {
    let mut mark = Vec::new();
    (&mut text).take(3).read_to_end(&mut mark).map_err(|error| unreadable(name, &error))?;
    if mark == [0xEF, 0xBB, 0xBF] {
        mark.clear();
    }
    Ok(Box::new(Cursor::new(mark).chain(text)))
}

fn read_block(stream: &mut Bytestream, name: &str) -> Result<Vec<u8>, EngineError> {
    let mut block = Vec::new();
    stream.take(BLOCK_BYTES as u64).read_to_end(&mut block).map_err(|error| unreadable(name, &error))?;
    Ok(block)
}

fn unreadable(name: &str, error: &std::io::Error) -> EngineError {
    let is_damaged =
        matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::InvalidInput)
            || (error.kind() == ErrorKind::Other && error.raw_os_error().is_none());
    match is_damaged {
        true => {
            let message = format!("file \"{name}\" is damaged or cut off: its compression does not hold: {error}");
            EngineError::new(SqlState::BadCopyFileFormat, message)
        }
        false => EngineError::new(SqlState::IoError, format!("could not read file \"{name}\": {error}")),
    }
}

fn other_form(name: &str, form: &str, program: &str) -> EngineError {
    EngineError::unsupported(format!("file \"{name}\" is {form}, which is not read"))
        .with_hint(format!("Convert it on the way: {program} FILE | braid load - --table NAME"))
}
