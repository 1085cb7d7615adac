//! What is accumulated for each group.
//!
//! | module | what lives there |
//! |---|---|
//! | `aggregate_plan` | which states aggregates need; those of one argument share what they can |
//! | `aggregate_states` | the states of one argument, by group number |
//! | `sums`, `averages`, `extremes` | sums and counts; averages of these; least and greatest values |
//! | `distinct_values` | pairs of group and value, for DISTINCT |

pub(crate) mod aggregate_plan;
pub(crate) mod aggregate_states;
pub(crate) mod averages;
pub(crate) mod distinct_values;
pub(crate) mod extremes;
pub(crate) mod sums;
