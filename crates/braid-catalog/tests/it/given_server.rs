//! A server and tables for tests.

use std::sync::Arc;

use braid_base::ColumnId;
use braid_catalog::object_ids::BOOTSTRAP_ROLE_ID;
use braid_catalog::{
    Cursor, Database, Lock, LockTarget, PreparedStatement, Role, ServerFacts, ServerView, Session, Setting,
};
use braid_io::{Backend, DeviceOptions, open_device};
use braid_sql::SearchPath;
use braid_storage::{Catalog, ColumnChange, ColumnDef, ColumnType, NewTable, Store, StoreOptions};

/// A server with one role, one setting and one session, as a new cluster of PostgreSQL has them.
#[derive(Debug)]
pub struct GivenServer;

impl ServerFacts for GivenServer {
    fn database(&self) -> Database {
        Database { id: 5, name: "postgres".to_owned() }
    }

    fn search_path(&self) -> SearchPath {
        SearchPath::default()
    }

    fn checkpoint_count(&self) -> u64 {
        0
    }

    fn started_us(&self) -> i64 {
        0
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role { id: BOOTSTRAP_ROLE_ID, name: "postgres".to_owned(), is_superuser: true }]
    }

    fn settings(&self) -> Vec<Setting> {
        vec![Setting {
            name: "work_mem".to_owned(),
            value: "4096".to_owned(),
            unit: Some("kB"),
            category: "Resource Usage / Memory",
            description: "Memory of a query.",
            context: "user",
            value_type: "integer",
            bounds: Some(("64".to_owned(), "2147483647".to_owned())),
            enum_values: None,
            source: "default",
            boot_value: Some("4096".to_owned()),
            reset_value: Some("4096".to_owned()),
        }]
    }

    fn views(&self) -> Vec<ServerView> {
        Vec::new()
    }

    fn cursors(&self) -> Vec<Cursor> {
        vec![Cursor {
            name: "c".to_owned(),
            text: "declare c cursor for select 1".to_owned(),
            is_holdable: false,
            is_binary: true,
            is_scrollable: false,
            opened_us: 1_700_000_000_000_002,
        }]
    }

    fn locks(&self) -> Vec<Lock> {
        let targets = [
            LockTarget::Transaction(9),
            LockTarget::Relation(1259),
            LockTarget::Advisory { upper: 1, lower: 2, is_pair: true },
        ];
        let lock = |target| Lock { target, session: 7, mode: "ExclusiveLock", is_granted: true, is_fast: false };
        targets.map(lock).into()
    }

    fn prepared_statements(&self) -> Vec<PreparedStatement> {
        Vec::new()
    }

    fn sessions(&self) -> Vec<Session> {
        vec![Session {
            id: 7,
            role_id: BOOTSTRAP_ROLE_ID,
            role_name: "postgres".to_owned(),
            application_name: "psql".to_owned(),
            client_port: Some(-1),
            encryption: None,
            started_us: 1_700_000_000_000_000,
            transaction_started_us: None,
            query_started_us: Some(1_700_000_000_000_001),
            state_changed_us: None,
            wait: Some(("Lock", "advisory")),
            state: "active",
            query: Some("SELECT 1".to_owned()),
            is_hidden: false,
        }]
    }
}

/// The tables of `tests/user_tables.sql`.
fn user_tables() -> Vec<NewTable> {
    let column = |name: &str, column_type, nullable, default: Option<&str>| ColumnDef {
        nullable,
        default: default.map(str::to_owned),
        ..ColumnDef::new(name, column_type)
    };
    let wide = ColumnType::Numeric { precision: 38, scale: 10 };
    let columns = vec![
        column("a_boolean", ColumnType::Boolean, true, None),
        column("a_smallint", ColumnType::SmallInt, true, None),
        column("an_integer", ColumnType::Integer, false, Some("7")),
        column("a_bigint", ColumnType::BigInt, true, None),
        column("a_real", ColumnType::Real, true, None),
        column("a_double", ColumnType::Double, true, None),
        column("a_numeric", ColumnType::Numeric { precision: 12, scale: 2 }, true, Some("0.5")),
        column("a_wide", wide, true, None),
        column("a_text", ColumnType::Text, true, Some("'x'::text")),
        column("a_varchar", ColumnType::Varchar(10), false, None),
        column("a_char", ColumnType::Char(3), true, None),
        column("a_date", ColumnType::Date, true, None),
        column("a_timestamp", ColumnType::Timestamp, true, None),
        column("a_timestamptz", ColumnType::TimestampTz, true, None),
        column("an_interval", ColumnType::Interval, true, None),
        column("a_bytea", ColumnType::Bytea, true, None),
        column("a_uuid", ColumnType::Uuid, true, None),
    ];
    let unkeyed = vec![column("a", ColumnType::Integer, true, None)];
    vec![
        NewTable { name: "every_type".to_owned(), columns, primary_key: vec![ColumnId(9), ColumnId(2)] },
        NewTable { name: "unkeyed".to_owned(), columns: unkeyed, primary_key: Vec::new() },
    ]
}

/// A catalog with the tables of `tests/user_tables.sql`.
pub async fn user_catalog() -> Arc<Catalog> {
    catalog_of(user_tables()).await
}

/// A catalog with these tables. Their files are gone, and nothing reads them.
pub async fn catalog_of(tables: Vec<NewTable>) -> Arc<Catalog> {
    catalog_after(tables, &[]).await
}

/// The same after changes of the columns of tables.
pub async fn catalog_after(tables: Vec<NewTable>, changes: &[(&str, ColumnChange)]) -> Arc<Catalog> {
    let directory = tempfile::tempdir().unwrap();
    let options = DeviceOptions { backend: Backend::Threads, direct: false, queue_depth_max: 8, threads: 2 };
    let device = open_device(directory.path(), &options).unwrap();
    let store = Store::open(directory.path(), StoreOptions { device, encode_threads: 1 }).unwrap();
    for table in tables {
        store.create_table(table).await.unwrap();
    }
    for (table, change) in changes {
        store.change_columns(table, change.clone()).await.unwrap();
    }
    store.snapshot()
}
