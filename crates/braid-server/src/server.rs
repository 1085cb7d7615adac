//! The server: options, listener, connections and shutdown.
//!
//! A shutdown has three steps. Cancelling the shutdown token stops accepting connections and closes idle ones (57P01).
//! Running statements may finish within [`ServerOptions::grace`], and are then cancelled. Statements that have not
//! ended shortly after that are abandoned. [`RunningServer::force`] skips the wait.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use braid_engine::Database;
use tokio::net::{TcpListener, TcpSocket, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::admission::{Admission, Place};
use crate::authentication::Authenticator;
use crate::cancel_registry::CancelRegistry;
use crate::connection::Shutdown;
use crate::idle_memory::give_back_when_idle;
use crate::tls::{Tls, TlsError, TlsFiles};

/// Connections beyond the limit that get an error at the same time (and may send a CancelRequest); others are dropped.
const REFUSALS_MAX: usize = 64;

/// Connections that the kernel completes before they are accepted.
const BACKLOG: u32 = 1024;

/// Time that cancelled statements have to end.
const FORCED_TIME_MAX: Duration = Duration::from_secs(2);

/// The options of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Address to listen on; port 0 selects a free port.
    pub listen: SocketAddr,
    /// The password of clients; without one only a loopback address is allowed.
    pub password: Option<String>,
    /// Certificate and key; without them connections are not encrypted.
    pub tls: Option<TlsFiles>,
    /// Whether clients without TLS are refused, also those of this machine. Needs [`Self::tls`].
    pub requires_tls: bool,
    /// Maximum number of connected clients.
    pub connections_max: usize,
    /// Time that running statements have to finish during a shutdown.
    pub grace: Duration,
    /// Gives memory that the calling thread's heap keeps without using it back to the operating system. The allocator belongs to the
    /// program, so that the server does not know one of its own. It calls this while no statement runs, on each of its threads.
    /// Without it freed memory stays with the allocator.
    pub give_back_memory: Option<fn()>,
}

impl Default for ServerOptions {
    /// PostgreSQL's port on the loopback interface, no password, no TLS, 2000 connections, 10 s, nothing to give memory back.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 5432)),
            password: None,
            tls: None,
            requires_tls: false,
            connections_max: 2000,
            grace: Duration::from_secs(10),
            give_back_memory: None,
        }
    }
}

/// The error of a server that cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address is reachable from the network, and there is no password.
    #[error(
        "cannot listen on {address} without a password: only loopback addresses are allowed without one (set a password \
         with --password-file FILE or the environment variable BRAID_PASSWORD)"
    )]
    PasswordNeeded {
        /// The requested address.
        address: SocketAddr,
    },
    /// The password is empty.
    #[error("the password is empty")]
    EmptyPassword,
    /// TLS is required of clients, and the server has no certificate.
    #[error("TLS cannot be required without a certificate: set --tls-cert FILE and --tls-key FILE")]
    CertificateNeeded,
    /// The operating system refuses the address.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// What was asked for.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// The certificate or its key.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// A running server. It stops when the shutdown token is cancelled, not when this is dropped.
pub struct RunningServer {
    /// The address that it listens on, with the actual port.
    pub address: SocketAddr,
    shutdown: Shutdown,
    accepting: JoinHandle<()>,
}

impl RunningServer {
    /// Waits until the server has stopped. The shutdown token starts the shutdown.
    pub async fn stopped(self) {
        // A panic of the accept loop is a stop as well; it was logged by the runtime's hook.
        let _ = self.accepting.await;
    }

    /// Cancelling this token during a shutdown cancels running statements at once.
    pub fn force(&self) -> CancellationToken {
        self.shutdown.forced.clone()
    }
}

/// Starts a server on `database`. The server accepts connections from the return of this function until `shutdown` is
/// cancelled.
pub async fn serve(
    database: Arc<Database>,
    options: ServerOptions,
    shutdown: CancellationToken,
) -> Result<RunningServer, ServerError> {
    match &options.password {
        None if !options.listen.ip().is_loopback() => {
            return Err(ServerError::PasswordNeeded { address: options.listen });
        }
        Some(password) if password.is_empty() => return Err(ServerError::EmptyPassword),
        _ => {}
    }
    if options.requires_tls && options.tls.is_none() {
        return Err(ServerError::CertificateNeeded);
    }
    let tls = options.tls.as_ref().map(Tls::load).transpose()?;
    let certificate = tls.as_ref().map(|tls| tls.certificate_pem.as_slice());
    let authenticator = Authenticator::new(options.password.as_deref(), certificate);
    let listen_error = |source| ServerError::Listen { address: options.listen, source };
    let listener = listen(options.listen).map_err(listen_error)?;
    let address = listener.local_addr().map_err(listen_error)?;
    let shutdown = Shutdown { draining: shutdown, forced: CancellationToken::new() };
    let cancels = Arc::new(CancelRegistry::default());
    let requires_tls = options.requires_tls;
    let admission =
        Arc::new(Admission { database, authenticator, tls, requires_tls, cancels, shutdown: shutdown.clone() });
    if let Some(give_back) = options.give_back_memory {
        tokio::spawn(give_back_when_idle(Arc::downgrade(&admission.database), give_back, shutdown.draining.clone()));
    }
    let accepting = tokio::spawn(accept(listener, admission, options.connections_max, options.grace));
    Ok(RunningServer { address, shutdown, accepting })
}

/// Serves one client within this process, over a private pair of sockets without a port or a login: it is any role that it names. The
/// client uses the returned socket; dropping it closes the connection.
pub fn serve_local(database: Arc<Database>) -> std::io::Result<UnixStream> {
    let (client, server) = UnixStream::pair()?;
    let (cancels, shutdown) = (Arc::new(CancelRegistry::default()), Shutdown::default());
    let authenticator = Authenticator::new(None, None);
    let admission = Arc::new(Admission { database, authenticator, tls: None, requires_tls: false, cancels, shutdown });
    tokio::spawn(admission.connect_local(server));
    Ok(client)
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    // Accepted sockets inherit keep-alive, which detects a client whose machine has failed.
    socket.set_keepalive(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// The accept loop and the shutdown.
async fn accept(listener: TcpListener, admission: Arc<Admission>, connections_max: usize, grace: Duration) {
    let places = Arc::new(Semaphore::new(connections_max));
    let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = admission.shutdown.draining.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (socket, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Usually the process is out of file descriptors. A connection must close before another is accepted.
                tracing::warn!("cannot accept a connection: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            connections.spawn(Arc::clone(&admission).connect(socket, peer, Place::Seat(place)));
        } else if let Ok(place) = Arc::clone(&refusals).try_acquire_owned() {
            connections.spawn(Arc::clone(&admission).connect(socket, peer, Place::Refusal(place)));
        }
    }
    drop(listener);
    connections.close();
    let finished = tokio::select! {
        () = connections.wait() => true,
        () = tokio::time::sleep(grace) => false,
        () = admission.shutdown.forced.cancelled() => false,
    };
    if !finished {
        admission.shutdown.forced.cancel();
        if tokio::time::timeout(FORCED_TIME_MAX, connections.wait()).await.is_err() {
            tracing::warn!("{} connections did not close within the grace period", connections.len());
        }
    }
}
