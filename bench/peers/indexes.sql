-- What PostgreSQL needs beside the primary keys to answer Q17, Q20, Q21 and Q22 in minutes rather than days.
create index on lineitem (l_partkey, l_suppkey);
create index on partsupp (ps_suppkey);
create index on orders (o_custkey);
create index on customer (c_nationkey);
create index on supplier (s_nationkey);
