//! Statements of a dashboard over TPC-H: eight shapes, each with many texts that differ in their columns, aliases and conditions.

/// Number of shapes.
pub const SHAPE_COUNT: usize = 8;

/// The statement of a text with constants of its own in each round. The texts of two numbers are different.
pub fn statement(number: usize, round: usize) -> String {
    let (shape, variant) = (number % SHAPE_COUNT, number / SHAPE_COUNT);
    let n = variant;
    let day = format!("date '199{}-0{}-1{}'", 3 + round % 4, 1 + variant % 9, round % 9);
    let figures = |of: &[&str]| listed(of, variant, n);
    match shape {
        0 => format!(
            "select l_returnflag, l_linestatus, {} from lineitem where l_shipdate <= {day} - interval '{}' day
             group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus",
            figures(&[
                "sum(l_quantity)",
                "sum(l_extendedprice)",
                "sum(l_extendedprice * (1 - l_discount))",
                "avg(l_discount)",
                "count(*)",
            ]),
            60 + round,
        ),
        1 => format!(
            "select {} from lineitem l{n} where l{n}.l_shipdate >= {day} and l{n}.l_shipdate < {day} + interval '1' year
             and l_discount between 0.0{} and 0.0{} and l_quantity < {}",
            figures(&["sum(l_extendedprice * l_discount)", "count(*)", "min(l_tax)", "max(l_quantity)", "avg(l_tax)"]),
            1 + round,
            4 + round,
            20 + round,
        ),
        2 => format!(
            "select l_orderkey, {}, o_orderdate from customer c{n}, orders, lineitem where c_mktsegment = '{}'
             and c_custkey = o_custkey and l_orderkey = o_orderkey and o_orderdate < {day} and l_shipdate > {day}
             group by l_orderkey, o_orderdate order by 2 desc, l_orderkey, o_orderdate limit 10",
            figures(&[
                "sum(l_extendedprice * (1 - l_discount))",
                "count(*)",
                "max(l_shipdate)",
                "min(l_tax)",
                "sum(l_quantity)",
            ]),
            ["BUILDING", "AUTOMOBILE", "MACHINERY"][round % 3],
        ),
        3 => format!(
            "select o_orderpriority, {} from orders where o_orderdate >= {day} and o_orderdate < {day} + interval '3' month
             and exists (select * from lineitem i{n} where i{n}.l_orderkey = o_orderkey and l_commitdate < l_receiptdate
             and l_quantity > {round}) group by o_orderpriority order by o_orderpriority",
            figures(&["count(*)", "sum(o_totalprice)", "max(o_orderdate)", "min(o_custkey)", "avg(o_totalprice)"]),
        ),
        4 => format!(
            "select l_shipmode, sum(case when o_orderpriority = '1-URGENT' then 1 else 0 end) as high_{n}, {}
             from orders, lineitem where o_orderkey = l_orderkey and l_shipmode in ('{}', '{}') and l_receiptdate >= {day}
             and l_receiptdate < {day} + interval '1' year group by l_shipmode order by l_shipmode",
            figures(&["count(*)", "sum(l_tax)", "max(o_totalprice)", "min(l_quantity)", "avg(l_discount)"]),
            ["MAIL", "RAIL", "AIR"][round % 3],
            ["SHIP", "TRUCK", "FOB"][round % 3],
        ),
        5 => format!(
            "select 100.00 * sum(case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount) else 0 end)
             / sum(l_extendedprice * (1 - l_discount)) as promo_{n}, {} from lineitem, part
             where l_partkey = p_partkey and l_shipdate >= {day} and l_shipdate < {day} + interval '1' month",
            figures(&["count(*)", "sum(p_retailprice)", "max(p_size)", "min(l_tax)", "avg(l_quantity)"]),
        ),
        6 => format!(
            "select {} from orders o{n} where o_custkey = {} and o_orderdate >= {day} order by o_orderkey",
            figures(&["o_orderkey", "o_totalprice", "o_orderdate", "o_orderpriority", "o_comment"]),
            10 + round,
        ),
        _ => format!(
            "select n_name, {} from customer, orders, lineitem, supplier, nation, region r{n} where c_custkey = o_custkey
             and l_orderkey = o_orderkey and l_suppkey = s_suppkey and c_nationkey = s_nationkey
             and s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = '{}' and o_orderdate >= {day}
             and o_orderdate < {day} + interval '1' year group by n_name order by n_name",
            figures(&[
                "sum(l_extendedprice * (1 - l_discount))",
                "count(*)",
                "max(s_acctbal)",
                "min(c_acctbal)",
                "sum(l_tax)",
            ]),
            ["ASIA", "EUROPE", "AMERICA"][round % 3],
        ),
    }
}

/// Some of the columns, each with an alias, in one of 31 choices.
fn listed(columns: &[&str], variant: usize, n: usize) -> String {
    let choice = 1 + variant % 31;
    let chosen = columns.iter().enumerate().filter(|(at, _)| choice >> at & 1 == 1);
    chosen.map(|(at, column)| format!("{column} as f{n}_{at}")).collect::<Vec<_>>().join(", ")
}
