//! The columns that the client of a prepared statement was told, which its executions must return.
//!
//! As in PostgreSQL a prepared statement is described once. What it reads may be defined otherwise later, and its names may mean other
//! relations on another search path: with other columns (names, types or modifiers of types) the statement fails until they are as they
//! were. `Session::check_told_columns` asks before an execution, and [`check_same_columns`] when rows are there, because others may have
//! altered a table in between. Rows that have begun to flow are of the definition that they began with.
//!
//! To ask means to describe the statement anew. [`Meaning`] tells cheaply when nothing can have changed. Collations of columns are not
//! compared: there is one.

use std::sync::Arc;

use arrow::datatypes::{Field, FieldRef, SchemaRef};
use braid_catalog::column_types::sql_type_of;
use braid_sql::pg_catalog::TypeId;
use braid_storage::RoleId;
use parking_lot::Mutex;

use crate::sql_types::column_type_of_arrow;
use crate::{DescribedType, EngineError};

/// Columns that a client was told.
#[derive(Debug)]
pub struct ToldColumns {
    schema: SchemaRef,
    /// When the statement was last found to have these columns.
    confirmed: Mutex<Meaning>,
}

/// What the names of a statement depend on: it has the columns that it had as long as this is the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// The commit that last changed a definition, or the number of the transaction's own state.
    pub(crate) definitions_changed: u64,
    /// The search path that was set.
    pub(crate) search_path: Option<String>,
    /// Who looks names up in it.
    pub(crate) role: RoleId,
}

impl ToldColumns {
    /// Columns of a statement that was described when names meant this.
    pub fn new(schema: SchemaRef, meaning: Meaning) -> Arc<Self> {
        Arc::new(Self { schema, confirmed: Mutex::new(meaning) })
    }

    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Whether the statement is known to have these columns when names mean this.
    pub(crate) fn is_confirmed(&self, meaning: &Meaning) -> bool {
        *self.confirmed.lock() == *meaning
    }

    /// Notes that it has.
    pub(crate) fn confirm(&self, meaning: Meaning) {
        *self.confirmed.lock() = meaning;
    }
}

/// Refuses columns that are not those that were told.
///
/// # Errors
/// 0A000 if a name, a type or a modifier differs.
pub fn check_same_columns(told: &SchemaRef, made: &SchemaRef) -> Result<(), EngineError> {
    let is_same = |(told, made): (&FieldRef, &FieldRef)| {
        Arc::ptr_eq(told, made) || told.name() == made.name() && type_of(told) == type_of(made)
    };
    let is_equal = Arc::ptr_eq(told, made)
        || told.fields().len() == made.fields().len() && told.fields().iter().zip(made.fields()).all(is_same);
    match is_equal {
        true => Ok(()),
        false => Err(EngineError::unsupported("cached plan must not change result type")),
    }
}

/// The object id of a column's type, and the modifier of a type that has one.
fn type_of(field: &Field) -> Option<(u32, i32)> {
    let of_arrow = || Some((sql_type_of(column_type_of_arrow(field.data_type())?).id.oid(), -1));
    let Some(DescribedType { oid, modifier, .. }) = DescribedType::of(field) else { return of_arrow() };
    // That of a record is a number within its statement.
    let is_record = [TypeId::RECORD.oid(), TypeId::RECORD_ARRAY.oid()].contains(&oid);
    Some((oid, if is_record { -1 } else { modifier }))
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Schema};
    use braid_sql::SqlType;

    use super::*;
    use crate::outcome::described_as;

    fn column(name: &str, id: TypeId, modifier: i32) -> SchemaRef {
        let field = Field::new(name, DataType::Utf8, true);
        Arc::new(Schema::new(vec![field.with_metadata([described_as(SqlType { id, modifier })].into())]))
    }

    #[test]
    fn columns_are_names_types_and_modifiers() {
        let told = column("a", TypeId::VARCHAR, 14);
        for (made, is_same) in [
            (column("a", TypeId::VARCHAR, 14), true),
            (column("b", TypeId::VARCHAR, 14), false),
            (column("a", TypeId::TEXT, 14), false),
            (column("a", TypeId::VARCHAR, 16), false),
            (Arc::new(Schema::empty()), false),
        ] {
            assert_eq!(check_same_columns(&told, &made).is_ok(), is_same, "{made}");
        }
    }
}
