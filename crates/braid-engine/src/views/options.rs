//! `WITH (…)` of a view.
//!
//! They are kept, for `pg_class.reloptions` and for dumps. `security_barrier` keeps functions from rows that a view hides: there are no
//! functions of users here that could tell of them. `security_invoker` is about whose privileges count.

use braid_storage::ViewDef;
use sqlparser::ast::{Ident, SqlOption};

use crate::EngineError;
use crate::names::fold;
use crate::storage_parameters::{invalid, is_boolean, not_boolean, unrecognized, written_parameters};

const BOOLEANS: [&str; 2] = ["security_barrier", "security_invoker"];
const CHECK_OPTION: &str = "check_option";

/// Options as they are kept, of a view without any before.
///
/// # Errors
/// For options that PostgreSQL does not have, wrong values, and `check_option` (0A000).
pub(super) fn checked_options(written: &[SqlOption]) -> Result<Vec<String>, EngineError> {
    let checked = written_parameters(written)?.into_iter().map(|(name, value)| {
        let value = value.unwrap_or_else(|| "true".to_owned());
        match name.as_str() {
            known if BOOLEANS.contains(&known) && is_boolean(&value) => Ok(format!("{name}={value}")),
            known if BOOLEANS.contains(&known) => Err(not_boolean(known, &value)),
            CHECK_OPTION if ["local", "cascaded"].contains(&&*value.to_ascii_lowercase()) => {
                Err(EngineError::unsupported("WITH CHECK OPTION is not supported"))
            }
            CHECK_OPTION => Err(invalid(format!("invalid value for enum option \"{CHECK_OPTION}\": {value}"))
                .with_detail("Valid values are \"local\" and \"cascaded\".")),
            unknown => Err(unrecognized(unknown)),
        }
    });
    checked.collect()
}

/// The options of a view with others put in the place of those of their names.
///
/// # Errors
/// As [`checked_options`].
pub(super) fn with_options(view: &ViewDef, written: &[SqlOption]) -> Result<Vec<String>, EngineError> {
    let set = checked_options(written)?;
    let is_kept = |option: &&String| set.iter().all(|other| name_of(other) != name_of(option));
    Ok(view.options.iter().filter(is_kept).cloned().chain(set.iter().cloned()).collect())
}

/// The options of a view without those of these names.
///
/// # Errors
/// For names that PostgreSQL does not have.
pub(super) fn without_options(view: &ViewDef, names: &[Ident]) -> Result<Vec<String>, EngineError> {
    let names: Vec<String> = names.iter().map(fold).collect();
    if let Some(unknown) = names.iter().find(|name| !BOOLEANS.contains(&name.as_str()) && *name != CHECK_OPTION) {
        return Err(unrecognized(unknown));
    }
    let is_kept = |option: &&String| names.iter().all(|name| name != name_of(option));
    Ok(view.options.iter().filter(is_kept).cloned().collect())
}

fn name_of(option: &str) -> &str {
    option.split('=').next().unwrap_or_default()
}
