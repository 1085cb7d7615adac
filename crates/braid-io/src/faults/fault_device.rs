//! Any device, failing on command: how tests find out what the rooms above do when the disk is full, damaged, slow or gone.
//!
//! A fault applies to an operation when its future is first polled, in that order; see [`Fault`]. Failed operations do
//! not reach the device beneath.
//!
//! A [`Fault::Crash`] is a killed process: what was written before stays. A device made [with a volatile
//! cache](FaultDevice::with_volatile_cache) can lose power as well: [`FaultDevice::cut_power`].
//!
//! Every step of a durable replacement ([`durable::replace_file`](crate::durable::replace_file)) is an operation of its
//! own here: the write and the sync of the new file, the renaming, the sync of the directory.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use futures::FutureExt;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::fault_plan::{Attempt, Fault, FaultPlan, OperationCounts, Outcome, ReadLatency, Verdict};
use super::volatile_cache::VolatileCache;
use crate::aligned_buffer::AlignedBuffer;
use crate::device::{Device, IoFuture};
use crate::error::{IoError, IoOperation};
use crate::file_handle::{FileHandle, OpenMode};
use crate::io_reason::IoReason;
use crate::small_file::SmallFile;
use crate::statistics::IoStats;
use crate::trace::IoTrace;

/// A device that fails on command; see the module.
pub struct FaultDevice {
    inner: Arc<dyn Device>,
    core: Arc<Core>,
}

struct Core {
    plan: Mutex<FaultPlan>,
    /// What was written and not synced, where that is remembered.
    cache: Option<Mutex<VolatileCache>>,
    /// Virtual time in microseconds.
    now_us: watch::Sender<u64>,
    /// What to do before the next operation of a kind.
    actions: Mutex<Vec<(IoOperation, Action)>>,
}

type Action = Box<dyn FnOnce() + Send>;

impl FaultDevice {
    /// Wraps `inner`, without faults.
    pub fn new(inner: Arc<dyn Device>) -> Arc<Self> {
        Self::over(inner, None)
    }

    /// Wraps `inner` as a disk that forgets what was not synced when [its power is cut](Self::cut_power): bytes, names,
    /// and removals of names.
    pub fn with_volatile_cache(inner: Arc<dyn Device>) -> Arc<Self> {
        Self::over(inner, Some(Mutex::default()))
    }

    fn over(inner: Arc<dyn Device>, cache: Option<Mutex<VolatileCache>>) -> Arc<Self> {
        let now_us = watch::Sender::new(0);
        let core = Core { plan: Mutex::default(), cache, now_us, actions: Mutex::default() };
        Arc::new(Self { inner, core: Arc::new(core) })
    }

    /// Refuses everything from now on. Of each write that no sync has covered, it leaves nothing, all, or the first
    /// sectors; each name that was given or taken away since its directory was synced is as before or as after. `seed`
    /// decides. To be called when no operation is under way. Panics without a volatile cache.
    pub fn cut_power(&self, seed: u64) -> io::Result<()> {
        self.core.plan.lock().crash();
        self.core.cache.as_ref().expect("a device with a volatile cache").lock().cut_power(seed)
    }

    /// Arms a fault, in addition to those that are armed. Panics on a fault that can never happen.
    pub fn inject(&self, fault: Fault) {
        self.core.plan.lock().inject(fault);
    }

    /// Does `action` once, before the next `operation`, whether or not that one fails.
    pub fn before_next(&self, operation: IoOperation, action: impl FnOnce() + Send + 'static) {
        self.core.actions.lock().push((operation, Box::new(action)));
    }

    /// Disarms every fault and ends a crash. Operations that already wait go on waiting.
    pub fn clear(&self) {
        self.core.plan.lock().clear();
    }

    /// How many operations were started, failed ones included.
    pub fn counts(&self) -> OperationCounts {
        self.core.plan.lock().counts()
    }

    /// Whether a [`Fault::Crash`] has come to pass.
    pub fn is_crashed(&self) -> bool {
        self.core.plan.lock().is_crashed()
    }

    /// Moves the virtual time on; reads whose latency is over go on.
    pub fn advance_us(&self, delta_us: u64) {
        self.core.now_us.send_modify(|now_us| *now_us += delta_us);
    }

    /// Judges an operation on a whole file of `len` bytes.
    fn judge_file(&self, operation: IoOperation, path: &Path, len: usize) -> Result<(), IoError> {
        let verdict = self.core.judge(operation, path, 0, len);
        match verdict.outcome {
            Outcome::Proceed => Ok(()),
            Outcome::Fail(error) => Err(IoError::file(operation, path, error)),
            Outcome::Crashed => Err(crashed(operation, path)),
        }
    }

    /// Notes in the volatile cache, if there is one, what has been done.
    fn note(&self, note: impl FnOnce(&mut VolatileCache)) {
        if let Some(cache) = &self.core.cache {
            note(&mut cache.lock());
        }
    }
}

impl Core {
    fn judge(&self, operation: IoOperation, path: &Path, offset: u64, len: usize) -> Verdict {
        let taken = self.actions.lock().extract_if(.., |(kind, _)| *kind == operation).collect::<Vec<_>>();
        taken.into_iter().for_each(|(_, action)| action());
        let range = offset..offset.saturating_add(len as u64);
        self.plan.lock().judge(&Attempt { operation, path, range })
    }

    async fn delay(&self, latency: ReadLatency) {
        match latency {
            ReadLatency::Real(duration) => tokio::time::sleep(duration).await,
            ReadLatency::Virtual { us } => {
                let mut now_us = self.now_us.subscribe();
                let until_us = now_us.borrow().saturating_add(us);
                now_us.wait_for(|&now_us| now_us >= until_us).await.map(drop).expect("the sender is in self");
            }
        }
    }
}

