//! The definition of a join: a nested loop over the rows of both sides.

use braid_base::VECTOR_ROWS;
use braid_storage::Scalar;

use super::random_sides::{Row, Value};
use crate::joins::hash::{JoinSpec, Residual};
use crate::keys::null_keys::NullKeys;
use crate::plan::JoinKind;
use crate::values::vector::Values;

const KINDS: [JoinKind; 9] = [
    JoinKind::Inner,
    JoinKind::ProbeOuter,
    JoinKind::BuildOuter,
    JoinKind::FullOuter,
    JoinKind::ProbeSemi,
    JoinKind::ProbeAnti,
    JoinKind::ProbeMark,
    JoinKind::BuildSemi,
    JoinKind::BuildAnti,
];

/// Whether a pair satisfies the residual.
fn residual_counts(probe_id: i64, build_id: i64) -> bool {
    (probe_id * 5 + build_id * 3) % 4 != 0
}

/// The condition of [`residual_counts`] on pairs.
pub(super) fn residual(key_count: usize) -> Residual {
    Box::new(move |batch| {
        assert!(batch.row_count() > 0 && batch.row_count() <= VECTOR_ROWS);
        let (probe, build) = (batch.column(key_count), batch.column(key_count + 1));
        let (Values::Int(probe), Values::Int(build)) = (probe.values(), build.values()) else { panic!("ids") };
        Ok(probe.iter().zip(build).map(|(probe, build)| residual_counts(*probe, *build)).collect())
    })
}

/// Whether keys are equal; `None` if that is unknown because of a null.
pub(super) fn keys_equal(spec: &JoinSpec, probe: &Row, build: &Row) -> Option<bool> {
    let mut unknown = false;
    for (probe, build) in probe.keys.iter().zip(&build.keys) {
        match (probe, build) {
            (Some(probe), Some(build)) if probe != build => return Some(false),
            (Some(_), Some(_)) => {}
            (None, None) if spec.null_keys.are_equal() => {}
            _ if spec.null_keys.are_equal() => return Some(false),
            _ => unknown = true,
        }
    }
    (!unknown).then_some(true)
}

/// The rows of the join as sorted texts.
pub(super) fn expected(spec: &JoinSpec, probe: &[Row], build: &[Row]) -> Vec<String> {
    let counts = |probe: &Row, build: &Row| !spec.has_residual || residual_counts(probe.id, build.id);
    let pair = |probe: &Row, build: &Row| counts(probe, build) && keys_equal(spec, probe, build) == Some(true);
    let probe_values = |row: &Row| [row.keys.clone(), vec![Some(Scalar::Int(row.id))]].concat();
    let build_values = |row: &Row| [vec![Some(Scalar::Int(row.id))], row.keys.clone()].concat();
    let nulls = vec![None; spec.build_keys.len() + 1];
    let kind = spec.kind;
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for probe in probe {
        let partners: Vec<&Row> = build.iter().filter(|build| pair(probe, build)).collect();
        if kind.makes_pairs() {
            rows.extend(partners.iter().map(|build| [probe_values(probe), build_values(build)].concat()));
        }
        if kind.keeps_probe_rows() && partners.is_empty() {
            rows.push([probe_values(probe), nulls.clone()].concat());
        }
        let perhaps = spec.null_keys.are_unknown()
            && build.iter().any(|build| counts(probe, build) && keys_equal(spec, probe, build).is_none());
        let mark = if !partners.is_empty() { Some(true) } else { (!perhaps).then_some(false) };
        match kind {
            JoinKind::ProbeSemi if mark == Some(true) => rows.push(probe_values(probe)),
            JoinKind::ProbeAnti if mark == Some(false) => rows.push(probe_values(probe)),
            JoinKind::ProbeMark => rows.push([probe_values(probe), vec![mark.map(Scalar::Bool)]].concat()),
            _ => {}
        }
    }
    for build in build {
        let has_partner = probe.iter().any(|probe| pair(probe, build));
        match kind {
            JoinKind::BuildOuter | JoinKind::FullOuter if !has_partner => {
                rows.push([nulls.clone(), build_values(build)].concat());
            }
            JoinKind::BuildSemi if has_partner => rows.push(build_values(build)),
            JoinKind::BuildAnti if !has_partner => rows.push(build_values(build)),
            _ => {}
        }
    }
    let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows
}

/// All specifications of joins with this number of keys.
pub(super) fn specs(key_count: usize) -> impl Iterator<Item = JoinSpec> {
    let null_keys = [NullKeys::EqualNothing, NullKeys::EqualNull, NullKeys::Unknown];
    let options = null_keys.into_iter().flat_map(|null_keys| [(false, null_keys), (true, null_keys)]);
    KINDS.into_iter().flat_map(move |kind| {
        let may_be_not_in = matches!(kind, JoinKind::ProbeAnti | JoinKind::ProbeMark) && key_count == 1;
        options.clone().filter(move |(_, null_keys)| may_be_not_in || !null_keys.are_unknown()).map(
            move |(has_residual, null_keys)| JoinSpec {
                tuning: crate::tuning::Tuning::small().joins,
                kind,
                build_keys: (1..=key_count).collect(),
                probe_keys: (0..key_count).collect(),
                null_keys,
                has_residual,
                build_column_count: key_count + 1,
            },
        )
    })
}
