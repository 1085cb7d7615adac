//! The constraints of a table in its section of the manifest: conditions of its rows, and enforced keys.
//!
//! Check constraint:
//!
//! | width | meaning |
//! |---|---|
//! | string | name |
//! | string | the condition's SQL text |
//! | 2 | number of columns that it reads; then 2 bytes each, the column's id, ascending |
//! | 1 | bit 0: validated; bit 1: has a comment (not in versions 1 to 6) |
//! | string | only if it has a comment: its text, not empty |
//!
//! Key:
//!
//! | width | meaning |
//! |---|---|
//! | 4 | id |
//! | string | name |
//! | 1 | 0 PRIMARY KEY, 1 UNIQUE, 2 CREATE UNIQUE INDEX, 3 CREATE INDEX |
//! | 1 | bit 0: nulls are alike; bit 1: some columns are ordered for patterns (not in versions 1 to 6); bit 2: it has a form |
//! | 2 | number of columns; then 2 bytes each, the column's id |
//! | 2 | only if some are ordered for patterns: their number; then 2 bytes each, the column's id |
//! | | only if it has a form: the form |
//!
//! Form of an index:
//!
//! | width | meaning |
//! |---|---|
//! | 2 | number of members; of each the following |
//! | 1 | bit 0: descending; bit 1: nulls first; bit 2: ordered for patterns; bit 3: an expression |
//! | 2 | only if it is no expression: the column's id |
//! | string, string, type | only if it is one: its SQL text, its name, its type as that of a column |
//! | 2 | number of included columns; then 2 bytes each, the column's id |
//! | string | the condition's SQL text; empty: none |

use std::sync::Arc;

use braid_base::{ColumnId, TableId};

use super::ManifestError;
use super::byte_reader::ByteReader;
use super::table_section::{put_string, put_type, take_type};
use crate::{CheckDef, KeyDef, KeyForm, KeyKind, KeyMember, KeyNulls, MemberSource};

/// The smallest check constraint: an empty name, an empty condition, flags.
const CHECK_BYTES_MIN: usize = 4 + 4 + 2 + 1;

/// The smallest key: an id, an empty name, kind, flags, a count.
const KEY_BYTES_MIN: usize = 4 + 4 + 1 + 1 + 2;

const VALIDATED: u8 = 1;
const HAS_COMMENT: u8 = 2;

const NULLS_EQUAL: u8 = 1;
const HAS_PATTERNS: u8 = 2;
const HAS_FORM: u8 = 4;

const DESCENDS: u8 = 1;
const NULLS_FIRST: u8 = 2;
const FOR_PATTERNS: u8 = 4;
const IS_EXPRESSION: u8 = 8;

pub(super) fn put_checks(out: &mut Vec<u8>, checks: &[CheckDef]) {
    out.extend_from_slice(&(checks.len() as u16).to_le_bytes());
    for CheckDef { name, condition, columns, validated, comment } in checks {
        put_string(out, name);
        put_string(out, condition);
        out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
        columns.iter().for_each(|column| out.extend_from_slice(&column.0.to_le_bytes()));
        let has_comment = if comment.is_some() { HAS_COMMENT } else { 0 };
        out.push(has_comment | if *validated { VALIDATED } else { 0 });
        comment.iter().for_each(|comment| put_string(out, comment));
    }
}

pub(super) fn take_checks(reader: &mut ByteReader<'_>) -> Result<Vec<CheckDef>, ManifestError> {
    let count = usize::from(reader.u16()?);
    let mut checks = Vec::with_capacity(reader.bounded_capacity(count, CHECK_BYTES_MIN));
    for _ in 0..count {
        let (name, condition, column_count) = (reader.string()?, reader.string()?, usize::from(reader.u16()?));
        let mut columns = Vec::with_capacity(reader.bounded_capacity(column_count, 2));
        for _ in 0..column_count {
            columns.push(ColumnId(reader.u16()?));
        }
        let flags = reader.u8()?;
        if flags & !(VALIDATED | HAS_COMMENT) != 0 {
            return Err(reader.malformed(format!("check constraint \"{name}\" has flags {flags:#04x}")));
        }
        let comment = if flags & HAS_COMMENT != 0 { Some(reader.string()?) } else { None };
        if comment.as_ref().is_some_and(String::is_empty) {
            return Err(reader.malformed(format!("the comment on check constraint \"{name}\" is empty")));
        }
        checks.push(CheckDef { name, condition, columns, validated: flags & VALIDATED != 0, comment });
    }
    Ok(checks)
}

