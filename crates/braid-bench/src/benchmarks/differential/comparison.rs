//! Comparison of two engines' answers.
//!
//! Rows in an order that the query specifies are compared one by one. Other rows are compared as bags: both sides are sorted,
//! and if they then differ, each row is matched with an unmatched equal row of the other side. Sorting alone is not enough,
//! because an engine may write 9.5e18 for a number that the other one writes with all digits, which sorts differently.

use crate::workloads::answer::{Answer, Difference, RowOrder, values_agree};

/// Compares `found` with `expected`.
///
/// # Errors
/// Returns the difference.
pub fn compare(expected: &Answer, found: &Answer, order: RowOrder) -> Result<(), Difference> {
    match expected.compare(found, order) {
        Err(difference @ Difference::Row { .. }) if order == RowOrder::Free => {
            if is_same_bag(expected, found) {
                Ok(())
            } else {
                Err(difference)
            }
        }
        result => result,
    }
}

fn is_same_bag(expected: &Answer, found: &Answer) -> bool {
    let agree = |a: &[String], b: &[String]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| values_agree(a, b));
    let mut left: Vec<&Vec<String>> = found.rows.iter().collect();
    expected.rows.iter().all(|row| match left.iter().position(|other| agree(row, other)) {
        Some(at) => {
            left.swap_remove(at);
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bags_agree_however_numbers_are_written() {
        let answer = |rows: &[&str]| Answer { rows: rows.iter().map(|row| vec![(*row).to_owned()]).collect() };
        let (a, b) = (answer(&["9223372036854775806.5", "1"]), answer(&["1", "9.223372036854775807e18"]));
        assert!(a.compare(&b, RowOrder::Free).is_err(), "sorting puts them at different places");
        assert_eq!(compare(&a, &b, RowOrder::Free), Ok(()));
        assert!(compare(&a, &b, RowOrder::Kept).is_err());
        assert!(compare(&answer(&["1", "1", "2"]), &answer(&["1", "2", "2"]), RowOrder::Free).is_err());
    }
}
