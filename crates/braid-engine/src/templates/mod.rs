//! Templates: the plans of statements that differ only in their constants (SharedDB, VLDB 2012, section 3.1: queries are
//! prepared, and arrive as parameters of a known plan).
//!
//! | module | contents |
//! |---|---|
//! | [`template_cache`] | the templates of a database |
//! | [`generalization`] | what the statements of a text template have in common |
//! | [`plan_template`] | a plan with its guards and parameters |
//! | [`expression_binding`] | how a statement computes the parameters of its plan |
//! | [`description_cache`] | the parameters and columns of statements that were prepared |
//! | [`template_view`] | the system view of the templates |
//! | [`hole_value`] | the type and value of a constant |

pub(crate) mod description_cache;
pub(crate) mod expression_binding;
pub(crate) mod generalization;
pub(crate) mod hole_value;
pub(crate) mod plan_template;
pub(crate) mod template_cache;
mod template_view;

pub(crate) use template_cache::TemplateCache;
pub use template_cache::TemplateFigures;
pub(crate) use template_view::template_view;
