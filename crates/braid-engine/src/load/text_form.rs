//! How a file of text is written, from its first lines: what divides the fields, and whether the first line has names.
//!
//! A delimiter is one of `,` `;` tab `|` that divides all lines into the same number of fields, two or more. If several do, the load is
//! refused and asks for `--delimiter`: either may be wrong, and each would load. If none does, and one is in the first line, lines have different numbers of fields:
//! the one that divides most lines alike is taken, and COPY names the first line that is otherwise. Without any there is one column. Pure.

use super::column_profile::ColumnProfile;
use super::value_kind::{is_value, lost_of_number};
use crate::copy::record_fields::RecordFields;
use crate::statement::{CopyFormat, CopyOptions};
use crate::{EngineError, SqlState};

/// The delimiters that are tried.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// A decision about a file, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decision<T> {
    pub choice: T,
    pub why: String,
}

/// How many fields the records have with a delimiter; `None` for a record that cannot be read so.
struct Division {
    delimiter: u8,
    /// Fields of the first record.
    first: usize,
    /// Fields of most records, and in how many.
    usual: (usize, usize),
}

/// What divides the fields of some records.
///
/// # Errors
/// If several divide all records evenly (22023).
pub(super) fn find_delimiter(records: &[String], name: &str) -> Result<Decision<u8>, EngineError> {
    let divisions: Vec<Division> = DELIMITERS.iter().map(|delimiter| divided(records, *delimiter)).collect();
    let even: Vec<&Division> =
        divisions.iter().filter(|division| division.usual.0 > 1 && division.usual.1 == records.len()).collect();
    match even[..] {
        [] => {}
        [only] => {
            let why = format!("it divides all {} lines looked at into {} fields", records.len(), only.usual.0);
            return Ok(Decision { choice: only.delimiter, why });
        }
        [first, second, ..] => {
            let shown = |division: &Division| format!("\"{}\" into {}", shown(division.delimiter), division.usual.0);
            let message = format!(
                "file \"{name}\" may be divided by more than one character: {} and {} fields in all lines",
                shown(first),
                shown(second)
            );
            return Err(EngineError::new(SqlState::InvalidParameterValue, message)
                .with_hint("Say which: --delimiter ',' or --delimiter ';' or another."));
        }
    }
    let most = divisions.iter().filter(|division| division.first > 1).rev().max_by_key(|division| division.usual.1);
    Ok(match most {
        Some(most) => Decision {
            choice: most.delimiter,
            why: format!("it divides {} of {} lines into {} fields", most.usual.1, records.len(), most.usual.0),
        },
        None => Decision { choice: b',', why: "no delimiter divides the lines: one column".to_owned() },
    })
}

fn divided(records: &[String], delimiter: u8) -> Division {
    let options = CopyOptions { delimiter, ..CopyOptions::defaults(CopyFormat::Csv) };
    let (mut fields, mut counts) = (RecordFields::default(), Vec::<(usize, usize)>::new());
    let mut first = 0;
    for (at, record) in records.iter().enumerate() {
        let count = fields.read(record.as_bytes(), &options).map_or(0, |()| fields.len());
        if at == 0 {
            first = count;
        }
        match counts.iter_mut().find(|(known, _)| *known == count) {
            Some((_, records)) => *records += 1,
            None => counts.push((count, 1)),
        }
    }
    let usual = counts.into_iter().filter(|(count, _)| *count > 1).max_by_key(|(_, records)| *records);
    Division { delimiter, first, usual: usual.unwrap_or((0, 0)) }
}

/// Whether the first line has the columns' names. `columns` are the values below it.
pub(super) fn find_header(first: &[Option<String>], columns: &[ColumnProfile]) -> Decision<bool> {
    let yes = |why: &str| Decision { choice: true, why: why.to_owned() };
    let no = |why: String| Decision { choice: false, why };
    // What is written as a value is no name, also where it is of another type than the values below it.
    let is_data = |text: &str| is_value(text) || lost_of_number(text).is_some();
    let value = first.iter().flatten().find(|text| is_data(text));
    let typed: Vec<usize> = (0..columns.len().min(first.len())).filter(|at| columns[*at].is_typed()).collect();
    let unlike = typed.iter().find(|at| {
        let (text, kind) = (first[**at].as_deref().unwrap_or_default(), columns[**at].inferred().kind);
        !text.is_empty() && !is_data(text) && !kind.is_some_and(|kind| kind.holds(text))
    });
    match (unlike, value) {
        (Some(at), _) => {
            let name = first[*at].as_deref().unwrap_or_default();
            yes(&format!("\"{name}\" is of another kind than the values below it"))
        }
        (None, Some(value)) => no(format!("\"{value}\" in the first line is a value")),
        (None, None) if first.iter().any(|field| field.as_deref().is_none_or(str::is_empty)) => {
            no("the first line has an empty field".to_owned())
        }
        (None, None) => yes("the first line has only texts, none of them empty"),
    }
}

/// A delimiter in a message.
pub(super) fn shown(delimiter: u8) -> String {
    if delimiter == b'\t' { "tab".to_owned() } else { char::from(delimiter).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delimiter(records: &[&str]) -> Result<String, &'static str> {
        let records: Vec<String> = records.iter().map(|record| (*record).to_owned()).collect();
        find_delimiter(&records, "f").map(|found| shown(found.choice)).map_err(|error| error.sqlstate())
    }

    #[test]
    fn a_delimiter_divides_all_lines_alike() {
        for (records, expected) in [
            (&["a;b", "1,5;2", "3;4"][..], Ok(";")),
            (&["a,b", "\"x;y\",1", "z,2"], Ok(",")),
            (&["a\tb", "1\t2"], Ok("tab")),
            (&["a|b|c", "1|2|3"], Ok("|")),
            (&["a", "b c"], Ok(",")),
            (&["a,b", "1,2", "3"], Ok(",")),
            (&["1,5;2,5", "3,5;4,5"], Err("22023")),
        ] {
            assert_eq!(delimiter(records), expected.map(str::to_owned), "{records:?}");
        }
    }

    #[test]
    fn a_header_is_unlike_the_values_or_has_only_texts() {
        for (first, values, expected) in [
            (&["id", "name"][..], &[&["1", "a"][..], &["2", "b"]][..], true),
            (&["id", "2019"], &[&["1", "5"], &["2", "6"]], true),
            (&["1", "a"], &[&["2", "b"]], false),
            (&["2.5", "3"], &[&["1", "2"], &["4", "5"]], false),
            (&["01234", "a"], &[&["12345", "b"]], false),
            (&["99999999999999999999", "x"], &[&["1", "y"]], false),
            (&["a", "b"], &[&["c", "d"]], true),
            (&["a", ""], &[&["c", "d"]], false),
            (&["", "x"], &[&["1", "2"]], true),
            (&["a", "b"], &[], true),
            (&["1"], &[], false),
        ] {
            let first: Vec<Option<String>> = first.iter().map(|text| Some((*text).to_owned())).collect();
            let mut columns: Vec<ColumnProfile> = first.iter().map(|_| ColumnProfile::default()).collect();
            for row in values {
                for (text, column) in row.iter().zip(&mut columns) {
                    column.add(Some(*text), String::new);
                }
            }
            assert_eq!(find_header(&first, &columns).choice, expected, "{first:?}");
        }
    }
}
