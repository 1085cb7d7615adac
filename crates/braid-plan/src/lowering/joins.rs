//! Joins: equalities of both sides become keys, the rest of the condition is checked for each pair.

use braid_exec::Expression as Lowered;
use braid_exec::plan::{JoinCondition, JoinKind as LoweredKind, NullKeys, Plan};
use braid_sql::expression::{Expression, Node};
use braid_sql::relation::{ColumnId, JoinKind, Relation};
use braid_sql::{SqlError, Value};

use super::marks::{MarkParts, null_keys};
use super::operators::is_equality;
use super::query::Lowering;
use super::relations::{Input, unsupported};

impl Lowering<'_> {
    /// A join. The right side is built, and the left one probes.
    pub(super) fn join(
        &self,
        kind: JoinKind,
        left: &Relation,
        right: &Relation,
        condition: &Expression,
    ) -> Result<Input, SqlError> {
        let (probe, build) = (self.relation(left)?, self.relation(right)?);
        if right.free_columns().iter().any(|column| probe.columns.contains(column)) {
            return Err(unsupported("lateral joins"));
        }
        let conjuncts = conjuncts(condition);
        let JoinParts { keys, rest, kind: lowered_kind, null_keys } =
            self.parts(kind, conjuncts, &probe.columns, &build.columns)?;
        let Keys { probe: probe_keys, build: build_keys, .. } = keys;
        let (probe_columns, build_columns) = (probe.columns.clone(), build.columns.clone());
        let (probe_plan, probe_keys) = probe.with_positions(probe_keys);
        let (build_plan, build_keys) = build.with_positions(build_keys);
        // Columns that stand for keys come after those of their side.
        let (probe_width, build_width) = (probe_plan.column_count(), build_plan.column_count());
        let place = |column: &ColumnId| {
            let in_probe = probe_columns.iter().position(|own| own == column);
            in_probe.or_else(|| build_columns.iter().position(|own| own == column).map(|at| probe_width + at))
        };
        let both: Vec<ColumnId> = probe_columns.iter().chain(&build_columns).copied().collect();
        let residual = match rest.len() {
            0 => None,
            1 => Some(self.expression(&rest[0], &both)?),
            _ => Some(Lowered::And(
                rest.iter().map(|conjunct| self.expression(conjunct, &both)).collect::<Result<_, _>>()?,
            )),
        };
        let residual = residual.map(|mut residual| {
            residual.map_columns(&mut |at| place(&both[at]).unwrap_or(at));
            residual
        });
        let condition = JoinCondition { kind: lowered_kind, build_keys, probe_keys, residual, null_keys };
        let plan = Plan::join(build_plan, probe_plan, condition);
        // The columns that the join returns, and their positions.
        let returned = lowered_kind.columns();
        let mut columns: Vec<(ColumnId, usize)> = probe_columns.iter().copied().zip(0..).collect();
        let after_probe = probe_width + usize::from(returned.mark);
        if let JoinKind::Mark(mark) = kind {
            columns.push((mark, probe_width));
        }
        if returned.build {
            columns.extend(build_columns.iter().copied().zip(after_probe..));
        }
        let width = after_probe + if returned.build { build_width } else { 0 };
        let plan = match width == columns.len() {
            true => plan,
            false => {
                let expressions = columns.iter().map(|(_, at)| Lowered::Column(*at)).collect();
                Plan::Project { input: Box::new(plan), expressions }
            }
        };
        Ok(Input { plan, columns: columns.into_iter().map(|(column, _)| column).collect() })
    }

    /// The keys of a condition, and what is left of it.
    fn parts(
        &self,
        kind: JoinKind,
        conjuncts: Vec<&Expression>,
        probe: &[ColumnId],
        build: &[ColumnId],
    ) -> Result<JoinParts, SqlError> {
        let (equalities, others, kind, are_unknown) = match kind {
            JoinKind::Mark(_) => {
                let is_key = |conjunct: &Expression| equality(conjunct, probe, build).is_some();
                let MarkParts { keys, rest, kind, are_keys_unknown } = MarkParts::of(&conjuncts, is_key);
                (keys, rest, kind, are_keys_unknown)
            }
            kind => (conjuncts, Vec::new(), lowered_kind(kind), false),
        };
        let (mut keys, mut rest) = (Keys::default(), Vec::new());
        for conjunct in equalities {
            match self.key(conjunct, probe, build)? {
                Some(key) if keys.takes(&key) => keys.add(key),
                // An equality of another kind is no key, but drops rows all the same.
                _ => rest.push(conjunct.clone()),
            }
        }
        rest.extend(others.into_iter().cloned());
        let null_keys = null_keys(are_unknown, keys.are_null_safe);
        Ok(JoinParts { keys, rest, kind, null_keys })
    }

    /// The keys of an equality of both sides.
    fn key(&self, conjunct: &Expression, probe: &[ColumnId], build: &[ColumnId]) -> Result<Option<Key>, SqlError> {
        let Some(Equality { of_probe, of_build, is_null_safe }) = equality(conjunct, probe, build) else {
            return Ok(None);
        };
        let (probe, build) = self.comparable_sides((of_probe, probe), (of_build, build))?;
        Ok(Some(Key { probe, build, is_null_safe }))
    }
}

