//! Rows taken from vectors, and vectors appended to each other.

use super::*;
use crate::values::coded_strings::UNITED_STRINGS_MAX;

fn coded(strings: &[&str], codes: &[u32]) -> Vector {
    let dictionary = Arc::new(ByteStrings::from_strings(strings.iter().map(|s| s.as_bytes())));
    Vector::new(Values::Coded(CodedStrings { codes: codes.to_vec(), dictionary }), None)
}

fn scalars(vector: &Vector) -> Vec<Option<Scalar>> {
    (0..vector.len()).map(|row| vector.value(row)).collect()
}

fn text(string: &str) -> Option<Scalar> {
    Some(Scalar::Bytes(string.as_bytes().to_vec()))
}

#[test]
fn rows_that_do_not_exist_are_null() {
    let vector = Vector::new(Values::Int(vec![5, 6, 7]), Some(vec![true, false, true]));
    let taken = vector.take(&[2, NO_ROW, 1, 2]);
    assert_eq!(scalars(&taken), [Some(Scalar::Int(7)), None, None, Some(Scalar::Int(7))]);
    let of_nothing = Vector::integers(Vec::new()).take(&[NO_ROW, NO_ROW]);
    assert_eq!(scalars(&of_nothing), [None, None]);
}

#[test]
fn integers_widen_and_nulls_take_any_kind() {
    let mut vector = Vector::repeat(None, 1);
    vector.append(&Vector::integers(vec![1]));
    vector.append(&Vector::new(Values::Int128(vec![1 << 100, 2]), None));
    vector.append(&Vector::repeat(None, 1));
    let expected = [None, Some(Scalar::Int(1)), Some(Scalar::Int128(1 << 100)), Some(Scalar::Int(2)), None];
    assert_eq!(scalars(&vector), expected);
    let mut nulls = Vector::repeat(None, 2);
    nulls.append(&coded(&["a", "b"], &[1]));
    assert_eq!(scalars(&nulls), [None, None, text("b")]);
    nulls.append(&Vector::repeat(None, 1));
    assert_eq!(nulls.value(3), None);
}

#[test]
fn small_dictionaries_become_one() {
    let mut vector = coded(&["a", "b"], &[1, 0]);
    vector.append(&coded(&["b", "c"], &[1, 0, 0]));
    vector.append(&coded(&["c"], &[0]));
    let Values::Coded(united) = vector.values() else { panic!("{vector:?}") };
    assert_eq!((united.dictionary.len(), united.codes.as_slice()), (3, [1, 0, 2, 1, 1, 2].as_slice()));
    assert_eq!(scalars(&vector), ["b", "a", "c", "b", "b", "c"].map(text));
}

#[test]
fn dictionaries_that_differ_become_strings() {
    let many: Vec<String> = (0..=UNITED_STRINGS_MAX).map(|n| n.to_string()).collect();
    let mut vector = coded(&["a"], &[0]);
    vector.append(&coded(&many.iter().map(String::as_str).collect::<Vec<_>>(), &[64, 1]));
    assert!(matches!(vector.values(), Values::Bytes(_)), "{vector:?}");
    assert_eq!(scalars(&vector), ["a", "64", "1"].map(text));
    let long = "a string that does not fit a view";
    let mut vector = coded(&["a", long], &[1, 0, 1]);
    vector.append(&coded(&[long, "c"], &[0, 1]));
    vector.append(&Vector::new(Values::Bytes(ByteStrings::from_strings([long.as_bytes()])), None));
    assert_eq!(scalars(&vector), [text(long), text("a"), text(long), text(long), text("c"), text(long)]);
    assert_eq!(scalars(&vector.take(&[5, 1])), [text(long), text("a")]);
}
