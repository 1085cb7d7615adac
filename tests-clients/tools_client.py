"""ADBC, connectorx, polars, pgcli and DuckDB's attachment: what each is used for, with its answers compared."""
import os
import subprocess
import sys

import adbc_driver_postgresql.dbapi
import connectorx
import polars
import pyarrow

URI = "postgresql://{PGUSER}@{PGHOST}:{PGPORT}/{PGDATABASE}".format(**os.environ)


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found!r} instead of {expected!r}")


def adbc():
    rows = {"id": [1, 2, 3], "name": ["one", None, "drei, \"3\""], "price": [1.5, None, -3.25]}
    with adbc_driver_postgresql.dbapi.connect(URI) as connection, connection.cursor() as cursor:
        expect("ADBC ingest", cursor.adbc_ingest("things", pyarrow.table(rows), mode="create"), 3)
        connection.commit()
        cursor.execute("SELECT * FROM things ORDER BY id")
        expect("ADBC rows", cursor.fetch_arrow_table().to_pydict(), rows)
        cursor.executemany("INSERT INTO things VALUES ($1, $2, $3)", [(4, "four", 4.0), (5, "five", 5.5)])
        connection.rollback()
        cursor.adbc_ingest("things", pyarrow.table({"id": [6], "name": ["six"], "price": [6.0]}), mode="append")
        connection.commit()
        cursor.execute("SELECT count(*), sum(price) FROM things WHERE id > $1", (1,))
        expect("ADBC parameters", cursor.fetchone(), (3, 2.75))
        expect("ADBC schema", connection.adbc_get_table_schema("things").names, ["id", "name", "price"])
        catalogs = connection.adbc_get_objects(depth="tables", table_name_filter="things").read_all().to_pylist()
        schemas = [schema for catalog in catalogs for schema in catalog["catalog_db_schemas"] or []]
        tables = [table["table_name"] for schema in schemas for table in schema["db_schema_tables"] or []]
        expect("ADBC objects", tables, ["things"])


def frames():
    numbers = polars.DataFrame({"n": range(5000), "text": [f"row {n}" for n in range(5000)]})
    expect("polars write", numbers.write_database("numbers", URI, engine="adbc"), 5000)
    query = "SELECT n, text, n % 7 AS r FROM numbers"
    for engine in ["connectorx", "adbc"]:
        read = polars.read_database_uri(f"{query} ORDER BY n", URI, engine=engine)
        expect(f"polars by {engine}", read.select("n", "text").equals(numbers), True)
        expect(f"polars sum by {engine}", read["r"].sum(), sum(n % 7 for n in range(5000)))
    for protocol in ["binary", "csv", "cursor"]:
        read = connectorx.read_sql(
            URI, query, partition_on="n", partition_num=3, return_type="arrow", protocol=protocol)
        expect(f"connectorx {protocol}", sorted(read.column("n").to_pylist()), list(range(5000)))


def pgcli():
    program = os.path.join(os.path.dirname(sys.executable), "pgcli")
    environment = {**os.environ, "HOME": os.getcwd(), "PAGER": "cat", "TERM": "dumb"}
    for command, pattern in [("SELECT count(*) AS c FROM numbers;", "5000"), ("\\dt", "numbers"), ("\\d numbers", "bigint")]:
        done = subprocess.run([program, "--command", command], env=environment, capture_output=True, text=True, timeout=60)
        if pattern not in done.stdout:
            sys.exit(f"pgcli {command}: {done.stdout}{done.stderr}")


for client in (adbc, frames, pgcli):
    client()
    print(f"{client.__name__}: ok", flush=True)
