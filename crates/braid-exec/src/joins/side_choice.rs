//! The choice of a join's build side at run time: a pure function of the known properties of both sides.
//!
//! The planner chooses by estimates. At run time the row counts of the tables of a side are known, after pruning by zone maps.
//! The row count of the side itself becomes known only while it is collected. The choice follows three rules:
//!
//! - A probe side is built instead if it is one table, is far smaller than a table of the build side, and drops rows or is
//!   small. Its keys then filter the large table, which is never collected.
//! - The planned build side is collected only up to the largest possible row count of the probe side. Beyond that, the probe
//!   side is built instead. The rows collected in vain cost no more than the rows that are then built.
//! - If the largest row count of the probe side is unknown, both sides are collected up to a limit, first the side that drops
//!   rows or reads far smaller tables. If both exceed the limit, the plan is kept.
//!
//! A right choice of the planner therefore costs little extra, and a wrong choice costs little, too.

use crate::plan::{JoinCondition, JoinKind, SideShape, SideWidths};
use crate::tuning::JoinTuning;

/// The choice of the build side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SideChoice {
    /// The planned build side.
    Planned,
    /// The planned probe side.
    Swapped,
    /// The planned build side if it has at most `build_rows_max` rows; otherwise the other side if it has at most
    /// `probe_rows_max` rows; otherwise the planned build side.
    Tried { build_rows_max: u64, probe_rows_max: Option<u64> },
    /// The planned probe side if it has at most `probe_rows_max` rows; otherwise the planned build side.
    SwappedIfSmall { probe_rows_max: u64 },
}

impl SideChoice {
    /// The choice for a join whose sides can be swapped.
    pub(crate) fn of(build: SideShape, probe: SideShape, tuning: &JoinTuning) -> Self {
        let (Some(build_max), Some(probe_max)) = (build.table_rows_max, probe.table_rows_max) else {
            return Self::Planned;
        };
        if probe.is_ordered {
            return Self::Planned;
        }
        let is_far_smaller = probe_max.saturating_mul(tuning.far_larger) <= build_max;
        let (build_rows_max, probe_rows_max) = if probe.is_chain {
            // A table with a filter may be small after filtering.
            let may_be_small = build.is_chain && build.is_narrowed;
            if is_far_smaller && (probe_max <= tuning.small_side_rows || probe.is_narrowed && !may_be_small) {
                return Self::Swapped;
            }
            (probe_max.max(tuning.small_side_rows), None)
        } else {
            let drops_more = probe_max <= build_max && probe.is_narrowed && !build.is_narrowed;
            if is_far_smaller || drops_more {
                return Self::SwappedIfSmall { probe_rows_max: tuning.trial_rows };
            }
            // If the probe side has the larger tables, the build side may have as many rows as these.
            let rows = if build_max < probe_max { probe_max.max(tuning.trial_rows) } else { tuning.trial_rows };
            (rows, Some(rows))
        };
        let cannot_be_more = build.is_chain && build_max <= build_rows_max;
        if cannot_be_more { Self::Planned } else { Self::Tried { build_rows_max, probe_rows_max } }
    }
}

impl JoinKind {
    /// The kind of the same join with swapped sides; `None` if no kind corresponds.
    pub(crate) fn swapped(self) -> Option<Self> {
        Some(match self {
            Self::Inner => Self::Inner,
            Self::FullOuter => Self::FullOuter,
            Self::ProbeOuter => Self::BuildOuter,
            Self::BuildOuter => Self::ProbeOuter,
            Self::ProbeSemi => Self::BuildSemi,
            Self::BuildSemi => Self::ProbeSemi,
            Self::ProbeAnti => Self::BuildAnti,
            Self::BuildAnti => Self::ProbeAnti,
            Self::ProbeMark | Self::ProbeTruth | Self::ProbeSingle => return None,
        })
    }
}

/// A join with swapped sides.
#[derive(Clone, Debug)]
pub struct SwappedJoin {
    /// Its condition.
    pub condition: JoinCondition,
    /// The position of each column of the join among the columns of the swapped one.
    pub columns: Vec<usize>,
}

