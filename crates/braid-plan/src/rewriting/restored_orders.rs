//! Orders made anew above joins, which do not keep those of their inputs.
//!
//! By its definition, a join has its rows in the order of its left side. The operator has them in no order: it may build either side, and
//! spills. A join above a sort comes of a subquery in a select list, which is computed after ORDER BY.
//!
//! Needs: nothing. Keeps: the order that is seen: that of the result, and that below LIMIT, DISTINCT ON, windows and aggregates.

use std::collections::HashMap;

use braid_sql::Expression;
use braid_sql::expression::{Node, Origin};
use braid_sql::relation::{ColumnId, Columns, CteId, JoinKind, Relation, Rows, SortKey, Windowing};

use super::expressions::{in_subqueries, is_volatile};

/// The relation with sorts above joins of sorted rows.
pub(super) fn restore_orders(mut relation: Relation, columns: &mut Columns) -> Relation {
    let mut restoring = Restoring { columns, orders: HashMap::new() };
    restoring.restore(&mut relation, true);
    relation
}

struct Restoring<'a> {
    columns: &'a mut Columns,
    /// The keys by which the rows of common table expressions are sorted, over their columns.
    orders: HashMap<CteId, (Vec<SortKey>, Vec<ColumnId>)>,
}

impl Restoring<'_> {
    /// `is_seen`: whether the order of the rows matters to what is above.
    fn restore(&mut self, relation: &mut Relation, is_seen: bool) {
        in_subqueries(relation, &mut |subquery| self.restore(&mut subquery.relation, true));
        if let Relation::With { cte, definition, body, .. } = relation {
            self.restore(&mut definition.relation, true);
            self.note_order(*cte, definition, body);
            return self.restore(body, is_seen);
        }
        let is_seen_below = match relation {
            // These hand on the order of their input.
            Relation::Filter { .. } | Relation::Map { .. } | Relation::Expand(_) => is_seen,
            Relation::Join { .. } => false,
            _ => true,
        };
        relation.inputs_mut().into_iter().for_each(|input| self.restore(input, is_seen_below));
        if !is_seen || !matches!(relation, Relation::Join { .. }) {
            return;
        }
        self.name_volatile_keys(relation);
        if let Some(keys) = self.order_of(relation).filter(|keys| !keys.is_empty()) {
            let input = Box::new(std::mem::replace(relation, Relation::OneRow));
            *relation = Relation::Sort { input, keys };
        }
    }

    /// Notes the order of a common table expression, whose scans get the columns that it is sorted by.
    fn note_order(&mut self, cte: CteId, definition: &mut Rows, body: &mut Relation) {
        self.name_volatile_keys(&mut definition.relation);
        let Some(keys) = self.order_of(&definition.relation) else { return };
        let read = keys.iter().flat_map(|key| key.expression.free_columns());
        let missing: Vec<ColumnId> = read.filter(|column| !definition.columns.contains(column)).collect();
        for column in missing {
            if !definition.columns.contains(&column) {
                definition.columns.push(column);
                add_to_scans(body, cte, column, self.columns);
            }
        }
        self.orders.insert(cte, (keys, definition.columns.clone()));
    }

    /// The keys by which the rows of a relation are sorted, by its definition. They read columns that it hands on.
    fn order_of(&self, relation: &Relation) -> Option<Vec<SortKey>> {
        match relation {
            Relation::Sort { keys, .. } => Some(keys.clone()),
            Relation::Filter { input, .. }
            | Relation::Map { input, .. }
            | Relation::Limit { input, .. }
            | Relation::DistinctOn { input, .. } => self.order_of(input),
            Relation::Expand(expansion) => self.order_of(&expansion.input),
            // Rows are numbered, and counted, in the order in which they come.
            Relation::Window(window) if keeps_input_order(window) => self.order_of(&window.input),
            Relation::With { body, .. } => self.order_of(body),
            Relation::Join { kind, left, .. } if keeps_left_order(*kind) => self.order_of(left),
            Relation::CteScan { cte, columns } => {
                let (keys, of_definition) = self.orders.get(cte)?;
                let mut keys = keys.clone();
                for key in &mut keys {
                    rename(&mut key.expression, of_definition, columns);
                }
                Some(keys)
            }
            _ => None,
        }
    }

    /// Puts a column in place of each volatile key, so that it can be sorted by once more.
    fn name_volatile_keys(&mut self, relation: &mut Relation) {
        match relation {
            Relation::Sort { input, keys } => {
                let mut made = Vec::new();
                for key in keys.iter_mut().filter(|key| is_volatile(&key.expression)) {
                    let sql_type = key.expression.sql_type;
                    let column = self.columns.add("key", sql_type);
                    let node = Node::Column(column, Origin::default());
                    let key = std::mem::replace(&mut key.expression, Expression { node, sql_type });
                    made.push((column, key));
                }
                if !made.is_empty() {
                    let sorted = std::mem::replace(&mut **input, Relation::OneRow);
                    **input = Relation::Map { input: Box::new(sorted), expressions: made };
                }
            }
            Relation::Filter { input, .. }
            | Relation::Map { input, .. }
            | Relation::Limit { input, .. }
            | Relation::DistinctOn { input, .. } => self.name_volatile_keys(input),
            Relation::Expand(expansion) => self.name_volatile_keys(&mut expansion.input),
            Relation::Window(window) if keeps_input_order(window) => self.name_volatile_keys(&mut window.input),
            Relation::With { body, .. } => self.name_volatile_keys(body),
            Relation::Join { kind, left, .. } if keeps_left_order(*kind) => self.name_volatile_keys(left),
            _ => {}
        }
    }
}

/// Whether a window is of all rows as they come.
fn keeps_input_order(window: &Windowing) -> bool {
    window.partition_by.is_empty() && window.order_by.is_empty()
}

fn keeps_left_order(kind: JoinKind) -> bool {
    !matches!(kind, JoinKind::Right | JoinKind::Full)
}

/// Adds a column of a common table expression to all of its scans.
fn add_to_scans(relation: &mut Relation, cte: CteId, column: ColumnId, all: &mut Columns) {
    in_subqueries(relation, &mut |subquery| add_to_scans(&mut subquery.relation, cte, column, all));
    if let Relation::CteScan { cte: scanned, columns } = relation
        && *scanned == cte
    {
        columns.push(all.add_like(column));
    }
    relation.inputs_mut().into_iter().for_each(|input| add_to_scans(input, cte, column, all));
}

/// Columns of a scan in place of those of the definition.
fn rename(expression: &mut Expression, of_definition: &[ColumnId], of_scan: &[ColumnId]) {
    if let Node::Column(column, _) = &mut expression.node
        && let Some(at) = of_definition.iter().position(|own| own == column)
    {
        *column = of_scan[at];
    }
    expression.operands_mut().into_iter().for_each(|operand| rename(operand, of_definition, of_scan));
}
