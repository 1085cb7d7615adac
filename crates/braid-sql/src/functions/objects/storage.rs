//! How much room relations take on disk. Indexes, views and the system's relations take none.

use super::relations::objects;
use crate::functions::{Call, DATABASE_ID, Implementations, ObjectNames};
use crate::{SqlError, SqlState, Value};

/// Functions of sizes on disk.
pub const FUNCTIONS: Implementations = &[
    ("pg_relation_size(regclass)", of_relation),
    ("pg_relation_size", |arguments, call| match is_main_fork(arguments[1].as_text())? {
        true => of_relation(arguments, call),
        false => if_there(arguments, call, |_| Some(0)),
    }),
    ("pg_table_size", of_relation),
    ("pg_total_relation_size", of_relation),
    ("pg_indexes_size", |arguments, call| if_there(arguments, call, |_| Some(0))),
    ("pg_database_size_name", |arguments, call| match arguments[0].as_text() {
        name if *name == call.session.database() => size(objects(call)?.database_bytes()),
        name => {
            let message = format!("database \"{name}\" does not exist");
            Err(SqlError::new(SqlState::InvalidCatalogName, message))
        }
    }),
    ("pg_database_size_oid", |arguments, call| match arguments[0].as_oid() {
        DATABASE_ID => size(objects(call)?.database_bytes()),
        _ => Ok(Value::Null),
    }),
    ("pg_tablespace_size_oid", |arguments, call| of_tablespace(arguments[0].as_oid(), call)),
    ("pg_tablespace_size_name", |arguments, call| {
        let name = arguments[0].as_text();
        let missing = || SqlError::new(SqlState::UndefinedObject, format!("tablespace \"{name}\" does not exist"));
        let (id, _) = TABLESPACES.iter().find(|(_, known)| *known == name).ok_or_else(missing)?;
        of_tablespace(*id, call)
    }),
    ("pg_tablespace_location", |arguments, _| match arguments[0].as_oid() {
        id if id == 0 || TABLESPACES.iter().any(|(known, _)| *known == id) => Ok(Value::text("")),
        id => {
            let message = format!("could not stat file \"pg_tblspc/{id}\": No such file or directory");
            Err(SqlError::new(SqlState::UndefinedFile, message))
        }
    }),
];

/// The tablespace of all tables.
const DEFAULT_TABLESPACE: u32 = 1663;

/// The tablespaces of a new cluster of PostgreSQL.
const TABLESPACES: [(u32, &str); 2] = [(DEFAULT_TABLESPACE, "pg_default"), (1664, "pg_global")];

fn size(bytes: u64) -> Result<Value, SqlError> {
    let too_large = |_| SqlError::new(SqlState::NumericOutOfRange, "bigint out of range");
    i64::try_from(bytes).map(Value::Int8).map_err(too_large)
}

fn of_relation(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let id = arguments[0].as_oid();
    if_there(arguments, call, |objects| objects.relation_bytes(id))
}

/// A size of the relation that is the first argument; null if there is none.
fn if_there(
    arguments: &[Value],
    call: &Call<'_>,
    bytes: impl FnOnce(&dyn ObjectNames) -> Option<u64>,
) -> Result<Value, SqlError> {
    let objects = objects(call)?;
    match objects.relation(arguments[0].as_oid()) {
        Some(_) => bytes(&*objects).map_or(Ok(Value::Null), size),
        None => Ok(Value::Null),
    }
}

/// Whether a fork is the one with rows.
fn is_main_fork(name: &str) -> Result<bool, SqlError> {
    match name {
        "main" => Ok(true),
        "fsm" | "vm" | "init" => Ok(false),
        _ => Err(SqlError::new(SqlState::InvalidParameterValue, "invalid fork name")
            .with_hint("Valid fork names are \"main\", \"fsm\", \"vm\", and \"init\".")),
    }
}

fn of_tablespace(id: u32, call: &Call<'_>) -> Result<Value, SqlError> {
    match TABLESPACES.iter().any(|(known, _)| *known == id) {
        true if id == DEFAULT_TABLESPACE => size(objects(call)?.database_bytes()),
        true => Ok(Value::Int8(0)),
        false => Ok(Value::Null),
    }
}
