//! A request in flight: the file, the memory, the place in the queue, and the receiver of the result.
//!
//! The executor of requests (the ring, the thread pool) asks [`Request::ask`] what to do next and reports the kernel's
//! answer to [`Request::advance`]. The request owns its memory throughout, so a caller who gives up (drops the
//! receiving side) frees nothing that the kernel still uses.

use std::io;
use std::mem;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::aligned_buffer::AlignedBuffer;
use crate::aligned_memory::AlignedMemory;
use crate::error::{IoError, IoOperation};
use crate::file_handle::FileHandle;
use crate::io_reason::IoReason;
use crate::statistics::InFlight;
use crate::syscalls;
use crate::transfer::{Direction, Step, Transfer};

/// Where the result of a request goes.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, IoError>>;

/// One request.
pub(crate) struct Request {
    file: FileHandle,
    transfer: Transfer,
    payload: Payload,
    in_flight: InFlight,
}

enum Payload {
    Read { memory: AlignedMemory, reason: IoReason, reply: Reply<AlignedBuffer> },
    Write { buffer: AlignedBuffer, reason: IoReason, reply: Reply<()> },
    Sync { reply: Reply<()> },
}

/// What to ask the kernel for. Addresses are valid as long as the request is.
pub(crate) enum Ask<'a> {
    /// Fill `memory[start..start + len]` from `offset` of the file.
    Read { memory: &'a mut AlignedMemory, start: usize, len: usize, offset: u64 },
    /// Write `bytes` at `offset` of the file.
    Write { bytes: &'a [u8], offset: u64 },
    /// Make the file durable.
    Sync,
}

impl Request {
    pub(crate) fn read(
        file: FileHandle,
        offset: u64,
        len: usize,
        reason: IoReason,
        in_flight: InFlight,
        reply: Reply<AlignedBuffer>,
    ) -> Self {
        let transfer = Transfer::new(Direction::Read, offset, len, file.is_direct());
        let memory = AlignedMemory::uninitialised(len);
        Self { file, transfer, payload: Payload::Read { memory, reason, reply }, in_flight }
    }

    pub(crate) fn write(
        file: FileHandle,
        offset: u64,
        buffer: AlignedBuffer,
        reason: IoReason,
        in_flight: InFlight,
        reply: Reply<()>,
    ) -> Self {
        let transfer = Transfer::new(Direction::Write, offset, buffer.len(), file.is_direct());
        Self { file, transfer, payload: Payload::Write { buffer, reason, reply }, in_flight }
    }

    pub(crate) fn sync(file: FileHandle, in_flight: InFlight, reply: Reply<()>) -> Self {
        let transfer = Transfer::new(Direction::Sync, 0, 0, file.is_direct());
        Self { file, transfer, payload: Payload::Sync { reply }, in_flight }
    }

    pub(crate) fn file(&self) -> &FileHandle {
        &self.file
    }

    /// Whether the caller has dropped its future, so that no result is needed.
    pub(crate) fn is_abandoned(&self) -> bool {
        match &self.payload {
            Payload::Read { reply, .. } => reply.is_closed(),
            Payload::Write { reply, .. } | Payload::Sync { reply } => reply.is_closed(),
        }
    }

    /// What to ask the kernel for next.
    pub(crate) fn ask(&mut self) -> Ask<'_> {
        let (range, offset) = self.transfer.next();
        match &mut self.payload {
            Payload::Read { memory, .. } => Ask::Read { memory, start: range.start, len: range.len(), offset },
            Payload::Write { buffer, .. } => Ask::Write { bytes: &buffer.as_slice()[range], offset },
            Payload::Sync { .. } => Ask::Sync,
        }
    }

    /// Takes the kernel's answer. Gives the request back if there is more to ask; otherwise counts it, gives its place
    /// to another and tells the caller.
    pub(crate) fn advance(mut self, answer: io::Result<usize>) -> Option<Self> {
        match self.transfer.advance(answer) {
            Step::Again => return Some(self),
            Step::Complete => self.complete(),
            Step::EndOfFile { got } => {
                let (offset, wanted) = (self.transfer.offset(), self.transfer.len());
                let path = self.file.path().to_owned();
                self.fail(IoError::ShortRead { path, offset, wanted, got });
            }
            Step::Failed(source) => {
                let error = self.error(source);
                self.fail(error);
            }
        }
        None
    }

    /// Executes the request to its end with blocking calls.
    pub(crate) fn execute(self) {
        let mut unfinished = Some(self);
        while let Some(mut request) = unfinished {
            let file = request.file().clone();
            let answer = match request.ask() {
                Ask::Read { memory, start, len, offset } => syscalls::read_at(file.file(), offset, memory, start, len),
                Ask::Write { bytes, offset } => file.file().write_at(bytes, offset),
                Ask::Sync => file.file().sync_data().map(|()| 0),
            };
            drop(file);
            unfinished = request.advance(answer);
        }
    }

    /// Ends the request without freeing the memory, for when the kernel may still be using it and waiting is impossible.
    pub(crate) fn leak(self) {
        match self.payload {
            Payload::Read { memory, .. } => mem::forget(memory),
            Payload::Write { buffer, .. } => mem::forget(buffer),
            Payload::Sync { .. } => {}
        }
    }

    fn complete(self) {
        let Self { transfer, payload, in_flight, file } = self;
        let len = transfer.len();
        // Everything that a caller could observe (counters, gauge, descriptor) is settled before it is woken. A reply
        // whose caller has gone is dropped with its memory.
        drop(file);
        match payload {
            Payload::Read { memory, reason, reply } => {
                in_flight.counters().count_read(reason, len);
                drop(in_flight);
                // SAFETY: the transfer is complete, so the kernel has filled all `len` bytes.
                let buffer = unsafe { AlignedBuffer::from_filled(memory, len) };
                let _ = reply.send(Ok(buffer));
            }
            Payload::Write { reason, reply, .. } => {
                in_flight.counters().count_write(reason, len);
                drop(in_flight);
                let _ = reply.send(Ok(()));
            }
            Payload::Sync { reply } => {
                in_flight.counters().count_sync();
                drop(in_flight);
                let _ = reply.send(Ok(()));
            }
        }
    }

    fn fail(self, error: IoError) {
        self.in_flight.counters().count_failure();
        drop(self.in_flight);
        match self.payload {
            Payload::Read { reply, .. } => drop(reply.send(Err(error))),
            Payload::Write { reply, .. } | Payload::Sync { reply } => drop(reply.send(Err(error))),
        }
    }

    fn error(&self, source: io::Error) -> IoError {
        let path = self.file.path();
        let (operation, reason) = match (&self.payload, self.transfer.direction()) {
            (Payload::Read { reason, .. }, _) => (IoOperation::Read, *reason),
            (Payload::Write { reason, .. }, _) => (IoOperation::Write, *reason),
            (Payload::Sync { .. }, _) => return IoError::file(IoOperation::Sync, path, source),
        };
        let (offset, len) = (self.transfer.offset(), self.transfer.len());
        IoError::Transfer { operation, path: path.to_owned(), offset, len, reason, source: Arc::new(source) }
    }
}
