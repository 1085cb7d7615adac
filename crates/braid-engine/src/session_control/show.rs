//! SHOW.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use sqlparser::ast::Ident;

use crate::settings::{Definition, definition, listed_definitions, unknown_setting};
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome};

/// SHOW.
pub(crate) fn show(context: &StatementContext, variable: &[Ident]) -> Result<Outcome, EngineError> {
    let schema = show_schema(variable);
    let columns: Vec<ArrayRef> = if is_all(variable) {
        let texts = |text: &dyn Fn(&Definition) -> String| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(listed_definitions().map(text)))
        };
        vec![
            texts(&|definition| definition.name.to_owned()),
            texts(&|definition| context.shown(definition)),
            texts(&|definition| definition.description.to_owned()),
        ]
    } else {
        let name = words(variable);
        let value = context.setting(&name).ok_or_else(|| unknown_setting(&name))?;
        vec![Arc::new(StringArray::from(vec![value]))]
    };
    Outcome::batch(schema, columns, "SHOW")
}

/// The columns of SHOW's result.
pub(crate) fn show_schema(variable: &[Ident]) -> SchemaRef {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    let fields = if is_all(variable) {
        vec![text("name"), text("setting"), text("description")]
    } else {
        let words = words(variable);
        vec![text(definition(&words).map_or(words.as_str(), |definition| definition.name))]
    };
    Arc::new(Schema::new(fields))
}

fn is_all(variable: &[Ident]) -> bool {
    matches!(variable, [word] if word.value.eq_ignore_ascii_case("all"))
}

/// The name of a setting from the parser's words, which may stand for `TIME ZONE` and for `braid.scan_policy`.
fn words(variable: &[Ident]) -> String {
    let words: Vec<&str> = variable.iter().map(|word| word.value.as_str()).collect();
    let spaced = words.join(" ");
    if definition(&spaced).is_ok() { spaced } else { words.join(".").replace("...", ".") }
}
