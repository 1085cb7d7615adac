//! Group commit: commits that wait together become durable together, with one write and one sync of the log.
//!
//! A commit is *submitted* under the commit lock, in the order of the states that commits make, and the lock is given up before it is
//! durable: the next commit starts from its state. One thread *flushes*: it takes all commits that were submitted meanwhile, writes
//! their records as one batch, syncs it, makes the last state visible, and goes on until none is left.
//!
//! Rules:
//! 1. What a commit names is durable before its record is: data files are synced before it is submitted, their names before the
//!    batch is written.
//! 2. A state is seen by others only when it is durable.
//! 3. If a batch cannot be written, its commits fail, and so do those behind it, which have started from their states. If that
//!    leaves a doubt whether the batch is there after a crash, no further commit is taken until the store is opened again.
//!    Each time commits are given up so, a new *generation* begins, and a commit that started from a state of the one before is
//!    refused.
//! 4. The flushing thread runs to its end, whoever waits for it. If the runtime does not let it begin, its commits fail.
//!
//! Between batches the flushing thread makes a checkpoint when the log is long, or when one is asked for: it begins the next log,
//! writes the manifest of the durable state, which names that log, and deletes the logs before it. A checkpoint that fails leaves
//! all logs; the next one tries again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_io::IoError;
use braid_io::durable::ReplaceError;
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

use super::StoreShared;
use crate::StoreError;
use crate::catalog::Catalog;
use crate::commit_log::log_writer::{AppendError, LogWriter};
use crate::data_file::DataFile;
use crate::moved_rows::MovedChunks;
use crate::row_locks::LockOwner;

/// Bytes of batches at which a checkpoint is made: opening reads at most these and one more batch.
const LOG_BYTES_MAX: u64 = 64 << 20;

/// Bytes of records that are written as one batch; one record may have more.
const BATCH_BYTES_MAX: usize = 16 << 20;

/// A commit that waits for its record to be durable.
pub(super) struct Submission {
    pub(super) record: Vec<u8>,
    pub(super) catalog: Arc<Catalog>,
    /// Files it names that no state before named.
    pub(super) added: Vec<Arc<DataFile>>,
    /// Files it no longer names.
    pub(super) removed: Vec<Arc<DataFile>>,
    /// Chunks whose rows it has written again.
    pub(super) moved: Vec<MovedChunks>,
    /// Given up when the state is visible, or the commit has failed.
    pub(super) _locks: Option<Arc<LockOwner>>,
    pub(super) done: oneshot::Sender<Result<Arc<Catalog>, StoreError>>,
}

/// The commits that are not durable yet, and the log.
pub(crate) struct GroupCommit {
    queue: Mutex<Queue>,
    /// Held by the flushing thread.
    writer: Mutex<LogWriter>,
    /// Counts the batches that were written or given up.
    batches: watch::Sender<u64>,
    /// Checkpoints since the store was opened.
    checkpoint_count: AtomicU64,
}

#[derive(Default)]
struct Queue {
    submissions: Vec<Submission>,
    checkpoints: Vec<oneshot::Sender<Result<(), StoreError>>>,
    is_flushing: bool,
    /// The state of the last commit that was submitted, until it is visible.
    pending: Option<Arc<Catalog>>,
    /// How often commits were given up.
    generation: u64,
    /// Why they were, the last time.
    failure: Option<Failure>,
    /// Why no more commits are taken.
    halted: Option<String>,
}

/// Why a commit was given up.
#[derive(Clone, Debug)]
enum Failure {
    /// The disk refused something, and the commit is in no log.
    Io(IoError),
    /// A commit before is in doubt.
    Halted(String),
    /// The runtime ended.
    Stopped,
}

impl GroupCommit {
    pub(crate) fn new(writer: LogWriter) -> Self {
        let (batches, checkpoint_count) = (watch::Sender::new(0), AtomicU64::new(0));
        Self { queue: Mutex::default(), writer: Mutex::new(writer), batches, checkpoint_count }
    }

    /// Checkpoints since the store was opened.
    pub(crate) fn checkpoint_count(&self) -> u64 {
        self.checkpoint_count.load(Ordering::Relaxed)
    }

    /// The present generation, and its newest state if that is not durable yet.
    ///
    /// # Errors
    /// [`StoreError::Halted`] when no more commits are taken.
    pub(super) fn newest(&self) -> Result<(u64, Option<Arc<Catalog>>), StoreError> {
        let queue = self.queue.lock();
        match &queue.halted {
            Some(reason) => Err(StoreError::Halted { reason: reason.clone() }),
            None => Ok((queue.generation, queue.pending.clone())),
        }
    }

    /// Does something that waits for nothing, if no commit was given up since this generation began.
    pub(super) fn in_generation<T>(&self, generation: u64, work: impl FnOnce() -> T) -> Option<T> {
        let queue = self.queue.lock();
        (queue.generation == generation).then(work)
    }

