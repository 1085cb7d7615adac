//! The sources of the password: a file, the command line, or the environment, in this order.

use std::path::PathBuf;

use super::CommandError;

/// The environment variable.
pub(crate) const VARIABLE: &str = "BRAID_PASSWORD";

/// The options for the password. Without them the password is that of BRAID_PASSWORD, or none.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PasswordOptions {
    /// A file whose first line is the password.
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// The password. Other users of the machine can see it in the process list; prefer --password-file or BRAID_PASSWORD.
    #[arg(long, value_name = "TEXT", conflicts_with = "password_file")]
    password: Option<String>,
}

impl PasswordOptions {
    /// The password, or `None` without one.
    pub(crate) fn read(&self) -> Result<Option<String>, CommandError> {
        if let Some(path) = &self.password_file {
            let text = std::fs::read_to_string(path)
                .map_err(CommandError::io(format!("cannot read the password file {}", path.display())))?;
            return Ok(Some(text.lines().next().unwrap_or_default().to_owned()));
        }
        Ok(self.password.clone().or_else(|| std::env::var(VARIABLE).ok()))
    }
}
