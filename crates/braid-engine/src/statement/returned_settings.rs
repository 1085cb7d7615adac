//! Statements that change settings and return rows.
//!
//! RETURNING is planned before the rows are changed, with the settings as they are then. PostgreSQL computes it for each row, behind the
//! `set_config` of its values. A statement that returns what may depend on the setting is refused: `current_setting` behind a change of any
//! setting, and anything behind a change of the zone, the search path or the role.

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
    let calls = SettingCalls::of(statement);
    let mut parts = Parts { is_refused: returns_what_is_changed(statement, &calls), calls };
    if !parts.is_refused && parts.calls.changes {
        statement.walk(&mut parts);
    }
    match parts.is_refused {
        true => Err(EngineError::unsupported(
            "RETURNING of what may depend on a setting beside set_config is not supported",
        )),
        false => Ok(()),
    }
}

/// Looks at the parts of a statement.
struct Parts {
    calls: SettingCalls,
    is_refused: bool,
}

impl Walk for Parts {
    fn enter_query(&mut self, query: &Query) {
        if let SetExpr::Insert(part) | SetExpr::Update(part) | SetExpr::Delete(part) | SetExpr::Merge(part) =
            &*query.body
        {
            self.is_refused |= returns_what_is_changed(part, &self.calls);
        }
    }
}

/// Whether a part returns what may depend on a setting that its statement changes.
fn returns_what_is_changed(part: &Statement, calls: &SettingCalls) -> bool {
    let listed = match part {
        Statement::Insert(insert) => insert.returning.as_deref(),
        Statement::Update(update) => update.returning.as_deref(),
        Statement::Delete(delete) => delete.returning.as_deref(),
        _ => None,
    };
    let reads = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. } => SettingCalls::of(item).reads,
        _ => false,
    };
    listed.is_some_and(|listed| calls.changes_known || calls.changes && listed.iter().any(reads))
}

/// What a tree calls.
#[derive(Default)]
struct SettingCalls {
    /// `set_config`
    changes: bool,
    /// The same of a setting on which rows may depend.
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
                (self.changes, self.changes_known) = (true, self.changes_known || !is_shown_only(function))
            }
            Some("current_setting") => self.reads = true,
            _ => {}
        }
    }
}

/// Settings of which rows may depend otherwise than by `current_setting`.
const OF_ROWS: &[&str] = &[
    "timezone",
    "datestyle",
    "intervalstyle",
    "bytea_output",
    "extra_float_digits",
    "search_path",
    "role",
    "session_authorization",
];

/// Whether only `current_setting` shows the setting that a call changes.
fn is_shown_only(call: &Function) -> bool {
    let FunctionArguments::List(list) = &call.args else { return false };
    let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(mut name))) = list.args.first().cloned() else { return false };
    while let Expr::Cast { expr, .. } | Expr::Nested(expr) = name {
        name = *expr;
    }
    let Expr::Value(name) = name else { return false };
    name.value.into_string().is_some_and(|name| !OF_ROWS.contains(&name.to_ascii_lowercase().as_str()))
}
