//! The events that stop a statement: its client, its time limit, or the close of the database.
//!
//! A commit is never stopped. Once it has started, its rows may become durable in any case, so that stopping it would report a
//! false failure. From [`to_the_end`] on, a statement runs to its end.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{EngineError, SqlState};

tokio::task_local! {
    /// Whether the statement at work has begun to commit.
    static COMMITS: Arc<AtomicBool>;
}

/// Awaits a commit, which nothing interrupts.
pub(crate) async fn to_the_end<T>(commit: impl Future<Output = T>) -> T {
    // Outside of a statement nothing would interrupt it either.
    let _ = COMMITS.try_with(|commits| commits.store(true, Ordering::Relaxed));
    commit.await
}

/// Told when rows or data fail after their statement has answered, so that a transaction block fails with them.
pub(crate) type OnFailure = Arc<dyn Fn() + Send + Sync>;

/// The reasons for which a statement must stop. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    cancel: CancellationToken,
    shutdown: CancellationToken,
    deadline: Option<Instant>,
}

impl Interrupt {
    /// Stops with `cancel`, with `shutdown`, and `timeout_ms` from now.
    pub fn new(cancel: CancellationToken, shutdown: CancellationToken, timeout_ms: Option<u64>) -> Self {
        let deadline = timeout_ms.map(|ms| Instant::now() + Duration::from_millis(ms));
        Self { cancel, shutdown, deadline }
    }

    /// Runs `work` until it ends or must stop; then it is dropped, unless it has begun to commit.
    pub async fn run<T>(&self, work: impl Future<Output = Result<T, EngineError>>) -> Result<T, EngineError> {
        let commits = Arc::new(AtomicBool::new(false));
        let mut work = std::pin::pin!(COMMITS.scope(Arc::clone(&commits), work));
        tokio::select! {
            biased;
            error = self.wait() => if !commits.load(Ordering::Relaxed) {
                return Err(error);
            },
            result = &mut work => return result,
        }
        work.await
    }

    /// Ends with the error to report when the statement must stop.
    pub fn wait(&self) -> BoxFuture<'static, EngineError> {
        let Self { cancel, shutdown, deadline } = self.clone();
        async move {
            let timeout = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = cancel.cancelled() => EngineError::cancelled(),
                () = shutdown.cancelled() => shutting_down(),
                () = timeout => {
                    EngineError::new(SqlState::QueryCanceled, "canceling statement due to statement timeout")
                }
            }
        }
        .boxed()
    }
}

/// PostgreSQL's error for a statement that a shutdown stops.
pub(crate) fn shutting_down() -> EngineError {
    EngineError::new(SqlState::AdminShutdown, "terminating connection due to administrator command")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_commit_runs_to_its_end() {
        let cancel = CancellationToken::new();
        let interrupt = Interrupt::new(cancel.clone(), CancellationToken::new(), None);
        let commit = async {
            cancel.cancel();
            tokio::task::yield_now().await;
            Ok(5)
        };
        assert_eq!(interrupt.run(to_the_end(commit)).await.unwrap(), 5);
        assert_eq!(
            interrupt.run(to_the_end(async { Ok(5) })).await.unwrap_err().sqlstate(),
            "57014",
            "before it begins"
        );
    }

    #[tokio::test]
    async fn whatever_comes_first_stops_the_work() {
        let (cancel, shutdown) = (CancellationToken::new(), CancellationToken::new());
        let interrupt = Interrupt::new(cancel.clone(), shutdown.clone(), None);
        assert_eq!(interrupt.run(async { Ok(5) }).await.unwrap(), 5);
        let endless = || std::future::pending::<Result<(), EngineError>>();
        let timed = Interrupt::new(cancel.clone(), shutdown.clone(), Some(1));
        assert_eq!(timed.run(endless()).await.unwrap_err().sqlstate(), "57014");
        shutdown.cancel();
        assert_eq!(interrupt.run(endless()).await.unwrap_err().sqlstate(), "57P01");
        cancel.cancel();
        assert_eq!(interrupt.run(endless()).await.unwrap_err().sqlstate(), "57014");
    }
}
