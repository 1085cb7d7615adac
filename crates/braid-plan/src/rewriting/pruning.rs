//! Column pruning: operators make only the columns that are read above them.
//!
//! Needs: nothing. Keeps: the rows of the columns that are read, and all columns of tables; [`read_columns`] tells which of those are read.
//!
//! On the way down goes the set of columns that are read above. Left out are expressions of Map, aggregates, windows, columns of UNION ALL,
//! VALUES and common table expressions. What decides which rows there are stays: keys, DISTINCT, set operations, recursions, volatile and
//! set-returning functions. A union, VALUES and a common table
//! expression keep one column at least.

use std::collections::{BTreeMap, BTreeSet};

use braid_sql::Expression;
use braid_sql::expression::Node;
use braid_sql::relation::{Aggregation, ColumnId, ColumnSet, CteId, Relation, SubqueryKind};

use super::expressions::{has_subquery, in_subqueries, is_volatile};
use super::failing::may_fail_at_all;
use super::renumbering::each_relation;

/// The columns that a relation's operators read, and these outputs. Of a table's columns only these need to be scanned.
pub fn read_columns(relation: &Relation, outputs: &[ColumnId]) -> ColumnSet {
    let mut read: ColumnSet = outputs.iter().copied().collect();
    each_relation(relation, &mut |relation| {
        add_own_columns(relation, &mut read);
        relation.any_expression(&mut |expression| {
            add_read(expression, &mut read);
            false
        });
    });
    read
}

/// Adds the columns that an operator takes over by name.
fn add_own_columns(relation: &Relation, read: &mut ColumnSet) {
    match relation {
        Relation::Distinct { columns, .. } => read.extend(columns),
        Relation::Union { inputs, .. } => read.extend(inputs.iter().flat_map(|input| &input.columns)),
        Relation::SetOperation { left, right, .. } => read.extend(left.columns.iter().chain(&right.columns)),
        Relation::With { definition, .. } => read.extend(&definition.columns),
        Relation::Recursive(recursion) => read.extend(recursion.start.columns.iter().chain(&recursion.step.columns)),
        _ => {}
    }
}

/// The columns of an expression, and those that it takes of its subqueries, whose own relations are not looked into.
fn add_read(expression: &Expression, read: &mut ColumnSet) {
    match &expression.node {
        Node::Column(column, _) => read.insert(*column),
        Node::Subquery(subquery) if subquery.kind != SubqueryKind::Exists => read.extend(&subquery.columns),
        _ => {}
    }
    expression.any_operand(&mut |operand| {
        add_read(operand, read);
        false
    });
}

/// Adds the columns of an expression, and those of its subqueries that these do not make.
fn add_free_columns(expression: &Expression, read: &mut ColumnSet) {
    match has_subquery(expression) {
        true => read.extend(expression.free_columns()),
        false => add_read(expression, read),
    }
}

/// The columns of common table expressions that may fail. These make all their columns for each row, as in PostgreSQL, so that they fail also
/// where no one reads such a column.
pub(super) fn failing_columns(relation: &Relation) -> ColumnSet {
    let mut failing = ColumnSet::default();
    each_relation(relation, &mut |relation| {
        let Relation::With { definition, .. } = relation else { return };
        each_relation(&definition.relation, &mut |inner| failing.extend(made_by_failing(inner, &definition.columns)));
    });
    failing
}

/// The columns among these that an operator makes with expressions that may fail.
fn made_by_failing(relation: &Relation, columns: &[ColumnId]) -> Vec<ColumnId> {
    let made: Vec<ColumnId> = match relation {
        Relation::Map { expressions, .. } => {
            expressions.iter().filter(|(_, made)| may_fail_at_all(made)).map(|(made, _)| *made).collect()
        }
        Relation::Aggregate(aggregation) => {
            let calls = aggregation.aggregates.iter();
            calls.filter(|(_, call)| call.arguments.iter().any(may_fail_at_all)).map(|(made, _)| *made).collect()
        }
        _ => Vec::new(),
    };
    made.into_iter().filter(|made| columns.contains(made)).collect()
}

/// The relation with the columns that are read, of which these are the results, and with those `kept` in common table expressions.
pub(super) fn prune_columns(mut relation: Relation, outputs: &[ColumnId], kept: &ColumnSet) -> Relation {
    let mut pruning = Pruning { read: outputs.iter().copied().collect(), kept, positions: BTreeMap::new() };
    pruning.prune(&mut relation);
    relation
}

/// What is read, as far as it is known. A column has one name in the statement, so one set will do for all operators: an operator is looked
/// at after all that may read its columns.
struct Pruning<'k> {
    read: ColumnSet,
    /// Columns of common table expressions that stay.
    kept: &'k ColumnSet,
    /// The positions of common table expressions that scans read.
    positions: BTreeMap<CteId, BTreeSet<usize>>,
}

