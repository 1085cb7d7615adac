//! Conditions of outer joins with subqueries.
//!
//! Of L ⟕_{p ∧ q} R, where q has subqueries: those of q that read no column of R, or none of L, are joined to the other side if nothing in
//! them may fail, so that q has columns in their place. What is left is
//!
//! L ⟕_{#L} σ_q(L ⋈_p R)
//!
//! where #L is the number of a row of L, which is computed once. For a full join R is numbered, too, and its rows without a partner are added
//! by a further join: (L ⟕_{#L} σ_q(L ⋈_p R)) ⟗_{#R} R.

use std::collections::{BTreeMap, BTreeSet};

use braid_sql::Expression;
use braid_sql::expression::Node;
use braid_sql::relation::{ColumnId, CteId, JoinKind, Relation, Rows, SubqueryKind};

use super::Unnester;
use super::dependent_join::join;
use super::domain::numbered;
use super::guards::Evaluated;
use super::subqueries::Site;
use crate::rewriting::expressions::{
    Substitution, all_of, column, conjuncts, filtered, is_volatile, operator, replace_columns_within, replaced,
};
use crate::rewriting::failing::may_fail;
use crate::rewriting::renumbering::copied;

/// A side of a join whose rows are numbered, and which is read twice.
struct Numbered {
    cte: CteId,
    relation: Relation,
    number: ColumnId,
}

