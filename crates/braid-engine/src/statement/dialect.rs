//! PostgreSQL's dialect, as far as sqlparser's differs: the front end has it.

pub(crate) use braid_sql::syntax::SqlDialect;
