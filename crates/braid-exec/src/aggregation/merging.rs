//! Merging of the groups of several workers and files.
//!
//! | module | contents |
//! |---|---|
//! | `partition_order` | a worker's groups in the order of the partitions of their hashes |
//! | `worker_groups` | the groups of one worker, with their states |
//! | `merge` | partitions of all workers, merged by several threads |
//! | `spilled_groups` | groups in temporary files, with their accumulated states |
//! | `atom_groups` | groups of key and query set made disjoint at the end of a shared pass |

pub(crate) mod atom_groups;
pub(crate) mod merge;
pub(crate) mod partition_order;
pub(crate) mod spilled_groups;
pub(crate) mod worker_groups;
