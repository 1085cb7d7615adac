//! What the binder asks about tables.

use std::fmt;
use std::sync::Arc;

use braid_base::DomainTypeId;
use sqlparser::ast::Query;

use crate::input::time_zones::TimeZone;
use crate::{SqlError, SqlType};

/// A schema that no text can name: the table of a name in it is one that a statement changes, with its rows' identities.
pub const CHANGED_TABLE_SCHEMA: &str = "\0changed";

/// The schema of a table whose rows are changed: [`CHANGED_TABLE_SCHEMA`] and the number of its own.
pub fn changed_table_schema(schema: u32) -> String {
    format!("{CHANGED_TABLE_SCHEMA}{schema}")
}

/// A schema that no text can name: the table of a name in it is one whose rows a query locks, with their identities.
pub const LOCKED_TABLE_SCHEMA: &str = "\0locked";

/// The schema of a table whose rows are locked: [`LOCKED_TABLE_SCHEMA`], the number of its own, and that of the item of FROM.
pub fn locked_table_schema(schema: u32, item: usize) -> String {
    format!("{LOCKED_TABLE_SCHEMA}{schema} {item}")
}

/// The number of the schema of a table whose rows are changed or locked; `None` for other schemas.
pub fn schema_of_identified_table(schema: &str) -> Option<u32> {
    let locked = || schema.strip_prefix(LOCKED_TABLE_SCHEMA)?.split(' ').next();
    schema.strip_prefix(CHANGED_TABLE_SCHEMA).or_else(locked)?.parse().ok()
}

/// The name of the identities of a table's rows: [`ROW_IDS`], or that of an item of FROM whose rows are locked.
pub fn row_ids_name(schema: &str) -> String {
    let item = schema.strip_prefix(LOCKED_TABLE_SCHEMA).and_then(|rest| rest.split_once(' '));
    item.map_or_else(|| ROW_IDS.to_owned(), |(_, item)| format!("{ROW_IDS} {item}"))
}

/// The relation, and its only column, that has the identities of the changed table's rows. `*` and names of tables do not reach them.
pub const ROW_IDS: &str = "\0row";

/// The column that pairs the rows that ON CONFLICT DO UPDATE changes with those that were proposed.
pub const PAIR_NUMBERS: &str = "\0number";

/// What the name of an item of FROM begins with whose only row has new values of the rows that a statement changes: `SET (a, b) = (SELECT …)`.
/// Without a row the values are null, and a second row is an error. No text can name it.
pub const VALUE_SOURCE: &str = "\0values";

/// The name of an item of FROM, and of its only column, that is an expression over the rows which the items before it and WHERE leave. It is
/// computed once for each row. No text can name it.
pub const COMPUTED: &str = "\0computed";

/// The number of the table that has the rows of a statement with RETURNING: the columns of its target, then further ones. No table has it.
pub const RETURNED_ROWS: u64 = u64::MAX;

/// What follows the numbers of tables that have the rows of a statement's common tables.
pub const COMMON_ROWS_END: u64 = RETURNED_ROWS;

/// Most such tables.
const COMMON_ROWS_MAX: u64 = 1 << 16;

/// The number of the table that has the rows of a common table, which was computed before it is read.
pub fn common_rows(at: usize) -> u64 {
    assert!((at as u64) < COMMON_ROWS_MAX, "a statement has fewer common tables");
    COMMON_ROWS_END - 1 - at as u64
}

/// Whether a table has the rows of a common table.
pub fn is_common_rows(table: u64) -> bool {
    (COMMON_ROWS_END - COMMON_ROWS_MAX..COMMON_ROWS_END).contains(&table)
}

/// The tables of a database.
pub trait Tables: fmt::Debug {
    /// The table of this name; `None` if there is none. Names without a schema are looked for in the schemas of the
    /// [`SearchPath`](crate::SearchPath), in order.
    fn table(&self, schema: Option<&str>, name: &str) -> Result<Option<Arc<TableEntry>>, SqlError>;

    /// The query that a table of this number stands for, if it is a view. Its columns are those of the query, in order.
    fn view(&self, _table: u64) -> Option<View> {
        None
    }

    /// The columns that a name of a table means, if they are not all columns of the table in their order: those that it had when the name
    /// was written.
    fn columns_of_name(&self, _schema: Option<&str>, _name: &str) -> Option<Vec<NamedColumn>> {
        None
    }
}

/// The query of a view.
#[derive(Clone, Debug)]
pub struct View {
    /// Its text.
    pub text: Arc<str>,
    /// Where a user's view was written. The names in a view of the system are those of its schema.
    pub origin: Option<ViewOrigin>,
}

/// Where and when the text of a view was written.
#[derive(Clone, Debug)]
pub struct ViewOrigin {
    /// What its names mean.
    pub tables: Arc<dyn Tables>,
    /// The zone in which its literals are read.
    pub zone: TimeZone,
    /// Its name.
    pub zone_name: String,
    /// The time at which they are read, in microseconds since 1970-01-01 UTC.
    pub read_at_us: i64,
    /// What is done to its syntax before it is bound.
    pub prepare: fn(&mut Query),
}

/// A column of a table under another name.
#[derive(Clone, Debug)]
pub struct NamedColumn {
    /// Its name.
    pub name: String,
    /// Its position in the table; `None` for one that is gone, and that nothing reads.
    pub position: Option<usize>,
}

impl View {
    /// A view of the system.
    pub fn of_system(text: &str) -> Self {
        Self { text: text.into(), origin: None }
    }
}

/// A table.
#[derive(Clone, Debug)]
pub struct TableEntry {
    /// The number by which the caller knows it.
    pub id: u64,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<TableColumn>,
    /// The positions of the primary key's columns; none without one.
    pub primary_key: Vec<usize>,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct TableColumn {
    /// Its name.
    pub name: String,
    /// Its type: that of the values.
    pub sql_type: SqlType,
    /// The domain that it is declared with.
    pub domain: Option<DomainTypeId>,
}

impl TableColumn {
    /// A column that is declared with this type.
    pub fn new(name: impl Into<String>, sql_type: SqlType) -> Self {
        Self { name: name.into(), sql_type: sql_type.base(), domain: sql_type.id.domain() }
    }
}

/// No tables at all.
#[derive(Clone, Copy, Debug)]
pub struct NoTables;

impl Tables for NoTables {
    fn table(&self, _schema: Option<&str>, _name: &str) -> Result<Option<Arc<TableEntry>>, SqlError> {
        Ok(None)
    }
}
