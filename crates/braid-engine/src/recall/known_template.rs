//! What is known of a statement's template, for EXPLAIN: looked up, without learning from the statement.

use std::fmt;
use std::sync::atomic::Ordering;

use super::constants::constants_of;
use super::execution::{TemplatesOff, key};
use crate::EngineError;
use crate::bound_parameters::BoundParameters;
use crate::front_end::StatementFacts;
use crate::statement::{ScannedText, Unscanned};
use crate::statement_context::StatementContext;
use crate::templates::plan_template::BoundTemplate;
use crate::templates::template_cache::Look;

/// What is known of a statement's template. Its text says so in a sentence.
#[derive(Debug)]
pub(crate) enum KnownTemplate {
    /// The statement runs by this plan, as have so many others of its text.
    Plan(BoundTemplate, u64),
    /// Its session's statements have none.
    Off(TemplatesOff),
    /// Its text can have none.
    Unscanned(Unscanned),
    /// A parameter has no value.
    NoConstants,
    /// The text has not been seen.
    New,
    /// It has been seen once: the next statement makes a plan.
    Seen,
    /// It has so many plans for other constants.
    OtherPlans(usize),
    /// A plan could not be made for this reason.
    Refused(String),
    /// The constants do not fit the types of the plan's parameters.
    Unbound,
}

impl KnownTemplate {
    /// What is known of the template of a text, with these parameters.
    ///
    /// # Errors
    /// When a parameter has a type without a text.
    pub fn of(
        context: &StatementContext,
        scanned: &Result<ScannedText, Unscanned>,
        params: &BoundParameters,
    ) -> Result<Self, EngineError> {
        let scanned = match scanned {
            Ok(scanned) => scanned,
            Err(reason) => return Ok(Self::Unscanned(*reason)),
        };
        let key = match key(scanned, params, context) {
            Ok(key) => key,
            Err(reason) => return Ok(Self::Off(reason)),
        };
        let facts = StatementFacts::of(context);
        let Some(constants) = constants_of(scanned, params, &facts)? else { return Ok(Self::NoConstants) };
        let Some(entry) = context.database().templates().look(&key) else { return Ok(Self::New) };
        Ok(match entry.look(&constants, &context.snapshot()) {
            Look::Plan(template) => match template.bind(&constants, params, &facts) {
                Some(row) => {
                    let bound = BoundTemplate { template, text_number: entry.number, row };
                    Self::Plan(bound, entry.hits.load(Ordering::Relaxed))
                }
                None => Self::Unbound,
            },
            Look::Refused(reason) => Self::Refused(reason),
            Look::OtherPlans(count) => Self::OtherPlans(count),
            Look::Seen => Self::Seen,
        })
    }
}

impl fmt::Display for KnownTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(BoundTemplate { template, .. }, queries) => {
                let (varying, constants) = (template.varying_count(), template.guards.len());
                match (varying, constants) {
                    (_, 0) => f.write_str("no constants")?,
                    (1, _) => write!(f, "1 of {constants} constants is a parameter")?,
                    _ => write!(f, "{varying} of {constants} constants are parameters")?,
                }
                match queries {
                    1 => f.write_str(", 1 query so far"),
                    _ => write!(f, ", {queries} queries so far"),
                }
            }
            Self::Off(TemplatesOff::Setting) => f.write_str("off"),
            Self::Off(TemplatesOff::OwnWrites) => f.write_str("off, the transaction has changed something"),
            Self::Off(TemplatesOff::TemporaryRelations) => f.write_str("off, it may name a temporary table"),
            Self::Off(TemplatesOff::NamedObjects) => {
                f.write_str("off, it may read names of relations, types or functions")
            }
            Self::Off(TemplatesOff::JoinOrder) => f.write_str("off, braid.join_order is not cheapest"),
            Self::Unscanned(reason) => write!(f, "none, {reason}"),
            Self::NoConstants => f.write_str("none, a parameter has no value"),
            Self::New => f.write_str("none yet, the text is new"),
            Self::Seen => f.write_str("none yet, the next query of this text makes it"),
            Self::OtherPlans(1) => f.write_str("none yet for these constants, 1 plan for others"),
            Self::OtherPlans(count) => write!(f, "none yet for these constants, {count} plans for others"),
            Self::Refused(reason) => write!(f, "none, {}", reason.lines().next().unwrap_or_default()),
            Self::Unbound => f.write_str("none, a constant does not fit the type of its parameter"),
        }
    }
}
