//! Small files and names on the real disk: one system call for each step, so that a device can stand before each.
//!
//! All of these block. The files of table data do not come here: they are read and written through a device's queue.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{IoError, IoOperation};
use crate::private_files::create_private;

/// A small file that has been written and is still open: a sync through the same descriptor reports what went wrong
/// while its bytes were written back.
#[derive(Debug)]
pub struct SmallFile {
    file: File,
    path: PathBuf,
}

impl SmallFile {
    /// Where it was created.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn sync(&self) -> Result<(), IoError> {
        self.file.sync_all().map_err(|error| IoError::file(IoOperation::Sync, &self.path, error))
    }
}

/// [`Device::create_small`](crate::Device::create_small).
pub(crate) fn create(path: &Path, bytes: &[u8]) -> Result<SmallFile, IoError> {
    let mut file = create_private(path).map_err(|error| IoError::file(IoOperation::Open, path, error))?;
    file.write_all(bytes).map_err(|error| IoError::file(IoOperation::Write, path, error))?;
    Ok(SmallFile { file, path: path.to_owned() })
}

/// [`Device::rename`](crate::Device::rename).
pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), IoError> {
    fs::rename(from, to).map_err(|error| IoError::file(IoOperation::Rename, to, error))
}

/// [`Device::remove`](crate::Device::remove).
pub(crate) fn remove(path: &Path) -> Result<(), IoError> {
    fs::remove_file(path).map_err(|error| IoError::file(IoOperation::Remove, path, error))
}

/// [`Device::sync_directory`](crate::Device::sync_directory).
pub(crate) fn sync_directory(dir: &Path) -> Result<(), IoError> {
    let synced = File::open(dir).and_then(|dir| dir.sync_all());
    synced.map_err(|error| IoError::file(IoOperation::SyncDirectory, dir, error))
}
