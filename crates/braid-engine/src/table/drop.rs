//! DROP TABLE.

use braid_storage::StoreError;
use datafusion::sql::sqlparser::ast::ObjectName;

use crate::names::table_name;
use crate::query::interrupt::to_the_end;
use crate::session::done;
use crate::{EngineError, Outcome, Session, SqlState};

/// `DROP TABLE [IF EXISTS] a, b`. Without IF EXISTS nothing is dropped unless all are there; each is then dropped in a
/// commit of its own, so a failure of the disk between two of them leaves the later ones.
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
    done("DROP TABLE")
}
