//! The data directory: what lies where, the lock, and the few operations on names whose order makes commits atomic.
//!
//! | name | what |
//! |---|---|
//! | `braid.lock` | locked (`flock`) by the process that has the directory open; its contents, the process id in decimal, are for people |
//! | `manifest` | the newest manifest |
//! | `manifest.new` | a manifest being written; meaningless, removed at open |
//! | `data/` + 16 hex digits + `.seg` | data files, named by their id |
//!
//! Anything else in the directory is not Braid's and is left alone.
//!
//! Invariant: the lock is held until the last reference to the directory goes, and every [`super::DataFile`] has one.
//! So no file of this store can be deleted late, under another store that has been opened since.
//!
//! Every step that changes names passes through a [`StepHook`], where simulated crashes happen.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use braid_io::durable;
use parking_lot::{Mutex, MutexGuard};

use super::DataFileId;
use crate::StoreError;

const LOCK: &str = "braid.lock";
const MANIFEST: &str = "manifest";
const MANIFEST_NEW: &str = "manifest.new";
const DATA: &str = "data";
const DATA_FILE_SUFFIX: &str = ".seg";

/// A step on the data directory, in the order in which a commit takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Making the names of new data files durable.
    SyncDataDirectory,
    /// Writing the new manifest beside the old one.
    WriteManifest,
    /// Making its bytes durable.
    SyncManifest,
    /// Renaming it over the old one.
    RenameManifest,
    /// Making the renaming durable.
    SyncDirectory,
    /// Deleting a data file or an abandoned manifest.
    Remove,
}

/// Called before each step; an error keeps the step from being taken. This is how tests and simulations let a process
/// "die" between any two steps.
pub trait StepHook: Send + Sync + 'static {
    /// `step` is about to be taken on `path`.
    fn before(&self, step: Step, path: &Path) -> io::Result<()>;
}

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
    hook: Option<Arc<dyn StepHook>>,
    alive: Mutex<HashSet<DataFileId>>,
    _lock: File,
}

impl DataDirectory {
    /// Creates what is missing of the directory, and locks it.
    pub(crate) fn open(path: &Path, hook: Option<Arc<dyn StepHook>>) -> Result<Self, StoreError> {
        let io = |error| StoreError::io(path, error);
        durable::create_dir_all(path).map_err(io)?;
        let lock = lock(path)?;
        durable::create_dir_all(&path.join(DATA)).map_err(io)?;
        let directory = Self { path: path.to_owned(), hook, alive: Mutex::new(HashSet::new()), _lock: lock };
        directory.remove_if_there(&directory.path.join(MANIFEST_NEW));
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

    /// All data files in the directory, whoever named them.
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

    /// Makes the names of all data files durable.
    pub(crate) fn sync_data_files(&self) -> Result<(), StoreError> {
        let data = self.path.join(DATA);
        self.step(Step::SyncDataDirectory, &data, || sync_directory(&data))
            .map_err(|source| StoreError::directory(&self.path, "sync", &data, source))
    }

    /// Puts `bytes` in the place of the manifest. Once it returns `Ok` they are there after any crash; before, either
    /// they or the old ones are, whole.
    pub(crate) fn switch_manifest(&self, bytes: &[u8]) -> Result<(), SwitchError> {
        let new = self.path.join(MANIFEST_NEW);
        if let Err(error) = self.write_manifest(&new, bytes) {
            self.remove_if_there(&new);
            return Err(SwitchError::NotSwitched(Box::new(error)));
        }
        let (path, target) = (self.path.as_path(), self.manifest());
        let renamed = self.step(Step::RenameManifest, &target, || fs::rename(&new, &target));
        if let Err(source) = renamed {
            let error = Box::new(StoreError::directory(path, "replace", &target, source));
            // Renaming either happens or does not; what the name stands for now tells which.
            let unchanged = fs::read(&target).map_or(new.exists(), |found| found != bytes);
            return Err(if unchanged { SwitchError::NotSwitched(error) } else { SwitchError::Uncertain(error) });
        }
        self.step(Step::SyncDirectory, path, || sync_directory(path))
            .map_err(|source| SwitchError::Uncertain(Box::new(StoreError::directory(path, "sync", path, source))))
    }

    fn write_manifest(&self, new: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let error = |source| StoreError::directory(&self.path, "write", new, source);
        let create = || {
            let mut file = File::create(new)?;
            file.write_all(bytes)?;
            Ok(file)
        };
        let file = self.step(Step::WriteManifest, new, create).map_err(error)?;
        self.step(Step::SyncManifest, new, || file.sync_all()).map_err(error)
    }

    /// Deletes a file of the directory. A failure is only logged: the file is an orphan that the next open removes.
    pub(crate) fn remove(&self, path: &Path) {
        if let Err(error) = self.step(Step::Remove, path, || fs::remove_file(path)) {
            tracing::warn!(file = %path.display(), %error, "cannot delete; the next start tries again");
        }
    }

    fn remove_if_there(&self, path: &Path) {
        if path.exists() {
            self.remove(path);
        }
    }

    fn step<T>(&self, step: Step, path: &Path, take: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if let Some(hook) = &self.hook {
            hook.before(step, path)?;
        }
        take()
    }
}

/// The id in a data file's name; `None` for any other name.
fn data_file_id(name: &str) -> Option<DataFileId> {
    let id = DataFileId(u64::from_str_radix(name.strip_suffix(DATA_FILE_SUFFIX)?, 16).ok()?);
    (name == format!("{id}{DATA_FILE_SUFFIX}")).then_some(id)
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
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
        let directory = DataDirectory::open(&dir, None).unwrap();
        assert_eq!(directory.read_manifest().unwrap(), None);
        directory.switch_manifest(b"one").unwrap();
        directory.switch_manifest(b"two").unwrap();
        assert_eq!(directory.read_manifest().unwrap().unwrap(), b"two");
        match DataDirectory::open(&dir, None).err() {
            Some(StoreError::InUse { dir: held, pid }) => assert_eq!((held, pid), (dir, Some(std::process::id()))),
            other => panic!("{other:?}"),
        }
    }
}
