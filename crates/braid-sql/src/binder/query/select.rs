//! One SELECT. Its clauses are looked at in PostgreSQL's order, so that the first error is the same.

use std::collections::BTreeSet;

use sqlparser::ast::{Distinct, GroupByExpr, NamedWindowDefinition, Select, SelectFlavor};

use super::ordering::{Limits, Tail};
use super::scope::{Calls, Scope};
use super::value_sources::split_value_sources;
use super::{Pending, Target};
use crate::binder::Binder;
use crate::binder::clause::Clause;
use crate::binder::places::Place;
use crate::expression::Expression;
use crate::relation::{Expansion, Relation, SetFunctionCall, SortKey};
use crate::{SqlError, SqlState};

/// What a query does with equal rows.
enum Distinctness {
    All,
    Distinct,
    /// Positions of the targets of DISTINCT ON.
    On(Vec<usize>),
}

impl Binder<'_> {
    /// A SELECT with what follows it.
    pub(super) fn select<'q: 's, 's>(
        &self,
        select: &'q Select,
        tail: &Tail<'q>,
        mut scope: Scope<'s>,
    ) -> Result<Pending<'q>, SqlError>
    where
        Self: 's,
    {
        check_clauses(select)?;
        if select.projection.is_empty() && matches!(select.distinct, Some(Distinct::Distinct | Distinct::On(_))) {
            return Err(SqlError::new(SqlState::SyntaxError, "syntax error: DISTINCT needs an expression"));
        }
        scope.windows = &select.named_window;
        check_windows(&select.named_window)?;
        let (items, sources) = split_value_sources(&select.from);
        let relation = self.from(items, &mut scope)?;
        self.note_changed_relations(&scope);
        let sources = self.value_sources(sources, &mut scope)?;
        let binder = self.in_scope(&scope, scope.clause_of_select_list());
        let mut targets = binder.select_list(&select.projection, &scope)?;
        let visible = targets.len();
        let condition = select.selection.as_ref();
        let condition = condition
            .map(|condition| binder.within(Clause::Where).boolean(condition, "argument of WHERE"))
            .transpose()?;
        let having = select.having.as_ref();
        let having = having
            .map(|condition| binder.within(Clause::Having).boolean(condition, "argument of HAVING"))
            .transpose()?;
        let order = binder.order_targets(tail.order_by, &mut targets, visible)?;
        let mut grouping = binder.grouping(&select.group_by, &mut targets, visible)?;
        let distinctness = binder.distinctness(select.distinct.as_ref(), &order, &mut targets, visible)?;
        let limits = binder.limits(tail)?;

        let mut relation = match condition {
            Some(condition) => Relation::Filter { input: Box::new(relation), condition },
            None => relation,
        };
        for source in sources {
            relation = source.beside(relation);
        }
        let mut calls = scope.calls.take();
        if calls.has_aggregates() {
            let is_aggregate = |column| calls.aggregates.iter().any(|(own, _)| *own == column);
            let of_targets = targets.iter().map(|target| &target.expression).chain(&having);
            let place = of_targets.into_iter().find_map(|expression| expression.place_of(&is_aggregate));
            let place = place.and_then(Place::location);
            let last_steps = scope.relations.iter().filter_map(|relation| relation.last_step);
            self.statement.aggregated_steps.borrow_mut().extend(last_steps.map(|step| (step, place)));
        }
        let is_grouped = grouping.is_some() || having.is_some() || calls.has_aggregates();
        if is_grouped {
            let mut grouping = grouping.take().unwrap_or_default();
            relation = binder.grouped(relation, &mut grouping, &mut calls, having, &mut targets, &scope)?;
        }
        for window in std::mem::take(&mut calls.windows) {
            let input = relation;
            relation = Relation::Window(Box::new(crate::relation::Windowing { input, ..window }));
        }
        let (early, late) = sets_around(std::mem::take(&mut calls.sets), &targets, &order, &distinctness);
        relation = expanded(relation, early)?;
        binder.ordered(relation, targets, visible, (order, distinctness, late, limits))
    }

    fn distinctness<'s>(
        &self,
        distinct: Option<&'s Distinct>,
        order: &[(usize, SortKey)],
        targets: &mut Vec<Target<'s>>,
        visible: usize,
    ) -> Result<Distinctness, SqlError> {
        let reference = |message: &str, place| {
            Err(self.places.mark(SqlError::new(SqlState::InvalidColumnReference, message), place))
        };
        match distinct {
            None | Some(Distinct::All) => Ok(Distinctness::All),
            Some(Distinct::Distinct) => {
                if let Some((at, _)) = order.iter().find(|(at, _)| *at >= visible) {
                    let message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
                    return reference(message, targets[*at].place);
                }
                for target in targets.iter_mut().take(visible) {
                    target.expression = self.resolve_unknown(target.expression.clone())?;
                    super::set_operations::check_equality(target.expression.sql_type.id)?;
                }
                Ok(Distinctness::Distinct)
            }
            Some(Distinct::On(keys)) => {
                let (mut positions, mut places) = (Vec::new(), Vec::new());
                for key in keys {
                    let at = self.within(Clause::DistinctOn).key_target(key, targets, visible)?;
                    let place = Place::Start(key);
                    let id = targets[at].expression.sql_type.id;
                    super::set_operations::check_equality(id).map_err(|error| self.places.mark(error, place))?;
                    if !positions.contains(&at) {
                        positions.push(at);
                        places.push(place);
                    }
                }
                // The first keys of the order are those of DISTINCT ON, in any order.
                let leading = order.iter().take_while(|(at, _)| positions.contains(at)).count();
                let covered = order[..leading].iter().map(|(at, _)| at).collect::<BTreeSet<_>>();
                if leading < order.len() && covered.len() < positions.len() {
                    let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
                    let missing = positions.iter().position(|at| !covered.contains(at));
                    let place = missing.map_or(Place::Nowhere, |missing| places[missing]);
                    return reference(message, place);
                }
                Ok(Distinctness::On(positions))
            }
        }
    }

    /// The rows in their order, and as many as are wanted.
    fn ordered<'s>(
        &self,
        relation: Relation,
        targets: Vec<Target<'s>>,
        visible: usize,
        (order, distinctness, sets, limits): (Vec<(usize, SortKey)>, Distinctness, Vec<SetFunctionCall>, Limits),
    ) -> Result<Pending<'s>, SqlError> {
        if order.is_empty() && matches!(distinctness, Distinctness::All) {
            let relation = limits.around(relation, &[])?;
            return Ok(Pending { relation, targets });
        }
        // Only keys and distinct columns are computed here; others keep their literals.
        let is_needed = |at: usize| match &distinctness {
            Distinctness::Distinct => true,
            Distinctness::On(positions) => positions.contains(&at) || order.iter().any(|(key, _)| *key == at),
            Distinctness::All => order.iter().any(|(key, _)| *key == at),
        };
        let (mut relation, mut computed) = self.with_computed(relation, targets, |at, _| is_needed(at))?;
        if matches!(distinctness, Distinctness::Distinct) {
            let columns = computed[..visible].iter().flat_map(|target| target.expression.free_columns()).collect();
            relation = Relation::Distinct { input: Box::new(relation), columns };
        }
        let keys: Vec<SortKey> =
            order.into_iter().map(|(at, key)| SortKey { expression: computed[at].expression.clone(), ..key }).collect();
        if !keys.is_empty() {
            relation = Relation::Sort { input: Box::new(relation), keys: keys.clone() };
        }
        if let Distinctness::On(positions) = distinctness {
            let on: Vec<Expression> = positions.iter().map(|at| computed[*at].expression.clone()).collect();
            relation = Relation::DistinctOn { input: Box::new(relation), keys: on };
        }
        relation = expanded(relation, sets)?;
        let relation = limits.around(relation, &keys)?;
        computed.truncate(visible);
        Ok(Pending { relation, targets: computed })
    }
}