impl Device for FaultDevice {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<FileHandle, IoError> {
        self.judge_file(IoOperation::Open, path, 0)?;
        let handle = self.inner.open(path, mode)?;
        if mode == OpenMode::Create {
            self.note(|cache| cache.created(path));
        }
        Ok(handle)
    }

    fn read(&self, file: &FileHandle, offset: u64, len: usize, reason: IoReason) -> IoFuture<AlignedBuffer> {
        let read = self.inner.read(file, offset, len, reason);
        let (core, file) = (Arc::clone(&self.core), file.clone());
        async move {
            let verdict = core.judge(IoOperation::Read, file.path(), offset, len);
            for latency in verdict.delays {
                core.delay(latency).await;
            }
            if let Some(error) = transfer_error(verdict.outcome, IoOperation::Read, &file, offset, len, reason) {
                return Err(error);
            }
            let mut buffer = read.await?;
            for (index, mask) in verdict.flips {
                buffer.as_mut_slice()[index] ^= mask;
            }
            Ok(buffer)
        }
        .boxed()
    }

    fn write(&self, file: &FileHandle, offset: u64, buffer: AlignedBuffer, reason: IoReason) -> IoFuture<()> {
        let len = buffer.len();
        let bytes = self.core.cache.is_some().then(|| buffer.as_slice().to_vec());
        let write = self.inner.write(file, offset, buffer, reason);
        let (core, file) = (Arc::clone(&self.core), file.clone());
        async move {
            let verdict = core.judge(IoOperation::Write, file.path(), offset, len);
            if let Some(error) = transfer_error(verdict.outcome, IoOperation::Write, &file, offset, len, reason) {
                return Err(error);
            }
            let Some((cache, bytes)) = core.cache.as_ref().zip(bytes) else { return write.await };
            let begun = cache.lock().begin_write(file.path(), offset, &bytes);
            let id = begun.map_err(|error| IoError::file(IoOperation::Write, file.path(), error))?;
            write.await?;
            cache.lock().end_write(file.path(), id);
            Ok(())
        }
        .boxed()
    }

    fn sync(&self, file: &FileHandle) -> IoFuture<()> {
        let sync = self.inner.sync(file);
        let (core, file) = (Arc::clone(&self.core), file.clone());
        async move {
            match core.judge(IoOperation::Sync, file.path(), 0, 0).outcome {
                Outcome::Proceed => {
                    let covered = core.cache.as_ref().map(|cache| cache.lock().begin_sync(file.path()));
                    sync.await?;
                    if let Some((cache, covered)) = core.cache.as_ref().zip(covered) {
                        cache.lock().end_sync(file.path(), &covered);
                    }
                    Ok(())
                }
                Outcome::Fail(error) => Err(IoError::file(IoOperation::Sync, file.path(), error)),
                Outcome::Crashed => Err(crashed(IoOperation::Sync, file.path())),
            }
        }
        .boxed()
    }

    fn name(&self) -> &'static str {
        "faults"
    }

    /// Those of the device beneath: failed operations do not show.
    fn stats(&self) -> IoStats {
        self.inner.stats()
    }

    fn trace(&self) -> &IoTrace {
        self.inner.trace()
    }

    fn create_small(&self, path: &Path, bytes: &[u8]) -> Result<SmallFile, IoError> {
        self.judge_file(IoOperation::Write, path, bytes.len())?;
        let file = self.inner.create_small(path, bytes)?;
        self.note(|cache| cache.created_small(path, bytes));
        Ok(file)
    }

    fn sync_small(&self, file: &SmallFile) -> Result<(), IoError> {
        self.judge_file(IoOperation::Sync, file.path(), 0)?;
        self.inner.sync_small(file)?;
        self.note(|cache| cache.synced_small(file.path()));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), IoError> {
        self.judge_file(IoOperation::Rename, to, 0)?;
        // What the target was can be read only before it is replaced.
        let former = self.core.cache.as_ref().and_then(|_| fs::read(to).ok());
        self.inner.rename(from, to)?;
        self.note(|cache| cache.renamed(from, to, former));
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<(), IoError> {
        self.judge_file(IoOperation::Remove, path, 0)?;
        let former = self.core.cache.as_ref().and_then(|_| fs::read(path).ok());
        self.inner.remove(path)?;
        self.note(|cache| cache.removed(path, former.unwrap_or_default()));
        Ok(())
    }

    fn sync_directory(&self, dir: &Path) -> Result<(), IoError> {
        self.judge_file(IoOperation::SyncDirectory, dir, 0)?;
        self.inner.sync_directory(dir)?;
        self.note(|cache| cache.synced_directory(dir));
        Ok(())
    }
}

fn transfer_error(
    outcome: Outcome,
    operation: IoOperation,
    file: &FileHandle,
    offset: u64,
    len: usize,
    reason: IoReason,
) -> Option<IoError> {
    let error = |source: io::Error| {
        let path = file.path().to_owned();
        IoError::Transfer { operation, path, offset, len, reason, source: Arc::new(source) }
    };
    match outcome {
        Outcome::Proceed => None,
        Outcome::Fail(source) => Some(error(source)),
        Outcome::Crashed => Some(crashed(operation, file.path())),
    }
}

fn crashed(operation: IoOperation, path: &Path) -> IoError {
    IoError::Closed { operation, path: path.to_owned(), device: "crashed" }
}
