//! CASCADE and RESTRICT.

/// What becomes of what depends on something that is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behavior {
    /// It is kept, and so is what it depends on.
    Restrict,
    /// It is dropped, too.
    Cascade,
}

impl Behavior {
    /// From whether the statement says CASCADE.
    pub fn of(cascade: bool) -> Self {
        if cascade { Self::Cascade } else { Self::Restrict }
    }
}
