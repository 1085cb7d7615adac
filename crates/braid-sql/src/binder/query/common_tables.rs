//! WITH: common table expressions, recursive or not.

use std::cell::RefCell;
use std::rc::Rc;

use sqlparser::ast::{
    Cte, CteAsMaterialized, LimitClause, OrderBy, OrderByKind, Query as Syntax, SetExpr, SetOperator, SetQuantifier,
    With,
};

use super::scope::{CommonTable, Scope};
use super::table_order::binding_order;
use super::{Target, rows};
use crate::binder::clause::Clause;
use crate::binder::places::Place;
use crate::binder::records::without_record_number;
use crate::binder::{Binder, fold};
use crate::expression::Node;
use crate::pg_catalog::TypeId;
use crate::relation::{CteId, JoinKind, Query, Recursion, Relation, Rows, SetOperator as Operator};
use crate::syntax::fetch_count;
use crate::types::type_names::format_type;
use crate::{Expression, SqlError, SqlState};

/// A common table expression, to be put around the query that reads it.
pub(super) enum Definition {
    Plain { cte: CteId, is_materialized: Option<bool>, rows: Rows },
    Recursive { cte: CteId, is_distinct: bool, start: Rows, step: Rows },
}

impl Definition {
    pub fn around(self, body: Relation) -> Relation {
        match self {
            Self::Plain { cte, is_materialized, rows } => {
                Relation::With { cte, is_materialized, definition: Box::new(rows), body: Box::new(body) }
            }
            Self::Recursive { cte, is_distinct, start, step } => {
                Relation::Recursive(Box::new(Recursion { cte, is_distinct, start, step, body }))
            }
        }
    }
}

