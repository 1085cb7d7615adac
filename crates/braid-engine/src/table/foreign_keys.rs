//! FOREIGN KEY: as it is written, and as a constraint between tables, with a name.
//!
//! A column and the one that it references must have types whose equal values are the same key ([`braid_storage::is_same_key_type`]).
//! Other pairs of types that PostgreSQL compares, such as `integer` and `numeric`, are refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_base::{ColumnId, SchemaId, TableId};
use braid_catalog::column_types::sql_type_of;
use braid_sql::SqlType;
use braid_sql::pg_catalog::key_words::quote_identifier;
use braid_sql::syntax::set_columns;
use braid_sql::types::type_names::format_type;
use braid_storage::{
    AlteredRows, Catalog, ColumnDef, ColumnType, Deferral, ForeignKeyDef, KEY_COLUMNS_MAX, KeyDef, KeyKind, MatchType,
    NUMERIC_OID, OWN_TABLE, Reference, ReferentialAction, TableDef, is_same_key_type,
};
use sqlparser::ast::{
    ConstraintCharacteristics, ConstraintReferenceMatchKind, DeferrableInitial, ForeignKeyConstraint, Ident,
    ObjectName, ReferentialAction as WrittenAction,
};

use super::constraint_names::shortened;
use crate::dependents::{Behavior, described};
use crate::names::fold;
use crate::notices::Notice;
use crate::statement_context::StatementContext;
use crate::table_names::{Named, named_table};
use crate::{EngineError, SqlState};

/// The names of PostgreSQL's system columns.
const SYSTEM_COLUMNS: [&str; 6] = ["tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"];

/// A foreign key as written.
#[derive(Clone, Debug)]
pub(crate) struct WrittenForeignKey {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The names of its columns.
    pub columns: Vec<String>,
    referenced: ObjectName,
    /// The names of the columns that it refers to; none: those of the primary key.
    key: Vec<String>,
    on_delete: ReferentialAction,
    on_update: ReferentialAction,
    /// The names of the columns that SET NULL and SET DEFAULT set after a deletion; none: all.
    set_columns: Vec<String>,
    matching: MatchType,
    deferral: Deferral,
}

/// The table that gets a foreign key: it may not exist yet.
#[derive(Clone, Copy)]
pub(crate) struct ReferringTable<'a> {
    pub schema: SchemaId,
    pub name: &'a str,
    /// Its id; `None` for a new table.
    pub id: Option<TableId>,
    pub columns: &'a [ColumnDef],
    pub primary_key: &'a [ColumnId],
    pub keys: &'a [KeyDef],
}

impl<'a> ReferringTable<'a> {
    /// A table that exists.
    pub fn of(def: &'a TableDef) -> Self {
        Self {
            schema: def.schema,
            name: &def.name,
            id: Some(def.id),
            columns: &def.columns,
            primary_key: &def.primary_key,
            keys: &def.keys,
        }
    }
}

impl WrittenForeignKey {
    /// `FOREIGN KEY (…) REFERENCES …`
    ///
    /// # Errors
    /// For what foreign keys do not have.
    pub fn of(key: &ForeignKeyConstraint) -> Result<Self, EngineError> {
        let set_columns = set_columns(key);
        if key.index_name.is_some() && set_columns.is_none() {
            return Err(EngineError::unsupported("FOREIGN KEY with the name of an index is not supported"));
        }
        let matching = match key.match_kind {
            None | Some(ConstraintReferenceMatchKind::Simple) => MatchType::Simple,
            Some(ConstraintReferenceMatchKind::Full) => MatchType::Full,
            Some(ConstraintReferenceMatchKind::Partial) => {
                return Err(EngineError::unsupported("MATCH PARTIAL not yet implemented"));
            }
        };
        let deferral = deferral_of(key.characteristics.as_ref())?;
        Ok(Self {
            name: key.name.as_ref().map(fold),
            columns: key.columns.iter().map(fold).collect(),
            referenced: key.foreign_table.clone(),
            key: key.referred_columns.iter().map(fold).collect(),
            on_delete: action_of(key.on_delete),
            on_update: action_of(key.on_update),
            set_columns: set_columns.unwrap_or_default().iter().map(fold).collect(),
            matching,
            deferral,
        })
    }

