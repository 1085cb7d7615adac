//! The server's certificate and key, from PEM files as `openssl` writes them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// The ALPN protocol name of clients that start with TLS at once.
pub(crate) const POSTGRESQL_ALPN: &[u8] = b"postgresql";

/// A certificate chain with its key.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate, and those between it and a root that clients know, in PEM.
    pub certificate: PathBuf,
    /// The certificate's private key, in PEM.
    pub key: PathBuf,
}

/// The error of invalid TLS files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file that cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file without the required contents.
    #[error("{path} contains no {what} in PEM format")]
    NoPem {
        /// Which.
        path: PathBuf,
        /// The missing contents.
        what: &'static str,
    },
    /// A pair that rustls does not accept: the key of another certificate, for example.
    #[error("certificate {certificate} and key {key} cannot be used: {source}")]
    Unusable {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// Why.
        source: tokio_rustls::rustls::Error,
    },
}

/// The server's TLS configuration.
pub(crate) struct Tls {
    pub acceptor: TlsAcceptor,
    pub certificate_pem: Vec<u8>,
}

impl Tls {
    /// Reads the files.
    pub fn load(files: &TlsFiles) -> Result<Self, TlsError> {
        let certificate_pem = read(&files.certificate)?;
        let no_pem = |path: &Path, what| TlsError::NoPem { path: path.to_owned(), what };
        let chain = CertificateDer::pem_slice_iter(&certificate_pem)
            .collect::<Result<Vec<_>, _>>()
            .ok()
            .filter(|chain| !chain.is_empty())
            .ok_or_else(|| no_pem(&files.certificate, "certificate"))?;
        let key = PrivateKeyDer::from_pem_slice(&read(&files.key)?).map_err(|_| no_pem(&files.key, "private key"))?;
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let unusable =
            |source| TlsError::Unusable { certificate: files.certificate.clone(), key: files.key.clone(), source };
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(unusable)?;
        config.alpn_protocols = vec![POSTGRESQL_ALPN.to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), certificate_pem })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::Unreadable { path: path.to_owned(), source })
}
