//! Arrays by address, for keys with few possible values, without hashing or comparing.

use crate::keys::key_addresses::NO_ADDRESS;
use crate::values::vector::NO_ROW;

/// One row per address.
pub(crate) struct DirectRows {
    /// Row + 1, or zero for no row. The last entry is zero, for addresses beyond the range.
    rows: Vec<u32>,
}

impl DirectRows {
    /// Bytes for `address_count` addresses.
    pub(crate) fn bytes(address_count: u64) -> usize {
        (address_count as usize + 1) * 4
    }

    /// A directory of these rows: row + 1 or zero for each address, followed by a zero.
    pub(crate) fn of_rows(rows: Vec<u32>) -> Self {
        Self { rows }
    }

    /// An empty directory.
    pub(crate) fn new(address_count: u64) -> Self {
        Self { rows: vec![0; address_count as usize + 1] }
    }

    /// Adds rows from `first_row` on. False if an address repeats; the directory is then unusable.
    #[must_use]
    pub(crate) fn insert(&mut self, first_row: usize, addresses: &[u64]) -> bool {
        let mut repeated = 0;
        for (row, address) in (first_row as u32 + 1..).zip(addresses) {
            if *address != NO_ADDRESS {
                let place = &mut self.rows[*address as usize];
                repeated |= *place;
                *place = row;
            }
        }
        repeated == 0
    }

    /// The row of each address, or [`NO_ROW`].
    pub(crate) fn find(&self, addresses: &[u64], groups: &mut Vec<u32>) {
        let last = self.rows.len() - 1;
        groups.clear();
        groups.extend(addresses.iter().map(|address| {
            // Zero wraps around to NO_ROW.
            self.rows[(*address as usize).min(last)].wrapping_sub(1)
        }));
    }
}

/// Addresses as group numbers, for row lists by address.
pub(crate) fn groups_of_addresses(addresses: &[u64], address_count: u64, groups: &mut Vec<u32>) {
    groups.clear();
    groups.extend(addresses.iter().map(|address| if *address < address_count { *address as u32 } else { NO_ROW }));
}
