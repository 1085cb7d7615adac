//! The domains of the manifest.
//!
//! | width | meaning |
//! |---|---|
//! | 4 | number of domains; then each, by ascending oid |
//!
//! Domain:
//!
//! | width | meaning |
//! |---|---|
//! | 4 | oid, below the next oid of a type |
//! | 4 | oid of the array type; another one |
//! | 4 | id of the schema |
//! | string | name, 1 to 255 bytes |
//! | string | name of the array type |
//! | 4 | oid of the type that it is of: one of PostgreSQL's, an enumerated type, or a domain with a smaller oid |
//! | 4 | the modifier of that type, signed |
//! | 4 | how often its constraints have changed |
//! | 1 | bit 0: NOT NULL; bit 1: has a default |
//! | string | only with a default: its SQL text |
//! | 4 | number of check constraints; then each |
//!
//! Check constraint:
//!
//! | width | meaning |
//! |---|---|
//! | 4 | oid, below the next oid of a type |
//! | 1 | 1 if all values are known to satisfy it, else 0 |
//! | string | name, 1 to 255 bytes, unique in the domain |
//! | string | the condition's SQL text over `VALUE` |
//!
//! The record of a commit has those that it changes:
//!
//! | width | meaning |
//! |---|---|
//! | 4 | number of changed domains; then each: |
//! | 4 | oid |
//! | 1 | 0 if the domain is dropped, 1 if it follows |
//!
//! Names are checked with those of all types and tables, and what a domain is of with all types ([`Manifest::validate`](super::Manifest::validate)).

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use braid_base::enum_types::{FIRST_TYPE_OID, TYPE_OID_END};
use braid_base::{DomainCheck, DomainType, SchemaId};

use super::byte_reader::ByteReader;
use super::table_section::put_string;
use crate::ManifestError;
use crate::table::{CHECKS_MAX, DEFAULT_BYTES_MAX, NAME_BYTES_MAX};

/// Domains by their oids.
pub type Domains = BTreeMap<u32, Arc<DomainType>>;

/// A domain that is set, or removed.
pub type DomainChange = (u32, Option<Arc<DomainType>>);

const NOT_NULL: u8 = 1;
const HAS_DEFAULT: u8 = 2;

/// The smallest change: that a domain is dropped.
const CHANGE_BYTES_MIN: usize = 4 + 1;
/// The smallest check constraint: an oid, a flag and two empty strings.
const CHECK_BYTES_MIN: usize = 4 + 1 + 4 + 4;

/// Writes all domains.
pub(crate) fn put_domains<'a>(out: &mut Vec<u8>, domains: impl ExactSizeIterator<Item = &'a DomainType>) {
    put_u32(out, domains.len() as u32);
    domains.for_each(|domain| put_domain(out, domain));
}

/// Reads all domains.
pub(super) fn take_domains(reader: &mut ByteReader<'_>) -> Result<Domains, ManifestError> {
    let mut domains = Domains::new();
    for _ in 0..reader.u32()? {
        let domain = take_domain(reader)?;
        if domains.last_key_value().is_some_and(|(last, _)| *last >= domain.oid) {
            return Err(reader.malformed(format!("domain {:#x} is out of order", domain.oid)));
        }
        domains.insert(domain.oid, Arc::new(domain));
    }
    Ok(domains)
}

/// Writes changed domains.
pub(super) fn put_domain_changes(out: &mut Vec<u8>, changes: &[DomainChange]) {
    put_u32(out, changes.len() as u32);
    for (oid, domain) in changes {
        put_u32(out, *oid);
        out.push(domain.is_some().into());
        domain.iter().for_each(|domain| put_domain(out, domain));
    }
}

/// Reads changed domains.
pub(super) fn take_domain_changes(reader: &mut ByteReader<'_>) -> Result<Vec<DomainChange>, ManifestError> {
    let count = reader.u32()? as usize;
    let mut changes = Vec::with_capacity(reader.bounded_capacity(count, CHANGE_BYTES_MIN));
    for _ in 0..count {
        let oid = reader.u32()?;
        let domain = match reader.u8()? {
            0 => None,
            1 => Some(take_domain(reader)?),
            flag => return Err(reader.malformed(format!("domain {oid:#x} has the flag {flag}"))),
        };
        if domain.as_ref().is_some_and(|domain| domain.oid != oid) {
            return Err(reader.malformed(format!("domain {oid:#x} is changed to another one")));
        }
        changes.push((oid, domain.map(Arc::new)));
    }
    Ok(changes)
}

fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_domain(out: &mut Vec<u8>, domain: &DomainType) {
    put_u32(out, domain.oid);
    put_u32(out, domain.array_oid);
    put_u32(out, domain.schema.0);
    put_string(out, &domain.name);
    put_string(out, &domain.array_name);
    put_u32(out, domain.base_oid);
    out.extend_from_slice(&domain.modifier.to_le_bytes());
    put_u32(out, domain.revision);
    let not_null = if domain.is_not_null { NOT_NULL } else { 0 };
    out.push(not_null | if domain.default.is_some() { HAS_DEFAULT } else { 0 });
    domain.default.iter().for_each(|default| put_string(out, default));
    put_u32(out, domain.checks.len() as u32);
    for check in &domain.checks {
        put_u32(out, check.oid);
        out.push(check.validated.into());
        put_string(out, &check.name);
        put_string(out, &check.condition);
    }
}

fn take_domain(reader: &mut ByteReader<'_>) -> Result<DomainType, ManifestError> {
    let (oid, array_oid, schema) = (reader.u32()?, reader.u32()?, SchemaId(reader.u32()?));
    let (name, array_name) = (reader.string()?, reader.string()?);
    let (base_oid, modifier, revision) = (reader.u32()?, reader.u32()? as i32, reader.u32()?);
    let flags = reader.u8()?;
    if flags & !(NOT_NULL | HAS_DEFAULT) != 0 {
        return Err(reader.malformed(format!("domain \"{name}\" has flags {flags:#04x}")));
    }
    let default = if flags & HAS_DEFAULT != 0 { Some(reader.string()?) } else { None };
    let count = reader.u32()? as usize;
    let mut checks = Vec::with_capacity(reader.bounded_capacity(count, CHECK_BYTES_MIN));
    for _ in 0..count {
        checks.push(take_check(reader, &name)?);
    }
    let is_not_null = flags & NOT_NULL != 0;
    let domain = DomainType {
        oid,
        array_oid,
        schema,
        name,
        array_name,
        base_oid,
        modifier,
        is_not_null,
        default,
        checks,
        revision,
    };
    match fault(&domain) {
        Some(fault) => Err(reader.malformed(fault)),
        None => Ok(domain),
    }
}

fn take_check(reader: &mut ByteReader<'_>, domain: &str) -> Result<DomainCheck, ManifestError> {
    let oid = reader.u32()?;
    let validated = match reader.u8()? {
        0 => false,
        1 => true,
        flag => return Err(reader.malformed(format!("a check constraint of domain \"{domain}\" has the flag {flag}"))),
    };
    Ok(DomainCheck { oid, name: reader.string()?, condition: reader.string()?, validated })
}

/// What does not make sense in a domain by itself, with the limit; `None` if all does.
pub(crate) fn fault(domain: &DomainType) -> Option<String> {
    let name = &domain.name;
    let mut oids = HashSet::new();
    let own = [domain.oid, domain.array_oid].into_iter().chain(domain.checks.iter().map(|check| check.oid));
    for oid in own {
        if !(FIRST_TYPE_OID..TYPE_OID_END).contains(&oid) || !oids.insert(oid) {
            return Some(format!("oid {oid:#x} of domain \"{name}\" is none of a type, or used twice"));
        }
    }
    if domain.base_oid >= domain.oid {
        return Some(format!("domain \"{name}\" is of type {:#x}, which is no older", domain.base_oid));
    }
    let names = [name, &domain.array_name].into_iter().chain(domain.checks.iter().map(|check| &check.name));
    if let Some(name) = names.into_iter().find(|name| !(1..=NAME_BYTES_MAX).contains(&name.len())) {
        return Some(format!("a name has {} bytes; names have 1 to {NAME_BYTES_MAX} bytes", name.len()));
    }
    let mut checks = HashSet::new();
    if let Some(twice) = domain.checks.iter().find(|check| !checks.insert(&check.name)) {
        return Some(format!("domain \"{name}\" has two check constraints \"{}\"", twice.name));
    }
    if domain.checks.len() > CHECKS_MAX {
        let count = domain.checks.len();
        return Some(format!("domain \"{name}\" has {count} check constraints; a domain has at most {CHECKS_MAX}"));
    }
    let texts = domain.checks.iter().map(|check| &check.condition).chain(&domain.default);
    let long = texts.into_iter().find(|text| text.len() > DEFAULT_BYTES_MAX);
    long.map(|text| {
        let bytes = text.len();
        format!(
            "a text of domain \"{name}\" has {bytes} bytes; defaults and conditions have at most {DEFAULT_BYTES_MAX}"
        )
    })
}
