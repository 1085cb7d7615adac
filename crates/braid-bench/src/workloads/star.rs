//! A star schema: a fact table with four dimensions, made from TPC-H's tables, and thirteen statement types with one to four joins.
//!
//! | module | contents |
//! |---|---|
//! | `star_query` | a statement: its type and its conditions, as text and as predicates |
//! | `random_conditions` | random conditions of each type |
//!
//! Schema and statements follow the Star Schema Benchmark (O'Neil, O'Neil, Chen, TPCTC 2009), with random parameters. The fact
//! table has lineitem's rows (below scale 0.01 some twice, because partsupp's keys are not unique there).

mod random_conditions;
mod star_query;

use braid_base::SeededRandom;

pub use star_query::{STAR_TYPES, StarQuery};

use crate::workloads::workload::{AddedTable, Workload};

/// The dimensions and the fact table. All engines make them with the same queries.
const TABLES: [AddedTable; 5] = [
    AddedTable {
        name: "star_date",
        query: "select cast(extract(year from d) * 10000 + extract(month from d) * 100 + extract(day from d) as integer) \
                as d_datekey, cast(extract(year from d) as integer) as d_year, \
                cast(extract(year from d) * 100 + extract(month from d) as integer) as d_yearmonthnum, \
                cast(extract(week from d) as integer) as d_week from (select distinct o_orderdate as d from orders) as days",
    },
    AddedTable {
        name: "star_customer",
        query: "select c_custkey, substr(n_name, 1, 9) || cast(c_custkey % 10 as varchar) as c_city, n_name as c_nation, \
                r_name as c_region from customer, nation, region where c_nationkey = n_nationkey \
                and n_regionkey = r_regionkey",
    },
    AddedTable {
        name: "star_supplier",
        query: "select s_suppkey, substr(n_name, 1, 9) || cast(s_suppkey % 10 as varchar) as s_city, n_name as s_nation, \
                r_name as s_region from supplier, nation, region where s_nationkey = n_nationkey \
                and n_regionkey = r_regionkey",
    },
    AddedTable {
        name: "star_part",
        query: "select p_partkey, 'MFGR#' || substr(p_brand, 7, 1) as p_mfgr, 'MFGR#' || substr(p_brand, 7, 2) \
                as p_category, 'MFGR#' || substr(p_brand, 7, 2) || '-' || cast(p_partkey % 40 + 10 as varchar) as p_brand1 \
                from part",
    },
    AddedTable {
        name: "star_lineorder",
        query: "select l_orderkey as lo_orderkey, l_linenumber as lo_linenumber, o_custkey as lo_custkey, \
                l_partkey as lo_partkey, l_suppkey as lo_suppkey, \
                cast(extract(year from o_orderdate) * 10000 + extract(month from o_orderdate) * 100 \
                + extract(day from o_orderdate) as integer) as lo_orderdate, cast(l_quantity as integer) as lo_quantity, \
                l_extendedprice as lo_extendedprice, cast(l_discount * 100 as integer) as lo_discount, \
                cast(l_extendedprice * (1 - l_discount) as decimal(15, 2)) as lo_revenue, \
                ps_supplycost as lo_supplycost from lineitem, orders, partsupp \
                where l_orderkey = o_orderkey and l_partkey = ps_partkey and l_suppkey = ps_suppkey",
    },
];

/// The thirteen statement types with random parameters.
pub struct Star;

impl Workload for Star {
    fn added_tables(&self) -> &'static [AddedTable] {
        &TABLES
    }

    fn type_count(&self) -> usize {
        STAR_TYPES
    }

    fn text(&self, number: usize, random: &mut SeededRandom) -> String {
        StarQuery::random(number, random).text()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn types_have_one_three_or_four_joins() {
        let tables = |number| {
            let text = Star.text(number, &mut SeededRandom::new(5));
            let from = text.split_once(" from ").unwrap().1.split_once(" where ").unwrap().0;
            from.split(", ").count()
        };
        let counts: Vec<usize> = (0..Star.type_count()).map(tables).collect();
        assert_eq!(counts, [2, 2, 2, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5]);
    }

    #[test]
    fn parameters_vary() {
        let mut random = SeededRandom::new(1);
        for number in 0..Star.type_count() {
            let texts: BTreeSet<String> = (0..100).map(|_| Star.text(number, &mut random)).collect();
            assert!(texts.len() >= 5, "type {number} has {} texts", texts.len());
        }
    }
}
