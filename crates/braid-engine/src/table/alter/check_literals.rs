//! What the strings of a check constraint mean once a column that it reads has another type.
//!
//! In PostgreSQL the types of a condition's strings are those that they were read as when the constraint was made: of `day > '2020-01-01'`
//! the string stays a date. Here a condition is kept as it was written, so these types are written into it before the column changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_sql::SqlType;
use braid_sql::pg_catalog::TypeId;
use braid_sql::syntax::walk::{Rewrite, Tree};
use braid_sql::types::type_names::format_type;
use braid_storage::{CheckDef, TableDef};
use sqlparser::ast::{CastKind, DataType, Expr};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Location;

use crate::EngineError;
use crate::dml::row_checks::check_syntax;
use crate::front_end::{RowCondition, StatementFacts};
use crate::statement::SqlDialect;
use crate::statement_context::StatementContext;
use crate::table::definition::condition_text;

/// A constraint whose strings say their types.
///
/// # Errors
/// When its condition cannot be bound any more.
pub(super) fn with_typed_strings(
    context: &StatementContext,
    def: &Arc<TableDef>,
    check: &CheckDef,
) -> Result<CheckDef, EngineError> {
    let mut syntax = check_syntax(check)?;
    let mut strings = PlainStrings::default();
    syntax.rewrite(&mut strings);
    if strings.found.is_empty() {
        return Ok(check.clone());
    }
    let types = RowCondition::string_types(context, def, (&check.condition, &syntax), &strings.found)?;
    let types = types.into_iter().map(|(location, id)| Ok((location, syntax_of(id)?)));
    let mut casts = Casts(types.collect::<Result<_, EngineError>>()?);
    syntax.rewrite(&mut casts);
    let condition = condition_text(&syntax, &StatementFacts::of(context))?;
    Ok(CheckDef { condition, ..check.clone() })
}

/// Where strings stand that no cast is written for.
#[derive(Default)]
struct PlainStrings {
    found: Vec<Location>,
    cast: Vec<Location>,
}

impl Rewrite for PlainStrings {
    fn enter_expression(&mut self, expression: &mut Expr) {
        match expression {
            Expr::Cast { expr, .. } => self.cast.extend(string_at(expr)),
            other => self.found.extend(string_at(other).filter(|location| !self.cast.contains(location))),
        }
    }
}

/// The types of strings by their places.
struct Casts(BTreeMap<Location, DataType>);

impl Rewrite for Casts {
    fn leave_expression(&mut self, expression: &mut Expr) {
        let Some(data_type) = string_at(expression).and_then(|location| self.0.remove(&location)) else { return };
        let expr = Box::new(expression.clone());
        *expression = Expr::Cast { kind: CastKind::DoubleColon, expr, data_type, array: false, format: None };
    }
}

fn string_at(expression: &Expr) -> Option<Location> {
    match expression {
        Expr::Value(literal) => literal.value.clone().into_string().map(|_| literal.span.start),
        _ => None,
    }
}

fn syntax_of(id: TypeId) -> Result<DataType, EngineError> {
    let name = format_type(SqlType::of(id));
    let parsed = Parser::new(&SqlDialect::for_text(&name)).try_with_sql(&name).and_then(|mut p| p.parse_data_type());
    parsed.map_err(|error| EngineError::internal(format!("the type {name} is not read: {error}")))
}
