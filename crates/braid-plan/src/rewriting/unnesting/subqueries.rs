//! Subqueries as dependent joins.

use braid_sql::expression::Node;
use braid_sql::pg_catalog::TypeId;
use braid_sql::relation::{JoinKind, Relation, Rows, Subquery, SubqueryKind};
use braid_sql::{Expression, SqlType};

use super::Unnester;
use super::guards::{Evaluated, has_operand};
use crate::rewriting::expressions::{all_of, column, conjuncts, filtered, has_subquery, is_volatile, negation, truth};
use crate::rewriting::failing::relation_may_fail;
use crate::rewriting::renumbering::{copied, each_relation};
use crate::rewriting::static_rows::{existing, has_at_most_one_row};

/// Most rows of VALUES that become inputs of a union.
const ROWS_MAX: usize = 64;

/// The input of an operator, to which subqueries of its expressions are joined.
struct Site {
    input: Relation,
    /// Subqueries that are joined, each with the conditions under which it was and what stands for it.
    done: Vec<(Subquery, Vec<Expression>, Expression)>,
}

impl Unnester<'_> {
    /// The operator with its expressions' subqueries joined to its input.
    pub(super) fn without_subqueries(&mut self, mut relation: Relation) -> Relation {
        if !relation.expressions().into_iter().any(has_subquery) {
            return relation;
        }
        match relation {
            Relation::Filter { input, condition } => self.filter(*input, condition),
            Relation::Values { columns, rows } if rows.len() <= ROWS_MAX => {
                let inputs = rows.into_iter().map(|row| {
                    let made: Vec<_> = columns.iter().map(|like| self.columns.add_like(*like)).collect();
                    let expressions = made.iter().copied().zip(row).collect();
                    let row = Relation::Map { input: Box::new(Relation::OneRow), expressions };
                    Rows { relation: self.without_subqueries(row), columns: made }
                });
                Relation::Union { inputs: inputs.collect(), columns }
            }
            Relation::Map { .. }
            | Relation::Expand(_)
            | Relation::Aggregate(_)
            | Relation::Window(_)
            | Relation::Sort { .. }
            | Relation::DistinctOn { .. } => {
                let mut inputs = relation.inputs_mut();
                let input = std::mem::replace(&mut *inputs[0], Relation::OneRow);
                let mut site = Site { input, done: Vec::new() };
                let is_conditional = matches!(&relation, Relation::Aggregate(aggregation)
                    if aggregation.aggregates.iter().any(|(_, call)| call.filter.is_some()));
                let evaluated = if is_conditional { Evaluated::Sometimes } else { Evaluated::always() };
                for expression in relation.expressions_mut() {
                    self.join_subqueries(expression, &mut site, &evaluated);
                }
                *relation.inputs_mut()[0] = site.input;
                relation
            }
            other => other,
        }
    }

    /// Conditions without subqueries first, then semi and anti joins, then those that need a column of a subquery.
    fn filter(&mut self, input: Relation, condition: Expression) -> Relation {
        let (plain, nested): (Vec<_>, Vec<_>) = conjuncts(condition).into_iter().partition(|each| !has_subquery(each));
        let mut site = Site { input: filtered(input, plain), done: Vec::new() };
        let (mut rest, mut volatile) = (Vec::new(), Vec::new());
        for condition in nested {
            match self.semi_or_anti_join(&condition, &mut site) {
                Some(()) => {}
                None if is_volatile(&condition) => volatile.push(condition),
                None => rest.push(condition),
            }
        }
        rest.extend(volatile);
        rest.iter_mut().for_each(|condition| self.join_subqueries(condition, &mut site, &Evaluated::always()));
        filtered(site.input, rest)
    }

    /// A condition that is `EXISTS`, `IN` or the like: the input's rows with a partner, or without one.
    fn semi_or_anti_join(&mut self, condition: &Expression, site: &mut Site) -> Option<()> {
        let (node, is_negated) = match &condition.node {
            Node::Not(inner) => (&inner.node, true),
            node => (node, false),
        };
        let Node::Subquery(subquery) = node else { return None };
        let query = self.own(subquery);
        let (kind, query, condition) = match (query.kind, is_negated) {
            (SubqueryKind::Exists, is_negated) => {
                let kind = if is_negated { JoinKind::Anti } else { JoinKind::Semi };
                (kind, existing(query.relation), all_of(Vec::new()))
            }
            (SubqueryKind::Quantified { comparison, is_all }, is_negated) => {
                let mut comparison = *comparison;
                self.join_subqueries(&mut comparison, site, &Evaluated::always());
                match (is_all, is_negated) {
                    (false, false) => (JoinKind::Semi, query.relation, comparison),
                    (true, true) => (JoinKind::Semi, query.relation, negation(comparison)),
                    (true, false) => {
                        let is_not_true = negation(truth(Node::Is(true, Box::new(comparison))));
                        (JoinKind::Anti, query.relation, is_not_true)
                    }
                    (false, true) => return None,
                }
            }
            _ => return None,
        };
        site.input = self.joined(kind, &site.input, &query, condition)?;
        Some(())
    }

    /// Joins the subqueries of an expression to the site and puts columns in their place.
    fn join_subqueries(&mut self, expression: &mut Expression, site: &mut Site, evaluated: &Evaluated) {
        if !has_subquery(expression) {
            return;
        }
        if let Node::Subquery(subquery) = &expression.node {
            if let Some(value) = self.joined_value(subquery, expression.sql_type, site, evaluated) {
                *expression = value;
            }
            return;
        }
        for at in 0..expression.operands().len() {
            // Operands before it have been freed of their subqueries, where that is possible.
            let of_operand = evaluated.of_operand(expression, at);
            self.join_subqueries(expression.operands_mut()[at], site, &of_operand);
        }
    }

    /// What stands for a subquery that is joined to the site; `None` if it stays.
    fn joined_value(
        &mut self,
        subquery: &Subquery,
        sql_type: SqlType,
        site: &mut Site,
        evaluated: &Evaluated,
    ) -> Option<Expression> {
        let is_known = |(done, guards, _): &&(Subquery, Vec<Expression>, Expression)| {
            let is_as_here = matches!(evaluated, Evaluated::Where(own) if own == guards);
            done == subquery && (guards.is_empty() || is_as_here)
        };
        if let Some((_, _, value)) = site.done.iter().find(is_known) {
            return Some(value.clone());
        }
        // Such a value is computed once, before the rows.
        if subquery.kind == SubqueryKind::Scalar && subquery.relation.free_columns().is_empty() {
            return None;
        }
        let query = self.own(subquery);
        let mut guards = Vec::new();
        if !evaluated.is_always() && relation_may_fail(&query.relation) {
            return None;
        }
        let (kind, relation, condition, value) = match query.kind {
            SubqueryKind::Exists => {
                let mark = self.columns.add("exists", SqlType::of(TypeId::BOOL));
                let value = column(mark, self.columns);
                (JoinKind::Mark(mark), existing(query.relation), all_of(Vec::new()), value)
            }
            SubqueryKind::Quantified { comparison, is_all } => {
                let mut comparison = *comparison;
                if has_operand(&comparison) {
                    return None;
                }
                self.join_subqueries(&mut comparison, site, evaluated);
                let mark = self.columns.add("mark", SqlType::of(TypeId::BOOL));
                let value = column(mark, self.columns);
                match is_all {
                    false => (JoinKind::Mark(mark), query.relation, comparison, value),
                    true => (JoinKind::Mark(mark), query.relation, negation(comparison), negation(value)),
                }
            }
            SubqueryKind::Scalar => {
                let is_single = !has_at_most_one_row(&query.relation);
                if is_single {
                    let Evaluated::Where(own) = evaluated else { return None };
                    guards.clone_from(own);
                }
                let kind = if is_single { JoinKind::Single } else { JoinKind::Left };
                let [output] = query.columns[..] else { return None };
                let (mut relation, mut output) = (query.relation, output);
                if !relation.columns().contains(&output) {
                    // A column of the query around it, which is null without a row all the same.
                    let own = self.columns.add_like(output);
                    let expressions = vec![(own, column(output, self.columns))];
                    relation = Relation::Map { input: Box::new(relation), expressions };
                    output = own;
                }
                (kind, relation, all_of(guards.clone()), Expression { sql_type, ..column(output, self.columns) })
            }
            SubqueryKind::Array => return None,
        };
        site.input = self.joined(kind, &site.input, &relation, condition)?;
        site.done.push((subquery.clone(), guards, value.clone()));
        Some(value)
    }

    /// The subquery, unnested within, with columns that no other operator makes.
    fn own(&mut self, subquery: &Subquery) -> Subquery {
        let mut own = subquery.clone();
        let mut made = Vec::new();
        each_relation(&own.relation, &mut |relation| made.extend(relation.made_columns()));
        if made.iter().any(|column| self.made.contains(column)) {
            let (relation, copies) = copied(&own.relation, self.columns, &mut self.ctes);
            let copy = |column: &mut _| *column = copies.get(column).copied().unwrap_or(*column);
            own.columns.iter_mut().for_each(copy);
            if let SubqueryKind::Quantified { comparison, .. } = &mut own.kind {
                let substitution = copies.iter().map(|(from, to)| (*from, column(*to, self.columns))).collect();
                crate::rewriting::expressions::replace_columns(comparison, &substitution);
            }
            made = copies.into_values().collect();
            own.relation = relation;
        }
        own.relation = self.unnested(own.relation);
        self.made.extend(made);
        own
    }
}
