//! The names of the relations that a tree reads.

use std::collections::BTreeSet;

use braid_sql::syntax::walk::Walk;
use sqlparser::ast::ObjectName;

use crate::names::fold;

/// The names without a schema.
#[derive(Debug, Default)]
pub(crate) struct RelationNames(BTreeSet<String>);

impl RelationNames {
    /// Whether a name is among them.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

impl Walk for RelationNames {
    fn enter_relation(&mut self, name: &ObjectName) {
        if let [part] = &name.0[..] {
            self.0.extend(part.as_ident().map(fold));
        }
    }
}
