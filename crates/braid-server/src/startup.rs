//! From an accepted socket to a client that may send statements: TLS, startup packet, authentication, parameters.
//!
//! The first eight bytes determine the packet, which has no type byte:
//!
//! | second word | meaning |
//! |---|---|
//! | 80877103 | SSLRequest: answered `S` (and TLS starts) or `N` |
//! | 80877104 | GSSENCRequest: answered `N` |
//! | 80877102 | CancelRequest: process id, secret key; no answer |
//! | 3 << 16 and minor | StartupMessage: pairs of strings, ended by an empty one |
//!
//! A first byte 0x16 starts a TLS handshake without a request (PostgreSQL 17's direct negotiation), which must name the
//! protocol by ALPN. Requests are read to the exact byte. Plain text injected after an SSLRequest therefore becomes part of
//! the handshake and makes it fail; it never becomes a statement of the encrypted session (CVE-2021-23214).

use std::collections::BTreeMap;
use std::net::SocketAddr;

use braid_engine::Encoding;
use bytes::{Buf, Bytes};
use pgwire::api::{ClientInfo, DefaultClient};
use pgwire::messages::startup::{Authentication, NegotiateProtocolVersion, SecretKey};
use pgwire::messages::{PgWireBackendMessage, ProtocolVersion};
use pgwire::tokio::server::MaybeTls;
use tokio::net::TcpStream;

use crate::authentication::{Authenticator, Proof};
use crate::cancel_registry::CancelRegistry;
use crate::error_report::{ErrorReport, Severity};
use crate::frontend_message::{Body, FrontendMessage, SMALL_MESSAGE_BYTES_MAX, decode, decode_sasl_initial};
use crate::tls::{POSTGRESQL_ALPN, Tls};
use crate::wire::{Received, Wire};

const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;

/// The newest supported minor version of protocol 3, which has long secret keys.
const MINOR_VERSION_MAX: u16 = 2;

/// The contents of a startup packet.
pub(crate) struct Startup {
    pub user: String,
    /// The database that it names, or else the user's name, as in PostgreSQL.
    pub database: String,
    /// Everything else that is a setting: `application_name`, `TimeZone`, …
    pub settings: Vec<(String, String)>,
    /// pgwire's view of the client: its protocol version decides the length of its secret key.
    pub client: DefaultClient<()>,
}

/// The kind of a new connection.
pub(crate) enum Opened {
    /// A client whose startup packet has not been answered yet.
    Client(Wire, Box<Startup>),
    /// A finished CancelRequest, or a peer that disconnected or cannot be reached.
    Closed,
    /// A client that gets an error.
    Refused(Wire, ErrorReport),
}

/// Reads what comes before and with the startup packet of a TCP client, which may start with TLS at once.
pub(crate) async fn open_tcp(
    socket: TcpStream,
    peer: SocketAddr,
    tls: Option<&Tls>,
    cancels: &CancelRegistry,
) -> Opened {
    let mut first = [0_u8; 1];
    let direct = matches!(socket.peek(&mut first).await, Ok(1)) && first[0] == 0x16;
    let wire = Wire::new(MaybeTls::Plain(socket));
    if !direct {
        return open(wire, peer, tls, cancels).await;
    }
    match start_tls(wire, tls).await {
        Some(encrypted) if negotiated_alpn(&encrypted) => open(Wire::new(encrypted), peer, tls, cancels).await,
        _ => Opened::Closed,
    }
}

/// Reads what comes before and with the startup packet.
pub(crate) async fn open(mut wire: Wire, peer: SocketAddr, tls: Option<&Tls>, cancels: &CancelRegistry) -> Opened {
    // Each request is allowed once; a client that repeats it is disconnected.
    for _ in 0..4 {
        let Some(mut head) = wire.receive_exact(8).await else {
            return Opened::Closed;
        };
        let (length, code) = (head.get_u32() as usize, head.get_u32());
        if !(8..=SMALL_MESSAGE_BYTES_MAX).contains(&length) {
            return Opened::Refused(wire, ErrorReport::fatal("08P01", "invalid length of startup packet"));
        }
        let Some(body) = wire.receive_exact(length - 8).await else {
            return Opened::Closed;
        };
        match code {
            SSL_REQUEST => match (tls, wire.is_tls()) {
                (Some(_), false) => {
                    wire.output().push(b'S');
                    if wire.flush().await.is_err() {
                        return Opened::Closed;
                    }
                    match start_tls(wire, tls).await {
                        Some(encrypted) => wire = Wire::new(encrypted),
                        None => return Opened::Closed,
                    }
                }
                _ => wire.output().push(b'N'),
            },
            GSS_REQUEST => wire.output().push(b'N'),
            CANCEL_REQUEST => {
                cancel(body, cancels);
                return Opened::Closed;
            }
            version => {
                return match read_startup(version, body, peer, &mut wire) {
                    Ok(startup) => Opened::Client(wire, Box::new(startup)),
                    Err(report) => Opened::Refused(wire, report),
                };
            }
        }
        if wire.flush().await.is_err() {
            return Opened::Closed;
        }
    }
    Opened::Closed
}

