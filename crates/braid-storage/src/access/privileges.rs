//! Sets of privileges, and access control lists.

use std::ops::{BitAnd, BitOr, Sub};

use super::RoleId;

/// A set of privileges. Each has a letter, and a bit in the order of [`Privileges::LETTERS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Privileges(u16);

impl Privileges {
    /// None.
    pub const NONE: Self = Self(0);
    /// INSERT, `a`.
    pub const INSERT: Self = Self(1);
    /// SELECT, `r`.
    pub const SELECT: Self = Self(1 << 1);
    /// UPDATE, `w`.
    pub const UPDATE: Self = Self(1 << 2);
    /// DELETE, `d`.
    pub const DELETE: Self = Self(1 << 3);
    /// TRUNCATE, `D`.
    pub const TRUNCATE: Self = Self(1 << 4);
    /// REFERENCES, `x`.
    pub const REFERENCES: Self = Self(1 << 5);
    /// TRIGGER, `t`.
    pub const TRIGGER: Self = Self(1 << 6);
    /// EXECUTE, `X`.
    pub const EXECUTE: Self = Self(1 << 7);
    /// USAGE, `U`.
    pub const USAGE: Self = Self(1 << 8);
    /// CREATE, `C`.
    pub const CREATE: Self = Self(1 << 9);
    /// TEMPORARY, `T`.
    pub const TEMPORARY: Self = Self(1 << 10);
    /// CONNECT, `c`.
    pub const CONNECT: Self = Self(1 << 11);

    /// All of them, of all kinds of objects.
    pub const EVERY: Self = Self((1 << 12) - 1);

    /// The letters of all privileges, in the order in which lists show them.
    pub const LETTERS: &str = "arwdDxtXUCTc";

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of these are among them.
    pub fn contains(self, others: Self) -> bool {
        self & others == others
    }

    /// Each by itself, in the order of the letters.
    pub fn each(self) -> impl Iterator<Item = Self> {
        (0..Self::LETTERS.len()).map(|at| Self(1 << at)).filter(move |one| self.contains(*one))
    }

    /// Their letters.
    pub fn letters(self) -> impl Iterator<Item = char> {
        Self::LETTERS.chars().zip(0..).filter(move |(_, at)| self.0 >> at & 1 == 1).map(|(letter, _)| letter)
    }

    pub(crate) fn bits(self) -> u16 {
        self.0
    }

    /// [`Self::bits`] back; `None` if there are others.
    pub(crate) fn from_bits(bits: u16) -> Option<Self> {
        (bits >> Self::LETTERS.len() == 0).then_some(Self(bits))
    }
}

impl BitOr for Privileges {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Privileges {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Sub for Privileges {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// What one role has been granted by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AclItem {
    /// Who has the privileges; [`RoleId::PUBLIC`] for all roles.
    pub grantee: RoleId,
    /// Who has granted them.
    pub grantor: RoleId,
    /// The privileges.
    pub privileges: Privileges,
    /// Those of them that the grantee may grant to others.
    pub grantable: Privileges,
}

/// An access control list, in the order in which it is shown. There is one item for a grantee and a grantor, and none without privileges.
pub type Acl = Vec<AclItem>;
