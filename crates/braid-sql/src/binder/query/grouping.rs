//! GROUP BY, grouping sets, and what may stand above them: keys, and what is computed from keys and aggregates.

use std::collections::BTreeSet;

use sqlparser::ast::{Expr, GroupByExpr};
use sqlparser::tokenizer::Location;

use super::Target;
use super::nested_sets::nested_sets;
use super::scope::{Calls, Scope};
use super::select::expanded;
use super::subqueries::column_expression;
use crate::binder::chains::{STEPS_MIN, beginning};
use crate::binder::clause::Clause;
use crate::binder::places::Place;
use crate::binder::{Binder, without_parentheses};
use crate::expression::{Expression, Node};
use crate::relation::{AggregateCall, Aggregation, ColumnId, Relation, SetFunctionCall, Windowing};
use crate::{SqlError, SqlState};

/// Most grouping sets of a query.
const SETS_MAX: usize = 4096;

/// Most elements of a CUBE.
const CUBE_MAX: usize = 12;

/// The keys of a query, and its grouping sets.
#[derive(Debug, Default)]
pub(super) struct Grouping {
    /// Each key with the column that stands for it.
    keys: Vec<(ColumnId, Expression)>,
    /// The target that each key is, if it is one.
    targets: Vec<Option<usize>>,
    /// Whether equal keys of several targets are several keys: a grouping set may have only one of them.
    has_twins: bool,
    /// Positions of keys; no set without GROUP BY.
    sets: Vec<Vec<usize>>,
}

