//! The tables of a statement's snapshot, as the binder looks them up and as operators read them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use braid_base::{ColumnId, SchemaId, TableId};
use braid_buffer::BufferManager;
use braid_catalog::Snapshot;
use braid_catalog::left_out::reason;
use braid_exec::runtime::pipeline::Source;
use braid_exec::scan::table_sample::TableSample;
use braid_exec::scan::table_source::TableSource;
use braid_plan::lowering::StoredTables;
use braid_plan::values::Form;
use braid_scan::ScanSpec;
use braid_sql::binder::Referenced;
use braid_sql::tables::{TableColumn, TableEntry, Tables, View};
use braid_sql::{SqlError, SqlState, Value};
use braid_storage::{Catalog, ColumnDef, ColumnType, TableDef};
use parking_lot::Mutex;

use super::computed_tables;
use super::server_facts::StatementServer;
use super::statement_tables::StatementTables;
use super::view_tables::{REFRESHED_SCHEMA, check_populated, entry_of_refreshed, entry_of_view, refreshed_view};
use braid_sql::tables::{RETURNED_ROWS, schema_of_identified_table};

use crate::access::ReadRelation;
use crate::error_mapping::sql_error;
use crate::rows::KeptTable;
use crate::session_locks::LockMode;
use crate::statement_context::StatementContext;
use braid_catalog::column_types::{declared_type, sql_type_of};

/// What becomes of the table that a statement changes where it is asked what its query reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangedTable {
    /// It is read like any other.
    Read,
    /// It is left out: the query reads its columns to keep their values.
    LeftOut,
}

/// The computed tables, and those of users in one snapshot.
#[derive(Clone)]
pub(super) struct SnapshotTables {
    snapshot: Arc<Catalog>,
    buffer: Arc<BufferManager>,
    context: StatementContext,
    /// Those that were found, also in the texts of views.
    found: Arc<Mutex<Vec<Arc<TableDef>>>>,
    /// Those whose rows plans read.
    read: Arc<Mutex<Vec<TableId>>>,
    /// The rows that RETURNING reads.
    returned: OnceLock<Arc<KeptTable>>,
    /// What the statement has for itself.
    own: StatementTables,
    /// A table that is taken for one without a primary key.
    keyless: Option<TableId>,
}

impl SnapshotTables {
    pub fn of(context: &StatementContext) -> Self {
        Self {
            snapshot: context.snapshot(),
            buffer: context.database().buffer().clone(),
            context: context.clone(),
            found: Arc::default(),
            read: Arc::default(),
            returned: OnceLock::new(),
            own: StatementTables::default(),
            keyless: None,
        }
    }

    /// The same, as if a table had no primary key.
    pub fn without_key_of(self, table: TableId) -> Self {
        Self { keyless: Some(table), ..self }
    }

    /// The same for a part of a statement with tables of its own, in the snapshot of all its parts.
    pub fn with_own(self, own: StatementTables) -> Self {
        Self { snapshot: own.snapshot().unwrap_or(self.snapshot), own, ..self }
    }
}

impl SnapshotTables {
    /// The table of a name in a schema.
    fn table_in(&self, schema: &str, name: &str) -> Result<Option<Arc<TableEntry>>, SqlError> {
        if schema == REFRESHED_SCHEMA {
            let view = name.parse().ok().and_then(|id| self.snapshot.view_by_id(TableId(id)));
            return Ok(view.map(|view| Arc::new(entry_of_refreshed(&self.snapshot, view))));
        }
        let identified = schema_of_identified_table(schema).map(SchemaId);
        let of_users = match identified {
            Some(id) => Some(id),
            None => self.context.usable_schema(&self.snapshot, schema).map_err(sql_error)?,
        };
        if let Some(id) = of_users {
            let Some(version) = self.snapshot.table_in(id, name) else {
                let view = self.snapshot.view_in(id, name).filter(|_| identified.is_none());
                let view = view.map(|view| Arc::new(entry_of_view(&self.snapshot, view)));
                let found = view.or_else(|| self.sequence(id, name));
                return match self.snapshot.key_in(id, name).filter(|_| found.is_none()) {
                    Some(_) => Err(SqlError::new(SqlState::WrongObjectType, format!("\"{name}\" is an index"))),
                    None => Ok(found),
                };
            };
            match identified {
                // The statement has locked it to change or to lock its rows.
                Some(_) => self.note_read(&version.def),
                None => self.note_found(&version.def)?,
            }
            return Ok(Some(Arc::new(self.entry(&version.def))));
        }
        if let Some(entry) = computed_tables::entry(self.context.database().system_views(), schema, name)? {
            return Ok(Some(Arc::new(entry)));
        }
        match reason(schema, name) {
            Some(reason) => {
                Err(SqlError::unsupported(format!("the system relation {name} is not supported: {reason}")))
            }
            None => Ok(None),
        }
    }

