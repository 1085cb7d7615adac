//! Arrays by address, where keys have few possible values: nothing is hashed and nothing compared.

use crate::keys::key_addresses::NO_ADDRESS;
use crate::values::vector::NO_ROW;

/// The only row of each address.
pub(crate) struct DirectRows {
    /// Row + 1, zero for none; the last is none: where addresses beyond the range look.
    rows: Vec<u32>,
}

impl DirectRows {
    /// Bytes that so many addresses take.
    pub(crate) fn bytes(address_count: u64) -> usize {
        (address_count as usize + 1) * 4
    }

    /// From rows that were found elsewhere: row + 1 or zero for each address, then a zero.
    pub(crate) fn of_rows(rows: Vec<u32>) -> Self {
        Self { rows }
    }

    /// No rows yet.
    pub(crate) fn new(address_count: u64) -> Self {
        Self { rows: vec![0; address_count as usize + 1] }
    }

    /// Adds rows from `first_row` on; false if an address has a row already, and then nothing is to be found here.
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

    /// The row of each address, [`NO_ROW`] for none.
    pub(crate) fn find(&self, addresses: &[u64], groups: &mut Vec<u32>) {
        let last = self.rows.len() - 1;
        groups.clear();
        groups.extend(addresses.iter().map(|address| {
            // Zero wraps to NO_ROW.
            self.rows[(*address as usize).min(last)].wrapping_sub(1)
        }));
    }
}

/// Addresses as groups: those of row lists by address.
pub(crate) fn groups_of_addresses(addresses: &[u64], address_count: u64, groups: &mut Vec<u32>) {
    groups.clear();
    groups.extend(addresses.iter().map(|address| if *address < address_count { *address as u32 } else { NO_ROW }));
}
