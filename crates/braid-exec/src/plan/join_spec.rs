//! What a join is to do.

use crate::Expression;

/// How the rows of a join belong together.
#[derive(Clone, Debug)]
pub struct JoinCondition {
    /// Which rows the join has.
    pub kind: JoinKind,
    /// Columns of the build side that are equal to those of the probe side; none for every pair.
    pub build_keys: Vec<usize>,
    /// Columns of the probe side.
    pub probe_keys: Vec<usize>,
    /// A further condition over the columns of the probe side, then those of the build side.
    pub residual: Option<Expression>,
    /// IS NOT DISTINCT FROM.
    pub nulls_equal: bool,
    /// NOT IN.
    pub null_aware: bool,
}

/// What becomes of rows with and without partners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// Pairs.
    Inner,
    /// Pairs, and probe rows without partner with nulls for the build side.
    ProbeOuter,
    /// Pairs; after probing, build rows without partner with nulls for the probe side.
    BuildOuter,
    /// Both of these.
    FullOuter,
    /// Probe rows with a partner, once.
    ProbeSemi,
    /// Probe rows without partner.
    ProbeAnti,
    /// Probe rows and whether they have a partner, as one more column.
    ProbeMark,
    /// After probing, build rows with a partner, once.
    BuildSemi,
    /// After probing, build rows without partner.
    BuildAnti,
}

/// Which columns the rows of a join have, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinColumns {
    /// The probe side's.
    pub probe: bool,
    /// Whether there is a partner.
    pub mark: bool,
    /// The build side's.
    pub build: bool,
}

impl JoinKind {
    /// Which columns its rows have.
    pub fn columns(self) -> JoinColumns {
        JoinColumns {
            probe: !matches!(self, Self::BuildSemi | Self::BuildAnti),
            mark: self == Self::ProbeMark,
            build: self.makes_pairs() || matches!(self, Self::BuildSemi | Self::BuildAnti),
        }
    }

    /// Whether build rows must know if they found partners.
    pub(crate) fn marks_build_rows(self) -> bool {
        matches!(self, Self::BuildOuter | Self::FullOuter | Self::BuildSemi | Self::BuildAnti)
    }

    /// Whether probe rows leave with build rows beside them.
    pub(crate) fn makes_pairs(self) -> bool {
        matches!(self, Self::Inner | Self::ProbeOuter | Self::BuildOuter | Self::FullOuter)
    }

    /// Whether probe rows without partner leave with nulls beside them.
    pub(crate) fn keeps_probe_rows(self) -> bool {
        matches!(self, Self::ProbeOuter | Self::FullOuter)
    }

    /// Whether all that counts is if a probe row has a partner.
    pub(crate) fn tests_probe_rows(self) -> bool {
        matches!(self, Self::ProbeSemi | Self::ProbeAnti | Self::ProbeMark)
    }

    /// Whether probe rows without partner change nothing, so that they may be dropped before they come.
    pub(crate) fn drops_probe_rows(self) -> bool {
        matches!(self, Self::Inner | Self::ProbeSemi | Self::BuildOuter | Self::BuildSemi | Self::BuildAnti)
    }
}