    /// A table as the binder knows tables.
    pub(super) fn entry(&self, def: &TableDef) -> TableEntry {
        let entry = entry_in(&self.snapshot, def);
        match self.keyless == Some(def.id) {
            true => TableEntry { primary_key: Vec::new(), ..entry },
            false => entry,
        }
    }

    /// Checks that all materialized views whose rows plans read have some.
    ///
    /// # Errors
    /// 55000
    pub fn check_populated(&self) -> Result<(), SqlError> {
        self.read.lock().iter().try_for_each(|table| check_populated(&self.snapshot, *table))
    }

    /// Puts the rows in that RETURNING reads.
    pub fn put_returned(&self, table: &Arc<KeptTable>) {
        assert!(self.returned.set(table.clone()).is_ok(), "a statement has one RETURNING");
    }

    /// The only row of a sequence, as a table that is computed when it is read.
    fn sequence(&self, schema: SchemaId, name: &str) -> Option<Arc<TableEntry>> {
        let known = self.snapshot.sequence_in(schema, name)?;
        let (id, name) = (known.definition.id, name.to_owned());
        // No table has this id, so that no description of the statement is kept: the name may be a table's later.
        let (columns, primary_key, next_column_id) = (Vec::new(), Vec::new(), 0);
        self.found.lock().push(Arc::new(TableDef {
            id,
            schema,
            name,
            columns,
            primary_key,
            next_column_id,
            checks: Vec::new(),
            keys: Vec::new(),
            foreign_keys: Vec::new(),
        }));
        Some(Arc::new(computed_tables::entry_of_sequence(
            self.snapshot.schema_name(schema).unwrap_or_default(),
            &known.definition,
        )))
    }

    /// The relations of users and of the system that a query names, with the columns that it reads.
    pub fn relations_read(&self, referenced: Vec<Referenced>, changed: ChangedTable) -> Vec<ReadRelation> {
        let is_left_out = |named: &Referenced| {
            let is_changed = named.schema.as_deref().is_some_and(|schema| schema_of_identified_table(schema).is_some());
            is_changed && changed == ChangedTable::LeftOut
        };
        let named = referenced.into_iter().filter(|named| !is_left_out(named));
        named.filter_map(|named| self.relation_read(&named)).collect()
    }

    /// `None` for what the statement has for itself.
    fn relation_read(&self, named: &Referenced) -> Option<ReadRelation> {
        let table = named.table.id;
        if let Some(view) = refreshed_view(table) {
            return Some(ReadRelation::Refreshed(view));
        }
        let Some(id) = u32::try_from(table).ok().map(TableId) else {
            return computed_tables::read_relation(table, &named.name);
        };
        let def = self.snapshot.by_id(id).map(|version| &version.def);
        let places = named.is_read.iter().enumerate().filter(|(_, is_read)| **is_read).map(|(at, _)| at);
        // The identity of a row is none of the columns.
        let columns = places.filter_map(|at| match def {
            Some(def) => def.columns.get(at).map(|column| column.id),
            None => Some(ColumnId(at as u16)),
        });
        Some(ReadRelation::Stored(id, columns.collect()))
    }

