//! The access control of the manifest: roles, memberships, owners and privileges.
//!
//! | width | meaning |
//! |---|---|
//! | 4 | number of entries; then each entry, by ascending kind and ids |
//!
//! Entry:
//!
//! | width | meaning |
//! |---|---|
//! | 1 | kind: 1 a role, 2 a membership, 3 the owner of an object, 4 the privileges of an object, 5 the privileges of new objects, 6 settings that sessions begin with |
//! | | 1: 4 bytes, the role's id: 10, or from 0x4000 0000 on |
//! | | 2: 4 bytes each, the ids of the role and of its member |
//! | | 3 and 4: the object |
//! | | 5: 4 bytes, the id of the role that creates them; 4 bytes, the id of their schema, or 0xffff ffff for all; 1 byte, their kind: `r`, `S`, `f`, `T`, `n` |
//! | | 6: 4 bytes, the id of the role of the sessions, or 0 for all; 1 byte, 1 for those of the database, 0 for those of all databases |
//! | | 1: string, the name, 1 to 255 bytes, of no other role; 1 byte, bits from the lowest: SUPERUSER, INHERIT, CREATEROLE, CREATEDB, LOGIN, REPLICATION, BYPASSRLS, none; 4 bytes, the most connections, signed; 1 byte, 1 if a string follows that verifies its password, else 0; 1 byte, 1 if 8 bytes follow, until when this is valid in microseconds since 1970, signed, else 0; 4 bytes, the number of its settings; then of each two strings, the name and the value |
//! | | 2: 4 bytes, the id of the role that has granted it; 1 byte, 1 with ADMIN OPTION, else 0 |
//! | | 3: 4 bytes, the id of the owner |
//! | | 4 and 5: the access control list |
//! | | 6: as the settings of a role |
//!
//! Object:
//!
//! | width | meaning |
//! |---|---|
//! | 1 | kind: 1 a relation, 2 a column, 3 a schema, 4 a type, 5 the database |
//! | | 1: 4 bytes, the id of the table, view or sequence |
//! | | 2: 4 bytes, the id of the table or view, and 2 bytes, the column's id, or its place in a view, from 0 |
//! | | 3: 4 bytes, the id of the schema |
//! | | 4: 4 bytes, the oid of the enumerated type |
//!
//! Access control list:
//!
//! | width | meaning |
//! |---|---|
//! | 4 | number of items; then of each: |
//! | 4 | the id of the role that has the privileges, or 0 for all roles |
//! | 4 | the id of the role that has granted them |
//! | 2 | bits from the lowest, in the order `arwdDxtXUCTc`: the privileges, at least one |
//! | 2 | those of them that may be granted on |
//!
//! The entries in the record of a commit are those that it changes:
//!
//! | width | meaning |
//! |---|---|
//! | 4 | number of changed entries; then each: kind and ids as above |
//! | 1 | 0 if there is no entry any more, 1 if the rest of it follows |
//!
//! Owners and privileges of what does not exist are left out when the database opens. Each role that is named by its id exists; no role is a
//! member of itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_base::{ColumnId, SchemaId, TableId};

use super::byte_reader::ByteReader;
use super::table_section::put_string;
use crate::ManifestError;
use crate::access::{
    AccessChange, AccessControl, AccessEntry, AccessKey, AccessObject, Acl, AclItem, DefaultsKind, DefaultsSubject,
    Membership, Privileges, RoleAttributes, RoleDef, RoleId, SettingsSubject,
};
use crate::table::NAME_BYTES_MAX;

const ROLE: u8 = 1;
const MEMBERSHIP: u8 = 2;
const OWNER: u8 = 3;
const PRIVILEGES: u8 = 4;
const DEFAULTS: u8 = 5;
const SETTINGS: u8 = 6;

const RELATION: u8 = 1;
const COLUMN: u8 = 2;
const SCHEMA: u8 = 3;
const TYPE: u8 = 4;
const DATABASE: u8 = 5;

/// Stands for all schemas.
const ALL_SCHEMAS: u32 = u32::MAX;

/// The smallest change: that the owner of the database is gone.
const CHANGE_BYTES_MIN: usize = 1 + 1 + 1;
/// An item of a list.
const ITEM_BYTES: usize = 4 + 4 + 2 + 2;
/// The smallest setting: two empty strings.
const SETTING_BYTES_MIN: usize = 4 + 4;

/// Writes all entries.
pub(crate) fn put_access(out: &mut Vec<u8>, access: &AccessControl) {
    put_count(out, access.entries().len());
    for (key, entry) in access.entries() {
        put_key(out, key);
        put_rest(out, entry);
    }
}

/// Reads all entries.
pub(super) fn take_access(reader: &mut ByteReader<'_>) -> Result<AccessControl, ManifestError> {
    let mut entries = BTreeMap::new();
    for _ in 0..reader.u32()? {
        let key = take_key(reader)?;
        if entries.last_key_value().is_some_and(|(last, _)| *last >= key) {
            return Err(reader.malformed(format!("{key:?} is out of order")));
        }
        entries.insert(key, Arc::new(take_rest(reader, key)?));
    }
    Ok(AccessControl::new(entries))
}

