//! A running statement: awaits its work together with the three events that may end it early.
//!
//! 1. A CancelRequest, or the end of the grace period during a shutdown, cancels its token.
//! 2. The client closes its socket. The token is cancelled, so that work detached from the future stops, too.
//! 3. A panic, which is a bug, ends the statement with XX000. The connection's task survives.
//!
//! Each event drops the future of the work, which stops it. A cancelled statement returns its own outcome, because a statement
//! that has started to commit continues: it has [`COMMIT_TIME_MAX`] for that.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use braid_engine::{Ongoing, Session};
use futures::FutureExt;
use tokio_util::sync::CancellationToken;

use crate::cancel_registry::{Registration, RunningGuard};
use crate::client_text::translate_rows;
use crate::error_report::{ErrorReport, Failure};
use crate::frontend_message::{FrontendMessage, decode};
use crate::hidden_passwords::HiddenPasswords;
use crate::value::row_encoder::RowEncoder;
use crate::wire::{Received, Wire};

/// Maximum time that rows stay in the output while a query computes the next ones. It is short enough for people, and long
/// enough that a small result is sent at once.
const OUTPUT_AGE_MAX: Duration = Duration::from_millis(10);

/// Maximum time for a cancelled statement to return its outcome. A commit takes milliseconds, or longer on a slow disk.
const COMMIT_TIME_MAX: Duration = Duration::from_secs(5);

/// One running statement.
pub(crate) struct Running<'a> {
    pub wire: &'a mut Wire,
    token: CancellationToken,
    _guard: RunningGuard,
    _ongoing: Ongoing,
}

impl<'a> Running<'a> {
    /// Starts a statement that `token` cancels. Until its end, a CancelRequest to this connection cancels the token.
    pub fn new(
        wire: &'a mut Wire,
        (registration, session): (&Registration, &Session),
        token: CancellationToken,
    ) -> Self {
        let (guard, ongoing) = (registration.run(&token), session.go_on(&token));
        Self { wire, token, _guard: guard, _ongoing: ongoing }
    }

    /// Waits for `work`, or for one of the three events.
    pub async fn wait<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Failure> {
        let mut work = std::pin::pin!(AssertUnwindSafe(work).catch_unwind());
        tokio::select! {
            biased;
            done = &mut work => done.map_err(|panic| bug(&*panic).into()),
            () = self.token.cancelled() => match tokio::time::timeout(COMMIT_TIME_MAX, work).await {
                Ok(done) => done.map_err(|panic| bug(&*panic).into()),
                Err(_) => Err(ErrorReport::cancelled().into()),
            },
            () = self.wire.client_gone() => {
                self.token.cancel();
                Err(Failure::Gone)
            }
        }
    }

    /// As [`Running::wait`], for work that commits nothing: a cancel drops it at once.
    pub async fn wait_unless_cancelled<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Failure> {
        let token = self.token.clone();
        let work = async move {
            tokio::select! {
                biased;
                () = token.cancelled() => Err(Failure::from(ErrorReport::cancelled())),
                done = work => Ok(done),
            }
        };
        self.wait(work).await?
    }

    /// As [`Running::wait`]. Sends output that gets old meanwhile.
    pub async fn wait_for_rows<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Failure> {
        if self.wire.is_flushed() {
            return self.wait(work).await;
        }
        let mut work = std::pin::pin!(work);
        let soon = self.wait(async { tokio::time::timeout(OUTPUT_AGE_MAX, &mut work).await.ok() }).await?;
        match soon {
            Some(done) => Ok(done),
            None => {
                self.flush().await?;
                self.wait(work).await
            }
        }
    }

    /// Sends the output. If the statement is cancelled first, the rest is sent with later output.
    pub async fn flush(&mut self) -> Result<(), Failure> {
        tokio::select! {
            biased;
            sent = self.wire.flush() => sent.map_err(Failure::from_io),
            () = self.token.cancelled() => Err(ErrorReport::cancelled().into()),
        }
    }

    /// Translates the rows from a place in the output on into the client's encoding.
    pub fn translate_rows(&mut self, start: usize, encoder: &RowEncoder) -> Result<(), ErrorReport> {
        let encoding = self.wire.encoding;
        match encoding.is_unconverted() {
            true => Ok(()),
            false => translate_rows(self.wire.output(), start, &encoder.formats(), encoding),
        }
    }

    /// The client's next message, for statements with a sub-protocol.
    pub async fn receive(&mut self) -> Result<FrontendMessage, Failure> {
        let received = tokio::select! {
            biased;
            received = self.wire.receive() => received?,
            () = self.token.cancelled() => return Err(ErrorReport::cancelled().into()),
        };
        match received {
            Received::End => Err(Failure::Gone),
            Received::Frame(kind, body) => Ok(decode(kind, body, self.wire.encoding)?),
        }
    }
}

fn bug(panic: &(dyn Any + Send)) -> ErrorReport {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    tracing::error!("a statement panicked: {}", HiddenPasswords::of(text.unwrap_or("no message")).text());
    ErrorReport::error("XX000", format!("internal error: {}", text.unwrap_or("no message")))
        .with_hint("This is a bug in Braid. The statement was stopped; the connection can still be used.")
}
