//! Relations refer to each other: every object id in a column is that of an object that there is.

use std::collections::{HashMap, HashSet};

use braid_catalog::{RelationKind, Snapshot, relation, relation_by_id, relations};
use braid_sql::Value;
use braid_sql::pg_catalog::pg_catalog;

use crate::given_server::{GivenServer, user_catalog};

/// Columns, and the relation whose column `oid` has their ids. 0 is no object.
const REFERENCES: &[(&str, &[&str])] = &[
    (
        "pg_authid",
        &[
            "pg_class.relowner",
            "pg_collation.collowner",
            "pg_database.datdba",
            "pg_namespace.nspowner",
            "pg_proc.proowner",
            "pg_stat_activity.usesysid",
            "pg_type.typowner",
        ],
    ),
    ("pg_am", &["pg_class.relam", "pg_opclass.opcmethod", "pg_opfamily.opfmethod"]),
    (
        "pg_class",
        &[
            "pg_attrdef.adrelid",
            "pg_attribute.attrelid",
            "pg_constraint.conindid",
            "pg_constraint.conrelid",
            "pg_description.classoid",
            "pg_index.indexrelid",
            "pg_index.indrelid",
            "pg_rewrite.ev_class",
        ],
    ),
    ("pg_collation", &["pg_attribute.attcollation", "pg_index.indcollation", "pg_type.typcollation"]),
    ("pg_database", &["pg_stat_activity.datid"]),
    ("pg_language", &["pg_proc.prolang"]),
    (
        "pg_namespace",
        &[
            "pg_class.relnamespace",
            "pg_constraint.connamespace",
            "pg_operator.oprnamespace",
            "pg_proc.pronamespace",
            "pg_type.typnamespace",
        ],
    ),
    ("pg_opclass", &["pg_index.indclass", "pg_range.rngsubopc"]),
    ("pg_operator", &["pg_aggregate.aggsortop", "pg_amop.amopopr", "pg_operator.oprcom", "pg_operator.oprnegate"]),
    ("pg_opfamily", &["pg_amop.amopfamily", "pg_amproc.amprocfamily", "pg_opclass.opcfamily"]),
    (
        "pg_proc",
        &[
            "pg_aggregate.aggfnoid",
            "pg_aggregate.aggtransfn",
            "pg_am.amhandler",
            "pg_amproc.amproc",
            "pg_cast.castfunc",
            "pg_conversion.conproc",
            "pg_operator.oprcode",
            "pg_proc.prosupport",
            "pg_range.rngcanonical",
            "pg_type.typinput",
            "pg_type.typoutput",
            "pg_type.typsubscript",
        ],
    ),
    ("pg_tablespace", &["pg_class.reltablespace", "pg_database.dattablespace"]),
    ("pg_ts_dict", &["pg_ts_config_map.mapdict"]),
    ("pg_ts_parser", &["pg_ts_config.cfgparser"]),
    ("pg_ts_template", &["pg_ts_dict.dicttemplate"]),
    (
        "pg_type",
        &[
            "pg_aggregate.aggtranstype",
            "pg_attribute.atttypid",
            "pg_cast.castsource",
            "pg_cast.casttarget",
            "pg_opclass.opcintype",
            "pg_operator.oprleft",
            "pg_operator.oprresult",
            "pg_operator.oprright",
            "pg_proc.proallargtypes",
            "pg_proc.proargtypes",
            "pg_proc.prorettype",
            "pg_proc.provariadic",
            "pg_range.rngsubtype",
            "pg_range.rngtypid",
            "pg_type.typarray",
            "pg_type.typelem",
        ],
    ),
];

fn ids_in(value: &Value) -> Vec<u32> {
    match value {
        Value::Oid(0) | Value::Null => Vec::new(),
        Value::Oid(id) => vec![*id],
        Value::Array(array) => array.values.iter().flat_map(ids_in).collect(),
        other => panic!("{other:?} is no object id"),
    }
}

fn column(snapshot: Snapshot<'_>, name: &str) -> Vec<Value> {
    let (name, column) = name.split_once('.').unwrap();
    let relation = relation("pg_catalog", name).unwrap();
    let at = relation.column(column).unwrap_or_else(|| panic!("{name} has no column {column}"));
    snapshot.rows(relation, &[at]).unwrap().into_iter().map(|mut row| row.remove(0)).collect()
}

