//! Access control lists: the default privileges of objects. An item is a text, such as `owner=arwdDxt/owner`.

use std::borrow::Cow;

use super::relations::objects;
use crate::functions::{Call, Implementations};
use crate::pg_catalog::TypeId;
use crate::values::ArrayValue;
use crate::{SqlError, SqlState, Value};

/// `aclitem`
const ACLITEM: TypeId = TypeId(1033);

/// Functions of access control lists.
pub const FUNCTIONS: Implementations = &[
    ("acldefault_sql", acl_default),
    ("aclitemin", acl_item),
    ("makeaclitem", make_item),
    ("aclcontains", |arguments, call| contains(&arguments[0], &arguments[1], call)),
    ("aclitem_eq", |arguments, _| Ok(Value::Bool(arguments[0].as_text() == arguments[1].as_text()))),
];

/// The letters of all privileges, in the order in which an item has them.
const RIGHTS: &str = "arwdDxtXUCTcsA";

/// `role=rights/grantor` as it is shown: a star behind a letter stands for the right to grant it.
fn acl_item(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let invalid = |message: String| SqlError::new(SqlState::InvalidTextRepresentation, message);
    let text = arguments[0].as_text().trim();
    let (role, rest) = role_of(text).ok_or_else(|| invalid("missing \"=\" sign".to_owned()))?;
    let rest = rest.strip_prefix('=').ok_or_else(|| invalid("missing \"=\" sign".to_owned()))?;
    let (rights, grantor) = rest.split_once('/').unwrap_or((rest, ""));
    let mut given: Vec<(usize, bool)> = Vec::new();
    let mut letters = rights.chars().peekable();
    while let Some(letter) = letters.next() {
        let at = RIGHTS
            .find(letter)
            .ok_or_else(|| invalid(format!("invalid mode character: must be one of \"{RIGHTS}\"")))?;
        given.push((at, letters.next_if_eq(&'*').is_some()));
    }
    given.sort_unstable();
    given.dedup_by_key(|(at, _)| *at);
    let grantor = match role_of(grantor) {
        Some((grantor, "")) if !grantor.is_empty() => grantor,
        _ => return Err(invalid("a name must follow the \"/\" sign".to_owned())),
    };
    for name in [&role, &grantor].into_iter().filter(|name| !name.is_empty()) {
        if objects(call)?.role_id(name).is_none() {
            return Err(SqlError::new(SqlState::UndefinedObject, format!("role \"{name}\" does not exist")));
        }
    }
    let star = |grants: bool| if grants { "*" } else { "" };
    let rights: String =
        given.into_iter().map(|(at, grants)| format!("{}{}", &RIGHTS[at..=at], star(grants))).collect();
    Ok(Value::text(format!("{}={rights}/{}", role_in_privilege(&role), role_in_privilege(&grantor))))
}

/// The name with which a text begins, in quotes or without, and the rest.
fn role_of(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let mut name = String::new();
    let mut rest = quoted;
    loop {
        let end = rest.find('"')?;
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, rest)),
        }
    }
}

/// The words of all privileges, in the order of their letters.
const WORDS: [&str; 14] = [
    "INSERT",
    "SELECT",
    "UPDATE",
    "DELETE",
    "TRUNCATE",
    "REFERENCES",
    "TRIGGER",
    "EXECUTE",
    "USAGE",
    "CREATE",
    "TEMPORARY",
    "CONNECT",
    "SET",
    "ALTER SYSTEM",
];

/// An item of a list: who has privileges, who has granted them, and of each privilege its place and whether it may be granted.
struct Item {
    grantee: String,
    grantor: String,
    rights: Vec<(usize, bool)>,
}

impl Item {
    /// Reads an item as it is shown.
    fn of(text: &str) -> Result<Self, SqlError> {
        let damaged = || SqlError::new(SqlState::InternalError, format!("\"{text}\" is no item of privileges"));
        let (grantee, rest) = role_of(text).ok_or_else(damaged)?;
        let (letters, grantor) = rest.strip_prefix('=').and_then(|rest| rest.split_once('/')).ok_or_else(damaged)?;
        let (grantor, _) = role_of(grantor).ok_or_else(damaged)?;
        let mut rights = Vec::new();
        let mut letters = letters.chars().peekable();
        while let Some(letter) = letters.next() {
            rights.push((RIGHTS.find(letter).ok_or_else(damaged)?, letters.next_if_eq(&'*').is_some()));
        }
        Ok(Self { grantee, grantor, rights })
    }
}

