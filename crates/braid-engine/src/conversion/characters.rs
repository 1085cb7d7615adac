//! `chr(integer)`: the character of a code, with PostgreSQL's errors for codes without one.

use std::sync::Arc;

use arrow::array::{AsArray, StringArray};
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use crate::{EngineError, SqlState};

/// The function.
pub(crate) fn chr_function() -> ScalarUDF {
    ScalarUDF::from(Chr { signature: Signature::exact(vec![DataType::Int64], Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Chr {
    signature: Signature,
}

impl ScalarUDFImpl for Chr {
    fn name(&self) -> &str {
        "chr"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [codes] = &arrays[..] else { return Err(EngineError::internal("chr has one argument").into()) };
        let codes = codes.as_primitive::<Int64Type>().iter();
        let characters = codes.map(|code| code.map(character).transpose());
        Ok(ColumnarValue::Array(Arc::new(characters.collect::<Result<StringArray, EngineError>>()?)))
    }
}

fn character(code: i64) -> Result<String, EngineError> {
    let limit = |message: String| Err(EngineError::new(SqlState::ProgramLimitExceeded, message));
    match u32::try_from(code) {
        _ if code < 0 => Err(EngineError::new(SqlState::InvalidParameterValue, "character number must be positive")),
        Ok(0) => limit("null character not permitted".to_owned()),
        Ok(unicode) if unicode <= u32::from(char::MAX) => match char::from_u32(unicode) {
            Some(character) => Ok(character.to_string()),
            None => limit(format!("requested character not valid for encoding: {code}")),
        },
        _ => limit(format!("requested character too large for encoding: {code}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every answer was PostgreSQL 15's.
    #[test]
    fn codes_without_a_character_are_errors() {
        for (code, expected) in [
            (65, Ok("A")),
            (8364, Ok("€")),
            (0, Err("54000")),
            (-1, Err("22023")),
            (0xD800, Err("54000")),
            (0x10_FFFF, Ok("\u{10FFFF}")),
            (0x11_0000, Err("54000")),
        ] {
            let answer = character(code).map_err(|error| error.sqlstate().to_owned());
            assert_eq!(answer.as_deref().map_err(String::as_str), expected, "{code}");
        }
    }
}