    /// The tables that were found so far.
    pub fn into_found(self) -> Vec<Arc<TableDef>> {
        std::mem::take(&mut self.found.lock())
    }

    /// Notes a table that is read.
    ///
    /// # Errors
    /// When another transaction has locked it.
    pub(super) fn note_found(&self, def: &Arc<TableDef>) -> Result<(), SqlError> {
        self.context.use_table(def.id, LockMode::AccessShare).map_err(sql_error)?;
        self.note_read(def);
        Ok(())
    }

    fn note_read(&self, def: &Arc<TableDef>) {
        self.found.lock().push(def.clone());
        self.context.note_reads([def.id]);
    }

    /// The snapshot.
    pub(super) fn snapshot(&self) -> &Arc<Catalog> {
        &self.snapshot
    }
}

impl fmt::Debug for SnapshotTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotTables").field("sequence", &self.snapshot.sequence()).finish_non_exhaustive()
    }
}

impl Tables for SnapshotTables {
    fn table(&self, schema: Option<&str>, name: &str) -> Result<Option<Arc<TableEntry>>, SqlError> {
        if let Some(own) = self.own.entry(name).filter(|_| schema.is_none()) {
            return own.map(|entry| Some(Arc::new(entry)));
        }
        let found = match schema {
            Some(schema) => self.table_in(schema, name).transpose(),
            None => {
                let path = self.context.search_path_in(&self.snapshot);
                path.searched().find_map(|schema| self.table_in(schema, name).transpose())
            }
        };
        found.transpose()
    }

    fn view(&self, table: u64) -> Option<View> {
        computed_tables::view_text(table).map(View::of_system).or_else(|| self.user_view(table))
    }
}

impl StoredTables for SnapshotTables {
    fn kept(&self, table: u64, columns: &[usize]) -> Option<(Arc<dyn Source>, Vec<Form>)> {
        let kept = match table {
            RETURNED_ROWS => self.returned.get(),
            table => self.own.rows(table),
        }?;
        Some((kept.source(columns), columns.iter().map(|at| kept.forms()[*at]).collect()))
    }

    fn computed(&self, table: u64, columns: &[usize]) -> Result<Option<Vec<Vec<Value>>>, SqlError> {
        let facts = StatementServer(self.context.clone());
        let snapshot = Snapshot { catalog: &self.snapshot, facts: &facts };
        computed_tables::rows(self.context.database().system_views(), snapshot, table, columns)
    }

    fn source(
        &self,
        table: u64,
        columns: &[usize],
        sample: Option<TableSample>,
    ) -> Result<(Arc<dyn Source>, Vec<ColumnType>), SqlError> {
        let id = u32::try_from(table).ok().map(TableId);
        let version = id.and_then(|id| self.snapshot.by_id(id));
        let version = version.ok_or_else(|| SqlError::unsupported(format!("table {table} is gone")))?;
        self.read.lock().push(version.def.id);
        let (columns, has_row_ids) = match columns.split_last() {
            Some((last, stored)) if *last == version.def.columns.len() => (stored, true),
            _ => (columns, false),
        };
        let projection: Vec<ColumnId> = columns.iter().map(|at| version.def.columns[*at].id).collect();
        let mut types: Vec<ColumnType> = projection.iter().map(|column| version.value_type(*column)).collect();
        let spec = ScanSpec::new(projection);
        let description = description(&version.def, columns);
        let mut source = TableSource::new(version.clone(), self.buffer.clone(), spec, description);
        if has_row_ids {
            source = source.with_row_ids();
            types.push(ColumnType::BigInt);
        }
        let source = match sample {
            Some(sample) => source.with_sample(sample),
            None => source,
        };
        Ok((Arc::new(source), types))
    }
}

/// A table of a state of the database as the binder knows tables, with the domains of its columns.
pub(super) fn entry_in(catalog: &Catalog, def: &TableDef) -> TableEntry {
    let column = |column: &ColumnDef| TableColumn::new(&column.name, declared_type(catalog, column));
    let columns = def.columns.iter().map(column).collect();
    TableEntry { columns, ..entry_of(catalog.schema_name(def.schema).unwrap_or_default(), def) }
}

