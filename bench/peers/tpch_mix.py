"""The eight TPC-H query types of QPipe's figure 12 (Q1, 4, 6, 8, 12, 13, 14, 19) with random parameters.

The ranges are the TPC-H specification's (section 2.4), the texts those of crates/braid-bench/src/workloads/tpch/mix.rs. `MIX` is
the list of types; each takes a `random.Random` and returns SQL.
"""

SHIP_MODES = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"]


def q1(r):
    return f"""select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice),
        sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)),
        avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*) from lineitem
        where l_shipdate <= date '1998-12-01' - interval '{r.randint(60, 120)} days'
        group by l_returnflag, l_linestatus order by 1, 2"""


def q4(r):
    start = f"date '{r.randint(1993, 1997)}-{r.choice([1, 4, 7, 10]):02d}-01'"
    return f"""select o_orderpriority, count(*) from orders
        where o_orderdate >= {start} and o_orderdate < {start} + interval '3 months'
        and exists (select * from lineitem where l_orderkey = o_orderkey and l_commitdate < l_receiptdate)
        group by 1 order by 1"""


def q6(r):
    year, percent = r.randint(1993, 1997), r.randint(2, 9)
    return f"""select sum(l_extendedprice * l_discount) from lineitem
        where l_shipdate >= date '{year}-01-01' and l_shipdate < date '{year + 1}-01-01'
        and l_discount between 0.{percent - 1:02d} and 0.{percent + 1:02d} and l_quantity < {r.randint(24, 25)}"""


def q8(r):
    nation, region = r.choice([("BRAZIL", "AMERICA"), ("FRANCE", "EUROPE"), ("CHINA", "ASIA"), ("KENYA", "AFRICA"),
                               ("EGYPT", "MIDDLE EAST")])
    size = r.choice(["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"])
    finish = r.choice(["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"])
    metal = r.choice(["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"])
    return f"""select o_year, sum(case when nation = '{nation}' then volume else 0 end) / sum(volume) from (
        select extract(year from o_orderdate) as o_year, l_extendedprice * (1 - l_discount) as volume,
        n2.n_name as nation from part, supplier, lineitem, orders, customer, nation n1, nation n2, region
        where p_partkey = l_partkey and s_suppkey = l_suppkey and l_orderkey = o_orderkey and o_custkey = c_custkey
        and c_nationkey = n1.n_nationkey and n1.n_regionkey = r_regionkey and r_name = '{region}'
        and s_nationkey = n2.n_nationkey and o_orderdate between date '1995-01-01' and date '1996-12-31'
        and p_type = '{size} {finish} {metal}') as x group by o_year order by o_year"""


def q12(r):
    a, b = r.sample(SHIP_MODES, 2)
    year = r.randint(1993, 1997)
    return f"""select l_shipmode,
        sum(case when o_orderpriority = '1-URGENT' or o_orderpriority = '2-HIGH' then 1 else 0 end),
        sum(case when o_orderpriority <> '1-URGENT' and o_orderpriority <> '2-HIGH' then 1 else 0 end)
        from orders, lineitem where o_orderkey = l_orderkey and l_shipmode in ('{a}', '{b}')
        and l_commitdate < l_receiptdate and l_shipdate < l_commitdate and l_receiptdate >= date '{year}-01-01'
        and l_receiptdate < date '{year + 1}-01-01' group by l_shipmode order by l_shipmode"""


def q13(r):
    first = r.choice(["special", "pending", "unusual", "express"])
    second = r.choice(["packages", "requests", "accounts", "deposits"])
    return f"""select c_count, count(*) as custdist from (select c_custkey, count(o_orderkey) as c_count from customer
        left outer join orders on c_custkey = o_custkey and o_comment not like '%{first}%{second}%'
        group by c_custkey) as t group by c_count order by custdist desc, c_count desc"""


def q14(r):
    start = f"date '{r.randint(1993, 1997)}-{r.randint(1, 12):02d}-01'"
    return f"""select 100.00 * sum(case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount) else 0 end)
        / sum(l_extendedprice * (1 - l_discount)) from lineitem, part where l_partkey = p_partkey
        and l_shipdate >= {start} and l_shipdate < {start} + interval '1 month'"""


def q19(r):
    alternatives = []
    for containers, size_max, low, high in (("'SM CASE', 'SM BOX', 'SM PACK', 'SM PKG'", 5, 1, 10),
                                            ("'MED BAG', 'MED BOX', 'MED PKG', 'MED PACK'", 10, 10, 20),
                                            ("'LG CASE', 'LG BOX', 'LG PACK', 'LG PKG'", 15, 20, 30)):
        quantity = r.randint(low, high)
        alternatives.append(
            f"(p_partkey = l_partkey and p_brand = 'Brand#{r.randint(1, 5)}{r.randint(1, 5)}'"
            f" and p_container in ({containers}) and l_quantity >= {quantity} and l_quantity <= {quantity + 10}"
            f" and p_size between 1 and {size_max} and l_shipmode in ('AIR', 'AIR REG')"
            f" and l_shipinstruct = 'DELIVER IN PERSON')")
    return f"select sum(l_extendedprice * (1 - l_discount)) from lineitem, part where {' or '.join(alternatives)}"


MIX = [q1, q4, q6, q8, q12, q13, q14, q19]
