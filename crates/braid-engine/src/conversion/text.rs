//! From and to strings.

use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use arrow::datatypes::DataType;
use braid_storage::ColumnType;

use super::Strength;
use crate::EngineError;
use crate::arrow_cast::strict_cast;
use crate::input::ColumnInput;
use crate::input::bytes::{fit_char, fit_varchar};
use crate::input::datetime::utc;
use crate::output::{BooleanStyle, ColumnOutput};

/// Strings read as values of `target`, by PostgreSQL's input functions.
pub(crate) fn from_text(
    array: &ArrayRef,
    target: ColumnType,
    strength: Strength,
    zone: &Tz,
) -> Result<ArrayRef, EngineError> {
    let views = strict_cast(array, &DataType::Utf8View)?;
    match target {
        ColumnType::Text => return Ok(views),
        ColumnType::Varchar(_) | ColumnType::Char(_) => return fit_length(&views, target, strength),
        _ => {}
    }
    let mut column = ColumnInput::new(target, *zone);
    for text in views.as_string_view() {
        match text {
            Some(text) => column.append(text)?,
            None => column.append_null(),
        }
    }
    Ok(column.finish())
}

/// Values written as strings, by PostgreSQL's output functions.
pub(crate) fn to_text(
    array: &ArrayRef,
    target: ColumnType,
    strength: Strength,
    zone: &Tz,
) -> Result<ArrayRef, EngineError> {
    let texts = written(&ColumnOutput::new(array, *zone, BooleanStyle::Word)?, array)?;
    fit_length(&texts, target, strength)
}

/// Quotients whose operands have at most `least_digits` after the point, written as strings.
pub(crate) fn quotients_to_text(array: &ArrayRef, least_digits: u8) -> Result<ArrayRef, EngineError> {
    let output = ColumnOutput::new(array, utc(), BooleanStyle::Word)?;
    written(&output.with_least_digits(Some(least_digits)), array)
}

fn written(output: &ColumnOutput, array: &ArrayRef) -> Result<ArrayRef, EngineError> {
    let mut views = StringViewBuilder::with_capacity(array.len());
    let mut text = String::new();
    for row in 0..array.len() {
        if output.is_null(row) {
            views.append_null();
        } else {
            text.clear();
            output.write(row, &mut text)?;
            views.append_value(&text);
        }
    }
    Ok(Arc::new(views.finish()))
}

/// Brings strings to the length of `varchar(n)` or `char(n)`. Most fit: then nothing is copied.
fn fit_length(views: &ArrayRef, target: ColumnType, strength: Strength) -> Result<ArrayRef, EngineError> {
    let texts = views.as_string_view();
    let mut all_fit = true;
    for text in texts.iter().flatten() {
        all_fit &= fit(text, target, strength)?.len() == text.len();
    }
    if all_fit {
        return Ok(views.clone());
    }
    let mut fitted = StringViewBuilder::with_capacity(texts.len());
    for text in texts {
        match text {
            Some(text) => fitted.append_value(fit(text, target, strength)?),
            None => fitted.append_null(),
        }
    }
    Ok(Arc::new(fitted.finish()))
}

fn fit(text: &str, target: ColumnType, strength: Strength) -> Result<&str, EngineError> {
    match (target, strength) {
        (ColumnType::Varchar(n), Strength::Assignment) => Ok(fit_varchar(text, n)?),
        (ColumnType::Varchar(n), Strength::Explicit) => Ok(cut(text, n)),
        (ColumnType::Char(n), Strength::Assignment) => Ok(fit_char(text, n)?),
        (ColumnType::Char(n), Strength::Explicit) => Ok(cut(text, n).trim_end_matches(' ')),
        _ => Ok(text),
    }
}

/// The first `length_max` characters.
fn cut(text: &str, length_max: u32) -> &str {
    match text.char_indices().nth(length_max as usize) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{BooleanArray, StringArray};
    use arrow::datatypes::Int32Type;

    use super::*;
    use crate::conversion::convert;
    use crate::input::datetime::utc;

    fn texts(values: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringArray::from(values.to_vec()))
    }

    #[test]
    fn strings_read_as_values() {
        let array = convert(&texts(&[Some(" 7 "), None]), ColumnType::Integer, Strength::Explicit, &utc()).unwrap();
        assert_eq!(array.as_primitive::<Int32Type>().iter().collect::<Vec<_>>(), [Some(7), None]);
        let error = convert(&texts(&[Some("x")]), ColumnType::Integer, Strength::Explicit, &utc()).unwrap_err();
        assert_eq!(error.message(), "invalid input syntax for type integer: \"x\"");
    }

    #[test]
    fn an_assignment_refuses_what_a_cast_cuts() {
        let array = texts(&[Some("abcd"), Some("ab"), None]);
        let target = ColumnType::Varchar(3);
        assert_eq!(convert(&array, target, Strength::Assignment, &utc()).unwrap_err().sqlstate(), "22001");
        let cut = convert(&array, target, Strength::Explicit, &utc()).unwrap();
        assert_eq!(cut.as_string_view().iter().collect::<Vec<_>>(), [Some("abc"), Some("ab"), None]);
        let padded = convert(&texts(&[Some("ab ")]), ColumnType::Char(5), Strength::Assignment, &utc()).unwrap();
        assert_eq!(padded.as_string_view().value(0), "ab");
    }

    #[test]
    fn values_write_as_strings() {
        let booleans: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), None]));
        let array = convert(&booleans, ColumnType::Text, Strength::Explicit, &utc()).unwrap();
        assert_eq!(array.as_string_view().iter().collect::<Vec<_>>(), [Some("true"), None]);
    }
}