/// A table of a schema as the binder knows tables; its columns have the types of their values.
pub(super) fn entry_of(schema: &str, def: &TableDef) -> TableEntry {
    let column = |column: &ColumnDef| TableColumn::new(&column.name, sql_type_of(column.column_type));
    TableEntry {
        id: u64::from(def.id.0),
        schema: schema.to_owned(),
        name: def.name.clone(),
        columns: def.columns.iter().map(column).collect(),
        primary_key: def.primary_key.iter().filter_map(|column| def.position(*column)).collect(),
    }
}

/// What EXPLAIN shows of a scan.
fn description(def: &TableDef, columns: &[usize]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| def.columns[*column].name.as_str()).collect();
    format!("table={}, columns=[{}]", def.name, names.join(", "))
}

#[cfg(test)]
mod tests {
    use braid_exec::executor::Executor;
    use braid_exec::plan::Plan;
    use braid_exec::runtime::pipeline::Sink;
    use braid_exec::runtime::stop::Stop;
    use braid_exec::{Batch, FixedBudget};
    use braid_storage::{ColumnChange, RowId, Scalar};
    use futures::StreamExt;

    use super::*;
    use crate::{Config, Database, Outcome};

    /// The values of a batch's rows.
    #[derive(Default)]
    struct Collected(Vec<Vec<Option<Scalar>>>);

    impl Sink for Collected {
        fn consume(&mut self, mut batch: Batch) -> Result<(), Stop> {
            let columns: Vec<_> = (0..batch.column_count()).map(|column| batch.column(column)).collect();
            let row = |row: usize| columns.iter().map(|column| column.value(row)).collect();
            self.0.extend((0..batch.row_count()).map(row));
            Ok(())
        }
    }

    #[tokio::test]
    async fn the_position_behind_all_columns_is_the_identity_of_the_row() {
        let directory = tempfile::tempdir().unwrap();
        let database = Database::open(Config::new(directory.path())).await.unwrap();
        let session = database.session("alice");
        for sql in ["create table t (gone int, a text, b int)", "insert into t values (1, 'x', 7), (2, 'y', 8)"] {
            let statement = session.parse(sql).unwrap().remove(0);
            match session.execute(&statement, Vec::new(), Default::default()).await.unwrap() {
                Outcome::Rows { mut stream, .. } => assert!(stream.next().await.is_none()),
                Outcome::Done { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        // The columns' places are not their ids then.
        database.store().change_columns("t", ColumnChange::Drop("gone".to_owned())).await.unwrap();
        let context = StatementContext::new(database.clone(), "alice", 1);
        let tables = SnapshotTables::of(&context);
        let version = database.store().snapshot().table("t").unwrap().clone();
        let id = |row| Some(Scalar::Int(RowId { chunk: version.chunks[0].id, row }.to_number()));
        let number = |value| Some(Scalar::Int(value));
        for (positions, expected_types, expected) in [
            (
                &[1, 2][..],
                vec![ColumnType::Integer, ColumnType::BigInt],
                [vec![number(7), id(0)], vec![number(8), id(1)]],
            ),
            (&[2], vec![ColumnType::BigInt], [vec![id(0)], vec![id(1)]]),
            (&[1], vec![ColumnType::Integer], [vec![number(7)], vec![number(8)]]),
        ] {
            let (source, types) = tables.source(version.def.id.0.into(), positions, None).unwrap();
            let plan = Plan::Source { source, column_count: positions.len() };
            let executor = Executor::new(1, FixedBudget::unlimited());
            let sinks = executor.run(&plan, Collected::default).await.unwrap();
            let rows: Vec<Vec<Option<Scalar>>> = sinks.into_iter().flat_map(|sink| sink.0).collect();
            assert_eq!((types, rows), (expected_types, expected.to_vec()), "{positions:?}");
        }
    }
}
