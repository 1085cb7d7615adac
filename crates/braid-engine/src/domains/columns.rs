//! The columns of a domain whose constraints change: their values are looked at, and their tables get the new revision.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use braid_base::{ColumnId, DomainType};
use braid_storage::{AlteredRows, Catalog, ColumnDomain, TableDef};

use crate::dml::domain_checks::{DomainChecks, Violation};
use crate::session_locks::LockMode;
use crate::statement_context::StatementContext;
use crate::table::first_in_columns;
use crate::{EngineError, SqlState, Statement};

/// What becomes of values that a new constraint excludes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Excluded {
    /// They are an error.
    Refused,
    /// NOT VALID: PostgreSQL keeps them, which is not supported.
    Unsupported,
}

/// Gives a domain a definition with more constraints. All values of its columns, and of those of domains that are of it, satisfy `added`.
///
/// # Errors
/// For a value that does not (23502, 23514), and what writing and commits fail with.
pub(super) async fn constrain(
    context: &StatementContext,
    statement: &Statement,
    (committed, view): (Arc<Catalog>, Arc<Catalog>),
    definition: DomainType,
    (added, excluded): (&DomainChecks, Excluded),
) -> Result<(), EngineError> {
    let family = family_of(&view, definition.oid);
    let is_of_family = |domain: Option<ColumnDomain>| domain.is_some_and(|domain| family.contains(&domain.oid));
    let has_column = |def: &TableDef| def.columns.iter().any(|column| is_of_family(column.domain));
    let tables: Vec<Arc<TableDef>> =
        view.tables().map(|version| &version.def).filter(|def| has_column(def)).cloned().collect();
    context.define_relations(tables.iter().map(|def| def.id), LockMode::Share)?;
    for def in &tables {
        let columns = def.columns.iter().filter(|column| is_of_family(column.domain)).map(|column| column.id);
        let columns: Vec<ColumnId> = columns.collect();
        let mut find =
            |values: &ArrayRef| Ok(added.first_violation(values, values.len())?.map(|(_, violation)| violation));
        let found = first_in_columns(context, statement, (def, &columns), &mut find).await?;
        if let Some((column, violation)) = found {
            let name = def.column_by_id(column).map_or("", |column| &column.name);
            return Err(excluded_value((def, name), violation, excluded));
        }
    }
    let mut writes = context.take_writes();
    for oid in &family {
        let Some(known) = view.domain(*oid) else { continue };
        let changed = if *oid == definition.oid { &definition } else { &*known.definition };
        writes.set_domain(&view, DomainType { revision: known.definition.revision + 1, ..changed.clone() })?;
    }
    let seen = writes.view(&committed);
    for def in tables {
        let mut def = (*def).clone();
        for domain in def.columns.iter_mut().filter_map(|column| column.domain.as_mut()) {
            if let Some(known) = seen.domain(domain.oid) {
                *domain = known.of_column();
            }
        }
        writes.alter_table((&committed, &seen), def, AlteredRows::Checked).await?;
    }
    context.put_writes(writes);
    context.keep_changes().await
}

/// A domain, and all that are of it, directly or not.
fn family_of(view: &Catalog, oid: u32) -> BTreeSet<u32> {
    let mut family = BTreeSet::from([oid]);
    // What a domain is of is older than it.
    for known in view.domains() {
        if family.contains(&known.definition.base_oid) {
            family.insert(known.definition.oid);
        }
    }
    family
}

fn excluded_value((def, column): (&TableDef, &str), violation: Violation<'_>, excluded: Excluded) -> EngineError {
    let table = &def.name;
    let (state, what) = match violation {
        Violation::Null => (SqlState::NotNullViolation, "contains null values"),
        Violation::Check(_) => (SqlState::CheckViolation, "contains values that violate the new constraint"),
    };
    let message = format!("column \"{column}\" of table \"{table}\" {what}");
    match excluded {
        Excluded::Refused => EngineError::new(state, message).about_column(def.schema, table, column),
        Excluded::Unsupported => {
            EngineError::unsupported("NOT VALID is not supported where values violate the constraint")
                .with_detail(message)
        }
    }
}