impl Binder<'_> {
    /// The definitions of WITH. Their names go to `scope`, one after the other.
    pub(super) fn common_tables(&self, with: &With, scope: &mut Scope<'_>) -> Result<Vec<Definition>, SqlError> {
        for (at, cte) in with.cte_tables.iter().enumerate() {
            let name = fold(&cte.alias.name);
            if with.cte_tables[..at].iter().any(|other| fold(&other.alias.name) == name) {
                let message = format!("WITH query name \"{name}\" specified more than once");
                let place = Place::At(cte.alias.name.span.start);
                return Err(self.places.mark(SqlError::new(SqlState::DuplicateAlias, message), place));
            }
        }
        let mut definitions = Vec::new();
        if with.recursive {
            // What is not bound yet hides tables of its name.
            let names = with.cte_tables.iter().rev().map(|cte| fold(&cte.alias.name));
            scope.common_tables.extend(names.map(unavailable).map(Rc::new));
        }
        let order = match with.recursive {
            true => binding_order(&with.cte_tables).map_err(|at| {
                let message = "mutual recursion between WITH items is not implemented";
                let place = Place::At(with.cte_tables[at].alias.name.span.start);
                self.places.mark(SqlError::unsupported(message), place)
            })?,
            false => (0..with.cte_tables.len()).collect(),
        };
        for at in order {
            let cte = &with.cte_tables[at];
            if !with.recursive {
                scope.future_tables = with.cte_tables[at..].iter().map(|cte| fold(&cte.alias.name)).collect();
            }
            if cte.from.is_some() || cte.alias.columns.iter().any(|column| column.data_type.is_some()) {
                return Err(SqlError::unsupported("this form of WITH is not supported"));
            }
            let (definition, table) = match recursive_terms(&cte.query) {
                Some((start, step, is_distinct)) if with.recursive => {
                    self.recursive_table(cte, (start, step, is_distinct), scope)?
                }
                _ if with.recursive => {
                    let refusal = self.refused_recursion(cte);
                    self.without(fold(&cte.alias.name), refusal, scope, |scope| self.plain_table(cte, scope))?
                }
                _ => self.plain_table(cte, scope)?,
            };
            scope.common_tables.push(Rc::new(table));
            definitions.push(definition);
        }
        scope.future_tables.clear();
        Ok(definitions)
    }

    /// Why a query cannot refer to itself.
    fn refused_recursion(&self, cte: &Cte) -> SqlError {
        let name = fold(&cte.alias.name);
        if !matches!(&*cte.query.body, SetExpr::SetOperation { op: SetOperator::Union, .. }) {
            let form = "non-recursive-term UNION [ALL] recursive-term";
            let message = format!("recursive query \"{name}\" does not have the form {form}");
            let error = SqlError::new(SqlState::InvalidRecursion, message);
            return self.places.mark(error, Place::At(cte.alias.name.span.start));
        }
        let (clause, place) = match (&cte.query.order_by, &cte.query.limit_clause) {
            (Some(OrderBy { kind: OrderByKind::Expressions(keys), .. }), _) => {
                ("ORDER BY", keys.first().map_or(Place::Nowhere, |key| Place::Start(&key.expr)))
            }
            (_, Some(LimitClause::LimitOffset { offset: Some(offset), .. })) => ("OFFSET", Place::Start(&offset.value)),
            (_, Some(LimitClause::LimitOffset { limit: Some(limit), .. })) => {
                ("LIMIT", Place::Start(fetch_count(limit).map_or(limit, |(count, _)| count)))
            }
            _ if !cte.query.locks.is_empty() => {
                return SqlError::unsupported("FOR UPDATE/SHARE in a recursive query is not implemented");
            }
            _ => return SqlError::unsupported(format!("this form of the recursive query \"{name}\" is not supported")),
        };
        let message = format!("{clause} in a recursive query is not implemented");
        self.places.mark(SqlError::unsupported(message), place)
    }

    /// Binds something that cannot refer to a common table expression.
    fn without<'p, T>(
        &self,
        name: String,
        refusal: SqlError,
        scope: &mut Scope<'p>,
        bind: impl FnOnce(&Scope<'p>) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        scope.common_tables.push(Rc::new(CommonTable { refusal: Some(refusal), ..unavailable(name) }));
        let bound = bind(scope);
        scope.common_tables.pop();
        bound
    }

    fn plain_table(&self, cte: &Cte, scope: &Scope<'_>) -> Result<(Definition, CommonTable), SqlError> {
        let query = {
            let binder = self.in_scope(scope, Clause::FromFunction);
            binder.query(&cte.query, Scope::within(&binder))?
        };
        let id = self.new_cte();
        let table = self.table_of(cte, &query, Some(id))?;
        let is_materialized = cte.materialized.as_ref().map(|word| matches!(word, CteAsMaterialized::Materialized));
        Ok((Definition::Plain { cte: id, is_materialized, rows: rows(query) }, table))
    }

    /// The name and columns of a common table expression.
    fn table_of(&self, cte: &Cte, query: &Query, id: Option<CteId>) -> Result<CommonTable, SqlError> {
        let name = fold(&cte.alias.name);
        let mut columns: Vec<_> = query.outputs.iter().map(|output| self.table_column(output)).collect();
        if cte.alias.columns.len() > columns.len() {
            let (given, there) = (cte.alias.columns.len(), columns.len());
            let message = format!("WITH query \"{name}\" has {there} columns available but {given} columns specified");
            let place = Place::At(cte.alias.name.span.start);
            return Err(self.places.mark(SqlError::new(SqlState::InvalidColumnReference, message), place));
        }
        for (column, alias) in columns.iter_mut().zip(&cte.alias.columns) {
            column.name = fold(&alias.name);
        }
        Ok(CommonTable { name, cte: id, columns, is_last_step: false, refusal: None, references: RefCell::default() })
    }

    fn recursive_table(
        &self,
        cte: &Cte,
        (start, step, is_distinct): (&SetExpr, &SetExpr, bool),
        scope: &mut Scope<'_>,
    ) -> Result<(Definition, CommonTable), SqlError> {
        let name = fold(&cte.alias.name);
        let message = format!("recursive reference to query \"{name}\" must not appear within its non-recursive term");
        let refusal = SqlError::new(SqlState::InvalidRecursion, message);
        let (mut start, places) = self.without(name, refusal, scope, |scope| {
            let binder = self.in_scope(scope, Clause::FromFunction);
            let pending = binder.set_tree(start)?;
            let places: Vec<Place<'_>> = pending.targets.iter().map(|target| target.place).collect();
            Ok((binder.finished(pending)?, places))
        })?;
        // The step may add records of other fields to an array.
        let arrays = start.outputs.iter_mut().filter(|output| output.sql_type.id == TypeId::RECORD_ARRAY);
        arrays.for_each(|output| output.sql_type = without_record_number(output.sql_type));
        let id = self.new_cte();
        let table = self.table_of(cte, &start, Some(id))?;
        let visible = Rc::new(CommonTable {
            name: table.name.clone(),
            cte: Some(id),
            columns: table.columns.clone(),
            is_last_step: true,
            refusal: None,
            references: RefCell::default(),
        });
        scope.common_tables.push(visible.clone());
        let step = {
            let binder = self.in_scope(scope, Clause::FromFunction);
            let pending = binder.set_tree(step)?;
            let is_read = |target: &Target<'_>| scans_of_expression(&target.expression, id) > 0;
            if scans(&pending.relation, id) == 0 && !pending.targets.iter().any(is_read) {
                scope.common_tables.pop();
                return self.plain_table(cte, scope);
            }
            if !pending.targets.iter().any(is_read) {
                self.check_step(&pending.relation, &visible, id)?;
            }
            if pending.targets.len() != start.outputs.len() {
                let message = "each UNION query must have the same number of columns";
                let place = pending.targets.first().map_or(Place::Nowhere, |target| target.place);
                return Err(self.places.mark(SqlError::new(SqlState::SyntaxError, message), place));
            }
            let targets = pending.targets.into_iter().zip(&start.outputs).enumerate().map(|(at, (target, output))| {
                let pair = vec![
                    (super::subqueries::column_of(output), Place::Nowhere),
                    (target.expression, target.place),
                ];
                let (mut values, sql_type) = self.of_one_type(pair, "UNION")?;
                if sql_type != output.sql_type && sql_type.id == TypeId::RECORD {
                    return Err(SqlError::unsupported("records of different fields in a recursion are not supported"));
                }
                if sql_type != output.sql_type {
                    let (wanted, found) = (format_type(output.sql_type), format_type(sql_type));
                    let message = format!(
                        "recursive query \"{}\" column {} has type {wanted} in non-recursive term but type {found} overall",
                        table.name,
                        at + 1
                    );
                    let hint = "Cast the output of the non-recursive term to the correct type.";
                    let error = SqlError::new(SqlState::DatatypeMismatch, message).with_hint(hint);
                    return Err(self.places.mark(error, places[at]));
                }
                if is_distinct {
                    super::set_operations::check_equality(sql_type.id)
                        .map_err(|error| self.places.mark(error, places[at]))?;
                }
                Ok(Target { expression: values.remove(1), name: target.name, place: Place::Nowhere })
            });
            let targets = targets.collect::<Result<Vec<_>, SqlError>>()?;
            self.computed_columns(pending.relation, targets)
        };
        scope.common_tables.pop();
        self.check_step(&step.relation, &visible, id)?;
        let definition = Definition::Recursive { cte: id, is_distinct, start: rows(start), step: rows(step) };
        Ok((definition, table))
    }

    /// Refuses a step that reads the rows of the step before in an aggregate, or otherwise than once and by rows.
    fn check_step(&self, step: &Relation, table: &CommonTable, id: CteId) -> Result<(), SqlError> {
        check_recursion(step, id, &table.name).map_err(|error| {
            // Of several references, the second one.
            let place = table.references.borrow().iter().take(2).next_back().copied().flatten();
            self.places.mark(error, place.map_or(Place::Nowhere, Place::At))
        })?;
        let Some(place) = self.statement.aggregated_steps.borrow().get(&id).copied() else { return Ok(()) };
        let message = "aggregate functions are not allowed in a recursive query's recursive term";
        let error = SqlError::new(SqlState::InvalidRecursion, message);
        Err(self.places.mark(error, place.map_or(Place::Nowhere, Place::At)))
    }
}

