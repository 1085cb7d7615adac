//! How a caller lends a running server: this crate lies below the server and must not know how one is built.

use std::net::SocketAddr;
use std::sync::Arc;

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
