//! SCRAM, TLS, refusals.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use braid_server::{ServerError, ServerOptions, TlsError, TlsFiles, serve};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_postgres::NoTls;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_util::sync::CancellationToken;

use crate::harness::{TestServer, sqlstate, text_rows};
use crate::raw_client::{RawClient, kinds};

#[tokio::test]
async fn only_the_database_that_exists_is_connected_to() {
    let server = TestServer::start().await;
    let asked = async |database: &str| {
        let mut raw = RawClient { stream: TcpStream::connect(server.address).await.unwrap() };
        raw.startup(&[("user", "tester"), ("database", database)]).await
    };
    let refused = asked("nosuch").await;
    let last = refused.last().unwrap();
    let told = |code: u8| last.field(code).unwrap_or_default();
    assert_eq!(last.kind, 'E');
    assert_eq!((told(b'S').as_str(), told(b'C').as_str()), ("FATAL", "3D000"));
    assert_eq!(told(b'M'), "database \"nosuch\" does not exist");
    // Drivers that are told no database name that of the user.
    for database in ["braid", "tester", ""] {
        assert_eq!(asked(database).await.last().unwrap().kind, 'Z', "{database:?}");
    }
}

#[tokio::test]
async fn a_password_is_asked_for_and_checked() {
    let server = TestServer::start_with(|options| options.password = Some("søsecret".into())).await;
    let (client, connection) = server.config().password("søsecret").connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    assert_eq!(text_rows(&client, "select 1").await.len(), 1);
    assert_eq!(sqlstate(server.config().password("wrong").connect(NoTls).await), "28P01");
    // Without a password the driver itself gives up.
    assert!(server.config().connect(NoTls).await.is_err());
    let mut raw = RawClient { stream: TcpStream::connect(server.address).await.unwrap() };
    raw.send_startup(3 << 16, &[("user", "tester")]).await;
    let request = raw.read().await.unwrap();
    assert_eq!((request.kind, &request.body[..]), ('R', &b"\0\0\0\x0ASCRAM-SHA-256\0\0"[..]));
    // No statement before the login.
    raw.send(b'Q', b"select 1\0").await;
    assert_eq!(raw.read().await.unwrap().field(b'C').as_deref(), Some("08P01"));
    assert!(raw.read().await.is_none());
}

#[tokio::test]
async fn each_role_has_its_own_password() {
    let server = TestServer::start_with(|options| options.password = Some("of the server".into())).await;
    let connect = async |user: &str, password: &str| {
        let (client, connection) = server.config().user(user).password(password).connect(NoTls).await?;
        tokio::spawn(connection);
        Ok::<_, tokio_postgres::Error>(client)
    };
    let admin = connect("tester", "of the server").await.unwrap();
    for sql in [
        "create role reader login password 'of reader'",
        "create role nopassword login",
        "create role nologin password 'x'",
        "create role late login password 'x' valid until '2001-01-01'",
    ] {
        admin.batch_execute(sql).await.unwrap();
    }
    let reader = connect("reader", "of reader").await.unwrap();
    assert_eq!(text_rows(&reader, "select current_user || session_user").await, [[Some("readerreader".to_owned())]]);
    assert_eq!(text_rows(&reader, "show is_superuser").await, [[Some("off".to_owned())]]);
    assert_eq!(sqlstate(connect("reader", "of the server").await), "28P01");
    assert_eq!(sqlstate(connect("tester", "of reader").await), "28P01");
    // Nobody learns which of these there are.
    for (user, password) in [("nobody", "of the server"), ("nopassword", "of the server"), ("late", "x")] {
        assert_eq!(sqlstate(connect(user, password).await), "28P01", "{user}");
    }
    assert_eq!(sqlstate(connect("nologin", "x").await), "28000");
    admin.batch_execute("alter role tester password 'own'").await.unwrap();
    assert_eq!(sqlstate(connect("tester", "of the server").await), "28P01");
    assert!(connect("tester", "own").await.is_ok());
}

