//! From and to strings.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use arrow::datatypes::DataType;
use braid_sql::functions::text_input::ReadingSession;
use braid_storage::ColumnType;

use crate::EngineError;
use crate::arrow_cast::strict_cast;
use crate::input::ColumnInput;
use crate::input::bytes::{fit_char, fit_name, fit_varchar};
use crate::output::{BooleanStyle, ColumnOutput};

/// Strings read as values of `target`, by PostgreSQL's input functions.
pub(crate) fn from_text(
    array: &ArrayRef,
    target: ColumnType,
    session: &ReadingSession,
) -> Result<ArrayRef, EngineError> {
    let views = strict_cast(array, &DataType::Utf8View)?;
    match target {
        ColumnType::Text | ColumnType::UnlimitedVarchar => return Ok(views),
        ColumnType::Varchar(_) | ColumnType::Char(_) | ColumnType::Name => return fit_length(&views, target),
        _ => {}
    }
    let mut column = ColumnInput::new(target, *session);
    for text in views.as_string_view() {
        match text {
            Some(text) => column.append(text)?,
            None => column.append_null(),
        }
    }
    Ok(column.finish())
}

/// Values written as strings, by PostgreSQL's output functions.
pub(crate) fn to_text(array: &ArrayRef, target: ColumnType, session: &ReadingSession) -> Result<ArrayRef, EngineError> {
    let texts = written(&ColumnOutput::new(array, *session, BooleanStyle::Word)?, array)?;
    fit_length(&texts, target)
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
fn fit_length(views: &ArrayRef, target: ColumnType) -> Result<ArrayRef, EngineError> {
    let texts = views.as_string_view();
    let mut all_fit = true;
    for text in texts.iter().flatten() {
        all_fit &= fit(text, target)?.len() == text.len();
    }
    if all_fit {
        return Ok(views.clone());
    }
    let mut fitted = StringViewBuilder::with_capacity(texts.len());
    for text in texts {
        match text {
            Some(text) => fitted.append_value(fit(text, target)?),
            None => fitted.append_null(),
        }
    }
    Ok(Arc::new(fitted.finish()))
}

fn fit(text: &str, target: ColumnType) -> Result<&str, EngineError> {
    match target {
        ColumnType::Varchar(n) => Ok(fit_varchar(text, n)?),
        ColumnType::Char(n) => Ok(fit_char(text, n)?),
        ColumnType::Name => Ok(fit_name(text)),
        _ => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{BooleanArray, StringArray};
    use arrow::datatypes::Int32Type;

    use super::*;
    use crate::conversion::convert;

    fn texts(values: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringArray::from(values.to_vec()))
    }

    #[test]
    fn strings_read_as_values() {
        let array = convert(&texts(&[Some(" 7 "), None]), ColumnType::Integer, &ReadingSession::of_output()).unwrap();
        assert_eq!(array.as_primitive::<Int32Type>().iter().collect::<Vec<_>>(), [Some(7), None]);
        let error = convert(&texts(&[Some("x")]), ColumnType::Integer, &ReadingSession::of_output()).unwrap_err();
        assert_eq!(error.message(), "invalid input syntax for type integer: \"x\"");
    }

    #[test]
    fn what_is_too_long_is_refused() {
        let array = texts(&[Some("abcd"), Some("ab"), None]);
        let target = ColumnType::Varchar(3);
        assert_eq!(convert(&array, target, &ReadingSession::of_output()).unwrap_err().sqlstate(), "22001");
        let padded = convert(&texts(&[Some("ab ")]), ColumnType::Char(5), &ReadingSession::of_output()).unwrap();
        assert_eq!(padded.as_string_view().value(0), "ab");
    }

    #[test]
    fn values_write_as_strings() {
        let booleans: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), None]));
        let array = convert(&booleans, ColumnType::Text, &ReadingSession::of_output()).unwrap();
        assert_eq!(array.as_string_view().iter().collect::<Vec<_>>(), [Some("true"), None]);
    }
}
