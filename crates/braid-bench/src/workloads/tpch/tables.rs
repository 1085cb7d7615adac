//! The eight tables of TPC-H: names, columns, keys, sizes, rows (TPC-H specification 3.0, section 1.4).
//!
//! Identifiers are 64-bit: at scale 1000 order keys pass 2^31. Money is `numeric(15,2)`, which Braid keeps in 64 bits.
//! Every column is NOT NULL, as the specification has it. `tpchgen-arrow` produces exactly the Arrow types
//! of these columns, so that batches are stored without conversion.
//!
//! The generator keeps 300 MB of pseudo-random text (the specification's text pool) until the process ends. It is created at
//! the first use, so that a process that only serves does not have it.

use std::fmt;

use braid_storage::{ColumnDef, ColumnType};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow, SupplierArrow,
};

use crate::workloads::generated::{BATCH_ROWS, GeneratedTable, PartBatches};

use ColumnType::{BigInt, Char, Date, Integer, Varchar};

const MONEY: ColumnType = ColumnType::Numeric { precision: 15, scale: 2 };

/// One of the eight tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TpchTable {
    /// 5 rows
    Region,
    /// 25 rows
    Nation,
    /// 10 000 rows at scale 1
    Supplier,
    /// 200 000 rows at scale 1
    Part,
    /// 800 000 rows at scale 1
    Partsupp,
    /// 150 000 rows at scale 1
    Customer,
    /// 1 500 000 rows at scale 1
    Orders,
    /// about 6 000 000 rows at scale 1
    Lineitem,
}

impl GeneratedTable for TpchTable {
    const BENCHMARK: &'static str = "TPC-H";

    /// The smallest first.
    const ALL: &'static [Self] = &[
        Self::Region,
        Self::Nation,
        Self::Supplier,
        Self::Part,
        Self::Partsupp,
        Self::Customer,
        Self::Orders,
        Self::Lineitem,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Region => "region",
            Self::Nation => "nation",
            Self::Supplier => "supplier",
            Self::Part => "part",
            Self::Partsupp => "partsupp",
            Self::Customer => "customer",
            Self::Orders => "orders",
            Self::Lineitem => "lineitem",
        }
    }

    /// All NOT NULL and without defaults.
    fn columns(self) -> Vec<ColumnDef> {
        let column = |&(name, column_type): &(&str, ColumnType)| ColumnDef {
            nullable: false,
            ..ColumnDef::new(name, column_type)
        };
        self.column_types().iter().map(column).collect()
    }

    fn primary_key(self) -> &'static [&'static str] {
        match self {
            Self::Region => &["r_regionkey"],
            Self::Nation => &["n_nationkey"],
            Self::Supplier => &["s_suppkey"],
            Self::Part => &["p_partkey"],
            Self::Partsupp => &["ps_partkey", "ps_suppkey"],
            Self::Customer => &["c_custkey"],
            Self::Orders => &["o_orderkey"],
            Self::Lineitem => &["l_orderkey", "l_linenumber"],
        }
    }

    /// Exact, except for lineitem: there it is four for each order, within 0.1 % at scale 1.
    fn row_count(self, scale: f64) -> u64 {
        let count = match self {
            Self::Region => 5,
            Self::Nation => 25,
            Self::Supplier => SupplierGenerator::calculate_row_count(scale, 1, 1),
            Self::Part => PartGenerator::calculate_row_count(scale, 1, 1),
            // Partsupp's generator counts parts: each has four suppliers.
            Self::Partsupp => 4 * PartSuppGenerator::calculate_row_count(scale, 1, 1),
            Self::Customer => CustomerGenerator::calculate_row_count(scale, 1, 1),
            Self::Orders => OrderGenerator::calculate_row_count(scale, 1, 1),
            Self::Lineitem => 4 * OrderGenerator::calculate_row_count(scale, 1, 1),
        };
        u64::try_from(count).expect("the generator counts rows upward from zero")
    }

    fn row_count_slack(self, scale: f64) -> u64 {
        if self == Self::Lineitem { self.row_count(scale) / 10 + 100 } else { 0 }
    }

    fn part_count(self, scale: f64, rows: u64) -> u32 {
        match self {
            // The fixed tables ignore the part number: a second part would repeat them.
            Self::Region | Self::Nation => 1,
            // The generator counts parts in 31 bits.
            _ => self.row_count(scale).div_ceil(rows).clamp(1, i32::MAX as u64) as u32,
        }
    }

    fn part(self, scale: f64, part: u32, part_count: u32) -> PartBatches {
        let (part, part_count) = (part as i32, part_count as i32);
        macro_rules! rows {
            ($arrow:ident, $generator:ident) => {
                Box::new($arrow::new($generator::new(scale, part, part_count)).with_batch_size(BATCH_ROWS))
            };
        }
        match self {
            Self::Region => rows!(RegionArrow, RegionGenerator),
            Self::Nation => rows!(NationArrow, NationGenerator),
            Self::Supplier => rows!(SupplierArrow, SupplierGenerator),
            Self::Part => rows!(PartArrow, PartGenerator),
            Self::Partsupp => rows!(PartSuppArrow, PartSuppGenerator),
            Self::Customer => rows!(CustomerArrow, CustomerGenerator),
            Self::Orders => rows!(OrderArrow, OrderGenerator),
            Self::Lineitem => rows!(LineItemArrow, LineItemGenerator),
        }
    }
}

