//! What passwords are verified with: SCRAM-SHA-256 (RFC 5802, RFC 7677), in the form in which PostgreSQL keeps it.

use postgres_protocol::password::scram_sha_256;

use crate::EngineError;

/// How a verifier begins.
const SCRAM: &str = "SCRAM-SHA-256$";

/// The hexadecimal digits of an MD5 sum.
const MD5_DIGITS: usize = 32;

/// The verifier of a password, or the password itself if it is one already, as clients send that do not want to tell it.
///
/// # Errors
/// For verifiers of MD5, which nobody can log in with here (0A000).
pub(super) fn verifier_of(password: &str) -> Result<String, EngineError> {
    if is_md5(password) {
        return Err(EngineError::unsupported("MD5 passwords are not supported").with_hint("Use SCRAM-SHA-256."));
    }
    match password.strip_prefix(SCRAM) {
        Some(rest) if is_verifier(rest) => Ok(password.to_owned()),
        // PostgreSQL takes what only begins so for a password.
        _ => Ok(scram_sha_256(password.as_bytes())),
    }
}

fn is_md5(password: &str) -> bool {
    let digits = password.strip_prefix("md5");
    digits.is_some_and(|rest| rest.len() == MD5_DIGITS && rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// `iterations:salt$stored key:server key`
fn is_verifier(rest: &str) -> bool {
    let Some((first, keys)) = rest.split_once('$') else { return false };
    let Some((iterations, salt)) = first.split_once(':') else { return false };
    let Some((stored, server)) = keys.split_once(':') else { return false };
    let is_base64 = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
    };
    iterations.parse::<u32>().is_ok_and(|count| count > 0) && [salt, stored, server].into_iter().all(is_base64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqlState;

    #[test]
    fn passwords_become_verifiers_and_verifiers_stay() {
        let verifier = verifier_of("secret").unwrap();
        assert!(verifier.starts_with("SCRAM-SHA-256$4096:") && !verifier.contains("secret"), "{verifier}");
        assert_ne!(verifier, verifier_of("secret").unwrap(), "the salt is random");
        assert_eq!(verifier_of(&verifier).unwrap(), verifier);
        assert!(verifier_of("SCRAM-SHA-256$x").unwrap().starts_with("SCRAM-SHA-256$4096:"));
        assert_eq!(
            verifier_of("md5d41d8cd98f00b204e9800998ecf8427e").unwrap_err().state(),
            SqlState::FeatureNotSupported
        );
    }
}
