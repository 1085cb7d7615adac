//! The system relations: their ids, columns and kinds, read from the stored `pg_class`, `pg_attribute` and `pg_rewrite`.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use braid_sql::SqlType;
use braid_sql::pg_catalog::TypeId;

use crate::left_out::{is_left_out, is_listed};
use crate::object_ids::SYSTEM_NAMESPACE_ID;
use crate::stored_rows::{StoredRows, number, text_of};

/// Schema of the catalogs.
const SYSTEM_SCHEMA: &str = "pg_catalog";
/// Schema of the SQL standard's views.
const INFORMATION_SCHEMA: &str = "information_schema";

/// A relation of `pg_catalog` or `information_schema`.
#[derive(Clone, Debug)]
pub struct SystemRelation {
    /// Its object id, which is PostgreSQL's.
    pub id: u32,
    /// Its schema.
    pub schema: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its columns.
    pub columns: Vec<RelationColumn>,
    /// Whether it has rows or a text.
    pub kind: RelationKind,
}

/// A column of a system relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelationColumn {
    /// Its name.
    pub name: &'static str,
    /// Its type. Domains are their base types.
    pub sql_type: SqlType,
    /// Whether it may be null.
    pub is_nullable: bool,
}

/// What a relation is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelationKind {
    /// [`Snapshot::rows`](crate::Snapshot::rows) gives its rows. PostgreSQL's views over functions that list something are among them.
    Rows,
    /// The query that it stands for. Names without schema in it are those of `pg_catalog`.
    View {
        /// The text of the query.
        text: String,
    },
}

/// The relation of this name; `None` if there is none.
pub fn relation(schema: &str, name: &str) -> Option<&'static SystemRelation> {
    let all = all();
    all.by_name.get(&(schema, name)).map(|at| &all.relations[*at])
}

/// The relation with this object id.
pub fn relation_by_id(id: u32) -> Option<&'static SystemRelation> {
    relations().binary_search_by_key(&id, |relation| relation.id).ok().map(|at| &relations()[at])
}

/// All relations, by id.
pub fn relations() -> &'static [SystemRelation] {
    &all().relations
}

impl SystemRelation {
    /// The position of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

struct Relations {
    relations: Vec<SystemRelation>,
    by_name: HashMap<(&'static str, &'static str), usize>,
}

fn all() -> &'static Relations {
    static ALL: OnceLock<Relations> = OnceLock::new();
    ALL.get_or_init(|| {
        let relations = read();
        let named = relations.iter().enumerate().map(|(at, relation)| ((relation.schema, relation.name), at));
        let by_name = named.collect();
        Relations { relations, by_name }
    })
}

fn read() -> Vec<SystemRelation> {
    let mut columns = columns_by_relation();
    let views = StoredRows::of("pg_rewrite").columns(["ev_class", "ev_action"]);
    let mut texts: HashMap<u32, String> = views
        .map(|[id, text]| (number(id), text_of(text).unwrap_or_default().trim_end_matches(';').to_owned()))
        .collect();
    let mut relations = Vec::new();
    for [id, name, namespace, kind] in StoredRows::of("pg_class").columns(["oid", "relname", "relnamespace", "relkind"])
    {
        let (id, namespace): (u32, u32) = (number(id), number(namespace));
        let schema = if namespace == SYSTEM_NAMESPACE_ID { SYSTEM_SCHEMA } else { INFORMATION_SCHEMA };
        if kind == "i" || is_left_out(schema, name) {
            continue;
        }
        let kind = match texts.remove(&id) {
            Some(text) if !is_listed(schema, name) => RelationKind::View { text },
            _ => RelationKind::Rows,
        };
        relations.push(SystemRelation { id, schema, name, columns: columns.remove(&id).unwrap_or_default(), kind });
    }
    relations.sort_by_key(|relation| relation.id);
    relations
}

fn columns_by_relation() -> BTreeMap<u32, Vec<RelationColumn>> {
    let mut columns: BTreeMap<u32, Vec<RelationColumn>> = BTreeMap::new();
    let names = ["attrelid", "attname", "atttypid", "atttypmod", "attnotnull"];
    for [relation, name, id, modifier, is_not_null] in StoredRows::of("pg_attribute").columns(names) {
        let sql_type = SqlType { id: TypeId(number(id)), modifier: number(modifier) };
        columns.entry(number(relation)).or_default().push(RelationColumn {
            name,
            sql_type,
            is_nullable: is_not_null != "t",
        });
    }
    columns
}
