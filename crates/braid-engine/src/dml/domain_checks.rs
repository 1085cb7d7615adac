//! The constraints of a domain over the values of a column: NOT NULL first, then the conditions, those of the innermost domain first, by
//! their names.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use braid_base::{ColumnId, DomainTypeId, SchemaId, TableId};
use braid_sql::SqlType;
use braid_sql::binder::domains::{DOMAIN_VALUE, condition_syntax, domain_levels};
use braid_sql::evaluation::domains::{null_in_domain, violated_domain};
use braid_sql::pg_catalog::TypeId;
use braid_storage::{CatalogDomain, ColumnDef, ColumnType, TableDef};

use crate::EngineError;
use crate::front_end::{RowCondition, StatementFacts};
use crate::sql_types::column_type_of_sql_type;
use crate::statement_context::StatementContext;

/// What values of a domain must satisfy, bound for a statement.
pub(crate) struct DomainChecks {
    domain: DomainTypeId,
    is_not_null: bool,
    conditions: Vec<(String, RowCondition)>,
}

/// What a value violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Violation<'a> {
    /// NOT NULL.
    Null,
    /// The constraint with this name.
    Check(&'a str),
}

impl DomainChecks {
    /// All constraints of a domain, as the statement sees it.
    ///
    /// # Errors
    /// When a condition cannot be bound any more.
    pub fn of(context: &StatementContext, known: &CatalogDomain) -> Result<Self, EngineError> {
        let levels = domain_levels(known.id, &StatementFacts::of(context));
        let base = domain_base(known)?;
        let mut conditions = Vec::new();
        for level in &levels {
            let mut own = level.checks.iter().collect::<Vec<_>>();
            own.sort_by(|a, b| a.name.cmp(&b.name));
            for check in own {
                conditions.push((check.name.clone(), bound_condition(context, base, &check.condition)?));
            }
        }
        let is_not_null = levels.iter().any(|level| level.is_not_null);
        Ok(Self { domain: known.id, is_not_null, conditions })
    }

    /// NOT NULL of a domain alone.
    pub fn not_null(known: &CatalogDomain) -> Self {
        Self { domain: known.id, is_not_null: true, conditions: Vec::new() }
    }

    /// One condition of a domain.
    ///
    /// # Errors
    /// Those of the condition.
    pub fn only(context: &StatementContext, known: &CatalogDomain, condition: &str) -> Result<Self, EngineError> {
        let conditions = vec![(String::new(), bound_condition(context, domain_base(known)?, condition)?)];
        Ok(Self { domain: known.id, is_not_null: false, conditions })
    }

    /// Whether there is nothing to violate.
    pub fn is_empty(&self) -> bool {
        !self.is_not_null && self.conditions.is_empty()
    }

    /// The first of so many values that violates something, with what it violates first.
    ///
    /// # Errors
    /// Those of the conditions.
    pub fn first_violation(
        &self,
        values: &ArrayRef,
        count: usize,
    ) -> Result<Option<(usize, Violation<'_>)>, EngineError> {
        let nulls = values.nulls().filter(|nulls| self.is_not_null && nulls.null_count() > 0);
        let null = nulls.and_then(|nulls| (0..count).find(|row| nulls.is_null(*row)));
        let mut first = null.map(|row| (row, Violation::Null));
        for (name, condition) in &self.conditions {
            // An earlier value than that of the constraint before.
            let count = first.map_or(count, |(row, _)| row);
            let row = condition.first_violation(std::slice::from_ref(values), count)?;
            first = row.map(|row| (row, Violation::Check(name))).or(first);
        }
        Ok(first)
    }

    /// The error of a value.
    pub fn error(&self, violation: Violation<'_>) -> EngineError {
        match violation {
            Violation::Null => null_in_domain(self.domain).into(),
            Violation::Check(name) => violated_domain(self.domain, name).into(),
        }
    }
}

/// The type of columns of a domain.
///
/// # Errors
/// 0A000 for a type of which no column is.
pub(crate) fn domain_base(known: &CatalogDomain) -> Result<ColumnType, EngineError> {
    column_type_of_sql_type(SqlType::of(TypeId::of_domain(known.id)).base())
}

/// A condition over a value of this type.
///
/// # Errors
/// Those of the expression; 42804 for one that is no boolean.
pub(crate) fn bound_condition(
    context: &StatementContext,
    base: ColumnType,
    condition: &str,
) -> Result<RowCondition, EngineError> {
    RowCondition::bind(context, &table_of_value(base), condition, &condition_syntax(condition)?)
}

/// Checks that a condition over a value of this type means the same in the session's formats and in those in which it is kept.
///
/// # Errors
/// Those of the condition, and 0A000.
pub(crate) fn check_condition_reads_alike(
    context: &StatementContext,
    base: ColumnType,
    condition: &str,
) -> Result<(), EngineError> {
    RowCondition::check_reads_alike(context, &table_of_value(base), condition, &condition_syntax(condition)?)
}

/// The table whose only column is the value.
fn table_of_value(base: ColumnType) -> Arc<TableDef> {
    Arc::new(TableDef {
        id: TableId(u32::MAX),
        schema: SchemaId::PUBLIC,
        name: String::new(),
        columns: vec![ColumnDef { id: ColumnId(0), ..ColumnDef::new(DOMAIN_VALUE, base) }],
        primary_key: Vec::new(),
        next_column_id: 1,
        checks: Vec::new(),
        keys: Vec::new(),
        foreign_keys: Vec::new(),
    })
}
