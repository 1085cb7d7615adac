//! Rows about tables of users against what PostgreSQL says of the same tables (`bench/peers/user_table_catalog.py`).

use std::collections::HashMap;

use braid_base::{ColumnId, TableId};
use braid_catalog::object_ids::{default_id, key_constraint_id, key_index_id, table_object_id, table_of_object_id};
use braid_catalog::{RelationColumn, Snapshot, SystemRelation, relation};
use braid_sql::pg_catalog::TypeId;
use braid_sql::testing::FixedSession;
use braid_sql::{Evaluation, Value};
use braid_storage::{ColumnChange, ColumnDef, ColumnType, NewTable};

use crate::given_server::{GivenServer, catalog_after, catalog_of, user_catalog};

/// The columns that PostgreSQL's answers are without.
const LEFT_OUT: &[&str] = &[
    "oid",
    "relallvisible",
    "relfilenode",
    "relfrozenxid",
    "relminmxid",
    "relpages",
    "reltoastrelid",
    "reltuples",
    "reltype",
];

/// For each relation, the column that says whether a row is about users' objects, and the columns shown by name.
const RELATIONS: &[(&str, &str, &[&str])] = &[
    ("pg_class", "oid", &[]),
    ("pg_attribute", "attrelid", &["attrelid"]),
    ("pg_attrdef", "adrelid", &["adrelid"]),
    ("pg_constraint", "conrelid", &["conrelid", "conindid"]),
    ("pg_index", "indrelid", &["indrelid", "indexrelid"]),
];

/// A value as PostgreSQL's cast to text shows it; `None` for null.
pub fn shown(value: &Value, column: &RelationColumn) -> Option<String> {
    match (value, column.sql_type.id) {
        (Value::Null, _) => None,
        (Value::Bool(value), _) => Some(value.to_string()),
        (Value::Text(text), TypeId(194)) => Some(text.to_string()),
        (Value::Array(items), TypeId(1034)) => {
            let items: Vec<&str> = items.values.iter().map(Value::as_text).collect();
            Some(format!("{{{}}}", items.join(",")))
        }
        (Value::Oid(number), TypeId(28)) => Some(number.to_string()),
        _ => Evaluation::new(&FixedSession, &[]).text(value, column.sql_type).unwrap(),
    }
}

/// A text with backslash, tab and newline escaped.
pub fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n")
}

fn all_rows(snapshot: Snapshot<'_>, relation: &SystemRelation) -> Vec<Vec<Value>> {
    let all: Vec<usize> = (0..relation.columns.len()).collect();
    snapshot.rows(relation, &all).unwrap()
}

/// The names of users' tables and indexes by their ids.
fn names(snapshot: Snapshot<'_>) -> HashMap<u32, String> {
    let classes = relation("pg_catalog", "pg_class").unwrap();
    let columns = [classes.column("oid").unwrap(), classes.column("relname").unwrap()];
    let rows = snapshot.rows(classes, &columns).unwrap();
    let named = rows.iter().map(|row| (row[0].as_oid(), row[1].as_text().to_owned()));
    named.filter(|(id, _)| *id >= 16_384).collect()
}

fn line_of(relation: &SystemRelation, row: &[Value], by_name: &[&str], names: &HashMap<u32, String>) -> String {
    let mut line = relation.name.to_owned();
    for (column, value) in relation.columns.iter().zip(row) {
        let text = match value {
            Value::Oid(id) if by_name.contains(&column.name) => Some(format!("<{}>", names[id])),
            _ if LEFT_OUT.contains(&column.name) => None,
            _ => shown(value, column),
        };
        if let Some(text) = text {
            line.push_str(&format!("\t{}={}", column.name, escaped(&text)));
        }
    }
    line
}

#[tokio::test]
async fn rows_about_users_tables_are_postgresqls() {
    let catalog = user_catalog().await;
    let snapshot = Snapshot { catalog: &catalog, facts: &GivenServer };
    let names = names(snapshot);
    let mut found = Vec::new();
    for (name, owner, by_name) in RELATIONS {
        let relation = relation("pg_catalog", name).unwrap();
        let owner = relation.column(owner).unwrap();
        let rows = all_rows(snapshot, relation);
        let of_users = rows.iter().filter(|row| names.contains_key(&row[owner].as_oid()));
        found.extend(of_users.map(|row| line_of(relation, row, by_name, &names)));
    }
    let stored = include_str!("../user_tables.tsv").lines();
    let is_compared = |line: &&str| RELATIONS.iter().any(|(name, ..)| line.starts_with(&format!("{name}\t")));
    let mut expected: Vec<&str> = stored.filter(is_compared).collect();
    expected.sort_unstable();
    found.sort_unstable();
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
}

