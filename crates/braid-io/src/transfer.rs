//! How far a read or write has come: the pure part of short transfers, interruptions and the end of a file.
//!
//! The kernel may transfer less than it was asked for, or nothing because of a signal. Each of its answers goes through
//! [`Transfer::advance`], which says whether to ask again (for the rest), or how the request ends.
//!
//! A direct file accepts only aligned ranges, so after a short answer the next range begins at the last multiple of the
//! alignment; bytes behind it are transferred twice, with the same content. An answer that does not reach the next
//! multiple means, for a read, that the file ends there; for a write, that there is no more space: only the end of the
//! disk, of a quota or of the file size limit stops one within a block.
//!
//! Invariants: `done <= len`; between answers `done` is a multiple of `granule`.

use std::io;
use std::ops::Range;

use braid_base::SEGMENT_ALIGN_BYTES;

/// The most that is asked of the kernel at once, in bytes: Linux transfers at most 2^31 - 4096 per call.
const ASK_BYTES_MAX: usize = 1 << 30;

/// Interruptions without any progress after which a request is given up; a signal or two is normal, a hundred is not.
const INTERRUPTIONS_MAX: u32 = 100;

/// What is asked of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Bytes from the disk.
    Read,
    /// Bytes to the disk.
    Write,
    /// Durability; no bytes.
    Sync,
}

/// What an answer of the kernel means for the request.
#[derive(Debug)]
pub(crate) enum Step {
    /// Ask for what is left.
    Again,
    /// Everything is done.
    Complete,
    /// The file ends after `got` bytes.
    EndOfFile { got: usize },
    /// It cannot be done.
    Failed(io::Error),
}

/// The progress of one request.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    direction: Direction,
    offset: u64,
    len: usize,
    done: usize,
    granule: usize,
    interruptions: u32,
}

impl Transfer {
    /// A transfer of `len` bytes at `offset` of a file that is `direct` or not. A sync has length 0.
    pub(crate) fn new(direction: Direction, offset: u64, len: usize, direct: bool) -> Self {
        assert_eq!(len == 0, direction == Direction::Sync, "only a sync transfers nothing");
        let granule = if direct { SEGMENT_ALIGN_BYTES } else { 1 };
        Self { direction, offset, len, done: 0, granule, interruptions: 0 }
    }

    pub(crate) fn direction(&self) -> Direction {
        self.direction
    }

    /// Where in the file the whole request begins, in bytes.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes of the whole request.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// What to ask the kernel for next: a range of the buffer, and where it lies in the file.
    pub(crate) fn next(&self) -> (Range<usize>, u64) {
        let end = self.len.min(self.done + ASK_BYTES_MAX);
        (self.done..end, self.offset + self.done as u64)
    }

    /// Takes the kernel's answer to [`Transfer::next`].
    pub(crate) fn advance(&mut self, answer: io::Result<usize>) -> Step {
        match answer {
            Ok(count) => self.progress(count),
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {
                self.interruptions += 1;
                if self.interruptions <= INTERRUPTIONS_MAX { Step::Again } else { Step::Failed(error) }
            }
            Err(error) => Step::Failed(error),
        }
    }

