//! Passwords: SCRAM-SHA-256 (RFC 5802, RFC 7677), with channel binding (SCRAM-SHA-256-PLUS) over TLS.
//!
//! All users share one password. Braid has no roles yet; a user is only a name that sessions show. The server does not
//! store the password. It stores the verifier that it derives at start (salt, stored key, server key), which cannot be
//! used to log in. The SCRAM exchange is pgwire's state machine.

use std::sync::Arc;

use pgwire::api::auth::sasl::scram::{
    SCRAM_ITERATIONS, ScramSecret, ScramServerAuth, ScramServerAuthWaitingForClientFinal, gen_salted_password,
    random_nonce,
};
use pgwire::api::auth::sasl::{SCRAM_SHA_256_METHOD, SCRAM_SHA_256_PLUS_METHOD};
use pgwire::error::PgWireError;

use crate::error_report::ErrorReport;

/// The verifier of the password that clients must know.
pub(crate) struct PasswordVerifier {
    salt: Vec<u8>,
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
    plain: ScramServerAuth,
    /// The verifier with the certificate's hash, for connections over TLS.
    bound: Option<ScramServerAuth>,
}

impl PasswordVerifier {
    /// Derives the verifier. `certificate_pem` enables channel binding; a certificate whose signature algorithm has no
    /// hash to bind to (Ed25519) leaves SCRAM-SHA-256 alone.
    pub fn new(password: &str, certificate_pem: Option<&[u8]>) -> Arc<Self> {
        let salt = random_nonce().into_bytes();
        let salted = gen_salted_password(password, &salt, SCRAM_ITERATIONS);
        let verifier = ScramSecret::verifier_from_salted_password(salt.clone(), salted, SCRAM_ITERATIONS);
        let ScramSecret::Verifier { stored_key, server_key, .. } = verifier else {
            unreachable!("verifier_from_salted_password answers a verifier");
        };
        let bound = certificate_pem.and_then(|pem| {
            let mut auth = ScramServerAuth::new();
            match auth.configure_certificate(pem) {
                Ok(()) => Some(auth),
                Err(error) => {
                    tracing::warn!("no channel binding with this certificate: {error}");
                    None
                }
            }
        });
        Arc::new(Self { salt, stored_key, server_key, plain: ScramServerAuth::new(), bound })
    }

    fn secret(&self) -> ScramSecret {
        ScramSecret::Verifier {
            salt: self.salt.clone(),
            iterations: SCRAM_ITERATIONS,
            stored_key: self.stored_key.clone(),
            server_key: self.server_key.clone(),
        }
    }

    /// The mechanisms to offer, best first.
    pub fn mechanisms(&self, tls: bool) -> Vec<String> {
        let plus = (tls && self.bound.is_some()).then(|| SCRAM_SHA_256_PLUS_METHOD.to_owned());
        plus.into_iter().chain([SCRAM_SHA_256_METHOD.to_owned()]).collect()
    }

    /// Answers the client's first message.
    pub fn begin(&self, tls: bool, mechanism: &str, client_first: &[u8]) -> Result<(String, Exchange), ErrorReport> {
        if !self.mechanisms(tls).iter().any(|m| m == mechanism) {
            return Err(ErrorReport::fatal("08P01", "client selected an invalid SASL authentication mechanism"));
        }
        // The mechanism's name and the client's binding flag must agree.
        if (mechanism == SCRAM_SHA_256_PLUS_METHOD) != client_first.starts_with(b"p=") {
            return Err(ErrorReport::fatal(
                "08P01",
                "malformed SCRAM message: channel binding flag and mechanism differ",
            ));
        }
        let auth = if tls { self.bound.as_ref().unwrap_or(&self.plain) } else { &self.plain };
        let (server_first, waiting) =
            auth.on_client_first_message_with_secret(client_first, self.secret()).map_err(|e| refused(&e))?;
        Ok((server_first, Exchange(waiting)))
    }
}

/// The middle of an exchange.
pub(crate) struct Exchange(ScramServerAuthWaitingForClientFinal);

impl Exchange {
    /// Checks the client's proof, and returns the server's.
    pub fn finish(self, client_final: &[u8], user: &str) -> Result<String, ErrorReport> {
        self.0.on_client_final_message(client_final).map_err(|error| match error {
            PgWireError::InvalidPassword(_) => wrong_password(user),
            other => refused(&other),
        })
    }
}

/// PostgreSQL's error for a wrong password.
fn wrong_password(user: &str) -> ErrorReport {
    ErrorReport::fatal("28P01", format!("password authentication failed for user \"{user}\""))
}

fn refused(error: &PgWireError) -> ErrorReport {
    ErrorReport::fatal("08P01", format!("malformed SCRAM message: {error}"))
}
