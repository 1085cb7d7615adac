//! The specification of a join.

use crate::Expression;
use crate::keys::null_keys::NullKeys;

/// The condition and kind of a join.
#[derive(Clone, Debug)]
pub struct JoinCondition {
    /// The kind of the join.
    pub kind: JoinKind,
    /// Key columns of the build side, which equal those of the probe side. Empty for a cross product.
    pub build_keys: Vec<usize>,
    /// Key columns of the probe side.
    pub probe_keys: Vec<usize>,
    /// A further condition, over the columns of the probe side followed by those of the build side.
    pub residual: Option<Expression>,
    /// How null keys compare. [`NullKeys::Unknown`] needs [`JoinKind::ProbeTruth`], or one key and [`JoinKind::ProbeAnti`] or
    /// [`JoinKind::ProbeMark`].
    pub null_keys: NullKeys,
}

/// The kind of a join: the rows that it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// All pairs.
    Inner,
    /// All pairs, and probe rows without a partner with nulls for the build side.
    ProbeOuter,
    /// All pairs; after the probe, build rows without a partner with nulls for the probe side.
    BuildOuter,
    /// All rows of `ProbeOuter` and `BuildOuter`.
    FullOuter,
    /// Probe rows with a partner, once.
    ProbeSemi,
    /// Probe rows without a partner.
    ProbeAnti,
    /// All probe rows, with the mark, a column that tells whether they have a partner.
    ProbeMark,
    /// All probe rows, with the mark: true with a partner; else null if the condition is null for a build row; else false. In
    /// [`Self::ProbeMark`] only the comparison of keys can make it null, here the further condition, too. Rows are partners only if their
    /// keys may be equal: null keys that equal nothing make no mark null.
    ProbeTruth,
    /// As [`Self::ProbeOuter`], and an error if a probe row has a second partner.
    ProbeSingle,
    /// After the probe, build rows with a partner, once.
    BuildSemi,
    /// After the probe, build rows without a partner.
    BuildAnti,
}

/// Number of columns of each side of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SideWidths {
    /// Of the probe side.
    pub probe: usize,
    /// Of the build side.
    pub build: usize,
}

/// The columns of a join's rows, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinColumns {
    /// Whether the probe side's columns are included.
    pub probe: bool,
    /// Whether the mark is included.
    pub mark: bool,
    /// Whether the build side's columns are included.
    pub build: bool,
}

impl JoinKind {
    /// The columns of the join's rows.
    pub fn columns(self) -> JoinColumns {
        JoinColumns {
            probe: !matches!(self, Self::BuildSemi | Self::BuildAnti),
            mark: matches!(self, Self::ProbeMark | Self::ProbeTruth),
            build: self.makes_pairs() || matches!(self, Self::BuildSemi | Self::BuildAnti),
        }
    }

    /// Whether build rows with partners must be marked.
    pub(crate) fn marks_build_rows(self) -> bool {
        matches!(self, Self::BuildOuter | Self::FullOuter | Self::BuildSemi | Self::BuildAnti)
    }

    /// Whether the join returns pairs.
    pub fn makes_pairs(self) -> bool {
        matches!(self, Self::Inner | Self::ProbeOuter | Self::ProbeSingle | Self::BuildOuter | Self::FullOuter)
    }

    /// Whether the join returns probe rows without a partner, with nulls.
    pub(crate) fn keeps_probe_rows(self) -> bool {
        matches!(self, Self::ProbeOuter | Self::ProbeSingle | Self::FullOuter)
    }

    /// Whether the join only tests if a probe row has a partner.
    pub(crate) fn tests_probe_rows(self) -> bool {
        matches!(self, Self::ProbeSemi | Self::ProbeAnti | Self::ProbeMark | Self::ProbeTruth)
    }

    /// Whether probe rows without a partner may be dropped before the join.
    pub(crate) fn drops_probe_rows(self) -> bool {
        matches!(self, Self::Inner | Self::ProbeSemi | Self::BuildOuter | Self::BuildSemi | Self::BuildAnti)
    }
}
