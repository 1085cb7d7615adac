//! Braid's own views in schema `pg_catalog`: what the server does, computed when a query on them is planned.
//!
//! A view belongs to the room whose state it shows; here are the names. Views show the present, not a snapshot.

use std::fmt;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;

/// The view of the templates of statements.
pub(crate) const TEMPLATES_VIEW: &str = "braid_templates";

/// The view of the passes that run and have run.
pub(crate) const PASSES_VIEW: &str = "braid_passes";

/// The view of the queries that wait and run.
pub(crate) const QUERIES_VIEW: &str = "braid_queries";

/// The view of the totals of all passes.
pub(crate) const SHARING_VIEW: &str = "braid_sharing";

/// The view of what tables take.
pub(crate) const TABLES_VIEW: &str = "braid_tables";

/// The view of the states that somebody reads.
pub(crate) const SNAPSHOTS_VIEW: &str = "braid_snapshots";

/// A view.
pub(crate) trait SystemView: fmt::Debug + Send + Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Its columns.
    fn schema(&self) -> SchemaRef;

    /// What it shows now, by column. Takes no lock while it makes arrays.
    fn columns(&self) -> Vec<ArrayRef>;
}
