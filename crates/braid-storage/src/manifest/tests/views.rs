//! Views in manifests: random ones, and those that contradict the rest.

use braid_base::{ColumnId, Random, SchemaId, SeededRandom, TableId};

use super::super::*;
use super::manifest_of;
use crate::{SourceColumn, SourceRelation, ViewColumn, ViewKind, ViewSize, ViewSource};

/// Up to three views of what a manifest has. Tables have odd ids, sequences 0, 2 and 4, views 6 and 10; a table may be that of a materialized view.
pub(super) fn random_views(manifest: &Manifest, random: &mut SeededRandom) -> Vec<ViewDef> {
    let mut views: Vec<ViewDef> = Vec::new();
    let own = manifest.tables.first().filter(|_| random.chance(1, 3));
    let ids = own.map(|table| table.def.id.0).into_iter().chain((0..random.below(3) as u32).map(|at| 4 * at + 6));
    for id in ids {
        let materialized = own.filter(|table| table.def.id.0 == id);
        let name = materialized.map_or_else(|| format!("view {id}"), |table| table.def.name.clone());
        let kind = match materialized {
            Some(_) => ViewKind::Materialized { is_populated: random.chance(1, 2) },
            None => ViewKind::Plain,
        };
        let others = manifest.tables.iter().filter(|table| table.def.id.0 != id);
        let mut sources: Vec<ViewSource> = others.map(|table| source_of(table, random)).collect();
        sources.extend(views.last().map(source_of_view));
        let schema = random.chance(1, 2).then(|| "pg_catalog".to_owned());
        let relation = SourceRelation::System { schema: "pg_catalog".to_owned() };
        sources.push(ViewSource { schema, name: "pg_class".to_owned(), uses: 2, relation });
        let schemas = manifest.schemas.iter().map(|schema| schema.id).chain([SchemaId::PUBLIC]);
        let schemas: Vec<SchemaId> = schemas.collect();
        let options = ["security_barrier=true", "security_invoker=off"].map(str::to_owned);
        views.push(ViewDef {
            schema: materialized.map_or(schemas[random.below(schemas.len() as u64) as usize], |table| table.def.schema),
            options: options.into_iter().take(random.below(3) as usize).collect(),
            type_oids: manifest.types.iter().map(|known| known.oid).collect(),
            ..view(id, &name, kind, sources)
        });
    }
    views.sort_by_key(|view| view.id);
    views
}

fn view(id: u32, name: &str, kind: ViewKind, sources: Vec<ViewSource>) -> ViewDef {
    let column = |at: u32| ViewColumn {
        name: format!("column {at}"),
        query_name: format!("was {at}"),
        type_oid: 20 + at,
        modifier: -1,
    };
    ViewDef {
        id: TableId(id),
        schema: SchemaId::PUBLIC,
        name: name.to_owned(),
        options: Vec::new(),
        kind,
        columns: (0..id).map(column).collect(),
        text: "select 1".into(),
        sources,
        type_oids: Vec::new(),
        time_zone: "Europe/Berlin".to_owned(),
        read_at_us: -1,
        size: ViewSize { levels: 3, expressions: 4 },
    }
}

fn source_of(table: &ManifestTable, random: &mut SeededRandom) -> ViewSource {
    let columns = table.def.columns.iter().map(|column| SourceColumn {
        id: column.id,
        name: format!("was {}", column.name),
        is_used: random.chance(1, 2),
    });
    let dropped = SourceColumn { id: ColumnId(1599), name: "dropped".to_owned(), is_used: false };
    let relation = SourceRelation::Stored { id: table.def.id, columns: columns.chain([dropped]).collect() };
    ViewSource { schema: None, name: table.def.name.clone(), uses: 1, relation }
}

fn source_of_view(view: &ViewDef) -> ViewSource {
    let relation = SourceRelation::Stored { id: view.id, columns: Vec::new() };
    ViewSource { schema: Some("public".to_owned()), name: view.name.clone(), uses: 1, relation }
}

#[test]
fn views_agree_with_the_rest_of_their_manifest() {
    let mut random = SeededRandom::new(7);
    let manifest = manifest_of(super::random_table(1, 9, &mut random));
    let table = &manifest.tables[0];
    let used = |id| {
        let columns = vec![SourceColumn { id, name: "a".to_owned(), is_used: true }];
        let relation = SourceRelation::Stored { id: table.def.id, columns };
        vec![ViewSource { schema: None, name: "t".to_owned(), uses: 1, relation }]
    };
    let materialized = ViewKind::Materialized { is_populated: true };
    let good = view(2, "v", ViewKind::Plain, used(table.def.columns[0].id));
    let of_table = view(1, &table.def.name, materialized, Vec::new());
    for views in [vec![good.clone()], vec![of_table.clone()], vec![of_table.clone(), good.clone()]] {
        let manifest = Manifest { views, ..manifest.clone() };
        assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest));
    }
    for (views, what) in [
        (vec![view(10, "v", ViewKind::Plain, Vec::new())], "an id that is not given out"),
        (vec![good.clone(), good.clone()], "one id twice"),
        (vec![good.clone(), view(3, "v", ViewKind::Plain, Vec::new())], "one name twice"),
        (vec![view(2, &table.def.name, ViewKind::Plain, Vec::new())], "the name of a table"),
        (vec![view(1, "v", ViewKind::Plain, Vec::new())], "the id of a table"),
        (vec![view(2, "v", materialized, Vec::new())], "no table of a materialized view"),
        (vec![view(2, "v", ViewKind::Plain, used(ColumnId(1599)))], "a column that is read and gone"),
        (vec![view(2, "", ViewKind::Plain, Vec::new())], "no name"),
        (vec![view(2, "v", ViewKind::Plain, vec![source_of_view(&good)])], "a view that reads itself"),
        (vec![ViewDef { type_oids: vec![7], ..good.clone() }], "a type that is not there"),
        (vec![ViewDef { schema: SchemaId(3), ..good.clone() }], "a schema that is not there"),
        (vec![ViewDef { schema: SchemaId(3), ..of_table.clone() }], "another schema than its table's"),
        (
            vec![view(2, "v", ViewKind::Plain, vec![source_of_view(&view(4, "w", ViewKind::Plain, Vec::new()))])],
            "a view that is gone",
        ),
    ] {
        let decoded = Manifest::decode(&Manifest { views, ..manifest.clone() }.encode());
        assert!(matches!(decoded, Err(ManifestError::Malformed { .. })), "{what}: {decoded:?}");
    }
}