impl Unnester<'_> {
    /// An outer join whose condition has subqueries.
    pub(super) fn outer_join(
        &mut self,
        kind: JoinKind,
        left: Relation,
        right: Relation,
        condition: Expression,
    ) -> Option<Relation> {
        if kind == JoinKind::Right {
            return self.outer_join(JoinKind::Left, right, left, condition);
        }
        let (plain, nested): (Vec<_>, Vec<_>) =
            conjuncts(condition).into_iter().partition(|each| !self.has_joined_subquery(each));
        let mut sites = [Site::of(left), Site::of(right)];
        let (mut plain, mut rest) = (plain, Vec::new());
        for mut condition in nested {
            if !may_fail(&condition) && !is_volatile(&condition) {
                self.join_to_sides(&mut condition, &mut sites);
            }
            match self.has_joined_subquery(&condition) {
                true => rest.push(condition),
                false => plain.push(condition),
            }
        }
        let [left, right] = sites.map(|site| site.input);
        if rest.is_empty() {
            return self.joined(kind, &left, &right, all_of(plain));
        }
        match kind {
            JoinKind::Left => self.left_join_of_pairs((left, right), plain, rest),
            JoinKind::Full => self.full_join_of_pairs((left, right), plain, rest),
            _ => None,
        }
    }

    /// Whether an expression has a subquery other than a value that is computed once.
    fn has_joined_subquery(&self, expression: &Expression) -> bool {
        match &expression.node {
            Node::Subquery(subquery) if self.stays(subquery) => false,
            Node::Subquery(_) => true,
            _ => expression.operands().into_iter().any(|operand| self.has_joined_subquery(operand)),
        }
    }

    /// Joins each subquery to a side, if it reads no column of the other one.
    fn join_to_sides(&mut self, expression: &mut Expression, sites: &mut [Site; 2]) {
        if let Node::Subquery(subquery) = &expression.node {
            let mut read = subquery.relation.free_columns();
            if let SubqueryKind::Quantified { comparison, .. } = &subquery.kind {
                read.extend(comparison.free_columns());
            }
            let reads = |site: &Site| site.input.columns().iter().any(|column| read.contains(column));
            let [of_left, of_right] = [reads(&sites[0]), reads(&sites[1])];
            let site = match (of_left, of_right) {
                (true, true) => return,
                (_, false) => &mut sites[0],
                (false, true) => &mut sites[1],
            };
            self.join_subqueries(expression, site, &Evaluated::always());
            return;
        }
        for operand in expression.operands_mut() {
            self.join_to_sides(operand, sites);
        }
    }

    fn left_join_of_pairs(
        &mut self,
        (left, right): (Relation, Relation),
        plain: Vec<Expression>,
        rest: Vec<Expression>,
    ) -> Option<Relation> {
        let left = self.numbered_side(left);
        let (copy, names) = self.scan(&left);
        let pairs = self.pairs((copy, right), (plain, rest), &names)?;
        let same = operator("=", column(left.number, self.columns), column(names[&left.number], self.columns))?;
        let joined = join(JoinKind::Left, left.own_scan(), pairs, same);
        Some(self.around(left, joined))
    }

    fn full_join_of_pairs(
        &mut self,
        (left, right): (Relation, Relation),
        plain: Vec<Expression>,
        rest: Vec<Expression>,
    ) -> Option<Relation> {
        let (left, right) = (self.numbered_side(left), self.numbered_side(right));
        let ((of_left, mut names), (of_right, right_names)) = (self.scan(&left), self.scan(&right));
        names.extend(right_names);
        let pairs = self.pairs((of_left, of_right), (plain, rest), &names)?;
        let same = |unnester: &Self, number: ColumnId| {
            operator("=", column(number, unnester.columns), column(names[&number], unnester.columns))
        };
        let (same_left, same_right) = (same(self, left.number)?, same(self, right.number)?);
        let joined = join(JoinKind::Left, left.own_scan(), pairs, same_left);
        let joined = join(JoinKind::Full, joined, right.own_scan(), same_right);
        let joined = self.around(right, joined);
        Some(self.around(left, joined))
    }

    /// The pairs of rows for which the conditions are true, on sides whose columns may have other names.
    fn pairs(
        &mut self,
        (left, mut right): (Relation, Relation),
        (plain, rest): (Vec<Expression>, Vec<Expression>),
        names: &BTreeMap<ColumnId, ColumnId>,
    ) -> Option<Relation> {
        let names: Substitution = names.iter().map(|(own, name)| (*own, column(*name, self.columns))).collect();
        let renamed = |conditions: Vec<Expression>| conditions.into_iter().map(|each| replaced(each, &names));
        // A lateral right side.
        replace_columns_within(&mut right, &names);
        let joined = self.joined(JoinKind::Inner, &left, &right, all_of(renamed(plain).collect()))?;
        let rest = renamed(rest).collect();
        Some(self.without_subqueries(filtered(joined, rest)))
    }

    fn numbered_side(&mut self, side: Relation) -> Numbered {
        let (relation, number) = numbered(side, (Vec::new(), Vec::new()), "row_number", self.columns);
        Numbered { cte: self.ctes.add(), relation, number }
    }

    /// The rows of a side once more, and what its columns are called there.
    fn scan(&mut self, side: &Numbered) -> (Relation, BTreeMap<ColumnId, ColumnId>) {
        let own: BTreeSet<ColumnId> = side.relation.columns().into_iter().collect();
        let names: BTreeMap<_, _> = own.iter().map(|column| (*column, self.columns.add_like(*column))).collect();
        let columns = side.relation.columns().iter().map(|column| names[column]).collect();
        (Relation::CteScan { cte: side.cte, columns }, names)
    }

    /// What reads a side, with the side.
    fn around(&mut self, side: Numbered, body: Relation) -> Relation {
        let (copy, names) = copied(&side.relation, self.columns, &mut self.ctes);
        let columns = side.relation.columns().iter().map(|column| names[column]).collect();
        let definition = Box::new(Rows { relation: copy, columns });
        Relation::With { cte: side.cte, is_materialized: Some(true), definition, body: Box::new(body) }
    }
}

impl Numbered {
    /// The rows under the names of the side's columns.
    fn own_scan(&self) -> Relation {
        Relation::CteScan { cte: self.cte, columns: self.relation.columns() }
    }
}
