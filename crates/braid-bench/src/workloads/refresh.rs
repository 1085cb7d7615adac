//! TPC-H's refresh function 1, "new sales" (specification, section 2.6): an order with one to seven lines, as one transaction.
//!
//! Values are random within the specification's ranges, and not those of its generator. Keys are those between the keys in use, each once,
//! whatever the seed.

use std::sync::atomic::{AtomicU64, Ordering};

use braid_base::{Random, SeededRandom};

use crate::workloads::generated::GeneratedTable;
use crate::workloads::tpch::TpchTable;
use crate::workloads::workload::Workload;

/// Keys of orders in a group, of which the first eight are in use (TPC-H specification, section 4.2.3).
const KEYS_OF_GROUP: u64 = 32;
const KEYS_IN_USE: u64 = 8;

/// Spreads the groups of consecutive orders: a prime, so that each group comes once before one comes twice.
const GROUP_STEP: u64 = 1_000_003;

/// Most lines of an order.
const LINES_MAX: u64 = 7;

/// Mean of an order's rows with those of its lines.
pub(crate) const ROWS_MEAN: f64 = 1.0 + (1 + LINES_MAX) as f64 / 2.0;

/// Days of [`date`] that an order may have: until the middle of 1998.
const ORDER_DAYS: u64 = 6 * 12 * 28 + 6 * 28;

/// New orders of customers, parts and suppliers that exist.
pub struct Refresh {
    customers: u64,
    parts: u64,
    suppliers: u64,
    /// Groups of keys that are in use.
    groups: u64,
    order_count: AtomicU64,
}

impl Refresh {
    /// For the tables of a scale.
    pub fn new(scale: f64) -> Self {
        Self {
            customers: TpchTable::Customer.row_count(scale),
            parts: TpchTable::Part.row_count(scale),
            suppliers: TpchTable::Supplier.row_count(scale),
            groups: (TpchTable::Orders.row_count(scale) / KEYS_IN_USE).max(1),
            order_count: AtomicU64::new(0),
        }
    }

    /// A key that no order has. When all between the keys in use are taken, those beyond follow.
    fn next_key(&self) -> u64 {
        let number = self.order_count.fetch_add(1, Ordering::Relaxed);
        let (round, at) = (number / self.groups, number % self.groups);
        let group = (u128::from(at) * u128::from(GROUP_STEP) % u128::from(self.groups)) as u64;
        match KEYS_IN_USE + round {
            place @ 0..KEYS_OF_GROUP => group * KEYS_OF_GROUP + place,
            _ => self.groups * KEYS_OF_GROUP + number,
        }
    }

    fn line(&self, key: u64, number: u64, day: u64, random: &mut SeededRandom) -> String {
        let mut one_of = |count| 1 + random.below(count);
        let (part, supplier, quantity) = (one_of(self.parts), one_of(self.suppliers), one_of(50));
        let (price, discount, tax) = (quantity * (900 + one_of(1100)), one_of(11) - 1, one_of(9) - 1);
        let shipped = day + one_of(121);
        let (committed, received) = (day + 29 + one_of(61), shipped + one_of(30));
        let mode = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"][one_of(7) as usize - 1];
        format!(
            "({key}, {part}, {supplier}, {number}, {quantity}, {price}.00, 0.{discount:02}, 0.{tax:02}, 'N', 'O', {}, {}, {}, \
             'NONE', '{mode}', 'a new line')",
            date(shipped),
            date(committed),
            date(received)
        )
    }
}

/// A date about so many days behind the first: months of 28 days, so that all are there.
fn date(day: u64) -> String {
    let (year, month) = (day / (12 * 28), day / 28 % 12);
    format!("'{}-{:02}-{:02}'", 1992 + year, 1 + month, 1 + day % 28)
}

impl Workload for Refresh {
    fn type_count(&self) -> usize {
        1
    }

    fn text(&self, _: usize, random: &mut SeededRandom) -> String {
        let key = self.next_key();
        let (customer, day, lines) =
            (1 + random.below(self.customers), random.below(ORDER_DAYS), 1 + random.below(LINES_MAX));
        let lines: Vec<String> = (1..=lines).map(|number| self.line(key, number, day, random)).collect();
        format!(
            "insert into orders values ({key}, {customer}, 'O', 100000.00, {}, '5-LOW', 'Clerk#000000001', 0, 'a new order'); \
             insert into lineitem values {}",
            date(day),
            lines.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn orders_differ_and_have_one_to_seven_lines() {
        let refresh = Refresh::new(1.0);
        let mut random = SeededRandom::new(1);
        let texts: BTreeSet<String> = (0..1000).map(|_| refresh.text(0, &mut random)).collect();
        assert_eq!(texts.len(), 1000);
        let lines: Vec<usize> = texts.iter().map(|text| text.matches("'a new line'").count()).collect();
        assert_eq!((lines.iter().min(), lines.iter().max()), (Some(&1), Some(&7)));
        let mean = 1.0 + lines.iter().sum::<usize>() as f64 / 1000.0;
        assert!((mean - ROWS_MEAN).abs() < 0.3, "{mean} rows");
    }

    #[test]
    fn keys_are_between_those_in_use_and_come_once() {
        let refresh = Refresh::new(0.001);
        let keys: BTreeSet<u64> = (0..10_000).map(|_| refresh.next_key()).collect();
        assert_eq!(keys.len(), 10_000);
        let groups = 1500 / 8;
        let between = keys.iter().filter(|key| **key < groups * 32).count() as u64;
        assert_eq!(between, groups * 24);
        assert!(keys.iter().all(|key| *key >= groups * 32 || key % 32 >= 8));
    }
}
