//! What SQL calls without parentheses: `current_date`, `current_timestamp(3)`, `current_user`, ….

use super::Binder;
use super::casts::call;
use super::places::Place;
use crate::expression::Expression;
use crate::pg_catalog::{CastContext, TypeId, pg_catalog};
use crate::types::type_names::modifier_of;
use crate::{SqlError, SqlType};

impl Binder<'_> {
    /// The value of a word; `None` for words that are no such value. `precision` is the number in parentheses.
    pub(super) fn session_value(&self, word: &str, precision: Option<i64>) -> Result<Option<Expression>, SqlError> {
        let of_time = |id| self.current_time(id, precision).map(Some);
        // A call, not its value: a plan may be for many sessions.
        let name = |function: &str| self.session_name(function).map(Some);
        match word {
            "current_date" if precision.is_none() => of_time(TypeId::DATE),
            "current_time" => of_time(TypeId::TIMETZ),
            "current_timestamp" => of_time(TypeId::TIMESTAMPTZ),
            "localtime" => of_time(TypeId::TIME),
            "localtimestamp" => of_time(TypeId::TIMESTAMP),
            "current_user" | "user" | "current_role" if precision.is_none() => name("current_user"),
            "session_user" if precision.is_none() => name("session_user"),
            "current_catalog" if precision.is_none() => name("current_database"),
            "current_schema" if precision.is_none() => name("current_schema"),
            _ => Ok(None),
        }
    }

    /// A function without arguments that returns a name.
    fn session_name(&self, function: &str) -> Result<Expression, SqlError> {
        let function = pg_catalog().functions_named(function).next().expect("PostgreSQL has it");
        call(function.id, Vec::new(), SqlType::of(TypeId::NAME))
    }

    /// The transaction's time as a value of a type, in the session's zone.
    fn current_time(&self, id: TypeId, precision: Option<i64>) -> Result<Expression, SqlError> {
        let now = pg_catalog().functions_named("now").next().expect("PostgreSQL has now()");
        let now = call(now.id, Vec::new(), SqlType::of(TypeId::TIMESTAMPTZ))?;
        let modifier = match precision {
            None => -1,
            Some(precision) => modifier_of(id, &[precision])?,
        };
        self.coerce(now, Place::Nowhere, SqlType { id, modifier }, CastContext::Explicit)
    }
}
