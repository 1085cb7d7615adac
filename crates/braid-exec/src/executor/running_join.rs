//! A join while it runs: the plans of its sides, its form, its build side, and its spilled partitions.
//!
//! Joins of one query and shared joins collect, partition and probe their sides in the same way. They differ in what a probe
//! makes of the rows ([`JoinForm`]). The set of a row is a column like others, and goes through the partitions with it.

use std::sync::Arc;

use super::wanted::Wanted;
use crate::SetStore;
use crate::joins::hash::{Elsewhere, JoinSpec, JoinTable};
use crate::joins::not_in::NotInBuild;
use crate::joins::operator::JoinLayout;
use crate::joins::spilled::SpilledProbe;
use crate::keys::key_filter::KeyFilter;
use crate::plan::join_order::join_graph::JoinGraph;
use crate::plan::shared_operator::JoinSets;
use crate::plan::{JoinCondition, JoinKind, NodeId, Plan, SideWidths};
use crate::sharing::shared_join::SharedJoinLayout;
use crate::spill::{LEVELS_MAX, SpilledRows};
use crate::tuning::JoinTuning;

/// The plans of a join's sides, and its condition.
#[derive(Clone, Copy)]
pub(super) struct Sides<'a> {
    pub(super) build: &'a Plan,
    pub(super) probe: &'a Plan,
    pub(super) condition: &'a JoinCondition,
    /// The join, if it is given up when it makes too many pairs.
    pub(super) watched: Option<NodeId>,
}

/// A join of rows from any source.
#[derive(Clone)]
pub(super) struct Join {
    pub(super) kind: JoinKind,
    /// The specification of its hash table. That of a shared join has another kind.
    pub(super) spec: JoinSpec,
    /// The properties of the other partitions of its build side.
    pub(super) elsewhere: Elsewhere,
    pub(super) is_reorderable: bool,
    /// The join, if it is given up when it makes too many pairs.
    pub(super) watched: Option<NodeId>,
    pub(super) form: JoinForm,
}

/// What a probe makes of the rows, and which columns of both sides it reads.
#[derive(Clone)]
pub(super) enum JoinForm {
    OfOneQuery(Arc<JoinLayout>),
    /// A row has partners for some queries of a pass, and none for others.
    Shared(Arc<SharedJoinLayout>, Arc<SetStore>),
}

/// A build side.
pub(super) enum Build {
    Table(Arc<JoinTable>),
    /// A build side that exceeds the memory.
    Divided(DividedBuild),
}

/// A partly spilled build side.
pub(super) struct DividedBuild {
    pub(super) table: Arc<JoinTable>,
    /// The spilled partitions, by number.
    pub(super) spilled: Vec<Option<SpilledRows>>,
    /// The key filter of all partitions.
    pub(super) keys: Option<KeyFilter>,
    /// The join of each partition.
    pub(super) join: Arc<Join>,
}

/// A partition that is not joined yet.
pub(super) struct SpilledPartition {
    pub(super) join: Arc<Join>,
    pub(super) build: Arc<SpilledRows>,
    pub(super) probe: ProbeRows,
    /// The level at which it may be partitioned again.
    pub(super) level: u32,
    /// Whether its build side must not be partitioned again.
    pub(super) is_whole: bool,
}

/// The probe side of a partition.
pub(super) enum ProbeRows {
    /// The written rows, after the probe side is partitioned.
    OfPartition(Arc<SpilledProbe>, usize),
    Known(Arc<SpilledRows>),
}

impl Build {
    /// Its key filter.
    pub(super) fn key_filter(&self) -> Option<KeyFilter> {
        match self {
            Self::Table(table) => table.key_filter(),
            Self::Divided(DividedBuild { keys, .. }) => keys.clone(),
        }
    }
}

impl Sides<'_> {
    /// The join with these required columns.
    pub(super) fn join(self, wanted: &Wanted, tuning: JoinTuning) -> Arc<Join> {
        let Self { build, probe, condition, watched } = self;
        let widths = SideWidths { probe: probe.column_count(), build: build.column_count() };
        let layout = JoinLayout::new(condition, widths, &wanted.columns);
        let spec = JoinSpec {
            kind: condition.kind,
            build_keys: layout.build_keys.clone(),
            probe_keys: condition.probe_keys.clone(),
            null_keys: condition.null_keys,
            has_residual: condition.residual.is_some() || condition.kind == JoinKind::ProbeTruth,
            build_column_count: layout.build_columns.len(),
            tuning,
        };
        Arc::new(Join {
            kind: condition.kind,
            spec,
            elsewhere: Elsewhere::default(),
            is_reorderable: JoinGraph::takes(condition),
            watched,
            form: JoinForm::OfOneQuery(Arc::new(layout)),
        })
    }
}

impl JoinForm {
    /// Number of columns of the join's rows.
    pub(super) fn column_count(&self) -> usize {
        match self {
            Self::OfOneQuery(layout) => layout.column_count(),
            Self::Shared(layout, _) => layout.column_count(),
        }
    }

