//! `pg_type` and `pg_constraint`: domains, their array types and their check constraints.

use braid_base::{DomainCheck, DomainType};
use braid_sql::pg_catalog::{TypeCategory, TypeId, pg_catalog};
use braid_sql::{SqlType, Value};
use braid_storage::CatalogDomain;

use super::types::arrays;
use crate::named_row::{NamedRow, letter, oid, text, yes};
use crate::object_ids::schema_object_id;
use crate::shown_defaults::shown_default;
use crate::stored_types::stored_type;
use crate::type_references::ShownTypes;

/// `domain_in`, `domain_recv`; output and subscripts are those of the base type.
const DOMAIN_IN: u32 = 2597;
const DOMAIN_RECEIVE: u32 = 2598;
/// `enum_send`
const ENUM_SEND: u32 = 3533;

/// A domain and its array type.
pub(super) fn types(shown: &ShownTypes<'_>, known: &CatalogDomain) -> [NamedRow; 2] {
    let domain = &known.definition;
    let namespace = schema_object_id(domain.schema);
    [of_domain(shown, known), arrays((domain.array_oid, &domain.array_name), namespace, (domain.oid, alignment(known)))]
}

/// The type that a domain is of in the end.
fn base(known: &CatalogDomain) -> TypeId {
    TypeId::of_domain(known.id).base()
}

/// Arrays are aligned as their elements are, and at least by four bytes.
fn alignment(known: &CatalogDomain) -> u8 {
    if stored_type(base(known)).alignment == b'd' { b'd' } else { b'i' }
}

fn of_domain(shown: &ShownTypes<'_>, known: &CatalogDomain) -> NamedRow {
    let domain = &*known.definition;
    let base = base(known);
    let (entry, stored) = (pg_catalog().type_entry(base), stored_type(base));
    let TypeCategory(category) = entry.category;
    let mut row = vec![
        ("oid", oid(domain.oid)),
        ("typname", text(&domain.name)),
        ("typnamespace", oid(schema_object_id(domain.schema))),
        ("typlen", Value::Int2(stored.length)),
        ("typbyval", Value::Bool(stored.is_by_value)),
        ("typtype", letter(b'd')),
        ("typcategory", letter(category as u8)),
        ("typisdefined", yes()),
        ("typdelim", letter(b',')),
        ("typarray", oid(domain.array_oid)),
        ("typinput", oid(DOMAIN_IN)),
        ("typoutput", oid(entry.output.0)),
        ("typreceive", oid(DOMAIN_RECEIVE)),
        ("typsend", oid(if base.enum_type().is_some() { ENUM_SEND } else { stored.send })),
        ("typsubscript", oid(0)),
        ("typalign", letter(stored.alignment)),
        ("typstorage", letter(stored.storage)),
        ("typnotnull", Value::Bool(domain.is_not_null)),
        ("typbasetype", oid(domain.base_oid)),
        ("typtypmod", Value::Int4(domain.modifier)),
        ("typcollation", oid(stored.collation)),
    ];
    if let Some(default) = &domain.default {
        let shown = shown_default(default, SqlType::of(base), shown);
        row.extend([("typdefault", text(&shown)), ("typdefaultbin", text(&shown))]);
    }
    row
}

/// The check constraints of all domains: SQL in place of PostgreSQL's expression trees.
pub(super) fn constraints(shown: &ShownTypes<'_>) -> Vec<NamedRow> {
    let of_domain = |domain: &DomainType| -> Vec<NamedRow> {
        let row = |check: &DomainCheck| {
            vec![
                ("oid", oid(check.oid)),
                ("conname", text(&check.name)),
                ("connamespace", oid(schema_object_id(domain.schema))),
                ("contype", letter(b'c')),
                ("convalidated", Value::Bool(check.validated)),
                ("contypid", oid(domain.oid)),
                ("confupdtype", letter(b' ')),
                ("confdeltype", letter(b' ')),
                ("confmatchtype", letter(b' ')),
                ("conislocal", yes()),
                ("conbin", text(&shown.with_type_names(&check.condition))),
            ]
        };
        domain.checks.iter().map(row).collect()
    };
    shown.catalog.domains().flat_map(|known| of_domain(&known.definition)).collect()
}
