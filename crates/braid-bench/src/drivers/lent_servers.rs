//! How a caller lends running servers: this crate lies below the server and must not know how one is built.

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
    /// Where it listens. It takes user `braid`, any database name, no password.
    pub address: SocketAddr,
    /// Awaited, it closes every connection and returns once the port is free. The database stays open.
    pub stop: BoxFuture<'static, ()>,
}

/// Starts a server in this process on a database that is already open.
pub type ServerStarter = dyn Fn(Arc<Database>) -> BoxFuture<'static, Result<RunningServer, BoxError>> + Send + Sync;

/// A server in a process of its own, whose memory is the server's alone. Killed when dropped.
pub struct ServerProcess {
    /// Where it listens. It takes user `braid` and any database name.
    pub address: SocketAddr,
    /// What clients must know.
    pub password: String,
    /// The process.
    pub child: Child,
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It may have ended by itself; and nothing that was measured needs a tidy end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server process on a data directory that nobody has open, with a buffer; ready when it answers.
pub type ProcessStarter = dyn Fn(&Path, ByteSize) -> BoxFuture<'static, Result<ServerProcess, BoxError>> + Send + Sync;

/// The ways to a server.
pub struct Servers {
    /// Within this process.
    pub in_process: Box<ServerStarter>,
    /// In a process of its own.
    pub own_process: Box<ProcessStarter>,
}
