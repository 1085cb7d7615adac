//! Names of relations that stand for their rows: `count(t.*)`, `t IS NULL`, `row_to_json(t)`.
//!
//! No value has a type for rows, so that a row is only what is asked about it. Whether it is there at all is a column that FROM makes beside
//! its relation: true, and null where an outer join found no row. `IS NULL` asks each column. A row as JSON is put together from the JSON of
//! its columns. All else is refused as unsupported.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectNamePart, Query, Visit, Visitor,
};

use super::from::FromItem;
use super::scope::ScopeRelation;
use crate::binder::calls::Argument;
use crate::binder::places::Place;
use crate::binder::{Binder, Placed, fold, negation, truth};
use crate::expression::{Expression, Node, Origin};
use crate::pg_catalog::{CastContext, TypeId};
use crate::relation::Relation;
use crate::values::Value;
use crate::{SqlError, SqlType};

/// Functions that take a row as its JSON. `json_agg` writes rows on lines of their own, other JSON not.
const JSON_FUNCTIONS: &[&str] = &[
    "row_to_json",
    "to_json",
    "to_jsonb",
    "jsonb_agg",
    "json_build_array",
    "jsonb_build_array",
    "json_build_object",
    "jsonb_build_object",
];

/// Texts that are put together by one call, fewer than a function may have arguments.
const TEXTS_MAX: usize = 50;

/// The names of relations whose rows the calls of a statement may read.
#[derive(Debug, Default)]
pub(in crate::binder) struct RowNames(RefCell<BTreeSet<String>>);

impl RowNames {
    /// Adds those of a query.
    pub fn note(&self, query: &Query) {
        // The visitor never breaks.
        let _: ControlFlow<()> = query.visit(&mut ArgumentNames(&mut self.0.borrow_mut()));
    }
}

/// Looks for arguments that are a name.
struct ArgumentNames<'n>(&'n mut BTreeSet<String>);

impl Visitor for ArgumentNames<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = expression {
            self.0.extend(list.args.iter().filter_map(argument_name).map(fold));
        }
        ControlFlow::Continue(())
    }
}

/// The name of a relation that an argument may be.
fn argument_name(argument: &FunctionArg) -> Option<&Ident> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(name))) => Some(name),
        FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name)) => match &name.0[..] {
            [ObjectNamePart::Identifier(name)] => Some(name),
            _ => None,
        },
        _ => None,
    }
}

impl<'a> Binder<'a> {
    /// The item with a column that tells whether its row is there, if a call may ask that.
    pub(super) fn with_presence(&self, mut item: FromItem) -> FromItem {
        let Some(relation) = item.names.last_mut() else { return item };
        let is_read = relation.name.as_ref().is_some_and(|name| self.statement.row_names.0.borrow().contains(name));
        // A name that is a column's, too, means the column, except before `.*`.
        if is_read && relation.presence.is_none() {
            let id = self.new_column("*", SqlType::of(TypeId::BOOL));
            relation.presence = Some(id);
            let expressions = vec![(id, Expression::of(Value::Bool(true), TypeId::BOOL))];
            item.relation = Relation::Map { input: Box::new(item.relation), expressions };
        }
        item
    }

