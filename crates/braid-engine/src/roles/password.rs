//! What passwords are verified with: SCRAM-SHA-256 (RFC 5802, RFC 7677), in the form in which PostgreSQL keeps it.
//!
//! An empty password is none, whether it comes as text or as a verifier of the empty text (psql's `\password` sends one): no client logs in
//! with an empty password, so that its role would be locked out. A verifier is that of the empty password if the server key made of that
//! password, the verifier's salt and its iterations is the verifier's:
//!
//! ```text
//! SaltedPassword = PBKDF2(HMAC-SHA-256, password, salt, iterations)        ServerKey = HMAC(SaltedPassword, "Server Key")
//! ```

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use postgres_protocol::password::scram_sha_256;
use sha2::Sha256;

use crate::{EngineError, SqlState};

/// How a verifier begins.
const SCRAM: &str = "SCRAM-SHA-256$";

/// The hexadecimal digits of an MD5 sum.
const MD5_DIGITS: usize = 32;

/// Bytes of a stored key and of a server key: those of SHA-256.
const KEY_BYTES: usize = 32;

/// The largest number of iterations of a verifier. Each login and each change of the password computes as many: about a second for a million.
const ITERATIONS_MAX: u32 = 1_000_000;

/// The verifier of a password, or the password itself if it is one already, as clients send that do not want to tell it. `None` for the
/// empty password.
///
/// # Errors
/// For verifiers of MD5, which nobody can log in with here, and those with too many iterations (0A000).
pub(super) fn verifier_of(password: &str) -> Result<Option<String>, EngineError> {
    if password.is_empty() {
        return Ok(None);
    }
    if is_md5(password) {
        return Err(EngineError::unsupported("MD5 passwords are not supported").with_hint("Use SCRAM-SHA-256."));
    }
    let Some(verifier) = password.strip_prefix(SCRAM).and_then(Verifier::read) else {
        // PostgreSQL takes what only begins like a verifier for a password.
        return Ok(Some(scram_sha_256(password.as_bytes())));
    };
    if verifier.iterations > ITERATIONS_MAX {
        let message = format!("a SCRAM verifier with {} iterations is not supported", verifier.iterations);
        let hint = format!("Use at most {ITERATIONS_MAX} iterations.");
        return Err(EngineError::new(SqlState::FeatureNotSupported, message).with_hint(hint));
    }
    Ok((!verifier.is_of_empty_password()).then(|| password.to_owned()))
}

fn is_md5(password: &str) -> bool {
    let digits = password.strip_prefix("md5");
    digits.is_some_and(|rest| rest.len() == MD5_DIGITS && rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// What a verifier says, but the stored key.
struct Verifier {
    iterations: u32,
    salt: Vec<u8>,
    server_key: Vec<u8>,
}

impl Verifier {
    /// `iterations:salt$stored key:server key`; `None` if the text is none.
    fn read(text: &str) -> Option<Self> {
        let (first, keys) = text.split_once('$')?;
        let ((iterations, salt), (stored_key, server_key)) = (first.split_once(':')?, keys.split_once(':')?);
        let decode = |text: &str| BASE64_STANDARD.decode(text).ok();
        let iterations = iterations.parse().ok().filter(|count| *count > 0)?;
        decode(stored_key).filter(|key| key.len() == KEY_BYTES)?;
        let server_key = decode(server_key).filter(|key| key.len() == KEY_BYTES)?;
        Some(Self { iterations, salt: decode(salt)?, server_key })
    }

    fn is_of_empty_password(&self) -> bool {
        let mut block = hmac(b"", &[&self.salt, &1_u32.to_be_bytes()]);
        let mut salted = block;
        for _ in 1..self.iterations {
            block = hmac(b"", &[&block]);
            salted.iter_mut().zip(block).for_each(|(sum, byte)| *sum ^= byte);
        }
        hmac(&salted, &[b"Server Key"]) == self.server_key[..]
    }
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; KEY_BYTES] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of HMAC has any length");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_become_verifiers_and_verifiers_stay() {
        let verifier = |password: &str| verifier_of(password).unwrap().unwrap();
        let of_secret = verifier("secret");
        assert!(of_secret.starts_with("SCRAM-SHA-256$4096:") && !of_secret.contains("secret"), "{of_secret}");
        assert_ne!(of_secret, verifier("secret"), "the salt is random");
        assert_eq!(verifier(&of_secret), of_secret);
        for no_verifier in ["SCRAM-SHA-256$x", "SCRAM-SHA-256$4096:AA==$AA==:AA==", "SCRAM-SHA-256$0:AA==$AA==:AA=="] {
            let taken = verifier(no_verifier);
            assert!(taken.starts_with("SCRAM-SHA-256$4096:") && taken.len() > 100, "{taken}");
        }
        assert_eq!(
            verifier_of("md5d41d8cd98f00b204e9800998ecf8427e").unwrap_err().state(),
            SqlState::FeatureNotSupported
        );
    }
    #[test]
    fn the_empty_password_is_none() {
        assert_eq!(verifier_of("").unwrap(), None);
        assert_eq!(verifier_of(&scram_sha_256(b"")).unwrap(), None);
        let of_blank = scram_sha_256(b" ");
        assert_eq!(verifier_of(&of_blank).unwrap(), Some(of_blank));
    }

    #[test]
    fn iterations_have_a_limit() {
        let verifier = scram_sha_256(b"secret").replace("$4096:", "$1000001:");
        assert_eq!(verifier_of(&verifier).unwrap_err().state(), SqlState::FeatureNotSupported);
    }
}