    /// A receiver that changes with each batch that ends from now on.
    pub(crate) fn watch_batches(&self) -> watch::Receiver<u64> {
        self.batches.subscribe()
    }

    /// Does something while neither the log nor the manifest is written. Blocks.
    pub(crate) fn while_unwritten<T>(&self, work: impl FnOnce() -> T) -> T {
        let _writer = self.writer.lock();
        work()
    }

    fn halt(&self, reason: &str) {
        tracing::error!(reason, "a commit is in doubt; further commits are refused until a restart");
        self.queue.lock().halted = Some(reason.to_owned());
    }
}

impl StoreShared {
    /// Puts a commit that starts from a state of this generation behind those that wait. Called under the commit lock.
    pub(super) fn submit(self: &Arc<Self>, submission: Submission, generation: u64) {
        self.ask_flush(|queue| match &queue.failure {
            Some(failure) if queue.generation != generation => submission.fail(self.error_of(failure))(),
            _ => {
                self.row_locks.follow(&submission.moved);
                queue.pending = Some(Arc::clone(&submission.catalog));
                queue.submissions.push(submission);
            }
        });
    }

    /// Makes a checkpoint; returns when it is durable.
    ///
    /// # Errors
    /// What writing fails with; commits are not affected.
    pub(crate) async fn checkpoint(self: &Arc<Self>) -> Result<(), StoreError> {
        let (done, answer) = oneshot::channel();
        self.ask_flush(|queue| queue.checkpoints.push(done));
        answer.await.unwrap_or_else(|_| Err(StoreError::Stopped { reason: "the checkpoint was given up".to_owned() }))
    }

    fn ask_flush(self: &Arc<Self>, ask: impl FnOnce(&mut Queue)) {
        let is_flushing = {
            let mut queue = self.group_commit.queue.lock();
            ask(&mut queue);
            std::mem::replace(&mut queue.is_flushing, true)
        };
        if !is_flushing {
            let flush = Flush { shared: Arc::clone(self), is_over: false };
            tokio::task::spawn_blocking(move || flush.run());
        }
    }
}

/// The turn of the flushing thread.
struct Flush {
    shared: Arc<StoreShared>,
    /// Whether nothing was left to be done.
    is_over: bool,
}

/// What is told to those who wait, when all that was held for them is given back.
type Answers = Vec<Box<dyn FnOnce() + Send>>;

impl Flush {
    /// Answers when it has given back what it holds: with its last answer the thread holds nothing of the store.
    fn run(mut self) {
        loop {
            let (batch, checkpoints) = {
                let mut queue = self.shared.group_commit.queue.lock();
                (take_batch(&mut queue.submissions), std::mem::take(&mut queue.checkpoints))
            };
            let answers = self.shared.flush(batch, checkpoints);
            let is_over = {
                let mut queue = self.shared.group_commit.queue.lock();
                queue.is_flushing = !(queue.submissions.is_empty() && queue.checkpoints.is_empty());
                !queue.is_flushing
            };
            if is_over {
                self.is_over = true;
                drop(self);
                return answers.into_iter().for_each(|answer| answer());
            }
            answers.into_iter().for_each(|answer| answer());
        }
    }
}

impl Drop for Flush {
    /// The thread did not begin, because the runtime ends, or it panicked.
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if std::thread::panicking() {
            self.shared.group_commit.halt("the thread that writes the log has panicked");
        }
        self.shared.give_up(Vec::new(), &Failure::Stopped).into_iter().for_each(|answer| answer());
        let mut queue = self.shared.group_commit.queue.lock();
        queue.is_flushing = false;
        queue.checkpoints.clear();
    }
}

impl Submission {
    /// The commit is made: files that it no longer names go with their last reader.
    fn succeed(self) -> Box<dyn FnOnce() + Send> {
        self.removed.iter().for_each(|file| file.doom());
        let (done, catalog) = (self.done, self.catalog);
        // Whoever waited may be gone.
        Box::new(move || drop(done.send(Ok(catalog))))
    }

    /// The commit is not made: its files go.
    fn fail(self, error: StoreError) -> Box<dyn FnOnce() + Send> {
        self.added.iter().for_each(|file| file.doom());
        self.doubt(error)
    }

    /// The commit may have been made: its files stay.
    fn doubt(self, error: StoreError) -> Box<dyn FnOnce() + Send> {
        let done = self.done;
        Box::new(move || drop(done.send(Err(error))))
    }
}

/// Takes the first commits, as many as go into a batch.
fn take_batch(submissions: &mut Vec<Submission>) -> Vec<Submission> {
    let mut bytes = 0;
    let fits = |submission: &&Submission| {
        let is_first = bytes == 0;
        bytes += submission.record.len();
        is_first || bytes <= BATCH_BYTES_MAX
    };
    let count = submissions.iter().take_while(fits).count();
    submissions.drain(..count).collect()
}

