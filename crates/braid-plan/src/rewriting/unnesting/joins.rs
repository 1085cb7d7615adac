//! D ⧑ (T1 ⋈ T2), by the kind of the join.

use std::collections::BTreeSet;

use braid_sql::Expression;
use braid_sql::expression::Node;
use braid_sql::relation::{ColumnId, JoinKind, Relation};

use super::Unnester;
use super::dependent_join::join;
use super::push_down::{Classes, Pushed, Representatives, Unnesting, equality, with_equalities};
use crate::rewriting::expressions::{all_of, column, filtered, mapped};

impl Unnesting {
    /// D goes to the side that reads its columns, or to both, which then are joined on it. An outer join's rows without a partner need D
    /// on the side that is kept.
    pub(super) fn join(
        &mut self,
        kind: JoinKind,
        (left, right): (&Relation, &Relation),
        condition: &Expression,
        classes: &Classes,
        unnester: &mut Unnester<'_>,
    ) -> Option<Pushed> {
        let of_left: BTreeSet<ColumnId> = left.columns().into_iter().collect();
        if !right.free_columns().is_disjoint(&of_left) {
            return None;
        }
        match kind {
            JoinKind::Inner => self.inner_join((left, right), condition, classes, unnester),
            JoinKind::Right => self.left_join(JoinKind::Left, (right, left), condition, classes, unnester),
            JoinKind::Full => self.full_join((left, right), condition, unnester),
            JoinKind::Left | JoinKind::Semi | JoinKind::Anti | JoinKind::Mark(_) | JoinKind::Single => {
                self.left_join(kind, (left, right), condition, classes, unnester)
            }
        }
    }

    /// D goes to the sides that read it, and to both if each does.
    fn inner_join(
        &mut self,
        (left, right): (&Relation, &Relation),
        condition: &Expression,
        classes: &Classes,
        unnester: &mut Unnester<'_>,
    ) -> Option<Pushed> {
        let classes = with_equalities(classes, condition, unnester);
        match (self.is_dependent(left), self.is_dependent(right)) {
            (false, false) => {
                let crossed = join(JoinKind::Inner, left.clone(), right.clone(), all_of(Vec::new()));
                let (input, representatives) = self.pushed(&crossed, &classes, unnester)?;
                let conditions = self.replaced_condition(condition, &representatives, unnester);
                Some((filtered(input, conditions), representatives))
            }
            (true, false) => {
                let (left, representatives) = self.pushed(left, &classes, unnester)?;
                let condition = all_of(self.replaced_condition(condition, &representatives, unnester));
                Some((join(JoinKind::Inner, left, right.clone(), condition), representatives))
            }
            (false, true) => {
                let (right, representatives) = self.pushed(right, &classes, unnester)?;
                let condition = all_of(self.replaced_condition(condition, &representatives, unnester));
                Some((join(JoinKind::Inner, left.clone(), right, condition), representatives))
            }
            (true, true) => {
                let (left, mut representatives) = self.pushed(left, &classes, unnester)?;
                let (right, of_right) = self.pushed(right, &classes, unnester)?;
                let mut conditions = self.replaced_condition(condition, &representatives, unnester);
                conditions.extend(equality(&representatives, &of_right, unnester)?);
                representatives.are_never_null |= of_right.are_never_null;
                Some((join(JoinKind::Inner, left, right, all_of(conditions)), representatives))
            }
        }
    }

    /// D is needed on the left side in any case.
    fn left_join(
        &mut self,
        kind: JoinKind,
        (left, right): (&Relation, &Relation),
        condition: &Expression,
        classes: &Classes,
        unnester: &mut Unnester<'_>,
    ) -> Option<Pushed> {
        let is_right_dependent = self.is_dependent(right);
        let of_right = match (is_right_dependent, kind) {
            (false, _) => None,
            // A row of the right side for which the condition is null counts here.
            (true, JoinKind::Mark(_)) => Some(self.pushed(right, &[], unnester)?),
            (true, _) => Some(self.pushed(right, &with_equalities(&[], condition, unnester), unnester)?),
        };
        let (left, representatives) = self.pushed(left, classes, unnester)?;
        let mut conditions = self.replaced_condition(condition, &representatives, unnester);
        let right = match of_right {
            None => right.clone(),
            Some((right, of_right)) => {
                conditions.extend(equality(&representatives, &of_right, unnester)?);
                right
            }
        };
        Some((join(kind, left, right, all_of(conditions)), representatives))
    }

    /// A value of D is that of the side which has a row.
    fn full_join(
        &mut self,
        (left, right): (&Relation, &Relation),
        condition: &Expression,
        unnester: &mut Unnester<'_>,
    ) -> Option<Pushed> {
        let (left, of_left) = self.pushed(left, &[], unnester)?;
        let (right, of_right) = self.pushed(right, &[], unnester)?;
        let mut conditions = self.replaced_condition(condition, &of_left, unnester);
        conditions.extend(equality(&of_left, &of_right, unnester)?);
        let joined = join(JoinKind::Full, left, right, all_of(conditions));
        let outer: Vec<ColumnId> = self.domain.outer.clone();
        let (mut expressions, mut columns) = (Vec::new(), std::collections::BTreeMap::new());
        for outer in outer {
            let own = unnester.columns.add_like(outer);
            let sides = vec![column(of_left.of(outer), unnester.columns), column(of_right.of(outer), unnester.columns)];
            let sql_type = unnester.columns.sql_type(outer);
            expressions.push((own, Expression { node: Node::Coalesce(sides), sql_type }));
            columns.insert(outer, own);
        }
        let are_never_null = of_left.are_never_null && of_right.are_never_null;
        Some((mapped(joined, expressions), Representatives::new(columns, are_never_null)))
    }
}
