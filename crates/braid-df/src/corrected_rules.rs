//! DataFusion's rules where they are wrong.
//!
//! An aggregation without groups keeps the filters above it. It has one row, whatever is below it: `SELECT * FROM (SELECT max(a), 1 AS x FROM t) WHERE x = 2` has
//! none. DataFusion pushes a condition on the groups' columns below an aggregation, and takes one without any columns,
//! here `1 = 2`, for one of those.
//!
//! Physical plans keep their filters where they are. DataFusion follows columns by name, and past a join whose sides have
//! columns of one name it takes a condition on both sides for one on the other side alone. What it would gain is nothing:
//! scans have got their filters from the logical plan, and take from physical plans only what is learnt while they run.
//!
//! Sorts keep all their keys. DataFusion drops a key that the keys before it determine, and believes that the groups of a
//! derived table determine also what they are joined with: `ORDER BY g, x` would be `ORDER BY g`.
//!
//! A join in which nulls are equal gets no keys of `=` beside those of IS NOT DISTINCT FROM: nulls would be equal in them, too.
//!
//! Two rules are Braid's own: [`JoinKeys`] stands in the place of the one that makes joins by keys of cross joins, and
//! [`CorrelatedNames`] before all others.

mod correlated_names;
mod join_keys;

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{NullEquality, Result};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{Optimizer, OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;

use self::correlated_names::CorrelatedNames;
use self::join_keys::JoinKeys;
use crate::bounded::{BoundedRows, CountedWindows};

/// The rule's name.
const PUSH_DOWN_FILTER: &str = "push_down_filter";

/// The name of the rule that drops keys of sorts, and of groups that are there twice.
const DROP_KEYS: &str = "eliminate_duplicated_expr";

/// The name of the rule that makes keys of joins' conditions.
const EXTRACT_KEYS: &str = "extract_equijoin_predicate";

/// The name of the rule that makes joins by keys of cross joins.
const JOIN_KEYS: &str = "eliminate_cross_join";

/// The name of the physical rule, which is not that of the one for what is learnt while plans run.
const PHYSICAL_FILTER_PUSH_DOWN: &str = "FilterPushdown";

type Rule = Arc<dyn OptimizerRule + Send + Sync>;

/// DataFusion's physical rules without the one that follows filters' columns by name, and the bounds on long rows.
pub(crate) fn physical_optimizer_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules = PhysicalOptimizer::new().rules;
    rules.retain(|rule| rule.name() != PHYSICAL_FILTER_PUSH_DOWN);
    rules.push(Arc::new(BoundedRows));
    rules.push(Arc::new(CountedWindows));
    rules
}

/// DataFusion's rules, some of them restricted to plans that they do not break.
pub(crate) fn optimizer_rules() -> Vec<Rule> {
    let guarded = |rule: Rule| -> Rule {
        match rule.name() {
            PUSH_DOWN_FILTER => Arc::new(Guarded { rule, is_left_alone: filters_one_group }),
            DROP_KEYS => Arc::new(Guarded { rule, is_left_alone: is_sort }),
            EXTRACT_KEYS => Arc::new(Guarded { rule, is_left_alone: nulls_are_equal }),
            JOIN_KEYS => Arc::new(JoinKeys),
            _ => rule,
        }
    };
    let first: Rule = Arc::new(CorrelatedNames);
    std::iter::once(first).chain(Optimizer::new().rules.into_iter().map(guarded)).collect()
}

struct Guarded {
    rule: Rule,
    is_left_alone: fn(&LogicalPlan) -> bool,
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rule.fmt(f)
    }
}

impl OptimizerRule for Guarded {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if (self.is_left_alone)(&plan) {
            return Ok(Transformed::no(plan));
        }
        self.rule.rewrite(plan, config)
    }
}

fn is_sort(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Sort(_))
}

fn nulls_are_equal(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Join(join) if join.null_equality == NullEquality::NullEqualsNull)
}

/// Whether a filter, or filters that the rule would make one of, stands on an aggregation without groups.
fn filters_one_group(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Filter(filter) = plan else { return false };
    match &*filter.input {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        below => filters_one_group(below),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_are_there_to_be_guarded_and_left_out() {
        let rules = optimizer_rules();
        for name in [PUSH_DOWN_FILTER, DROP_KEYS, EXTRACT_KEYS, JOIN_KEYS] {
            assert_eq!(rules.iter().filter(|rule| rule.name() == name).count(), 1);
        }
        assert_eq!(rules.len(), Optimizer::new().rules.len() + 1);
        // One is left out, two are added.
        assert_eq!(physical_optimizer_rules().len(), PhysicalOptimizer::new().rules.len() + 1);
    }
}
