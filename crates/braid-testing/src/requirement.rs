//! What a test needs of the machine it runs on.
//!
//! A test that cannot run prints that it is skipped, and why. Where `BRAID_TESTS_REQUIRE` names the requirement, as on CI,
//! a skipped test fails instead, so that a green run is one in which it ran.

use std::fmt::Display;

/// The variable with what must be there, separated by commas: `io_uring,small_file_system`.
pub const REQUIRE_VARIABLE: &str = "BRAID_TESTS_REQUIRE";

/// Something that not every machine offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// The kernel gives io_uring to this process.
    IoUring,
    /// The file system of temporary files reads and writes past the page cache.
    DirectIo,
    /// This user may mount a small file system in a name space of its own.
    SmallFileSystem,
}

impl Requirement {
    const ALL: [Self; 3] = [Self::IoUring, Self::DirectIo, Self::SmallFileSystem];

    /// Its name in the variable.
    pub fn name(self) -> &'static str {
        match self {
            Self::IoUring => "io_uring",
            Self::DirectIo => "direct_io",
            Self::SmallFileSystem => "small_file_system",
        }
    }
}

/// To be called by a test that returns without having run: prints it, or panics where the requirement must be met.
pub fn skip(missing: Requirement, reason: impl Display) {
    let required = std::env::var(REQUIRE_VARIABLE).unwrap_or_default();
    let required = named(&required).unwrap_or_else(|unknown| {
        let known = Requirement::ALL.map(Requirement::name).join(", ");
        panic!("{REQUIRE_VARIABLE} has {unknown:?}, but only {known} are known")
    });
    let name = missing.name();
    assert!(!required.contains(&missing), "{REQUIRE_VARIABLE} has {name}, which is missing here: {reason}");
    eprintln!("skipped, because {name} is missing here: {reason}");
}

/// The requirements in a list, or the first unknown word.
fn named(list: &str) -> Result<Vec<Requirement>, String> {
    let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
    let find = |word: &str| Requirement::ALL.into_iter().find(|known| known.name() == word).ok_or(word.to_owned());
    words.map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_requirements() {
        assert_eq!(named(""), Ok(vec![]));
        assert_eq!(named("io_uring, direct_io"), Ok(vec![Requirement::IoUring, Requirement::DirectIo]));
        assert_eq!(named("io_uring,iouring"), Err("iouring".to_owned()));
    }
}
