//! `upper` and `lower`, one character for each, as PostgreSQL maps them by the C library: `upper('ß')` stays `ß`.
//!
//! Unicode's full mapping, which DataFusion uses, makes two characters of a few.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use super::strict_cast;
use crate::EngineError;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Letters {
    Upper,
    Lower,
}

/// The functions, in place of DataFusion's.
pub(crate) fn case_functions() -> [ScalarUDF; 2] {
    [Letters::Upper, Letters::Lower].map(|letters| {
        let signature = Signature::exact(vec![DataType::Utf8View], Volatility::Immutable);
        ScalarUDF::from(LetterCase { letters, signature })
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct LetterCase {
    letters: Letters,
    signature: Signature,
}

impl ScalarUDFImpl for LetterCase {
    fn name(&self) -> &str {
        match self.letters {
            Letters::Upper => "upper",
            Letters::Lower => "lower",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match &args.args[..] {
            [ColumnarValue::Scalar(text)] => {
                let mapped = self.mapped(&text.to_array()?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&mapped, 0)?))
            }
            [ColumnarValue::Array(texts)] => Ok(ColumnarValue::Array(self.mapped(texts)?)),
            _ => Err(EngineError::internal(format!("{} has one argument", self.name())).into()),
        }
    }
}

impl LetterCase {
    fn mapped(&self, texts: &ArrayRef) -> Result<ArrayRef> {
        let texts = strict_cast(texts, &DataType::Utf8View)?;
        let texts = texts.as_string_view().iter().map(|text| text.map(|text| map_text(text, self.letters)));
        Ok(Arc::new(texts.collect::<StringViewArray>()))
    }
}

fn map_text(text: &str, letters: Letters) -> String {
    match letters {
        Letters::Upper if text.is_ascii() => text.to_ascii_uppercase(),
        Letters::Lower if text.is_ascii() => text.to_ascii_lowercase(),
        Letters::Upper => text.chars().map(upper).collect(),
        Letters::Lower => text.chars().map(lower).collect(),
    }
}

/// The upper-case letter; the letter itself if Unicode has several characters for it.
fn upper(letter: char) -> char {
    let mut mapped = letter.to_uppercase();
    if mapped.len() == 1 { mapped.next().unwrap_or(letter) } else { letter }
}

/// The lower-case letter, without the dot that Unicode puts above that of `İ`.
fn lower(letter: char) -> char {
    letter.to_lowercase().next().unwrap_or(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every answer was PostgreSQL 15's, in a UTF-8 locale.
    #[test]
    fn one_letter_becomes_one() {
        for (text, upper, lower) in [
            ("straße", "STRAßE", "straße"),
            ("ŉ", "ŉ", "ŉ"),
            ("İstanbul", "İSTANBUL", "istanbul"),
            ("Ärger 1", "ÄRGER 1", "ärger 1"),
            ("ΟΔΟΣ", "ΟΔΟΣ", "οδοσ"),
            ("ǆ", "Ǆ", "ǆ"),
            ("abC", "ABC", "abc"),
        ] {
            assert_eq!((map_text(text, Letters::Upper), map_text(text, Letters::Lower)), (upper.into(), lower.into()));
        }
    }
}