/// A name that cannot be referred to yet.
pub(super) fn unavailable(name: String) -> CommonTable {
    CommonTable {
        name,
        cte: None,
        columns: Vec::new(),
        is_last_step: false,
        refusal: None,
        references: RefCell::default(),
    }
}

/// The terms of a query that may be recursive, and whether equal rows are dropped.
fn recursive_terms(query: &Syntax) -> Option<(&SetExpr, &SetExpr, bool)> {
    let is_bare = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
        && query.locks.is_empty();
    match &*query.body {
        SetExpr::SetOperation { left, op: SetOperator::Union, set_quantifier, right } if is_bare => {
            let is_distinct = !matches!(set_quantifier, SetQuantifier::All);
            Some((left, right, is_distinct))
        }
        _ => None,
    }
}

/// Refuses a step that is not linear in the rows of the step before: such a recursion could lose rows that it made.
fn check_recursion(step: &Relation, id: CteId, name: &str) -> Result<(), SqlError> {
    let count = scans(step, id);
    let refuse = |message: String| Err(SqlError::new(SqlState::InvalidRecursion, message));
    if count > 1 {
        return refuse(format!("recursive reference to query \"{name}\" must not appear more than once"));
    }
    check_place(step, id, name)
}

fn check_place(relation: &Relation, id: CteId, name: &str) -> Result<(), SqlError> {
    let within = |what: &str| {
        let message = format!("recursive reference to query \"{name}\" must not appear within {what}");
        Err(SqlError::new(SqlState::InvalidRecursion, message))
    };
    if relation.expressions().into_iter().any(|expression| scans_of_expression(expression, id) > 0) {
        return within("a subquery");
    }
    match relation {
        Relation::Join { kind, left, right, .. } => {
            let (in_left, in_right) = (scans(left, id) > 0, scans(right, id) > 0);
            let is_outer = match kind {
                JoinKind::Inner | JoinKind::Semi => false,
                JoinKind::Left | JoinKind::Anti | JoinKind::Mark(_) | JoinKind::Single => in_right,
                JoinKind::Right => in_left,
                JoinKind::Full => in_left || in_right,
            };
            if is_outer {
                return within("an outer join");
            }
        }
        Relation::SetOperation { operator: Operator::Except, right, .. } if scans(&right.relation, id) > 0 => {
            return within("EXCEPT");
        }
        Relation::SetOperation { operator: Operator::Intersect, is_all: true, .. } if scans(relation, id) > 0 => {
            return within("INTERSECT");
        }
        _ => {}
    }
    relation.inputs().into_iter().try_for_each(|input| check_place(input, id, name))
}

/// How often a relation reads a common table expression.
fn scans(relation: &Relation, id: CteId) -> usize {
    let own = usize::from(matches!(relation, Relation::CteScan { cte, .. } if *cte == id));
    let of_expressions: usize =
        relation.expressions().into_iter().map(|expression| scans_of_expression(expression, id)).sum();
    let of_inputs: usize = relation.inputs().into_iter().map(|input| scans(input, id)).sum();
    own + of_expressions + of_inputs
}

fn scans_of_expression(expression: &Expression, id: CteId) -> usize {
    let own = match &expression.node {
        Node::Subquery(subquery) => scans(&subquery.relation, id),
        _ => 0,
    };
    own + expression.operands().into_iter().map(|operand| scans_of_expression(operand, id)).sum::<usize>()
}
