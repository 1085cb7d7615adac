//! The eight query types of QPipe's figure 12 (Q1, 4, 6, 8, 12, 13, 14, 19) with random parameters.
//!
//! The parameters come from the TPC-H specification's ranges (section 2.4). The same mix for the peers is
//! `bench/peers/tpch_mix.py`; the two draw from the same ranges, not from the same generator.
//!
//! QPipe, SIGMOD 2005, section 5.3.

use braid_base::{Random, SeededRandom};

const SHIP_MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];

/// An endless sequence of queries, each a random type with random parameters, determined by the seed.
pub struct QueryMix {
    random: SeededRandom,
}

/// A query of the mix.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MixQuery {
    /// TPC-H number of the type.
    pub number: u8,
    /// Text.
    pub sql: String,
}

impl QueryMix {
    /// The sequence for a seed; drivers give each client its own.
    pub fn new(seed: u64) -> Self {
        Self { random: SeededRandom::new(seed) }
    }

    /// A number in `low..=high`.
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.random.below(high - low + 1)
    }

    fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len() as u64) as usize]
    }

    fn year(&mut self) -> u64 {
        self.between(1993, 1997)
    }

    /// Pricing summary.
    fn q1(&mut self) -> String {
        let days = self.between(60, 120);
        format!(
            "select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), \
             sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), \
             avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*) from lineitem \
             where l_shipdate <= date '1998-12-01' - interval '{days} days' \
             group by l_returnflag, l_linestatus order by 1, 2"
        )
    }

    /// Order priority checking.
    fn q4(&mut self) -> String {
        let (year, month) = (self.year(), self.choose(&[1, 4, 7, 10]));
        format!(
            "select o_orderpriority, count(*) from orders where o_orderdate >= date '{year}-{month:02}-01' \
             and o_orderdate < date '{year}-{month:02}-01' + interval '3 months' and exists (select * from lineitem \
             where l_orderkey = o_orderkey and l_commitdate < l_receiptdate) group by 1 order by 1"
        )
    }

    /// Forecasting revenue change.
    fn q6(&mut self) -> String {
        let (year, percent, quantity) = (self.year(), self.between(2, 9), self.between(24, 25));
        format!(
            "select sum(l_extendedprice * l_discount) from lineitem where l_shipdate >= date '{year}-01-01' \
             and l_shipdate < date '{}-01-01' and l_discount between 0.{:02} and 0.{:02} and l_quantity < {quantity}",
            year + 1,
            percent - 1,
            percent + 1
        )
    }

    /// National market share.
    fn q8(&mut self) -> String {
        let (nation, region) = self.choose(&[
            ("BRAZIL", "AMERICA"),
            ("FRANCE", "EUROPE"),
            ("CHINA", "ASIA"),
            ("KENYA", "AFRICA"),
            ("EGYPT", "MIDDLE EAST"),
        ]);
        let size = self.choose(&["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"]);
        let finish = self.choose(&["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"]);
        let metal = self.choose(&["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"]);
        format!(
            "select o_year, sum(case when nation = '{nation}' then volume else 0 end) / sum(volume) from \
             (select extract(year from o_orderdate) as o_year, l_extendedprice * (1 - l_discount) as volume, \
             n2.n_name as nation from part, supplier, lineitem, orders, customer, nation n1, nation n2, region \
             where p_partkey = l_partkey and s_suppkey = l_suppkey and l_orderkey = o_orderkey \
             and o_custkey = c_custkey and c_nationkey = n1.n_nationkey and n1.n_regionkey = r_regionkey \
             and r_name = '{region}' and s_nationkey = n2.n_nationkey \
             and o_orderdate between date '1995-01-01' and date '1996-12-31' and p_type = '{size} {finish} {metal}') \
             as x group by o_year order by o_year"
        )
    }

    /// Shipping modes and order priority.
    fn q12(&mut self) -> String {
        let first = self.random.below(7) as usize;
        // Any of the other six, each equally likely.
        let second = (first + self.between(1, 6) as usize) % 7;
        let (a, b, year) = (SHIP_MODES[first], SHIP_MODES[second], self.year());
        format!(
            "select l_shipmode, sum(case when o_orderpriority = '1-URGENT' or o_orderpriority = '2-HIGH' then 1 \
             else 0 end), sum(case when o_orderpriority <> '1-URGENT' and o_orderpriority <> '2-HIGH' then 1 \
             else 0 end) from orders, lineitem where o_orderkey = l_orderkey and l_shipmode in ('{a}', '{b}') \
             and l_commitdate < l_receiptdate and l_shipdate < l_commitdate and l_receiptdate >= date '{year}-01-01' \
             and l_receiptdate < date '{}-01-01' group by l_shipmode order by l_shipmode",
            year + 1
        )
    }

    /// Customer distribution.
    fn q13(&mut self) -> String {
        let first = self.choose(&["special", "pending", "unusual", "express"]);
        let second = self.choose(&["packages", "requests", "accounts", "deposits"]);
        format!(
            "select c_count, count(*) as custdist from (select c_custkey, count(o_orderkey) as c_count from customer \
             left outer join orders on c_custkey = o_custkey and o_comment not like '%{first}%{second}%' \
             group by c_custkey) as t group by c_count order by custdist desc, c_count desc"
        )
    }

    /// Promotion effect.
    fn q14(&mut self) -> String {
        let (year, month) = (self.year(), self.between(1, 12));
        format!(
            "select 100.00 * sum(case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount) else 0 end) \
             / sum(l_extendedprice * (1 - l_discount)) from lineitem, part where l_partkey = p_partkey \
             and l_shipdate >= date '{year}-{month:02}-01' \
             and l_shipdate < date '{year}-{month:02}-01' + interval '1 month'"
        )
    }

    /// Discounted revenue.
    fn q19(&mut self) -> String {
        let alternatives = [
            ("'SM CASE', 'SM BOX', 'SM PACK', 'SM PKG'", 5, (1, 10)),
            ("'MED BAG', 'MED BOX', 'MED PKG', 'MED PACK'", 10, (10, 20)),
            ("'LG CASE', 'LG BOX', 'LG PACK', 'LG PKG'", 15, (20, 30)),
        ]
        .map(|(containers, size_max, (low, high))| {
            let brand = format!("Brand#{}{}", self.between(1, 5), self.between(1, 5));
            let quantity = self.between(low, high);
            format!(
                "(p_partkey = l_partkey and p_brand = '{brand}' and p_container in ({containers}) \
                 and l_quantity >= {quantity} and l_quantity <= {} and p_size between 1 and {size_max} \
                 and l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON')",
                quantity + 10
            )
        });
        format!(
            "select sum(l_extendedprice * (1 - l_discount)) from lineitem, part where {}",
            alternatives.join(" or ")
        )
    }
}

