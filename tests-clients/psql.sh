#!/bin/sh
# psql: meta-commands, \copy, errors, a cursor by FETCH_COUNT, a prepared statement, cancel by Ctrl-C.
set -eu
ask() { psql -X -q -v ON_ERROR_STOP=1 "$@"; }
expect() { # what, pattern, text
    printf '%s' "$3" | grep -Eq -- "$2" || { printf 'psql %s: no "%s" in:\n%s\n' "$1" "$2" "$3" >&2; exit 1; }
}

ask -c 'create table things (id integer not null, name text, price numeric(10,2), made date)'
printf '1,one,1.50,2024-02-29\n2,,,\n3,"a, ""b""",-3.25,1999-12-31\n' >things.csv
ask -c "\\copy things from 'things.csv' csv"
ask -c "\\copy (select id, name from things order by id) to 'out.tsv'"
[ "$(cat out.tsv)" = "$(printf '1\tone\n2\t\\N\n3\ta, "b"')" ] || { echo "psql \\copy to:" >&2; cat out.tsv >&2; exit 1; }

expect '\d' 'public \| things \| table' "$(ask -c '\d')"
expect '\dt' 'public \| things \| table' "$(ask -c '\dt')"
described=$(ask -c '\d things')
expect '\d table' 'id .*integer .*not null' "$described"
expect '\d table' 'price .*numeric\(10,2\)' "$described"
expect '\l' '^ braid ' "$(ask -c '\l')"
expect '\dn' 'public' "$(ask -c '\dn')"
expect '\conninfo' 'as user "braid"' "$(ask -c '\conninfo')"

# Each of its commands that describe something, of relations of all kinds. None may fail.
ask -c 'create table parts (thing integer, part text unique, at timestamptz default now(), check (thing > 0))' \
    -c 'alter table things add primary key (id)' -c 'alter table parts add foreign key (thing) references things on delete cascade' \
    -c 'create index parts_at on parts (at desc) where part is not null' -c 'create view cheap as select id from things where price < 2' \
    -c 'create materialized view counted as select count(*) as c from things' -c 'create sequence numbers increment 5' \
    -c "create type mood as enum ('sad', 'ok')" -c 'create domain positive as int check (value > 0)' -c 'create schema other' \
    -c "comment on table things is 'the things'" -c 'create role bob login' -c 'grant select on things to bob'
for command in '' + S S+ a A A+ Ac Af Ao Ap b b+ c c+ C C+ d dS D D+ ddp E E+ des det deu dew df+ F Fd+ Fp+ Ft+ f 'f+ now' fn fa fw ft g g+ i i+ l L L+ m m+ \
    n n+ o 'o+ +' O O+ p P Pn Pt Pi rds Rp Rs s s+ t t+ tS T T+ u u+ v v+ x X y y+ config 'config work_mem'; do
    ask -c "\\d$command" >listed 2>&1 && ! grep -q ERROR: listed || { echo "psql \\d$command:" >&2; cat listed >&2; exit 1; }
done
for name in things parts parts_part_key parts_at cheap counted numbers things_pkey pg_class information_schema.tables; do
    for command in d d+; do
        ask -c "\\$command $name" >listed 2>&1 && ! grep -q ERROR: listed || { echo "psql \\$command $name:" >&2; cat listed >&2; exit 1; }
    done
done
described=$(ask -c '\d parts')
expect '\d table' '"parts_part_key" UNIQUE CONSTRAINT, btree \(part\)' "$described"
expect '\d table' '"parts_at" btree \(at DESC\) WHERE part IS NOT NULL' "$described"
expect '\d table' '"parts_thing_check" CHECK \(thing > 0\)' "$described"
expect '\d table' 'FOREIGN KEY \(thing\) REFERENCES things\(id\) ON DELETE CASCADE' "$described"
expect '\d table' 'TABLE "parts" CONSTRAINT "parts_thing_fkey" FOREIGN KEY' "$(ask -c '\d things')"
expect '\dt+' 'the things' "$(ask -c '\dt+')"
expect '\dp' 'bob=r/braid' "$(ask -c '\dp things')"
expect '\dT+' 'sad +\+?' "$(ask -c '\dT+')"
expect '\dD' 'CHECK \(VALUE > 0\)' "$(ask -c '\dD')"
expect '\sv' 'CREATE OR REPLACE VIEW public.cheap' "$(ask -c '\sv cheap')"
expect '\sf' 'CREATE OR REPLACE FUNCTION pg_catalog.now' "$(ask -c '\sf now')"
expect '\z' 'bob=r/braid' "$(ask -c '\z things')"
expect '\l+' '^ braid ' "$(ask -c '\l+')"

# Without a terminal it reads the password from its input, and sends a verifier.
printf 'secret\nsecret\n' | setsid psql -X -q -v ON_ERROR_STOP=1 -c '\password bob' >/dev/null 2>&1 || { echo 'psql \password:' >&2; exit 1; }
expect '\password' '^bob$' "$(PGPASSWORD=secret ask -U bob -At -c 'select current_user')"
expect '\password' 'password authentication failed' "$(PGPASSWORD=other psql -X -U bob -c 'select 1' 2>&1 || true)"

expect select '^3\|a, "b"\|-3.25\|1999-12-31$' "$(ask -At -c 'select * from things order by id')"
expect values '^t\|1.5\|1e\+20\|2024-02-29 12:00:00\|3 days\|\\x00ff\|\{1,2\}$' "$(ask -At -c \
    "select true, 1.5::real, 1e20::double precision, timestamp '2024-02-29 12:00:00', interval '3 days', '\\x00ff'::bytea, array[1,2]")"
expect 'several statements' '^1$' "$(ask -At -c 'select 1; select 2' | head -n 1)"
expect FETCH_COUNT '^2000$' "$(ask -At -v FETCH_COUNT=100 -c 'select * from generate_series(1, 2000)' | tail -n 1)"
expect explain 'BraidScan|Scan' "$(ask -At -c 'explain select * from things where id > 1')"
expect settings '^relevance$' "$(ask -At -c 'show braid.scan_policy')"

failed=$(psql -X -v VERBOSITY=verbose -c 'select nothing from things' 2>&1 || true)
expect error 'ERROR: +42703' "$failed"
expect 'error position' 'LINE 1: select nothing from things' "$failed"
expect 'failed transaction' '25P02' "$(printf 'begin;\nselect 1/0;\nselect 1;\nrollback;\n' | psql -X -v VERBOSITY=sqlstate 2>&1)"

# timeout's signal is a Ctrl-C to psql, which then sends a CancelRequest.
cancelled=$(timeout --foreground --signal=INT --kill-after=10 1 \
    psql -X -c 'select sum(value * 3 % 7) from generate_series(1, 1000000000000) as s(value)' 2>&1 || true)
expect cancel 'canceling statement due to user request' "$cancelled"