impl TpchTable {
    fn column_types(self) -> &'static [(&'static str, ColumnType)] {
        match self {
            Self::Region => &[("r_regionkey", BigInt), ("r_name", Char(25)), ("r_comment", Varchar(152))],
            Self::Nation => {
                &[("n_nationkey", BigInt), ("n_name", Char(25)), ("n_regionkey", BigInt), ("n_comment", Varchar(152))]
            }
            Self::Supplier => &[
                ("s_suppkey", BigInt),
                ("s_name", Char(25)),
                ("s_address", Varchar(40)),
                ("s_nationkey", BigInt),
                ("s_phone", Char(15)),
                ("s_acctbal", MONEY),
                ("s_comment", Varchar(101)),
            ],
            Self::Part => &[
                ("p_partkey", BigInt),
                ("p_name", Varchar(55)),
                ("p_mfgr", Char(25)),
                ("p_brand", Char(10)),
                ("p_type", Varchar(25)),
                ("p_size", Integer),
                ("p_container", Char(10)),
                ("p_retailprice", MONEY),
                ("p_comment", Varchar(23)),
            ],
            Self::Partsupp => &[
                ("ps_partkey", BigInt),
                ("ps_suppkey", BigInt),
                ("ps_availqty", Integer),
                ("ps_supplycost", MONEY),
                ("ps_comment", Varchar(199)),
            ],
            Self::Customer => &[
                ("c_custkey", BigInt),
                ("c_name", Varchar(25)),
                ("c_address", Varchar(40)),
                ("c_nationkey", BigInt),
                ("c_phone", Char(15)),
                ("c_acctbal", MONEY),
                ("c_mktsegment", Char(10)),
                ("c_comment", Varchar(117)),
            ],
            Self::Orders => &[
                ("o_orderkey", BigInt),
                ("o_custkey", BigInt),
                ("o_orderstatus", Char(1)),
                ("o_totalprice", MONEY),
                ("o_orderdate", Date),
                ("o_orderpriority", Char(15)),
                ("o_clerk", Char(15)),
                ("o_shippriority", Integer),
                ("o_comment", Varchar(79)),
            ],
            Self::Lineitem => &[
                ("l_orderkey", BigInt),
                ("l_partkey", BigInt),
                ("l_suppkey", BigInt),
                ("l_linenumber", Integer),
                ("l_quantity", MONEY),
                ("l_extendedprice", MONEY),
                ("l_discount", MONEY),
                ("l_tax", MONEY),
                ("l_returnflag", Char(1)),
                ("l_linestatus", Char(1)),
                ("l_shipdate", Date),
                ("l_commitdate", Date),
                ("l_receiptdate", Date),
                ("l_shipinstruct", Char(25)),
                ("l_shipmode", Char(10)),
                ("l_comment", Varchar(44)),
            ],
        }
    }
}

impl fmt::Display for TpchTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::generated::tests::{check_parts, check_tables};

    #[tokio::test]
    async fn batches_have_the_tables_schema_and_its_rows() {
        check_tables::<TpchTable>(0.001).await;
    }

    #[test]
    fn parts_in_order_are_the_whole() {
        for table in [TpchTable::Orders, TpchTable::Partsupp, TpchTable::Lineitem] {
            check_parts(table, 0.001);
        }
    }
}
