//! What functions say of the session and of the server: names, settings, the version.

use super::{Call, Implementations};
use crate::pg_catalog::TypeId;
use crate::values::ArrayValue;
use crate::{SqlError, SqlState, Value};

/// Functions of the session. There is one schema of tables, `public`.
pub const FUNCTIONS: Implementations = &[
    ("pgsql_version", version),
    ("current_database", |_, call| Ok(Value::text(call.session.database()))),
    ("current_schema", |_, call| {
        Ok(searched_schemas(call).first().map_or(Value::Null, |name| Value::text(name.as_str())))
    }),
    ("current_schemas", current_schemas),
    ("current_user", |_, call| Ok(Value::text(call.session.user()))),
    ("session_user", |_, call| Ok(Value::text(call.session.user()))),
    ("pg_backend_pid", |_, call| Ok(Value::Int4(call.session.session_id()))),
    ("pg_client_encoding", |_, _| Ok(Value::text("UTF8"))),
    ("show_config_by_name", |args, call| setting(args[0].as_text(), call)),
    ("show_config_by_name_missing_ok", |args, call| match setting(args[0].as_text(), call) {
        Err(error) if error.state() == SqlState::UndefinedObject && args[1].as_bool() => Ok(Value::Null),
        result => result,
    }),
];

/// `PostgreSQL` with the version that clients are told when they connect.
fn version(_: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    match call.session.setting("server_version") {
        Some(version) => Ok(Value::text(format!("PostgreSQL {version}"))),
        None => Err(SqlError::unsupported("the version of a session without server_version is not supported")),
    }
}

/// The schemas that are searched, with the implicit one if the argument says so.
fn current_schemas(args: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let mut schemas = searched_schemas(call);
    if args[0].as_bool() && !schemas.iter().any(|name| name == "pg_catalog") {
        schemas.insert(0, "pg_catalog".to_owned());
    }
    let names = schemas.iter().map(|name| Value::text(name.as_str())).collect();
    Ok(Value::Array(ArrayValue::of(TypeId::NAME, names).into()))
}

/// The schemas of `search_path` that exist.
fn searched_schemas(call: &Call<'_>) -> Vec<String> {
    let Some(path) = call.session.setting("search_path") else { return vec!["public".to_owned()] };
    let name = |part: &str| match part.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => part.trim().to_lowercase(),
    };
    let exists = |name: &String| ["public", "pg_catalog", "information_schema"].contains(&name.as_str());
    path.split(',').map(name).filter(exists).collect()
}

/// A setting as SHOW prints it.
fn setting(name: &str, call: &Call<'_>) -> Result<Value, SqlError> {
    let unknown = || {
        let message = format!("unrecognized configuration parameter \"{name}\"");
        SqlError::new(SqlState::UndefinedObject, message)
    };
    call.session.setting(name).map(Value::text).ok_or_else(unknown)
}
