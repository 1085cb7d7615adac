//! `DATA/server.addr`: the address of the server that has a data directory open.
//!
//! The file's first line is `ADDRESS PID`. The second line is the name of the bootstrap superuser, if it has one when the server starts. The
//! server writes the file when it listens and removes it when it stops. Readers check the directory's lock first, so that the file of
//! a killed server has no effect. Only the server's own user can read the file.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use braid_io::create_private;

use super::CommandError;

const FILE: &str = "server.addr";

/// The file while the server runs; dropped, it is removed.
pub(crate) struct PublishedAddress {
    path: PathBuf,
}

impl PublishedAddress {
    /// Writes the file.
    pub(crate) fn publish(data: &Path, address: SocketAddr, superuser: Option<String>) -> Result<Self, CommandError> {
        let path = data.join(FILE);
        let mut text = format!("{} {}\n", reachable(address), std::process::id());
        // A name of several lines is not published.
        text.extend(superuser.filter(|name| !name.contains('\n')).map(|name| format!("{name}\n")));
        let written = create_private(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(CommandError::io(format!("cannot write {}", path.display())))?;
        Ok(Self { path })
    }
}

impl Drop for PublishedAddress {
    fn drop(&mut self) {
        // A file that stays behind does no harm.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// What a server has published.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Published {
    /// Its address.
    pub address: SocketAddr,
    /// The bootstrap superuser, if it had a name when the server started.
    pub superuser: Option<String>,
}

/// The server that has `data` open, if it wrote its address.
pub(crate) fn published(data: &Path) -> Option<Published> {
    let text = std::fs::read_to_string(data.join(FILE)).ok()?;
    let mut lines = text.lines();
    let address = lines.next()?.split_whitespace().next()?.parse().ok()?;
    Some(Published { address, superuser: lines.next().map(str::to_owned) })
}

/// Where a server that listens on `address` is reached from its own machine.
pub(crate) fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_there_while_the_server_is() {
        let data = tempfile::tempdir().unwrap();
        assert_eq!(published(data.path()), None);
        let address = "127.0.0.1:77".parse().unwrap();
        for superuser in [Some("o'neil x".to_owned()), None] {
            let listens_on = "0.0.0.0:77".parse().unwrap();
            let file = PublishedAddress::publish(data.path(), listens_on, superuser.clone()).unwrap();
            assert_eq!(published(data.path()), Some(Published { address, superuser }));
            drop(file);
            assert_eq!(published(data.path()), None);
        }
    }
}