impl Pruning<'_> {
    fn prune(&mut self, relation: &mut Relation) {
        self.drop_unread(relation);
        add_own_columns(relation, &mut self.read);
        relation.any_expression(&mut |expression| {
            add_free_columns(expression, &mut self.read);
            false
        });
        in_subqueries(relation, &mut |subquery| {
            if subquery.kind != SubqueryKind::Exists {
                self.read.extend(&subquery.columns);
            }
            if let SubqueryKind::Quantified { comparison, .. } = &subquery.kind {
                self.read.extend(comparison.free_columns());
            }
            self.prune(&mut subquery.relation);
        });
        match relation {
            // What reads a common table expression comes first.
            Relation::With { cte, definition, body, .. } => {
                self.prune(body);
                let mut positions = self.positions.remove(cte).unwrap_or_default();
                let made = definition.columns.iter().enumerate();
                positions.extend(made.filter(|(_, column)| self.kept.contains(column)).map(|(at, _)| at));
                keep_positions(&mut definition.columns, &positions);
                drop_scan_columns(body, *cte, &positions);
                self.read.extend(&definition.columns);
                self.prune(&mut definition.relation);
            }
            Relation::Recursive(recursion) => {
                self.prune(&mut recursion.body);
                self.prune(&mut recursion.step.relation);
                self.prune(&mut recursion.start.relation);
            }
            // The right side of a lateral join reads the left one's columns.
            Relation::Join { left, right, .. } => {
                self.prune(right);
                self.prune(left);
            }
            other => other.inputs_mut().into_iter().for_each(|input| self.prune(input)),
        }
    }

    /// Leaves out what is not read of an operator itself.
    fn drop_unread(&mut self, relation: &mut Relation) {
        let read = &self.read;
        match relation {
            Relation::Map { input, expressions } => {
                expressions.retain(|(made, expression)| read.contains(made) || is_volatile(expression));
                if expressions.is_empty() {
                    *relation = std::mem::replace(&mut **input, Relation::OneRow);
                    self.drop_unread(relation);
                }
            }
            Relation::Aggregate(aggregation) => {
                aggregation.aggregates.retain(|(made, call)| {
                    read.contains(made) || call.arguments.iter().chain(&call.filter).any(is_volatile)
                });
                aggregation.groupings.retain(|(made, _)| read.contains(made));
                if has_one_bare_row(aggregation) {
                    *relation = Relation::OneRow;
                }
            }
            Relation::Window(windowing) => {
                windowing.calls.retain(|(made, call)| read.contains(made) || call.arguments.iter().any(is_volatile));
                let keys = windowing.partition_by.iter().chain(windowing.order_by.iter().map(|key| &key.expression));
                if windowing.calls.is_empty() && !keys.into_iter().any(is_volatile) {
                    *relation = std::mem::replace(&mut windowing.input, Relation::OneRow);
                    self.drop_unread(relation);
                }
            }
            Relation::Union { inputs, columns } => {
                let positions = self.positions_of(columns);
                keep_positions(columns, &positions);
                for input in inputs {
                    keep_positions(&mut input.columns, &positions);
                }
            }
            Relation::Values { columns, rows } => {
                let volatile = |at: usize| rows.iter().any(|row| is_volatile(&row[at]));
                let mut positions = self.positions_of(columns);
                positions.extend((0..columns.len()).filter(|at| volatile(*at)));
                keep_positions(columns, &positions);
                for row in rows {
                    keep_positions(row, &positions);
                }
            }
            Relation::CteScan { cte, columns } => {
                let positions = self.positions_of(columns);
                self.positions.entry(*cte).or_default().extend(positions);
            }
            _ => {}
        }
    }

    /// The positions of columns that are read; the first one if none is.
    fn positions_of(&self, columns: &[ColumnId]) -> BTreeSet<usize> {
        let read = columns.iter().enumerate().filter(|(_, column)| self.read.contains(column));
        let mut positions: BTreeSet<usize> = read.map(|(at, _)| at).collect();
        if positions.is_empty() && !columns.is_empty() {
            positions.insert(0);
        }
        positions
    }
}

/// Whether an aggregation has one row, whatever its input has, and no columns.
fn has_one_bare_row(aggregation: &Aggregation) -> bool {
    let has_columns =
        !aggregation.keys.is_empty() || !aggregation.aggregates.is_empty() || !aggregation.groupings.is_empty();
    !has_columns && aggregation.sets.len() == 1
}

fn keep_positions<T>(list: &mut Vec<T>, positions: &BTreeSet<usize>) {
    let mut at = 0;
    list.retain(|_| {
        at += 1;
        positions.contains(&(at - 1))
    });
}

/// Scans of a common table expression have the columns that it has now.
fn drop_scan_columns(relation: &mut Relation, id: CteId, positions: &BTreeSet<usize>) {
    if let Relation::CteScan { cte, columns } = relation {
        if *cte == id {
            keep_positions(columns, positions);
        }
        return;
    }
    in_subqueries(relation, &mut |subquery| drop_scan_columns(&mut subquery.relation, id, positions));
    relation.inputs_mut().into_iter().for_each(|input| drop_scan_columns(input, id, positions));
}
