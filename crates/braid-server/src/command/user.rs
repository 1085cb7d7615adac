//! The user that `braid sql` connects as.
//!
//! On a data directory that no server has, this is the bootstrap superuser, so that no definition of roles locks out who may open the
//! directory. A server is asked as psql asks it: as PGUSER or as the operating system's user, but before that as the superuser that
//! the server has published beside its address.

use std::os::unix::fs::MetadataExt;

/// The user where neither an option nor the environment names one.
pub(crate) const USER_DEFAULT: &str = "braid";

/// The option for the user.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct UserOption {
    /// The user [default: the superuser, or while it has no name, PGUSER or the operating system's user].
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
}

impl UserOption {
    /// The user of a session on a data directory whose superuser has this name, if it has one.
    pub(crate) fn local(&self, superuser: Option<String>) -> String {
        self.user.clone().or(superuser).or_else(variable).unwrap_or_else(system_user)
    }

    /// The user of a session of a server that has published the name of its superuser, if it had one then.
    pub(crate) fn remote(&self, superuser: Option<String>) -> String {
        self.user.clone().or_else(variable).or(superuser).unwrap_or_else(system_user)
    }
}

fn variable() -> Option<String> {
    read("PGUSER")
}

fn read(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|name| !name.is_empty())
}

/// The operating system's user, as psql finds it: by its number. The environment of a container often lacks USER.
fn system_user() -> String {
    by_number().or_else(|| read("USER")).unwrap_or_else(|| USER_DEFAULT.to_owned())
}

fn by_number() -> Option<String> {
    let number = std::fs::metadata("/proc/self").ok()?.uid();
    name_in(&std::fs::read_to_string("/etc/passwd").ok()?, number)
}

/// The name of a number in the lines `name:password:number:…`.
fn name_in(lines: &str, number: u32) -> Option<String> {
    let mut users = lines.lines().map(|line| line.split(':'));
    users.find_map(|mut fields| {
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(number)).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_counts_most_and_the_superuser_before_the_environment_where_no_server_is() {
        let chosen = UserOption { user: Some("chosen".into()) };
        assert_eq!(chosen.local(Some("superuser".into())), "chosen");
        assert_eq!(chosen.remote(Some("superuser".into())), "chosen");
        assert_eq!(UserOption { user: None }.local(Some("superuser".into())), "superuser");
    }

    #[test]
    fn users_have_the_names_of_their_numbers() {
        let lines = "root:x:0:0:root:/root:/bin/sh\nbroken\nalice:x:1000:1000::/home/alice:/bin/sh\n";
        assert_eq!(name_in(lines, 1000).as_deref(), Some("alice"));
        assert_eq!(name_in(lines, 7), None);
    }
}