    /// The same key, of a column that it is written behind.
    pub fn of_column(self, column: &str, name: Option<&Ident>) -> Self {
        Self { name: self.name.or_else(|| name.map(fold)), columns: vec![column.to_owned()], ..self }
    }

    /// The constraint that a table gets. `taken` are the names that its constraints have already.
    ///
    /// # Errors
    /// As PostgreSQL's.
    pub fn define(
        &self,
        context: &StatementContext,
        catalog: &Catalog,
        table: ReferringTable<'_>,
        taken: &BTreeSet<String>,
    ) -> Result<ForeignKeyDef, EngineError> {
        let own = self.refers_to_itself(context, catalog, table)?;
        let other = match own {
            true => None,
            false => Some(referenced_table(context, catalog, &self.referenced)?),
        };
        let referenced = match &other {
            Some(def) => ReferringTable::of(def),
            None => table,
        };
        check_persistence(catalog, table.schema, referenced.schema)?;
        let columns = columns_named(table.columns, &self.columns)?;
        let key = self.key_of(referenced, columns.len())?;
        let name = match &self.name {
            Some(name) if taken.contains(name) => {
                let message = format!("constraint \"{name}\" for relation \"{}\" already exists", table.name);
                return Err(EngineError::new(SqlState::DuplicateObject, message));
            }
            Some(name) => name.clone(),
            None => chosen_name(catalog, table, &self.columns, taken),
        };
        check_types(&name, &columns, &key)?;
        let set_columns = self.set_columns_of(table.columns, &columns)?;
        self.check_generated(&columns)?;
        Ok(ForeignKeyDef {
            id: OWN_TABLE,
            name,
            columns: columns.iter().map(|column| column.id).collect(),
            referenced: referenced.id.unwrap_or(OWN_TABLE),
            key: key.iter().map(|column| column.id).collect(),
            on_delete: self.on_delete,
            on_update: self.on_update,
            set_columns,
            matching: self.matching,
            deferral: self.deferral,
            validated: true,
        })
    }

    /// Whether it refers to the table that has it, which may be a new one.
    fn refers_to_itself(
        &self,
        context: &StatementContext,
        catalog: &Catalog,
        table: ReferringTable<'_>,
    ) -> Result<bool, EngineError> {
        match (named_table(context, catalog, &self.referenced), table.id) {
            (Ok(Named::Table(def)), Some(id)) => Ok(def.id == id),
            (_, Some(_)) => Ok(false),
            (found, None) => {
                let parts: Vec<String> =
                    self.referenced.0.iter().filter_map(|part| part.as_ident()).map(fold).collect();
                let schema = catalog.schema_name(table.schema).unwrap_or_default();
                let is_named = match &parts[..] {
                    // A table of its name in a schema that is searched before hides it.
                    [name] => name == table.name && !matches!(found, Ok(Named::Table(_))),
                    [of, name] => name == table.name && of == schema,
                    _ => false,
                };
                Ok(is_named)
            }
        }
    }

    /// Refuses actions that would set a generated column.
    fn check_generated(&self, columns: &[&ColumnDef]) -> Result<(), EngineError> {
        use ReferentialAction::{Cascade, SetDefault, SetNull};
        if columns.iter().all(|column| column.generated.is_none()) {
            return Ok(());
        }
        let when = match (self.on_update, self.on_delete) {
            (Cascade | SetNull | SetDefault, _) => "ON UPDATE",
            (_, SetNull | SetDefault) => "ON DELETE",
            _ => return Ok(()),
        };
        let message = format!("invalid {when} action for foreign key constraint containing generated column");
        Err(EngineError::new(SqlState::SyntaxError, message))
    }