#[tokio::test]
async fn a_server_without_a_password_asks_only_roles_that_have_one() {
    let server = TestServer::start().await;
    let connect = async |user: &str, password: Option<&str>| {
        let mut config = server.config();
        config.user(user);
        if let Some(password) = password {
            config.password(password);
        }
        let (client, connection) = config.connect(NoTls).await?;
        tokio::spawn(connection);
        Ok::<_, tokio_postgres::Error>(client)
    };
    let admin = connect("tester", None).await.unwrap();
    admin.batch_execute("create role reader login password 'secret'").await.unwrap();
    admin.batch_execute("create role nopassword login").await.unwrap();
    assert!(connect("nopassword", None).await.is_ok() && connect("tester", None).await.is_ok());
    assert!(connect("reader", Some("secret")).await.is_ok());
    assert_eq!(sqlstate(connect("reader", Some("wrong")).await), "28P01");
    assert_eq!(sqlstate(connect("nobody", None).await), "28000");
    admin.batch_execute("revoke connect on database braid from public").await.unwrap();
    assert_eq!(sqlstate(connect("nopassword", None).await), "42501");
}

#[tokio::test]
async fn scram_messages_that_lie_are_refused() {
    let server = TestServer::start_with(|options| options.password = Some("secret".into())).await;
    for body in [
        &b"SCRAM-SHA-256"[..],
        b"MD5\0\0\0\0\0",
        b"SCRAM-SHA-256\0\0\0\0\x05n,,n=",
        b"SCRAM-SHA-256\0\xFF\xFF\xFF\xFF",
        b"SCRAM-SHA-256\0\x7F\xFF\xFF\xFFn,,n=,r=x",
        b"SCRAM-SHA-256-PLUS\0\0\0\0\x0Cp=x,,n=,r=xy",
        b"SCRAM-SHA-256\0\0\0\0\x0Bp=x,,n=,r=x",
    ] {
        let mut raw = RawClient { stream: TcpStream::connect(server.address).await.unwrap() };
        raw.send_startup(3 << 16, &[("user", "tester")]).await;
        raw.read().await.unwrap();
        raw.send(b'p', body).await;
        let answer = raw.read().await.unwrap();
        assert_eq!((answer.kind, answer.field(b'S').as_deref()), ('E', Some("FATAL")), "{body:?}");
    }
    // A wrong proof of the right form.
    let mut raw = RawClient { stream: TcpStream::connect(server.address).await.unwrap() };
    raw.send_startup(3 << 16, &[("user", "tester")]).await;
    raw.read().await.unwrap();
    raw.send(b'p', b"SCRAM-SHA-256\0\0\0\0\x0Bn,,n=,r=abc").await;
    let first = raw.read().await.unwrap();
    let first = String::from_utf8(first.body[4..].to_vec()).unwrap();
    let nonce = first.split(',').next().unwrap();
    raw.send(b'p', format!("c=biws,{nonce},p={}=", "A".repeat(43)).as_bytes()).await;
    assert_eq!(raw.read().await.unwrap().field(b'C').as_deref(), Some("28P01"));
}

#[tokio::test]
async fn without_a_password_only_loopback_is_served() {
    let server = TestServer::start().await;
    let start = |options| serve(Arc::clone(&server.database), options, CancellationToken::new());
    let listen = ([0, 0, 0, 0], 0).into();
    let error = start(ServerOptions { listen, ..ServerOptions::default() }).await.err().unwrap();
    assert!(matches!(error, ServerError::PasswordNeeded { .. }), "{error}");
    assert!(error.to_string().contains("BRAID_PASSWORD"));
    let options = ServerOptions { listen, password: Some(String::new()), ..ServerOptions::default() };
    assert!(matches!(start(options).await.err().unwrap(), ServerError::EmptyPassword));
    let options = ServerOptions { listen: server.address, ..ServerOptions::default() };
    let error = start(options).await.err().unwrap();
    assert!(matches!(&error, ServerError::Listen { address, .. } if *address == server.address), "{error}");
}

pub fn certificate(directory: &Path) -> TlsFiles {
    let files = TlsFiles { certificate: directory.join("server.crt"), key: directory.join("server.key") };
    let status = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
        .args([
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
            "-addext",
            "basicConstraints=CA:FALSE",
        ])
        .arg("-out")
        .arg(&files.certificate)
        .arg("-keyout")
        .arg(&files.key)
        .output()
        .unwrap();
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    files
}

