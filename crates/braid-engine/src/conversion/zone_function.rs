//! `AT TIME ZONE`, which PostgreSQL spells `timezone(zone, timestamp)` as a function.
//!
//! Of a plain timestamp it makes the instant at which a clock in that zone shows it; of an instant, what that clock
//! shows. DataFusion's own only relabels.

use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::array::{Array, ArrayRef, AsArray, new_null_array};
use arrow::datatypes::DataType;
use braid_storage::ColumnType;
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use super::temporal::to_instant;
use crate::arrow_cast::strict_cast;
use crate::{EngineError, SqlState};

/// The function's name.
pub(crate) const ZONE_FUNCTION: &str = "timezone";

/// The function.
pub(crate) fn zone_function() -> ScalarUDF {
    ScalarUDF::from(ZoneFunction { signature: Signature::any(2, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ZoneFunction {
    signature: Signature,
}

/// Instants become plain timestamps, everything else becomes an instant.
fn result_of(source: &DataType) -> ColumnType {
    if matches!(source, DataType::Timestamp(_, Some(_))) { ColumnType::Timestamp } else { ColumnType::TimestampTz }
}

impl ScalarUDFImpl for ZoneFunction {
    fn name(&self) -> &str {
        ZONE_FUNCTION
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types {
            [_, source] => Ok(result_of(source).arrow()),
            _ => Err(EngineError::internal("timezone has two arguments").into()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [zones, instants] = &args.args[..] else {
            return Err(EngineError::internal("timezone has two arguments").into());
        };
        let ColumnarValue::Scalar(zone) = zones else {
            return Err(EngineError::unsupported("a time zone that is not a constant is not supported").into());
        };
        let zones = strict_cast(&zone.to_array()?, &DataType::Utf8View)?;
        let instants = instants.to_array(args.number_rows)?;
        let target = result_of(instants.data_type());
        if zones.is_null(0) {
            return Ok(ColumnarValue::Array(new_null_array(&target.arrow(), args.number_rows)));
        }
        let zone = parse_zone(zones.as_string_view().value(0))?;
        let source = as_timestamps(&instants)?;
        Ok(ColumnarValue::Array(to_instant(&source, target, &zone)?))
    }
}

/// Strings and dates are read as plain timestamps.
fn as_timestamps(array: &ArrayRef) -> Result<ArrayRef, EngineError> {
    match array.data_type() {
        DataType::Timestamp(..) => Ok(Arc::clone(array)),
        _ => Ok(strict_cast(array, &ColumnType::Timestamp.arrow())?),
    }
}

/// An offset is read as POSIX has it: `+02` lies west of Greenwich.
fn parse_zone(name: &str) -> Result<Tz, EngineError> {
    let turned = match name.as_bytes().first() {
        Some(b'+') => name.replacen('+', "-", 1),
        Some(b'-') => name.replacen('-', "+", 1),
        _ => name.to_owned(),
    };
    turned
        .parse()
        .map_err(|_| EngineError::new(SqlState::InvalidParameterValue, format!("time zone \"{name}\" not recognized")))
}