impl SwappedJoin {
    /// Swaps the sides of a join with these widths; `None` if the join cannot be swapped.
    pub fn of(condition: &JoinCondition, widths: SideWidths) -> Option<Self> {
        let SideWidths { probe: probe_count, build: build_count } = widths;
        let kind = condition.kind.swapped().filter(|_| !condition.null_keys.are_unknown())?;
        let place = |column: usize| if column < probe_count { build_count + column } else { column - probe_count };
        let residual = condition.residual.clone().map(|mut residual| {
            residual.map_columns(&mut |column| place(column));
            residual
        });
        let columns = match condition.kind.makes_pairs() {
            true => (0..probe_count + build_count).map(place).collect(),
            false => (0..if condition.kind.columns().probe { probe_count } else { build_count }).collect(),
        };
        let (build_keys, probe_keys) = (condition.probe_keys.clone(), condition.build_keys.clone());
        let condition = JoinCondition { kind, build_keys, probe_keys, residual, ..condition.clone() };
        Some(Self { condition, columns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::null_keys::NullKeys;
    use crate::tuning::Tuning;

    static TUNING: std::sync::LazyLock<JoinTuning> = std::sync::LazyLock::new(|| Tuning::default().joins);

    const WIDTHS: SideWidths = SideWidths { probe: 3, build: 2 };

    fn chain(rows: u64) -> SideShape {
        SideShape { table_rows_max: Some(rows), is_chain: true, is_narrowed: false, is_ordered: false }
    }

    fn joined(rows: u64) -> SideShape {
        SideShape { is_chain: false, ..chain(rows) }
    }

    fn narrowed(side: SideShape) -> SideShape {
        SideShape { is_narrowed: true, ..side }
    }

    #[test]
    fn what_is_surely_smaller_is_built_without_further_ado() {
        assert_eq!(SideChoice::of(chain(100), chain(100), &TUNING), SideChoice::Planned);
        assert_eq!(SideChoice::of(chain(100), chain(1_000_000), &TUNING), SideChoice::Planned);
        assert_eq!(SideChoice::of(chain(100), joined(1_000_000), &TUNING), SideChoice::Planned);
    }

    #[test]
    fn a_small_or_narrowed_table_is_built_in_place_of_a_far_larger_one() {
        for build in [
            joined(TUNING.far_larger * 1000),
            chain(TUNING.far_larger * 1000),
            narrowed(joined(TUNING.far_larger * 1000)),
        ] {
            assert_eq!(SideChoice::of(build, narrowed(chain(1000)), &TUNING), SideChoice::Swapped);
        }
        assert_eq!(
            SideChoice::of(narrowed(chain(1 << 30)), chain(TUNING.small_side_rows), &TUNING),
            SideChoice::Swapped
        );
        // The build side is tried first if the probe table is complete, is not far smaller, or if the build side may be small.
        let tried = SideChoice::Tried { build_rows_max: TUNING.small_side_rows + 1, probe_rows_max: None };
        assert_eq!(SideChoice::of(chain(1 << 30), chain(TUNING.small_side_rows + 1), &TUNING), tried);
        let large = TUNING.far_larger * (TUNING.small_side_rows + 1);
        assert_eq!(SideChoice::of(chain(large - 1), narrowed(chain(TUNING.small_side_rows + 1)), &TUNING), tried);
        assert_eq!(SideChoice::of(narrowed(chain(large)), narrowed(chain(TUNING.small_side_rows + 1)), &TUNING), tried);
    }

    #[test]
    fn the_side_that_drops_rows_or_reads_far_smaller_tables_is_tried_first() {
        let first = SideChoice::SwappedIfSmall { probe_rows_max: TUNING.trial_rows };
        assert_eq!(SideChoice::of(joined(1000), narrowed(joined(1000)), &TUNING), first);
        assert_eq!(SideChoice::of(narrowed(chain(TUNING.far_larger * 1000)), joined(1000), &TUNING), first);
        let tried = SideChoice::Tried { build_rows_max: TUNING.trial_rows, probe_rows_max: Some(TUNING.trial_rows) };
        for (build, probe) in [(joined(1000), joined(1000)), (narrowed(joined(1000)), narrowed(joined(1000)))] {
            assert_eq!(SideChoice::of(build, probe, &TUNING), tried);
        }
    }

    #[test]
    fn a_join_may_make_more_rows_than_its_tables_have() {
        let rows = TUNING.small_side_rows.max(TUNING.trial_rows) + 1;
        let tried = SideChoice::Tried { build_rows_max: rows, probe_rows_max: None };
        assert_eq!(SideChoice::of(joined(2), chain(rows), &TUNING), tried);
        let tried = SideChoice::Tried { build_rows_max: rows, probe_rows_max: Some(rows) };
        assert_eq!(SideChoice::of(joined(2), joined(rows), &TUNING), tried);
    }

    #[test]
    fn what_is_not_known_or_ordered_stays_as_planned() {
        let unknown = SideShape { table_rows_max: None, ..chain(0) };
        let ordered = SideShape { is_ordered: true, ..joined(1) };
        for (build, probe) in [(unknown, chain(1)), (chain(1 << 30), unknown), (chain(1 << 30), ordered)] {
            assert_eq!(SideChoice::of(build, probe, &TUNING), SideChoice::Planned);
        }
    }

    #[test]
    fn swapping_twice_changes_nothing() {
        let condition = JoinCondition {
            kind: JoinKind::BuildOuter,
            build_keys: vec![0],
            probe_keys: vec![2],
            residual: None,
            null_keys: NullKeys::EqualNull,
        };
        let once = SwappedJoin::of(&condition, WIDTHS).unwrap();
        assert_eq!(once.columns, [2, 3, 4, 0, 1]);
        assert_eq!((&once.condition.build_keys[..], &once.condition.probe_keys[..]), (&[2][..], &[0][..]));
        let twice = SwappedJoin::of(&once.condition, SideWidths { probe: 2, build: 3 }).unwrap();
        assert_eq!(format!("{:?}", twice.condition), format!("{condition:?}"));
        let column = |column: usize| once.columns[twice.columns[column]];
        assert!((0..5).map(column).eq(0..5));
        for kind in [JoinKind::BuildSemi, JoinKind::ProbeAnti] {
            let of_kind = JoinCondition { kind, ..condition.clone() };
            let kept = if kind == JoinKind::BuildSemi { 2 } else { 3 };
            let swapped = SwappedJoin::of(&of_kind, WIDTHS).unwrap();
            assert!(swapped.columns.into_iter().eq(0..kept), "{kind:?}");
        }
        assert!(SwappedJoin::of(&JoinCondition { kind: JoinKind::ProbeMark, ..condition.clone() }, WIDTHS).is_none());
        let not_in = JoinCondition { kind: JoinKind::ProbeAnti, null_keys: NullKeys::Unknown, ..condition };
        assert!(SwappedJoin::of(&not_in, WIDTHS).is_none());
    }
}
