//! `encode(bytea, format)`: hex, base64 in lines of 76 characters, and PostgreSQL's escapes. And `||` of two bytea, which
//! DataFusion would take for texts.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{AsArray, BinaryViewArray, StringArray};
use arrow::datatypes::DataType;
use braid_storage::ColumnType;
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use crate::arrow_cast::strict_cast;
use crate::{EngineError, SqlState};

/// The function.
pub(crate) fn encode_function() -> ScalarUDF {
    let signature = Signature::exact(vec![DataType::BinaryView, DataType::Utf8], Volatility::Immutable);
    ScalarUDF::from(Encode { signature })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Encode {
    signature: Signature,
}

impl ScalarUDFImpl for Encode {
    fn name(&self) -> &str {
        "encode"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [bytes, formats] = &arrays[..] else {
            return Err(EngineError::internal("encode has two arguments").into());
        };
        let bytes = strict_cast(bytes, &ColumnType::Bytea.arrow())?;
        let rows = bytes.as_binary_view().iter().zip(formats.as_string::<i32>());
        let encoded = rows.map(|row| match row {
            (Some(bytes), Some(format)) => encode(bytes, format).map(Some),
            _ => Ok(None),
        });
        Ok(ColumnarValue::Array(Arc::new(encoded.collect::<Result<StringArray, EngineError>>()?)))
    }
}

/// `bytea || bytea`.
pub(crate) fn byte_concatenation() -> ScalarUDF {
    let signature = Signature::exact(vec![DataType::BinaryView; 2], Volatility::Immutable);
    ScalarUDF::from(ByteConcatenation { signature })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ByteConcatenation {
    signature: Signature,
}

impl ScalarUDFImpl for ByteConcatenation {
    fn name(&self) -> &str {
        "bytea_concatenation"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::BinaryView)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [left, right] = &arrays[..] else {
            return Err(EngineError::internal("an operator has two sides").into());
        };
        let rows = left.as_binary_view().iter().zip(right.as_binary_view());
        let joined = rows.map(|(left, right)| Some([left?, right?].concat()));
        Ok(ColumnarValue::Array(Arc::new(joined.collect::<BinaryViewArray>())))
    }
}

fn encode(bytes: &[u8], format: &str) -> Result<String, EngineError> {
    match format.to_ascii_lowercase().as_str() {
        "hex" => Ok(bytes.iter().fold(String::new(), |mut out, byte| {
            write!(out, "{byte:02x}").expect("a String takes everything");
            out
        })),
        "base64" => Ok(base64(bytes)),
        "escape" => Ok(escaped(bytes)),
        _ => {
            let message = format!("unrecognized encoding: \"{format}\"");
            Err(EngineError::new(SqlState::InvalidParameterValue, message))
        }
    }
}

/// RFC 2045: four characters for three bytes, a new line after 76.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const LINE_BYTES: usize = 76 / 4 * 3;
    let mut out = String::new();
    for (at, line) in bytes.chunks(LINE_BYTES).enumerate() {
        if at > 0 {
            out.push('\n');
        }
        for group in line.chunks(3) {
            let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
            for letter in 0..4 {
                let index = (bits >> (18 - 6 * letter) & 63) as usize;
                out.push(if letter <= group.len() { char::from(LETTERS[index]) } else { '=' });
            }
        }
    }
    // A full line ends with a new line.
    if !bytes.is_empty() && bytes.len().is_multiple_of(LINE_BYTES) {
        out.push('\n');
    }
    out
}

fn escaped(bytes: &[u8]) -> String {
    let mut out = String::new();
    for byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            0 | 0x80.. => write!(out, "\\{byte:03o}").expect("a String takes everything"),
            byte => out.push(char::from(*byte)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every expected value was PostgreSQL 15's answer.
    #[test]
    fn bytes_encode_as_in_postgresql() {
        for (bytes, format, expected) in [
            (&b"abc"[..], "hex", "616263"),
            (b"a", "base64", "YQ=="),
            (b"ab", "base64", "YWI="),
            (b"abc", "base64", "YWJj"),
            (b"\x00\xffA\\", "escape", "\\000\\377A\\\\"),
        ] {
            assert_eq!(encode(bytes, format).unwrap(), expected);
        }
        assert_eq!(base64(&[b'a'; 58]).lines().map(str::len).collect::<Vec<_>>(), [76, 4]);
        assert!(encode(b"", "rot13").is_err());
    }
}
