//! A machine whose passes share its cores: with k passes each one runs at 1/k of its speed alone.

/// A pass that runs.
#[derive(Clone, Debug)]
struct Job<T> {
    job: T,
    rest_us: f64,
}

/// The machine.
#[derive(Clone, Debug)]
pub(super) struct Machine<T> {
    jobs: Vec<Job<T>>,
    now_us: f64,
}

impl<T: PartialEq> Machine<T> {
    /// An idle machine.
    pub(super) fn new() -> Self {
        Self { jobs: Vec::new(), now_us: 0.0 }
    }

    /// A job of `work_us` starts. Time is that of the last call of `advance`.
    pub(super) fn start(&mut self, job: T, work_us: f64) {
        self.jobs.push(Job { job, rest_us: work_us });
    }

    /// When the next job ends, if no other starts before.
    pub(super) fn next_end_us(&self) -> Option<f64> {
        let least = self.jobs.iter().map(|job| job.rest_us).min_by(f64::total_cmp)?;
        Some(self.now_us + least * self.jobs.len() as f64)
    }

    /// Lets time pass, not beyond the next end. Returns a job that has ended then.
    pub(super) fn advance(&mut self, now_us: f64) -> Option<T> {
        let done_us = (now_us - self.now_us) / self.jobs.len().max(1) as f64;
        self.now_us = now_us;
        self.jobs.iter_mut().for_each(|job| job.rest_us -= done_us);
        let ended = self.jobs.iter().position(|job| job.rest_us < 1e-3)?;
        Some(self.jobs.swap_remove(ended).job)
    }
}
