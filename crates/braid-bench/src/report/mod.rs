//! The presentation of measurements: figures with goals, tables, curves.
//!
//! | module | contents |
//! |---|---|
//! | [`figures`] | figures with their goals, for people and as JSON; tables in one style |
//! | `plot` | curves on logarithmic axes, as SVG |
//! | `summary` | many measurements as one number |

pub mod figures;
pub(crate) mod plot;
pub(crate) mod summary;

pub use figures::{Figure, Goal, Report, left, machine, number, plain_table, right};
