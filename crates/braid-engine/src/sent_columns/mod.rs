//! Values of expressions as columns that the server sends.
//!
//! | module | contents |
//! |---|---|
//! | [`arrow_columns`] | values as arrays of Arrow, with the SQL type in the field's metadata |
//! | [`shown_columns`] | the columns of a query's rows: as operators make them, and as the client gets them |

pub(crate) mod arrow_columns;
pub(crate) mod shown_columns;

pub(crate) use shown_columns::ShownColumns;
