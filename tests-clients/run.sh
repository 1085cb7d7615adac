#!/bin/sh
# Real clients against the built server: psql, pg_dump, pgbench, psycopg, ORMs of
# Python, JDBC, clients and ORMs of Go and Node, ADBC and other tools of Python, DuckDB, Drizzle, tools of Java, dbt, the SQL of pgAdmin and Superset. Prints one line for
# each client and fails with the first.
#
#   cargo build -p braid-server && tests-clients/run.sh [psql|pg_dump|pgbench|psycopg|orm|jdbc|go|node|tools|duckdb|drizzle|java|dbt|pgadmin|superset]...
#
# Without names it runs those up to node: the others take minutes to fetch and to run.
#
# BRAID is the binary (default: the newest of the debug and release builds); BRAID_CLIENTS_DIR keeps what is fetched
# once (a Python environment with psycopg, the JDBC driver). A client that cannot be had here is named and skipped,
# unless BRAID_CLIENTS_REQUIRED=1.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${BRAID_CLIENTS_DIR:-$HOME/.cache/braid/clients}
target=${CARGO_TARGET_DIR:-$here/../target}
braid=${BRAID:-$(ls -t "$target/debug/braid" "$target/release/braid" 2>/dev/null | head -n 1 || true)}
if [ ! -x "$braid" ]; then
    echo "no braid binary: cargo build -p braid-server" >&2
    exit 1
