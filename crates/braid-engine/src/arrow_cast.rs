//! Arrow's cast, as this crate uses it.

use arrow::array::ArrayRef;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

/// Arrow's cast, with errors: its default makes nulls of what does not fit.
pub(crate) fn strict_cast(array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
    cast_with_options(array, data_type, &CastOptions { safe: false, ..CastOptions::default() })
}