#[tokio::test]
async fn only_the_columns_asked_for_are_given_in_their_order() {
    let catalog = user_catalog().await;
    let snapshot = Snapshot { catalog: &catalog, facts: &GivenServer };
    for name in
        ["pg_class", "pg_type", "pg_settings", "pg_database", "pg_stat_activity", "pg_authid", "pg_locks", "pg_cursors"]
    {
        let relation = relation("pg_catalog", name).unwrap();
        let all = all_rows(snapshot, relation);
        assert!(!all.is_empty(), "{name}");
        let columns = [3, 0];
        let some = snapshot.rows(relation, &columns).unwrap();
        let expected: Vec<Vec<Value>> = all.iter().map(|row| vec![row[3].clone(), row[0].clone()]).collect();
        assert_eq!(some, expected, "{name}");
        assert_eq!(snapshot.rows(relation, &[]).unwrap(), vec![Vec::new(); all.len()], "{name}");
    }
}

#[tokio::test]
async fn a_key_has_another_name_than_all_tables() {
    let table = |name: &str, is_keyed: bool| NewTable {
        name: name.to_owned(),
        columns: vec![ColumnDef { nullable: !is_keyed, ..ColumnDef::new("a", ColumnType::Integer) }],
        primary_key: if is_keyed { vec![ColumnId(0)] } else { Vec::new() },
    };
    let long = "ä".repeat(31);
    let catalog = catalog_of(vec![table("t", true), table("t_pkey", false), table(&long, true)]).await;
    let names = names(Snapshot { catalog: &catalog, facts: &GivenServer });
    let ids: Vec<TableId> = ["t", &long].map(|name| catalog.table(name).unwrap().def.id).to_vec();
    assert_eq!(names[&key_index_id(ids[0])], "t_pkey1");
    // 58 bytes are left for the table's name.
    assert_eq!(names[&key_index_id(ids[1])], format!("{}_pkey", "ä".repeat(29)));
    assert_eq!(names[&table_object_id(ids[0])], "t");
    assert_eq!(table_of_object_id(key_constraint_id(ids[0])), None);
    assert_ne!(default_id(ids[0], 0), default_id(ids[1], 0));
}

#[tokio::test]
async fn columns_keep_their_numbers_when_others_are_dropped() {
    let column = |name: &str| ColumnDef::new(name, ColumnType::Integer);
    let with_default = |name: &str| ColumnDef { default: Some("1".to_owned()), ..column(name) };
    let columns = vec![column("a"), with_default("b"), column("c")];
    let table = NewTable { name: "t".to_owned(), columns, primary_key: vec![ColumnId(2)] };
    let changes = [("t", ColumnChange::Drop("a".to_owned())), ("t", ColumnChange::Add(with_default("d")))];
    let catalog = catalog_after(vec![table], &changes).await;
    let snapshot = Snapshot { catalog: &catalog, facts: &GivenServer };
    let table = table_object_id(catalog.table("t").unwrap().def.id).to_string();
    // The values of a column in the rows of a relation that are about the table.
    let of_table = |name: &str, key: &str, column: &str| {
        let relation = relation("pg_catalog", name).unwrap();
        let columns = [key, column].map(|column| relation.column(column).unwrap());
        let rows = snapshot.rows(relation, &columns).unwrap();
        let text = |row: &[Value], at: usize| shown(&row[at], &relation.columns[columns[at]]).unwrap_or_default();
        let own = rows.iter().filter(|row| text(row, 0) == table);
        own.map(|row| text(row, 1)).collect::<Vec<String>>()
    };
    assert_eq!(of_table("pg_attribute", "attrelid", "attname"), ["b", "c", "d"]);
    assert_eq!(of_table("pg_attribute", "attrelid", "attnum"), ["2", "3", "4"]);
    assert_eq!(of_table("pg_attrdef", "adrelid", "adnum"), ["2", "4"]);
    assert_eq!(of_table("pg_constraint", "conrelid", "conkey"), ["{3}"]);
    assert_eq!(of_table("pg_index", "indrelid", "indkey"), ["3"]);
}
