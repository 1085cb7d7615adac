//! Values of one type as values of another, as PostgreSQL converts them.
//!
//! DataFusion's casts are Arrow's: they truncate where PostgreSQL rounds, know nothing of `varchar(n)`, and write
//! timestamps with a `T`. What INSERT and COPY assign, and what queries cast explicitly, goes through here instead.
//! PostgreSQL knows two strengths: an *assignment* fails where an *explicit* cast may cut a string or turn a boolean
//! into a number.
//!
//! | module | what lives there |
//! |---|---|
//! | [`numeric`] | to integers and numerics: rounding and ranges |
//! | [`text`] | from and to strings |
//! | [`temporal`] | between dates and timestamps |
//! | [`zone_function`] | AT TIME ZONE |
//! | [`encoding`] | `encode` |
//! | [`characters`] | `chr` |
//! | [`letter_case`] | `upper` and `lower` |
//! | [`zoned_sum`] | instants plus intervals |
//! | [`date_fields`] | `extract` and `date_part` |
//! | [`cast_function`] | explicit casts in queries: which are ours, and the function that evaluates them |

pub(crate) mod cast_function;
pub(crate) mod characters;
pub(crate) mod date_fields;
pub(crate) mod encoding;
pub(crate) mod letter_case;
pub(crate) mod numeric;
pub(crate) mod temporal;
pub(crate) mod text;
pub(crate) mod zone_function;
pub(crate) mod zoned_sum;

use arrow::array::timezone::Tz;
use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::datatypes::DataType;
use braid_storage::ColumnType;

use crate::arrow_cast::strict_cast;
use crate::sql_types::NUMERIC_DEFAULT;
use crate::{EngineError, SqlState};

/// How far a conversion may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Strength {
    /// INSERT, COPY: what does not fit is an error.
    Assignment,
    /// `CAST`, `::`: strings are cut, booleans and integers convert.
    Explicit,
}

/// `array` as values of `target`. `zone` is the session's: it tells local from universal time.
pub(crate) fn convert(
    array: &ArrayRef,
    target: ColumnType,
    strength: Strength,
    zone: &Tz,
) -> Result<ArrayRef, EngineError> {
    let source = array.data_type();
    if let DataType::Dictionary(_, values) = source {
        return convert(&strict_cast(array, values)?, target, strength, zone);
    }
    if *source == DataType::Null {
        return Ok(new_null_array(&target.arrow(), array.len()));
    }
    if is_string(source) {
        return text::from_text(array, target, strength, zone);
    }
    match target {
        ColumnType::Text | ColumnType::Varchar(_) | ColumnType::Char(_) => text::to_text(array, target, strength, zone),
        _ if *source == target.arrow() => Ok(array.clone()),
        ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt if source.is_numeric() => {
            numeric::to_integer(array, target)
        }
        ColumnType::Integer if *source == DataType::Boolean && strength == Strength::Explicit => {
            Ok(strict_cast(array, &DataType::Int32)?)
        }
        ColumnType::Boolean if *source == DataType::Int32 && strength == Strength::Explicit => {
            Ok(strict_cast(array, &DataType::Boolean)?)
        }
        ColumnType::Real | ColumnType::Double if source.is_numeric() => numeric::to_float(array, target),
        ColumnType::Numeric { precision, scale } if source.is_numeric() => {
            let converted = numeric::to_numeric(array, precision, scale)?;
            if target == NUMERIC_DEFAULT && strength == Strength::Assignment {
                numeric::check_digits_kept(array, scale)?;
            }
            Ok(converted)
        }
        ColumnType::Date | ColumnType::Timestamp | ColumnType::TimestampTz if is_instant(source) => {
            temporal::to_instant(array, target, zone)
        }
        ColumnType::Interval if matches!(source, DataType::Interval(_) | DataType::Duration(_)) => {
            Ok(strict_cast(array, &target.arrow())?)
        }
        ColumnType::Bytea if is_binary(source) => Ok(strict_cast(array, &target.arrow())?),
        _ => Err(cannot_convert(source, target, strength)),
    }
}

/// PostgreSQL's error for types between which there is no conversion of this strength.
fn cannot_convert(source: &DataType, target: ColumnType, strength: Strength) -> EngineError {
    let source = name_of(source);
    match strength {
        Strength::Explicit => {
            EngineError::new(SqlState::CannotCoerce, format!("cannot cast type {source} to {target}"))
        }
        Strength::Assignment => {
            let message = format!("column is of type {target} but expression is of type {source}");
            EngineError::new(SqlState::DatatypeMismatch, message)
                .with_hint("You will need to rewrite or cast the expression.")
        }
    }
}

/// PostgreSQL's name of an Arrow type, for messages.
pub(crate) fn name_of(data_type: &DataType) -> String {
    match crate::sql_types::column_type_of_arrow(data_type) {
        Some(ColumnType::Numeric { .. }) => "numeric".to_owned(),
        Some(column_type) => column_type.to_string(),
        None => data_type.to_string(),
    }
}

pub(crate) fn is_string(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_binary(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_))
}

/// Points in time.
fn is_instant(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..))
}
