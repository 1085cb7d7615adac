//! Filters that joins and top-k compute at run time, as predicates of the scan below them.
//!
//! DataFusion passes a [`DynamicFilterPhysicalExpr`] down the plan: the key bounds of a hash join's build side (known after the
//! build), or the worst value that a top-k still accepts (tighter with every batch). The operator that made the filter checks
//! every row again. This module therefore uses only simple parts of it, conditions on one column. Other conditions are
//! dropped from a conjunction, and make a disjunction unusable.
//!
//! The current expression is translated once per chunk; translations are small (bounds, at most a short IN list).

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use braid_base::ColumnId;
use braid_scan::LivePredicates;
use braid_storage::{ColumnPredicate, Scalar, TableDef};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, DynamicFilterPhysicalExpr, InListExpr, IsNotNullExpr, IsNullExpr, Literal,
};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::PhysicalExpr;

use crate::comparison::{cast_is_exact, compare, never};
use crate::filter_translation::{comparison, in_literals, intersect};

/// The dynamic filters that were pushed into one scan.
pub struct DynamicFilters {
    def: Arc<TableDef>,
    /// What column `i` of the filters' schema is in the table.
    projection: Vec<ColumnId>,
    filters: Vec<Arc<dyn PhysicalExpr>>,
    columns: Vec<ColumnId>,
}

/// What an expression is known to demand of a row, at least.
#[derive(Clone, Debug)]
enum Demand {
    /// No row satisfies it.
    Nothing,
    /// All of these; nothing known if there are none. At most one on a column.
    All(Vec<(ColumnId, ColumnPredicate)>),
}

impl DynamicFilters {
    /// The dynamic ones of `filters`, over the columns `projection` of the table; `None` if there are none.
    pub fn new(def: Arc<TableDef>, projection: &[ColumnId], filters: &[Arc<dyn PhysicalExpr>]) -> Option<Arc<Self>> {
        let filters: Vec<_> = filters.iter().filter(|filter| is_dynamic(filter)).cloned().collect();
        if filters.is_empty() {
            return None;
        }
        let referenced = filters.iter().flat_map(collect_columns);
        let mut columns: Vec<ColumnId> = referenced.filter_map(|c| projection.get(c.index()).copied()).collect();
        columns.sort_unstable();
        columns.dedup();
        Some(Arc::new(Self { def, projection: projection.to_vec(), filters, columns }))
    }

    /// The expressions, for plan traversals.
    pub fn filters(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.filters
    }

    fn demand(&self, expr: &Arc<dyn PhysicalExpr>) -> Demand {
        if let Some(dynamic) = expr.downcast_ref::<DynamicFilterPhysicalExpr>() {
            return dynamic.current().map_or(Demand::All(Vec::new()), |current| self.demand(&current));
        }
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            return match binary.op() {
                Operator::And => self.demand(binary.left()).and(self.demand(binary.right())),
                Operator::Or => self.demand(binary.left()).or(self.demand(binary.right())),
                _ => Demand::one(self.compared(binary)),
            };
        }
        if let Some(case) = expr.downcast_ref::<CaseExpr>() {
            // Whichever branch is taken, a row that passes satisfies that branch.
            let branches = case.when_then_expr().iter().map(|(_, then)| then).chain(case.else_expr());
            return branches.map(|branch| self.demand(branch)).reduce(Demand::or).unwrap_or(Demand::Nothing);
        }
        if let Some(list) = expr.downcast_ref::<InListExpr>() {
            return Demand::one(self.listed(list));
        }
        if let Some(literal) = expr.downcast_ref::<Literal>() {
            return match literal.value() {
                ScalarValue::Boolean(Some(true)) => Demand::All(Vec::new()),
                value if value.is_null() || *value == ScalarValue::Boolean(Some(false)) => Demand::Nothing,
                _ => Demand::All(Vec::new()),
            };
        }
        if let Some(test) = expr.downcast_ref::<IsNullExpr>() {
            return match self.column(test.arg()) {
                Some(column) if !self.def.columns[usize::from(column.0)].nullable => Demand::Nothing,
                column => Demand::one(column.map(|column| (column, ColumnPredicate::IsNull))),
            };
        }
        if let Some(test) = expr.downcast_ref::<IsNotNullExpr>() {
            return Demand::one(self.column(test.arg()).map(|column| (column, ColumnPredicate::IsNotNull)));
        }
        Demand::All(Vec::new())
    }

    fn compared(&self, binary: &BinaryExpr) -> Option<(ColumnId, ColumnPredicate)> {
        let literal = |expr: &Arc<dyn PhysicalExpr>| expr.downcast_ref::<Literal>().map(|l| l.value().clone());
        let comparison = comparison(*binary.op())?;
        let (column, comparison, value) = match (self.column(binary.left()), literal(binary.right())) {
            (Some(column), Some(value)) => (column, comparison, value),
            _ => (self.column(binary.right())?, comparison.mirrored(), literal(binary.left())?),
        };
        let column_type = self.def.columns[usize::from(column.0)].column_type;
        Some((column, compare(column_type, comparison, &value)?))
    }

    fn listed(&self, list: &InListExpr) -> Option<(ColumnId, ColumnPredicate)> {
        let column = self.column(list.expr())?;
        let literals: Option<Vec<&ScalarValue>> =
            list.list().iter().map(|expr| expr.downcast_ref::<Literal>().map(Literal::value)).collect();
        let column_type = self.def.columns[usize::from(column.0)].column_type;
        Some((column, in_literals(column_type, literals?, !list.negated())?))
    }

    /// The column that `expr` is, looking through casts that lose nothing.
    fn column(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<ColumnId> {
        if let Some(column) = expr.downcast_ref::<Column>() {
            return self.projection.get(column.index()).copied();
        }
        let cast = expr.downcast_ref::<CastExpr>()?;
        let column = self.column(cast.expr())?;
        cast_is_exact(self.def.columns[usize::from(column.0)].column_type, cast.cast_type()).then_some(column)
    }
}

