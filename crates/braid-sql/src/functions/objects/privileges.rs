//! `has_table_privilege` and its like, and `pg_has_role`: what roles may do.
//!
//! The checks come in PostgreSQL's order: the role, the object by its name, the words of the privileges, the object by its number. One of the
//! privileges that are listed is enough. What is asked of an object that there is not, by its number, is null.

use super::procedures::regprocedure;
use super::relations::{objects, relation_named};
use super::types::regtype;
use crate::functions::sequences::sequences;
use crate::functions::{Call, ColumnOf, DATABASE_ID, Implementations, PrivilegedObject, RoleRight};
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
    "has_column_privilege_name_name_name" of COLUMN,
    "has_column_privilege_name_name_attnum" of COLUMN,
    "has_column_privilege_name_id_name" of COLUMN,
    "has_column_privilege_name_id_attnum" of COLUMN,
    "has_column_privilege_id_name_name" of COLUMN,
    "has_column_privilege_id_name_attnum" of COLUMN,
    "has_column_privilege_id_id_name" of COLUMN,
    "has_column_privilege_id_id_attnum" of COLUMN,
    "has_column_privilege_name_name" of COLUMN,
    "has_column_privilege_name_attnum" of COLUMN,
    "has_column_privilege_id_name" of COLUMN,
    "has_column_privilege_id_attnum" of COLUMN,
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
    "has_database_privilege_name_id" of DATABASE,
    "has_database_privilege_id_name" of DATABASE,
    "has_database_privilege_id_id" of DATABASE,
    "has_database_privilege_name" of DATABASE,
    "has_database_privilege_id" of DATABASE,
    "has_type_privilege_name_name" of TYPE,
    "has_type_privilege_name_id" of TYPE,
    "has_type_privilege_id_name" of TYPE,
    "has_type_privilege_id_id" of TYPE,
    "has_type_privilege_name" of TYPE,
    "has_type_privilege_id" of TYPE,
    "has_function_privilege_name_name" of FUNCTION,
    "has_function_privilege_name_id" of FUNCTION,
    "has_function_privilege_id_name" of FUNCTION,
    "has_function_privilege_id_id" of FUNCTION,
    "has_function_privilege_name" of FUNCTION,
    "has_function_privilege_id" of FUNCTION,
    "has_parameter_privilege_name_name" of PARAMETER,
    "has_parameter_privilege_id_name" of PARAMETER,
    "has_parameter_privilege_name" of PARAMETER,
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
    /// The number of arguments that name the object.
    object_arguments: usize,
    /// The object of a name, which must exist.
    number_of: fn(&str, &Call<'_>) -> Result<u32, SqlError>,
    /// Whether a role has a privilege, with or without an option, on the object of these arguments; `None` if it does not exist.
    has: fn(Asked<'_>, &Call<'_>) -> Result<Option<bool>, SqlError>,
}

/// A question: whether a role has one privilege.
#[derive(Clone, Copy)]
struct Asked<'a> {
    /// The role; 0 for all roles.
    role: u32,
    /// The number of the object.
    object: u32,
    /// The further arguments that name the object.
    rest: &'a [Value],
    /// The word of the privilege.
    word: &'a str,
    /// Whether it must be grantable.
    with_option: bool,
}

impl Asked<'_> {
    fn of(self, object: PrivilegedObject<'_>, call: &Call<'_>) -> Result<Option<bool>, SqlError> {
        let held = objects(call)?.held(self.role, object);
        Ok(held.map(|held| if self.with_option { held.grantable } else { held.privileges }.contains(&self.word)))
    }
}

const GRANT: &[&str] = &[" WITH GRANT OPTION"];

const TABLE: Kind = Kind {
    privileges: &["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER", "RULE"],
    options: GRANT,
    object_arguments: 1,
    number_of: relation_named,
    has: |asked, call| asked.of(PrivilegedObject::Relation(asked.object), call),
};

const ANY_COLUMN: Kind = Kind {
    privileges: &["SELECT", "INSERT", "UPDATE", "REFERENCES"],
    has: |asked, call| asked.of(PrivilegedObject::AnyColumn(asked.object), call),
    ..TABLE
};

const COLUMN: Kind = Kind {
    object_arguments: 2,
    has: |asked, call| {
        let column = match &asked.rest[0] {
            Value::Int2(number) => ColumnOf::Number(*number),
            name => ColumnOf::Name(name.as_text()),
        };
        let names = objects(call)?;
        if let (ColumnOf::Name(name), Some((_, relation))) = (column, names.relation(asked.object))
            && !names.has_column(asked.object, name)
        {
            let message = format!("column \"{name}\" of relation \"{relation}\" does not exist");
            return Err(SqlError::new(SqlState::UndefinedColumn, message));
        }
        asked.of(PrivilegedObject::Column(asked.object, column), call)
    },
    ..ANY_COLUMN
};

/// Relations of other kinds are refused.
const SEQUENCE: Kind = Kind {
    privileges: &["USAGE", "SELECT", "UPDATE"],
    options: GRANT,
    object_arguments: 1,
    number_of: |name, call| {
        let id = relation_named(name, call)?;
        sequences(call)?.check_is_sequence(id).map(|()| id)
    },
    has: |asked, call| {
        if objects(call)?.relation(asked.object).is_some() {
            sequences(call)?.check_is_sequence(asked.object)?;
        }
        asked.of(PrivilegedObject::Relation(asked.object), call)
    },
};