    fn progress(&mut self, count: usize) -> Step {
        if self.direction == Direction::Sync {
            return Step::Complete;
        }
        let reached = self.done + count;
        assert!(reached <= self.len, "the kernel transferred {reached} bytes of {}", self.len);
        if reached == self.len {
            self.done = reached;
            return Step::Complete;
        }
        let resume = reached - reached % self.granule;
        if resume > self.done {
            self.done = resume;
            self.interruptions = 0;
            return Step::Again;
        }
        match self.direction {
            Direction::Read => Step::EndOfFile { got: reached },
            _ => Step::Failed(io::Error::new(
                io::ErrorKind::StorageFull,
                format!("the disk accepted only {reached} of {} bytes", self.len),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use braid_testing::properties;
    use braid_testing::proptest::prelude::*;

    use super::*;

    fn os_error(code: i32) -> io::Result<usize> {
        Err(io::Error::from_raw_os_error(code))
    }

    #[test]
    fn a_whole_answer_completes() {
        let mut read = Transfer::new(Direction::Read, 8192, 4096, true);
        assert_eq!(read.next(), (0..4096, 8192));
        assert!(matches!(read.advance(Ok(4096)), Step::Complete));
        let mut sync = Transfer::new(Direction::Sync, 0, 0, true);
        assert!(matches!(sync.advance(Ok(0)), Step::Complete));
    }

    #[test]
    fn a_short_answer_asks_for_the_rest_from_an_aligned_place() {
        let mut read = Transfer::new(Direction::Read, 4096, 12288, true);
        assert!(matches!(read.advance(Ok(4608)), Step::Again));
        assert_eq!(read.next(), (4096..12288, 8192));
        assert!(matches!(read.advance(Ok(512)), Step::EndOfFile { got: 4608 }));

        let mut buffered = Transfer::new(Direction::Read, 5, 10, false);
        assert!(matches!(buffered.advance(Ok(3)), Step::Again));
        assert_eq!(buffered.next(), (3..10, 8));
        assert!(matches!(buffered.advance(Ok(0)), Step::EndOfFile { got: 3 }));
    }

    #[test]
    fn a_write_that_makes_no_progress_fails() {
        let mut write = Transfer::new(Direction::Write, 0, 8192, true);
        let Step::Failed(error) = write.advance(Ok(0)) else { panic!("a disk that takes nothing is an error") };
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn interruptions_are_retried_but_not_for_ever() {
        let mut read = Transfer::new(Direction::Read, 0, 8192, true);
        for _ in 0..INTERRUPTIONS_MAX {
            assert!(matches!(read.advance(os_error(libc::EINTR)), Step::Again));
        }
        assert!(matches!(read.advance(Ok(4096)), Step::Again), "progress forgives interruptions");
        for _ in 0..INTERRUPTIONS_MAX {
            assert!(matches!(read.advance(os_error(libc::EAGAIN)), Step::Again));
        }
        assert!(matches!(read.advance(os_error(libc::EINTR)), Step::Failed(_)));
        assert!(matches!(read.advance(os_error(libc::EIO)), Step::Failed(_)));
    }

    #[test]
    fn a_huge_transfer_is_asked_for_in_pieces() {
        let mut read = Transfer::new(Direction::Read, 0, 3 << 30, true);
        for piece in 0..3usize {
            assert_eq!(read.next(), (piece << 30..(piece + 1) << 30, (piece as u64) << 30));
            let step = read.advance(Ok(1 << 30));
            assert!(matches!((piece, step), (0 | 1, Step::Again) | (2, Step::Complete)));
        }
    }

    properties! {
        256 cases;

        /// A kernel that answers with any lengths it likes: every byte arrives, at its own place, or the end of the
        /// file is found where it is.
        #[test]
        fn any_sequence_of_short_answers_ends_right(
            granules in 1usize..12, file_len in 0usize..40_000, direct: bool,
            answers in prop::collection::vec(1usize..9000, 64),
        ) {
            let len = granules * SEGMENT_ALIGN_BYTES;
            let file: Vec<u8> = (0..file_len).map(|i| (i % 251) as u8).collect();
            let mut buffer = vec![0xFF; len];
            let mut read = Transfer::new(Direction::Read, 0, len, direct);
            // Beyond the given answers the kernel transfers all it can, so the loop ends.
            let mut answers = answers.into_iter().chain(std::iter::repeat(usize::MAX));
            loop {
                let (range, offset) = read.next();
                prop_assert!(!direct || offset.is_multiple_of(SEGMENT_ALIGN_BYTES as u64));
                let start = (offset as usize).min(file_len);
                let available = (file_len - start).min(range.len());
                let mut count = answers.next().expect("endless").min(available);
                if direct && count < available {
                    // A direct transfer ends inside a block only where the file does.
                    count = count.next_multiple_of(SEGMENT_ALIGN_BYTES).min(available);
                }
                buffer[range.start..range.start + count].copy_from_slice(&file[start..start + count]);
                match read.advance(Ok(count)) {
                    Step::Again => {}
                    Step::Complete => {
                        prop_assert!(file_len >= len);
                        prop_assert_eq!(&buffer[..], &file[..len]);
                        break;
                    }
                    Step::EndOfFile { got } => {
                        prop_assert!(got == file_len && file_len < len);
                        prop_assert_eq!(&buffer[..got], &file[..]);
                        break;
                    }
                    Step::Failed(error) => panic!("{error}"),
                }
            }
        }
    }
}
