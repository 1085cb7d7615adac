//! Columns that correlated conditions read have names of their own.
//!
//! To make a join of `EXISTS (SELECT … FROM a, b WHERE a.id = o.x AND b.id = o.y)`, DataFusion adds the columns that the
//! conditions read to the subquery's columns, and finds them there by their names alone: `a.id` and `b.id` would be one
//! column. Where another column of the subquery has the same name, the condition reads a copy instead, which a projection
//! below the filter makes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result, TableReference};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Filter, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// The rule. It has to run before DataFusion's rules that make joins of subqueries.
#[derive(Debug)]
pub(crate) struct CorrelatedNames;

impl OptimizerRule for CorrelatedNames {
    fn name(&self) -> &str {
        "correlated_names"
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        plan.transform_up_with_subqueries(|node| match node {
            LogicalPlan::Subquery(mut subquery) if !subquery.outer_ref_columns.is_empty() => {
                let owners = Owners::of(&subquery.subquery)?;
                let inner = Arc::unwrap_or_clone(subquery.subquery);
                let inner = inner.transform_up(|node| with_copies(node, &owners, config))?;
                subquery.subquery = Arc::new(inner.data);
                Ok(Transformed::new_transformed(LogicalPlan::Subquery(subquery), inner.transformed))
            }
            other => Ok(Transformed::no(other)),
        })
    }
}

/// The relations that have a column of some name, in any part of a subquery.
struct Owners(HashMap<String, HashSet<Option<TableReference>>>);

impl Owners {
    fn of(plan: &LogicalPlan) -> Result<Self> {
        let mut owners: HashMap<String, HashSet<Option<TableReference>>> = HashMap::new();
        plan.apply(|node| {
            for (relation, field) in node.schema().iter() {
                owners.entry(field.name().clone()).or_default().insert(relation.cloned());
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(Self(owners))
    }

    fn is_shared(&self, column: &Column) -> bool {
        self.0.get(&column.name).is_some_and(|owners| owners.len() > 1)
    }
}

/// A filter whose correlated conditions read copies of the columns that share their names.
fn with_copies(node: LogicalPlan, owners: &Owners, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Filter(filter) = node else {
        return Ok(Transformed::no(node.recompute_schema()?));
    };
    let (correlated, others): (Vec<_>, Vec<_>) =
        split_conjunction_owned(filter.predicate.clone()).into_iter().partition(Expr::contains_outer);
    let read = correlated.iter().flat_map(Expr::column_refs).filter(|column| owners.is_shared(column));
    let mut copies: HashMap<Column, String> = HashMap::new();
    for column in read {
        copies.entry(column.clone()).or_insert_with(|| config.alias_generator().next("__correlated"));
    }
    if copies.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    }
    let columns = filter.input.schema().columns().into_iter().map(Expr::Column);
    let copied = copies.iter().map(|(column, name)| Expr::Column(column.clone()).alias(name));
    let projected: Vec<Expr> = columns.chain(copied).collect();
    let input = LogicalPlanBuilder::from(Arc::unwrap_or_clone(filter.input)).project(projected)?.build()?;
    let correlated = correlated.into_iter().map(|condition| reading(condition, &copies));
    let conditions = correlated.chain(others.into_iter().map(Ok)).collect::<Result<Vec<_>>>()?;
    let predicate = conjunction(conditions).expect("a filter has a condition");
    Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(input))?)))
}

fn reading(condition: Expr, copies: &HashMap<Column, String>) -> Result<Expr> {
    let condition = condition.transform_up(|expr| match &expr {
        Expr::Column(column) => Ok(match copies.get(column) {
            Some(copy) => Transformed::yes(Expr::Column(Column::new_unqualified(copy))),
            None => Transformed::no(expr),
        }),
        _ => Ok(Transformed::no(expr)),
    })?;
    Ok(condition.data)
}
