//! Admission: from an accepted socket to a running [`Connection`], or to a refusal.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use braid_engine::Database;
use pgwire::tokio::server::MaybeTls;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::OwnedSemaphorePermit;

use crate::authentication::{Authenticator, Proof};
use crate::cancel_registry::CancelRegistry;
use crate::connection::{Connection, Shutdown};
use crate::error_report::{ErrorReport, Severity};
use crate::startup::{Opened, Startup, authenticate, check_database, open, open_tcp};
use crate::tls::Tls;
use crate::wire::Wire;

/// Time limit of a login.
const STARTUP_TIME_MAX: Duration = Duration::from_secs(30);

/// What all connections share.
pub(crate) struct Admission {
    pub database: Arc<Database>,
    pub authenticator: Arc<Authenticator>,
    pub tls: Option<Tls>,
    /// Whether clients from the network without TLS are refused.
    pub requires_tls: bool,
    pub cancels: Arc<CancelRegistry>,
    pub shutdown: Shutdown,
}

/// Where a client comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The network, loopback included: it proves who it is.
    Network,
    /// This process, which has the data directory: it is any role that it names.
    Process,
}

/// The permit of a connection, held until the connection ends.
pub(crate) enum Place {
    /// A permit to be served.
    Seat(#[expect(dead_code, reason = "a permit is there to be held")] OwnedSemaphorePermit),
    /// A permit to get the error "too many clients", or to send a CancelRequest.
    Refusal(#[expect(dead_code, reason = "a permit is there to be held")] OwnedSemaphorePermit),
}

impl Admission {
    /// One connection from its first byte to its last.
    pub async fn connect(self: Arc<Self>, socket: TcpStream, peer: SocketAddr, place: Place) {
        // Responses are collected before they are sent, so that the delay of Nagle's algorithm has no use.
        let _ = socket.set_nodelay(true);
        let log_in = async {
            let opened = open_tcp(socket, peer, self.tls.as_ref(), &self.cancels).await;
            match &place {
                Place::Seat(_) => self.log_in(opened, Origin::Network).await,
                Place::Refusal(_) => turn_away(opened).await,
            }
        };
        let connection = tokio::select! {
            // Boxed, so that the state of the login is freed after it.
            connection = tokio::time::timeout(STARTUP_TIME_MAX, Box::pin(log_in)) => connection,
            () = self.shutdown.draining.cancelled() => return,
        };
        if let Ok(Some(connection)) = connection {
            tracing::debug!(%peer, pid = connection.registration.pid, user = connection.session.user(), "connected");
            connection.run().await;
            tracing::debug!(%peer, "disconnected");
        }
    }

    /// A connection within this process.
    pub async fn connect_local(self: Arc<Self>, socket: UnixStream) {
        let peer = SocketAddr::from(([127, 0, 0, 1], 0));
        let opened = open(Wire::new(MaybeTls::Unix(socket)), peer, None, &self.cancels).await;
        if let Some(connection) = self.log_in(opened, Origin::Process).await {
            connection.run().await;
        }
    }

    async fn log_in(&self, opened: Opened, origin: Origin) -> Option<Connection> {
        let (mut wire, startup) = match opened {
            Opened::Client(wire, startup) => (wire, startup),
            Opened::Closed => return None,
            Opened::Refused(wire, report) => return refuse(wire, &report).await,
        };
        let Startup { user, database, settings, client } = *startup;
        if let Err(report) = self.check_encryption(&wire, (&user, &database), client.socket_addr, origin) {
            tracing::info!(peer = %client.socket_addr, user, "refused: {}", report.message);
            return refuse(wire, &report).await;
        }
        let proof = match origin {
            Origin::Network => self.authenticator.proof_of(&self.database.login_password(&user)),
            Origin::Process => Proof::None,
        };
        match authenticate(&mut wire, &self.authenticator, (&user, proof)).await {
            Ok(()) => {}
            Err(None) => return None,
            Err(Some(report)) => {
                tracing::info!(peer = %client.socket_addr, user, "refused: {}", report.message);
                return refuse(wire, &report).await;
            }
        }
        if let Err(report) = check_database(&database, &user, &self.database.config().database_name) {
            return refuse(wire, &report).await;
        }
        let checked = match origin {
            Origin::Network => self.database.check_login(&user),
            Origin::Process => self.database.check_local_login(&user),
        };
        if let Err(error) = checked {
            tracing::info!(peer = %client.socket_addr, user, "refused: {}", error.message());
            return refuse(wire, &ErrorReport::from(error).with_severity(Severity::Fatal)).await;
        }
        let session = self.database.session(&user);
        // As PostgreSQL shows a local socket.
        session.set_client_port(match client.socket_addr.port() {
            0 => -1,
            port => i32::from(port),
        });
        if let Some(encryption) = wire.encryption() {
            session.set_encryption(encryption);
        }
        let registration = self.cancels.register(session.id(), &client);
        let mut connection = Connection::new(wire, session, registration, self.shutdown.clone());
        match connection.greet(&settings) {
            Ok(()) => Some(connection),
            Err(report) => {
                tracing::info!(peer = %client.socket_addr, user, "refused: {}", report.message);
                refuse(connection.wire, &report).await
            }
        }
    }

    /// Refuses a client without TLS if the server requires TLS, as PostgreSQL does whose `pg_hba.conf` has `hostssl` lines alone.
    fn check_encryption(
        &self,
        wire: &Wire,
        (user, database): (&str, &str),
        peer: SocketAddr,
        origin: Origin,
    ) -> Result<(), ErrorReport> {
        if origin == Origin::Process || !self.requires_tls || wire.is_tls() {
            return Ok(());
        }
        let host = peer.ip();
        let message = format!(
            "no pg_hba.conf entry for host \"{host}\", user \"{user}\", database \"{database}\", no encryption"
        );
        Err(ErrorReport::fatal("28000", message).with_hint("This server requires TLS: connect with sslmode=require."))
    }
}

/// Answers a client for whom there is no seat.
async fn turn_away(opened: Opened) -> Option<Connection> {
    match opened {
        Opened::Client(wire, _) => refuse(wire, &ErrorReport::fatal("53300", "sorry, too many clients already")).await,
        Opened::Closed => None,
        Opened::Refused(wire, report) => refuse(wire, &report).await,
    }
}

async fn refuse(mut wire: Wire, report: &ErrorReport) -> Option<Connection> {
    wire.put(&report.message());
    wire.close().await;
    None
}