/// Writes changed entries.
pub(super) fn put_access_changes(out: &mut Vec<u8>, changes: &[AccessChange]) {
    put_count(out, changes.len());
    for (key, entry) in changes {
        put_key(out, key);
        out.push(entry.is_some().into());
        entry.iter().for_each(|entry| put_rest(out, entry));
    }
}

/// Reads changed entries.
pub(super) fn take_access_changes(reader: &mut ByteReader<'_>) -> Result<Vec<AccessChange>, ManifestError> {
    let count = reader.u32()? as usize;
    let mut changes = Vec::with_capacity(reader.bounded_capacity(count, CHANGE_BYTES_MIN));
    for _ in 0..count {
        let key = take_key(reader)?;
        let entry = match take_flag(reader)? {
            true => Some(Arc::new(take_rest(reader, key)?)),
            false => None,
        };
        changes.push((key, entry));
    }
    Ok(changes)
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    put_u32(out, u32::try_from(count).expect("there are fewer than 2^32 entries"));
}

fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn take_flag(reader: &mut ByteReader<'_>) -> Result<bool, ManifestError> {
    match reader.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(reader.malformed(format!("a flag is {other}"))),
    }
}

fn put_key(out: &mut Vec<u8>, key: &AccessKey) {
    match key {
        AccessKey::Role(role) => {
            out.push(ROLE);
            put_u32(out, role.0);
        }
        AccessKey::Membership { role, member } => {
            out.push(MEMBERSHIP);
            put_u32(out, role.0);
            put_u32(out, member.0);
        }
        AccessKey::Owner(object) => {
            out.push(OWNER);
            put_object(out, *object);
        }
        AccessKey::Privileges(object) => {
            out.push(PRIVILEGES);
            put_object(out, *object);
        }
        AccessKey::Defaults(DefaultsSubject { creator, schema, kind }) => {
            out.push(DEFAULTS);
            put_u32(out, creator.0);
            put_u32(out, schema.map_or(ALL_SCHEMAS, |schema| schema.0));
            out.push(kind.letter());
        }
        AccessKey::Settings(SettingsSubject { role, is_of_database }) => {
            out.push(SETTINGS);
            put_u32(out, role.unwrap_or(RoleId::PUBLIC).0);
            out.push((*is_of_database).into());
        }
    }
}

fn take_key(reader: &mut ByteReader<'_>) -> Result<AccessKey, ManifestError> {
    Ok(match reader.u8()? {
        ROLE => AccessKey::Role(RoleId(reader.u32()?)),
        MEMBERSHIP => AccessKey::Membership { role: RoleId(reader.u32()?), member: RoleId(reader.u32()?) },
        OWNER => AccessKey::Owner(take_object(reader)?),
        PRIVILEGES => AccessKey::Privileges(take_object(reader)?),
        DEFAULTS => {
            let (creator, schema, letter) = (RoleId(reader.u32()?), reader.u32()?, reader.u8()?);
            let schema = (schema != ALL_SCHEMAS).then_some(SchemaId(schema));
            let kind = DefaultsKind::LETTERS.iter().find(|(known, _)| *known == letter);
            let unknown = || reader.malformed(format!("new objects are of kind {letter}"));
            let kind = kind.map(|(_, kind)| *kind).ok_or_else(unknown)?;
            AccessKey::Defaults(DefaultsSubject { creator, schema, kind })
        }
        SETTINGS => {
            let (role, is_of_database) = (RoleId(reader.u32()?), take_flag(reader)?);
            AccessKey::Settings(SettingsSubject { role: (role != RoleId::PUBLIC).then_some(role), is_of_database })
        }
        kind => return Err(reader.malformed(format!("an entry of access control is of kind {kind}"))),
    })
}

fn put_object(out: &mut Vec<u8>, object: AccessObject) {
    match object {
        AccessObject::Relation(id) => {
            out.push(RELATION);
            put_u32(out, id.0);
        }
        AccessObject::Column(id, column) => {
            out.push(COLUMN);
            put_u32(out, id.0);
            out.extend_from_slice(&column.0.to_le_bytes());
        }
        AccessObject::Schema(id) => {
            out.push(SCHEMA);
            put_u32(out, id.0);
        }
        AccessObject::Type(oid) => {
            out.push(TYPE);
            put_u32(out, oid);
        }
        AccessObject::Database => out.push(DATABASE),
    }
}

fn take_object(reader: &mut ByteReader<'_>) -> Result<AccessObject, ManifestError> {
    Ok(match reader.u8()? {
        RELATION => AccessObject::Relation(TableId(reader.u32()?)),
        COLUMN => AccessObject::Column(TableId(reader.u32()?), ColumnId(reader.u16()?)),
        SCHEMA => AccessObject::Schema(SchemaId(reader.u32()?)),
        TYPE => AccessObject::Type(reader.u32()?),
        DATABASE => AccessObject::Database,
        kind => return Err(reader.malformed(format!("an object with an owner is of kind {kind}"))),
    })
}