    /// The relation whose row a name means: there is no such column.
    fn whole_row(&self, name: &Ident) -> Option<&'a ScopeRelation> {
        let name = fold(name);
        let is_column = self
            .scopes()
            .flat_map(|scope| &scope.relations)
            .any(|relation| relation.has_visible_columns && relation.columns.iter().any(|column| column.name == name));
        if is_column { None } else { self.relation_named(None, &name).ok() }
    }

    /// The relation whose row an argument is.
    fn row_argument(&self, argument: &FunctionArg) -> Result<Option<(&'a ScopeRelation, Origin)>, SqlError> {
        let Some(name) = argument_name(argument) else { return Ok(None) };
        let found = match argument {
            FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(_)) => {
                let relation = self.relation_named(None, &fold(name));
                Some(relation.map_err(|error| self.places.mark(error, Place::At(name.span.start)))?)
            }
            _ => self.whole_row(name),
        };
        Ok(found.map(|relation| (relation, Origin(Some(name.span.start)))))
    }

    /// `t IS NULL`: whether all columns are null; `t IS NOT NULL`: whether none is. `None` if it is no row.
    pub(in crate::binder) fn whole_row_is_null(&self, syntax: &Expr, is_null: bool) -> Option<Expression> {
        let Expr::Identifier(name) = syntax else { return None };
        let relation = self.whole_row(name)?;
        let tests = relation.columns.iter().map(|column| {
            let test = truth(Node::IsNull(Box::new(column.expression(Origin(Some(name.span.start))))));
            if is_null { test } else { negation(test) }
        });
        Some(truth(Node::And(tests.collect())))
    }

    /// The arguments of a call of which some are rows, as the function takes them; `None` if none is a row.
    ///
    /// # Errors
    /// 0A000 for a function that needs a row as a value.
    pub(in crate::binder) fn row_arguments<'s>(
        &self,
        function: &str,
        arguments: &'s [FunctionArg],
        is_distinct: bool,
    ) -> Result<Option<Vec<Placed<'s>>>, SqlError> {
        let rows = arguments.iter().map(|argument| self.row_argument(argument)).collect::<Result<Vec<_>, _>>()?;
        if rows.iter().all(Option::is_none) {
            return Ok(None);
        }
        let refusal = || SqlError::unsupported("rows as values are not supported");
        let placed = arguments.iter().zip(rows).map(|(argument, row)| {
            let Some((relation, origin)) = row else {
                let Argument { name: None, syntax, is_variadic: false } = self.argument(argument, function)? else {
                    return Err(refusal());
                };
                return self.placed(syntax);
            };
            let presence = relation.presence.ok_or_else(refusal)?;
            let is_there = Expression { node: Node::Column(presence, origin), sql_type: SqlType::of(TypeId::BOOL) };
            let value = match function {
                "count" => is_there,
                _ if JSON_FUNCTIONS.contains(&function) => self.row_as_json(relation, is_there, origin)?,
                _ => return Err(refusal()),
            };
            Ok((value, origin.0.map_or(Place::Nowhere, Place::At)))
        });
        if is_distinct || (function == "row_to_json" && arguments.len() > 1) {
            return Err(refusal());
        }
        Ok(Some(placed.collect::<Result<_, SqlError>>()?))
    }

    /// `{"a":1,"b":null}`, null where there is no row.
    fn row_as_json(
        &self,
        relation: &ScopeRelation,
        is_there: Expression,
        origin: Origin,
    ) -> Result<Expression, SqlError> {
        let text = |text: String| (Expression::of(Value::text(text), TypeId::TEXT), Place::Nowhere);
        let (json, text_type) = (SqlType::of(TypeId::JSON), SqlType::of(TypeId::TEXT));
        let mut texts = vec![text("{".to_owned())];
        for (at, column) in relation.columns.iter().enumerate() {
            let name = Expression::of(Value::text(column.name.clone()), TypeId::TEXT);
            let quoted = self.call_on("to_json", vec![(name, Place::Nowhere)])?;
            if at > 0 {
                texts.push(text(",".to_owned()));
            }
            texts.push((self.coerce(quoted, Place::Nowhere, text_type, CastContext::Explicit)?, Place::Nowhere));
            texts.push(text(":".to_owned()));
            let value = self.call_on("to_json", vec![(column.expression(origin), Place::Nowhere)])?;
            let shown = self.coerce(value, Place::Nowhere, text_type, CastContext::Explicit)?;
            let null = Expression::of(Value::text("null"), TypeId::TEXT);
            texts.push((Expression { node: Node::Coalesce(vec![shown, null]), sql_type: text_type }, Place::Nowhere));
        }
        texts.push(text("}".to_owned()));
        while texts.len() > 1 {
            let joined =
                texts.chunks(TEXTS_MAX).map(|part| Ok((self.call_on("concat", part.to_vec())?, Place::Nowhere)));
            texts = joined.collect::<Result<_, SqlError>>()?;
        }
        let (joined, place) = texts.remove(0);
        let shown = self.coerce(joined, place, json, CastContext::Explicit)?;
        let none = Expression { node: Node::Constant(Value::Null), sql_type: json };
        let is_absent = truth(Node::IsNull(Box::new(is_there)));
        Ok(Expression {
            node: Node::Case { branches: vec![(is_absent, none)], otherwise: Box::new(shown) },
            sql_type: json,
        })
    }
}
