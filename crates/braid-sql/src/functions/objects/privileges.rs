//! `has_table_privilege` and its like. Each user of a session is a superuser, and has all privileges.
//!
//! What PostgreSQL checks before it looks at privileges is checked: the role, the object, the words of the privileges. Privileges of other
//! roles are unsupported.

use super::relations::{objects, relation_named};
use crate::functions::sequences::sequences;
use crate::functions::{Call, Implementations};
use crate::{SqlError, SqlState, Value};

/// Functions of privileges, by what they are of and how a call names the user and the object.
macro_rules! functions {
    ($($symbol:literal of $kind:ident,)*) => {
        &[$(($symbol, |arguments, call| holds(arguments, call, &$kind)),)*]
    };
}

/// Functions of privileges.
pub const FUNCTIONS: Implementations = functions! {
    "has_table_privilege_name_name" of TABLE,
    "has_table_privilege_name_id" of TABLE,
    "has_table_privilege_id_name" of TABLE,
    "has_table_privilege_id_id" of TABLE,
    "has_table_privilege_name" of TABLE,
    "has_table_privilege_id" of TABLE,
    "has_any_column_privilege_name_name" of ANY_COLUMN,
    "has_any_column_privilege_name_id" of ANY_COLUMN,
    "has_any_column_privilege_id_name" of ANY_COLUMN,
    "has_any_column_privilege_id_id" of ANY_COLUMN,
    "has_any_column_privilege_name" of ANY_COLUMN,
    "has_any_column_privilege_id" of ANY_COLUMN,
    "has_sequence_privilege_name_name" of SEQUENCE,
    "has_sequence_privilege_name_id" of SEQUENCE,
    "has_sequence_privilege_id_name" of SEQUENCE,
    "has_sequence_privilege_id_id" of SEQUENCE,
    "has_sequence_privilege_name" of SEQUENCE,
    "has_sequence_privilege_id" of SEQUENCE,
    "has_schema_privilege_name_name" of SCHEMA,
    "has_schema_privilege_name_id" of SCHEMA,
    "has_schema_privilege_id_name" of SCHEMA,
    "has_schema_privilege_id_id" of SCHEMA,
    "has_schema_privilege_name" of SCHEMA,
    "has_schema_privilege_id" of SCHEMA,
    "has_database_privilege_name_name" of DATABASE,
    "has_database_privilege_id_name" of DATABASE,
    "has_database_privilege_name" of DATABASE,
    "pg_has_role_name_name" of ROLE,
    "pg_has_role_name_id" of ROLE,
    "pg_has_role_id_name" of ROLE,
    "pg_has_role_id_id" of ROLE,
    "pg_has_role_name" of ROLE,
    "pg_has_role_id" of ROLE,
};

/// What privileges are of.
struct Kind {
    /// Their words.
    privileges: &'static [&'static str],
    /// What may stand behind a word.
    options: &'static [&'static str],
    /// Checks that there is an object of a name.
    check_name: fn(&str, &Call<'_>) -> Result<(), SqlError>,
    /// Whether there is an object of a number.
    exists: fn(u32, &Call<'_>) -> Result<bool, SqlError>,
}

const GRANT: &[&str] = &[" WITH GRANT OPTION"];

const TABLE: Kind = Kind {
    privileges: &["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER", "RULE"],
    options: GRANT,
    check_name: |name, call| relation_named(name, call).map(|_| ()),
    exists: |id, call| Ok(objects(call)?.relation(id).is_some()),
};

const ANY_COLUMN: Kind = Kind { privileges: &["SELECT", "INSERT", "UPDATE", "REFERENCES"], ..TABLE };

/// Relations of other kinds are refused.
const SEQUENCE: Kind = Kind {
    privileges: &["USAGE", "SELECT", "UPDATE"],
    options: GRANT,
    check_name: |name, call| sequences(call)?.last_value_of(relation_named(name, call)?).map(|_| ()),
    exists: |id, call| match objects(call)?.relation(id) {
        Some(_) => sequences(call)?.last_value_of(id).map(|_| true),
        None => Ok(false),
    },
};

const SCHEMA: Kind = Kind {
    privileges: &["CREATE", "USAGE"],
    options: GRANT,
    check_name: |name, call| {
        let missing = || SqlError::new(SqlState::InvalidSchemaName, format!("schema \"{name}\" does not exist"));
        objects(call)?.schema_id(name).map(|_| ()).ok_or_else(missing)
    },
    exists: |id, call| Ok(objects(call)?.schema(id).is_some()),
};

const DATABASE: Kind = Kind {
    privileges: &["CREATE", "TEMPORARY", "TEMP", "CONNECT"],
    options: GRANT,
    check_name: |name, call| match name == call.session.database() {
        true => Ok(()),
        false => Err(SqlError::new(SqlState::InvalidCatalogName, format!("database \"{name}\" does not exist"))),
    },
    exists: |_, _| Err(SqlError::unsupported("privileges of databases by number are not supported")),
};

/// A superuser is a member of all roles, also of those that are not there.
const ROLE: Kind = Kind {
    privileges: &["USAGE", "MEMBER"],
    options: &[" WITH GRANT OPTION", " WITH ADMIN OPTION"],
    check_name: |name, call| role_named(name, call).map(|_| ()),
    exists: |_, _| Ok(true),
};

/// The arguments are a user, which may be left out, an object and privileges, each of the first two by name or by number.
fn holds(arguments: &[Value], call: &Call<'_>, kind: &Kind) -> Result<Value, SqlError> {
    let (user, object, privileges) = match arguments {
        [user, object, privileges] => (Some(user), object, privileges),
        [object, privileges] => (None, object, privileges),
        other => panic!("{} arguments of a function of privileges", other.len()),
    };
    let is_other = user.map_or(Ok(false), |user| is_other_role(user, call))?;
    if let Value::Text(name) = object {
        (kind.check_name)(name, call)?;
    }
    privileges.as_text().split(',').try_for_each(|word| kind.check_privilege(word.trim()))?;
    if let Value::Oid(id) = object
        && !(kind.exists)(*id, call)?
    {
        return Ok(Value::Null);
    }
    match is_other {
        true => Err(SqlError::unsupported("privileges of other roles are not supported")),
        false => Ok(Value::Bool(true)),
    }
}

/// Whether a role is not that of the session.
fn is_other_role(role: &Value, call: &Call<'_>) -> Result<bool, SqlError> {
    match role {
        // All roles, as if they were one.
        Value::Text(name) if &**name == "public" => Ok(true),
        Value::Text(name) => {
            role_named(name, call)?;
            Ok(**name != *call.session.user())
        }
        role => Ok(objects(call)?.role(role.as_oid()).is_none_or(|name| name != call.session.user())),
    }
}

fn role_named(name: &str, call: &Call<'_>) -> Result<u32, SqlError> {
    let missing = || SqlError::new(SqlState::UndefinedObject, format!("role \"{name}\" does not exist"));
    objects(call)?.role_id(name).ok_or_else(missing)
}

impl Kind {
    fn check_privilege(&self, word: &str) -> Result<(), SqlError> {
        let upper = word.to_ascii_uppercase();
        let bare = self.options.iter().find_map(|option| upper.strip_suffix(option)).unwrap_or(&upper);
        match self.privileges.contains(&bare) {
            true => Ok(()),
            false => {
                let message = format!("unrecognized privilege type: \"{word}\"");
                Err(SqlError::new(SqlState::InvalidParameterValue, message))
            }
        }
    }
}
