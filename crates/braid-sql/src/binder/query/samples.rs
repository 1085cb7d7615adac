//! TABLESAMPLE: which rows of a table are read.

use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, ObjectName, ObjectNamePart, TableSample, TableSampleKind};

use super::from::FromItem;
use super::scope::Scope;
use crate::binder::clause::Clause;
use crate::binder::places::Place;
use crate::binder::{Binder, fold};
use crate::expression::Expression;
use crate::functions::numbers::random::drawn_seed;
use crate::pg_catalog::{CastContext, TypeId};
use crate::relation::{Relation, Sample, SampleMethod};
use crate::search_path::SYSTEM_SCHEMA;
use crate::syntax::{SampleSyntax, sample_of};
use crate::types::type_names::format_type;
use crate::{SqlError, SqlState, SqlType, Value};

/// The refusal of a sample of anything else.
pub(super) fn only_tables_are_sampled() -> SqlError {
    SqlError::unsupported("TABLESAMPLE clause can only be applied to tables and materialized views")
}

impl Binder<'_> {
    /// A table of which a sample is read. `place` is that of its name.
    pub(super) fn sampled(
        &self,
        mut item: FromItem,
        sample: &TableSampleKind,
        place: Place<'_>,
        scope: &Scope<'_>,
    ) -> Result<FromItem, SqlError> {
        let (TableSampleKind::AfterTableAlias(sample) | TableSampleKind::BeforeTableAlias(sample)) = sample;
        let Relation::Table(scan) = &mut item.relation else {
            return Err(self.places.mark(only_tables_are_sampled(), place));
        };
        let beside = scope.with_relations(scope.relations.clone());
        scan.sample = Some(Box::new(self.in_scope(&beside, Clause::FromFunction).sample(sample)?));
        Ok(item)
    }

    /// Whether a name is that of a view, which may have become the scan of a table.
    pub(super) fn is_view(&self, name: &ObjectName) -> bool {
        let parts: Vec<String> = name.0.iter().filter_map(ObjectNamePart::as_ident).map(fold).collect();
        let (schema, name) = match &parts[..] {
            [name] => (self.searched, name),
            [.., schema, name] => (Some(schema.as_str()), name),
            [] => return false,
        };
        let table = self.tables.table(schema, name).ok().flatten();
        table.is_some_and(|table| self.tables.view(table.id).is_some())
    }

    fn sample(&self, sample: &TableSample) -> Result<Sample, SqlError> {
        let call = sample.quantity.as_ref().and_then(|quantity| sample_of(&quantity.value));
        let SampleSyntax { method, arguments, seed } = call.ok_or_else(|| no_sample(sample))?;
        let place = Place::of(method.first().and_then(ObjectNamePart::as_ident));
        let method = self.sample_method(method).map_err(|error| self.places.mark(error, place))?;
        if arguments.is_empty() {
            return Err(SqlError::new(SqlState::SyntaxError, "syntax error at or near \")\""));
        }
        let [argument] = arguments else {
            let count = arguments.len();
            let (name, state) = (method.name(), SqlState::InvalidTablesampleArgument);
            let message = format!("tablesample method {name} requires 1 argument, not {count}");
            return Err(self.places.mark(SqlError::new(state, message), place));
        };
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument else { return Err(no_sample(sample)) };
        let percentage = self.sample_argument(argument, TypeId::FLOAT4, "TABLESAMPLE")?;
        let seed = match seed {
            Some(seed) => self.sample_argument(seed, TypeId::FLOAT8, "REPEATABLE")?,
            // Drawn here, so that all copies of the scan read the same rows.
            None => Expression::of(Value::Float8(drawn_seed()), TypeId::FLOAT8),
        };
        Ok(Sample { method, percentage, seed })
    }

    fn sample_method(&self, name: &[ObjectNamePart]) -> Result<SampleMethod, SqlError> {
        let parts: Vec<String> = name.iter().filter_map(ObjectNamePart::as_ident).map(fold).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match parts[..] {
            ["bernoulli"] | [SYSTEM_SCHEMA, "bernoulli"] => Ok(SampleMethod::Bernoulli),
            ["system"] | [SYSTEM_SCHEMA, "system"] => Ok(SampleMethod::System),
            _ => {
                let message = format!("tablesample method {} does not exist", parts.join("."));
                Err(SqlError::new(SqlState::UndefinedObject, message))
            }
        }
    }

    /// A number that is known before the query runs.
    fn sample_argument(&self, syntax: &Expr, id: TypeId, what: &str) -> Result<Expression, SqlError> {
        let place = Place::Start(syntax);
        let bound = self.expression(syntax)?;
        let source = bound.sql_type;
        let number = match self.coerced(bound, place, SqlType::of(id), CastContext::Assignment)? {
            Ok(number) => number,
            Err(_) => {
                let types = (format_type(SqlType::of(id)), format_type(source));
                let message = format!("argument of {what} must be type {}, not type {}", types.0, types.1);
                return Err(self.places.mark(SqlError::new(SqlState::DatatypeMismatch, message), place));
            }
        };
        if number.has_subquery() || !number.free_columns().is_empty() || number.is_volatile() {
            let message = format!("columns, subqueries and volatile functions in {what} are not supported");
            return Err(self.places.mark(SqlError::unsupported(message), place));
        }
        Ok(number)
    }
}

fn no_sample(sample: impl std::fmt::Display) -> SqlError {
    SqlError::unsupported(format!("{} is not supported", sample.to_string().trim()))
}
