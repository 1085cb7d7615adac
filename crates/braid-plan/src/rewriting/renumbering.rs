//! Copies of relations: all columns and common table expressions get new numbers, because no two operators make the same.

use std::collections::BTreeMap;

use braid_sql::Expression;
use braid_sql::expression::Node;
use braid_sql::relation::{ColumnId, Columns, CteId, Relation};

/// Numbers of common table expressions that a statement does not have yet.
#[derive(Debug)]
pub(crate) struct CteNumbers(u32);

impl CteNumbers {
    /// Those after the ones of a relation.
    pub fn after(relation: &Relation) -> Self {
        let mut next = 0;
        each_relation(relation, &mut |relation| {
            let number = match relation {
                Relation::With { cte, .. } | Relation::CteScan { cte, .. } => cte.0 + 1,
                Relation::Recursive(recursion) => recursion.cte.0 + 1,
                _ => 0,
            };
            next = next.max(number);
        });
        Self(next)
    }

    /// The next one.
    pub fn add(&mut self) -> CteId {
        self.0 += 1;
        CteId(self.0 - 1)
    }
}

/// Calls `each` for a relation, those below it, and those of subqueries.
pub(super) fn each_relation(relation: &Relation, each: &mut dyn FnMut(&Relation)) {
    each(relation);
    relation.any_expression(&mut |expression| {
        each_relation_of(expression, each);
        false
    });
    relation.inputs().into_iter().for_each(|input| each_relation(input, each));
}

/// Calls `each` for all relations of an expression's subqueries.
pub(super) fn each_relation_of(expression: &Expression, each: &mut dyn FnMut(&Relation)) {
    if let Node::Subquery(subquery) = &expression.node {
        each_relation(&subquery.relation, each);
    }
    expression.any_operand(&mut |operand| {
        each_relation_of(operand, each);
        false
    });
}

/// A copy of a relation, and the copies of its columns.
pub(super) fn copied(
    relation: &Relation,
    columns: &mut Columns,
    ctes: &mut CteNumbers,
) -> (Relation, BTreeMap<ColumnId, ColumnId>) {
    let mut copies = Copies::default();
    each_relation(relation, &mut |relation| {
        for column in relation.made_columns() {
            copies.columns.entry(column).or_insert_with(|| columns.add_like(column));
        }
        let made = match relation {
            Relation::With { cte, .. } => *cte,
            Relation::Recursive(recursion) => recursion.cte,
            _ => return,
        };
        copies.ctes.entry(made).or_insert_with(|| ctes.add());
    });
    let mut copy = relation.clone();
    copies.renumber(&mut copy);
    (copy, copies.columns)
}

/// A relation whose columns are called otherwise.
pub(super) fn renamed(mut relation: Relation, columns: BTreeMap<ColumnId, ColumnId>) -> Relation {
    Copies { columns, ctes: BTreeMap::new() }.renumber(&mut relation);
    relation
}

#[derive(Default)]
struct Copies {
    columns: BTreeMap<ColumnId, ColumnId>,
    ctes: BTreeMap<CteId, CteId>,
}

impl Copies {
    fn renumber(&self, relation: &mut Relation) {
        for slot in relation.column_slots() {
            self.replace(slot);
        }
        if let Some(cte) = relation.cte_slot()
            && let Some(copy) = self.ctes.get(cte)
        {
            *cte = *copy;
        }
        relation.expressions_mut().into_iter().for_each(|expression| self.renumber_expression(expression));
        relation.inputs_mut().into_iter().for_each(|input| self.renumber(input));
    }

    fn renumber_expression(&self, expression: &mut Expression) {
        match &mut expression.node {
            Node::Column(column, _) => self.replace(column),
            Node::Subquery(subquery) => {
                subquery.columns.iter_mut().for_each(|column| self.replace(column));
                self.renumber(&mut subquery.relation);
            }
            _ => {}
        }
        expression.operands_mut().into_iter().for_each(|operand| self.renumber_expression(operand));
    }

    fn replace(&self, column: &mut ColumnId) {
        if let Some(copy) = self.columns.get(column) {
            *column = *copy;
        }
    }
}
