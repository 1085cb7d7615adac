//! The number of rows of a batch that are computed at a time if their values may be long.
//!
//! If the values of the rows exceed [`braid_base::BATCH_BYTES_MAX`], half of the rows are tried next, down to one row. The next
//! piece starts with the number that fitted, and the number grows by a quarter after each piece. A single long row therefore
//! does not make all later pieces small.

/// Rows of the next piece.
#[derive(Clone, Copy, Debug)]
pub struct PieceRows {
    next: usize,
}

impl Default for PieceRows {
    fn default() -> Self {
        Self { next: usize::MAX }
    }
}

impl PieceRows {
    /// Rows to try next where `remaining` are left; at least one if there are any.
    pub fn of(&self, remaining: usize) -> usize {
        self.next.min(remaining)
    }

    /// The values of a piece fitted.
    pub fn fitted(&mut self) {
        self.next = self.next.saturating_add(self.next / 4 + 1);
    }

    /// The values of a piece of `rows` rows, more than one, were too long.
    pub fn exceeded(&mut self, rows: usize) {
        self.next = (rows / 2).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_shrink_to_one_row_and_grow_again() {
        let mut rows = PieceRows::default();
        assert_eq!(rows.of(1024), 1024);
        for expected in [512, 256, 128, 64, 32, 16, 8, 4, 2, 1, 1] {
            rows.exceeded(rows.of(1024));
            assert_eq!(rows.of(1024), expected);
        }
        (0..40).for_each(|_| rows.fitted());
        assert_eq!((rows.of(1024), rows.of(3), rows.of(0)), (1024, 3, 0));
    }
}
