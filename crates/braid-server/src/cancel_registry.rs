//! The registry for CancelRequests: the (process id, secret key) pair of each connection, and the statement it runs.
//!
//! A CancelRequest arrives on a connection of its own and names a pair. It cancels the token of the statement that runs
//! at that moment, during planning and streaming alike. Between statements it has no effect, also not on the next
//! statement. An unknown pair is ignored without a response, as in PostgreSQL.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use pgwire::api::{ClientInfo, PidSecretKeyGenerator, RandomPidSecretKeyGenerator};
use pgwire::messages::startup::SecretKey;
use tokio_util::sync::CancellationToken;

/// All connections of a server.
#[derive(Default)]
pub(crate) struct CancelRegistry {
    keys: RandomPidSecretKeyGenerator,
    connections: Mutex<HashMap<i32, Connection>>,
}

struct Connection {
    secret: SecretKey,
    running: RunningSlot,
}

/// The token of the statement that a connection runs now.
type RunningSlot = Arc<Mutex<Option<CancellationToken>>>;

impl CancelRegistry {
    /// Enters a connection, until the registration is dropped: `pid` is its session's number, which no other one has.
    /// The key's length depends on the client's protocol version.
    pub fn register(self: &Arc<Self>, pid: i32, client: &dyn ClientInfo) -> Registration {
        let (_, secret) = self.keys.generate(client);
        let running = RunningSlot::default();
        let connection = Connection { secret: secret.clone(), running: Arc::clone(&running) };
        self.connections.lock().insert(pid, connection);
        Registration { registry: Arc::clone(self), pid, secret, running }
    }

    /// Cancels the connection's running statement. True if one was running.
    pub fn cancel(&self, pid: i32, secret: &SecretKey) -> bool {
        let connections = self.connections.lock();
        let Some(connection) = connections.get(&pid).filter(|c| c.secret.eq_value(secret)) else {
            return false;
        };
        let running = connection.running.lock();
        if let Some(token) = &*running {
            token.cancel();
        }
        running.is_some()
    }
}

/// One connection's place in the registry.
pub(crate) struct Registration {
    registry: Arc<CancelRegistry>,
    running: RunningSlot,
    /// The process id that the client sends.
    pub pid: i32,
    /// The secret key that the client sends.
    pub secret: SecretKey,
}

impl Registration {
    /// From now on, and until the guard is dropped, a CancelRequest cancels `token`.
    pub fn run(&self, token: &CancellationToken) -> RunningGuard {
        *self.running.lock() = Some(token.clone());
        RunningGuard { running: Arc::clone(&self.running) }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.registry.connections.lock().remove(&self.pid);
    }
}

/// While it lives, its statement can be cancelled.
pub(crate) struct RunningGuard {
    running: RunningSlot,
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        *self.running.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use pgwire::api::DefaultClient;

    use super::*;

    #[test]
    fn only_the_right_key_cancels_and_only_what_runs() {
        let registry = Arc::new(CancelRegistry::default());
        let client = DefaultClient::<()>::new(([127, 0, 0, 1], 1).into(), false);
        let registration = registry.register(7, &client);
        let (pid, secret) = (registration.pid, registration.secret.clone());
        assert!(!registry.cancel(pid, &secret), "nothing runs");
        let token = CancellationToken::new();
        let guard = registration.run(&token);
        assert!(!registry.cancel(pid, &SecretKey::I32(1)) && !registry.cancel(pid + 1, &secret));
        assert!(!token.is_cancelled());
        assert!(registry.cancel(pid, &secret));
        assert!(token.is_cancelled());
        drop(guard);
        assert!(!registry.cancel(pid, &secret), "the statement is over");
        drop(registration);
        assert!(registry.connections.lock().is_empty());
    }
}
