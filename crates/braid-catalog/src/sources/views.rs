//! `pg_rewrite` and `pg_depend`: the queries of views, and what they read; and the rows of views in `pg_class`.

use braid_base::TableId;
use braid_sql::Value;
use braid_storage::{Catalog, SourceColumn, ViewDef, ViewKind};

use super::dependencies::dependency;
use super::tables::class;
use crate::named_row::{NamedRow, letter, oid, text, texts, yes};
use crate::object_ids::{CLASS_CATALOG_ID, RULE_CATALOG_ID, TYPE_CATALOG_ID, row_type_id, rule_id, table_object_id};
use crate::view_texts::view_text;

/// The views that have no rows of their own.
pub(super) fn classes(catalog: &Catalog) -> impl Iterator<Item = NamedRow> {
    let views = catalog.views().by_id().values().filter(|view| !view.is_materialized());
    views.map(|view| {
        let mut row = class(catalog, (view.schema, &view.name), table_object_id(view.id), view.columns.len());
        row.retain(|(column, _)| *column != "relfilenode");
        row.extend([
            ("reltype", oid(row_type_id(view.id))),
            ("relkind", letter(b'v')),
            ("relhasrules", yes()),
            ("relreplident", letter(b'n')),
        ]);
        if !view.options.is_empty() {
            row.push(("reloptions", texts(&view.options)));
        }
        row
    })
}

/// The row of a table, or of the materialized view that it is.
pub(super) fn as_materialized(catalog: &Catalog, (table, mut row): (TableId, NamedRow)) -> NamedRow {
    if let Some(view) = catalog.view_by_id(table) {
        row.retain(|(column, _)| !["relkind", "relispopulated"].contains(column));
        let is_populated = view.kind == (ViewKind::Materialized { is_populated: true });
        row.extend([("relkind", letter(b'm')), ("relhasrules", yes()), ("relispopulated", Value::Bool(is_populated))]);
    }
    row
}

/// The rules that are the queries of views: SQL in place of PostgreSQL's trees.
pub(super) fn rules(catalog: &Catalog) -> Vec<NamedRow> {
    let row = |view: &ViewDef| {
        vec![
            ("oid", oid(rule_id(view.id))),
            ("rulename", text("_RETURN")),
            ("ev_class", oid(table_object_id(view.id))),
            ("ev_type", letter(b'1')),
            ("ev_enabled", letter(b'O')),
            ("is_instead", yes()),
            ("ev_qual", text("<>")),
            ("ev_action", text(&(view_text(catalog, view) + ";"))),
        ]
    };
    catalog.views().by_id().values().map(|view| row(view)).collect()
}

/// What the queries of views read, and which view each belongs to.
pub(super) fn dependencies(catalog: &Catalog) -> Vec<NamedRow> {
    let mut rows = Vec::new();
    for view in catalog.views().by_id().values() {
        let mut add = |class: u32, id: u32, column: i32, kind: u8| {
            rows.push(dependency((RULE_CATALOG_ID, rule_id(view.id)), (class, id, column), kind));
        };
        let own = table_object_id(view.id);
        add(CLASS_CATALOG_ID, own, 0, b'i');
        add(CLASS_CATALOG_ID, own, 0, b'n');
        view.type_oids.iter().for_each(|id| add(TYPE_CATALOG_ID, *id, 0, b'n'));
        for (relation, columns) in view.stored_sources() {
            let read: Vec<&SourceColumn> = columns.iter().filter(|column| column.is_used).collect();
            if read.is_empty() {
                add(CLASS_CATALOG_ID, table_object_id(relation), 0, b'n');
            }
            for column in read {
                add(CLASS_CATALOG_ID, table_object_id(relation), i32::from(column.id.0) + 1, b'n');
            }
        }
    }
    rows
}
