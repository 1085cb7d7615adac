//! The data directory: what lies where, the lock, and the few operations on names whose order makes commits atomic.
//!
//! | name | what |
//! |---|---|
//! | `braid.lock` | locked (`flock`) by the process that has the directory open; its contents, the process id in decimal, are for people |
//! | `manifest` | the newest checkpoint |
//! | `manifest.new` | a manifest being written; meaningless, removed at open |
//! | `log/` + 16 hex digits + `.log` | the logs of commits, named by their number |
//! | `data/` + 16 hex digits + `.seg` | data files, named by their id |
//! | `keys/` + 16 hex digits + `.tree` | key trees, named by their id |
//!
//! Anything else in the directory is left alone: the store did not make it.
//!
//! Invariant: the lock is held until the last reference to the directory goes, and every [`DataFile`](crate::DataFile) has one.
//! So a file of this store is never deleted late, under another store that has been opened since.
//!
//! Only its owner can read the directory (0700) and its files (0600), whatever the umask. One that is more open is tightened when it is opened.
//!
//! Names change only through the [`Device`]: a fault device can fail each step, and lose names with its power.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use braid_io::durable::{self, ReplaceError};
use braid_io::{Device, FileHandle, IoError, OpenMode, Privacy, make_directory_private};
use parking_lot::{Mutex, MutexGuard};

use crate::StoreError;
use crate::data_file_header::DataFileId;
use crate::key_index::KeyTreeId;

const LOCK: &str = "braid.lock";
/// Only the owner reads who has the directory.
const LOCK_MODE: u32 = 0o600;
const MANIFEST: &str = "manifest";
const DATA: &str = "data";
const DATA_FILE_SUFFIX: &str = ".seg";
const KEYS: &str = "keys";
const KEY_TREE_SUFFIX: &str = ".tree";
const LOG: &str = "log";
const LOG_SUFFIX: &str = ".log";

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
        make_private(path)?;
        let lock = lock(path)?;
        durable::create_dir_all(&path.join(DATA)).map_err(io)?;
        durable::create_dir_all(&path.join(KEYS)).map_err(io)?;
        durable::create_dir_all(&path.join(LOG)).map_err(io)?;
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
        self.list(DATA, |name| number_in(name, DATA_FILE_SUFFIX).map(DataFileId))
    }

    /// Where the key tree `id` lies.
    pub(crate) fn key_tree(&self, id: KeyTreeId) -> PathBuf {
        self.path.join(KEYS).join(format!("{id}{KEY_TREE_SUFFIX}"))
    }

    /// All key trees in the directory.
    pub(crate) fn list_key_trees(&self) -> Result<Vec<KeyTreeId>, StoreError> {
        self.list(KEYS, |name| number_in(name, KEY_TREE_SUFFIX).map(KeyTreeId))
    }

    /// What `parse` knows of the names in a part of the directory, ascending.
    fn list<T: Ord>(&self, part: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, StoreError> {
        let dir = self.path.join(part);
        let error = |source| StoreError::directory(&self.path, "list", &dir, source);
        let mut found = Vec::new();
        for entry in fs::read_dir(&dir).map_err(error)? {
            found.extend(parse(&entry.map_err(error)?.file_name().to_string_lossy()));
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Where the log with this number lies.
    pub(crate) fn log(&self, number: u64) -> PathBuf {
        self.path.join(LOG).join(format!("{number:016x}{LOG_SUFFIX}"))
    }

    /// The numbers of all logs in the directory, ascending.
    pub(crate) fn list_logs(&self) -> Result<Vec<u64>, StoreError> {
        self.list(LOG, |name| number_in(name, LOG_SUFFIX))
    }

    /// The bytes of a log.
    pub(crate) fn read_log(&self, number: u64) -> Result<Vec<u8>, StoreError> {
        let path = self.log(number);
        fs::read(&path).map_err(|error| StoreError::directory(&self.path, "read", &path, error))
    }

    /// Creates a log with these bytes, or replaces one, durably.
    pub(crate) fn create_log(&self, number: u64, bytes: &[u8]) -> Result<(), IoError> {
        let path = self.log(number);
        let file = self.device.create_small(&path, bytes)?;
        self.device.sync_small(&file)?;
        self.device.sync_directory(&self.path.join(LOG))
    }

    /// Opens a log to be written on.
    pub(crate) fn open_log(&self, number: u64) -> Result<FileHandle, IoError> {
        self.device.open(&self.log(number), OpenMode::Update)
    }

    /// Deletes all logs with lower numbers, as far as that goes: what is left is deleted by the next checkpoint.
    pub(crate) fn remove_logs_before(&self, number: u64) {
        let before = self.list_logs().unwrap_or_default().into_iter().filter(|known| *known < number);
        before.for_each(|known| self.remove(&self.log(known)));
    }

    /// Creates or opens the data file `id`.
    pub(crate) fn open_data_file(&self, id: DataFileId, mode: OpenMode) -> Result<FileHandle, IoError> {
        self.device.open(&self.data_file(id), mode)
    }

    /// Makes the names of all data files durable.
    pub(crate) fn sync_data_files(&self) -> Result<(), IoError> {
        self.device.sync_directory(&self.path.join(DATA))
    }

    /// Puts `bytes` in the place of the manifest. Once it returns `Ok` they are there after any crash; before, either
    /// they or the old ones are, whole.
    pub(crate) fn switch_manifest(&self, bytes: &[u8]) -> Result<(), ReplaceError> {
        durable::replace_file(self.device.as_ref(), &self.path, MANIFEST, bytes)
    }

    /// Deletes a file of the directory. A failure is only logged: the file is an orphan that the next open removes.
    pub(crate) fn remove(&self, path: &Path) {
        if let Err(error) = self.device.remove(path) {
            tracing::warn!(%error, "a file stays until the next start deletes it");
        }
    }
}

/// The number in a file's name; `None` for any other name.
fn number_in(name: &str, suffix: &str) -> Option<u64> {
    let number = u64::from_str_radix(name.strip_suffix(suffix)?, 16).ok()?;
    (name == format!("{number:016x}{suffix}")).then_some(number)
}

/// Takes the permissions of the directory from all but its owner. What is within needs no look: nobody else can reach it.
fn make_private(dir: &Path) -> Result<(), StoreError> {
    let is_own = || dir.join(LOCK).exists() || dir.join(MANIFEST).exists();
    match make_directory_private(dir, is_own)
        .map_err(|source| StoreError::directory(dir, "make private", dir, source))?
    {
        Privacy::Private => {}
        Privacy::MadePrivate { mode } => {
            let (path, before) = (dir.display(), format!("{mode:04o}"));
            tracing::warn!(%path, before, "the data directory was open to other users; it is private now");
        }
    }
    Ok(())
}

fn lock(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join(LOCK);
    let error = |source| StoreError::directory(dir, "lock", &path, source);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(LOCK_MODE);
    let mut file = options.open(&path).map_err(error)?;
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
        assert_eq!(number_in("00000000000000ff.seg", DATA_FILE_SUFFIX), Some(255));
        for foreign in
            ["ff.seg", "00000000000000FF.seg", "00000000000000ff", "+0000000000000ff.seg", "notes.seg", ".seg"]
        {
            assert_eq!(number_in(foreign, DATA_FILE_SUFFIX), None, "{foreign}");
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