async fn start_tls(wire: Wire, tls: Option<&Tls>) -> Option<MaybeTls> {
    let MaybeTls::Plain(socket) = wire.into_socket().ok()? else {
        return None;
    };
    match tls?.acceptor.accept(socket).await {
        Ok(encrypted) => Some(MaybeTls::Tls(Box::new(encrypted))),
        Err(error) => {
            tracing::debug!("TLS handshake: {error}");
            None
        }
    }
}

fn negotiated_alpn(socket: &MaybeTls) -> bool {
    match socket {
        MaybeTls::Tls(stream) => stream.get_ref().1.alpn_protocol() == Some(POSTGRESQL_ALPN),
        _ => false,
    }
}

/// CancelRequest: process id, then the secret key up to the end.
fn cancel(mut body: Bytes, cancels: &CancelRegistry) {
    // Keys have 4 to 256 bytes.
    if (8..=260).contains(&body.len()) {
        let pid = body.get_i32();
        let hit = cancels.cancel(pid, &SecretKey::Bytes(body));
        tracing::debug!(pid, hit, "cancel request");
    }
}

/// StartupMessage. A newer minor version, and protocol options, are negotiated down.
fn read_startup(version: u32, body: Bytes, peer: SocketAddr, wire: &mut Wire) -> Result<Startup, ErrorReport> {
    let (major, minor) = ((version >> 16) as u16, version as u16);
    if major != 3 {
        let message =
            format!("unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.{MINOR_VERSION_MAX}");
        return Err(ErrorReport::fatal("0A000", message));
    }
    let mut parameters = BTreeMap::new();
    // The client says its encoding in here.
    let mut body = Body::new(body, Encoding::UTF8);
    loop {
        let name = body.string().map_err(fatal)?;
        if name.is_empty() {
            break;
        }
        parameters.insert(name, body.string().map_err(fatal)?);
    }
    let mut client = DefaultClient::new(peer, wire.is_tls());
    let long_keys = minor >= MINOR_VERSION_MAX;
    client.set_protocol_version(if long_keys { ProtocolVersion::PROTOCOL3_2 } else { ProtocolVersion::PROTOCOL3_0 });
    let options: Vec<String> = parameters.keys().filter(|name| name.starts_with("_pq_.")).cloned().collect();
    if minor > MINOR_VERSION_MAX || !options.is_empty() {
        let newest = i32::from(minor.min(MINOR_VERSION_MAX)) | 3 << 16;
        wire.put(&PgWireBackendMessage::NegotiateProtocolVersion(NegotiateProtocolVersion::new(newest, options)));
    }
    if parameters.get("replication").is_some_and(|v| !["false", "off", "no", "0"].contains(&v.as_str())) {
        return Err(ErrorReport::fatal("0A000", "replication connections are not supported"));
    }
    let user = parameters.remove("user").filter(|user| !user.is_empty());
    let user =
        user.ok_or_else(|| ErrorReport::fatal("28000", "no PostgreSQL user name specified in startup packet"))?;
    let database = parameters.remove("database").filter(|database| !database.is_empty());
    let database = database.unwrap_or_else(|| user.clone());
    let mut settings = command_line_settings(&parameters.remove("options").unwrap_or_default())?;
    let is_setting = |name: &str| !name.starts_with("_pq_.") && name != "replication";
    settings.extend(parameters.into_iter().filter(|(name, _)| is_setting(name)));
    Ok(Startup { user, database, settings, client })
}

fn fatal(report: ErrorReport) -> ErrorReport {
    report.with_severity(Severity::Fatal)
}

