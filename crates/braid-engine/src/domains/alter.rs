//! ALTER DOMAIN.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_base::{DomainCheck, DomainType};
use braid_storage::{Catalog, CatalogDomain};
use sqlparser::ast::{ColumnOption, Ident, ObjectName};

use super::columns::{Excluded, constrain};
use super::constraints::{checked_condition, checked_default, constraint_name, impossible};
use super::create::{array_name, check_free};
use crate::dml::domain_checks::{DomainChecks, domain_base};
use crate::enum_types::{NamedType, check_unmentioned};
use crate::names::fold;
use crate::notices::Notice;
use crate::statement::{DomainChange, check_of};
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, SqlState, Statement};

/// Both states that a statement reads: what is committed, and what it sees.
type States = (Arc<Catalog>, Arc<Catalog>);

/// Changes a domain.
///
/// # Errors
/// For what does not exist or is no domain, names that are taken, values that a new constraint excludes, and what commits fail with.
pub(super) async fn alter_domain(
    context: &StatementContext,
    statement: &Statement,
    name: &ObjectName,
    change: &DomainChange,
) -> Result<Outcome, EngineError> {
    context.settle_writes().await?;
    let states = context.states();
    let named = NamedType::find(context, &states.1, name)?;
    named.missing().map_or(Ok(()), Err)?;
    let no_domain =
        |_| EngineError::new(SqlState::WrongObjectType, format!("{} is not a domain", named.shown(context, &states.1)));
    let known = named.domain(context, &states.1).map_err(no_domain)?;
    let mut definition = (*known.definition).clone();
    let changed = Changed { context, statement, known: &known };
    match change {
        DomainChange::NotNull(true) if !definition.is_not_null => {
            definition.is_not_null = true;
            let added = DomainChecks::not_null(&known);
            constrain(context, statement, states, definition, (&added, Excluded::Refused)).await?;
            return Ok(Outcome::done("ALTER DOMAIN"));
        }
        DomainChange::Add { name, option, is_not_valid } => {
            changed.add_check(states, definition, (name.as_ref(), option), *is_not_valid).await?;
            return Ok(Outcome::done("ALTER DOMAIN"));
        }
        DomainChange::NotNull(is_not_null) => definition.is_not_null = *is_not_null,
        DomainChange::Default(default) => {
            let base = domain_base(&known)?;
            let of = |default| checked_default(context, (&known.definition.name, base), default);
            definition.default = default.as_ref().map(of).transpose()?.flatten();
        }
        DomainChange::Drop { name, if_exists } => changed.drop_check(&mut definition, &fold(name), *if_exists)?,
        DomainChange::RenameConstraint { from, to } => changed.rename_check(&mut definition, &fold(from), &fold(to))?,
        DomainChange::Validate(name) => {
            let name = fold(name);
            let missing = changed.no_constraint("of domain", &name);
            // Its values were looked at when it was added.
            definition.checks.iter_mut().find(|check| check.name == name).ok_or(missing)?.validated = true;
        }
        DomainChange::Rename(name) => changed.rename(&states.1, &mut definition, fold(name))?,
    }
    if definition != *known.definition {
        context.change_seen(&states.1, |writes, view| writes.set_domain(view, definition)).await?;
    }
    Ok(Outcome::done("ALTER DOMAIN"))
}

/// A domain that is changed.
#[derive(Clone, Copy)]
struct Changed<'a> {
    context: &'a StatementContext,
    statement: &'a Statement,
    known: &'a CatalogDomain,
}

impl Changed<'_> {
    async fn add_check(
        self,
        states: States,
        mut definition: DomainType,
        (written, option): (Option<&Ident>, &ColumnOption),
        is_not_valid: bool,
    ) -> Result<(), EngineError> {
        let Self { context, statement, known } = self;
        let check = check_of(option).ok_or_else(|| impossible(option))?;
        let taken: BTreeSet<String> = definition.checks.iter().map(|check| check.name.clone()).collect();
        let written = written.or(check.name.as_ref());
        let name = constraint_name(&states.1, (&definition.name, &taken), written)?;
        let condition = checked_condition(context, domain_base(known)?, check)?;
        let added = DomainChecks::only(context, known, &condition)?;
        let oid = context.database().store().write_set().new_type_oids(1)?;
        definition.checks.push(DomainCheck { oid, name, condition, validated: !is_not_valid });
        let excluded = if is_not_valid { Excluded::Unsupported } else { Excluded::Refused };
        constrain(context, statement, states, definition, (&added, excluded)).await
    }

    fn drop_check(self, definition: &mut DomainType, name: &str, if_exists: bool) -> Result<(), EngineError> {
        match definition.checks.iter().position(|check| check.name == name) {
            Some(at) => drop(definition.checks.remove(at)),
            None if if_exists => {
                let missing = self.no_constraint("of domain", name);
                self.context.raise(Notice::skipping(SqlState::SuccessfulCompletion, missing.message()));
            }
            None => return Err(self.no_constraint("of domain", name)),
        }
        Ok(())
    }

    fn rename_check(self, definition: &mut DomainType, from: &str, to: &str) -> Result<(), EngineError> {
        let domain = &self.known.definition.name;
        let at = definition.checks.iter().position(|check| check.name == from).ok_or_else(|| {
            let message = format!("constraint \"{from}\" for domain {domain} does not exist");
            EngineError::new(SqlState::UndefinedObject, message)
        })?;
        if definition.checks.iter().any(|check| check.name == to) {
            let message = format!("constraint \"{to}\" for domain {domain} already exists");
            return Err(EngineError::new(SqlState::DuplicateObject, message));
        }
        to.clone_into(&mut definition.checks[at].name);
        Ok(())
    }

    fn rename(self, view: &Catalog, definition: &mut DomainType, name: String) -> Result<(), EngineError> {
        check_free(view, definition.schema, &name)?;
        check_unmentioned((self.context, view), &NamedType::Domain(self.known.clone()))?;
        definition.array_name = array_name(view, definition.schema, &name);
        definition.name = name;
        Ok(())
    }

    fn no_constraint(self, of: &str, name: &str) -> EngineError {
        let message = format!("constraint \"{name}\" {of} \"{}\" does not exist", self.known.definition.name);
        EngineError::new(SqlState::UndefinedObject, message)
    }
}
