//! Grouping sets of which one contains all others, as those of ROLLUP and CUBE: the groups of each set, a *level*, are made of the groups of
//! the smallest level that contains it.
//!
//! ```text
//! groups by a, b                        made of the rows, and kept
//!   └ groups by a                       made of the groups by a, b, and kept
//!       └ one group                     made of the groups by a
//! union: one group, groups by a, groups by a, b
//! ```
//!
//! The rows are grouped once. What is known of a group is combined: sums and counts are added, of extremes the extreme is taken
//! (distributive functions: Gray et al., Data Cube, ICDE 1996, section 5). Averages and variances are made of sums and counts at the end
//! (algebraic functions). DISTINCT and accumulators have no such parts; rows are [expanded](super::grouping_sets) then, and so they are for
//! sets of which none contains all others.
//!
//! The level of the fewest keys is the first input of the union. Where each level is made of the one before, all are there before the union
//! has a row, so that arithmetic that [overflows](super::forms) does so before a row is returned. Other levels are made for arithmetic that
//! cannot overflow only.

use braid_exec::Expression as Lowered;
use braid_exec::plan::{AggregateCall, AggregateFunction, AggregationSpec, CteId, Plan};
use braid_sql::SqlError;
use braid_sql::relation::Aggregation;
use braid_storage::Scalar;

use super::groups::Groups;
use super::query::Lowering;

/// Most levels: each is a common table within the one before.
const LEVELS_MAX: usize = 32;

/// The groups of a grouping set.
pub(super) struct Level {
    /// Positions of keys, in order.
    pub keys: Vec<usize>,
    /// The level that it is made of; `None` for that of the rows.
    parent: Option<usize>,
}

/// The levels of grouping sets, from the one with all keys to the one with the fewest.
pub(super) fn levels(aggregation: &Aggregation) -> Option<Vec<Level>> {
    let keys = 0..aggregation.keys.len();
    let in_order = |set: &Vec<usize>| keys.clone().filter(|key| set.contains(key)).collect();
    let mut sets: Vec<Vec<usize>> = aggregation.sets.iter().map(in_order).collect();
    sets.sort_by_key(|set| std::cmp::Reverse(set.len()));
    let has_all_keys = sets.first().is_some_and(|set| set.len() == keys.len());
    if !has_all_keys || !(2..=LEVELS_MAX).contains(&sets.len()) {
        return None;
    }
    let contains = |set: &Vec<usize>, other: &Vec<usize>| other.iter().all(|key| set.contains(key));
    let parent = |at: usize| sets[..at].iter().rposition(|set| contains(set, &sets[at]));
    let parents: Vec<Option<usize>> = (0..sets.len()).map(parent).collect();
    Some(sets.into_iter().zip(parents).map(|(keys, parent)| Level { keys, parent }).collect())
}

/// Whether each level is made of the one before.
pub(super) fn is_chain(levels: &[Level]) -> bool {
    levels.iter().enumerate().all(|(at, level)| level.parent == at.checked_sub(1))
}

/// What combines the results of an aggregate for groups; `None` if they do not suffice.
fn combining(call: &AggregateCall) -> Option<AggregateFunction> {
    use AggregateFunction as F;
    match call.function {
        _ if call.distinct => None,
        F::CountRows | F::Count | F::Sum => Some(F::Sum),
        F::Minimum | F::Maximum | F::BoolAnd | F::BoolOr => Some(call.function),
        F::Average(_) => None,
    }
}

/// Whether the groups of a grouping can be combined.
pub(super) fn can_be_combined(groups: &Groups) -> bool {
    groups.foreign.is_empty() && groups.calls.iter().all(|call| combining(call).is_some())
}

/// The columns of all levels: the keys, which are null where a level has them not, and then the calls.
struct LevelColumns {
    keys: usize,
    calls: Vec<AggregateCall>,
}

impl Lowering<'_> {
    /// The groups of all levels. `results` are the columns of a level's groups, by its keys, over all keys and calls.
    pub(super) fn by_levels(
        &self,
        mut groups: Groups,
        levels: &[Level],
        results: impl Fn(&[usize]) -> Vec<Lowered>,
    ) -> Result<Plan, SqlError> {
        if groups.calls.is_empty() {
            // One group, which exists even without rows.
            let function = AggregateFunction::CountRows;
            groups.call(AggregateCall { function, argument: None, distinct: false, filter: None });
        }
        let columns = LevelColumns { keys: groups.keys, calls: groups.calls.clone() };
        let mut of_rows = Some(groups.plan());
        let (mut kept, mut scans, mut made) = (Vec::new(), Vec::<Plan>::new(), Vec::new());
        for (at, level) in levels.iter().enumerate() {
            self.count_operator()?;
            let plan = match level.parent {
                None => of_rows.take().expect("one level is made of the rows"),
                Some(parent) => columns.combined(scans[parent].clone(), &level.keys),
            };
            let is_kept = levels.iter().any(|other| other.parent == Some(at));
            scans.push(if is_kept { self.kept(plan, columns.count(), &mut kept) } else { plan });
            made.push(Plan::Project { input: Box::new(scans[at].clone()), expressions: results(&level.keys) });
        }
        made.reverse();
        Ok(kept.into_iter().rev().fold(Plan::Union(made), with_table))
    }

    /// A scan of a further common table.
    fn kept(&self, plan: Plan, column_count: usize, kept: &mut Vec<(CteId, Plan)>) -> Plan {
        let cte = self.add_common_table();
        kept.push((cte, plan));
        Plan::CteScan { cte, column_count }
    }
}

fn with_table(body: Plan, (cte, definition): (CteId, Plan)) -> Plan {
    Plan::With { cte, definition: Box::new(definition), body: Box::new(body) }
}

impl LevelColumns {
    fn count(&self) -> usize {
        self.keys + self.calls.len()
    }

    /// The groups of a level, of those of the one before.
    fn combined(&self, groups: Plan, level: &[usize]) -> Plan {
        let calls = self.calls.iter().zip(self.keys..).map(|(call, at)| AggregateCall {
            function: combining(call).expect("the groups can be combined"),
            argument: Some(at),
            distinct: false,
            filter: None,
        });
        let spec = AggregationSpec { keys: level.to_vec(), aggregates: calls.collect() };
        let groups = Plan::Aggregate { input: Box::new(groups), spec: spec.into() };
        let key = |key: usize| match level.iter().position(|own| *own == key) {
            Some(at) => Lowered::Column(at),
            None => Lowered::Constant(None),
        };
        let call = |(call, at): (&AggregateCall, usize)| match call.function {
            // A group without rows, whose sum is null.
            AggregateFunction::CountRows | AggregateFunction::Count if level.is_empty() => {
                zero_for_null(Lowered::Column(at))
            }
            _ => Lowered::Column(at),
        };
        let expressions = (0..self.keys).map(key).chain(self.calls.iter().zip(level.len()..).map(call));
        Plan::Project { input: Box::new(groups), expressions: expressions.collect() }
    }
}

fn zero_for_null(count: Lowered) -> Lowered {
    let zero = Lowered::Constant(Some(Scalar::Int(0)));
    let branches = vec![(Lowered::IsNull(Box::new(count.clone())), zero)];
    Lowered::Case { branches, otherwise: Some(Box::new(count)) }
}
