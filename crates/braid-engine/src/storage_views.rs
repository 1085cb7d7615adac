//! System views `braid_tables` and `braid_snapshots`: what tables take, and what readers of old states keep.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use braid_storage::{LiveSnapshot, Space, Store};

use crate::system_views::{SNAPSHOTS_VIEW, SystemView, TABLES_VIEW};

/// The views of a store.
pub(crate) fn storage_views(store: &Arc<Store>) -> [Arc<dyn SystemView>; 2] {
    [Arc::new(TablesView { store: store.clone() }), Arc::new(SnapshotsView { store: store.clone() })]
}

fn integers(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values.map(|value| i64::try_from(value).unwrap_or(i64::MAX))))
}

#[derive(Debug)]
struct TablesView {
    store: Arc<Store>,
}

impl SystemView for TablesView {
    fn name(&self) -> &'static str {
        TABLES_VIEW
    }

    fn schema(&self) -> SchemaRef {
        let counts = ["rows", "deleted_rows", "chunks", "chunks_in_memory", "memory_bytes", "file_bytes"];
        let texts = ["schema_name", "table_name"].map(|name| Field::new(name, DataType::Utf8, false));
        let counts = counts.map(|name| Field::new(name, DataType::Int64, false));
        Arc::new(Schema::new(texts.into_iter().chain(counts).collect::<Vec<_>>()))
    }

    fn columns(&self) -> Vec<ArrayRef> {
        let snapshot = self.store.snapshot();
        let schema =
            |version: &braid_storage::TableVersion| snapshot.schema_name(version.def.schema).unwrap_or_default();
        let mut tables: Vec<(&str, &str, Space)> =
            snapshot.tables().map(|version| (schema(version), version.def.name.as_str(), version.space())).collect();
        tables.sort_unstable_by_key(|(schema, name, _)| (*schema, *name));
        let count = |value: fn(&Space) -> u64| integers(tables.iter().map(|(.., space)| value(space)));
        vec![
            Arc::new(StringArray::from_iter_values(tables.iter().map(|(schema, ..)| schema))),
            Arc::new(StringArray::from_iter_values(tables.iter().map(|(_, name, _)| name))),
            count(|space| space.rows),
            count(|space| space.deleted_rows),
            count(|space| space.chunks),
            count(|space| space.chunks_in_memory),
            count(|space| space.memory_bytes),
            count(|space| space.file_bytes),
        ]
    }
}

#[derive(Debug)]
struct SnapshotsView {
    store: Arc<Store>,
}

impl SystemView for SnapshotsView {
    fn name(&self) -> &'static str {
        SNAPSHOTS_VIEW
    }

    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("commit_number", DataType::Int64, false),
            Field::new("age_ms", DataType::Float64, false),
            Field::new("chunks", DataType::Int64, false),
            Field::new("memory_bytes", DataType::Int64, false),
            Field::new("file_bytes", DataType::Int64, false),
        ]))
    }

    fn columns(&self) -> Vec<ArrayRef> {
        let snapshots = self.store.live_snapshots();
        let count = |value: fn(&LiveSnapshot) -> u64| integers(snapshots.iter().map(value));
        let ages = snapshots.iter().map(|snapshot| snapshot.age.as_secs_f64() * 1e3);
        vec![
            count(|snapshot| snapshot.sequence),
            Arc::new(Float64Array::from_iter_values(ages)),
            count(|snapshot| snapshot.kept.chunks),
            count(|snapshot| snapshot.kept.memory_bytes),
            count(|snapshot| snapshot.kept.file_bytes),
        ]
    }
}