/// `options=-c name=value --name=value`, where a backslash keeps the next character.
///
/// # Errors
/// FATAL for another option, and for one without a value.
fn command_line_settings(options: &str) -> Result<Vec<(String, String)>, ErrorReport> {
    let mut words = vec![String::new()];
    let mut characters = options.chars();
    while let Some(c) = characters.next() {
        let word = words.last_mut().expect("there is always a word");
        match c {
            '\\' => word.extend(characters.next()),
            c if c.is_ascii_whitespace() => words.push(String::new()),
            c => word.push(c),
        }
    }
    let mut settings = Vec::new();
    let mut words = words.into_iter().filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        let (option, assignment) = match word.strip_prefix("--") {
            Some(assignment) => ("--", Some(assignment.to_owned())),
            None if word == "-c" => ("-c ", words.next()),
            None => ("-c ", word.strip_prefix("-c").map(str::to_owned)),
        };
        let Some(assignment) = assignment else {
            let message = format!("invalid command-line argument for server process: {word}");
            let hint = "Settings are -c name=value or --name=value.";
            return Err(ErrorReport::fatal("42601", message).with_hint(hint));
        };
        let Some((name, value)) = assignment.split_once('=') else {
            return Err(ErrorReport::fatal("42601", format!("{option}{assignment} requires a value")));
        };
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
}

/// Authenticates the client, if it has to prove a password. The response to a correct proof is only added to the output.
pub(crate) async fn authenticate(
    wire: &mut Wire,
    authenticator: &Authenticator,
    (user, proof): (&str, Proof),
) -> Result<(), Option<ErrorReport>> {
    if let Some(verifier) = authenticator.verifier_of(&proof) {
        let tls = wire.is_tls();
        let mechanisms = authenticator.mechanisms(tls);
        wire.put(&PgWireBackendMessage::Authentication(Authentication::SASL(mechanisms)));
        let (mechanism, client_first) = decode_sasl_initial(password_message(wire).await?).map_err(fatal)?;
        let (server_first, exchange) = authenticator.begin(tls, verifier, (&mechanism, &client_first))?;
        wire.put(&PgWireBackendMessage::Authentication(Authentication::SASLContinue(server_first.into())));
        let server_final = exchange.finish(&password_message(wire).await?, user)?;
        wire.put(&PgWireBackendMessage::Authentication(Authentication::SASLFinal(server_final.into())));
    }
    wire.put(&PgWireBackendMessage::Authentication(Authentication::Ok));
    Ok(())
}

/// Refuses a client that asks for a database that does not exist. Drivers that are told none ask for that of the user's name, which
/// means the one database.
pub(crate) fn check_database(asked: &str, user: &str, existing: &str) -> Result<(), ErrorReport> {
    if asked == existing || asked == user {
        return Ok(());
    }
    Err(ErrorReport::fatal("3D000", format!("database \"{asked}\" does not exist")))
}

/// Sends the output and waits for the next password message; `Err(None)` if the client disconnected.
async fn password_message(wire: &mut Wire) -> Result<Bytes, Option<ErrorReport>> {
    wire.flush().await.map_err(|_| None)?;
    // A message of another type, or one longer than a proof, ends the authentication.
    match wire.receive_bounded(SMALL_MESSAGE_BYTES_MAX).await.map_err(Some)? {
        Received::End => Err(None),
        Received::Frame(kind, body) => match decode(kind, body, Encoding::UTF8).map_err(Some)? {
            FrontendMessage::Password(body) => Ok(body),
            FrontendMessage::Terminate => Err(None),
            _ => Err(Some(ErrorReport::fatal("08P01", "expected SASL response"))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_postgresql_reads_them() {
        let settings = |text: &str| {
            let read = command_line_settings(text).map_err(|report| report.message.to_string())?;
            Ok::<_, String>(read.into_iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>().join(" "))
        };
        for (text, expected) in [
            ("-c a=1 -cb=2 --c-d=3", Ok("a=1 b=2 c_d=3")),
            (r"-c search_path=a,\ b", Ok("search_path=a, b")),
            ("", Ok("")),
            ("-c", Err("invalid command-line argument for server process: -c")),
            ("-x y", Err("invalid command-line argument for server process: -x")),
            ("bogus", Err("invalid command-line argument for server process: bogus")),
            ("-c work_mem", Err("-c work_mem requires a value")),
            ("--foo", Err("--foo requires a value")),
        ] {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(settings(text), expected, "{text}");
        }
    }
}
