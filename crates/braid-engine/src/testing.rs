//! What the fuzz target of COPY calls: bytes of both text formats into records, fields and values.

use arrow::array::Array;
use braid_sql::functions::text_input::ReadingSession;
use braid_sql::pg_catalog::TypeId;
use braid_storage::ColumnType;

use crate::EngineError;
use crate::copy::record_fields::RecordFields;
use crate::copy::record_splitter::{DataSource, RecordSplitter};
use crate::input::ColumnInput;
use crate::statement::{CopyFormat, CopyOptions};

/// The types that fields are read as.
const TYPES: [ColumnType; 21] = [
    ColumnType::Boolean,
    ColumnType::SmallInt,
    ColumnType::Integer,
    ColumnType::BigInt,
    ColumnType::Real,
    ColumnType::Double,
    ColumnType::Numeric { precision: 12, scale: 3 },
    ColumnType::Numeric { precision: 38, scale: 38 },
    ColumnType::Text,
    ColumnType::Bytea,
    ColumnType::Uuid,
    ColumnType::Date,
    ColumnType::Timestamp,
    ColumnType::TimestampTz,
    ColumnType::Interval,
    ColumnType::Time,
    ColumnType::Name,
    ColumnType::Encoded { type_oid: TypeId::NUMERIC.0, modifier: -1 },
    ColumnType::Encoded { type_oid: TypeId::JSONB.0, modifier: -1 },
    ColumnType::Encoded { type_oid: TypeId::TIMETZ.0, modifier: -1 },
    ColumnType::Encoded { type_oid: TypeId::TEXT_ARRAY.0, modifier: -1 },
];

/// Reads `data` as the text of a COPY, panicking where that is not total: the records are the same in whatever pieces they
/// come and together no longer than what came, and each field is a value of a type or an error.
///
/// The first byte chooses the format and its options, the second the length of the pieces.
pub fn fuzz_copy_text(data: &[u8]) {
    let Some(([choice, piece_bytes], text)) = data.split_first_chunk() else { return };
    let options = options(*choice);
    let whole = records(&options, [text].into_iter());
    let pieces = records(&options, text.chunks(usize::from(*piece_bytes).max(1)));
    assert_eq!(whole, pieces, "in pieces of {piece_bytes} bytes");
    assert!(whole.0.iter().map(Vec::len).sum::<usize>() <= text.len(), "records are parts of the text");
    let mut fields = RecordFields::default();
    let mut inputs = TYPES.map(|column_type| (ColumnInput::new(column_type, ReadingSession::of_output()), 0));
    for record in &whole.0 {
        if fields.read(record, &options).is_ok() {
            (0..fields.len()).for_each(|at| take_field(fields.get(at), &mut inputs));
        }
    }
    for (mut input, appended) in inputs {
        let array = input.finish();
        assert_eq!(array.len(), appended);
        array.to_data().validate_full().expect("what was read is a valid array");
    }
}

/// A field as a value of each type; values and nulls are counted.
fn take_field(field: Result<Option<&str>, EngineError>, inputs: &mut [(ColumnInput, usize)]) {
    let Ok(field) = field else { return };
    for (input, appended) in inputs {
        *appended += match field {
            None => {
                input.append_null();
                1
            }
            Some(text) => usize::from(input.append(text).is_ok()),
        };
    }
}

fn options(choice: u8) -> CopyOptions {
    let format = if choice & 1 == 0 { CopyFormat::Text } else { CopyFormat::Csv };
    let delimiter = [b'\t', b',', b';', b'|'][usize::from(choice >> 1 & 3)];
    let quote = [b'"', b'\''][usize::from(choice >> 3 & 1)];
    let escape = if choice >> 4 & 1 == 0 { quote } else { b'\\' };
    let null = ["\\N", "", "NULL", "-"][usize::from(choice >> 5 & 3)].to_owned();
    CopyOptions { delimiter, null, quote, escape, ..CopyOptions::defaults(format) }
}

/// The records in some bytes, and the error that ends them.
fn records<'a>(options: &CopyOptions, pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Vec<u8>>, Option<String>) {
    let (mut splitter, mut found) = (RecordSplitter::new(options, DataSource::File), Vec::new());
    let mut line = 0;
    for piece in pieces.map(Some).chain([None]) {
        match piece {
            Some(piece) => splitter.push(piece),
            None => splitter.end(),
        }
        loop {
            match splitter.next_record() {
                Ok(Some(record)) => {
                    assert!(record.line > line, "lines are counted up");
                    line = record.line;
                    found.push(record.bytes.to_vec());
                }
                Ok(None) => break,
                Err(error) => return (found, Some(error.to_string())),
            }
        }
    }
    (found, None)
}

#[cfg(test)]
mod tests {
    use braid_testing::cases;
    use braid_testing::mutation::{corpus, mutated};

    use super::*;

    #[test]
    fn mutated_text_is_read_or_refused() {
        let corpus = corpus("copy_text");
        corpus.iter().for_each(|data| fuzz_copy_text(data));
        for case in cases!(0..5_000) {
            fuzz_copy_text(&mutated(&corpus, &mut case.random()));
        }
    }

    #[test]
    fn the_corpus_has_values_of_every_type() {
        let mut inputs = TYPES.map(|column_type| (ColumnInput::new(column_type, ReadingSession::of_output()), 0));
        for data in corpus("copy_text") {
            let (options, mut fields) = (options(data[0]), RecordFields::default());
            for record in records(&options, [&data[2..]].into_iter()).0 {
                fields.read(&record, &options).unwrap();
                (0..fields.len()).for_each(|at| take_field(fields.get(at), &mut inputs));
            }
        }
        let values: Vec<usize> =
            inputs.iter_mut().map(|(input, _)| input.finish()).map(|a| a.len() - a.null_count()).collect();
        assert!(values.iter().all(|count| *count > 0), "{values:?} values of {TYPES:?}");
    }
}
