//! The eight query types of QPipe's figure 12 (Q1, 4, 6, 8, 12, 13, 14, 19) with random parameters.
//!
//! A query is drawn as its parameters ([`MixParameters`]), from the TPC-H specification's ranges (section 2.4), and
//! written as SQL from them. Other forms of the query use the same parameters. `bench/peers/tpch_mix.py` is the same mix for the
//! peers; it draws from the same ranges with another generator.
//!
//! The texts of a seed must not change, so that figures of different days are of the same queries. A test checks their digest.
//!
//! QPipe, SIGMOD 2005, section 5.3.

use braid_base::{Random, SeededRandom};

use crate::workloads::workload::Workload;

/// TPC-H numbers of the types.
pub const MIX_NUMBERS: [u8; 8] = [1, 4, 6, 8, 12, 13, 14, 19];

const SHIP_MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];

/// The fixed conditions of the three alternatives of Q19.
pub(super) const Q19_ALTERNATIVES: [Q19Alternative; 3] = [
    Q19Alternative { containers: ["SM CASE", "SM BOX", "SM PACK", "SM PKG"], size_max: 5, quantity: (1, 10) },
    Q19Alternative { containers: ["MED BAG", "MED BOX", "MED PKG", "MED PACK"], size_max: 10, quantity: (10, 20) },
    Q19Alternative { containers: ["LG CASE", "LG BOX", "LG PACK", "LG PKG"], size_max: 15, quantity: (20, 30) },
];

/// Maximum minus minimum quantity of an alternative of Q19.
pub(super) const Q19_QUANTITIES: u64 = 10;

/// An alternative of Q19.
pub(super) struct Q19Alternative {
    /// Containers of its parts. No container belongs to two alternatives.
    pub(super) containers: [&'static str; 4],
    /// Maximum size of its parts. The minimum is 1.
    pub(super) size_max: i64,
    /// The range of the minimum quantity of a query.
    pub(super) quantity: (u64, u64),
}

/// An endless sequence of queries, each a random type with random parameters, determined by the seed.
pub struct QueryMix {
    random: SeededRandom,
}

/// The mix as a workload, with the texts of [`QueryMix`].
pub struct TpchMix;

impl Workload for TpchMix {
    fn type_count(&self) -> usize {
        MIX_NUMBERS.len()
    }

    fn text(&self, number: usize, random: &mut SeededRandom) -> String {
        MixParameters::random(MIX_NUMBERS[number], random).sql()
    }
}

/// A query of the mix.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MixQuery {
    /// TPC-H number of the type.
    pub number: u8,
    /// Text.
    pub sql: String,
}

