//! Writes behind the workers' backs, which they wait for when too much is on its way.

use futures::future::BoxFuture;

use crate::ExecError;

/// Writes that are on their way.
pub(crate) trait Backpressure: Send + Sync {
    /// Whether workers are to wait.
    fn is_congested(&self) -> bool;

    /// Waits until [`Self::is_congested`] is false. Fails when a write failed.
    fn until_not_congested(&self) -> BoxFuture<'_, Result<(), ExecError>>;
}
