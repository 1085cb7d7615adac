//! The names that constraints get that are written without one.

use crate::names::NAME_BYTES_MAX;

/// The parts with underscores between them, of which the longer one is cut to the length of a name.
pub(crate) fn shortened(table: &str, column: Option<&str>, label: &str) -> String {
    let (mut table, mut column) = (table, column);
    let length = |table: &str, column: Option<&str>| table.len() + column.map_or(0, |name| name.len() + 1);
    while length(table, column) + 1 + label.len() > NAME_BYTES_MAX {
        match &mut column {
            Some(column) if column.len() >= table.len() => {
                *column = &column[..column.floor_char_boundary(column.len() - 1)]
            }
            _ => table = &table[..table.floor_char_boundary(table.len() - 1)],
        }
    }
    [Some(table), column, Some(label)].into_iter().flatten().collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_as_postgresql_makes_them() {
        assert_eq!(shortened("t", Some("a"), "check"), "t_a_check");
        assert_eq!(shortened("t", None, "check2"), "t_check2");
        let (table, column) = ("t".repeat(63), "c".repeat(40));
        let name = shortened(&table, Some(&column), "check");
        assert_eq!((name.len(), name), (63, format!("{}_{}_check", "t".repeat(28), "c".repeat(28))));
    }
}
