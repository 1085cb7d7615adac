//! The interface through which a caller provides running servers, because this crate is below the server and must not know how
//! one is built.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Child;
use std::sync::Arc;

use braid_base::ByteSize;
use braid_engine::Database;
use futures::future::BoxFuture;

use crate::error::BoxError;

/// A server that listens on a free port of the loopback interface, on the database it was started with.
pub struct RunningServer {
    /// Its address. It accepts user `braid`, any database name, and no password.
    pub address: SocketAddr,
    /// Stops the server when awaited: closes every connection, and returns when the port is free. The database stays open.
    pub stop: BoxFuture<'static, ()>,
}

/// Starts a server in this process on a database that is already open.
pub type ServerStarter = dyn Fn(Arc<Database>) -> BoxFuture<'static, Result<RunningServer, BoxError>> + Send + Sync;

/// A server in a separate process, which is killed on drop.
pub struct ServerProcess {
    /// Its address. It accepts user `braid` and any database name.
    pub address: SocketAddr,
    /// The password of clients, if they need one.
    pub password: Option<String>,
    /// The process.
    pub child: Child,
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The process may have ended already. A clean end is not needed after the measurement.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How clients log in to a server process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Login {
    /// With a password, as on a network. It costs milliseconds on both sides.
    Password,
    /// Without one, as on the loopback interface, where many clients connect before a measurement.
    Trusted,
}

/// Starts a server process with a buffer, on a data directory that is not open. Returns when the server answers.
pub type ProcessStarter =
    dyn Fn(&Path, ByteSize, Login) -> BoxFuture<'static, Result<ServerProcess, BoxError>> + Send + Sync;

/// The starters of servers.
pub struct Servers {
    /// Starts a server within this process.
    pub in_process: Box<ServerStarter>,
    /// Starts a server in a separate process.
    pub own_process: Box<ProcessStarter>,
}
