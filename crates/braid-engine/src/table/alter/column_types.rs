//! `ALTER [COLUMN] … [SET DATA] TYPE … [USING …]`.
//!
//! Where each value stays what it is, as from `varchar(10)` to `text`, only the definition changes. Otherwise the rows are written again,
//! with an assignment cast, or with what USING says. So is the column's default: it is cast from the type that it had.

use std::sync::Arc;

use braid_base::ColumnId;
use braid_storage::{ColumnDef, ColumnType};
use sqlparser::ast::{DataType, Expr};

use super::altered_table::{AlteredTable, NewValues};
use super::check_literals::with_typed_strings;
use crate::dml::defaults::{bound_default, own_default_syntax};
use crate::front_end::StatementFacts;
use crate::sql_types::column_type;
use crate::statement_context::StatementContext;
use crate::table::index_form::form_with_new_types;
use crate::table::indexes::pattern_class;
use crate::table::keys::check_key_type;
use crate::{EngineError, SqlState};
use braid_catalog::column_types::sql_type_of;
use braid_sql::SqlType;
use braid_sql::types::type_names::format_type;

impl AlteredTable {
    /// Gives a column another type.
    pub(super) fn set_type(
        &mut self,
        context: &StatementContext,
        name: &str,
        data_type: &DataType,
        using: Option<&Expr>,
    ) -> Result<(), EngineError> {
        let id = self.column(name)?.id;
        if self.new_values.contains_key(&id) {
            return Err(EngineError::unsupported(format!("cannot alter type of column \"{name}\" twice")));
        }
        let (new, domain) = column_type(data_type, &StatementFacts::of(context))?;
        self.check_type_of_generation(name, using.is_some())?;
        self.check_unread(context, name)?;
        let before = self.column(name)?.column_type;
        self.type_strings(context, id, (before, new))?;
        let column = self.column(name)?;
        let before = column.clone();
        column.domain = domain;
        let old = std::mem::replace(&mut column.column_type, new);
        cast_default(column, old)?;
        let column = column.clone();
        self.cast_generation(context, &before)?;
        self.retype_identity(context, name)?;
        let mut keys = self.def.keys.clone();
        for key in keys.iter_mut().filter(|key| key.columns.contains(&id)) {
            if let Some(form) = key.computed() {
                key.form = Some(Arc::new(form_with_new_types(context, &self.def, (form, key.kind.is_unique()))?));
            }
        }
        self.def.keys = keys;
        if self.def.unique_keys().any(|key| key.computed().is_none() && key.columns.contains(&id)) {
            check_key_type(name, &column)?;
        }
        if self.def.keys.iter().any(|key| key.patterns.contains(&id)) {
            check_pattern_class(old, new)?;
        }
        if domain != before.domain {
            self.verify_domain(id);
        }
        let keeps_keys = using.is_none() && (keeps_values(old, new) || are_integers(old, new));
        self.recheck_references(id, keeps_keys)?;
        let values = match using {
            Some(using) => NewValues::Using(using.clone()),
            None if keeps_values(old, new) => return Ok(()),
            None => NewValues::Cast,
        };
        self.recheck(context, name)?;
        // All rows will have values of the new type.
        self.column(name)?.missing = None;
        self.new_values.insert(id, values);
        Ok(())
    }
}

impl AlteredTable {
    /// Writes into the check constraints of a column what their strings mean, before the column gets another type.
    fn type_strings(
        &mut self,
        context: &StatementContext,
        id: ColumnId,
        (old, new): (ColumnType, ColumnType),
    ) -> Result<(), EngineError> {
        let is_text = |column_type| {
            matches!(column_type, ColumnType::Text | ColumnType::Varchar(_) | ColumnType::UnlimitedVarchar)
        };
        if sql_type_of(old).id == sql_type_of(new).id || is_text(old) && is_text(new) {
            return Ok(());
        }
        let def = Arc::new(self.def.clone());
        for check in self.def.checks.iter_mut().filter(|check| check.columns.contains(&id)) {
            *check = with_typed_strings(context, &def, check)?;
        }
        Ok(())
    }
}

