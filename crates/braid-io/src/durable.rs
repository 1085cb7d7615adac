//! Directories and small files that survive a power cut: the file's bytes *and* its name reach the disk before a
//! function returns success.
//!
//! A file's name lives in its directory, so creating, replacing or removing a file is durable only once the directory
//! is synced too. These functions block and are meant for small, rare things: the manifest, a new directory.
//!
//! Not here: the files of table data; they go through a [`Device`](crate::Device).

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::error::{IoError, IoOperation};

/// What a file is called while it is being written by [`replace_file`], after its name.
pub const UNFINISHED_SUFFIX: &str = ".unfinished";

/// Makes the names in `dir` durable: files created, renamed and removed in it before.
pub fn sync_dir(dir: &Path) -> Result<(), IoError> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(|error| IoError::file(IoOperation::Sync, dir, error))
}

/// Creates `dir` and what is missing above it, durably. That it exists already is no error.
pub fn create_dir_all(dir: &Path) -> Result<(), IoError> {
    if dir.is_dir() {
        return Ok(());
    }
    let parent = parent_of(dir);
    create_dir_all(parent)?;
    match fs::create_dir(dir) {
        Ok(()) => sync_dir(parent),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        Err(error) => Err(IoError::file(IoOperation::CreateDirectory, dir, error)),
    }
}

/// Makes `bytes` the content of `name` in `dir`, atomically and durably: at any instant, and after any crash, the file
/// has its old content or the new, whole.
///
/// Writes `name` + [`UNFINISHED_SUFFIX`], syncs it, renames it, syncs the directory. After an error the old content
/// stands, with one exception: if only the last sync failed, either may stand after a power cut.
/// One caller at a time per name.
pub fn replace_file(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), IoError> {
    let target = dir.join(name);
    let unfinished = dir.join(format!("{name}{UNFINISHED_SUFFIX}"));
    let replaced = write_synced(&unfinished, bytes).and_then(|()| {
        fs::rename(&unfinished, &target).map_err(|error| IoError::file(IoOperation::Rename, &target, error))
    });
    if replaced.is_err() {
        // Gives the space back; if that fails too, the next replacement overwrites what is left.
        let _ = fs::remove_file(&unfinished);
    }
    replaced?;
    sync_dir(dir)
}

/// Removes `path` durably. That it does not exist is no error.
pub fn remove_file(path: &Path) -> Result<(), IoError> {
    match fs::remove_file(path) {
        Ok(()) => sync_dir(parent_of(path)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(IoError::file(IoOperation::Remove, path, error)),
    }
}

fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), IoError> {
    let mut file = File::create(path).map_err(|error| IoError::file(IoOperation::Open, path, error))?;
    file.write_all(bytes).map_err(|error| IoError::file(IoOperation::Write, path, error))?;
    file.sync_all().map_err(|error| IoError::file(IoOperation::Sync, path, error))
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
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole() {
        let dir = tempfile::tempdir().unwrap();
        for content in [&b"first"[..], b"", b"third, longer than the others"] {
            replace_file(dir.path(), "manifest", content).unwrap();
            assert_eq!(fs::read(dir.path().join("manifest")).unwrap(), content);
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing unfinished is left");
    }

    #[test]
    fn a_leftover_of_a_crash_is_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("manifest.unfinished"), vec![7; 10_000]).unwrap();
        replace_file(dir.path(), "manifest", b"new").unwrap();
        assert_eq!(fs::read(dir.path().join("manifest")).unwrap(), b"new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_replacement_leaves_the_old_and_no_rest() {
        let dir = tempfile::tempdir().unwrap();
        // A directory of that name makes the rename fail after the new content is written.
        fs::create_dir(dir.path().join("manifest")).unwrap();
        let error = replace_file(dir.path(), "manifest", b"new").unwrap_err();
        assert!(matches!(error, IoError::File { operation: IoOperation::Rename, .. }), "{error}");
        assert!(dir.path().join("manifest").is_dir());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);

        let missing = replace_file(&dir.path().join("nowhere"), "manifest", b"new").unwrap_err();
        assert!(missing.is_not_found(), "{missing}");
    }

    #[test]
    fn directories_appear_once_and_with_their_parents() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b/c");
        create_dir_all(&deep).unwrap();
        create_dir_all(&deep).unwrap();
        assert!(deep.is_dir());
        fs::write(dir.path().join("file"), b"").unwrap();
        let error = create_dir_all(&dir.path().join("file")).unwrap_err();
        assert!(matches!(error, IoError::File { operation: IoOperation::CreateDirectory, .. }), "{error}");
    }

    #[test]
    fn removing_twice_is_fine() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        fs::write(&path, b"x").unwrap();
        remove_file(&path).unwrap();
        remove_file(&path).unwrap();
        assert!(!path.exists());
    }
}
