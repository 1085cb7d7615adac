//! A disk that dies, fails once, or fills up, after a set number of operations, and forgets what was not synced.
//!
//! It stands on both sides of the store: as its device and as its step hook, with one count of operations for both.
//! Once dead it refuses everything, deletions included, as a dead process would. [`FaultyDisk::power_cut`] then takes
//! back what no sync made durable: of writes to data files nothing, all or the first sectors are left (the fault device
//! beneath sees to that); created names are removed, the renamed manifest gives way to the old one, a written manifest
//! is cut short, each with a chance of one half.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use braid_base::{Random, SeededRandom};
use braid_io::{
    AlignedBuffer, Device, FaultDevice, FileHandle, IoError, IoFuture, IoOperation, IoReason, IoStats, IoTrace,
    OpenMode,
};
use braid_storage::store::{Step, StepHook};
use tempfile::TempDir;

pub struct FaultyDisk {
    inner: Arc<FaultDevice>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    operations: u64,
    dies_at: Option<u64>,
    fails_at: Option<u64>,
    dead: bool,
    bytes_left: Option<u64>,
    /// A manifest that was written and not synced.
    unsynced_manifest: Option<PathBuf>,
    /// Files created since their directory was synced last.
    unsynced_names: Vec<PathBuf>,
    /// The manifest and its former bytes, between its renaming and the sync of the directory.
    renamed: Option<(PathBuf, Option<Vec<u8>>)>,
}

impl State {
    fn count(&mut self) -> io::Result<()> {
        self.operations += 1;
        self.dead |= self.dies_at.is_some_and(|n| self.operations >= n);
        match self.dead || self.fails_at == Some(self.operations) {
            true => Err(io::Error::other("the disk is dead")),
            false => Ok(()),
        }
    }

    fn take_space(&mut self, bytes: u64) -> io::Result<()> {
        let Some(left) = &mut self.bytes_left else { return Ok(()) };
        if bytes > *left {
            *left = 0;
            return Err(io::ErrorKind::StorageFull.into());
        }
        *left -= bytes;
        Ok(())
    }
}

impl FaultyDisk {
    pub fn new(inner: Arc<dyn Device>) -> Arc<Self> {
        Arc::new(Self { inner: FaultDevice::with_volatile_cache(inner), state: Arc::default() })
    }

    /// Dies at the `n`-th operation, from 1.
    pub fn dying_at(inner: Arc<dyn Device>, n: u64) -> Arc<Self> {
        let disk = Self::new(inner);
        disk.state.lock().unwrap().dies_at = Some(n);
        disk
    }

    pub fn is_dead(&self) -> bool {
        self.state.lock().unwrap().dead
    }

    /// Fails the `n`-th operation, from 1, and works on.
    pub fn failing_at(inner: Arc<dyn Device>, n: u64) -> Arc<Self> {
        let disk = Self::new(inner);
        disk.state.lock().unwrap().fails_at = Some(n);
        disk
    }

    /// Whether the operation that was to fail has been reached.
    pub fn has_failed(&self) -> bool {
        let state = self.state.lock().unwrap();
        state.fails_at.is_some_and(|n| state.operations >= n)
    }

    /// Space for writes; `None` for no limit.
    pub fn set_bytes_left(&self, bytes: Option<u64>) {
        self.state.lock().unwrap().bytes_left = bytes;
    }

    /// Takes back, as `seed` has it, what was never made durable.
    pub fn power_cut(&self, seed: u64) {
        self.inner.cut_power(seed).unwrap();
        let mut random = SeededRandom::new(seed);
        let state = &mut *self.state.lock().unwrap();
        // Removed before it died, or never there.
        if let Some(file) = state.unsynced_manifest.take().and_then(|p| fs::File::options().write(true).open(p).ok())
            && random.chance(1, 2)
        {
            file.set_len(random.below(file.metadata().unwrap().len() + 1)).unwrap();
        }
        for path in state.unsynced_names.drain(..) {
            if random.chance(1, 2) {
                let _ = fs::remove_file(path);
            }
        }
        if let Some((manifest, former)) = state.renamed.take()
            && random.chance(1, 2)
        {
            match former {
                Some(bytes) => fs::write(manifest, bytes).unwrap(),
                None => drop(fs::remove_file(manifest)),
            }
        }
    }
}

/// For tests whose losses are simulated: nothing real need be synced.
pub fn directory_in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn refused(operation: IoOperation, path: &Path, source: io::Error) -> IoError {
    IoError::File { operation, path: path.to_owned(), source: Arc::new(source) }
}

impl Device for FaultyDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<FileHandle, IoError> {
        let mut state = self.state.lock().unwrap();
        state.count().map_err(|error| refused(IoOperation::Open, path, error))?;
        let handle = self.inner.open(path, mode)?;
        if mode == OpenMode::Create {
            state.unsynced_names.push(path.to_owned());
        }
        Ok(handle)
    }

    fn read(&self, file: &FileHandle, offset: u64, len: usize, reason: IoReason) -> IoFuture<AlignedBuffer> {
        self.inner.read(file, offset, len, reason)
    }

    fn write(&self, file: &FileHandle, offset: u64, buffer: AlignedBuffer, reason: IoReason) -> IoFuture<()> {
        let (state, path, len) = (Arc::clone(&self.state), file.path().to_owned(), buffer.len());
        let written = self.inner.write(file, offset, buffer, reason);
        Box::pin(async move {
            {
                let mut state = state.lock().unwrap();
                let taken = state.count().and_then(|()| state.take_space(len as u64));
                taken.map_err(|error| refused(IoOperation::Write, &path, error))?;
            }
            written.await
        })
    }

    fn sync(&self, file: &FileHandle) -> IoFuture<()> {
        let (state, path) = (Arc::clone(&self.state), file.path().to_owned());
        let synced = self.inner.sync(file);
        Box::pin(async move {
            state.lock().unwrap().count().map_err(|error| refused(IoOperation::Sync, &path, error))?;
            synced.await
        })
    }

    fn name(&self) -> &'static str {
        "faulty"
    }

    fn stats(&self) -> IoStats {
        self.inner.stats()
    }

    fn trace(&self) -> &IoTrace {
        self.inner.trace()
    }
}

impl StepHook for FaultyDisk {
    fn before(&self, step: Step, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        if step == Step::Remove {
            // Not counted: in which order the last references go is not the store's to say.
            return if state.dead { Err(io::Error::other("the disk is dead")) } else { Ok(()) };
        }
        state.count()?;
        match step {
            Step::SyncDataDirectory => state.unsynced_names.clear(),
            Step::WriteManifest => {
                state.take_space(4096)?;
                state.unsynced_manifest = Some(path.to_owned());
            }
            Step::SyncManifest => state.unsynced_manifest = None,
            Step::RenameManifest => {
                state.renamed = Some((path.to_owned(), fs::read(path).ok()));
                if let Some(unsynced) = &mut state.unsynced_manifest {
                    *unsynced = path.to_owned();
                }
            }
            Step::SyncDirectory => state.renamed = None,
            Step::Remove => {}
        }
        Ok(())
    }
}
