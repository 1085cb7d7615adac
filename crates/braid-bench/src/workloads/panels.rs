//! A tenant's dashboard: six panels, each a selective statement on one key, as many tenants look at them at the same time.
//!
//! The tenant is a supplier (of lineitem) or a clerk (of orders). At scale 1 there are 10 000 suppliers with 600 rows each, and
//! 1000 clerks with 1500 rows each. Neither key orders its table, so that a statement reads the key's whole column.

use braid_base::{Random, SeededRandom};

use crate::workloads::generated::GeneratedTable;
use crate::workloads::tpch::TpchTable;
use crate::workloads::workload::Workload;

/// Clerks at scale 1 (TPC-H specification, section 4.2.3).
const CLERKS: f64 = 1000.0;

/// The panels of a random tenant.
pub struct Panels {
    suppliers: u64,
    clerks: u64,
}

impl Panels {
    /// For the tables of a scale.
    pub fn new(scale: f64) -> Self {
        Self { suppliers: TpchTable::Supplier.row_count(scale), clerks: ((CLERKS * scale) as u64).max(1) }
    }
}

impl Workload for Panels {
    fn type_count(&self) -> usize {
        6
    }

    fn text(&self, number: usize, random: &mut SeededRandom) -> String {
        let supplier = 1 + random.below(self.suppliers);
        let of_supplier = format!("from lineitem where l_suppkey = {supplier}");
        let year = 1993 + random.below(5);
        match number {
            0 => format!("select count(*), sum(l_extendedprice), max(l_shipdate) {of_supplier}"),
            1 => format!(
                "select l_returnflag, l_linestatus, count(*), sum(l_quantity), \
                 sum(l_extendedprice * (1 - l_discount)) {of_supplier} \
                 group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus"
            ),
            2 => format!(
                "select l_partkey, sum(l_quantity) as quantity {of_supplier} \
                 group by l_partkey order by quantity desc, l_partkey limit 10"
            ),
            3 => format!("select count(distinct l_orderkey) {of_supplier} and l_shipdate >= date '{year}-01-01'"),
            4 => format!(
                "select l_shipdate, l_orderkey, l_linenumber, l_quantity, l_extendedprice {of_supplier} \
                 order by l_shipdate desc, l_orderkey, l_linenumber limit 20"
            ),
            5 => format!(
                "select o_orderpriority, count(*), sum(o_totalprice) from orders where o_clerk = 'Clerk#{:09}' \
                 and o_orderdate >= date '{year}-01-01' group by o_orderpriority order by o_orderpriority",
                1 + random.below(self.clerks)
            ),
            other => panic!("there is no panel {other}"),
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
    fn tenants_differ_and_all_panels_come_up() {
        let workload: Arc<dyn Workload> = Arc::new(Panels::new(1.0));
        let texts: Vec<String> = Texts::of_client(&workload, 0, 1).take(1000).collect();
        let distinct: BTreeSet<&String> = texts.iter().collect();
        assert!(distinct.len() > 950, "{} different texts", distinct.len());
        let beginnings: BTreeSet<&str> = texts.iter().map(|text| &text[..16]).collect();
        assert_eq!(beginnings.len(), 6, "{beginnings:?}");
    }

    #[test]
    fn the_smallest_scale_has_a_clerk() {
        let panels = Panels::new(0.001);
        assert_eq!((panels.suppliers, panels.clerks), (10, 1));
        assert!(panels.text(5, &mut SeededRandom::new(1)).contains("o_clerk = 'Clerk#000000001' "));
    }
}
