//! The virtual disk and processors.

use std::collections::{HashMap, VecDeque};

use braid_base::{ChunkId, ScanId};

use crate::loads::{LoadId, LoadRequest};

/// A disk: how long a read takes.
#[derive(Clone, Copy, Debug)]
pub struct DiskOptions {
    /// Bytes per second of a read under way.
    pub bytes_per_second: u64,
    /// Microseconds before a read that does not continue the one before it.
    pub seek_us: u64,
}

impl DiskOptions {
    /// The paper's 4-way RAID: "slightly over 200 MB/s". Under `normal` it is the bottleneck and does 4186 reads of
    /// 16 MiB in 453.06 s (table 2), 108 ms each. The transfer takes 80 ms; the other 28 ms are the seek of the slowest of
    /// four disks.
    pub const PAPER_RAID: Self = Self { bytes_per_second: 208_000_000, seek_us: 28_000 };
}

/// A disk that serves reads one after the other, in the order in which they come.
#[derive(Debug)]
pub(crate) struct Disk {
    options: DiskOptions,
    /// Reads with the time at which each is done, and how many segments it brings.
    queue: VecDeque<(u64, LoadId, usize)>,
    free_at_us: u64,
    head: u64,
}

impl Disk {
    pub fn new(options: DiskOptions) -> Self {
        Self { options, queue: VecDeque::new(), free_at_us: 0, head: u64::MAX }
    }

    pub fn submit<V>(&mut self, load: &LoadRequest<V>, now_us: u64) {
        let seek_us = if load.offset == self.head { 0 } else { self.options.seek_us };
        let transfer_us = load.bytes * 1_000_000 / self.options.bytes_per_second;
        self.free_at_us = self.free_at_us.max(now_us) + seek_us + transfer_us;
        self.head = load.offset + load.bytes;
        self.queue.push_back((self.free_at_us, load.id, load.segments.len()));
    }

    /// When the read at the head of the queue is done.
    pub fn done_at_us(&self) -> Option<u64> {
        self.queue.front().map(|(done_at_us, _, _)| *done_at_us)
    }

    /// The read that is done by `now_us`, with the number of its segments.
    pub fn take_done(&mut self, now_us: u64) -> Option<(LoadId, usize)> {
        let (_, load, segments) = self.queue.pop_front_if(|(done_at_us, _, _)| *done_at_us <= now_us)?;
        Some((load, segments))
    }
}

/// Processor time after which a query no longer counts as interactive, in microseconds.
///
/// The paper's Linux favoured tasks that had run little: in table 2 the query S-01 takes 0.55 s where it needs 0.38 s of
/// a processor, with both processors 94 % busy with S-100s. Equal shares would make it wait four times as long.
const INTERACTIVE_US: f64 = 1e6;

/// A chunk being processed.
#[derive(Debug)]
struct Job {
    scan: ScanId,
    chunk: ChunkId,
    /// Processor time left, in microseconds.
    left_us: f64,
}

/// Processors that divide their time among the chunks being processed; the less a query has used, the more it gets.
#[derive(Debug)]
pub(crate) struct Processors {
    count: usize,
    jobs: Vec<Job>,
    /// Processor time used so far by each scan, in microseconds.
    used_us: HashMap<ScanId, f64>,
}

impl Processors {
    pub fn new(count: usize) -> Self {
        Self { count: count.max(1), jobs: Vec::new(), used_us: HashMap::new() }
    }

    pub fn start(&mut self, scan: ScanId, chunk: ChunkId, work_us: u64) {
        self.jobs.push(Job { scan, chunk, left_us: work_us as f64 });
    }

    /// How many chunks of the scan are being processed.
    pub fn working_on(&self, scan: ScanId) -> usize {
        self.jobs.iter().filter(|job| job.scan == scan).count()
    }

