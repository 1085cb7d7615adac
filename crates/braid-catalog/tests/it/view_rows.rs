//! Rows of views by their definition (`braid_sql::testing::naive`), over what the relations have of users' tables.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use braid_catalog::object_ids::table_object_id;
use braid_catalog::{RelationColumn, RelationKind, Snapshot, SystemRelation, relation, relation_by_id, relations};
use braid_sql::binder::Statement;
use braid_sql::testing::naive::{TableRows, rows_of};
use braid_sql::{SqlError, Value};
use braid_storage::Catalog;

use crate::given_server::{GivenServer, user_catalog};
use crate::named_session::NamedSession;
use crate::user_tables::{escaped, shown};
use crate::views::{SystemTables, parsed};

/// Relations whose rows about the system are left out, and the column that tells: nested loops over all of them take minutes.
const SHORTENED: &[(&str, &str, u32)] = &[
    ("pg_attribute", "attrelid", 16_384),
    ("pg_class", "oid", 16_384),
    ("pg_constraint", "conrelid", 16_384),
    ("pg_index", "indrelid", 16_384),
    ("pg_rewrite", "oid", u32::MAX),
    ("pg_description", "objoid", u32::MAX),
    ("pg_aggregate", "aggfnoid", u32::MAX),
    ("pg_amop", "oid", u32::MAX),
    ("pg_amproc", "oid", u32::MAX),
    ("pg_cast", "oid", u32::MAX),
    ("pg_conversion", "oid", u32::MAX),
    ("pg_operator", "oid", u32::MAX),
    ("pg_proc", "oid", u32::MAX),
];

/// Views that nested loops evaluate in many seconds.
const SLOW: [&str; 3] = ["column_column_usage", "column_udt_usage", "view_column_usage"];

/// Rows of relations and views, each computed once.
#[derive(Debug)]
pub struct World<'a> {
    snapshot: Snapshot<'a>,
    session: NamedSession,
    known: RefCell<HashMap<u32, Vec<Vec<Value>>>>,
}

impl<'a> World<'a> {
    /// The relations in a state of the database.
    pub fn new(catalog: &'a Arc<Catalog>) -> Self {
        let (snapshot, session) = (Snapshot { catalog, facts: &GivenServer }, NamedSession::of(catalog.clone()));
        Self { snapshot, session, known: RefCell::default() }
    }

    fn rows_of(&self, relation: &SystemRelation) -> Result<Vec<Vec<Value>>, SqlError> {
        let RelationKind::View { text } = &relation.kind else { return Ok(self.stored(relation)) };
        let statement = Statement::new(text, &self.session, &SystemTables);
        let query = statement.binder().whole_query(&parsed(text).unwrap())?;
        rows_of(&query, &statement.into_columns(), (&self.session, &[]), self)
    }

    fn stored(&self, relation: &SystemRelation) -> Vec<Vec<Value>> {
        let all: Vec<usize> = (0..relation.columns.len()).collect();
        let mut rows = self.snapshot.rows(relation, &all).unwrap();
        if let Some((_, column, first)) = SHORTENED.iter().find(|(name, ..)| *name == relation.name) {
            let at = relation.column(column).unwrap();
            rows.retain(|row| row[at].as_oid() >= *first);
        }
        if relation.name == "pg_type" {
            let id = relation.column("oid").unwrap();
            let used = types_of_columns();
            rows.retain(|row| used.contains(&row[id].as_oid()));
        }
        rows
    }
}

/// Types of columns of the tables.
fn types_of_columns() -> Vec<u32> {
    let text = include_str!("../user_tables.tsv").lines().flat_map(|line| line.split('\t'));
    text.filter_map(|field| field.strip_prefix("atttypid=")).map(|id| id.parse().unwrap()).collect()
}

impl TableRows for World<'_> {
    fn rows(&self, table: u64) -> Vec<Vec<Value>> {
        let id = u32::try_from(table).unwrap();
        if let Some(rows) = self.known.borrow().get(&id) {
            return rows.clone();
        }
        let relation = relation_by_id(id).unwrap();
        let rows = self.rows_of(relation).unwrap_or_else(|error| panic!("{}: {error:?}", relation.name));
        self.known.borrow_mut().insert(id, rows.clone());
        rows
    }
}

/// A row as the stored answers have it.
fn line_of(name: &str, columns: &[RelationColumn], row: &[Value]) -> String {
    let mut line = name.to_owned();
    for (column, value) in columns.iter().zip(row) {
        let text = if column.name == "oid" { None } else { shown(value, column) };
        line.extend(text.map(|text| format!("\t{}={}", column.name, escaped(&text))));
    }
    line
}

#[tokio::test]
async fn views_show_users_tables_as_postgresql_does() {
    let catalog = user_catalog().await;
    let world = World::new(&catalog);
    let mut stored: HashMap<&str, Vec<&str>> = HashMap::new();
    for line in include_str!("../user_tables.tsv").lines() {
        stored.entry(line.split('\t').next().unwrap()).or_default().push(line);
    }
    // Names of NOT NULL have the number of their table.
    let table = table_object_id(catalog.table("every_type").unwrap().def.id);
    let numbered = |line: &str| line.replace("=2200_<every_type>_", &format!("=2200_{table}_"));
    let mut compared = 0;
    for (name, mut expected) in stored {
        let (schema, view) = name.split_once('.').unwrap_or(("pg_catalog", name));
        let relation = relation(schema, view).unwrap();
        if relation.kind == RelationKind::Rows {
            continue;
        }
        let rows = world.rows(u64::from(relation.id));
        let mut found: Vec<String> = rows.iter().map(|row| line_of(name, &relation.columns, row)).collect();
        found.sort();
        expected.sort_unstable();
        assert_eq!(found, expected.into_iter().map(numbered).collect::<Vec<_>>());
        compared += 1;
    }
    assert_eq!(compared, 9);
}

#[tokio::test]
async fn every_view_is_evaluated() {
    let catalog = user_catalog().await;
    let world = World::new(&catalog);
    for relation in relations() {
        if relation.kind != RelationKind::Rows && !SLOW.contains(&relation.name) {
            world.rows(u64::from(relation.id));
        }
    }
}
