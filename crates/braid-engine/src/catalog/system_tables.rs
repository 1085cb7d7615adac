//! Schema `pg_catalog`: datafusion-pg-catalog's tables, some of them replaced by our own, and our views ([`super::system_views`]).
//!
//! `pg_class`, `pg_attribute`, `pg_attrdef` and `pg_namespace` are our own. They have the lengths of `varchar(n)`, the
//! defaults, the row counts, and object ids computed from the tables' ids, which are the same in every session and after
//! every restart. They have the columns of the tables that they replace.

use std::fmt;
use std::sync::Arc;

use arrow::array::new_empty_array;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use async_trait::async_trait;
use braid_storage::{ColumnType, Store, TableVersion};
use datafusion::catalog::{MemTable, SchemaProvider, TableProvider};
use datafusion::common::{Result, ScalarValue};
use datafusion_pg_catalog::pg_catalog::PG_CATALOG_TABLES;

use super::object_ids::{NAMESPACES, SYSTEM_NAMESPACE_ID, USER_NAMESPACE_ID, system_table_id, table_object_id};
use super::system_views::{SystemView, ViewTable};

/// An additional column of `pg_attribute`: the text of the default, for [`super::system_queries`].
pub(super) const ATTRIBUTE_DEFAULT: &str = "attdefault";

/// Rows per page, for the number of pages of a table. It is an estimate, like PostgreSQL's between two ANALYZEs.
const ROWS_PER_PAGE: u64 = 100;

/// Schema `pg_catalog`.
pub(crate) struct SystemTables {
    inner: Arc<dyn SchemaProvider>,
    store: Arc<Store>,
    views: Vec<Arc<dyn SystemView>>,
}

/// A row: values by column name. Other columns are null if nullable, otherwise zero, false or empty.
type Row = Vec<(&'static str, ScalarValue)>;

impl SystemTables {
    /// The schema with our tables in place of `inner`'s, and with our views.
    pub fn new(inner: Arc<dyn SchemaProvider>, store: Arc<Store>, views: Vec<Arc<dyn SystemView>>) -> Arc<Self> {
        Arc::new(Self { inner, store, views })
    }

    fn view(&self, name: &str) -> Option<&Arc<dyn SystemView>> {
        self.views.iter().find(|view| view.name() == name)
    }

    fn classes(&self) -> Vec<Row> {
        let snapshot = self.store.snapshot();
        let mut rows: Vec<Row> = snapshot.tables().map(|table| class_of(table)).collect();
        rows.extend(PG_CATALOG_TABLES.iter().map(|name| system_class(name, "r")));
        rows.extend(self.views.iter().map(|view| system_class(view.name(), "v")));
        rows
    }

    async fn attributes(&self) -> Result<Vec<Row>> {
        let snapshot = self.store.snapshot();
        let mut rows = Vec::new();
        for table in snapshot.tables() {
            for (at, column) in table.def.columns.iter().enumerate() {
                let mut row = attribute(table_object_id(table.def.id), at, &column.name, column.column_type);
                row.push(("attnotnull", ScalarValue::from(!column.nullable)));
                row.push(("atthasdef", ScalarValue::from(column.default.is_some())));
                row.push((ATTRIBUTE_DEFAULT, ScalarValue::Utf8(column.default.clone())));
                rows.push(row);
            }
        }
        for name in PG_CATALOG_TABLES {
            let Some(table) = self.inner.table(name).await? else { continue };
            rows.extend(system_attributes(name, &table.schema()));
        }
        rows.extend(self.views.iter().flat_map(|view| system_attributes(view.name(), &view.schema())));
        Ok(rows)
    }

    fn defaults(&self) -> Vec<Row> {
        let snapshot = self.store.snapshot();
        let mut rows = Vec::new();
        for table in snapshot.tables() {
            for (at, column) in table.def.columns.iter().enumerate() {
                if let Some(default) = &column.default {
                    let relation = table_object_id(table.def.id);
                    rows.push(vec![
                        ("oid", int(relation)),
                        ("adrelid", int(relation)),
                        ("adnum", int(at as i32 + 1)),
                        ("adbin", text(default)),
                    ]);
                }
            }
        }
        rows
    }

    fn namespaces() -> Vec<Row> {
        NAMESPACES.iter().map(|(name, id)| vec![("oid", int(*id)), ("nspname", text(name))]).collect()
    }
}

impl fmt::Debug for SystemTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemTables").finish_non_exhaustive()
    }
}

#[async_trait]
impl SchemaProvider for SystemTables {
    fn table_names(&self) -> Vec<String> {
        let views = self.views.iter().map(|view| view.name().to_owned());
        self.inner.table_names().into_iter().chain(views).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if let Some(view) = self.view(name) {
            return Ok(Some(Arc::new(ViewTable::new(view.clone()))));
        }
        let Some(theirs) = self.inner.table(name).await? else { return Ok(None) };
        let rows = match name {
            "pg_class" => self.classes(),
            "pg_attribute" => self.attributes().await?,
            "pg_attrdef" => self.defaults(),
            "pg_namespace" => Self::namespaces(),
            _ => return Ok(Some(theirs)),
        };
        let mut schema = theirs.schema();
        if name == "pg_attribute" {
            let mut fields = schema.fields().to_vec();
            fields.push(Arc::new(Field::new(ATTRIBUTE_DEFAULT, DataType::Utf8, true)));
            schema = Arc::new(Schema::new(fields));
        }
        let batch = batch_of(&schema, &rows)?;
        Ok(Some(Arc::new(MemTable::try_new(schema, vec![vec![batch]])?)))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.view(name).is_some() || self.inner.table_exist(name)
    }
}

