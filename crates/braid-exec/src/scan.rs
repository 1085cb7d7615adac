//! Tables as sources of pipelines.
//!
//! | module | contents |
//! |---|---|
//! | [`table_source`] | a table's chunks as a source, filtered by key filters |
//! | [`single_row`] | one row without columns |
//! | `placed_predicate` | predicates with constants of the column's type |
//! | `chunk_origin` | a chunk's columns, decoded when they are first read |
//! | `row_ids` | the identities of rows as a column |
//! | `counted_rows` | rows of a chunk of which no stored column is read |
//! | `column_bounds` | bounds of a column of integers, and columns without nulls |
//! | [`table_sample`] | which rows a sample of a table has |
//! | `set_scan`, [`segment_classes`] | the query set of each row, computed on encoded data |

pub(crate) mod chunk_origin;
pub(crate) mod column_bounds;
pub(crate) mod counted_rows;
pub(crate) mod placed_predicate;
pub(crate) mod row_ids;
pub mod segment_classes;
pub(crate) mod set_scan;
pub mod single_row;
pub mod table_sample;
pub mod table_source;
