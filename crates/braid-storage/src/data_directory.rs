//! The data directory: what lies where, the lock, and the few operations on names whose order makes commits atomic.
//!
//! | name | what |
//! |---|---|
//! | `braid.lock` | locked (`flock`) by the process that has the directory open; its contents, the process id in decimal, are for people |
//! | `manifest` | the newest manifest |
//! | `manifest.new` | a manifest being written; meaningless, removed at open |
//! | `data/` + 16 hex digits + `.seg` | data files, named by their id |
//!
//! Anything else in the directory is left alone: the store did not make it.
//!
//! Invariant: the lock is held until the last reference to the directory goes, and every [`DataFile`](crate::DataFile) has one.
//! So a file of this store is never deleted late, under another store that has been opened since.
//!
//! Names change only through the [`Device`]: a fault device can fail each step, and lose names with its power.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use braid_io::durable::{self, ReplaceError};
use braid_io::{Device, FileHandle, IoError, OpenMode};
use parking_lot::{Mutex, MutexGuard};

use crate::StoreError;
use crate::data_file_header::DataFileId;

const LOCK: &str = "braid.lock";
const MANIFEST: &str = "manifest";
const DATA: &str = "data";
const DATA_FILE_SUFFIX: &str = ".seg";

/// Whether a failed switch of manifests left the old one in place for certain.
#[derive(Debug)]
pub(crate) enum SwitchError {
    /// The old manifest is in place.
    NotSwitched(Box<StoreError>),
    /// Either may be there after a crash.
    Uncertain(Box<StoreError>),
}

/// An open and locked data directory.
pub(crate) struct DataDirectory {
    path: PathBuf,
    device: Arc<dyn Device>,
    alive: Mutex<HashSet<DataFileId>>,
    _lock: File,
}

impl DataDirectory {
    /// Creates what is missing of the directory, and locks it.
    pub(crate) fn open(path: &Path, device: Arc<dyn Device>) -> Result<Self, StoreError> {
        let io = |error| StoreError::io(path, error);
        durable::create_dir_all(path).map_err(io)?;
        let lock = lock(path)?;
        durable::create_dir_all(&path.join(DATA)).map_err(io)?;
        let directory = Self { path: path.to_owned(), device, alive: Mutex::new(HashSet::new()), _lock: lock };
        let unfinished = durable::new_content_path(path, MANIFEST);
        if unfinished.exists() {
            directory.remove(&unfinished);
        }
        Ok(directory)
    }

    /// Where the directory lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the manifest lies.
    pub(crate) fn manifest(&self) -> PathBuf {
        self.path.join(MANIFEST)
    }

    /// Where the data file `id` lies.
    pub(crate) fn data_file(&self, id: DataFileId) -> PathBuf {
        self.path.join(DATA).join(format!("{id}{DATA_FILE_SUFFIX}"))
    }

    /// The data files that this process has open, named by a manifest or not.
    pub(crate) fn files_alive(&self) -> MutexGuard<'_, HashSet<DataFileId>> {
        self.alive.lock()
    }

    /// The bytes of the manifest; `None` in a directory that never had one.
    pub(crate) fn read_manifest(&self) -> Result<Option<Vec<u8>>, StoreError> {
        match fs::read(self.manifest()) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::directory(&self.path, "read", &self.manifest(), error)),
        }
    }

    /// All data files in the directory, named by a manifest or not.
    pub(crate) fn list_data_files(&self) -> Result<Vec<DataFileId>, StoreError> {
        let data = self.path.join(DATA);
        let error = |source| StoreError::directory(&self.path, "list", &data, source);
        let mut ids = Vec::new();
        for entry in fs::read_dir(&data).map_err(error)? {
            ids.extend(data_file_id(&entry.map_err(error)?.file_name().to_string_lossy()));
        }
        ids.sort_unstable();
        Ok(ids)
    }

    /// Creates or opens the data file `id`.
    pub(crate) fn open_data_file(&self, id: DataFileId, mode: OpenMode) -> Result<FileHandle, IoError> {
        self.device.open(&self.data_file(id), mode)
    }

    /// Makes the names of all data files durable.
    pub(crate) fn sync_data_files(&self) -> Result<(), StoreError> {
        self.device.sync_directory(&self.path.join(DATA)).map_err(|error| StoreError::io(&self.path, error))
    }

    /// Puts `bytes` in the place of the manifest. Once it returns `Ok` they are there after any crash; before, either
    /// they or the old ones are, whole.
    pub(crate) fn switch_manifest(&self, bytes: &[u8]) -> Result<(), SwitchError> {
        let boxed = |error| Box::new(StoreError::io(&self.path, error));
        durable::replace_file(self.device.as_ref(), &self.path, MANIFEST, bytes).map_err(|error| match error {
            ReplaceError::NotReplaced(error) => SwitchError::NotSwitched(boxed(error)),
            ReplaceError::Uncertain(error) => SwitchError::Uncertain(boxed(error)),
        })
    }

    /// Deletes a file of the directory. A failure is only logged: the file is an orphan that the next open removes.
    pub(crate) fn remove(&self, path: &Path) {
        if let Err(error) = self.device.remove(path) {
            tracing::warn!(%error, "a file stays until the next start deletes it");
        }
    }
}

/// The id in a data file's name; `None` for any other name.
fn data_file_id(name: &str) -> Option<DataFileId> {
    let id = DataFileId(u64::from_str_radix(name.strip_suffix(DATA_FILE_SUFFIX)?, 16).ok()?);
    (name == format!("{id}{DATA_FILE_SUFFIX}")).then_some(id)
}

fn lock(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join(LOCK);
    let error = |source| StoreError::directory(dir, "lock", &path, source);
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(error)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            // What the holder wrote is a courtesy: without it the answer is still that the directory is in use.
            let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
            return Err(StoreError::InUse { dir: dir.to_owned(), pid });
        }
        Err(TryLockError::Error(source)) => return Err(error(source)),
    }
    file.set_len(0).map_err(error)?;
    writeln!(file, "{}", std::process::id()).map_err(error)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use braid_io::{Backend, DeviceOptions, open_device};

    use super::*;

    #[test]
    fn only_names_that_braid_gives_are_data_files() {
        assert_eq!(data_file_id("00000000000000ff.seg"), Some(DataFileId(255)));
        for foreign in
            ["ff.seg", "00000000000000FF.seg", "00000000000000ff", "+0000000000000ff.seg", "notes.seg", ".seg"]
        {
            assert_eq!(data_file_id(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn the_manifest_is_replaced_whole_and_a_second_opener_learns_who_holds_the_lock() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("a/b");
        let options = DeviceOptions { backend: Backend::Threads, direct: false, queue_depth_max: 1, threads: 1 };
        let device = open_device(&dir, &options).unwrap();
        let directory = DataDirectory::open(&dir, Arc::clone(&device)).unwrap();
        assert_eq!(directory.read_manifest().unwrap(), None);
        directory.switch_manifest(b"one").unwrap();
        directory.switch_manifest(b"two").unwrap();
        assert_eq!(directory.read_manifest().unwrap().unwrap(), b"two");
        match DataDirectory::open(&dir, device).err() {
            Some(StoreError::InUse { dir: held, pid }) => assert_eq!((held, pid), (dir, Some(std::process::id()))),
            other => panic!("{other:?}"),
        }
    }
}
