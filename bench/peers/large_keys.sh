#!/bin/sh
# Loads rows with two unique keys in random order, starts the server again, and changes random rows: docs/writes.md, keys of large tables.
#
#   bench/peers/large_keys.sh BRAID [ROWS] [SECONDS]
set -eu
braid=$1
rows=${2:-30000000}
seconds=${3:-8}
work=$(mktemp -d)
server=
stop() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    [ -z "$server" ] || wait "$server" || true
    server=
}
trap 'stop; rm -rf "$work"' EXIT INT TERM
start() {
    "$braid" serve --data "$work/data" --listen 127.0.0.1:0 >"$work/out" 2>"$work/log" &
    server=$!
    for _ in $(seq 200); do
        PGPORT=$(sed -n 's/^braid listens on 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$work/out")
        [ -n "$PGPORT" ] && break
        sleep 0.1
    done
    export PGPORT
}
export PGHOST=127.0.0.1 PGUSER=braid PGDATABASE=braid
# The statement stands for itself; its time follows it.
sql() { psql -X -q -v ON_ERROR_STOP=1 -c '\timing on' -c "$1" | grep Time | sed "s|^|$2: |"; }
rate() {
    printf '%s\n' "$1" >"$work/statement.sql"
    pgbench -n -M prepared -f "$work/statement.sql" -T "$seconds" -c "$2" 2>/dev/null |
        sed -n "s|^tps = \([0-9.]*\) (without.*|$3, $2 clients: \1/s|p"
}

start
psql -X -q -c 'CREATE TABLE big (id bigint PRIMARY KEY, u uuid UNIQUE, v int)'
sql "INSERT INTO big SELECT i * 7919 % 30000001, md5(i::text)::uuid, i FROM generate_series(1::bigint, $rows) t(i)" load
# The task that keeps trees looks once a second.
sleep 2
stop
start
sql "INSERT INTO big VALUES (-1, md5('first')::uuid, 1)" 'first INSERT'
sql "INSERT INTO big VALUES (7919, md5('second')::uuid, 1) ON CONFLICT (id) DO UPDATE SET v = 5" 'first ON CONFLICT'
upsert="\\set i random(1, $rows)
INSERT INTO big VALUES (:i, gen_random_uuid(), 1) ON CONFLICT (id) DO UPDATE SET v = excluded.v"
rate "$upsert" 1 upserts
rate "$upsert" 8 upserts
psql -X -q -c 'CREATE TABLE child (b bigint)' -c 'INSERT INTO child VALUES (7919)' -c 'ALTER TABLE child ADD FOREIGN KEY (b) REFERENCES big'
rate "\\set i random(1, $rows)
INSERT INTO child SELECT i * 7919 % 30000001 FROM (SELECT :i::bigint AS i) r" 8 'INSERT with a foreign key'
du -sh "$work/data/data" "$work/data/keys" | sed "s|$work/data/||"
