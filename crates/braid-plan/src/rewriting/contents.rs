//! What a relation has at all, found in one walk, so that rules for what it lacks are left out.

use braid_sql::Expression;
use braid_sql::expression::Node;
use braid_sql::relation::{JoinKind, Relation, SubqueryKind};

/// What there is in a relation, in those below it and in those of its subqueries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Contents {
    /// Common table expressions, or scans of them.
    pub has_common_tables: bool,
    /// Left, right or full joins.
    pub has_outer_joins: bool,
    /// `ARRAY(SELECT …)`.
    pub has_arrays_of_rows: bool,
    /// ORs.
    pub has_disjunctions: bool,
}

impl Contents {
    /// Those of a relation.
    pub fn of(relation: &Relation) -> Self {
        let mut contents = Self::default();
        contents.note(relation);
        contents
    }

    fn note(&mut self, relation: &Relation) {
        match relation {
            Relation::With { .. } | Relation::CteScan { .. } => self.has_common_tables = true,
            Relation::Join { kind: JoinKind::Left | JoinKind::Right | JoinKind::Full, .. } => {
                self.has_outer_joins = true;
            }
            _ => {}
        }
        relation.any_expression(&mut |expression| {
            self.note_in(expression);
            false
        });
        relation.inputs().into_iter().for_each(|input| self.note(input));
    }

    fn note_in(&mut self, expression: &Expression) {
        match &expression.node {
            Node::Or(_) => self.has_disjunctions = true,
            Node::Subquery(subquery) => {
                self.has_arrays_of_rows |= subquery.kind == SubqueryKind::Array;
                self.note(&subquery.relation);
            }
            _ => {}
        }
        expression.any_operand(&mut |operand| {
            self.note_in(operand);
            false
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::bound;
    use super::*;

    fn contents(sql: &str) -> Contents {
        Contents::of(&bound(sql).unwrap().0.relation)
    }

    #[test]
    fn what_there_is_is_found_in_subqueries_too() {
        let nothing = Contents::default();
        assert_eq!(contents("SELECT 1 WHERE 1 = 2 AND EXISTS (SELECT 1)"), nothing);
        for (sql, expected) in [
            ("WITH t AS (SELECT 1) SELECT * FROM t", Contents { has_common_tables: true, ..nothing }),
            (
                "SELECT (SELECT a.x FROM (SELECT 1) a(x) LEFT JOIN (SELECT 2) b(x) ON true)",
                Contents { has_outer_joins: true, ..nothing },
            ),
            ("SELECT 1 WHERE ARRAY(SELECT 1) IS NULL", Contents { has_arrays_of_rows: true, ..nothing }),
            ("SELECT EXISTS (SELECT 1 WHERE 1 = 2 OR 3 = 4)", Contents { has_disjunctions: true, ..nothing }),
        ] {
            assert_eq!(contents(sql), expected, "{sql}");
        }
    }
}
