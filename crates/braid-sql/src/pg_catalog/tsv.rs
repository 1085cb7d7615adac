//! Reading the catalog's files: tab-separated, with a header, in the form of COPY's text format.
//!
//! The files are part of the program. What is wrong in them is a bug, and panics when the catalog is first used, in every test.

/// The rows of a file with these columns.
pub(super) fn rows<const N: usize>(text: &'static str, columns: [&str; N]) -> impl Iterator<Item = [&'static str; N]> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    assert_eq!(header, columns, "the columns of a catalog file");
    lines.map(|line| {
        let mut fields = line.split('\t');
        let row = std::array::from_fn(|_| fields.next().unwrap_or_else(|| panic!("too few fields in {line:?}")));
        assert!(fields.next().is_none() && !line.contains('\\'), "too many fields, or an escape, in {line:?}");
        row
    })
}

/// A field; `None` if it is empty.
pub(super) fn optional(field: &'static str) -> Option<&'static str> {
    (!field.is_empty()).then_some(field)
}

/// `t` or `f`.
pub(super) fn flag(field: &str) -> bool {
    match field {
        "t" => true,
        "f" => false,
        other => panic!("{other:?} is neither t nor f"),
    }
}

/// An object's number.
pub(super) fn number(field: &str) -> u32 {
    field.parse().unwrap_or_else(|_| panic!("{field:?} is no number"))
}
