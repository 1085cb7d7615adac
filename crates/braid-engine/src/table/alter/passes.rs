//! The actions of an ALTER TABLE in the order in which PostgreSQL takes them, whatever their order in the statement.

use braid_sql::syntax::column_change;
use sqlparser::ast::{AlterColumnOperation, AlterTableOperation, Expr};

use crate::{EngineError, SqlState};

/// PostgreSQL's passes (`AT_PASS_…` of `tablecmds.c`), as far as there are actions for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pass {
    Drop,
    AlterType,
    AddColumn,
    AddConstraint,
    ColumnAttributes,
    Other,
    Identity,
}

/// The actions in order.
///
/// # Errors
/// For RENAME among others, which PostgreSQL's grammar lacks.
pub(super) fn in_passes(actions: &[AlterTableOperation]) -> Result<Vec<&AlterTableOperation>, EngineError> {
    if actions.len() > 1 && actions.iter().any(is_renaming) {
        return Err(EngineError::new(SqlState::SyntaxError, "syntax error at or near \",\""));
    }
    let mut ordered: Vec<&AlterTableOperation> = actions.iter().collect();
    ordered.sort_by_key(|action| pass_of(action));
    Ok(ordered)
}

fn is_renaming(action: &AlterTableOperation) -> bool {
    use AlterTableOperation as Action;
    matches!(action, Action::RenameColumn { .. } | Action::RenameTable { .. } | Action::RenameConstraint { .. })
}

fn pass_of(action: &AlterTableOperation) -> Pass {
    use AlterColumnOperation as Change;
    use AlterTableOperation as Action;
    match action {
        Action::DropColumn { .. } | Action::DropConstraint { .. } => Pass::Drop,
        Action::AddColumn { .. } => Pass::AddColumn,
        Action::AddConstraint { .. } => Pass::AddConstraint,
        Action::AlterColumn { op, .. } => match op {
            Change::DropNotNull | Change::DropDefault => Pass::Drop,
            Change::SetDefault { value } if is_drop(value) => Pass::Drop,
            Change::SetDefault { value } if column_change(value).is_some() => Pass::Identity,
            Change::SetDataType { .. } => Pass::AlterType,
            Change::SetNotNull => Pass::ColumnAttributes,
            Change::SetDefault { .. } | Change::AddGenerated { .. } => Pass::Other,
        },
        _ => Pass::Other,
    }
}

/// Whether a default stands for DROP EXPRESSION or DROP IDENTITY.
fn is_drop(default: &Expr) -> bool {
    let first = |change: &str| change.split_whitespace().next().map(str::to_ascii_lowercase);
    column_change(default).and_then(first).as_deref() == Some("drop")
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::Statement;
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::parser::Parser;

    use super::*;

    fn ordered(actions: &str) -> Result<String, EngineError> {
        let sql = format!("alter table t {actions}");
        let Statement::AlterTable(alter) = Parser::parse_sql(&PostgreSqlDialect {}, &sql).unwrap().remove(0) else {
            panic!("{sql}")
        };
        let ordered = in_passes(&alter.operations)?;
        Ok(ordered.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn what_drops_comes_before_what_adds() {
        assert_eq!(
            ordered("alter a set default 1, alter a set not null, add a int, alter b type int, drop a, drop c")
                .unwrap(),
            "DROP a, DROP c, ALTER COLUMN b TYPE INT, ADD a INT, ALTER COLUMN a SET NOT NULL, ALTER COLUMN a SET DEFAULT 1"
        );
    }

    #[test]
    fn a_rename_stands_alone() {
        assert_eq!(ordered("rename a to b").unwrap(), "RENAME COLUMN a TO b");
        assert_eq!(ordered("rename a to b, drop c").unwrap_err().sqlstate(), "42601");
    }
}
