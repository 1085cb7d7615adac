//! Functions as CREATE FUNCTION has them: their arguments and results, as PostgreSQL's `ruleutils.c` writes them.
//!
//! The arguments that a function returns (OUT) come after all others in every function of the catalog.

use super::unknown_number;
use crate::functions::Implementations;
use crate::functions::strings::quoting::quote_identifier;
use crate::pg_catalog::{FunctionEntry, FunctionId, pg_catalog};
use crate::types::type_names::type_name;
use crate::{SqlError, Value};

/// Texts of functions.
pub const FUNCTIONS: Implementations = &[
    ("pg_get_function_arguments", |arguments, _| {
        of_function(&arguments[0], |function| Some(argument_list(function, Defaults::Shown)))
    }),
    ("pg_get_function_identity_arguments", |arguments, _| {
        of_function(&arguments[0], |function| Some(argument_list(function, Defaults::Hidden)))
    }),
    ("pg_get_function_result", |arguments, _| of_function(&arguments[0], |function| Some(result(function)))),
    ("pg_get_function_arg_default", |arguments, _| {
        of_function(&arguments[0], |function| {
            let position = usize::try_from(arguments[1].as_int4()).ok()?.checked_sub(1)?;
            default_of(function, position).map(str::to_owned)
        })
    }),
];

/// Whether defaults of arguments are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defaults {
    Shown,
    Hidden,
}

/// A text of a function; null if there is none of the number.
fn of_function(number: &Value, text: impl FnOnce(&FunctionEntry) -> Option<String>) -> Result<Value, SqlError> {
    let number = number.as_oid();
    match pg_catalog().find_function(FunctionId(number)) {
        Some(function) => Ok(text(function).map_or(Value::Null, Value::text)),
        None => unknown_number(number).map(|_| Value::Null),
    }
}

fn argument_list(function: &FunctionEntry, defaults: Defaults) -> String {
    let mut shown: Vec<String> = (0..function.arguments.len()).map(|at| argument(function, at, defaults)).collect();
    let direct = pg_catalog().aggregate(function.id).filter(|_| function.is_ordered_set());
    let Some(direct) = direct.map(|aggregate| aggregate.direct_arguments) else {
        let returned = function.columns.iter().map(|(name, id)| {
            let name = if name.is_empty() { String::new() } else { format!("{} ", quote_identifier(name)) };
            format!("OUT {name}{}", type_name(*id))
        });
        shown.extend(returned);
        return shown.join(", ");
    };
    // VARIADIC "any" stands for direct arguments and for those of the order.
    if direct == shown.len() {
        shown.extend(shown.last().cloned());
    }
    let (before, order) = shown.split_at(direct);
    let order = format!("ORDER BY {}", order.join(", "));
    if before.is_empty() { order } else { format!("{} {order}", before.join(", ")) }
}

fn argument(function: &FunctionEntry, at: usize, defaults: Defaults) -> String {
    let is_variadic = function.variadic.is_some() && at + 1 == function.arguments.len();
    let mut text = String::from(if is_variadic { "VARIADIC " } else { "" });
    if let Some(name) = function.argument_names.get(at).filter(|name| **name != "-") {
        text.push_str(&quote_identifier(name));
        text.push(' ');
    }
    text.push_str(&type_name(function.arguments[at]));
    if defaults == Defaults::Shown
        && let Some(default) = default_of(function, at)
    {
        text.push_str(" DEFAULT ");
        text.push_str(default);
    }
    text
}

fn default_of(function: &FunctionEntry, at: usize) -> Option<&'static str> {
    at.checked_sub(function.arguments_min()).and_then(|at| function.defaults.get(at)).copied()
}

fn result(function: &FunctionEntry) -> String {
    let set = if function.returns_set { "SETOF " } else { "" };
    format!("{set}{}", type_name(function.result))
}
