#!/bin/sh
# A dbt project against a server: seeds, views, tables, incremental models, a materialized view, snapshots, tests and docs. DBT is the program; the
# project is copied to the working directory first, as dbt writes beside it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cp -r "$here" project
cd project
export DBT_PROFILES_DIR=. DBT_SEND_ANONYMOUS_USAGE_STATS=false
dbt() {
    "$DBT" --no-use-colors --quiet "$@" >dbt.log 2>&1 || { cat dbt.log >&2; echo "dbt $* failed" >&2; exit 1; }
}
expect() {
    answer=$(psql -qAtX -c "$1")
    [ "$answer" = "$2" ] || { printf '%s\nanswers\n%s\nnot\n%s\n' "$1" "$answer" "$2" >&2; exit 1; }
}
dbt seed
dbt run
dbt test
dbt snapshot
# What is there is built again, and incremental models get what is new.
dbt run
dbt docs generate
expect "select customer, total, orders from shop_marts.customers order by 1" "ann|15.75|2
bob|20.00|1
cyd|0.00|1"
expect "select relname, relkind from pg_class where relnamespace = 'shop_marts'::regnamespace and relkind in ('v', 'm') order by 1" "totals|m
uses_eph|v"
expect "select indexdef like 'CREATE UNIQUE INDEX%(customer)' from pg_indexes where tablename = 'customers' and indexdef like '%UNIQUE%'" "t"
expect "select obj_description('shop.orders'::regclass), col_description('shop.orders'::regclass, 1)" "All 'orders'|the id"
sed -i 's/3,ann,5.25,2024-01-03,paid/3,ann,6.25,2024-01-03,open/' seeds/raw_orders.csv
dbt seed
dbt snapshot
dbt run --vars '{more: true}'
dbt test
dbt build --full-refresh
expect "select id, amount, status, dbt_valid_to is null from history.orders_history where id = 3 order by 4" "3|5.25|paid|f
3|6.25|open|t"
expect "select status, total from shop_marts.totals order by 1" "open|16.75
paid|20.00"
expect "select column_name from information_schema.columns where table_schema = 'shop_marts' and table_name = 'daily' order by ordinal_position" "placed_on
total"
