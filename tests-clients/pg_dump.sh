#!/bin/sh
# pg_dump | psql: a second server that is restored from the dump of a first one gives the same dump.
# PGPORT is the first server's, RESTORED the second one's; both are empty.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

psql -X -q -v ON_ERROR_STOP=1 >/dev/null <<'SQL'
create schema app;
create type mood as enum ('sad', 'ok', 'happy');
create domain amount as numeric(10,2) default 1 not null check (value >= 0);
create domain any_mood as mood default 'ok';
comment on domain amount is 'what is paid';
create domain a_little as amount check (value < 100);
alter domain a_little add constraint even check (value % 2 = 0) not valid;
create table app.customer(
    id serial primary key, name text not null default 'x', mood mood, n numeric(10,2) check (n > 0),
    t timestamptz default now(), tags text[]);
comment on table app.customer is 'people';
comment on column app.customer.name is 'their name';
create table app.orders(
    id bigint generated always as identity primary key, customer int references app.customer on delete cascade,
    total numeric(12,2), twice numeric(14,2) generated always as (total * 2) stored, note varchar(20) unique);
create index orders_total on app.orders(total, note);
create table app.paid(first amount, second a_little, how any_mood);
insert into app.paid values (1, 2, default), (default, 4, 'sad');
create sequence app.free start 5 increment 2;
create view big as select id, total from app.orders where total > 10;
create materialized view summary as select customer, sum(total) as total from app.orders group by customer;
insert into app.customer(name, mood, n, tags) values ('a', 'ok', 1.5, '{x,"y z"}'), (E'b\tc\\', null, 2, null);
insert into app.orders(customer, total, note) values (1, 12.5, 'n1'), (2, 3, null);
select nextval('app.free');
refresh materialized view summary;
create table plain(a int, b jsonb, c bytea, d uuid, e date, f interval, g bool, h float8);
insert into plain values
    (1, '{"a": [1, 2]}', '\x00ff', '6f1c5a3e-6a5b-4b6a-8a3b-000000000001', '2024-02-03', '1 day 2 hours', true, 1.5),
    (null, null, null, null, null, null, null, null);
SQL

# The lines that differ in each dump.
dump() {
    pg_dump "$@" | grep -v '^\\\(un\)\{0,1\}restrict '
}

dump >"$work/first.sql"
PGPORT=$RESTORED psql -X -q -v ON_ERROR_STOP=1 -f "$work/first.sql" >/dev/null
PGPORT=$RESTORED dump >"$work/second.sql"
diff "$work/first.sql" "$work/second.sql"

# Again over what is there: in the custom format, and as INSERTs.
pg_dump -Fc -f "$work/custom"
PGPORT=$RESTORED pg_restore --clean --if-exists -d "$PGDATABASE" "$work/custom"
PGPORT=$RESTORED dump | diff "$work/first.sql" -
pg_dump --clean --if-exists --inserts --rows-per-insert=10 >"$work/inserts.sql"
PGPORT=$RESTORED psql -X -q -v ON_ERROR_STOP=1 -f "$work/inserts.sql" >/dev/null
PGPORT=$RESTORED dump | diff "$work/first.sql" -

# Parts, and in a transaction that waits for nothing.
dump -t app.orders --data-only | grep -q '^1	1	12.50	n1$'
dump --schema-only --serializable-deferrable | grep -q 'ADD CONSTRAINT orders_customer_fkey FOREIGN KEY'
