//! What functions say of the session and of the server: names, settings, the version.

use super::{Call, Implementations};
use crate::pg_catalog::TypeId;
use crate::values::ArrayValue;
use crate::{SqlError, SqlState, Value};

/// Functions of the session.
pub const FUNCTIONS: Implementations = &[
    ("pgsql_version", version),
    ("current_database", |_, call| Ok(Value::text(call.session.database()))),
    ("current_schema", |_, call| {
        Ok(call.session.search_path().listed().first().map_or(Value::Null, |first| Value::text(first.as_str())))
    }),
    ("current_schemas", current_schemas),
    ("current_user", |_, call| Ok(Value::text(call.session.user()))),
    ("session_user", |_, call| Ok(Value::text(call.session.session_user()))),
    ("pg_backend_pid", |_, call| Ok(Value::Int4(call.session.session_id()))),
    // No server follows another one.
    ("pg_is_in_recovery", |_, _| Ok(Value::Bool(false))),
    ("pg_is_wal_replay_paused", |_, _| Err(not_in_recovery())),
    ("pg_get_wal_replay_pause_state", |_, _| Err(not_in_recovery())),
    ("pg_client_encoding", |_, call| {
        Ok(Value::text(call.session.setting("client_encoding").unwrap_or_else(|| "UTF8".to_owned())))
    }),
    ("set_config_by_name", set_config),
    ("show_config_by_name", |args, call| setting(args[0].as_text(), call)),
    ("show_config_by_name_missing_ok", |args, call| match setting(args[0].as_text(), call) {
        Err(error) if error.state() == SqlState::UndefinedObject && args[1].as_bool() => Ok(Value::Null),
        result => result,
    }),
];

fn not_in_recovery() -> SqlError {
    let hint = "Recovery control functions can only be executed during recovery.";
    SqlError::new(SqlState::ObjectNotInPrerequisiteState, "recovery is not in progress").with_hint(hint)
}

/// `PostgreSQL` with the version that clients are told when they connect.
fn version(_: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    match call.session.setting("server_version") {
        Some(version) => Ok(Value::text(format!("PostgreSQL {version}"))),
        None => Err(SqlError::unsupported("the version of a session without server_version is not supported")),
    }
}

/// The schemas of `search_path` that exist, with the implicit one if the argument says so.
fn current_schemas(args: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let path = call.session.search_path();
    let names = match args[0].as_bool() {
        true => path.searched().map(Value::text).collect(),
        false => path.listed().iter().map(|schema| Value::text(schema.as_str())).collect(),
    };
    Ok(Value::Array(ArrayValue::of(TypeId::NAME, names).into()))
}

/// `set_config(name, value, is_local)`. Without a value the setting gets its default.
fn set_config(args: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    if args[0].is_null() {
        return Err(SqlError::new(SqlState::NullValueNotAllowed, "SET requires parameter name"));
    }
    let value = (!args[1].is_null()).then(|| args[1].as_text());
    let is_local = !args[2].is_null() && args[2].as_bool();
    let changes = call.session.setting_changes();
    let changes = changes.ok_or_else(|| SqlError::unsupported("set_config outside of a session is not supported"))?;
    changes.set(args[0].as_text(), value, is_local).map(Value::text)
}

/// A setting as SHOW prints it.
fn setting(name: &str, call: &Call<'_>) -> Result<Value, SqlError> {
    let unknown = || {
        let message = format!("unrecognized configuration parameter \"{name}\"");
        SqlError::new(SqlState::UndefinedObject, message)
    };
    call.session.setting(name).map(Value::text).ok_or_else(unknown)
}