    /// The columns of the build side that are kept.
    pub(super) fn build_columns(&self) -> &[usize] {
        match self {
            Self::OfOneQuery(layout) => &layout.build_columns,
            Self::Shared(layout, _) => &layout.build_columns,
        }
    }

    /// Whether each column of the probe side is read.
    fn probe_read(&self) -> &[bool] {
        match self {
            Self::OfOneQuery(layout) => &layout.probe_read,
            Self::Shared(layout, _) => &layout.probe_read,
        }
    }
}

impl Join {
    /// The join of a pass with these required columns.
    pub(super) fn shared(
        condition: &JoinCondition,
        sets: &JoinSets,
        widths: SideWidths,
        wanted: &Wanted,
        tuning: JoinTuning,
    ) -> Arc<Self> {
        let layout = SharedJoinLayout::new(condition, sets, widths, &wanted.columns);
        Arc::new(Self {
            kind: condition.kind,
            spec: layout.table_spec(tuning),
            elsewhere: Elsewhere::default(),
            is_reorderable: false,
            watched: None,
            form: JoinForm::Shared(Arc::new(layout), sets.store.clone()),
        })
    }

    /// Whether its sides can be partitioned by key.
    pub(super) fn can_be_divided(&self) -> bool {
        let does_form_allow = match &self.form {
            JoinForm::OfOneQuery(_) => true,
            JoinForm::Shared(layout, _) => layout.can_be_divided(),
        };
        does_form_allow && self.spec.can_be_divided()
    }

    /// What NOT IN notes of its build side while it is partitioned; `None` for other joins, and for a partition, since the whole
    /// build side was noted before.
    pub(super) fn not_in(&self) -> Option<NotInBuild> {
        let is_noted = self.elsewhere.has_rows;
        match &self.form {
            _ if is_noted => None,
            JoinForm::OfOneQuery(_) if !self.spec.null_keys.are_unknown() => None,
            JoinForm::OfOneQuery(_) => Some(NotInBuild { key: *self.spec.build_keys.first()?, sets: None }),
            JoinForm::Shared(layout, store) => layout.not_in(store),
        }
    }

    /// The requirements on the build side.
    pub(super) fn of_build(&self, wanted: &Wanted) -> Wanted {
        let of_build = match &self.form {
            JoinForm::OfOneQuery(layout) => {
                wanted.of_input(layout.build_read.clone(), |column| layout.filtered_build_column(column))
            }
            JoinForm::Shared(layout, _) => {
                wanted.of_input(layout.build_read.clone(), |column| layout.filtered_build_column(column))
            }
        };
        let of_build = if self.kind.keeps_probe_rows() { of_build.where_missing_is_null() } else { of_build };
        // The build side is collected, so that the topmost of the joins can restart.
        let may_restart = of_build.may_restart || self.is_reorderable;
        Wanted { is_among_joins: self.is_reorderable, may_restart, ..of_build }
    }

    /// The requirements on the probe side, without the filter of the build side's keys.
    pub(super) fn of_probe(&self, wanted: &Wanted) -> Wanted {
        let of_probe = match &self.form {
            JoinForm::OfOneQuery(layout) => {
                wanted.of_input(layout.probe_read.clone(), |column| layout.filtered_probe_column(column))
            }
            JoinForm::Shared(layout, _) => {
                wanted.of_input(layout.probe_read.clone(), |column| layout.filtered_probe_column(column))
            }
        };
        Wanted { is_among_joins: self.is_reorderable, ..of_probe }
    }

    /// The columns of the probe side that are read.
    pub(super) fn probe_columns(&self) -> Vec<usize> {
        let read = self.form.probe_read();
        (0..read.len()).filter(|column| read[*column]).collect()
    }

    /// Number of columns of the probe side.
    pub(super) fn probe_width(&self) -> usize {
        self.form.probe_read().len()
    }

    /// Whether the result of a build row and its pairs is independent of other build rows.
    pub(super) fn takes_pieces(&self) -> bool {
        matches!(self.kind, JoinKind::Inner | JoinKind::BuildOuter | JoinKind::BuildSemi | JoinKind::BuildAnti)
    }
}

/// The spilled partitions of a build side. They may be partitioned again at `level`.
pub(super) fn spilled_partitions(
    join: &Arc<Join>,
    spilled: Vec<Option<SpilledRows>>,
    probe: &Arc<SpilledProbe>,
    level: u32,
) -> Vec<SpilledPartition> {
    let only = spilled.iter().flatten().count() == 1;
    let partition = |(at, build): (usize, SpilledRows)| {
        // If all rows are in one partition, they have one key, or very few keys.
        let level = if only && level > 1 { LEVELS_MAX } else { level };
        let probe = ProbeRows::OfPartition(probe.clone(), at);
        SpilledPartition { join: join.clone(), build: Arc::new(build), probe, level, is_whole: false }
    };
    spilled.into_iter().enumerate().filter_map(|(at, build)| Some((at, build?))).map(partition).collect()
}
