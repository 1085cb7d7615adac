//! The function that evaluates explicit casts in queries.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::timezone::Tz;
use arrow::datatypes::{DataType, FieldRef};
use braid_storage::ColumnType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::text::quotients_to_text;
use super::{Strength, convert, is_string};
use crate::input::datetime::utc;
use crate::output::shown_digits::least_digits;
use crate::sql_types::field_of;

/// `CAST(x AS target)` as PostgreSQL does it. The session's time zone is part of it: the same cast under another zone
/// is another function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct CastFunction {
    target: ColumnType,
    zone_name: String,
    signature: Signature,
}

impl CastFunction {
    /// A cast to `target` in the time zone called `zone_name`.
    pub fn new(target: ColumnType, zone_name: &str) -> Self {
        Self { target, zone_name: zone_name.to_owned(), signature: Signature::any(1, Volatility::Immutable) }
    }

    fn zone(&self) -> Tz {
        self.zone_name.parse().unwrap_or_else(|_| utc())
    }
}

impl ScalarUDFImpl for CastFunction {
    fn name(&self) -> &str {
        "cast"
    }

    /// Casts do not show in the names of columns.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(args.iter().map(|arg| arg.schema_name().to_string()).collect())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.target.arrow())
    }

    /// Remembers the length of `varchar(n)`, for CREATE TABLE AS.
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(field_of("cast", self.target, nullable))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let zone = self.zone();
        let least_digits = args.arg_fields.first().and_then(|field| least_digits(field));
        let to_target = |array: &ArrayRef| match least_digits {
            Some(digits) if is_string(&self.target.arrow()) => {
                convert(&quotients_to_text(array, digits)?, self.target, Strength::Explicit, &zone)
            }
            _ => convert(array, self.target, Strength::Explicit, &zone),
        };
        match &args.args[..] {
            [ColumnarValue::Scalar(value)] => {
                let converted = to_target(&value.to_array()?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&converted, 0)?))
            }
            [ColumnarValue::Array(array)] => Ok(ColumnarValue::Array(Arc::clone(&to_target(array)?))),
            _ => Err(crate::EngineError::internal("a cast has one argument").into()),
        }
    }
}