impl Binder<'_> {
    /// What GROUP BY says; `None` without it.
    pub(super) fn grouping(
        &self,
        syntax: &GroupByExpr,
        targets: &mut [Target<'_>],
        visible: usize,
    ) -> Result<Option<Grouping>, SqlError> {
        let GroupByExpr::Expressions(items, _) = syntax else {
            return Err(SqlError::unsupported("GROUP BY ALL is not supported"));
        };
        if items.is_empty() {
            return Ok(None);
        }
        let binder = self.within(Clause::GroupBy);
        let is_set = |item: &Expr| matches!(item, Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_));
        let mut grouping = Grouping { has_twins: items.iter().any(is_set), ..Grouping::default() };
        let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
        for item in items {
            let of_item = binder.sets_of(item, &mut grouping, targets, visible)?;
            check_count(sets.len().saturating_mul(of_item.len()))?;
            sets = sets.iter().flat_map(|set| of_item.iter().map(move |other| united(set, other))).collect();
        }
        if sets.len() > 1 {
            grouping.keys.iter().try_for_each(|(_, key)| self.look_at_parameters(key))?;
        }
        grouping.sets = sets;
        Ok(Some(grouping))
    }

    /// The grouping sets of one item.
    fn sets_of(
        &self,
        item: &Expr,
        grouping: &mut Grouping,
        targets: &mut [Target<'_>],
        visible: usize,
    ) -> Result<Vec<Vec<usize>>, SqlError> {
        Ok(match item {
            Expr::Rollup(elements) => {
                let elements = self.elements(elements, grouping, targets, visible)?;
                (0..=elements.len())
                    .rev()
                    .map(|count| elements[..count].iter().fold(Vec::new(), |set, element| united(&set, element)))
                    .collect()
            }
            Expr::Cube(elements) => {
                if elements.len() > CUBE_MAX {
                    let message = format!("CUBE is limited to {CUBE_MAX} elements");
                    return Err(SqlError::new(SqlState::TooManyColumns, message));
                }
                let elements = self.elements(elements, grouping, targets, visible)?;
                let count = elements.len();
                let is_in = |set: usize, at: usize| set & (1 << (count - 1 - at)) != 0;
                let set_of = |set: usize| {
                    let taken = elements.iter().enumerate().filter(|(at, _)| is_in(set, *at));
                    taken.fold(Vec::new(), |united_set, (_, element)| united(&united_set, element))
                };
                (0..1_usize << count).rev().map(set_of).collect()
            }
            Expr::GroupingSets(sets) => {
                let mut all = Vec::new();
                for set in sets {
                    match nested_sets(set) {
                        Some(nested) => all.extend(self.sets_of(&nested, grouping, targets, visible)?),
                        None => all.push(self.element(set, grouping, targets, visible)?),
                    }
                    check_count(all.len())?;
                }
                all
            }
            Expr::Tuple(members) => vec![self.element(members, grouping, targets, visible)?],
            other => vec![self.element(std::slice::from_ref(other), grouping, targets, visible)?],
        })
    }

    fn elements(
        &self,
        elements: &[Vec<Expr>],
        grouping: &mut Grouping,
        targets: &mut [Target<'_>],
        visible: usize,
    ) -> Result<Vec<Vec<usize>>, SqlError> {
        elements.iter().map(|members| self.element(members, grouping, targets, visible)).collect()
    }

    /// Keys that come and go together.
    fn element(
        &self,
        members: &[Expr],
        grouping: &mut Grouping,
        targets: &mut [Target<'_>],
        visible: usize,
    ) -> Result<Vec<usize>, SqlError> {
        let mut set = Vec::new();
        for member in members {
            if let Expr::Tuple(nested) = without_parentheses(member) {
                set = united(&set, &self.element(nested, grouping, targets, visible)?);
                continue;
            }
            let (target, expression) = self.key_expression(member, targets, visible)?;
            super::set_operations::check_equality(expression.sql_type.id)
                .map_err(|error| self.places.mark(error, Place::Start(member)))?;
            self.check_key(&expression)?;
            let at = match grouping.position(target, &expression) {
                Some(at) => at,
                None => {
                    let name = match expression.node {
                        Node::Column(column, _) => self.statement.columns.borrow().name(column).to_owned(),
                        _ => self.expression_name(member),
                    };
                    let column = self.new_column(name, expression.sql_type);
                    self.note_domain(column, &expression);
                    grouping.add(column, expression, target);
                    grouping.keys.len() - 1
                }
            };
            set = united(&set, &[at]);
        }
        Ok(set)
    }

    /// Refuses keys of aggregates and window functions, to which a name or a position may refer.
    fn check_key(&self, key: &Expression) -> Result<(), SqlError> {
        let Some(scope) = self.scope else { return Ok(()) };
        let refuse = |state: SqlState, message: &str, place: Place<'_>| {
            Err(self.places.mark(SqlError::new(state, message), place))
        };
        if let Some(place) = key.place_of(&|column| scope.is_aggregate(column)) {
            return refuse(SqlState::GroupingError, "aggregate functions are not allowed in GROUP BY", place);
        }
        if let Some(place) = key.place_of(&|column| scope.is_window(column)) {
            return refuse(SqlState::WindowingError, "window functions are not allowed in GROUP BY", place);
        }
        Ok(())
    }

    /// The groups of a relation, and HAVING. All that stands above reads keys and aggregates instead of the relation's columns.
    pub(super) fn grouped(
        &self,
        input: Relation,
        grouping: &mut Grouping,
        calls: &mut Calls,
        having: Option<Expression>,
        targets: &mut [Target<'_>],
        scope: &Scope<'_>,
    ) -> Result<Relation, SqlError> {
        let below = calls.take_sets_of(&grouping.keys);
        let made: Vec<ColumnId> = below.iter().flat_map(|call| call.columns().to_vec()).collect();
        let input = expanded(input, below)?;
        let groupings = std::mem::take(&mut calls.groupings)
            .into_iter()
            .map(|(column, arguments)| Ok((column, grouping.positions(&arguments, self)?)))
            .collect::<Result<Vec<_>, SqlError>>()?;
        let mut above = Above { binder: self, grouping, scope };
        for (at, target) in targets.iter_mut().enumerate() {
            match above.grouping.column_of_target(at) {
                Some(column) => target.expression = column,
                None => above.replace(&mut target.expression, false)?,
            }
        }
        let having =
            having.map(|mut condition| above.replace(&mut condition, false).map(|()| condition)).transpose()?;
        for window in &mut calls.windows {
            above.replace_window(window)?;
        }
        for call in &mut calls.sets {
            for argument in call.expressions_mut() {
                above.replace(argument, false)?;
            }
        }
        for (_, call) in calls.aggregates.iter().filter(|(_, call)| call.is_within_group) {
            for mut argument in call.arguments.iter().cloned() {
                let detail = "Direct arguments of an ordered-set aggregate must use only grouped columns.";
                above.replace(&mut argument, false).map_err(|error| error.with_detail(detail))?;
            }
        }
        // Such a call is another one, above the groups.
        let reads_below =
            |expression: &Expression| expression.free_columns().iter().any(|column| made.contains(column));
        let of_targets = targets.iter().map(|target| &target.expression).chain(&having);
        if of_targets.chain(calls.sets.iter().flat_map(SetFunctionCall::expressions)).any(reads_below) {
            let message = "a set-returning function of GROUP BY within another expression is not supported";
            return Err(SqlError::unsupported(message));
        }
        let mut sets = std::mem::take(&mut grouping.sets);
        if sets.is_empty() {
            sets.push(Vec::new());
        }
        let keys = std::mem::take(&mut grouping.keys);
        let reads_keys = |call: &AggregateCall| {
            call.is_within_group && call.arguments.iter().any(|argument| !argument.free_columns().is_empty())
        };
        if sets.len() > 1 && calls.aggregates.iter().any(|(_, call)| reads_keys(call)) {
            let message = "direct arguments that are keys are not supported with grouping sets";
            return Err(SqlError::unsupported(message));
        }
        let aggregates = std::mem::take(&mut calls.aggregates);
        let relation = Relation::Aggregate(Box::new(Aggregation { input, keys, sets, aggregates, groupings }));
        Ok(match having {
            Some(condition) => Relation::Filter { input: Box::new(relation), condition },
            None => relation,
        })
    }
}

impl Calls {
    /// The calls of set-returning functions that keys read, directly or through others.
    fn take_sets_of(&mut self, keys: &[(ColumnId, Expression)]) -> Vec<SetFunctionCall> {
        let mut read: BTreeSet<ColumnId> = keys.iter().flat_map(|(_, key)| key.free_columns()).collect();
        let mut taken = Vec::new();
        loop {
            let is_read = |call: &SetFunctionCall| call.columns().iter().any(|column| read.contains(column));
            let (found, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.sets).into_iter().partition(is_read);
            self.sets = rest;
            if found.is_empty() {
                return taken;
            }
            read.extend(found.iter().flat_map(SetFunctionCall::expressions).flat_map(Expression::free_columns));
            taken.extend(found);
        }
    }
}

fn check_count(set_count: usize) -> Result<(), SqlError> {
    if set_count <= SETS_MAX {
        return Ok(());
    }
    let message = format!("too many grouping sets present (maximum {SETS_MAX})");
    Err(SqlError::new(SqlState::StatementTooComplex, message))
}

impl Grouping {
    fn add(&mut self, column: ColumnId, key: Expression, target: Option<usize>) {
        self.keys.push((column, key));
        self.targets.push(target);
    }

    /// Where the key of a target is, or an equal one that is as good.
    fn position(&self, target: Option<usize>, expression: &Expression) -> Option<usize> {
        let is_it =
            |at: &usize| self.keys[*at].1.is_same(expression) && (!self.has_twins || self.targets[*at] == target);
        (0..self.keys.len()).find(is_it)
    }

    /// The column of the key that a target is.
    fn column_of_target(&self, target: usize) -> Option<Expression> {
        let at = self.targets.iter().position(|own| *own == Some(target))?;
        let (column, key) = &self.keys[at];
        Some(column_expression(*column, key.sql_type))
    }

    /// The key that an expression is: of equal ones that of the first target.
    fn key_of(&self, expression: &Expression) -> Option<&(ColumnId, Expression)> {
        let equal = (0..self.keys.len()).filter(|at| self.keys[*at].1.is_same(expression));
        equal.min_by_key(|at| self.targets[*at].unwrap_or(usize::MAX)).map(|at| &self.keys[at])
    }

    /// Whether a key that is no column is null in some of several grouping sets.
    fn has_computed_keys_in_sets(&self) -> bool {
        self.sets.len() > 1 && self.keys.iter().any(|(_, key)| !matches!(key.node, Node::Column(..)))
    }

    /// The positions of the keys that GROUPING names.
    fn positions(&self, arguments: &[Expression], binder: &Binder<'_>) -> Result<Vec<usize>, SqlError> {
        let position = |argument: &Expression| {
            self.keys.iter().position(|(_, key)| key.is_same(argument)).ok_or_else(|| {
                let message = "arguments to GROUPING must be grouping expressions of the associated query level";
                let error = SqlError::new(SqlState::GroupingError, message);
                match argument.place_of(&|_| true) {
                    Some(place) => binder.places.mark(error, place),
                    None => error,
                }
            })
        };
        arguments.iter().map(position).collect()
    }
}

/// Replaces what stands above the groups.
struct Above<'g, 'b, 's> {
    binder: &'g Binder<'b>,
    grouping: &'g mut Grouping,
    scope: &'g Scope<'s>,
}

impl Above<'_, '_, '_> {
    /// Replaces keys by their columns; what is neither a key nor made of keys and aggregates is refused. Within a subquery only columns
    /// are looked for.
    fn replace(&mut self, expression: &mut Expression, is_in_subquery: bool) -> Result<(), SqlError> {
        if (!is_in_subquery || matches!(expression.node, Node::Column(..)))
            && let Some((column, key)) = self.grouping.key_of(expression)
        {
            *expression = column_expression(*column, key.sql_type);
            return Ok(());
        }
        match &mut expression.node {
            // With another value it could be a part of a key.
            Node::Parameter(number) if self.grouping.has_computed_keys_in_sets() => {
                self.binder.look_at_parameter(*number)?;
            }
            Node::Column(column, origin) if self.scope.owns(*column) => {
                let (column, location) = (*column, origin.0);
                if self.is_determined(column) {
                    let key = expression.clone();
                    *expression = self.dependent_key(key, column);
                    return Ok(());
                }
                return Err(self.ungrouped(column, location, is_in_subquery));
            }
            Node::Subquery(subquery) => {
                let mut result = Ok(());
                subquery.relation.each_expression_mut(&mut |inner| {
                    if result.is_ok() {
                        result = self.replace(inner, true);
                    }
                });
                result?;
            }
            Node::Chain { first, steps } if !is_in_subquery => self.replace_beginning(first, steps),
            _ => {}
        }
        for operand in expression.operands_mut() {
            self.replace(operand, is_in_subquery)?;
        }
        Ok(())
    }

    /// Puts its column in place of the longest beginning of a chain that is a key.
    fn replace_beginning(&self, first: &mut Expression, steps: &mut Vec<Expression>) {
        let long = self.grouping.keys.iter().filter_map(|(_, key)| match &key.node {
            Node::Chain { steps: of_key, .. } if of_key.len() < steps.len() => Some(of_key.len()),
            _ => None,
        });
        let mut lengths: Vec<usize> = (1..steps.len().min(STEPS_MIN)).chain(long).collect();
        lengths.sort_unstable();
        for length in lengths.into_iter().rev() {
            let begun = beginning(first, &steps[..length]);
            if let Some((column, key)) = self.grouping.key_of(&begun) {
                *first = column_expression(*column, key.sql_type);
                steps.drain(..length);
                return;
            }
        }
    }

    fn replace_window(&mut self, window: &mut Windowing) -> Result<(), SqlError> {
        for key in &mut window.partition_by {
            self.replace(key, false)?;
        }
        for key in &mut window.order_by {
            self.replace(&mut key.expression, false)?;
        }
        for (_, call) in &mut window.calls {
            for argument in call.arguments.iter_mut().chain(&mut call.filter) {
                self.replace(argument, false)?;
            }
        }
        Ok(())
    }

    /// Whether a column is one of a table whose primary key is among the keys of every grouping set.
    fn is_determined(&self, column: ColumnId) -> bool {
        let is_key = |id: ColumnId| {
            let at =
                self.grouping.keys.iter().position(|(_, key)| matches!(key.node, Node::Column(own, _) if own == id));
            at.is_some_and(|at| self.grouping.sets.iter().all(|set| set.contains(&at)))
        };
        self.scope.relations.iter().any(|relation| {
            !relation.primary_key.is_empty()
                && relation.has(column)
                && relation.primary_key.iter().all(|at| is_key(relation.columns[*at].id))
        })
    }

    /// A further key, which does not make more groups.
    fn dependent_key(&mut self, key: Expression, column: ColumnId) -> Expression {
        let id = self.binder.statement.columns.borrow_mut().add_like(column);
        let sql_type = key.sql_type;
        self.grouping.add(id, key, None);
        let at = self.grouping.keys.len() - 1;
        for set in &mut self.grouping.sets {
            set.push(at);
        }
        column_expression(id, sql_type)
    }

    fn ungrouped(&self, column: ColumnId, location: Option<Location>, is_in_subquery: bool) -> SqlError {
        let named = self.scope.relations.iter().filter(|relation| relation.name.is_some());
        let found = named.flat_map(|relation| relation.columns.iter().map(move |own| (relation, own)));
        let row_of = self.scope.relations.iter().find(|relation| relation.presence == Some(column));
        let row = row_of.and_then(|relation| relation.name.as_ref()).map(|name| format!("{name}.*"));
        let shown = found.into_iter().find(|(_, own)| own.id == column).map_or_else(
            || row.unwrap_or_else(|| self.binder.statement.columns.borrow().name(column).to_owned()),
            |(relation, own)| format!("{}.{}", relation.name.as_deref().unwrap_or_default(), own.name),
        );
        let message = if is_in_subquery {
            format!("subquery uses ungrouped column \"{shown}\" from outer query")
        } else {
            format!("column \"{shown}\" must appear in the GROUP BY clause or be used in an aggregate function")
        };
        let place = location.map_or(Place::Nowhere, Place::At);
        self.binder.places.mark(SqlError::new(SqlState::GroupingError, message), place)
    }
}

/// Both sets, in order, without repetitions.
fn united(left: &[usize], right: &[usize]) -> Vec<usize> {
    let mut all = left.to_vec();
    for at in right {
        if !all.contains(at) {
            all.push(*at);
        }
    }
    all
}
