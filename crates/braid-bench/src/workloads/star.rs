//! A star schema: a fact table with four dimensions, made from TPC-H's tables, and thirteen statement types with one to four joins.
//!
//! Schema and statements follow the Star Schema Benchmark (O'Neil, O'Neil, Chen, TPCTC 2009), with random parameters. The fact
//! table has lineitem's rows (below scale 0.01 some twice, because partsupp's keys are not unique there).

use braid_base::{Random, SeededRandom};

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

const REGIONS: [&str; 5] = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"];

/// Some nations with their regions.
const NATIONS: [(&str, &str); 10] = [
    ("KENYA", "AFRICA"),
    ("MOROCCO", "AFRICA"),
    ("BRAZIL", "AMERICA"),
    ("UNITED STATES", "AMERICA"),
    ("CHINA", "ASIA"),
    ("JAPAN", "ASIA"),
    ("FRANCE", "EUROPE"),
    ("UNITED KINGDOM", "EUROPE"),
    ("EGYPT", "MIDDLE EAST"),
    ("IRAN", "MIDDLE EAST"),
];

/// The years with orders of every month.
const YEARS: (u64, u64) = (1992, 1997);

/// The thirteen statement types with random parameters.
pub struct Star;

impl Workload for Star {
    fn added_tables(&self) -> &'static [AddedTable] {
        &TABLES
    }

    fn type_count(&self) -> usize {
        13
    }

    fn text(&self, number: usize, random: &mut SeededRandom) -> String {
        let mut draw = Draw(random);
        match number {
            0..3 => of_dates(number, &mut draw),
            3..6 => of_parts(number - 3, &mut draw),
            6..10 => of_places(number - 6, &mut draw),
            10..13 => of_profit(number - 10, &mut draw),
            other => panic!("there is no type {other}"),
        }
    }
}

/// Random parameters.
struct Draw<'a>(&'a mut SeededRandom);

impl Draw<'_> {
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high - low + 1)
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.0.below(values.len() as u64) as usize]
    }

    fn year(&mut self) -> u64 {
        self.between(YEARS.0, YEARS.1)
    }

    fn region(&mut self) -> &'static str {
        self.of(&REGIONS)
    }

    /// `MFGR#12`
    fn category(&mut self) -> String {
        format!("MFGR#{}{}", self.between(1, 5), self.between(1, 5))
    }

    /// Two cities of a nation, as a list of literals.
    fn cities(&mut self) -> String {
        let (nation, _) = self.of(&NATIONS);
        let nation = &nation[..nation.len().min(9)];
        let first = self.between(0, 9);
        let second = (first + self.between(1, 9)) % 10;
        format!("'{nation}{first}', '{nation}{second}'")
    }
}

/// SSB's Q1.1 to Q1.3: one join, no groups.
fn of_dates(number: usize, draw: &mut Draw<'_>) -> String {
    let year = draw.year();
    let date = match number {
        0 => format!("d_year = {year}"),
        1 => format!("d_yearmonthnum = {year}{:02}", draw.between(1, 12)),
        _ => format!("d_week = {} and d_year = {year}", draw.between(1, 52)),
    };
    let (discount, quantity) = (draw.between(1, 8), draw.between(20, 30));
    format!(
        "select sum(lo_extendedprice * lo_discount) as revenue from star_lineorder, star_date \
         where lo_orderdate = d_datekey and {date} and lo_discount between {} and {} and lo_quantity < {quantity}",
        discount - 1,
        discount + 1
    )
}

/// Q2.1 to Q2.3: three joins.
fn of_parts(number: usize, draw: &mut Draw<'_>) -> String {
    let category = draw.category();
    let part = match number {
        0 => format!("p_category = '{category}'"),
        1 => {
            let first = draw.between(10, 40);
            format!("p_brand1 between '{category}-{first}' and '{category}-{}'", first + 7)
        }
        _ => format!("p_brand1 = '{category}-{}'", draw.between(10, 49)),
    };
    format!(
        "select sum(lo_revenue) as revenue, d_year, p_brand1 from star_lineorder, star_date, star_part, star_supplier \
         where lo_orderdate = d_datekey and lo_partkey = p_partkey and lo_suppkey = s_suppkey and {part} \
         and s_region = '{}' group by d_year, p_brand1 order by d_year, p_brand1",
        draw.region()
    )
}

/// Q3.1 to Q3.4: three joins with customers and suppliers.
fn of_places(number: usize, draw: &mut Draw<'_>) -> String {
    let (column, places) = match number {
        0 => {
            let region = draw.region();
            ("nation", format!("c_region = '{region}' and s_region = '{region}'"))
        }
        1 => {
            let (nation, _) = draw.of(&NATIONS);
            ("city", format!("c_nation = '{nation}' and s_nation = '{nation}'"))
        }
        _ => {
            let cities = draw.cities();
            ("city", format!("c_city in ({cities}) and s_city in ({cities})"))
        }
    };
    let year = draw.year();
    let date = match number {
        3 => format!("d_yearmonthnum = {year}{:02}", draw.between(1, 12)),
        _ => format!("d_year >= {} and d_year <= {year}", draw.between(YEARS.0, year)),
    };
    format!(
        "select c_{column}, s_{column}, d_year, sum(lo_revenue) as revenue \
         from star_lineorder, star_date, star_customer, star_supplier where lo_orderdate = d_datekey \
         and lo_custkey = c_custkey and lo_suppkey = s_suppkey and {places} and {date} \
         group by c_{column}, s_{column}, d_year order by d_year, revenue desc, c_{column}, s_{column}"
    )
}

/// Q4.1 to Q4.3: four joins.
fn of_profit(number: usize, draw: &mut Draw<'_>) -> String {
    let (nation, region) = draw.of(&NATIONS);
    let year = draw.year();
    let maker = draw.between(1, 4);
    let makers = format!("p_mfgr in ('MFGR#{maker}', 'MFGR#{}')", maker + 1);
    let years = format!("d_year in ({year}, {})", year + 1);
    let (groups, condition) = match number {
        0 => ("d_year, c_nation", format!("c_region = '{region}' and s_region = '{region}' and {makers}")),
        1 => (
            "d_year, s_nation, p_category",
            format!("c_region = '{region}' and s_region = '{region}' and {years} and {makers}"),
        ),
        _ => (
            "d_year, s_city, p_brand1",
            format!(
                "c_region = '{region}' and s_nation = '{nation}' and {years} and p_category = '{}'",
                draw.category()
            ),
        ),
    };
    format!(
        "select {groups}, sum(lo_revenue - lo_supplycost) as profit \
         from star_lineorder, star_date, star_customer, star_supplier, star_part where lo_orderdate = d_datekey \
         and lo_custkey = c_custkey and lo_suppkey = s_suppkey and lo_partkey = p_partkey and {condition} \
         group by {groups} order by {groups}"
    )
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
