//! On whose behalf the disk is asked.

use std::fmt;

/// On whose behalf a request is made; counted and traced apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IoReason {
    /// A query reads a segment.
    Scan,
    /// Rows are being added.
    Load,
    /// The catalog and the manifest.
    Catalog,
    /// Checksums and structures are being verified.
    Check,
    /// A query's intermediate results.
    Spill,
}

impl IoReason {
    /// Every reason, in the order of their counters.
    pub const ALL: [Self; 5] = [Self::Scan, Self::Load, Self::Catalog, Self::Check, Self::Spill];

    /// Position in [`IoReason::ALL`].
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for IoReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scan => "scan",
            Self::Load => "load",
            Self::Catalog => "catalog",
            Self::Check => "check",
            Self::Spill => "spill",
        })
    }
}
