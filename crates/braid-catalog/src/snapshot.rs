//! The rows of a system relation in one state of the database.

use std::collections::HashSet;
use std::sync::OnceLock;

use braid_base::SchemaId;
use braid_sql::{SqlError, Value};
use braid_storage::{Catalog, CommentSubject};

use crate::named_row::values_of;
use crate::object_ids::{BOOTSTRAP_ROLE_ID, PUBLIC_NAMESPACE_ID};
use crate::relations::{RelationKind, SystemRelation, relations};
use crate::server_facts::ServerFacts;
use crate::sources::{self, has_changed_public};
use crate::stored_rows::{StoredRows, number, stored_rows};
use crate::stored_values::value_of_field;

/// One state of the database, with what the server tells.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// The tables of users.
    pub catalog: &'a Catalog,
    /// The server.
    pub facts: &'a dyn ServerFacts,
}

impl Snapshot<'_> {
    /// The rows of a relation, each with the values of these columns. A relation that Braid has nothing to say of has no rows.
    ///
    /// # Errors
    /// For a value that Braid cannot represent.
    ///
    /// # Panics
    /// For a view that is a query, which the caller binds.
    pub fn rows(&self, relation: &SystemRelation, columns: &[usize]) -> Result<Vec<Vec<Value>>, SqlError> {
        assert_eq!(relation.kind, RelationKind::Rows, "{} is a query", relation.name);
        let mut rows = Vec::new();
        if relation.schema == "pg_catalog" {
            if let Some(stored) = stored_rows(relation.name) {
                self.read_stored(stored, relation, columns, &mut rows)?;
            }
            for row in sources::rows(relation.name, self.catalog, self.facts) {
                rows.push(values_of(&row, relation, columns)?);
            }
        }
        Ok(rows)
    }

    fn read_stored(
        &self,
        stored: StoredRows,
        relation: &SystemRelation,
        columns: &[usize],
        rows: &mut Vec<Vec<Value>>,
    ) -> Result<(), SqlError> {
        let owner = self.facts.roles().into_iter().find(|role| role.id == BOOTSTRAP_ROLE_ID);
        let owner = owner.map_or_else(String::new, |role| role.name);
        let hidden = hidden_rows(relation.name, self.catalog).map(|(column, ids)| (stored.position(column), ids));
        for fields in stored.rows() {
            if hidden.as_ref().is_some_and(|(at, ids)| ids.contains(&number(fields[*at]))) {
                continue;
            }
            let value = |at: &usize| value_of_field(relation.columns[*at].sql_type.id, fields[*at], &owner);
            rows.push(columns.iter().map(value).collect::<Result<_, _>>()?);
        }
        Ok(())
    }
}

/// Stored rows that are not shown: those with one of these ids in this column. They are about relations that are left out, the role
/// that the server tells of, and schema `public` if it is dropped, or has another comment, owner or privileges.
fn hidden_rows(relation: &str, catalog: &Catalog) -> Option<(&'static str, HashSet<u32>)> {
    let column = match relation {
        "pg_authid" => return Some(("oid", HashSet::from([BOOTSTRAP_ROLE_ID]))),
        "pg_namespace" if has_changed_public(catalog) => {
            return Some(("oid", HashSet::from([PUBLIC_NAMESPACE_ID])));
        }
        "pg_description" => {
            let is_commented = catalog.comment_on(&CommentSubject::Schema(SchemaId::PUBLIC)).is_some();
            if !is_commented && !catalog.is_public_dropped() {
                return None;
            }
            return Some(("objoid", HashSet::from([PUBLIC_NAMESPACE_ID])));
        }
        "pg_class" => "oid",
        "pg_attribute" => "attrelid",
        "pg_constraint" => "conrelid",
        "pg_index" => "indrelid",
        "pg_rewrite" => "ev_class",
        _ => return None,
    };
    Some((column, left_out_ids().clone()))
}

/// The ids of relations that are left out, and of their indexes.
fn left_out_ids() -> &'static HashSet<u32> {
    static IDS: OnceLock<HashSet<u32>> = OnceLock::new();
    IDS.get_or_init(|| {
        let shown: HashSet<u32> = relations().iter().map(|relation| relation.id).collect();
        let all = StoredRows::of("pg_class").columns(["oid", "relkind"]);
        let mut ids: HashSet<u32> =
            all.filter(|[_, kind]| *kind != "i").map(|[id, _]| number(id)).filter(|id| !shown.contains(id)).collect();
        let indexes = StoredRows::of("pg_index").columns(["indexrelid", "indrelid"]);
        let indexes: Vec<u32> =
            indexes.filter(|[_, table]| ids.contains(&number(table))).map(|[index, _]| number(index)).collect();
        ids.extend(indexes);
        ids
    })
}