    /// The columns that an action sets after a deletion.
    fn set_columns_of(&self, all: &[ColumnDef], own: &[&ColumnDef]) -> Result<Vec<ColumnId>, EngineError> {
        let set = columns_named(all, &self.set_columns)?;
        match set.iter().find(|column| own.iter().all(|own| own.id != column.id)) {
            Some(column) => {
                let name = &column.name;
                let message =
                    format!("column \"{name}\" referenced in ON DELETE SET action must be part of foreign key");
                Err(EngineError::new(SqlState::InvalidColumnReference, message))
            }
            None => Ok(set.iter().map(|column| column.id).collect()),
        }
    }

    /// The columns that it refers to.
    fn key_of<'a>(&self, referenced: ReferringTable<'a>, count: usize) -> Result<Vec<&'a ColumnDef>, EngineError> {
        let invalid = |message: String| EngineError::new(SqlState::InvalidForeignKey, message);
        let disagree = || invalid("number of referencing and referenced columns for foreign key disagree".to_owned());
        let name = referenced.name;
        let is_enforced = |columns: &[ColumnId], only_primary: bool| {
            referenced.keys.iter().any(|key| {
                let fits = if only_primary { key.kind == KeyKind::Primary } else { key.kind.is_unique() };
                // Those of expressions, or with a condition, are of other values than the columns'.
                let fits = fits && key.computed().is_none();
                fits && key.columns.len() == columns.len() && columns.iter().all(|column| key.columns.contains(column))
            })
        };
        if self.key.is_empty() {
            if referenced.primary_key.is_empty() {
                let message = format!("there is no primary key for referenced table \"{name}\"");
                return Err(EngineError::new(SqlState::UndefinedObject, message));
            }
            if !is_enforced(referenced.primary_key, true) {
                return Err(EngineError::unsupported(format!(
                    "the primary key of table \"{name}\" is not enforced, so that no foreign key can refer to it"
                )));
            }
            if referenced.primary_key.len() != count {
                return Err(disagree());
            }
            let by_id = |id: &ColumnId| referenced.columns.iter().find(|column| column.id == *id);
            return Ok(referenced.primary_key.iter().filter_map(by_id).collect());
        }
        let columns = columns_named(referenced.columns, &self.key)?;
        if columns.len() != count {
            return Err(disagree());
        }
        let ids: Vec<ColumnId> = columns.iter().map(|column| column.id).collect();
        if ids.iter().enumerate().any(|(at, id)| ids[..at].contains(id)) {
            return Err(invalid("foreign key referenced-columns list must not contain duplicates".to_owned()));
        }
        if !is_enforced(&ids, false) {
            let message = format!("there is no unique constraint matching given keys for referenced table \"{name}\"");
            return Err(invalid(message));
        }
        Ok(columns)
    }
}

/// The table that is referred to.
fn referenced_table(
    context: &StatementContext,
    catalog: &Catalog,
    name: &ObjectName,
) -> Result<Arc<TableDef>, EngineError> {
    let no_table = |name: &str| {
        EngineError::new(SqlState::WrongObjectType, format!("referenced relation \"{name}\" is not a table"))
    };
    match named_table(context, catalog, name)? {
        Named::View(view) => Err(no_table(&view.name)),
        Named::Sequence(known) => Err(no_table(&known.definition.name)),
        Named::System(name, _) => {
            let message = format!("permission denied: \"{name}\" is a system catalog");
            Err(EngineError::new(SqlState::InsufficientPrivilege, message))
        }
        named => named.into_altered(),
    }
}

fn check_persistence(catalog: &Catalog, own: SchemaId, referenced: SchemaId) -> Result<(), EngineError> {
    let message = match (catalog.is_temporary(own), catalog.is_temporary(referenced)) {
        (false, true) => "constraints on permanent tables may reference only permanent tables",
        (true, false) => "constraints on temporary tables may reference only temporary tables",
        _ => return Ok(()),
    };
    Err(EngineError::new(SqlState::InvalidTableDefinition, message))
}

