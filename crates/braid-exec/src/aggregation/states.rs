//! The states of aggregates, by group.
//!
//! | module | contents |
//! |---|---|
//! | `aggregate_plan` | the states that aggregates need; aggregates of one argument share states |
//! | `aggregate_states` | the states of one argument, by group number |
//! | `sums`, `averages`, `extremes` | sums and counts; averages of these; least and greatest values |
//! | `distinct_values` | pairs of group and value, for DISTINCT |
//! | `foreign_groups` | the states of aggregates that another crate computes |

pub(crate) mod aggregate_plan;
pub(crate) mod aggregate_states;
pub(crate) mod averages;
pub(crate) mod distinct_values;
pub(crate) mod extremes;
pub(crate) mod foreign_groups;
pub(crate) mod sums;
