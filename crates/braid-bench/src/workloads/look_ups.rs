//! Light queries: look-ups by key, as the pages of a shop show one thing (SharedDB section 5.6: an item by its key, joined with its
//! author).
//!
//! A key's rows are few. Braid has no index: where a table is ordered by the key, zone maps leave a chunk of it; where it is not, a query
//! reads the key's column.

use braid_base::{Random, SeededRandom};

use crate::workloads::generated::GeneratedTable;
use crate::workloads::tpch::TpchTable;
use crate::workloads::workload::Workload;

/// Look-ups of random parts, customers and orders.
pub struct LookUps {
    parts: u64,
    customers: u64,
    orders: u64,
}

impl LookUps {
    /// For the tables of a scale.
    pub fn new(scale: f64) -> Self {
        Self {
            parts: TpchTable::Part.row_count(scale),
            customers: TpchTable::Customer.row_count(scale),
            orders: TpchTable::Orders.row_count(scale),
        }
    }
}

/// The key of the order `number`, from 1. Of 32 keys the first eight are in use (TPC-H specification, section 4.2.3).
fn order_key(number: u64) -> u64 {
    number / 8 * 32 + number % 8
}

impl Workload for LookUps {
    fn type_count(&self) -> usize {
        4
    }

    fn text(&self, number: usize, random: &mut SeededRandom) -> String {
        let mut one_of = |count| 1 + random.below(count);
        match number {
            0 => format!(
                "select p_name, p_brand, p_retailprice, ps_suppkey, ps_availqty, ps_supplycost from part, partsupp \
                 where p_partkey = ps_partkey and p_partkey = {} order by ps_suppkey",
                one_of(self.parts)
            ),
            1 => format!(
                "select c_name, c_address, c_phone, c_acctbal, n_name from customer, nation \
                 where c_nationkey = n_nationkey and c_custkey = {}",
                one_of(self.customers)
            ),
            2 => format!(
                "select o_orderkey, o_orderstatus, o_totalprice, o_orderdate from orders where o_custkey = {} \
                 order by o_orderdate desc, o_orderkey limit 10",
                one_of(self.customers)
            ),
            3 => format!(
                "select o_orderdate, l_linenumber, l_partkey, l_quantity, l_extendedprice from orders, lineitem \
                 where o_orderkey = l_orderkey and o_orderkey = {} order by l_linenumber",
                order_key(one_of(self.orders))
            ),
            other => panic!("there is no look-up {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::workloads::workload::Texts;

    #[test]
    fn order_keys_are_those_of_the_specification() {
        assert_eq!([1, 7, 8, 15, 16, 1_500_000].map(order_key), [1, 7, 32, 39, 64, 6_000_000]);
    }

    #[test]
    fn all_look_ups_come_up_and_keys_differ() {
        let workload: Arc<dyn Workload> = Arc::new(LookUps::new(1.0));
        let texts: Vec<String> = Texts::of_client(&workload, 0, 1).take(1000).collect();
        let distinct: BTreeSet<&String> = texts.iter().collect();
        assert!(distinct.len() > 950, "{} different texts", distinct.len());
        let beginnings: BTreeSet<&str> = texts.iter().map(|text| &text[..16]).collect();
        assert_eq!(beginnings.len(), 4, "{beginnings:?}");
    }

    #[test]
    fn keys_exist_at_the_smallest_scale() {
        let look_ups = LookUps::new(0.001);
        assert_eq!((look_ups.parts, look_ups.customers, look_ups.orders), (200, 150, 1500));
        for seed in 0..1000 {
            let text = look_ups.text(3, &mut SeededRandom::new(seed));
            let key = text.split("o_orderkey = ").nth(2).unwrap().split(' ').next().unwrap().parse::<u64>().unwrap();
            assert!((1..=order_key(1500)).contains(&key) && key % 32 < 8, "{text}");
        }
    }
}