pub(super) fn put_keys(out: &mut Vec<u8>, keys: &[KeyDef]) {
    out.extend_from_slice(&(keys.len() as u16).to_le_bytes());
    for KeyDef { id, name, columns, kind, nulls, patterns, form } in keys {
        out.extend_from_slice(&id.0.to_le_bytes());
        put_string(out, name);
        out.push(match kind {
            KeyKind::Primary => 0,
            KeyKind::Unique => 1,
            KeyKind::UniqueIndex => 2,
            KeyKind::Index => 3,
        });
        let nulls = if *nulls == KeyNulls::Equal { NULLS_EQUAL } else { 0 };
        let has_patterns = if patterns.is_empty() { 0 } else { HAS_PATTERNS };
        out.push(nulls | has_patterns | if form.is_some() { HAS_FORM } else { 0 });
        put_columns(out, columns);
        if !patterns.is_empty() {
            put_columns(out, patterns);
        }
        form.iter().for_each(|form| put_form(out, form));
    }
}

fn put_form(out: &mut Vec<u8>, KeyForm { members, included, condition }: &KeyForm) {
    out.extend_from_slice(&(members.len() as u16).to_le_bytes());
    for KeyMember { source, descends, nulls_first, for_patterns } in members {
        let flags = [(*descends, DESCENDS), (*nulls_first, NULLS_FIRST), (*for_patterns, FOR_PATTERNS)];
        let is_expression = matches!(source, MemberSource::Expression { .. });
        let flags = flags.into_iter().chain([(is_expression, IS_EXPRESSION)]);
        out.push(flags.map(|(is_set, flag)| if is_set { flag } else { 0 }).sum());
        match source {
            MemberSource::Column(id) => out.extend_from_slice(&id.0.to_le_bytes()),
            MemberSource::Expression { text, name, column_type } => {
                put_string(out, text);
                put_string(out, name);
                put_type(out, *column_type);
            }
        }
    }
    put_columns(out, included);
    put_string(out, condition.as_deref().unwrap_or_default());
}

fn take_form(reader: &mut ByteReader<'_>) -> Result<KeyForm, ManifestError> {
    let count = usize::from(reader.u16()?);
    let mut members = Vec::with_capacity(reader.bounded_capacity(count, 3));
    for _ in 0..count {
        let flags = reader.u8()?;
        if flags & !(DESCENDS | NULLS_FIRST | FOR_PATTERNS | IS_EXPRESSION) != 0 {
            return Err(reader.malformed(format!("a member of an index has flags {flags:#04x}")));
        }
        let source = match flags & IS_EXPRESSION {
            0 => MemberSource::Column(ColumnId(reader.u16()?)),
            _ => {
                let (text, name) = (reader.string()?, reader.string()?);
                let column_type = take_type(reader, &name)?;
                MemberSource::Expression { text, name, column_type }
            }
        };
        members.push(KeyMember {
            source,
            descends: flags & DESCENDS != 0,
            nulls_first: flags & NULLS_FIRST != 0,
            for_patterns: flags & FOR_PATTERNS != 0,
        });
    }
    let included = take_columns(reader)?;
    let condition = Some(reader.string()?).filter(|condition| !condition.is_empty());
    Ok(KeyForm { members, included, condition })
}

fn put_columns(out: &mut Vec<u8>, columns: &[ColumnId]) {
    out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
    columns.iter().for_each(|column| out.extend_from_slice(&column.0.to_le_bytes()));
}

fn take_columns(reader: &mut ByteReader<'_>) -> Result<Vec<ColumnId>, ManifestError> {
    let count = usize::from(reader.u16()?);
    let mut columns = Vec::with_capacity(reader.bounded_capacity(count, 2));
    for _ in 0..count {
        columns.push(ColumnId(reader.u16()?));
    }
    Ok(columns)
}

pub(super) fn take_keys(reader: &mut ByteReader<'_>) -> Result<Vec<KeyDef>, ManifestError> {
    let count = usize::from(reader.u16()?);
    let mut keys = Vec::with_capacity(reader.bounded_capacity(count, KEY_BYTES_MIN));
    for _ in 0..count {
        let (id, name) = (TableId(reader.u32()?), reader.string()?);
        let kind = match reader.u8()? {
            0 => KeyKind::Primary,
            1 => KeyKind::Unique,
            2 => KeyKind::UniqueIndex,
            3 => KeyKind::Index,
            kind => return Err(reader.malformed(format!("key \"{name}\" is of kind {kind}"))),
        };
        let flags = reader.u8()?;
        if flags & !(NULLS_EQUAL | HAS_PATTERNS | HAS_FORM) != 0 {
            return Err(reader.malformed(format!("key \"{name}\" has flags {flags:#04x}")));
        }
        let nulls = if flags & NULLS_EQUAL != 0 { KeyNulls::Equal } else { KeyNulls::Distinct };
        let columns = take_columns(reader)?;
        let patterns = if flags & HAS_PATTERNS != 0 { take_columns(reader)? } else { Vec::new() };
        if flags & HAS_PATTERNS != 0 && patterns.is_empty() {
            return Err(reader.malformed(format!("key \"{name}\" has flags {flags:#04x} and no columns for patterns")));
        }
        let form = if flags & HAS_FORM != 0 { Some(Arc::new(take_form(reader)?)) } else { None };
        keys.push(KeyDef { id, name, columns, kind, nulls, patterns, form });
    }
    Ok(keys)
}
