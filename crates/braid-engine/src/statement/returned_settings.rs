//! Statements that change settings and return them.
//!
//! RETURNING is planned before the rows are changed, with the settings as they are then. PostgreSQL asks `current_setting` for each row,
//! behind the `set_config` of its values. A statement with both is refused.

use braid_sql::syntax::walk::{Tree, Walk};
use sqlparser::ast::{Expr, Query, SelectItem, SetExpr, Statement};

use crate::EngineError;
use crate::names::fold;

/// Refuses a statement whose rows change a setting that its RETURNING reads. It may be a part of another one.
///
/// # Errors
/// 0A000
pub(super) fn check_returned_settings(statement: &Statement) -> Result<(), EngineError> {
    let mut parts = Parts { is_refused: reads_what_it_changes(statement) };
    if !parts.is_refused && calls(statement, "set_config") {
        statement.walk(&mut parts);
    }
    match parts.is_refused {
        true => Err(EngineError::unsupported("current_setting in RETURNING behind set_config is not supported")),
        false => Ok(()),
    }
}

/// Looks at the parts of a statement.
struct Parts {
    is_refused: bool,
}

impl Walk for Parts {
    fn enter_query(&mut self, query: &Query) {
        if let SetExpr::Insert(part) | SetExpr::Update(part) | SetExpr::Delete(part) | SetExpr::Merge(part) =
            &*query.body
        {
            self.is_refused |= reads_what_it_changes(part);
        }
    }
}

fn reads_what_it_changes(statement: &Statement) -> bool {
    let listed = match statement {
        Statement::Insert(insert) => insert.returning.as_deref(),
        Statement::Update(update) => update.returning.as_deref(),
        Statement::Delete(delete) => delete.returning.as_deref(),
        _ => None,
    };
    let reads = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. } => calls(item, "current_setting"),
        _ => false,
    };
    listed.is_some_and(|items| items.iter().any(reads)) && calls(statement, "set_config")
}

/// Whether a function of this name is called in a tree.
fn calls(tree: &dyn Tree, name: &str) -> bool {
    let mut calls = Calls { name, is_found: false };
    tree.walk(&mut calls);
    calls.is_found
}

struct Calls<'a> {
    name: &'a str,
    is_found: bool,
}

impl Walk for Calls<'_> {
    fn enter_expression(&mut self, expression: &Expr) {
        if let Expr::Function(function) = expression {
            let last = function.name.0.last().and_then(|part| part.as_ident());
            self.is_found |= last.is_some_and(|last| fold(last) == self.name);
        }
    }
}
