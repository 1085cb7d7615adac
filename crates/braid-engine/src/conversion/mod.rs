//! Values of one type as values of another, as PostgreSQL converts them on assignment.
//!
//! What COPY reads from Parquet files and what INSERT stores goes through here. Arrow's casts truncate where PostgreSQL rounds,
//! know nothing of `varchar(n)`, and write timestamps with a `T`.
//!
//! | module | what lives there |
//! |---|---|
//! | [`numeric`] | to integers and numerics: rounding and ranges |
//! | [`text`] | from and to strings |
//! | [`temporal`] | between dates and timestamps |

mod numeric;
mod temporal;
mod text;

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, new_null_array};
use arrow::datatypes::{DataType, Decimal128Type};
use braid_sql::functions::text_input::ReadingSession;
use braid_storage::{ColumnType, encoded_numerics};

use crate::arrow_cast::strict_cast;
use crate::{EngineError, SqlState};
use braid_catalog::column_types::{is_without_precision, sql_type_of};
use braid_sql::pg_catalog::TypeId;
use braid_sql::types::type_names::format_type;

/// `array` as values of `target`. The session's zone tells local from universal time, and texts are in its formats.
pub(crate) fn convert(array: &ArrayRef, target: ColumnType, session: &ReadingSession) -> Result<ArrayRef, EngineError> {
    let source = array.data_type();
    if let DataType::Dictionary(_, values) = source {
        return convert(&strict_cast(array, values)?, target, session);
    }
    if *source == DataType::Null {
        return Ok(new_null_array(&target.arrow(), array.len()));
    }
    if is_string(source) {
        return text::from_text(array, target, session);
    }
    match target {
        ColumnType::Text
        | ColumnType::Varchar(_)
        | ColumnType::UnlimitedVarchar
        | ColumnType::Char(_)
        | ColumnType::Name => text::to_text(array, target, session),
        ColumnType::RoundedTime(_) | ColumnType::RoundedTimestamp(_) | ColumnType::RoundedTimestampTz(_) => {
            let unrounded = match target {
                ColumnType::RoundedTime(_) => ColumnType::Time,
                ColumnType::RoundedTimestamp(_) => ColumnType::Timestamp,
                _ => ColumnType::TimestampTz,
            };
            temporal::rounded(&convert(array, unrounded, session)?, target)
        }
        _ if *source == target.arrow() => Ok(array.clone()),
        ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt if source.is_numeric() => {
            numeric::to_integer(array, target)
        }
        ColumnType::Real | ColumnType::Double if source.is_numeric() => numeric::to_float(array, target),
        ColumnType::Numeric { precision, scale } if source.is_numeric() => {
            let converted = numeric::to_numeric(array, precision, scale)?;
            if is_without_precision(target) {
                numeric::check_digits_kept(array, scale)?;
            }
            Ok(converted)
        }
        ColumnType::Date | ColumnType::Timestamp | ColumnType::TimestampTz if is_instant(source) => {
            temporal::to_instant(array, target, &session.zone)
        }
        ColumnType::Interval if matches!(source, DataType::Interval(_) | DataType::Duration(_)) => {
            Ok(strict_cast(array, &target.arrow())?)
        }
        ColumnType::Time if matches!(source, DataType::Time32(_) | DataType::Time64(_)) => {
            Ok(strict_cast(array, &target.arrow())?)
        }
        ColumnType::Encoded { modifier: -1, .. } if target.is_encoded_numeric() && is_unscaled(source) => {
            Ok(Arc::new(encoded_numerics(array.as_primitive::<Decimal128Type>())))
        }
        ColumnType::Encoded { .. } if source.is_numeric() && sql_type_of(target).id == TypeId::NUMERIC => {
            let exact = ReadingSession::of_output();
            text::from_text(&text::to_text(array, ColumnType::Text, &exact)?, target, session)
        }
        ColumnType::Bytea if is_binary(source) => Ok(strict_cast(array, &target.arrow())?),
        _ => Err(cannot_convert(source, target)),
    }
}

/// PostgreSQL's error for types between which there is no assignment cast.
fn cannot_convert(source: &DataType, target: ColumnType) -> EngineError {
    let target = format_type(sql_type_of(target));
    let message = format!("column is of type {target} but expression is of type {}", name_of(source));
    EngineError::new(SqlState::DatatypeMismatch, message).with_hint("You will need to rewrite or cast the expression.")
}

/// PostgreSQL's name of an Arrow type, for messages.
fn name_of(data_type: &DataType) -> String {
    match crate::sql_types::column_type_of_arrow(data_type) {
        Some(ColumnType::Numeric { .. }) => "numeric".to_owned(),
        Some(column_type) => column_type.to_string(),
        None => data_type.to_string(),
    }
}

fn is_string(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

pub(crate) fn is_binary(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_))
}

/// Integers of 128 bits with a number of digits after the point.
fn is_unscaled(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Decimal128(_, 0..))
}

/// Points in time.
fn is_instant(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..))
}