impl Calls {
    fn has_aggregates(&self) -> bool {
        !self.aggregates.is_empty() || !self.groupings.is_empty()
    }
}

/// The set-returning functions that come before order and distinctness, and those that come after: as in PostgreSQL, all of a query with
/// DISTINCT ON and ORDER BY whose keys read none.
fn sets_around(
    sets: Vec<SetFunctionCall>,
    targets: &[Target<'_>],
    order: &[(usize, SortKey)],
    distinctness: &Distinctness,
) -> (Vec<SetFunctionCall>, Vec<SetFunctionCall>) {
    let Distinctness::On(positions) = distinctness else { return (sets, Vec::new()) };
    let made: BTreeSet<_> = sets.iter().flat_map(|call| call.columns().to_vec()).collect();
    let mut keys = order.iter().map(|(at, _)| at).chain(positions);
    let are_read = keys.any(|at| !targets[*at].expression.free_columns().is_disjoint(&made));
    if order.is_empty() || are_read { (sets, Vec::new()) } else { (Vec::new(), sets) }
}

/// Rows of the set-returning functions. Those whose arguments read the results of others come after them.
pub(super) fn expanded(mut relation: Relation, calls: Vec<SetFunctionCall>) -> Result<Relation, SqlError> {
    let mut rest = calls;
    while !rest.is_empty() {
        let made: Vec<_> = rest.iter().flat_map(|call| call.columns().to_vec()).collect();
        let reads = |call: &SetFunctionCall| {
            call.expressions().into_iter().flat_map(Expression::free_columns).any(|column| made.contains(&column))
        };
        let (later, functions): (Vec<_>, Vec<_>) = rest.into_iter().partition(reads);
        if functions.is_empty() {
            return Err(SqlError::new(SqlState::InternalError, "set-returning functions read each other"));
        }
        relation = Relation::Expand(Box::new(Expansion { input: relation, functions, ordinality: None }));
        rest = later;
    }
    Ok(relation)
}

/// Refuses two windows of one name.
fn check_windows(windows: &[NamedWindowDefinition]) -> Result<(), SqlError> {
    for (at, window) in windows.iter().enumerate() {
        let name = crate::binder::fold(&window.0);
        if windows[..at].iter().any(|other| crate::binder::fold(&other.0) == name) {
            let message = format!("window \"{name}\" is already defined");
            return Err(SqlError::new(SqlState::WindowingError, message));
        }
    }
    Ok(())
}

/// Refuses the clauses of other dialects. Every clause is named here, so that a new one is noticed.
fn check_clauses(select: &Select) -> Result<(), SqlError> {
    let Select {
        select_token: _,
        optimizer_hints: _,
        distinct: _,
        select_modifiers: None,
        top: None,
        top_before_distinct: _,
        projection: _,
        exclude: None,
        into: None,
        from: _,
        lateral_views,
        prewhere: None,
        selection: _,
        connect_by,
        group_by,
        cluster_by,
        distribute_by,
        sort_by,
        having: _,
        named_window: _,
        qualify: None,
        window_before_qualify: _,
        value_table_mode: None,
        flavor: SelectFlavor::Standard,
    } = select
    else {
        return Err(SqlError::unsupported("this form of SELECT is not supported"));
    };
    let has_others = !lateral_views.is_empty()
        || !connect_by.is_empty()
        || !cluster_by.is_empty()
        || !distribute_by.is_empty()
        || !sort_by.is_empty()
        || !matches!(group_by, GroupByExpr::Expressions(_, modifiers) if modifiers.is_empty());
    match has_others {
        true => Err(SqlError::unsupported("this form of SELECT is not supported")),
        false => Ok(()),
    }
}
