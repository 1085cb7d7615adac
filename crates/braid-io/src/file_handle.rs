//! An open file, shared by all requests on it.
//!
//! A request in flight holds a clone, so the descriptor outlives every request: it is never closed, and its number
//! never given to another file, under the kernel's hands.
//!
//! `O_DIRECT` is switched on after opening: opening with it can fail and still leave a newly created file behind.
//! Where a filesystem refuses it, the file is buffered, and its reads and writes need no alignment.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{IoError, IoOperation};
use crate::private_files::FILE_MODE;
use crate::syscalls;

/// How to open a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// For reading; it must exist.
    Read,
    /// For reading and writing by the owner alone; it must not exist.
    Create,
    /// For reading and writing; it must exist.
    Update,
}

/// Under which number traces name a file; unique within the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "f{}", self.0)
    }
}

/// An open file. Cloning shares it; the last clone closes it.
#[derive(Clone)]
pub struct FileHandle {
    shared: Arc<Shared>,
}

struct Shared {
    file: File,
    path: Arc<Path>,
    id: FileId,
    direct: bool,
}

impl FileHandle {
    /// Opens `path`; past the page cache if `direct` and the filesystem can.
    pub(crate) fn open(path: &Path, mode: OpenMode, direct: bool) -> Result<Self, IoError> {
        static NEXT_ID: AtomicU32 = AtomicU32::new(0);
        let mut options = OpenOptions::new();
        match mode {
            OpenMode::Read => options.read(true),
            OpenMode::Create => options.read(true).write(true).create_new(true).mode(FILE_MODE),
            OpenMode::Update => options.read(true).write(true),
        };
        let file = options.open(path).map_err(|error| IoError::file(IoOperation::Open, path, error))?;
        let direct = direct
            && match syscalls::set_direct(&file) {
                Ok(()) => true,
                Err(error) => {
                    tracing::debug!(path = %path.display(), %error, "file is buffered: O_DIRECT was refused");
                    false
                }
            };
        let id = FileId(NEXT_ID.fetch_add(1, Ordering::Relaxed));
        Ok(Self { shared: Arc::new(Shared { file, path: path.into(), id, direct }) })
    }

    /// Where the file was opened.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// The number under which traces name it.
    pub fn id(&self) -> FileId {
        self.shared.id
    }

    /// Whether requests bypass the page cache and must therefore be aligned.
    pub fn is_direct(&self) -> bool {
        self.shared.direct
    }

    /// Bytes in the file now. Blocks, shortly.
    pub fn len_bytes(&self) -> Result<u64, IoError> {
        let metadata =
            self.shared.file.metadata().map_err(|error| IoError::file(IoOperation::Open, self.path(), error))?;
        Ok(metadata.len())
    }

    pub(crate) fn shared_path(&self) -> Arc<Path> {
        Arc::clone(&self.shared.path)
    }

    pub(crate) fn file(&self) -> &File {
        &self.shared.file
    }
}

impl fmt::Debug for FileHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direct = if self.is_direct() { ", direct" } else { "" };
        write!(f, "FileHandle({} \"{}\"{direct})", self.id(), self.path().display())
    }
}
