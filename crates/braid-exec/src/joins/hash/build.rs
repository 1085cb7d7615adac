//! The build side: workers collect rows, then combine them and enter their keys into a directory.
//!
//! | module | contents |
//! |---|---|
//! | `united_columns`, `column_parts` | the combination of the workers' columns |
//! | `directory_builder` | the choice of the directory, and its construction by one thread |
//! | `parallel_directories`, `parallel_hashing`, `parallel_lists` | its construction by several workers |
//! | `shared_bloom` | the key filter of a build side that spills |
//! | `row_partitions` | partitions of rows, for parallel construction |
//! | `vec_parts`, `atomic_cells` | arrays that several tasks fill |

pub(crate) mod atomic_cells;
pub(crate) mod column_parts;
pub(crate) mod directory_builder;
pub(crate) mod parallel_directories;
pub(crate) mod parallel_hashing;
pub(crate) mod parallel_lists;
pub(crate) mod row_partitions;
pub(crate) mod shared_bloom;
pub(crate) mod united_columns;
pub(crate) mod vec_parts;
