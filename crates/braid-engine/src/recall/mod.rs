//! Statements by their templates ([`crate::templates`]): recalled or learned, bound, run.
//!
//! ```text
//! text --tokens--> text template, constants --guards--> plan template --bind--> parameters of a plan
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`execution`] | one statement: recall, learning, binding, the start of its plan |
//! | [`answer`] | its rows, from a pass or alone |
//! | [`description`] | its parameters and columns, when it is prepared |
//! | [`known_template`] | what EXPLAIN says of its template |
//! | [`template_planner`] | the plan of a template |
//! | [`constants`] | the constants of a statement |
//!
//! [`crate::statement`] lifts the constants out of a text.

mod answer;
mod constants;
mod description;
mod execution;
mod known_template;
mod template_planner;

pub(crate) use answer::{Answer, Course, Place, answer, plan_alone};
pub(crate) use description::{described, keep_description};
pub use execution::SharedForm;
pub(crate) use execution::{execute, is_known, shared_form, use_tables};
pub(crate) use known_template::KnownTemplate;