fi
mkdir -p "$cache"
work=$(mktemp -d)
server= restored=
stop() {
    for started in $server $restored; do
        kill "$started" 2>/dev/null || true
        # A signal may be lost between fork and exec; nothing here is worth waiting for.
        sleep 1
        kill -KILL "$started" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap stop EXIT INT TERM

# $1 names the server, the rest are options. Sets PGPORT.
start() {
    name=$1
    shift
    : >"$work/$name.out"
    "$braid" serve --data "$work/$name" --listen 127.0.0.1:0 --buffer 64MB "$@" >"$work/$name.out" 2>"$work/$name.log" &
    server=$!
    for _ in $(seq 100); do
        PGPORT=$(sed -n 's/^braid listens on 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$work/$name.out")
        [ -n "$PGPORT" ] && break
        kill -0 "$server" 2>/dev/null || { cat "$work/$name.log" >&2; exit 1; }
        sleep 0.1
    done
    export PGPORT
}
stop_server() {
    kill -TERM "$server"
    wait "$server" || { echo "the server did not stop cleanly" >&2; exit 1; }
    server=
}
missing() {
    echo "$1: skipped, $2"
    [ "${BRAID_CLIENTS_REQUIRED:-0}" = 0 ] || exit 1
}

export PGHOST=127.0.0.1 PGUSER=braid PGDATABASE=braid PGCONNECT_TIMEOUT=10
unset PGPASSWORD

run_psql() {
    command -v psql >/dev/null || { missing psql "it is not installed"; return; }
    start psql
    (cd "$work" && sh "$here/psql.sh")
    stop_server
    if command -v openssl >/dev/null; then
        openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 \
            -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
        printf 'sesame\n' >"$work/password"
        start tls --password-file "$work/password" --tls-cert "$work/cert.pem" --tls-key "$work/key.pem"
        CERTIFICATE="$work/cert.pem" sh "$here/psql_tls.sh"
        stop_server
    fi
    echo "psql: ok"
}

run_pg_dump() {
    for program in psql pg_dump pg_restore; do
        command -v $program >/dev/null || { missing pg_dump "$program is not installed"; return; }
    done
    start restored
    restored=$server RESTORED=$PGPORT
    start dumped
    RESTORED=$RESTORED sh "$here/pg_dump.sh"
    stop_server
    server=$restored restored=
    stop_server
    echo "pg_dump: ok"
}

run_pgbench() {
    command -v pgbench >/dev/null || PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
    for program in psql pgbench; do
        command -v $program >/dev/null || { missing pgbench "$program is not installed"; return; }
    done
    start pgbench
    (cd "$work" && sh "$here/pgbench.sh")
    stop_server
    echo "pgbench: ok"
}

run_psycopg() {
    python="$cache/venv/bin/python"
    if [ ! -x "$python" ] || ! "$python" -c 'import psycopg' 2>/dev/null; then
        { python3 -m venv "$cache/venv" && "$cache/venv/bin/pip" install --quiet 'psycopg[binary]'; } >"$work/pip.log" 2>&1 ||
            { missing psycopg "pip cannot install it: $(tail -n 1 "$work/pip.log")"; return; }
    fi
    start psycopg
    "$python" "$here/psycopg_client.py"
    "$python" "$here/psycopg_load.py"
    stop_server
    echo "psycopg: ok"
}

run_orm() {
    python="$cache/venv/bin/python"
    packages="psycopg[binary] psycopg2-binary asyncpg pg8000 sqlalchemy alembic django pandas"
    if [ ! -x "$python" ] || ! "$python" -c 'import psycopg, psycopg2, asyncpg, pg8000, sqlalchemy, alembic, django, pandas' 2>/dev/null; then
        { [ -x "$python" ] || python3 -m venv "$cache/venv"; } >"$work/pip.log" 2>&1 &&
            "$cache/venv/bin/pip" install --quiet $packages >"$work/pip.log" 2>&1 ||
            { missing orm "pip cannot install it: $(tail -n 1 "$work/pip.log")"; return; }
    fi
    start orm
    "$python" "$here/orm_client.py"
    stop_server
    echo "orm: ok"
}

run_jdbc() {
    version=42.7.4
    jar="$cache/postgresql-$version.jar"
    command -v java >/dev/null || { missing jdbc "java is not installed"; return; }
    if [ ! -f "$jar" ]; then
        mvn -q dependency:copy "-Dartifact=org.postgresql:postgresql:$version" "-DoutputDirectory=$cache" \
            >"$work/mvn.log" 2>&1 || { missing jdbc "Maven cannot fetch the driver: $(head -n 1 "$work/mvn.log")"; return; }
    fi
    start jdbc
    java -cp "$jar" "$here/JdbcClient.java"
    java -cp "$jar" "$here/JdbcLoad.java"
    stop_server
    echo "jdbc: ok"
}

run_go() {
    command -v go >/dev/null || { missing go "it is not installed"; return; }
    (cd "$here/go" && go build -o "$work/go-client" .) >"$work/go.log" 2>&1 ||
        { missing go "it cannot build the client: $(tail -n 1 "$work/go.log")"; return; }
    start go
    "$work/go-client"
    stop_server
    echo "go: ok"
}

run_node() {
    command -v npm >/dev/null || { missing node "npm is not installed"; return; }
    mkdir -p "$cache/node"
    cp "$here/node/package.json" "$here/node/node_client.mjs" "$cache/node/"
    (cd "$cache/node" && npm install --silent --no-audit --no-fund) >"$work/npm.log" 2>&1 ||
        { missing node "npm cannot install the packages: $(tail -n 1 "$work/npm.log")"; return; }
    start node
    node "$cache/node/node_client.mjs"
    stop_server
    echo "node: ok"
}

run_tools() {
    python="$cache/tools/bin/python"
    if [ ! -x "$python" ] || ! "$python" -c 'import adbc_driver_postgresql, connectorx, polars, pgcli' 2>/dev/null; then
        { python3 -m venv "$cache/tools" && "$cache/tools/bin/pip" install --quiet adbc-driver-postgresql pyarrow connectorx polars pgcli; } \
            >"$work/pip.log" 2>&1 || { missing tools "pip cannot install them: $(tail -n 1 "$work/pip.log")"; return; }
    fi
    start tools
    (cd "$work" && "$python" "$here/tools_client.py")
    stop_server
    echo "tools: ok"
}

run_duckdb() {
    python="$cache/duckdb/bin/python"
    if [ ! -x "$python" ] || ! "$python" -c 'import duckdb, duckdb_extension_postgres_scanner' 2>/dev/null; then
        { python3 -m venv "$cache/duckdb" && "$cache/duckdb/bin/pip" install --quiet duckdb-extension-postgres-scanner; } \
            >"$work/pip.log" 2>&1 || { missing duckdb "pip cannot install it: $(tail -n 1 "$work/pip.log")"; return; }
    fi
    start duckdb
    "$python" "$here/duckdb_client.py"
    stop_server
}

run_drizzle() {
    command -v npm >/dev/null || { missing drizzle "npm is not installed"; return; }
    mkdir -p "$cache/drizzle"
    cp -r "$here/drizzle/." "$cache/drizzle/"
    (cd "$cache/drizzle" && npm install --silent --no-audit --no-fund) >"$work/npm.log" 2>&1 ||
        { missing drizzle "npm cannot install the packages: $(tail -n 1 "$work/npm.log")"; return; }
    start drizzle
    node "$cache/drizzle/drizzle_client.mjs"
    stop_server
}

run_java() {
    command -v javac >/dev/null || { missing java "javac is not installed"; return; }
    if [ ! -d "$cache/java" ]; then
        mvn -q -f "$here/java/pom.xml" dependency:copy-dependencies "-DoutputDirectory=$cache/java.new" >"$work/mvn.log" 2>&1 ||
            { missing java "Maven cannot fetch the tools: $(head -n 1 "$work/mvn.log")"; return; }
        mv "$cache/java.new" "$cache/java"
    fi
    mkdir "$work/classes"
    javac -cp "$cache/java/*" -d "$work/classes" "$here/java/JavaTools.java"
    start java
    java -cp "$work/classes:$cache/java/*" JavaTools "$here/java" >"$work/java.log" 2>&1 || { cat "$work/java.log" >&2; exit 1; }
    grep ': ok$' "$work/java.log"
    stop_server
    echo "java: ok"
}

run_dbt() {
    if [ ! -x "$cache/dbt/bin/dbt" ]; then
        { python3 -m venv "$cache/dbt" && "$cache/dbt/bin/pip" install --quiet 'dbt-core<1.11' 'dbt-postgres<1.11'; } \
            >"$work/pip.log" 2>&1 || { missing dbt "pip cannot install it: $(tail -n 1 "$work/pip.log")"; return; }
    fi
    start dbt
    (cd "$work" && DBT="$cache/dbt/bin/dbt" sh "$here/dbt/dbt.sh")
    stop_server
    echo "dbt: ok"
}

# pgAdmin's templates are read, not its program: without what the program depends on.
run_pgadmin() {
    python="$cache/pgadmin/bin/python"
    if [ ! -x "$python" ] || ! "$python" -c 'import pgadmin4, jinja2, psycopg' 2>/dev/null; then
        { python3 -m venv "$cache/pgadmin" && "$cache/pgadmin/bin/pip" install --quiet jinja2 'psycopg[binary]' &&
            "$cache/pgadmin/bin/pip" install --quiet --no-deps pgadmin4==9.18; } >"$work/pip.log" 2>&1 ||
            { missing pgadmin "pip cannot install it: $(tail -n 1 "$work/pip.log")"; return; }
    fi
    start pgadmin
    "$python" "$here/pgadmin_client.py"
    stop_server
}

# SQLAlchemy of the version that Superset takes; of Superset itself one file is read.
run_superset() {
    python="$cache/superset/bin/python" version=6.1.0
    if [ ! -x "$python" ] || ! "$python" -c 'import sqlalchemy, psycopg2' 2>/dev/null ||
        [ ! -f "$cache/superset/apache_superset-$version-py3-none-any.whl" ]; then
        { python3 -m venv "$cache/superset" && "$cache/superset/bin/pip" install --quiet 'sqlalchemy<2' psycopg2-binary &&
            "$cache/superset/bin/pip" download --quiet --no-deps --only-binary :all: --dest "$cache/superset" \
                "apache-superset==$version"; } >"$work/pip.log" 2>&1 ||
            { missing superset "pip cannot install it: $(tail -n 1 "$work/pip.log")"; return; }
    fi
    start superset
    "$python" -W ignore "$here/superset_client.py" "$cache/superset/apache_superset-$version-py3-none-any.whl"
    stop_server
}

for client in ${*:-psql pg_dump pgbench psycopg orm jdbc go node}; do
    "run_$client"
done