/// The parts of a join's condition.
struct JoinParts {
    keys: Keys,
    /// What is checked for each pair with equal keys.
    rest: Vec<Expression>,
    kind: LoweredKind,
    null_keys: NullKeys,
}

/// An equality whose operands each read one side of the join only.
struct Equality<'e> {
    of_probe: &'e Expression,
    of_build: &'e Expression,
    /// `IS NOT DISTINCT FROM`
    is_null_safe: bool,
}

/// The conjunct as an equality of both sides. `(a = b) IS TRUE` holds for the same rows as `a = b`.
fn equality<'e>(conjunct: &'e Expression, probe: &[ColumnId], build: &[ColumnId]) -> Option<Equality<'e>> {
    let (first, second, is_null_safe) = match &conjunct.node {
        Node::Is(true, operand) => return equality(operand, probe, build),
        Node::Call(call) if is_equality(call.function.id) => match &call.arguments[..] {
            [first, second] => (first, second, false),
            _ => return None,
        },
        Node::Not(operand) => match &operand.node {
            Node::Distinct(first, second, equals) if is_equality(equals.id) => (&**first, &**second, true),
            _ => return None,
        },
        _ => return None,
    };
    if conjunct.is_volatile() {
        return None;
    }
    let reads_only = |expression: &Expression, side: &[ColumnId]| {
        let columns = expression.free_columns();
        !columns.is_empty() && columns.iter().all(|column| side.contains(column))
    };
    if reads_only(first, probe) && reads_only(second, build) {
        Some(Equality { of_probe: first, of_build: second, is_null_safe })
    } else if reads_only(second, probe) && reads_only(first, build) {
        Some(Equality { of_probe: second, of_build: first, is_null_safe })
    } else {
        None
    }
}

/// An equality of both sides.
struct Key {
    probe: Lowered,
    build: Lowered,
    /// `IS NOT DISTINCT FROM`
    is_null_safe: bool,
}

/// The equalities that a join looks up.
#[derive(Default)]
struct Keys {
    probe: Vec<Lowered>,
    build: Vec<Lowered>,
    are_null_safe: bool,
}

impl Keys {
    /// Whether nulls in a key are compared as in those that are there.
    fn takes(&self, key: &Key) -> bool {
        self.probe.is_empty() || self.are_null_safe == key.is_null_safe
    }

    fn add(&mut self, key: Key) {
        self.are_null_safe = key.is_null_safe;
        self.probe.push(key.probe);
        self.build.push(key.build);
    }
}

/// The operator's kind.
fn lowered_kind(kind: JoinKind) -> LoweredKind {
    match kind {
        JoinKind::Inner => LoweredKind::Inner,
        JoinKind::Left => LoweredKind::ProbeOuter,
        JoinKind::Right => LoweredKind::BuildOuter,
        JoinKind::Full => LoweredKind::FullOuter,
        JoinKind::Semi => LoweredKind::ProbeSemi,
        JoinKind::Anti => LoweredKind::ProbeAnti,
        JoinKind::Mark(_) => LoweredKind::ProbeTruth,
        JoinKind::Single => LoweredKind::ProbeSingle,
    }
}

/// The parts of a condition that must all be true.
fn conjuncts(condition: &Expression) -> Vec<&Expression> {
    match &condition.node {
        Node::And(operands) => operands.iter().flat_map(conjuncts).collect(),
        Node::Constant(Value::Bool(true)) => Vec::new(),
        _ => vec![condition],
    }
}