impl Iterator for QueryMix {
    type Item = MixQuery;

    fn next(&mut self) -> Option<MixQuery> {
        let number = self.choose(&[1, 4, 6, 8, 12, 13, 14, 19]);
        let sql = match number {
            1 => self.q1(),
            4 => self.q4(),
            6 => self.q6(),
            8 => self.q8(),
            12 => self.q12(),
            13 => self.q13(),
            14 => self.q14(),
            _ => self.q19(),
        };
        Some(MixQuery { number, sql })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_seed_determines_the_sequence_and_all_types_come_up() {
        let queries: Vec<_> = QueryMix::new(3).take(200).collect();
        assert_eq!(queries, QueryMix::new(3).take(200).collect::<Vec<_>>());
        assert_ne!(queries, QueryMix::new(4).take(200).collect::<Vec<_>>());
        let numbers: BTreeSet<u8> = queries.iter().map(|q| q.number).collect();
        assert_eq!(numbers, BTreeSet::from([1, 4, 6, 8, 12, 13, 14, 19]));
        let texts: BTreeSet<&str> = queries.iter().map(|q| q.sql.as_str()).collect();
        assert!(texts.len() > 100, "parameters vary: {} different texts of 200", texts.len());
    }

    #[test]
    fn the_two_ship_modes_of_q12_differ() {
        let mut mix = QueryMix::new(1);
        for _ in 0..500 {
            let sql = mix.q12();
            let modes = sql.split("l_shipmode in ('").nth(1).unwrap().split("')").next().unwrap();
            let (a, b) = modes.split_once("', '").unwrap();
            assert!(SHIP_MODES.contains(&a) && SHIP_MODES.contains(&b) && a != b, "{modes}");
        }
    }
}
