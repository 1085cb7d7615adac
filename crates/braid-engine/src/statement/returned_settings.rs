//! Statements that change settings and return rows.
//!
//! RETURNING is planned before the rows are changed, with the settings as they are then. PostgreSQL computes it for each row, behind the
//! `set_config` of its values. A statement that returns what may depend on the setting is refused: `current_setting` behind a change of any
//! setting, and anything behind a change of one of Braid's, which has no dot in its name.

use braid_sql::syntax::walk::{Tree, Walk};
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Query, SelectItem, SetExpr, Statement,
};

use crate::EngineError;
use crate::names::fold;

/// Refuses a statement whose rows change a setting that its RETURNING may read. It may be a part of another one.
///
/// # Errors
/// 0A000
pub(super) fn check_returned_settings(statement: &Statement) -> Result<(), EngineError> {
    let mut parts = Parts { is_refused: returns_what_it_changes(statement) };
    if !parts.is_refused && SettingCalls::of(statement).changes {
        statement.walk(&mut parts);
    }
    match parts.is_refused {
        true => Err(EngineError::unsupported(
            "RETURNING of what may depend on a setting behind set_config is not supported",
        )),
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
            self.is_refused |= returns_what_it_changes(part);
        }
    }
}

fn returns_what_it_changes(statement: &Statement) -> bool {
    let listed = match statement {
        Statement::Insert(insert) => insert.returning.as_deref(),
        Statement::Update(update) => update.returning.as_deref(),
        Statement::Delete(delete) => delete.returning.as_deref(),
        _ => None,
    };
    let Some(listed) = listed else { return false };
    let reads = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. } => SettingCalls::of(item).reads,
        _ => false,
    };
    let calls = SettingCalls::of(statement);
    calls.changes_known || calls.changes && listed.iter().any(reads)
}

/// What a tree calls.
#[derive(Default)]
struct SettingCalls {
    /// `set_config`
    changes: bool,
    /// The same of a setting that may be one of Braid's.
    changes_known: bool,
    /// `current_setting`
    reads: bool,
}

impl SettingCalls {
    fn of(tree: &dyn Tree) -> Self {
        let mut calls = Self::default();
        tree.walk(&mut calls);
        calls
    }
}

impl Walk for SettingCalls {
    fn enter_expression(&mut self, expression: &Expr) {
        let Expr::Function(function) = expression else { return };
        match function.name.0.last().and_then(|part| part.as_ident()).map(fold).as_deref() {
            Some("set_config") => {
                (self.changes, self.changes_known) = (true, self.changes_known || !is_users(function))
            }
            Some("current_setting") => self.reads = true,
            _ => {}
        }
    }
}

/// Whether the setting that a call changes has a dot in its name.
fn is_users(call: &Function) -> bool {
    let FunctionArguments::List(list) = &call.args else { return false };
    let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(name)))) = list.args.first() else { return false };
    name.value.clone().into_string().is_some_and(|name| name.contains('.'))
}
