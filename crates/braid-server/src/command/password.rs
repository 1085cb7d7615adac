//! Where the password comes from: a file, the environment, or the command line, in this order.

use std::path::PathBuf;

use super::CommandError;

/// The environment variable.
pub(crate) const VARIABLE: &str = "BRAID_PASSWORD";

/// How the password is given; without any of these, and without BRAID_PASSWORD, there is none.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PasswordOptions {
    /// The password's file; its first line counts.
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// The password. Others on this machine can see it in the list of processes: better a file or BRAID_PASSWORD.
    #[arg(long, value_name = "TEXT", conflicts_with = "password_file")]
    password: Option<String>,
}

impl PasswordOptions {
    /// The password, if one is given.
    pub(crate) fn read(&self) -> Result<Option<String>, CommandError> {
        if let Some(path) = &self.password_file {
            let text = std::fs::read_to_string(path)
                .map_err(CommandError::io(format!("cannot read the password file {}", path.display())))?;
            return Ok(Some(text.lines().next().unwrap_or_default().to_owned()));
        }
        Ok(self.password.clone().or_else(|| std::env::var(VARIABLE).ok()))
    }
}
