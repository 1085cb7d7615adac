//! `pg_prepared_statements`: the prepared statements of the session.

use braid_sql::Value;
use braid_sql::pg_catalog::TypeId;
use braid_sql::values::ArrayValue;

use crate::named_row::{NamedRow, oid, text};
use crate::server_facts::{PreparedStatement, ServerFacts};

/// All prepared statements that have a name. A plan with parameters is counted as one made for their values.
pub(super) fn prepared_statements(facts: &dyn ServerFacts) -> Vec<NamedRow> {
    let row = |statement: PreparedStatement| {
        let types = statement.parameter_type_oids.iter().copied().map(oid).collect::<Vec<_>>();
        let (generic, custom) = match types.len() {
            0 => (statement.execution_count, 0),
            _ => (0, statement.execution_count),
        };
        vec![
            ("name", text(&statement.name)),
            ("statement", text(&statement.text)),
            ("prepare_time", Value::TimestampTz(statement.prepared_us)),
            ("parameter_types", Value::Array(ArrayValue::of(TypeId::REGTYPE, types).into())),
            ("from_sql", Value::Bool(statement.is_from_sql)),
            ("generic_plans", Value::Int8(generic)),
            ("custom_plans", Value::Int8(custom)),
        ]
    };
    facts.prepared_statements().into_iter().map(row).collect()
}
