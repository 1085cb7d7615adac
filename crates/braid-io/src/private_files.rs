//! Files and directories that only the user of the process can read, whatever its umask: 0600 and 0700.
//!
//! A data directory has the rows of all tables, the verifiers of passwords and the texts of statements. Its files are created private
//! and its directories are made private when they are opened, so that a directory of an earlier version, or one that was copied with
//! wider permissions, is private again. (PostgreSQL refuses to start on such a directory.) A directory that is not empty and is no data
//! directory is not changed: it may be somebody's home, or `/tmp`.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Read and written by the owner alone.
pub(crate) const FILE_MODE: u32 = 0o600;

/// Entered and listed by the owner alone.
const DIRECTORY_MODE: u32 = 0o700;

/// The permissions of the group and of all others.
const MODE_OF_OTHERS: u32 = 0o077;

/// The part of a mode that `chmod` changes.
const MODE_BITS: u32 = 0o7777;

/// Creates a file that only the owner can read, or empties one and makes it so.
///
/// # Errors
/// Of the file system.
pub fn create_private(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(path)?;
    make_file_private(&file)?;
    Ok(file)
}

/// Takes the permissions of an open file from all but its owner.
fn make_file_private(file: &File) -> io::Result<()> {
    match file.metadata()?.mode() & MODE_OF_OTHERS {
        0 => Ok(()),
        _ => file.set_permissions(Permissions::from_mode(FILE_MODE)),
    }
}

/// Creates a directory that only the owner can enter.
pub(crate) fn create_private_directory(dir: &Path) -> io::Result<()> {
    DirBuilder::new().mode(DIRECTORY_MODE).create(dir)
}

/// What was done to a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// Only the owner could enter it.
    Private,
    /// Others could; now they cannot.
    MadePrivate {
        /// Its permissions before.
        mode: u32,
    },
}

/// Takes the permissions of a directory from all but its owner. `is_own` says whether a directory with other entries is the
/// caller's to change.
///
/// # Errors
/// For a directory that others can enter, that has entries, and that is not the caller's (`PermissionDenied`), and of the file system.
pub fn make_directory_private(dir: &Path, is_own: impl FnOnce() -> bool) -> io::Result<Privacy> {
    let mode = fs::metadata(dir)?.mode() & MODE_BITS;
    if mode & MODE_OF_OTHERS == 0 {
        return Ok(Privacy::Private);
    }
    if !is_own() && fs::read_dir(dir)?.next().is_some() {
        let message = format!(
            "it is no data directory, has entries, and others can enter it (permissions {mode:04o}); name a directory that is new or \
             empty, or set its permissions to 0700"
        );
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    fs::set_permissions(dir, Permissions::from_mode(mode & !MODE_OF_OTHERS))?;
    Ok(Privacy::MadePrivate { mode })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & MODE_BITS
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn files_are_the_owners_also_those_that_were_open_to_others() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        drop(create_private(&file).unwrap());
        assert_eq!(mode(&file), 0o600);
        set_mode(&file, 0o644);
        drop(create_private(&file).unwrap());
        assert_eq!(mode(&file), 0o600);
    }

    #[test]
    fn directories_are_tightened_if_they_are_empty_or_the_callers() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("dir");
        create_private_directory(&dir).unwrap();
        assert_eq!((mode(&dir), make_directory_private(&dir, || false).unwrap()), (0o700, Privacy::Private));
        set_mode(&dir, 0o755);
        assert_eq!(make_directory_private(&dir, || false).unwrap(), Privacy::MadePrivate { mode: 0o755 });
        assert_eq!(mode(&dir), 0o700);
        set_mode(&dir, 0o750);
        fs::write(dir.join("entry"), "").unwrap();
        let refused = make_directory_private(&dir, || false).unwrap_err();
        assert!(refused.to_string().contains("0750"), "{refused}");
        assert_eq!(mode(&dir), 0o750);
        assert_eq!(make_directory_private(&dir, || true).unwrap(), Privacy::MadePrivate { mode: 0o750 });
        assert_eq!(mode(&dir), 0o700);
    }
}
