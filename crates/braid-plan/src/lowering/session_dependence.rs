//! Which functions give other results in other sessions.
//!
//! PostgreSQL calls a function stable if its result depends on the session, its settings or the time. Most of these depend on settings that
//! are the same in all sessions here (encodings, locales), or on the session's zone and formats alone, and plans are made for one zone and
//! one set of formats (`braid_sql::formats`).

use std::collections::HashSet;
use std::sync::LazyLock;

use braid_sql::pg_catalog::{FunctionId, Volatility, pg_catalog};

/// Stable functions of the same result in all sessions of one zone and of the same formats, by the names of PostgreSQL's C functions. Of input functions only
/// that of enumerated types is one of them: others read `now`, and dates by the setting DateStyle.
const OF_ZONE: &[&str] = &[
    "array_out",
    "array_to_json",
    "array_to_json_pretty",
    "array_to_text",
    "array_to_text_null",
    "date_out",
    "date_timestamptz",
    "enum_first",
    "enum_in",
    "enum_last",
    "enum_out",
    "enum_range_all",
    "enum_range_bounds",
    "enum_send",
    "extract_timestamptz",
    "float4_to_char",
    "float8_to_char",
    "in_range_timestamptz_interval",
    "int4_to_char",
    "int8_to_char",
    "interval_out",
    "interval_to_char",
    "json_build_array",
    "json_build_object",
    "jsonb_build_array",
    "jsonb_build_object",
    "make_timestamptz",
    "make_timestamptz_at_timezone",
    "numeric_to_char",
    "numeric_to_number",
    "pg_typeof",
    "text_concat",
    "text_concat_ws",
    "text_format",
    "text_format_nv",
    "timestamp_out",
    "timestamp_timestamptz",
    "timestamp_to_char",
    "timestamptz_date",
    "timestamptz_mi_interval",
    "timestamptz_out",
    "timestamptz_part",
    "timestamptz_pl_interval",
    "timestamptz_time",
    "timestamptz_timestamp",
    "timestamptz_timetz",
    "timestamptz_to_char",
    "timestamptz_trunc",
    "timestamptz_trunc_zone",
    "to_date",
    "to_json",
    "to_jsonb",
    "to_timestamp",
];

/// Functions that PostgreSQL calls immutable, and that look for the names of roles.
const OF_NAMES: &[&str] = &["acldefault_sql"];

/// Pairs of types whose values are compared in the session's zone.
const COMPARED_IN_ZONE: &[(&str, &str)] =
    &[("date", "timestamptz"), ("timestamptz", "date"), ("timestamp", "timestamptz"), ("timestamptz", "timestamp")];

/// What is between the types in the name of a comparison.
const COMPARISONS: &[&str] = &["lt", "le", "eq", "gt", "ge", "ne", "cmp"];

static NAMES: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let comparisons = COMPARED_IN_ZONE
        .iter()
        .flat_map(|(left, right)| COMPARISONS.iter().map(move |comparison| format!("{left}_{comparison}_{right}")));
    OF_ZONE.iter().map(|name| (*name).to_owned()).chain(comparisons).collect()
});

/// Whether the result may differ between sessions of one zone and of the same formats, or from call to call, for the same arguments.
pub(super) fn depends_on_session(function: FunctionId) -> bool {
    let entry = pg_catalog().function(function);
    asks_names(function)
        || entry.volatility != Volatility::Immutable && entry.symbol.is_none_or(|symbol| !NAMES.contains(symbol))
}

/// Whether it looks for the names of roles, whatever its volatility.
pub(super) fn asks_names(function: FunctionId) -> bool {
    pg_catalog().function(function).symbol.is_some_and(|symbol| OF_NAMES.contains(&symbol))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_a_stable_function() {
        for name in NAMES.iter() {
            let mut named = pg_catalog().functions().filter(|function| function.symbol == Some(name.as_str()));
            assert!(named.any(|function| function.volatility == Volatility::Stable), "{name}");
        }
    }

    #[test]
    fn what_depends_on_the_session_or_the_time_is_found() {
        for (name, expected) in
            [("now", true), ("current_user", true), ("random", true), ("date_trunc", false), ("abs", false)]
        {
            let all = pg_catalog().functions_named(name).all(|function| depends_on_session(function.id) == expected);
            assert!(all, "{name}");
        }
    }
}
