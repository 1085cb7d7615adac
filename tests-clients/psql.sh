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
