//! Parts of a json, as they are written: `->`, `->>`, `#>`, `#>>`.
//!
//! PostgreSQL reads the text once from its beginning, and notes what fits the path. So the last of several equal keys counts, and a
//! number from the end of an array is turned, once, into one from its beginning by the first array that it meets at its level, wherever
//! that is. The same is done here.

use crate::functions::Implementations;
use crate::input::json::{Part, PartKind, parse_document};
use crate::{SqlError, Value};

use super::access::path_number;

/// Parts of a json, as json and as text.
pub const FUNCTIONS: Implementations = &[
    ("json_object_field", |args, _| part(args, &[Step::key(&args[1])], false)),
    ("json_object_field_text", |args, _| part(args, &[Step::key(&args[1])], true)),
    ("json_array_element", |args, _| part(args, &[Step::number(&args[1])], false)),
    ("json_array_element_text", |args, _| part(args, &[Step::number(&args[1])], true)),
    ("json_extract_path", |args, _| at_path(args, false)),
    ("json_extract_path_text", |args, _| at_path(args, true)),
];

/// An element of a path.
struct Step<'a> {
    key: Option<&'a str>,
    number: Option<i32>,
}

impl<'a> Step<'a> {
    fn key(key: &'a Value) -> Self {
        Self { key: Some(key.as_text()), number: None }
    }

    fn number(number: &Value) -> Self {
        // The least integer stands for no number.
        Self { key: None, number: Some(number.as_int4()).filter(|number| *number != i32::MIN) }
    }
}

fn at_path<'a>(args: &'a [Value], wants_text: bool) -> Result<Value, SqlError> {
    let path = &args[1].as_array().values;
    if path.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let step = |step: &'a Value| {
        let number = path_number(step.as_text()).filter(|number| *number != i32::MIN);
        Step { key: Some(step.as_text()), number }
    };
    part(args, &path.iter().map(step).collect::<Vec<_>>(), wants_text)
}

fn part(args: &[Value], path: &[Step<'_>], wants_text: bool) -> Result<Value, SqlError> {
    let text = args[0].as_text();
    let document = parse_document(text)?;
    let mut search = Search { path, numbers: path.iter().map(|step| step.number).collect(), found: None };
    search.visit(&document, 0, true);
    let Some(found) = search.found else { return Ok(Value::Null) };
    Ok(match &found.kind {
        PartKind::Null if wants_text => Value::Null,
        PartKind::String(string) if wants_text => Value::text(&**string),
        // A scalar that stands alone keeps the blanks before it.
        PartKind::Array(_) | PartKind::Object(_) => Value::text(found.text),
        _ if path.is_empty() => Value::text(text.trim_end_matches([' ', '\t', '\n', '\r'])),
        _ => Value::text(found.text),
    })
}

/// A walk through a text.
struct Search<'p, 'd> {
    path: &'p [Step<'p>],
    /// The numbers of the path, of which those from an array's end are changed by the first array.
    numbers: Vec<Option<i32>>,
    found: Option<&'d Part<'d>>,
}

impl<'d> Search<'_, 'd> {
    /// A value at a level; `is_on_path` says whether the path leads to it.
    fn visit(&mut self, part: &'d Part<'d>, level: usize, is_on_path: bool) {
        if level == self.path.len() {
            if is_on_path {
                self.found = Some(part);
            }
            return;
        }
        match &part.kind {
            PartKind::Object(fields) => {
                let key = self.path[level].key;
                for (own, value) in fields {
                    self.visit(value, level + 1, is_on_path && key == Some(&**own));
                }
            }
            PartKind::Array(elements) => {
                if let Some(number) = self.numbers[level].filter(|number| *number < 0)
                    && number.unsigned_abs() as usize <= elements.len()
                {
                    self.numbers[level] = Some(number + elements.len() as i32);
                }
                for (at, element) in elements.iter().enumerate() {
                    let is_meant = self.numbers[level].is_some_and(|number| usize::try_from(number) == Ok(at));
                    self.visit(element, level + 1, is_on_path && is_meant);
                }
            }
            _ => {}
        }
    }
}
