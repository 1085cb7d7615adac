//! The modes of locks, with PostgreSQL's table of conflicts (its documentation, 13.3.1), and what is asked for.

use braid_base::TableId;
use braid_sql::functions::advisory::AdvisoryKey;

/// A mode of a lock. Statements say it without `LOCK`, the catalog as [`LockMode::name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LockMode {
    /// Of what reads a table.
    AccessShare,
    /// Of what locks rows of a table.
    RowShare,
    /// Of what changes rows of a table.
    RowExclusive,
    /// Of VACUUM and ANALYZE.
    ShareUpdateExclusive,
    /// Keeps others from changing rows. Also that of shared advisory locks.
    Share,
    /// Keeps others from changing rows and from the same.
    ShareRowExclusive,
    /// Keeps others from all but reading. Also that of advisory locks.
    Exclusive,
    /// Keeps others from everything.
    AccessExclusive,
}

impl LockMode {
    /// All modes, the weakest first.
    pub const ALL: [Self; 8] = [
        Self::AccessShare,
        Self::RowShare,
        Self::RowExclusive,
        Self::ShareUpdateExclusive,
        Self::Share,
        Self::ShareRowExclusive,
        Self::Exclusive,
        Self::AccessExclusive,
    ];

    /// What others hold in none of while this one is held.
    fn conflicts(self) -> LockModes {
        use LockMode::{
            AccessExclusive, AccessShare, Exclusive, RowExclusive, RowShare, Share, ShareRowExclusive,
            ShareUpdateExclusive,
        };
        let of_strong = [Exclusive, AccessExclusive].map(LockModes::of);
        let of_strong = of_strong[0].with(of_strong[1]);
        let and = |modes: &[LockMode]| modes.iter().fold(of_strong, |all, mode| all.with(LockModes::of(*mode)));
        match self {
            AccessShare => LockModes::of(AccessExclusive),
            RowShare => of_strong,
            RowExclusive => and(&[Share, ShareRowExclusive]),
            ShareUpdateExclusive => and(&[ShareUpdateExclusive, Share, ShareRowExclusive]),
            Share => and(&[RowExclusive, ShareUpdateExclusive, ShareRowExclusive]),
            ShareRowExclusive => and(&[RowExclusive, ShareUpdateExclusive, Share, ShareRowExclusive]),
            Exclusive => and(&[RowShare, RowExclusive, ShareUpdateExclusive, Share, ShareRowExclusive]),
            AccessExclusive => LockModes(u8::MAX),
        }
    }

    /// Whether it keeps statements from reading, locking or changing rows.
    pub fn is_strong(self) -> bool {
        self.conflicts().has(Self::RowExclusive)
    }

    /// Its name in `pg_locks`.
    pub fn name(self) -> &'static str {
        match self {
            Self::AccessShare => "AccessShareLock",
            Self::RowShare => "RowShareLock",
            Self::RowExclusive => "RowExclusiveLock",
            Self::ShareUpdateExclusive => "ShareUpdateExclusiveLock",
            Self::Share => "ShareLock",
            Self::ShareRowExclusive => "ShareRowExclusiveLock",
            Self::Exclusive => "ExclusiveLock",
            Self::AccessExclusive => "AccessExclusiveLock",
        }
    }
}

/// A set of modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LockModes(u8);

impl LockModes {
    pub fn of(mode: LockMode) -> Self {
        Self(1 << mode as u8)
    }

    pub fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    pub fn without(self, mode: LockMode) -> Self {
        Self(self.0 & !Self::of(mode).0)
    }

    pub fn has(self, mode: LockMode) -> bool {
        self.0 & Self::of(mode).0 != 0
    }

    /// Whether one of them excludes `mode`.
    pub fn exclude(self, mode: LockMode) -> bool {
        self.0 & mode.conflicts().0 != 0
    }

    /// Whether one of them is strong.
    pub fn has_strong(self) -> bool {
        LockMode::ALL.into_iter().any(|mode| self.has(mode) && mode.is_strong())
    }
}

/// What is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LockTarget {
    /// A number.
    Advisory(AdvisoryKey),
    /// A table, view or sequence.
    Relation(TableId),
    /// The definition of a table, for those that change it in modes which do not exclude each other: CREATE INDEX.
    Definition(TableId),
}

/// A lock that is asked for, or held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Request {
    pub target: LockTarget,
    pub mode: LockMode,
}

impl Request {
    /// Whether statements that read or change rows are to wait for it.
    pub fn is_strong(self) -> bool {
        matches!(self.target, LockTarget::Relation(_)) && self.mode.is_strong()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PostgreSQL's documentation, table 13.2: # where two modes exclude each other.
    const CONFLICTS: [&str; 8] =
        [".......#", "......##", "....####", "...#####", "..##.###", "..######", ".#######", "########"];

    #[test]
    fn modes_exclude_each_other_as_in_postgresql() {
        for (mode, row) in LockMode::ALL.into_iter().zip(CONFLICTS) {
            for (other, cell) in LockMode::ALL.into_iter().zip(row.chars()) {
                assert_eq!(LockModes::of(other).exclude(mode), cell == '#', "{mode:?} {other:?}");
            }
        }
        let strong: Vec<LockMode> = LockMode::ALL.into_iter().filter(|mode| mode.is_strong()).collect();
        assert_eq!(strong, LockMode::ALL[4..]);
    }
}
