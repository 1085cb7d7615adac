//! Values of expressions as columns that the server sends.
//!
//! | module | contents |
//! |---|---|
//! | [`arrow_columns`] | values as arrays of Arrow, with the SQL type in the field's metadata |
//! | [`texts_with_bytes`] | columns of types whose texts do not tell the binary format |
//! | [`shown_columns`] | the columns of a query's rows: as operators make them, and as the client gets them |

use arrow::array::{ArrayRef, BinaryViewBuilder};
use braid_plan::values::codec::encode;
use braid_sql::{SqlError, Value};

pub(crate) mod arrow_columns;
pub(crate) mod shown_columns;
pub(crate) mod texts_with_bytes;

pub(crate) use shown_columns::ShownColumns;

/// Values as a column stores those of types that only the front end reads.
///
/// # Errors
/// When a value has no bytes, because it is nested too deeply.
pub(crate) fn encoded_array(values: impl IntoIterator<Item = Value>) -> Result<ArrayRef, SqlError> {
    let (mut array, mut bytes) = (BinaryViewBuilder::new(), Vec::new());
    for value in values {
        if value.is_null() {
            array.append_null();
            continue;
        }
        bytes.clear();
        encode(&value, &mut bytes)?;
        array.append_value(&bytes);
    }
    Ok(std::sync::Arc::new(array.finish()))
}