impl LivePredicates for DynamicFilters {
    fn columns(&self) -> &[ColumnId] {
        &self.columns
    }

    fn current(&self) -> Vec<(ColumnId, ColumnPredicate)> {
        let demands = self.filters.iter().map(|filter| self.demand(filter));
        match (demands.reduce(Demand::and), self.columns.first()) {
            (Some(Demand::All(predicates)), _) => predicates,
            (Some(Demand::Nothing), Some(column)) => vec![(*column, never())],
            (Some(Demand::Nothing) | None, _) => Vec::new(),
        }
    }
}

impl fmt::Debug for DynamicFilters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicFilters").field("filters", &self.filters).finish_non_exhaustive()
    }
}

impl Demand {
    fn one(predicate: Option<(ColumnId, ColumnPredicate)>) -> Self {
        Self::All(predicate.into_iter().collect())
    }

    fn and(self, other: Self) -> Self {
        let (Self::All(mut all), Self::All(more)) = (self, other) else { return Self::Nothing };
        for (column, predicate) in more {
            match all.iter_mut().find(|(other, _)| *other == column) {
                // Where two conditions do not combine into one, either alone is right, only weaker.
                Some((_, held)) => *held = intersect(held, &predicate).unwrap_or(predicate),
                None => all.push((column, predicate)),
            }
        }
        Self::All(all)
    }

    fn or(self, other: Self) -> Self {
        let (left, right) = match (self, other) {
            (Self::Nothing, other) | (other, Self::Nothing) => return other,
            (Self::All(left), Self::All(right)) => (left, right),
        };
        let both = left.iter().filter_map(|(column, predicate)| {
            let (_, other) = right.iter().find(|(other, _)| other == column)?;
            Some((*column, hull(predicate, other)?))
        });
        Self::All(both.collect())
    }
}

/// A range that holds whatever satisfies either predicate; `None` if that would hold everything.
fn hull(a: &ColumnPredicate, b: &ColumnPredicate) -> Option<ColumnPredicate> {
    let ((low_a, high_a), (low_b, high_b)) = (bounds(a)?, bounds(b)?);
    let low = wider(low_a, low_b, true);
    let high = wider(high_a, high_b, false);
    (low != Bound::Unbounded || high != Bound::Unbounded).then_some(ColumnPredicate::Range { low, high })
}

/// The bounds that `predicate` sets.
fn bounds(predicate: &ColumnPredicate) -> Option<(Bound<Scalar>, Bound<Scalar>)> {
    match predicate {
        ColumnPredicate::Range { low, high } => Some((low.clone(), high.clone())),
        // Lists are ascending.
        ColumnPredicate::In(values) => {
            Some((Bound::Included(values.first()?.clone()), Bound::Included(values.last()?.clone())))
        }
        _ => None,
    }
}

/// The bound that excludes less.
fn wider(a: Bound<Scalar>, b: Bound<Scalar>, is_low: bool) -> Bound<Scalar> {
    let (Bound::Included(x) | Bound::Excluded(x)) = &a else { return Bound::Unbounded };
    let (Bound::Included(y) | Bound::Excluded(y)) = &b else { return Bound::Unbounded };
    match x.compare(y) {
        None => Bound::Unbounded,
        Some(order) if order.is_eq() => {
            if matches!(a, Bound::Included(_)) {
                a
            } else {
                b
            }
        }
        Some(order) => {
            if order.is_lt() == is_low {
                a
            } else {
                b
            }
        }
    }
}

/// Whether `expr` has a part that changes while the query runs.
fn is_dynamic(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let mut found = false;
    let visit = |part: &Arc<dyn PhysicalExpr>| {
        found |= part.is::<DynamicFilterPhysicalExpr>();
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    };
    expr.apply(visit).expect("the visitor does not fail");
    found
}
