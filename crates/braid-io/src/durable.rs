//! Directories and small files that survive a power cut: the file's bytes *and* its name reach the disk before a
//! function returns success.
//!
//! A file's name lives in its directory, so creating, replacing or removing a file is durable only once the directory
//! is synced too. [`replace_file`] is the only way in which Braid replaces a file: the manifest goes through it. Each of
//! its steps is an operation of the [`Device`], so that tests can fail each of them and cut the power between any two.
//!
//! These functions block and are meant for small, rare things. The files of table data are written through the
//! device's queue.

use std::path::{Path, PathBuf};

use crate::device::Device;
use crate::error::{IoError, IoOperation};
use crate::private_files::create_private_directory;
use crate::small_file;

/// What [`replace_file`] appends to a file's name while it writes the new content.
const NEW_SUFFIX: &str = ".new";

/// Why a file was not replaced, or not certainly.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReplaceError {
    /// The old content stands, now and after a crash.
    #[error(transparent)]
    NotReplaced(IoError),
    /// The new content may stand: a crash leaves either, whole.
    #[error(transparent)]
    Uncertain(IoError),
}

impl ReplaceError {
    /// What failed.
    pub fn into_error(self) -> IoError {
        let (Self::NotReplaced(error) | Self::Uncertain(error)) = self;
        error
    }
}

/// Creates `dir` and what is missing above it, durably and private to the owner. That it exists already is no error.
pub fn create_dir_all(dir: &Path) -> Result<(), IoError> {
    if dir.is_dir() {
        return Ok(());
    }
    let parent = parent_of(dir);
    create_dir_all(parent)?;
    match create_private_directory(dir) {
        Ok(()) => small_file::sync_directory(parent),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        Err(error) => Err(IoError::file(IoOperation::CreateDirectory, dir, error)),
    }
}

/// Where [`replace_file`] writes the new content of `name` in `dir`. A crash may leave a file there, which means nothing.
pub fn new_content_path(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}{NEW_SUFFIX}"))
}

/// Makes `bytes` the content of `name` in `dir`, atomically and durably: at any instant, and after any crash, the file
/// has its old content or the new, whole.
///
/// 1. Write the new content to a file of its own ([`new_content_path`]).
/// 2. Sync that file, so that the name cannot reach the disk before the bytes.
/// 3. Rename it over the old one: the moment of the replacement.
/// 4. Sync the directory, so that the renaming survives a power cut.
///
/// One caller at a time for each name.
///
/// # Errors
/// [`ReplaceError::NotReplaced`] when step 1, 2 or 3 fails; the new file is then removed. [`ReplaceError::Uncertain`]
/// when step 4 fails, or step 3 in a way that leaves it open whether it was done.
pub fn replace_file(device: &dyn Device, dir: &Path, name: &str, bytes: &[u8]) -> Result<(), ReplaceError> {
    let (target, new) = (dir.join(name), new_content_path(dir, name));
    if let Err(error) = device.create_small(&new, bytes).and_then(|file| device.sync_small(&file)) {
        remove_new(device, &new);
        return Err(ReplaceError::NotReplaced(error));
    }
    if let Err(error) = device.rename(&new, &target) {
        // Renaming either happens or does not. While the file still has its first name, it has not happened.
        if !matches!(new.try_exists(), Ok(true)) {
            return Err(ReplaceError::Uncertain(error));
        }
        remove_new(device, &new);
        return Err(ReplaceError::NotReplaced(error));
    }
    device.sync_directory(dir).map_err(ReplaceError::Uncertain)
}

/// Gives the space back. If that fails, the next replacement overwrites what is left.
fn remove_new(device: &dyn Device, new: &Path) {
    if new.exists()
        && let Err(error) = device.remove(new)
    {
        tracing::warn!(%error, "cannot remove a file that was to replace another; the next one overwrites it");
    }
}

/// The directory that holds `path`; for a bare name, the current one.
fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) => Path::new("."),
        None => path,
    }
}

#[cfg(test)]
mod tests;
