//! How long a test waits for what must happen.
//!
//! A machine that also compiles, or runs other tests, gives a test a tenth of its speed and stops it for seconds. A limit of a few
//! seconds then fails by chance, and a wait without a limit hangs the whole run and names nothing. So each wait of a test has one
//! limit, [`PATIENCE`], and says what it waits for. It tells what ends from what never ends. It measures nothing: how fast
//! something is, benchmarks say.
//!
//! A test must not take an amount of time for a sign that something has happened, either: it waits for the sign itself
//! ([`eventually`]).

use std::fmt::Display;
use std::future::Future;
use std::time::{Duration, Instant};

/// How long a test waits for what must happen: longer than any stop of a busy machine, shorter than the limit of a whole run.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// How often a condition that nothing announces is looked at.
pub const PAUSE: Duration = Duration::from_millis(5);

/// A wait for `what`, from its creation on.
#[derive(Debug)]
pub struct Wait<T> {
    what: T,
    since: Instant,
    limit: Duration,
}

impl<T: Display> Wait<T> {
    /// Begins to wait for `what`.
    pub fn new(what: T) -> Self {
        Self { what, since: Instant::now(), limit: PATIENCE }
    }

    /// # Panics
    /// After [`PATIENCE`], with what was waited for and `state`, which says how far it has come.
    #[track_caller]
    pub fn check(&self, state: impl FnOnce() -> String) {
        let is_in_time = self.since.elapsed() < self.limit;
        assert!(is_in_time, "not within {} s: {}; {}", self.limit.as_secs(), self.what, state());
    }
}

/// The output of `future`, which is `what`.
///
/// # Panics
/// After [`PATIENCE`].
pub async fn in_time<F: Future>(what: impl Display, future: F) -> F::Output {
    in_time_of(PATIENCE, what, future).await
}

async fn in_time_of<F: Future>(limit: Duration, what: impl Display, future: F) -> F::Output {
    match tokio::time::timeout(limit, future).await {
        Ok(output) => output,
        Err(_) => panic!("not within {} s: {what}", limit.as_secs()),
    }
}

/// Waits until `condition` holds.
///
/// # Panics
/// After [`PATIENCE`], with `what`.
pub async fn eventually(what: impl Display, mut condition: impl FnMut() -> bool) {
    let wait = Wait::new(what);
    while !condition() {
        wait.check(String::new);
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    #[should_panic(expected = "not within 0 s: the end of time")]
    async fn what_never_ends_is_named() {
        in_time_of(Duration::from_millis(1), "the end of time", std::future::pending::<()>()).await;
    }

    #[tokio::test]
    async fn what_ends_is_awaited() {
        assert_eq!(in_time("a value", async { 7 }).await, 7);
        let looks = Cell::new(0);
        eventually("the third look", || looks.replace(looks.get() + 1) == 2).await;
        assert_eq!(looks.get(), 3);
    }

    #[test]
    #[should_panic(expected = "rows to arrive; 3 of 4")]
    fn a_wait_says_how_far_it_has_come() {
        let wait = Wait { what: "rows to arrive", since: Instant::now(), limit: Duration::ZERO };
        wait.check(|| "3 of 4".to_owned());
    }
}
