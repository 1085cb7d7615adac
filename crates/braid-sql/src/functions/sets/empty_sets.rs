//! What there is none of: partitions of a table, what it is a partition of, and extensions to be installed.

use super::SetImplementations;

/// No rows.
pub const FUNCTIONS: SetImplementations = &[
    ("pg_available_extensions", |_, _| Ok(Box::new(std::iter::empty()))),
    ("pg_available_extension_versions", |_, _| Ok(Box::new(std::iter::empty()))),
    ("pg_partition_ancestors", |_, _| Ok(Box::new(std::iter::empty()))),
    ("pg_partition_tree", |_, _| Ok(Box::new(std::iter::empty()))),
];
