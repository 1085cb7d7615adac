//! What is known of ON CONFLICT DO UPDATE of a statement that has run: a prepared statement binds it once.

use std::sync::{Arc, OnceLock};

use braid_sql::SqlType;
use braid_sql::evaluation::pair_query::PairQuery;
use braid_storage::TableDef;

/// DO UPDATE that was bound for a table, with parameters of these types.
#[derive(Debug)]
pub(crate) struct SoundUpdate {
    def: Arc<TableDef>,
    parameter_types: Vec<SqlType>,
    pairs: OnceLock<Option<Arc<PairQuery>>>,
}

impl SoundUpdate {
    /// One that could be bound.
    pub fn new(def: &Arc<TableDef>, parameter_types: &[SqlType]) -> Self {
        Self { def: def.clone(), parameter_types: parameter_types.to_vec(), pairs: OnceLock::new() }
    }

    /// Whether it was bound for this table and these parameters.
    pub fn is_of(&self, def: &TableDef, parameter_types: &[SqlType]) -> bool {
        *self.def == *def && self.parameter_types == parameter_types
    }

    /// Its new values as a query that is evaluated pair by pair, if it is known whether it is one.
    pub fn pairs(&self) -> Option<Option<Arc<PairQuery>>> {
        self.pairs.get().cloned()
    }

    /// Notes whether it is one.
    pub fn note_pairs(&self, bound: Option<PairQuery>) -> Option<Arc<PairQuery>> {
        self.pairs.get_or_init(|| bound.map(Arc::new)).clone()
    }
}