/// `aclexplode(list)`: a row for each privilege of each item, with the numbers of the roles.
pub fn exploded(list: &Value, call: &Call<'_>) -> Result<Vec<Vec<Value>>, SqlError> {
    let names = objects(call)?;
    // Numbers stand for roles that are gone.
    let number = |name: &str| match name {
        "" => 0,
        name => names.role_id(name).or_else(|| name.parse().ok()).unwrap_or_default(),
    };
    let mut rows = Vec::new();
    for item in list.as_array().values.iter().filter(|item| !item.is_null()) {
        let Item { grantee, grantor, rights } = Item::of(item.as_text())?;
        rows.extend(rights.into_iter().map(|(at, is_grantable)| {
            let (grantor, grantee) = (Value::Oid(number(&grantor)), Value::Oid(number(&grantee)));
            vec![grantor, grantee, Value::text(WORDS[at]), Value::Bool(is_grantable)]
        }));
    }
    Ok(rows)
}

/// `makeaclitem(grantee, grantor, privilege, is_grantable)`
fn make_item(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let [grantee, grantor, word, is_grantable] = arguments else { panic!("makeaclitem has four arguments") };
    let upper = word.as_text().to_ascii_uppercase();
    let upper = if upper == "TEMP" { "TEMPORARY" } else { &upper };
    let at = WORDS.iter().position(|known| *known == upper).ok_or_else(|| {
        let message = format!("unrecognized privilege type: \"{}\"", word.as_text());
        SqlError::new(SqlState::InvalidParameterValue, message)
    })?;
    let letters = format!("{}{}", &RIGHTS[at..=at], if is_grantable.as_bool() { "*" } else { "" });
    let name = |role: u32| match role {
        0 => Ok(String::new()),
        role => Ok::<_, SqlError>(objects(call)?.role(role).unwrap_or_else(|| role.to_string())),
    };
    let (grantee, grantor) = (name(grantee.as_oid())?, name(grantor.as_oid())?);
    Ok(Value::text(format!("{}={letters}/{}", role_in_privilege(&grantee), role_in_privilege(&grantor))))
}

/// Whether a list has all of an item.
fn contains(list: &Value, item: &Value, _: &Call<'_>) -> Result<Value, SqlError> {
    let wanted = Item::of(item.as_text())?;
    for known in list.as_array().values.iter().filter(|item| !item.is_null()) {
        let known = Item::of(known.as_text())?;
        let has = |(at, is_grantable): &(usize, bool)| {
            known.rights.iter().any(|(own, grants)| own == at && (*grants || !is_grantable))
        };
        if (&known.grantee, &known.grantor) == (&wanted.grantee, &wanted.grantor) && wanted.rights.iter().all(has) {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

/// `acldefault(kind, owner)`: what everybody may do with an object of a kind, and what its owner may.
fn acl_default(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let Value::Char(kind) = arguments[0] else {
        return Err(SqlError::new(SqlState::InternalError, "the kind of an object is a character"));
    };
    let (of_all, of_owner) = match kind {
        b'c' => ("", ""),
        b'r' => ("", "arwdDxt"),
        b's' => ("", "rwU"),
        b'd' => ("Tc", "CTc"),
        b'f' => ("X", "X"),
        b'l' | b'T' => ("U", "U"),
        b'L' => ("", "rw"),
        b'n' => ("", "UC"),
        b'p' => ("", "sA"),
        b't' => ("", "C"),
        b'F' | b'S' => ("", "U"),
        _ => {
            let kind = char::from(kind);
            let message = format!("unrecognized object type abbreviation: {kind}");
            return Err(SqlError::new(SqlState::InternalError, message));
        }
    };
    let owner = arguments[1].as_oid();
    let owner = objects(call)?.role(owner).unwrap_or_else(|| owner.to_string());
    let owner = role_in_privilege(&owner);
    let items = [("", of_all), (&*owner, of_owner)].into_iter().filter(|(_, rights)| !rights.is_empty());
    let items = items.map(|(role, rights)| Value::text(format!("{role}={rights}/{owner}"))).collect();
    Ok(Value::Array(ArrayValue::of(ACLITEM, items).into()))
}

/// A role's name within a privilege: quoted unless it is of letters, digits and `_` (PostgreSQL's `putid`).
pub fn role_in_privilege(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Cow::Borrowed(name);
    }
    Cow::Owned(format!("\"{}\"", name.replace('"', "\"\"")))
}