#[tokio::test]
async fn every_object_that_a_column_refers_to_exists() {
    let catalog = user_catalog().await;
    let snapshot = Snapshot { catalog: &catalog, facts: &GivenServer };
    let mut missing = Vec::new();
    for (target, columns) in REFERENCES {
        let objects = column(snapshot, &format!("{target}.oid"));
        let known: HashSet<u32> = objects.iter().map(Value::as_oid).collect();
        assert_eq!(known.len(), objects.len(), "{target} has an id twice");
        for name in *columns {
            let ids = column(snapshot, name).iter().flat_map(ids_in).collect::<Vec<_>>();
            assert!(!ids.is_empty() || *name == "pg_class.reltablespace", "{name} refers to nothing");
            let lost: HashSet<u32> = ids.into_iter().filter(|id| !known.contains(id)).collect();
            missing.extend(lost.into_iter().map(|id| format!("{name} = {id}")));
        }
    }
    missing.sort();
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The objects that `pg_description` comments on, by the relation that has them.
#[tokio::test]
async fn comments_are_on_objects_that_there_are() {
    let catalog = user_catalog().await;
    let snapshot = Snapshot { catalog: &catalog, facts: &GivenServer };
    let (classes, objects) = (column(snapshot, "pg_description.classoid"), column(snapshot, "pg_description.objoid"));
    let mut by_class: HashMap<u32, Vec<u32>> = HashMap::new();
    for (class, object) in classes.iter().zip(&objects) {
        by_class.entry(class.as_oid()).or_default().push(object.as_oid());
    }
    for (class, objects) in by_class {
        let name = relation_by_id(class).unwrap().name;
        let known: HashSet<u32> = column(snapshot, &format!("{name}.oid")).iter().map(Value::as_oid).collect();
        let lost: Vec<&u32> = objects.iter().filter(|id| !known.contains(id)).collect();
        assert!(lost.is_empty(), "{name}: {lost:?}");
    }
}

/// Each relation that exists has a row in `pg_class` and one in `pg_attribute` for each column, and no other relation has.
#[tokio::test]
async fn relations_show_themselves() {
    let catalog = user_catalog().await;
    let snapshot = Snapshot { catalog: &catalog, facts: &GivenServer };
    let ids = column(snapshot, "pg_class.oid");
    let (kinds, widths) = (column(snapshot, "pg_class.relkind"), column(snapshot, "pg_class.relnatts"));
    let mut shown: HashMap<u32, usize> = HashMap::new();
    for ((id, kind), width) in ids.iter().zip(&kinds).zip(&widths) {
        if id.as_oid() < 16_384 && *kind != Value::Char(b'i') {
            shown.insert(id.as_oid(), usize::try_from(width.as_int2()).unwrap());
        }
    }
    assert_eq!(shown, relations().iter().map(|relation| (relation.id, relation.columns.len())).collect());
    let mut columns: HashMap<u32, usize> = HashMap::new();
    for id in column(snapshot, "pg_attribute.attrelid") {
        *columns.entry(id.as_oid()).or_default() += 1;
    }
    for (id, width) in shown {
        assert_eq!(columns[&id], width, "{}", relation_by_id(id).unwrap().name);
    }
}

#[tokio::test]
async fn every_relation_is_found_and_gives_rows_of_its_types() {
    let catalog = user_catalog().await;
    let snapshot = Snapshot { catalog: &catalog, facts: &GivenServer };
    for found in relations() {
        assert_eq!(relation(found.schema, found.name).unwrap().id, found.id);
        assert_eq!(relation_by_id(found.id).unwrap().name, found.name);
        for column in &found.columns {
            assert!(pg_catalog().find_type(column.sql_type.id).is_some(), "{found:?}");
        }
        if found.kind == RelationKind::Rows {
            let all: Vec<usize> = (0..found.columns.len()).collect();
            for row in snapshot.rows(found, &all).unwrap() {
                for (value, column) in row.iter().zip(&found.columns) {
                    assert!(!value.is_null() || column.is_nullable, "{}.{} is null", found.name, column.name);
                    crate::user_tables::shown(value, column);
                }
            }
        }
    }
    assert!(relation("public", "pg_class").is_none() && relation("pg_catalog", "tables").is_none());
}
