//! Subqueries as dependent joins.

use braid_sql::expression::Node;
use braid_sql::pg_catalog::TypeId;
use braid_sql::relation::{
    Aggregation, ColumnId, FrameBound, JoinKind, Relation, Rows, Subquery, SubqueryKind, Windowing,
};
use braid_sql::{Expression, SqlType};

use super::Unnester;
use super::guards::Evaluated;
use crate::rewriting::expressions::{
    all_of, column, conjuncts, filtered, has_subquery, in_subqueries_of, is_volatile, negation, truth,
};
use crate::rewriting::failing::{may_fail, relation_may_fail};
use crate::rewriting::renumbering::{copied, each_relation};
use crate::rewriting::static_rows::{existing, has_at_most_one_row};

/// The input of an operator, to which subqueries of its expressions are joined.
pub(super) struct Site {
    pub input: Relation,
    /// Subqueries that are joined, each with the rows for which it was and what stands for it.
    done: Vec<(Subquery, Evaluated, Expression)>,
}

impl Site {
    pub fn of(input: Relation) -> Self {
        Self { input, done: Vec::new() }
    }
}

impl Unnester<'_> {
    /// The operator with its expressions' subqueries joined to its input.
    pub(super) fn without_subqueries(&mut self, mut relation: Relation) -> Relation {
        if !relation.expressions().into_iter().any(has_subquery) {
            return relation;
        }
        match relation {
            Relation::Filter { input, condition } => self.filter(*input, condition),
            Relation::Values { columns, rows } => self.values(columns, rows),
            Relation::Map { .. }
            | Relation::Expand(_)
            | Relation::Aggregate(_)
            | Relation::Window(_)
            | Relation::Sort { .. }
            | Relation::DistinctOn { .. } => {
                let mut site = Site::of(std::mem::replace(&mut *relation.inputs_mut()[0], Relation::OneRow));
                match &mut relation {
                    Relation::Aggregate(aggregation) => self.aggregate(aggregation, &mut site),
                    Relation::Window(windowing) => self.window(windowing, &mut site),
                    other => {
                        let expressions = other.expressions_mut().into_iter();
                        expressions.for_each(|each| self.join_subqueries(each, &mut site, &Evaluated::always()));
                    }
                }
                *relation.inputs_mut()[0] = site.input;
                relation
            }
            mut other => {
                for expression in other.expressions_mut() {
                    self.unnest_values(expression);
                }
                other
            }
        }
    }

    /// Rows of VALUES with subqueries become inputs of a union.
    fn values(&mut self, columns: Vec<ColumnId>, rows: Vec<Vec<Expression>>) -> Relation {
        let (mut inputs, mut plain): (Vec<Rows>, Vec<Vec<Expression>>) = (Vec::new(), Vec::new());
        let flushed = |unnester: &mut Self, plain: &mut Vec<Vec<Expression>>| {
            let made: Vec<_> = columns.iter().map(|like| unnester.columns.add_like(*like)).collect();
            let relation = Relation::Values { columns: made.clone(), rows: std::mem::take(plain) };
            Rows { relation, columns: made }
        };
        for row in rows {
            if !row.iter().any(has_subquery) {
                plain.push(row);
                continue;
            }
            if !plain.is_empty() {
                inputs.push(flushed(self, &mut plain));
            }
            let made: Vec<_> = columns.iter().map(|like| self.columns.add_like(*like)).collect();
            let expressions = made.iter().copied().zip(row).collect();
            let row = Relation::Map { input: Box::new(Relation::OneRow), expressions };
            inputs.push(Rows { relation: self.without_subqueries(row), columns: made });
        }
        if !plain.is_empty() {
            inputs.push(flushed(self, &mut plain));
        }
        Relation::Union { inputs, columns }
    }

    /// An aggregate's arguments are evaluated where its filter is true.
    fn aggregate(&mut self, aggregation: &mut Aggregation, site: &mut Site) {
        let always = Evaluated::always();
        aggregation.keys.iter_mut().for_each(|(_, key)| self.join_subqueries(key, site, &always));
        for (_, call) in &mut aggregation.aggregates {
            let keys = call.order_by.iter_mut().map(|key| &mut key.expression);
            // Direct arguments belong to the group.
            let (direct, arguments) = match call.is_within_group {
                true => (&mut call.arguments[..], &mut [][..]),
                false => (&mut [][..], &mut call.arguments[..]),
            };
            direct.iter_mut().for_each(|each| self.join_subqueries(each, site, &always));
            self.join_arguments(&mut call.filter, arguments.iter_mut().chain(keys).collect(), site);
        }
    }

    fn window(&mut self, windowing: &mut Windowing, site: &mut Site) {
        let always = Evaluated::always();
        let bounds = [&mut windowing.frame.start, &mut windowing.frame.end];
        let keys =
            windowing.partition_by.iter_mut().chain(windowing.order_by.iter_mut().map(|key| &mut key.expression));
        for each in keys.chain(bounds.into_iter().filter_map(FrameBound::offset_mut)) {
            self.join_subqueries(each, site, &always);
        }
        for (_, call) in &mut windowing.calls {
            self.join_arguments(&mut call.filter, call.arguments.iter_mut().collect(), site);
        }
    }

    fn join_arguments(&mut self, filter: &mut Option<Expression>, arguments: Vec<&mut Expression>, site: &mut Site) {
        let mut evaluated = Evaluated::always();
        if let Some(filter) = filter {
            self.join_subqueries(filter, site, &evaluated);
            if arguments.iter().any(|argument| has_subquery(argument)) {
                evaluated = self.settle_filter(filter, site);
            }
        }
        arguments.into_iter().for_each(|argument| self.join_subqueries(argument, site, &evaluated));
    }

    /// Unnests the subqueries of an expression, which stay.
    fn unnest_values(&mut self, expression: &mut Expression) {
        in_subqueries_of(expression, &mut |subquery| {
            let relation = std::mem::replace(&mut subquery.relation, Relation::OneRow);
            subquery.relation = self.unnested(relation);
        });
    }

    /// Whether a subquery stays in its expression: a value that is computed once.
    pub(super) fn stays(&self, subquery: &Subquery) -> bool {
        let is_value = subquery.kind == SubqueryKind::Scalar && subquery.relation.free_columns().is_empty();
        is_value && !self.reads_dependent_table(&subquery.relation)
    }

    /// Conditions without subqueries first, then semi and anti joins, then those that need a column of a subquery.
    fn filter(&mut self, input: Relation, condition: Expression) -> Relation {
        let (plain, nested): (Vec<_>, Vec<_>) = conjuncts(condition).into_iter().partition(|each| !has_subquery(each));
        let mut site = Site::of(filtered(input, plain));
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

    /// What stands for a subquery that is joined to the site; `None` if it stays.
    pub(super) fn joined_value(
        &mut self,
        subquery: &Subquery,
        sql_type: SqlType,
        site: &mut Site,
        evaluated: &Evaluated,
    ) -> Option<Expression> {
        let is_known = |(done, guards, _): &&(Subquery, Evaluated, Expression)| {
            done == subquery && (guards.is_always() || evaluated == guards)
        };
        if let Some((_, _, value)) = site.done.iter().find(is_known) {
            return Some(value.clone());
        }
        let query = self.own(subquery);
        let is_guarded = !evaluated.is_always() && relation_may_fail(&query.relation);
        let mut guards = if is_guarded { evaluated.clone() } else { Evaluated::always() };
        let (kind, relation, condition, value) = match query.kind {
            SubqueryKind::Exists => {
                let mark = self.columns.add("exists", SqlType::of(TypeId::BOOL));
                let value = column(mark, self.columns);
                (JoinKind::Mark(mark), existing(query.relation), all_of(Vec::new()), value)
            }
            SubqueryKind::Quantified { comparison, is_all } => {
                let mut comparison = *comparison;
                self.join_subqueries(&mut comparison, site, evaluated);
                if !evaluated.is_always() {
                    let own = query.relation.columns();
                    self.compute_operands(&mut comparison, &own, site, evaluated);
                }
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
                    guards.clone_from(evaluated);
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
                (kind, relation, all_of(guards.0.clone()), Expression { sql_type, ..column(output, self.columns) })
            }
            SubqueryKind::Array => return None,
        };
        site.input = match is_guarded {
            true => self.guarded_join(kind, &site.input, &relation, (condition, evaluated))?,
            false => self.joined(kind, &site.input, &relation, condition)?,
        };
        site.done.push((subquery.clone(), guards, value.clone()));
        Some(value)
    }

    /// Makes columns of what a comparison reads of the site only and may fail, so that it does so where the comparison is evaluated.
    fn compute_operands(
        &mut self,
        comparison: &mut Expression,
        own: &[ColumnId],
        site: &mut Site,
        evaluated: &Evaluated,
    ) {
        let is_of_site = !comparison.free_columns().iter().any(|column| own.contains(column));
        if is_of_site && may_fail(comparison) {
            *comparison = self.computed(comparison, site, evaluated);
            return;
        }
        for operand in comparison.operands_mut() {
            self.compute_operands(operand, own, site, evaluated);
        }
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