fn connector(files: &TlsFiles, alpn: bool) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&files.certificate).unwrap()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    if alpn {
        config.alpn_protocols = vec![b"postgresql".to_vec()];
    }
    TlsConnector::from(Arc::new(config))
}

#[tokio::test]
async fn tls_is_offered_by_request_and_directly() {
    let directory = tempfile::tempdir().unwrap();
    let files = certificate(directory.path());
    let server = TestServer::start_with(|options| {
        options.tls = Some(files.clone());
        options.password = Some("secret".into());
    })
    .await;
    let name = ServerName::try_from("localhost").unwrap();
    for direct in [false, true] {
        let mut socket = TcpStream::connect(server.address).await.unwrap();
        if !direct {
            socket.write_all(&[0, 0, 0, 8, 4, 210, 22, 47]).await.unwrap();
            assert_eq!(socket.read_u8().await.unwrap(), b'S');
        }
        let stream = connector(&files, direct).connect(name.clone(), socket).await.unwrap();
        let mut raw = RawClient { stream };
        raw.send_startup(3 << 16, &[("user", "tester")]).await;
        let request = raw.read().await.unwrap();
        assert_eq!(&request.body[4..], b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0", "with channel binding");
    }
    // Plain connections are served as well: the client decides.
    let (client, connection) = server.config().password("secret").connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    assert_eq!(text_rows(&client, "select 1").await.len(), 1);
}

#[tokio::test]
async fn where_tls_is_required_plain_connections_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let files = certificate(directory.path());
    let server = TestServer::start_with(|options| {
        options.tls = Some(files.clone());
        options.requires_tls = true;
        options.password = Some("secret".into());
    })
    .await;
    // Before a password is asked for.
    let mut raw = RawClient { stream: TcpStream::connect(server.address).await.unwrap() };
    raw.send_startup(3 << 16, &[("user", "tester"), ("database", "braid")]).await;
    let refused = raw.read().await.unwrap();
    let told = |code: u8| refused.field(code).unwrap_or_default();
    assert_eq!((told(b'S').as_str(), told(b'C').as_str()), ("FATAL", "28000"));
    let message = "no pg_hba.conf entry for host \"127.0.0.1\", user \"tester\", database \"braid\", no encryption";
    assert_eq!(told(b'M'), message);
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    socket.write_all(&[0, 0, 0, 8, 4, 210, 22, 47]).await.unwrap();
    assert_eq!(socket.read_u8().await.unwrap(), b'S');
    let name = ServerName::try_from("localhost").unwrap();
    let mut raw = RawClient { stream: connector(&files, false).connect(name, socket).await.unwrap() };
    raw.send_startup(3 << 16, &[("user", "tester")]).await;
    assert_eq!(raw.read().await.unwrap().kind, 'R', "a password is asked for");
}

#[tokio::test]
async fn tls_is_not_required_without_a_certificate() {
    let server = TestServer::start().await;
    let listen = ([127, 0, 0, 1], 0).into();
    let options = ServerOptions { listen, requires_tls: true, ..ServerOptions::default() };
    let error = serve(Arc::clone(&server.database), options, CancellationToken::new()).await.err().unwrap();
    assert!(matches!(error, ServerError::CertificateNeeded), "{error}");
}

#[tokio::test]
async fn an_empty_password_is_cleared_and_locks_nobody_out() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    // What psql's \password sends for two empty lines.
    let verifier = "SCRAM-SHA-256$4096:MDEyMzQ1Njc4OWFiY2RlZg==$mmkwNZ9eys8fShBg9Gi0cHaAWDhEYEQs4PGPNGcYlXQ=:qj1hXa9eECTbbMf9gtR7DG8VdCLM+e8doWyKh7MSojY=";
    for password in [verifier, ""] {
        raw.query("alter role tester password 'secret'").await;
        let answers = raw.query(&format!("alter role tester password '{password}'")).await;
        let notice = answers.iter().find(|message| message.kind == 'N').unwrap();
        assert_eq!(notice.field(b'M').as_deref(), Some("empty string is not a valid password, clearing password"));
        let (client, connection) = server.config().connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        assert_eq!(text_rows(&client, "select current_user").await, [[Some("tester".to_owned())]]);
    }
}