fn class_of(table: &TableVersion) -> Row {
    let row_count = table.row_count();
    let pages = i32::try_from(row_count.div_ceil(ROWS_PER_PAGE)).unwrap_or(i32::MAX);
    vec![
        ("oid", int(table_object_id(table.def.id))),
        ("relname", text(&table.def.name)),
        ("relnamespace", int(USER_NAMESPACE_ID)),
        ("reloftype", int(0)),
        ("relfilenode", int(table_object_id(table.def.id))),
        ("relpages", int(pages)),
        ("reltuples", ScalarValue::from(row_count as f64)),
        ("relkind", text("r")),
        ("relpersistence", text("p")),
        ("relreplident", text("d")),
        ("relnatts", int(table.def.columns.len() as i32)),
        ("relispopulated", ScalarValue::from(true)),
    ]
}

/// The row in `pg_class` of a system table or view.
fn system_class(name: &str, kind: &str) -> Row {
    vec![
        ("oid", int(system_table_id(name))),
        ("relname", text(name)),
        ("relnamespace", int(SYSTEM_NAMESPACE_ID)),
        ("relkind", text(kind)),
        ("relpersistence", text("p")),
        ("relispopulated", ScalarValue::from(true)),
    ]
}

/// The rows in `pg_attribute` of a system table or view.
fn system_attributes(name: &str, schema: &SchemaRef) -> Vec<Row> {
    let row = |(at, field): (usize, &FieldRef)| {
        let column_type = crate::sql_types::column_type_of_arrow(field.data_type()).unwrap_or(ColumnType::Text);
        attribute(system_table_id(name), at, field.name(), column_type)
    };
    schema.fields().iter().enumerate().map(row).collect()
}

fn attribute(relation: i32, at: usize, name: &str, column_type: ColumnType) -> Row {
    let (type_id, length, modifier) = postgresql_type(column_type);
    vec![
        ("attrelid", int(relation)),
        ("attname", text(name)),
        ("atttypid", int(type_id)),
        ("attlen", int(length)),
        ("attnum", int(at as i32 + 1)),
        ("atttypmod", int(modifier)),
        ("attstattarget", int(-1)),
        ("attcacheoff", int(-1)),
        ("attbyval", ScalarValue::from(length > 0)),
        ("attstorage", text(if length > 0 { "p" } else { "x" })),
        ("attalign", text("i")),
        ("attislocal", ScalarValue::from(true)),
    ]
}

/// PostgreSQL's object id, length (-1: it varies) and modifier (-1: none) of a type.
fn postgresql_type(column_type: ColumnType) -> (i32, i32, i32) {
    match column_type {
        ColumnType::Boolean => (16, 1, -1),
        ColumnType::Bytea => (17, -1, -1),
        ColumnType::BigInt => (20, 8, -1),
        ColumnType::SmallInt => (21, 2, -1),
        ColumnType::Integer => (23, 4, -1),
        ColumnType::Text => (25, -1, -1),
        ColumnType::Real => (700, 4, -1),
        ColumnType::Double => (701, 8, -1),
        ColumnType::Char(length) => (1042, -1, modifier_of(length)),
        ColumnType::Varchar(length) => (1043, -1, modifier_of(length)),
        ColumnType::Date => (1082, 4, -1),
        ColumnType::Timestamp => (1114, 8, -1),
        ColumnType::TimestampTz => (1184, 8, -1),
        ColumnType::Interval => (1186, 16, -1),
        ColumnType::Numeric { precision, scale } => {
            (1700, -1, (i32::from(precision) << 16 | i32::from(scale)) + MODIFIER_BASE)
        }
        ColumnType::Uuid => (2950, 16, -1),
    }
}

/// PostgreSQL's VARHDRSZ: modifiers of types of varying length begin there.
const MODIFIER_BASE: i32 = 4;

fn modifier_of(length: u32) -> i32 {
    i32::try_from(length).map_or(i32::MAX, |length| length.saturating_add(MODIFIER_BASE))
}

fn batch_of(schema: &SchemaRef, rows: &[Row]) -> Result<RecordBatch> {
    let columns = schema.fields().iter().map(|field| {
        if rows.is_empty() {
            return Ok(new_empty_array(field.data_type()));
        }
        let values = rows.iter().map(|row| {
            let given = row.iter().find(|(name, _)| name == field.name());
            match given {
                Some((_, value)) => value.cast_to(field.data_type()),
                None if field.is_nullable() => ScalarValue::try_from(field.data_type()),
                None => zero_of(field.data_type()),
            }
        });
        ScalarValue::iter_to_array(values.collect::<Result<Vec<_>>>()?)
    });
    Ok(RecordBatch::try_new(schema.clone(), columns.collect::<Result<Vec<_>>>()?)?)
}

fn zero_of(data_type: &DataType) -> Result<ScalarValue> {
    match data_type {
        DataType::Utf8 => Ok(text("")),
        DataType::Boolean => Ok(ScalarValue::from(false)),
        other => ScalarValue::new_zero(other),
    }
}

fn int(value: i32) -> ScalarValue {
    ScalarValue::from(value)
}

fn text(value: &str) -> ScalarValue {
    ScalarValue::from(value)
}