fn columns_named<'a>(columns: &'a [ColumnDef], names: &[String]) -> Result<Vec<&'a ColumnDef>, EngineError> {
    if names.len() > KEY_COLUMNS_MAX {
        let message = format!("cannot have more than {KEY_COLUMNS_MAX} keys in a foreign key");
        return Err(EngineError::new(SqlState::TooManyColumns, message));
    }
    let find = |name: &String| {
        if SYSTEM_COLUMNS.contains(&name.as_str()) {
            return Err(EngineError::unsupported("system columns cannot be used in foreign keys"));
        }
        let message = || format!("column \"{name}\" referenced in foreign key constraint does not exist");
        let found = columns.iter().find(|column| column.name == *name);
        found.ok_or_else(|| EngineError::new(SqlState::UndefinedColumn, message()))
    };
    names.iter().map(find).collect()
}

/// Checks that the columns can be compared.
pub(crate) fn check_types(name: &str, columns: &[&ColumnDef], key: &[&ColumnDef]) -> Result<(), EngineError> {
    for (own, other) in columns.iter().zip(key) {
        if is_same_key_type(own.column_type, other.column_type) {
            continue;
        }
        let shown = |column: &ColumnDef| format_type(SqlType::of(sql_type_of(column.column_type).id));
        let (own_type, other_type) = (shown(own), shown(other));
        if are_compared(own.column_type, other.column_type) {
            return Err(EngineError::unsupported(format!(
                "foreign key \"{name}\": a column of type {own_type} that refers to one of type {other_type} is not supported"
            )));
        }
        let message = format!("foreign key constraint \"{name}\" cannot be implemented");
        return Err(EngineError::new(SqlState::DatatypeMismatch, message).with_detail(format!(
            "Key columns \"{}\" and \"{}\" are of incompatible types: {own_type} and {other_type}.",
            own.name, other.name
        )));
    }
    Ok(())
}

/// Whether PostgreSQL compares a column with the one that it refers to: there is an operator, or an implicit cast to one.
fn are_compared(own: ColumnType, other: ColumnType) -> bool {
    use ColumnType as T;
    // A number refers to one of its kind, or of a wider one.
    let number = |column_type: ColumnType| match column_type {
        T::SmallInt | T::Integer | T::BigInt => Some(0),
        T::Numeric { .. } => Some(1),
        T::Encoded { type_oid, .. } if type_oid == NUMERIC_OID => Some(1),
        T::Real | T::Double => Some(2),
        _ => None,
    };
    let is_text = |column_type: ColumnType| {
        matches!(column_type, T::Text | T::Varchar(_) | T::UnlimitedVarchar | T::Char(_) | T::Name)
    };
    let is_moment = |column_type: ColumnType| {
        use T::{Date, RoundedTimestamp, RoundedTimestampTz, Timestamp, TimestampTz};
        matches!(column_type, Date | Timestamp | TimestampTz | RoundedTimestamp(_) | RoundedTimestampTz(_))
    };
    match (number(own), number(other)) {
        (Some(own), Some(other)) => own <= other,
        (None, None) => {
            let is_both = |is: &dyn Fn(ColumnType) -> bool| is(own) && is(other);
            is_both(&is_text) || is_both(&is_moment) || sql_type_of(own).id == sql_type_of(other).id
        }
        _ => false,
    }
}

