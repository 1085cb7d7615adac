//! Columns of values as texts.
//!
//! COPY TO and casts to text write values this way, with the output functions of `braid-sql`.
//!
//! | module | contents |
//! |---|---|
//! | [`shown_digits`] | digits of quotients |
//! | [`column_output`] | the values of an Arrow array, whatever its type |

mod column_output;
pub mod shown_digits;

use arrow::array::ArrayRef;
pub(crate) use braid_sql::output::{datetime, numbers};
pub(crate) use column_output::{BooleanStyle, ColumnOutput};
use datafusion::common::ScalarValue;

use crate::EngineError;
use crate::input::datetime::utc;

/// The text that a value is written with, its booleans as words.
pub(crate) fn text_of(value: &ScalarValue) -> Result<String, EngineError> {
    let array: ArrayRef = value.to_array()?;
    let mut text = String::new();
    ColumnOutput::new(&array, utc(), BooleanStyle::Word)?.write(0, &mut text)?;
    Ok(text)
}
