//! DROP TABLE.

use braid_storage::StoreError;
use datafusion::sql::sqlparser::ast::ObjectName;

use crate::interrupt::to_the_end;
use crate::names::table_name;
use crate::{EngineError, Outcome, Session, SqlState};

/// `DROP TABLE [IF EXISTS] a, b`. Without IF EXISTS, all tables must exist before any is dropped. Each table is dropped in a
/// commit of its own. After a failure of the disk between two commits, the later tables still exist.
pub(crate) async fn drop_tables(
    session: &Session,
    names: &[ObjectName],
    if_exists: bool,
    _cascade: bool,
) -> Result<Outcome, EngineError> {
    let tables = names.iter().map(table_name).collect::<Result<Vec<_>, _>>()?;
    let store = session.database().store();
    let snapshot = store.snapshot();
    if !if_exists && let Some(missing) = tables.iter().find(|table| snapshot.table(table).is_none()) {
        let message = format!("table \"{missing}\" does not exist");
        return Err(EngineError::new(SqlState::UndefinedTable, message));
    }
    for table in &tables {
        match to_the_end(store.drop_table(table)).await {
            Err(StoreError::UnknownTable { .. }) if if_exists => {}
            dropped => dropped?,
        }
    }
    Ok(Outcome::done("DROP TABLE"))
}