/// `table_column_column_fkey`; with a number if a constraint of the schema has the name.
fn chosen_name(catalog: &Catalog, table: ReferringTable<'_>, columns: &[String], taken: &BTreeSet<String>) -> String {
    let columns = columns.join("_");
    let tables = || catalog.tables().filter(|other| other.def.schema == table.schema);
    let is_taken = |name: &str| {
        taken.contains(name) || tables().any(|other| constraint_names(&other.def).any(|known| known == name))
    };
    let numbers = std::iter::once(String::new()).chain((1..).map(|number: u32| number.to_string()));
    let mut names = numbers.map(|number| shortened(table.name, Some(&columns), &format!("fkey{number}")));
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

/// The names of a table's constraints.
pub(crate) fn constraint_names(def: &TableDef) -> impl Iterator<Item = &str> {
    let keys = def.keys.iter().filter(|key| key.kind.is_constraint()).map(|key| key.name.as_str());
    let checks = def.checks.iter().map(|check| check.name.as_str());
    keys.chain(checks).chain(def.foreign_keys.iter().map(|key| key.name.as_str()))
}

fn action_of(written: Option<WrittenAction>) -> ReferentialAction {
    match written {
        None | Some(WrittenAction::NoAction) => ReferentialAction::NoAction,
        Some(WrittenAction::Restrict) => ReferentialAction::Restrict,
        Some(WrittenAction::Cascade) => ReferentialAction::Cascade,
        Some(WrittenAction::SetNull) => ReferentialAction::SetNull,
        Some(WrittenAction::SetDefault) => ReferentialAction::SetDefault,
    }
}

/// When a constraint is compared.
///
/// # Errors
/// For what excludes each other, and NOT ENFORCED.
pub(crate) fn deferral_of(written: Option<&ConstraintCharacteristics>) -> Result<Deferral, EngineError> {
    let Some(written) = written else { return Ok(Deferral::NotDeferrable) };
    if written.enforced == Some(false) {
        return Err(EngineError::unsupported("FOREIGN KEY … NOT ENFORCED is not supported"));
    }
    match (written.deferrable, written.initially) {
        (Some(false), Some(DeferrableInitial::Deferred)) => {
            Err(EngineError::new(SqlState::SyntaxError, "constraint declared INITIALLY DEFERRED must be DEFERRABLE"))
        }
        (_, Some(DeferrableInitial::Deferred)) => Ok(Deferral::InitiallyDeferred),
        (Some(true), _) => Ok(Deferral::InitiallyImmediate),
        _ => Ok(Deferral::NotDeferrable),
    }
}

/// The foreign keys of other tables that are dropped together with what they refer to. With CASCADE the client is told of them.
///
/// # Errors
/// With RESTRICT, if there are some (2BP01).
pub(crate) fn released(
    context: &StatementContext,
    catalog: &Catalog,
    references: Vec<Reference>,
    (dropped, needed): (&str, &str),
    behavior: Behavior,
) -> Result<Vec<Reference>, EngineError> {
    let shown = |reference: &Reference| {
        let table = described(context, catalog, reference.table.id);
        format!("constraint {} on {table}", quote_identifier(&reference.key.name))
    };
    if references.is_empty() {
        return Ok(references);
    }
    if behavior == Behavior::Restrict {
        let details: Vec<String> =
            references.iter().map(|reference| format!("{} depends on {needed}", shown(reference))).collect();
        let message = format!("cannot drop {dropped} because other objects depend on it");
        return Err(EngineError::new(SqlState::DependentObjectsStillExist, message)
            .with_detail(details.join("\n"))
            .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    let cascades: Vec<String> =
        references.iter().map(|reference| format!("drop cascades to {}", shown(reference))).collect();
    let message = match &cascades[..] {
        [only] => only.clone(),
        several => format!("drop cascades to {} other objects", several.len()),
    };
    let notice = Notice::harmless(SqlState::SuccessfulCompletion, message);
    context.raise(if cascades.len() > 1 { notice.with_detail(cascades.join("\n")) } else { notice });
    Ok(references)
}

/// Drops foreign keys of other tables, in the transaction's changes. `keep_changes` keeps them.
///
/// # Errors
/// As [`StatementContext::alter_table`].
pub(crate) async fn drop_references(context: &StatementContext, references: &[Reference]) -> Result<(), EngineError> {
    for reference in references {
        context.settle_writes().await?;
        let states = context.states();
        let Some(version) = states.1.by_id(reference.table.id) else { continue };
        let mut def = TableDef::clone(&version.def);
        def.foreign_keys.retain(|key| key.id != reference.key.id);
        context.alter_table(&states, (def, AlteredRows::Kept), |_, _| Ok(())).await?;
    }
    Ok(())
}