#[tokio::test]
async fn rows_flow_over_tls() {
    let directory = tempfile::tempdir().unwrap();
    let files = certificate(directory.path());
    let server = TestServer::start_with(|options| options.tls = Some(files.clone())).await;
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    socket.write_all(&[0, 0, 0, 8, 4, 210, 22, 47]).await.unwrap();
    socket.read_u8().await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut raw = RawClient { stream: connector(&files, false).connect(name, socket).await.unwrap() };
    raw.startup(&[("user", "tester")]).await;
    let answers = raw.query("select value, 'some text' from generate_series(1, 50000) as s(value)").await;
    assert_eq!(answers.iter().filter(|m| m.kind == 'D').count(), 50_000);
    assert_eq!(kinds(&raw.query("select 1").await), "TDCZ");
}

#[tokio::test]
async fn what_is_slipped_in_before_the_handshake_is_not_executed() {
    let directory = tempfile::tempdir().unwrap();
    let files = certificate(directory.path());
    let server = TestServer::start_with(|options| options.tls = Some(files.clone())).await;
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    let startup = [&[0, 0, 0, 16, 0, 3, 0, 0][..], b"user\0x\0\0"].concat();
    socket.write_all(&[&[0, 0, 0, 8, 4, 210, 22, 47][..], &startup].concat()).await.unwrap();
    socket.read_u8().await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    assert!(connector(&files, false).connect(name, socket).await.is_err());
}

#[tokio::test]
async fn unusable_certificates_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let files = certificate(directory.path());
    let server = TestServer::start().await;
    let start = |tls| {
        let options = ServerOptions { listen: ([127, 0, 0, 1], 0).into(), tls: Some(tls), ..ServerOptions::default() };
        serve(Arc::clone(&server.database), options, CancellationToken::new())
    };
    let missing = TlsFiles { certificate: directory.path().join("nothing"), ..files.clone() };
    let error = start(missing).await.err().unwrap();
    assert!(matches!(&error, ServerError::Tls(TlsError::Unreadable { .. })), "{error}");
    let swapped = TlsFiles { certificate: files.key.clone(), key: files.certificate.clone() };
    let error = start(swapped).await.err().unwrap();
    assert!(matches!(&error, ServerError::Tls(TlsError::NoPem { .. })), "{error}");
}

#[tokio::test]
async fn settings_that_there_are_not_end_the_connection() {
    let server = TestServer::start().await;
    let refusal = async |name: &str, value: &str| {
        let mut raw = RawClient { stream: TcpStream::connect(server.address).await.unwrap() };
        let answers = raw.startup(&[("user", "tester"), (name, value)]).await;
        let last = answers.last().unwrap();
        match last.kind {
            'E' => [b'S', b'C', b'M'].map(|field| last.field(field).unwrap()).join(" "),
            kind => kind.to_string(),
        }
    };
    for (name, value, expected) in [
        ("foo", "bar", "FATAL 42704 unrecognized configuration parameter \"foo\""),
        ("options", "-c foo=bar", "FATAL 42704 unrecognized configuration parameter \"foo\""),
        ("options", "-x y", "FATAL 42601 invalid command-line argument for server process: -x"),
        ("options", "-c work_mem", "FATAL 42601 -c work_mem requires a value"),
        ("work_mem", "zzz", "FATAL 22023 invalid value for parameter \"work_mem\": \"zzz\""),
        ("server_version", "1", "FATAL 55P02 parameter \"server_version\" cannot be changed"),
        ("foo.bar", "1", "Z"),
        ("options", "-c work_mem=9MB --search_path=a", "Z"),
        ("client_encoding", "LATIN1", "Z"),
        ("_pq_.foo", "1", "Z"),
    ] {
        assert_eq!(refusal(name, value).await, expected, "{name}={value}");
    }
}
