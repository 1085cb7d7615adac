//! CREATE DOMAIN.

use std::collections::BTreeSet;

use braid_base::{DomainCheck, DomainType, SchemaId};
use braid_sql::SqlError;
use braid_sql::binder::type_of_syntax;
use braid_sql::pg_catalog::{TypeKind, pg_catalog};
use braid_sql::types::type_names::format_type;
use braid_storage::{Catalog, ColumnType};
use sqlparser::ast::{ColumnOption, Ident};

use super::constraints::{checked_condition, checked_default, constraint_name, impossible};
use crate::enum_types::{array_type_name, check_lasting, is_type_name};
use crate::front_end::StatementFacts;
use crate::sql_types::column_type_of_sql_type;
use crate::statement::{CreateDomain, check_of};
use crate::statement_context::StatementContext;
use crate::table_names::{NewName, Persistence, new_name};
use crate::{EngineError, Outcome, SqlState};

/// What the clauses of a CREATE DOMAIN say.
#[derive(Default)]
struct Clauses<'a> {
    is_not_null: Option<bool>,
    /// The default, if there is one; the inner one is `None` for NULL.
    default: Option<Option<String>>,
    /// Conditions, with the names that are written.
    checks: Vec<(Option<&'a Ident>, String)>,
}

/// Creates a domain.
///
/// # Errors
/// For a name that is taken, a type that is none of a domain or of columns, and clauses that do not go together.
pub(super) async fn create_domain(context: &StatementContext, create: &CreateDomain) -> Result<Outcome, EngineError> {
    let NewName { schema, name } = new_name(context, &create.name, Persistence::Lasting).await?;
    check_lasting(context, schema)?;
    let sql_type = type_of_syntax(&create.data_type, &StatementFacts::of(context));
    let sql_type = sql_type.map_err(SqlError::without_position)?;
    if pg_catalog().type_entry(sql_type.id).kind == TypeKind::Pseudo {
        let message = format!("\"{}\" is not a valid base type for a domain", format_type(sql_type));
        return Err(EngineError::new(SqlState::DatatypeMismatch, message));
    }
    if create.has_collation {
        return Err(EngineError::unsupported("COLLATE of a domain is not supported"));
    }
    let base = column_type_of_sql_type(sql_type.base())?;
    let clauses = Clauses::of(context, (&name, base), create)?;
    let created = context.change(|writes, view| {
        check_free(view, schema, &name)?;
        let mut taken = BTreeSet::new();
        let first = writes.new_type_oids(2 + clauses.checks.len())?;
        let mut checks = Vec::new();
        for ((written, condition), oid) in clauses.checks.iter().zip(first + 2..) {
            let own = constraint_name(view, (&name, &taken), *written)?;
            taken.insert(own.clone());
            checks.push(DomainCheck { oid, name: own, condition: condition.clone(), validated: true });
        }
        // A domain has the default of the domain that it is of.
        let inherited = sql_type.id.domain().and_then(|of| view.domain(of.definition().oid));
        let inherited = inherited.and_then(|known| known.definition.default.clone());
        let definition = DomainType {
            oid: first,
            array_oid: first + 1,
            schema,
            array_name: array_name(view, schema, &name),
            name,
            base_oid: sql_type.id.oid(),
            modifier: sql_type.modifier,
            is_not_null: clauses.is_not_null == Some(true),
            default: clauses.default.unwrap_or(inherited),
            checks,
            revision: 0,
        };
        Ok::<_, EngineError>(writes.set_domain(view, definition)?)
    });
    created.await?;
    Ok(Outcome::done("CREATE DOMAIN"))
}

impl<'a> Clauses<'a> {
    fn of(
        context: &StatementContext,
        (domain, base): (&str, ColumnType),
        create: &'a CreateDomain,
    ) -> Result<Self, EngineError> {
        let mut clauses = Self::default();
        let twice = |message: &str| Err(EngineError::new(SqlState::SyntaxError, message));
        for (name, option) in &create.options {
            match option {
                ColumnOption::Default(_) if clauses.default.is_some() => return twice("multiple default expressions"),
                ColumnOption::Default(default) => {
                    clauses.default = Some(checked_default(context, (domain, base), default)?);
                }
                ColumnOption::NotNull | ColumnOption::Null => {
                    let is_not_null = matches!(option, ColumnOption::NotNull);
                    if clauses.is_not_null.is_some_and(|known| known != is_not_null) {
                        return twice("conflicting NULL/NOT NULL constraints");
                    }
                    clauses.is_not_null = Some(is_not_null);
                }
                option => match check_of(option) {
                    Some(check) => {
                        let name = name.as_ref().or(check.name.as_ref());
                        clauses.checks.push((name, checked_condition(context, base, check)?));
                    }
                    None => return Err(impossible(option)),
                },
            }
        }
        Ok(clauses)
    }
}

/// Refuses a name that a type or a relation has.
pub(super) fn check_free(view: &Catalog, schema: SchemaId, name: &str) -> Result<(), EngineError> {
    match is_type_name(view, schema, name) {
        true => Err(EngineError::new(SqlState::DuplicateObject, format!("type \"{name}\" already exists"))),
        false => Ok(()),
    }
}

/// The name of the array type of a domain.
pub(super) fn array_name(view: &Catalog, schema: SchemaId, name: &str) -> String {
    array_type_name(name, |candidate| is_type_name(view, schema, candidate))
}