    /// Processor seconds that each job gets per second: in proportion to its weight, at most one processor.
    fn speeds(&self) -> Vec<f64> {
        let weight = |job: &Job| 1.0 / (1.0 + self.used_us.get(&job.scan).unwrap_or(&0.0) / INTERACTIVE_US);
        let weights: Vec<f64> = self.jobs.iter().map(weight).collect();
        let mut speeds = vec![0.0; weights.len()];
        let mut heaviest_first: Vec<usize> = (0..weights.len()).collect();
        heaviest_first.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
        let (mut processors, mut weight_left) = (self.count as f64, weights.iter().sum::<f64>());
        for at in heaviest_first {
            speeds[at] = (processors * weights[at] / weight_left).min(1.0);
            processors -= speeds[at];
            weight_left -= weights[at];
        }
        speeds
    }

    /// When the next job is done, if nothing else happens.
    pub fn done_at_us(&self, now_us: u64) -> Option<u64> {
        let left = self.jobs.iter().zip(self.speeds()).map(|(job, speed)| job.left_us / speed);
        left.min_by(f64::total_cmp).map(|least| now_us + least.ceil() as u64)
    }

    /// Lets time pass; returns the processor time used, in microseconds.
    pub fn run(&mut self, from_us: u64, to_us: u64) -> u64 {
        let mut sum_us = 0.0;
        for (at, speed) in self.speeds().into_iter().enumerate() {
            let job = &mut self.jobs[at];
            let used_us = (speed * (to_us - from_us) as f64).min(job.left_us);
            job.left_us -= used_us;
            *self.used_us.entry(job.scan).or_default() += used_us;
            sum_us += used_us;
        }
        sum_us.round() as u64
    }

    /// Removes and returns the jobs that are done.
    pub fn take_done(&mut self) -> Vec<(ScanId, ChunkId)> {
        // Half a microsecond of rounding is below the clock's resolution.
        let (done, left): (Vec<Job>, Vec<Job>) = self.jobs.drain(..).partition(|job| job.left_us < 0.5);
        self.jobs = left;
        done.into_iter().map(|job| (job.scan, job.chunk)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_shared_but_none_is_split_for_a_single_job() {
        let mut processors = Processors::new(2);
        processors.start(ScanId(0), ChunkId(0), 1_000);
        assert_eq!(processors.done_at_us(0), Some(1_000));
        // Three jobs that have used nothing yet: each gets two thirds of a processor.
        processors.start(ScanId(1), ChunkId(0), 2_000);
        processors.start(ScanId(2), ChunkId(0), 3_000);
        assert_eq!(processors.done_at_us(0), Some(1_500));
        assert_eq!(processors.run(0, 1_500), 3_000);
        assert_eq!(processors.take_done(), [(ScanId(0), ChunkId(0))]);
        // Two jobs, two processors.
        assert_eq!(processors.done_at_us(1_500), Some(2_500));
    }

    #[test]
    fn a_query_that_has_used_little_goes_first() {
        let mut processors = Processors::new(1);
        processors.start(ScanId(0), ChunkId(0), 9_000_000);
        assert_eq!(processors.run(0, 3_000_000), 3_000_000);
        processors.start(ScanId(1), ChunkId(0), 800);
        // Weights 1/4 and 1: the newcomer gets four fifths.
        assert_eq!(processors.done_at_us(3_000_000), Some(3_001_000));
    }

    #[test]
    fn a_read_that_continues_the_last_one_needs_no_seek() {
        let mut disk = Disk::new(DiskOptions { bytes_per_second: 1_000_000, seek_us: 50 });
        for (id, offset, bytes, done_at_us) in [(0, 0, 100, 150), (1, 100, 100, 250), (2, 500, 100, 400)] {
            let load = LoadRequest { id: LoadId(id), version: (), chunk: 0, offset, bytes, segments: Vec::new() };
            disk.submit(&load, 0);
            assert_eq!(disk.queue.back().unwrap().0, done_at_us);
        }
        assert_eq!((disk.take_done(149), disk.take_done(150)), (None, Some((LoadId(0), 0))));
    }
}