/// Refuses a type whose operator class for patterns is another one than that of the indexes of a column.
///
/// # Errors
/// 42804 if the type has none; 0A000 if it has another one, where PostgreSQL keeps the old one.
fn check_pattern_class(old: ColumnType, new: ColumnType) -> Result<(), EngineError> {
    let (class, shown) = (pattern_class(old).unwrap_or_default(), format_type(SqlType::of(sql_type_of(new).id)));
    match pattern_class(new) {
        Some(other) if other == class => Ok(()),
        Some(_) => Err(EngineError::unsupported(format!(
            "type {shown} of a column with an index of operator class \"{class}\" is not supported"
        ))),
        None => {
            let message = format!("operator class \"{class}\" does not accept data type {shown}");
            Err(EngineError::new(SqlState::DatatypeMismatch, message))
        }
    }
}

fn are_integers(old: ColumnType, new: ColumnType) -> bool {
    let is_integer =
        |column_type| matches!(column_type, ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt);
    is_integer(old) && is_integer(new)
}

/// Whether each value of a type is the same value of another, stored in the same form.
fn keeps_values(old: ColumnType, new: ColumnType) -> bool {
    use ColumnType as T;
    match (old, new) {
        (old, new) if old == new => true,
        (T::Varchar(old), T::Varchar(new)) => old <= new,
        (T::Varchar(_) | T::UnlimitedVarchar | T::Text, T::UnlimitedVarchar | T::Text) => true,
        (T::RoundedTime(old), T::RoundedTime(new))
        | (T::RoundedTimestamp(old), T::RoundedTimestamp(new))
        | (T::RoundedTimestampTz(old), T::RoundedTimestampTz(new)) => old <= new,
        (T::RoundedTime(_), T::Time)
        | (T::RoundedTimestamp(_), T::Timestamp)
        | (T::RoundedTimestampTz(_), T::TimestampTz) => true,
        _ => false,
    }
}

/// Keeps what the default of a column means that has had another type. As in PostgreSQL its own type is cast, without the casts of an
/// assignment; only a string has none, and is one of the column's type.
fn cast_default(column: &mut ColumnDef, old: ColumnType) -> Result<(), EngineError> {
    let (old, new) = (sql_type_of(old), sql_type_of(column.column_type));
    if old.id != new.id
        && let Some(syntax) = own_default_syntax(column)?
        && is_string(&syntax)
    {
        column.default = Some(format!("({syntax})::{}", format_type(old)));
    }
    Ok(())
}

pub(super) fn is_string(syntax: &Expr) -> bool {
    match syntax {
        Expr::Nested(inner) => is_string(inner),
        Expr::Value(value) => value.value.clone().into_string().is_some(),
        _ => false,
    }
}

/// Checks that the default of a column with another type can be cast to it.
///
/// # Errors
/// If no assignment cast fits (42804).
pub(super) fn check_cast_default(context: &StatementContext, column: &ColumnDef) -> Result<(), EngineError> {
    bound_default(context, column).map(drop).map_err(|error| match error.state() {
        SqlState::DatatypeMismatch => {
            let new = format_type(SqlType::of(sql_type_of(column.column_type).id));
            let message = format!("default for column \"{}\" cannot be cast automatically to type {new}", column.name);
            EngineError::new(SqlState::DatatypeMismatch, message)
        }
        _ => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_where_their_form_does() {
        use ColumnType as T;
        let numeric = |precision| T::Numeric { precision, scale: 2 };
        for (old, new, keeps) in [
            (T::Varchar(10), T::Varchar(20), true),
            (T::Varchar(20), T::Varchar(10), false),
            (T::Varchar(10), T::Text, true),
            (T::Text, T::Varchar(10), false),
            (T::UnlimitedVarchar, T::Text, true),
            (T::Char(3), T::Text, false),
            (T::Integer, T::Integer, true),
            (T::Integer, T::BigInt, false),
            (numeric(5), numeric(7), false),
            (T::RoundedTimestamp(3), T::Timestamp, true),
            (T::RoundedTimestamp(3), T::RoundedTimestamp(2), false),
            (T::Timestamp, T::TimestampTz, false),
        ] {
            assert_eq!(keeps_values(old, new), keeps, "{old} to {new}");
            // A segment in the buffer is of either type then.
            assert!(!keeps || (old.arrow(), old.physical()) == (new.arrow(), new.physical()));
        }
    }
}
