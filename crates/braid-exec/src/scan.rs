//! Tables as sources of pipelines.
//!
//! | module | what lives there |
//! |---|---|
//! | [`table_source`] | a table's chunks as a source, without the rows that key filters exclude |
//! | `chunk_origin` | a chunk's columns, decoded when they are first read |
//! | `set_scan`, [`segment_classes`] | the queries that want each row, found on encoded data |

pub(crate) mod chunk_origin;
pub mod segment_classes;
pub(crate) mod set_scan;
pub mod table_source;