/// What follows the key.
fn put_rest(out: &mut Vec<u8>, entry: &AccessEntry) {
    match entry {
        AccessEntry::Role(role) => put_role(out, role),
        AccessEntry::Membership(Membership { grantor, is_admin, .. }) => {
            put_u32(out, grantor.0);
            out.push((*is_admin).into());
        }
        AccessEntry::Owner { owner, .. } => put_u32(out, owner.0),
        AccessEntry::Privileges { acl, .. } | AccessEntry::Defaults { acl, .. } => {
            put_count(out, acl.len());
            for AclItem { grantee, grantor, privileges, grantable } in acl {
                put_u32(out, grantee.0);
                put_u32(out, grantor.0);
                out.extend_from_slice(&privileges.bits().to_le_bytes());
                out.extend_from_slice(&grantable.bits().to_le_bytes());
            }
        }
        AccessEntry::Settings { settings, .. } => put_settings(out, settings),
    }
}

fn take_rest(reader: &mut ByteReader<'_>, key: AccessKey) -> Result<AccessEntry, ManifestError> {
    Ok(match key {
        AccessKey::Role(id) => AccessEntry::Role(take_role(reader, id)?),
        AccessKey::Membership { role, member } => {
            let (grantor, is_admin) = (RoleId(reader.u32()?), take_flag(reader)?);
            AccessEntry::Membership(Membership { role, member, grantor, is_admin })
        }
        AccessKey::Owner(object) => AccessEntry::Owner { object, owner: RoleId(reader.u32()?) },
        AccessKey::Privileges(object) => AccessEntry::Privileges { object, acl: take_acl(reader)? },
        AccessKey::Defaults(subject) => AccessEntry::Defaults { subject, acl: take_acl(reader)? },
        AccessKey::Settings(subject) => AccessEntry::Settings { subject, settings: take_settings(reader)? },
    })
}

fn put_role(out: &mut Vec<u8>, role: &RoleDef) {
    put_string(out, &role.name);
    out.push(role.attributes.bits());
    out.extend_from_slice(&role.connection_limit.to_le_bytes());
    out.push(role.password.is_some().into());
    role.password.iter().for_each(|password| put_string(out, password));
    out.push(role.valid_until_us.is_some().into());
    role.valid_until_us.iter().for_each(|until| out.extend_from_slice(&until.to_le_bytes()));
    put_settings(out, &role.settings);
}

fn put_settings(out: &mut Vec<u8>, settings: &[(String, String)]) {
    put_count(out, settings.len());
    for (name, value) in settings {
        put_string(out, name);
        put_string(out, value);
    }
}

fn take_settings(reader: &mut ByteReader<'_>) -> Result<Vec<(String, String)>, ManifestError> {
    let count = reader.u32()? as usize;
    let mut settings = Vec::with_capacity(reader.bounded_capacity(count, SETTING_BYTES_MIN));
    for _ in 0..count {
        settings.push((reader.string()?, reader.string()?));
    }
    Ok(settings)
}

fn take_role(reader: &mut ByteReader<'_>, id: RoleId) -> Result<RoleDef, ManifestError> {
    let name = reader.string()?;
    if !(1..=NAME_BYTES_MAX).contains(&name.len()) {
        return Err(reader.malformed(format!("\"{name}\" is no name of a role")));
    }
    let bits = reader.u8()?;
    let unknown = || reader.malformed(format!("role \"{name}\" has the attributes {bits:#x}"));
    let attributes = RoleAttributes::from_bits(bits).ok_or_else(unknown)?;
    let connection_limit = reader.i32()?;
    let password = if take_flag(reader)? { Some(reader.string()?) } else { None };
    let valid_until_us = if take_flag(reader)? { Some(reader.i64()?) } else { None };
    let settings = take_settings(reader)?;
    Ok(RoleDef { id, name, attributes, connection_limit, password, valid_until_us, settings })
}

fn take_acl(reader: &mut ByteReader<'_>) -> Result<Acl, ManifestError> {
    let count = reader.u32()? as usize;
    let mut acl = Vec::with_capacity(reader.bounded_capacity(count, ITEM_BYTES));
    for _ in 0..count {
        let (grantee, grantor) = (RoleId(reader.u32()?), RoleId(reader.u32()?));
        let (privileges, grantable) = (reader.u16()?, reader.u16()?);
        let known = Privileges::from_bits(privileges).zip(Privileges::from_bits(grantable));
        match known.filter(|(privileges, grantable)| !privileges.is_empty() && privileges.contains(*grantable)) {
            Some((privileges, grantable)) => acl.push(AclItem { grantee, grantor, privileges, grantable }),
            None => {
                let what =
                    format!("an item has the privileges {privileges:#x}, of which {grantable:#x} are granted on");
                return Err(reader.malformed(what));
            }
        }
    }
    Ok(acl)
}
