//! `pg_type` and `pg_enum`: enumerated types, their array types and their labels; domains; types of the rows of relations.

use std::collections::HashSet;

use braid_base::{EnumLabel, EnumType, SchemaId, TableId};
use braid_sql::Value;
use braid_storage::{AccessObject, Catalog};

use super::access::put_owner;
use super::domains;
use super::keys::NAME_BYTES_MAX;
use crate::named_row::{NamedRow, letter, oid, text, yes};
use crate::object_ids::{row_array_type_id, row_type_id, schema_object_id, table_object_id};
use crate::server_facts::ServerFacts;
use crate::type_references::ShownTypes;

/// The functions of a type, by the columns that name them.
type Functions = [(&'static str, u32); 5];

/// `enum_in`, `enum_out`, `enum_recv`, `enum_send`; there is no subscript.
const OF_ENUMS: Functions =
    [("typinput", 3506), ("typoutput", 3507), ("typreceive", 3532), ("typsend", 3533), ("typsubscript", 0)];

/// `array_in`, `array_out`, `array_recv`, `array_send`, `array_subscript_handler`.
const OF_ARRAYS: Functions =
    [("typinput", 750), ("typoutput", 751), ("typreceive", 2400), ("typsend", 2401), ("typsubscript", 6179)];

/// `record_in`, `record_out`, `record_recv`, `record_send`; there is no subscript.
const OF_ROWS: Functions =
    [("typinput", 2290), ("typoutput", 2291), ("typreceive", 2402), ("typsend", 2403), ("typsubscript", 0)];

/// `array_typanalyze`
const ARRAY_ANALYZE: u32 = 3816;

/// All enumerated types and domains, and the types of the rows of tables and views, each with its array type behind it.
pub(super) fn types(shown: &ShownTypes<'_>, facts: &dyn ServerFacts) -> Vec<NamedRow> {
    let catalog = shown.catalog;
    let owned = |mut row: NamedRow, oid: u32, list: bool| {
        put_owner(&mut row, (catalog, facts), AccessObject::Type(oid), ("typowner", "typacl"));
        // An array type has the privileges of its element type, and no list.
        row.retain(|(column, _)| list || *column != "typacl");
        row
    };
    let rows = catalog.enum_types().map(|known| &known.definition).flat_map(|definition| {
        let oid = definition.oid;
        let namespace = schema_object_id(definition.schema);
        let array = arrays((definition.array_oid, &definition.array_name), namespace, (oid, b'i'));
        [owned(enumerated(definition), oid, true), owned(array, oid, false)]
    });
    let of_domains = catalog.domains().flat_map(|known| {
        let oid = known.definition.oid;
        let [domain, array] = domains::types(shown, known);
        [owned(domain, oid, true), owned(array, oid, false)]
    });
    let relations = relations(catalog);
    let mut taken = type_names(catalog, &relations);
    let of_relations = relations.into_iter().flat_map(|(id, schema, name)| {
        let array_name = array_name(&mut taken, schema, name);
        let array = arrays((row_array_type_id(id), &array_name), schema_object_id(schema), (row_type_id(id), b'd'));
        let object = AccessObject::Relation(id);
        [of_rows(id, schema, name), array].map(|mut row| {
            put_owner(&mut row, (catalog, facts), object, ("typowner", "typacl"));
            row.retain(|(column, _)| *column != "typacl");
            row
        })
    });
    rows.chain(of_domains).chain(of_relations).collect()
}

/// What has rows of a type of its own, oldest first: tables, also those of materialized views, and views.
fn relations(catalog: &Catalog) -> Vec<(TableId, SchemaId, &str)> {
    let tables = catalog.tables().map(|table| (table.def.id, table.def.schema, table.def.name.as_str()));
    let views = catalog.views().by_id().values().filter(|view| !view.is_materialized());
    let mut relations: Vec<_> = tables.chain(views.map(|view| (view.id, view.schema, view.name.as_str()))).collect();
    relations.sort_unstable_by_key(|(id, ..)| *id);
    relations
}

/// The names of all types but those of arrays of rows, by schema.
fn type_names(catalog: &Catalog, relations: &[(TableId, SchemaId, &str)]) -> HashSet<(SchemaId, String)> {
    let enums = catalog.enum_types().map(|known| &known.definition);
    let enums = enums.flat_map(|known| [&known.name, &known.array_name].map(|name| (known.schema, name.clone())));
    let domains = catalog.domains().map(|known| &known.definition);
    let domains = domains.flat_map(|known| [&known.name, &known.array_name].map(|name| (known.schema, name.clone())));
    let relations = relations.iter().map(|(_, schema, name)| (*schema, (*name).to_owned()));
    enums.chain(domains).chain(relations).collect()
}

/// The type of the rows of a table or a view.
fn of_rows(id: TableId, schema: SchemaId, name: &str) -> NamedRow {
    let mut row = common(row_type_id(id), name, schema_object_id(schema), OF_ROWS);
    row.extend([
        ("typlen", Value::Int2(-1)),
        ("typtype", letter(b'c')),
        ("typcategory", letter(b'C')),
        ("typrelid", oid(table_object_id(id))),
        ("typarray", oid(row_array_type_id(id))),
        ("typalign", letter(b'd')),
        ("typstorage", letter(b'x')),
    ]);
    row
}

/// The name of the type of arrays of a relation's rows, which it takes: with as many underscores before it as no other type has.
fn array_name(taken: &mut HashSet<(SchemaId, String)>, schema: SchemaId, relation: &str) -> String {
    let mut underscores = String::from("_");
    loop {
        let end = relation.floor_char_boundary(NAME_BYTES_MAX.saturating_sub(underscores.len()));
        let candidate = format!("{underscores}{}", &relation[..end]);
        if taken.insert((schema, candidate.clone())) {
            return candidate;
        }
        underscores.push('_');
    }
}

fn enumerated(definition: &EnumType) -> NamedRow {
    let mut row = common(definition.oid, &definition.name, schema_object_id(definition.schema), OF_ENUMS);
    row.extend([
        ("typlen", Value::Int2(4)),
        ("typbyval", yes()),
        ("typtype", letter(b'e')),
        ("typcategory", letter(b'E')),
        ("typarray", oid(definition.array_oid)),
        ("typalign", letter(b'i')),
        ("typstorage", letter(b'p')),
    ]);
    row
}

/// An array type with its oid and name, of elements of a type with this oid, which are aligned so.
pub(super) fn arrays((id, name): (u32, &str), namespace: u32, (element, alignment): (u32, u8)) -> NamedRow {
    let mut row = common(id, name, namespace, OF_ARRAYS);
    row.extend([
        ("typlen", Value::Int2(-1)),
        ("typtype", letter(b'b')),
        ("typcategory", letter(b'A')),
        ("typelem", oid(element)),
        ("typanalyze", oid(ARRAY_ANALYZE)),
        ("typalign", letter(alignment)),
        ("typstorage", letter(b'x')),
    ]);
    row
}

fn common(id: u32, name: &str, namespace: u32, functions: Functions) -> NamedRow {
    let mut row = vec![
        ("oid", oid(id)),
        ("typname", text(name)),
        ("typnamespace", oid(namespace)),
        ("typisdefined", yes()),
        ("typdelim", letter(b',')),
        ("typtypmod", Value::Int4(-1)),
    ];
    row.extend(functions.map(|(column, function)| (column, oid(function))));
    row
}

/// All labels, those of a type in order.
pub(super) fn labels(catalog: &Catalog) -> Vec<NamedRow> {
    let of_type = |definition: &EnumType| -> Vec<NamedRow> {
        let row = |(label, order): (&EnumLabel, f32)| {
            vec![
                ("oid", oid(label.oid)),
                ("enumtypid", oid(definition.oid)),
                ("enumsortorder", Value::Float4(order)),
                ("enumlabel", text(&label.text)),
            ]
        };
        definition.labels.iter().zip(definition.sort_orders()).map(row).collect()
    };
    catalog.enum_types().flat_map(|known| of_type(&known.definition)).collect()
}
