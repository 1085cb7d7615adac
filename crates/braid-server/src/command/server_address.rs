//! `DATA/server.addr`: the address of the server that has a data directory open.
//!
//! The file holds one line, `ADDRESS PID`. The server writes it when it listens and removes it when it stops. Readers
//! check the directory's lock first, so that the file of a killed server has no effect.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use super::CommandError;

const FILE: &str = "server.addr";

/// The file while the server runs; dropped, it is removed.
pub(crate) struct PublishedAddress {
    path: PathBuf,
}

impl PublishedAddress {
    /// Writes the file.
    pub(crate) fn publish(data: &Path, address: SocketAddr) -> Result<Self, CommandError> {
        let path = data.join(FILE);
        std::fs::write(&path, format!("{} {}\n", reachable(address), std::process::id()))
            .map_err(CommandError::io(format!("cannot write {}", path.display())))?;
        Ok(Self { path })
    }
}

impl Drop for PublishedAddress {
    fn drop(&mut self) {
        // A file that stays behind does no harm.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The address of the server that has `data` open, if it wrote one.
pub(crate) fn published(data: &Path) -> Option<SocketAddr> {
    let text = std::fs::read_to_string(data.join(FILE)).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Where a server that listens on `address` is reached from its own machine.
fn reachable(address: SocketAddr) -> SocketAddr {
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
        let file = PublishedAddress::publish(data.path(), "0.0.0.0:77".parse().unwrap()).unwrap();
        assert_eq!(published(data.path()), Some("127.0.0.1:77".parse().unwrap()));
        drop(file);
        assert_eq!(published(data.path()), None);
    }
}
