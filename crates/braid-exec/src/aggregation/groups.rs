//! The mapping of a row's keys to the number of its group.
//!
//! | module | contents |
//! |---|---|
//! | `group_table` | the choice of the cheapest method below, and the switch to the next one |
//! | `direct_groups`, `paired_groups` | keys of few values as array indices |
//! | `dense_groups` | densely numbered integers as array indices |
//! | `hashed_groups`, `stored_keys` | open addressing for all other keys; the keys of each group |

pub(crate) mod dense_groups;
pub(crate) mod direct_groups;
pub(crate) mod group_table;
pub(crate) mod hashed_groups;
pub(crate) mod paired_groups;
pub(crate) mod stored_keys;
