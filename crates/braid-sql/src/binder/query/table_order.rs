//! The order in which the queries of WITH RECURSIVE are bound: each after those that it refers to, also if they stand further down.
//!
//! As in PostgreSQL, the first one that refers to none of the others comes next. Names of WITH in a query within hide those around it.

use std::collections::BTreeSet;

use sqlparser::ast::{Cte, ObjectName, Query};

use crate::binder::fold;
use crate::syntax::walk::{Tree, Walk};

/// The positions of common table expressions in the order of binding.
///
/// # Errors
/// The position of one of several that refer to each other.
pub(super) fn binding_order(tables: &[Cte]) -> Result<Vec<usize>, usize> {
    let names: Vec<String> = tables.iter().map(|cte| fold(&cte.alias.name)).collect();
    let mut left: Vec<(usize, BTreeSet<usize>)> = tables
        .iter()
        .enumerate()
        .map(|(at, cte)| {
            let mut references = References { names: &names, hidden: Vec::new(), found: BTreeSet::new() };
            cte.query.walk(&mut references);
            references.found.remove(&at);
            (at, references.found)
        })
        .collect();
    for placed in 0..left.len() {
        let next = left[placed..].iter().position(|(_, needed)| needed.is_empty()).ok_or(left[placed].0)?;
        left.swap(placed, placed + next);
        let at = left[placed].0;
        left.iter_mut().for_each(|(_, needed)| {
            needed.remove(&at);
        });
    }
    Ok(left.into_iter().map(|(at, _)| at).collect())
}

/// The names that a query refers to.
struct References<'n> {
    names: &'n [String],
    /// The names of WITH of the queries within, the innermost last.
    hidden: Vec<Vec<String>>,
    found: BTreeSet<usize>,
}

impl Walk for References<'_> {
    fn enter_query(&mut self, query: &Query) {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        self.hidden.push(tables.map(|cte| fold(&cte.alias.name)).collect());
    }

    fn leave_query(&mut self, _: &Query) {
        self.hidden.pop();
    }

    fn enter_relation(&mut self, relation: &ObjectName) {
        if let [part] = &relation.0[..]
            && let Some(ident) = part.as_ident()
        {
            let name = fold(ident);
            let is_hidden = self.hidden.iter().flatten().any(|other| *other == name);
            let referred = self.names.iter().position(|other| *other == name).filter(|_| !is_hidden);
            self.found.extend(referred);
        }
    }
}