impl StoreShared {
    /// Writes a batch, and makes a checkpoint if it is time or asked for.
    fn flush(&self, batch: Vec<Submission>, checkpoints: Vec<oneshot::Sender<Result<(), StoreError>>>) -> Answers {
        let mut writer = self.group_commit.writer.lock();
        let mut answers = if batch.is_empty() { Answers::new() } else { self.write_batch(&mut writer, batch) };
        if checkpoints.is_empty() && writer.batch_bytes() <= LOG_BYTES_MAX {
            return answers;
        }
        let result = self.write_checkpoint(&mut writer);
        if let Err(error) = &result {
            tracing::warn!(%error, "a checkpoint failed; the log goes on");
        }
        for done in checkpoints {
            let told = result.as_ref().copied().map_err(|error| self.io_error(error.clone()));
            answers.push(Box::new(move || drop(done.send(told))));
        }
        answers
    }

    /// Makes commits durable and visible, or fails them.
    fn write_batch(&self, writer: &mut LogWriter, batch: Vec<Submission>) -> Answers {
        if let Some(reason) = self.group_commit.queue.lock().halted.clone() {
            return self.give_up(batch, &Failure::Halted(reason));
        }
        let has_files = batch.iter().any(|submission| !submission.added.is_empty());
        if has_files && let Err(error) = self.directory.sync_data_files() {
            return self.give_up(batch, &Failure::Io(error));
        }
        // From here on the files may be named: they outlive an orderly end of the process.
        batch.iter().flat_map(|submission| &submission.added).for_each(|file| file.spare());
        match writer.append(batch.iter().map(|submission| submission.record.as_slice())) {
            Ok(()) => self.show(batch),
            Err(AppendError::NotWritten(error)) => self.give_up(batch, &Failure::Io(error)),
            Err(AppendError::Uncertain(error)) => {
                let reason = self.io_error(error).to_string();
                self.group_commit.halt(&reason);
                let in_doubt =
                    |submission: Submission| submission.doubt(StoreError::Uncertain { reason: reason.clone() });
                let mut answers: Answers = batch.into_iter().map(in_doubt).collect();
                answers.extend(self.give_up(Vec::new(), &Failure::Halted(reason.clone())));
                answers
            }
        }
    }

    /// Makes the states of durable commits visible.
    fn show(&self, batch: Vec<Submission>) -> Answers {
        if let Some(last) = batch.last() {
            // Before the state that names them is seen: who knows it must not bind labels of the state before.
            last.catalog.announce_types(&self.snapshot());
            *self.catalog.write() = Arc::clone(&last.catalog);
            self.live_snapshots.note(&last.catalog);
            let mut queue = self.group_commit.queue.lock();
            if queue.pending.as_ref().is_some_and(|pending| Arc::ptr_eq(pending, &last.catalog)) {
                queue.pending = None;
            }
        }
        self.group_commit.batches.send_modify(|count| *count += 1);
        batch.into_iter().map(Submission::succeed).collect()
    }

    /// Fails commits that are in no log, and all that have started from their states.
    fn give_up(&self, batch: Vec<Submission>, failure: &Failure) -> Answers {
        let behind = {
            let mut queue = self.group_commit.queue.lock();
            queue.generation += 1;
            queue.failure = Some(failure.clone());
            queue.pending = None;
            let behind = std::mem::take(&mut queue.submissions);
            for submission in behind.iter().rev().chain(batch.iter().rev()) {
                self.row_locks.go_back(&submission.moved);
            }
            behind
        };
        self.group_commit.batches.send_modify(|count| *count += 1);
        batch.into_iter().chain(behind).map(|submission| submission.fail(self.error_of(failure))).collect()
    }

    fn error_of(&self, failure: &Failure) -> StoreError {
        match failure {
            Failure::Io(error) => self.io_error(error.clone()),
            Failure::Halted(reason) => StoreError::Halted { reason: reason.clone() },
            Failure::Stopped => StoreError::Stopped { reason: "the runtime ended before the commit".to_owned() },
        }
    }

    fn io_error(&self, error: IoError) -> StoreError {
        StoreError::io(self.directory.path(), error)
    }

    /// Writes the manifest of the durable state, behind which the next log begins.
    fn write_checkpoint(&self, writer: &mut LogWriter) -> Result<(), IoError> {
        writer.begin_next()?;
        let manifest = self.snapshot().manifest_bytes(self.next_ids(), writer.number());
        // Either manifest is right: the logs of both are there.
        self.directory.switch_manifest(&manifest).map_err(ReplaceError::into_error)?;
        self.directory.remove_logs_before(writer.number());
        self.group_commit.checkpoint_count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}
