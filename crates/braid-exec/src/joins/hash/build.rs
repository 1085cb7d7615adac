//! The build side: workers collect rows, then bring them together and enter their keys into a directory.
//!
//! | module | what lives there |
//! |---|---|
//! | `united_columns`, `column_parts` | the workers' columns, each in one piece |
//! | `directory_builder` | which directory suits the keys; its making by one thread |
//! | `parallel_directories`, `parallel_hashing`, `parallel_lists` | its making by several workers |
//! | `filter_builder` | the filter that the keys make for the probe side |
//! | `shared_bloom` | the same for a build side that does not fit into memory |
//! | `row_partitions` | rows by ranges of a number, for those |
//! | `build_tasks` | workers that take pieces of this work, give way and stop |
//! | `vec_parts`, `atomic_cells` | arrays that several tasks fill |

pub(crate) mod atomic_cells;
pub(crate) mod build_tasks;
pub(crate) mod column_parts;
pub(crate) mod directory_builder;
pub(crate) mod filter_builder;
pub(crate) mod parallel_directories;
pub(crate) mod parallel_hashing;
pub(crate) mod parallel_lists;
pub(crate) mod row_partitions;
pub(crate) mod shared_bloom;
pub(crate) mod united_columns;
pub(crate) mod vec_parts;
