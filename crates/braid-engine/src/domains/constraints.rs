//! Defaults and conditions of domains as they are kept: SQL text, in which the value is `VALUE`.

use std::collections::BTreeSet;

use braid_sql::binder::domains::DOMAIN_VALUE;
use braid_sql::syntax::walk::{Rewrite, Tree};
use braid_storage::{Catalog, ColumnDef, ColumnType};
use sqlparser::ast::{CheckConstraint, ColumnOption, Expr, Ident, Value};

use crate::dml::defaults::check_defaults;
use crate::dml::domain_checks::{bound_condition, check_condition_reads_alike};
use crate::front_end::StatementFacts;
use crate::names::fold;
use crate::statement_context::StatementContext;
use crate::statement_limits::StatementSize;
use crate::table::{condition_text, default_text, shortened};
use crate::{EngineError, SqlState};

/// Most levels of a condition: casts evaluate it within other expressions.
const DEPTH_MAX: usize = 48;

/// The text of a condition, which is bound once.
///
/// # Errors
/// Those of the condition, also as one of a domain of this type; 54001 if it is nested too deeply.
pub(super) fn checked_condition(
    context: &StatementContext,
    base: ColumnType,
    check: &CheckConstraint,
) -> Result<String, EngineError> {
    if check.enforced.is_some() {
        return Err(EngineError::unsupported("CHECK … [NOT] ENFORCED is not supported"));
    }
    let depth = StatementSize::of(&*check.expr).depth;
    if depth > DEPTH_MAX {
        let message = format!("the condition has {depth} levels; conditions of domains have at most {DEPTH_MAX}");
        return Err(EngineError::new(SqlState::StatementTooComplex, message));
    }
    let mut condition = (*check.expr).clone();
    condition.rewrite(&mut NamedValue);
    let text = condition_text(&condition, &StatementFacts::of(context))?;
    check_condition_reads_alike(context, base, &text).map_err(EngineError::without_position)?;
    bound_condition(context, base, &text).map_err(EngineError::without_position)?;
    Ok(text)
}

/// Writes the value as PostgreSQL shows it.
struct NamedValue;

impl Rewrite for NamedValue {
    fn enter_expression(&mut self, expression: &mut Expr) {
        if let Expr::Identifier(name) = expression
            && fold(name) == DOMAIN_VALUE
        {
            *name = Ident::new(DOMAIN_VALUE.to_uppercase());
        }
    }
}

/// The text of a default of a domain with this name; `None` for NULL, which is no default.
///
/// # Errors
/// Those of the expression, also where it is none of the type.
pub(super) fn checked_default(
    context: &StatementContext,
    (domain, base): (&str, ColumnType),
    default: &Expr,
) -> Result<Option<String>, EngineError> {
    if matches!(default, Expr::Value(value) if value.value == Value::Null) {
        return Ok(None);
    }
    let text = default_text(default, &StatementFacts::of(context))?;
    let column = ColumnDef { default: Some(text.clone()), ..ColumnDef::new(domain, base) };
    check_defaults(context, &[column]).map_err(EngineError::without_position)?;
    Ok(Some(text))
}

/// The refusal of a constraint that domains do not have.
pub(super) fn impossible(option: &ColumnOption) -> EngineError {
    let kind = match option {
        ColumnOption::Unique(_) => "unique",
        ColumnOption::PrimaryKey(_) => "primary key",
        ColumnOption::ForeignKey(_) => "foreign key",
        other => return EngineError::unsupported(format!("{other} is not supported for domains")),
    };
    EngineError::new(SqlState::SyntaxError, format!("{kind} constraints not possible for domains"))
}

/// The name of a constraint: the one that is written, or `domain_check`, with a number if the name is taken.
///
/// # Errors
/// For a name that the domain has.
pub(super) fn constraint_name(
    catalog: &Catalog,
    (domain, taken): (&str, &BTreeSet<String>),
    written: Option<&Ident>,
) -> Result<String, EngineError> {
    if let Some(name) = written.map(fold) {
        return match taken.contains(&name) {
            true => Err(existing(&name, domain)),
            false => Ok(name),
        };
    }
    let of_domains = catalog.domains().flat_map(|known| known.definition.checks.iter().map(|check| &check.name));
    let of_tables = catalog.tables().flat_map(|table| table.def.checks.iter().map(|check| &check.name));
    let others: BTreeSet<&String> = of_domains.chain(of_tables).chain(taken).collect();
    let numbers = std::iter::once(String::new()).chain((1..).map(|number: u32| number.to_string()));
    let mut names = numbers.map(|number| shortened(domain, None, &format!("check{number}")));
    Ok(names.find(|name| !others.contains(name)).unwrap_or_default())
}

/// The error of a name that a constraint of the domain has.
pub(super) fn existing(constraint: &str, domain: &str) -> EngineError {
    let message = format!("constraint \"{constraint}\" for domain \"{domain}\" already exists");
    EngineError::new(SqlState::DuplicateObject, message)
}
