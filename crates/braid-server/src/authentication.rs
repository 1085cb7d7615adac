//! Passwords: SCRAM-SHA-256 (RFC 5802, RFC 7677), with channel binding (SCRAM-SHA-256-PLUS) over TLS.
//!
//! A role with a password of its own proves that one. The server may have one, too, which the bootstrap superuser proves as long as its role
//! has none; roles without a password are not let in then, as if theirs were wrong. The server does not store passwords. It stores what they
//! are verified with (salt, iterations, stored key, server key), which cannot be used to log in. The SCRAM exchange is pgwire's state machine.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use braid_engine::LoginPassword;
use pgwire::api::auth::sasl::scram::{
    SCRAM_ITERATIONS, ScramSecret, ScramServerAuth, ScramServerAuthWaitingForClientFinal, gen_salted_password,
    random_nonce,
};
use pgwire::api::auth::sasl::{SCRAM_SHA_256_METHOD, SCRAM_SHA_256_PLUS_METHOD};
use pgwire::error::PgWireError;

use crate::error_report::ErrorReport;

/// How a password in PostgreSQL's form begins.
const SCRAM_PREFIX: &str = "SCRAM-SHA-256$";

/// What a password is verified with.
#[derive(Clone, Debug)]
pub(crate) struct Verifier {
    salt: Vec<u8>,
    iterations: usize,
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
}

impl Verifier {
    /// That of a password.
    pub fn of_password(password: &str) -> Self {
        let salt = random_nonce().into_bytes();
        let salted = gen_salted_password(password, &salt, SCRAM_ITERATIONS);
        let verifier = ScramSecret::verifier_from_salted_password(salt.clone(), salted, SCRAM_ITERATIONS);
        let ScramSecret::Verifier { stored_key, server_key, .. } = verifier else {
            unreachable!("verifier_from_salted_password answers a verifier");
        };
        Self { salt, iterations: SCRAM_ITERATIONS, stored_key, server_key }
    }

    /// One in PostgreSQL's form, `SCRAM-SHA-256$iterations:salt$stored key:server key`; `None` if it is none.
    pub fn read(text: &str) -> Option<Self> {
        let (first, keys) = text.strip_prefix(SCRAM_PREFIX)?.split_once('$')?;
        let ((iterations, salt), (stored_key, server_key)) = (first.split_once(':')?, keys.split_once(':')?);
        let decode = |text: &str| BASE64_STANDARD.decode(text).ok();
        Some(Self {
            salt: decode(salt)?,
            iterations: iterations.parse().ok()?,
            stored_key: decode(stored_key)?,
            server_key: decode(server_key)?,
        })
    }

    fn secret(&self) -> ScramSecret {
        let Self { salt, iterations, stored_key, server_key } = self.clone();
        ScramSecret::Verifier { salt, iterations, stored_key, server_key }
    }
}

/// What a client that logs in must prove.
#[derive(Clone, Debug)]
pub(crate) enum Proof {
    /// Nothing.
    None,
    /// The password that is verified so.
    Password(Verifier),
    /// A password that it cannot know: its user has none.
    Impossible,
}

/// The server's part in logins.
pub(crate) struct Authenticator {
    /// Verifies the server's own password, if it has one.
    of_server: Option<Verifier>,
    /// Verifies a password that nobody knows.
    of_nobody: Verifier,
    plain: ScramServerAuth,
    /// With the certificate's hash, for connections over TLS.
    bound: Option<ScramServerAuth>,
}

impl Authenticator {
    /// That of a server with this password. `certificate_pem` enables channel binding; a certificate whose signature algorithm has no
    /// hash to bind to (Ed25519) leaves SCRAM-SHA-256 alone.
    pub fn new(password: Option<&str>, certificate_pem: Option<&[u8]>) -> Arc<Self> {
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
        let of_server = password.map(Verifier::of_password);
        let of_nobody = Verifier::of_password(&random_nonce());
        Arc::new(Self { of_server, of_nobody, plain: ScramServerAuth::new(), bound })
    }

    /// What the exchange with a client verifies; `None` if there is none. Who has no password is asked for one nevertheless, so that nobody
    /// learns which users there are.
    pub fn verifier_of<'a>(&'a self, proof: &'a Proof) -> Option<&'a Verifier> {
        match proof {
            Proof::None => None,
            Proof::Password(verifier) => Some(verifier),
            Proof::Impossible => Some(&self.of_nobody),
        }
    }

    /// What a user must prove.
    pub fn proof_of(&self, password: &LoginPassword) -> Proof {
        match (password, &self.of_server) {
            (LoginPassword::Own(verifier), _) => Verifier::read(verifier).map_or(Proof::Impossible, Proof::Password),
            (LoginPassword::OfServer, Some(own)) => Proof::Password(own.clone()),
            (LoginPassword::Invalid, _) | (LoginPassword::None, Some(_)) => Proof::Impossible,
            (LoginPassword::OfServer | LoginPassword::None, None) => Proof::None,
        }
    }

    /// The mechanisms to offer, best first.
    pub fn mechanisms(&self, tls: bool) -> Vec<String> {
        let plus = (tls && self.bound.is_some()).then(|| SCRAM_SHA_256_PLUS_METHOD.to_owned());
        plus.into_iter().chain([SCRAM_SHA_256_METHOD.to_owned()]).collect()
    }

    /// Answers the client's first message.
    pub fn begin(
        &self,
        tls: bool,
        verifier: &Verifier,
        (mechanism, client_first): (&str, &[u8]),
    ) -> Result<(String, Exchange), ErrorReport> {
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
            auth.on_client_first_message_with_secret(client_first, verifier.secret()).map_err(|e| refused(&e))?;
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