/// The parameters of a query, which distinguish it from other queries of its type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MixParameters {
    /// Pricing summary.
    Q1 {
        /// Days before 1 December 1998 until which orders were shipped.
        days: u64,
    },
    /// Order priority checking.
    Q4 {
        /// Year of the quarter.
        year: u64,
        /// First month of the quarter.
        month: u64,
    },
    /// Forecasting revenue change.
    Q6 {
        /// Year of shipping.
        year: u64,
        /// The middle of the accepted discounts, in per cent. The range is one per cent wide on both sides.
        percent: u64,
        /// Upper bound of the quantity, exclusive.
        quantity: u64,
    },
    /// National market share.
    Q8 {
        /// The nation of the suppliers.
        nation: &'static str,
        /// The region of the customers.
        region: &'static str,
        /// The type of the parts.
        part_type: String,
    },
    /// Shipping modes and order priority.
    Q12 {
        /// The two modes.
        modes: [&'static str; 2],
        /// Year of receipt.
        year: u64,
    },
    /// Customer distribution.
    Q13 {
        /// Orders with these words in their comments, in this order, are excluded.
        words: [&'static str; 2],
    },
    /// Promotion effect.
    Q14 {
        /// Year of shipping.
        year: u64,
        /// Month of shipping.
        month: u64,
    },
    /// Discounted revenue.
    Q19 {
        /// Brand and minimum quantity of each alternative.
        wanted: [(String, u64); 3],
    },
}

impl QueryMix {
    /// The sequence of a seed. Each client has its own seed.
    pub fn new(seed: u64) -> Self {
        Self { random: SeededRandom::new(seed) }
    }
}

impl Iterator for QueryMix {
    type Item = MixQuery;

    fn next(&mut self) -> Option<MixQuery> {
        let number = choose(&mut self.random, &MIX_NUMBERS);
        Some(MixQuery { number, sql: MixParameters::random(number, &mut self.random).sql() })
    }
}

/// A number in `low..=high`.
fn between(random: &mut SeededRandom, low: u64, high: u64) -> u64 {
    low + random.below(high - low + 1)
}

fn choose<T: Copy>(random: &mut SeededRandom, from: &[T]) -> T {
    from[random.below(from.len() as u64) as usize]
}

fn any_year(random: &mut SeededRandom) -> u64 {
    between(random, 1993, 1997)
}

impl MixParameters {
    /// Random parameters of a type. Panics for a type outside of [`MIX_NUMBERS`].
    pub fn random(number: u8, random: &mut SeededRandom) -> Self {
        match number {
            1 => Self::Q1 { days: between(random, 60, 120) },
            4 => Self::Q4 { year: any_year(random), month: choose(random, &[1, 4, 7, 10]) },
            6 => Self::Q6 { year: any_year(random), percent: between(random, 2, 9), quantity: between(random, 24, 25) },
            8 => Self::random_q8(random),
            12 => Self::random_q12(random),
            13 => Self::Q13 {
                words: [
                    choose(random, &["special", "pending", "unusual", "express"]),
                    choose(random, &["packages", "requests", "accounts", "deposits"]),
                ],
            },
            14 => Self::Q14 { year: any_year(random), month: between(random, 1, 12) },
            19 => Self::Q19 {
                wanted: Q19_ALTERNATIVES.map(|Q19Alternative { quantity: (low, high), .. }| {
                    let brand = format!("Brand#{}{}", between(random, 1, 5), between(random, 1, 5));
                    (brand, between(random, low, high))
                }),
            },
            other => panic!("Q{other} is no type of the mix"),
        }
    }

    fn random_q8(random: &mut SeededRandom) -> Self {
        let nations = [
            ("BRAZIL", "AMERICA"),
            ("FRANCE", "EUROPE"),
            ("CHINA", "ASIA"),
            ("KENYA", "AFRICA"),
            ("EGYPT", "MIDDLE EAST"),
        ];
        let (nation, region) = choose(random, &nations);
        let size = choose(random, &["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"]);
        let finish = choose(random, &["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"]);
        let metal = choose(random, &["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"]);
        Self::Q8 { nation, region, part_type: format!("{size} {finish} {metal}") }
    }

    fn random_q12(random: &mut SeededRandom) -> Self {
        let first = random.below(7) as usize;
        // Any of the other six, each equally likely.
        let second = (first + between(random, 1, 6) as usize) % 7;
        Self::Q12 { modes: [SHIP_MODES[first], SHIP_MODES[second]], year: any_year(random) }
    }

    /// The query's text.
    pub fn sql(&self) -> String {
        match self {
            Self::Q1 { days } => format!(
                "select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), \
                 sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), \
                 avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*) from lineitem \
                 where l_shipdate <= date '1998-12-01' - interval '{days} days' \
                 group by l_returnflag, l_linestatus order by 1, 2"
            ),
            Self::Q4 { year, month } => format!(
                "select o_orderpriority, count(*) from orders where o_orderdate >= date '{year}-{month:02}-01' \
                 and o_orderdate < date '{year}-{month:02}-01' + interval '3 months' and exists (select * from lineitem \
                 where l_orderkey = o_orderkey and l_commitdate < l_receiptdate) group by 1 order by 1"
            ),
            Self::Q6 { year, percent, quantity } => format!(
                "select sum(l_extendedprice * l_discount) from lineitem where l_shipdate >= date '{year}-01-01' \
                 and l_shipdate < date '{}-01-01' and l_discount between 0.{:02} and 0.{:02} and l_quantity < {quantity}",
                year + 1,
                percent - 1,
                percent + 1
            ),
            Self::Q8 { nation, region, part_type } => format!(
                "select o_year, sum(case when nation = '{nation}' then volume else 0 end) / sum(volume) from \
                 (select extract(year from o_orderdate) as o_year, l_extendedprice * (1 - l_discount) as volume, \
                 n2.n_name as nation from part, supplier, lineitem, orders, customer, nation n1, nation n2, region \
                 where p_partkey = l_partkey and s_suppkey = l_suppkey and l_orderkey = o_orderkey \
                 and o_custkey = c_custkey and c_nationkey = n1.n_nationkey and n1.n_regionkey = r_regionkey \
                 and r_name = '{region}' and s_nationkey = n2.n_nationkey \
                 and o_orderdate between date '1995-01-01' and date '1996-12-31' and p_type = '{part_type}') \
                 as x group by o_year order by o_year"
            ),
            Self::Q12 { modes: [a, b], year } => format!(
                "select l_shipmode, sum(case when o_orderpriority = '1-URGENT' or o_orderpriority = '2-HIGH' then 1 \
                 else 0 end), sum(case when o_orderpriority <> '1-URGENT' and o_orderpriority <> '2-HIGH' then 1 \
                 else 0 end) from orders, lineitem where o_orderkey = l_orderkey and l_shipmode in ('{a}', '{b}') \
                 and l_commitdate < l_receiptdate and l_shipdate < l_commitdate and l_receiptdate >= date '{year}-01-01' \
                 and l_receiptdate < date '{}-01-01' group by l_shipmode order by l_shipmode",
                year + 1
            ),
            Self::Q13 { words: [first, second] } => format!(
                "select c_count, count(*) as custdist from (select c_custkey, count(o_orderkey) as c_count from customer \
                 left outer join orders on c_custkey = o_custkey and o_comment not like '%{first}%{second}%' \
                 group by c_custkey) as t group by c_count order by custdist desc, c_count desc"
            ),
            Self::Q14 { year, month } => format!(
                "select 100.00 * sum(case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount) else 0 end) \
                 / sum(l_extendedprice * (1 - l_discount)) from lineitem, part where l_partkey = p_partkey \
                 and l_shipdate >= date '{year}-{month:02}-01' \
                 and l_shipdate < date '{year}-{month:02}-01' + interval '1 month'"
            ),
            Self::Q19 { wanted } => sql_of_q19(wanted),
        }
    }
}

fn sql_of_q19(wanted: &[(String, u64); 3]) -> String {
    let alternatives = wanted.iter().zip(&Q19_ALTERNATIVES).map(|((brand, quantity), fixed)| {
        let Q19Alternative { containers, size_max, .. } = fixed;
        format!(
            "(p_partkey = l_partkey and p_brand = '{brand}' and p_container in ('{}') \
             and l_quantity >= {quantity} and l_quantity <= {} and p_size between 1 and {size_max} \
             and l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON')",
            containers.join("', '"),
            quantity + Q19_QUANTITIES
        )
    });
    format!(
        "select sum(l_extendedprice * (1 - l_discount)) from lineitem, part where {}",
        alternatives.collect::<Vec<_>>().join(" or ")
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use braid_testing::cases;

    use super::*;
    use crate::workloads::workload::Texts;

    #[test]
    fn a_seed_determines_the_sequence_and_all_types_come_up() {
        let queries: Vec<_> = QueryMix::new(3).take(200).collect();
        assert_eq!(queries, QueryMix::new(3).take(200).collect::<Vec<_>>());
        assert_ne!(queries, QueryMix::new(4).take(200).collect::<Vec<_>>());
        let numbers: BTreeSet<u8> = queries.iter().map(|q| q.number).collect();
        assert_eq!(numbers, BTreeSet::from(MIX_NUMBERS));
        let texts: BTreeSet<&str> = queries.iter().map(|q| q.sql.as_str()).collect();
        assert!(texts.len() > 100, "parameters vary: {} different texts of 200", texts.len());
    }

    #[test]
    fn the_texts_of_a_seed_stay_as_they_are() {
        let rows = QueryMix::new(7).take(1000).map(|query| vec![query.sql]).collect();
        assert_eq!(crate::workloads::answer::Answer { rows }.digest(&["sql"]), "1000 rows, fnv1a 42e87f75d568ad30");
    }

    #[test]
    fn the_workload_has_the_same_texts() {
        let workload: Arc<dyn Workload> = Arc::new(TpchMix);
        let texts: Vec<String> = Texts::of_client(&workload, 5, 10).take(50).collect();
        assert_eq!(texts, QueryMix::new(15).take(50).map(|query| query.sql).collect::<Vec<_>>());
    }

    #[test]
    fn the_two_ship_modes_of_q12_differ() {
        for case in cases!(0..500) {
            let sql = MixParameters::random(12, &mut case.random()).sql();
            let modes = sql.split("l_shipmode in ('").nth(1).unwrap().split("')").next().unwrap();
            let (a, b) = modes.split_once("', '").unwrap();
            assert!(SHIP_MODES.contains(&a) && SHIP_MODES.contains(&b) && a != b, "{modes}");
        }
    }
}