const SCHEMA: Kind = Kind {
    privileges: &["CREATE", "USAGE"],
    options: GRANT,
    object_arguments: 1,
    number_of: |name, call| {
        let missing = || SqlError::new(SqlState::InvalidSchemaName, format!("schema \"{name}\" does not exist"));
        objects(call)?.schema_id(name).ok_or_else(missing)
    },
    has: |asked, call| asked.of(PrivilegedObject::Schema(asked.object), call),
};

const DATABASE: Kind = Kind {
    privileges: &["CREATE", "TEMPORARY", "TEMP", "CONNECT"],
    options: GRANT,
    object_arguments: 1,
    number_of: |name, call| match name == call.session.database() {
        true => Ok(DATABASE_ID),
        false => Err(SqlError::new(SqlState::InvalidCatalogName, format!("database \"{name}\" does not exist"))),
    },
    has: |asked, call| match asked.object {
        DATABASE_ID => {
            let word = if asked.word == "TEMP" { "TEMPORARY" } else { asked.word };
            Asked { word, ..asked }.of(PrivilegedObject::Database, call)
        }
        _ => Ok(None),
    },
};

const TYPE: Kind = Kind {
    privileges: &["USAGE"],
    options: GRANT,
    object_arguments: 1,
    number_of: |name, call| regtype(name, call).map(|number| number.as_oid()),
    has: |asked, call| asked.of(PrivilegedObject::Type(asked.object), call),
};

const FUNCTION: Kind = Kind {
    privileges: &["EXECUTE"],
    options: GRANT,
    object_arguments: 1,
    number_of: |name, _| regprocedure(name).map(|number| number.as_oid()),
    has: |asked, call| asked.of(PrivilegedObject::Function(asked.object), call),
};

/// Only superusers have them, on any name.
const PARAMETER: Kind = Kind {
    privileges: &["SET", "ALTER SYSTEM"],
    options: GRANT,
    object_arguments: 1,
    number_of: |_, _| Ok(0),
    has: |asked, call| asked.of(PrivilegedObject::Parameter, call),
};

/// Roles that do not exist have no members but superusers.
const ROLE: Kind = Kind {
    privileges: &["USAGE", "MEMBER"],
    options: &[" WITH GRANT OPTION", " WITH ADMIN OPTION"],
    object_arguments: 1,
    number_of: role_named,
    has: |asked, call| {
        let right = match (asked.with_option, asked.word) {
            (true, _) => RoleRight::Admin,
            (false, "MEMBER") => RoleRight::Member,
            (false, _) => RoleRight::Usage,
        };
        Ok(Some(objects(call)?.has_role(asked.role, asked.object, right)))
    },
};

/// The arguments are a user, which may be left out, an object and privileges, each of the first two by name or by number.
fn holds(arguments: &[Value], call: &Call<'_>, kind: &Kind) -> Result<Value, SqlError> {
    let (words, named) = arguments.split_last().expect("a function of privileges has arguments");
    let (user, object) = named.split_at(named.len() - kind.object_arguments);
    let role = match user.first() {
        Some(user) => role_of(user, call)?,
        None => role_named(&call.session.user(), call)?,
    };
    let (first, rest) = object.split_first().expect("an object has a name or a number");
    let object = match first {
        Value::Oid(number) => *number,
        name => (kind.number_of)(name.as_text(), call)?,
    };
    let asked = words.as_text().split(',').map(|word| kind.privilege(word.trim())).collect::<Result<Vec<_>, _>>()?;
    let mut holds = false;
    for (word, with_option) in asked {
        match (kind.has)(Asked { role, object, rest, word, with_option }, call)? {
            Some(has) => holds |= has,
            None => return Ok(Value::Null),
        }
    }
    Ok(Value::Bool(holds))
}

/// The role of an argument. A number may be of none.
fn role_of(role: &Value, call: &Call<'_>) -> Result<u32, SqlError> {
    match role {
        // All roles, as if they were one.
        Value::Text(name) if &**name == "public" => Ok(0),
        Value::Text(name) => role_named(name, call),
        role => Ok(role.as_oid()),
    }
}

fn role_named(name: &str, call: &Call<'_>) -> Result<u32, SqlError> {
    let missing = || SqlError::new(SqlState::UndefinedObject, format!("role \"{name}\" does not exist"));
    objects(call)?.role_id(name).ok_or_else(missing)
}

impl Kind {
    /// The privilege of a word, and whether it has an option behind it.
    fn privilege(&self, word: &str) -> Result<(&'static str, bool), SqlError> {
        let upper = word.to_ascii_uppercase();
        let option = self.options.iter().find_map(|option| upper.strip_suffix(option));
        let bare = option.unwrap_or(&upper);
        let known = self.privileges.iter().find(|known| **known == bare);
        known.map(|known| (*known, option.is_some())).ok_or_else(|| {
            let message = format!("unrecognized privilege type: \"{word}\"");
            SqlError::new(SqlState::InvalidParameterValue, message)
        })
    }
}
