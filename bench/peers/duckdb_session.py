"""Runs queries on DuckDB one at a time, as they come: PARQUET-DIRECTORY.

Every Parquet file becomes a table in memory. Each line of standard input is a query as a JSON string, answered by a line of
JSON with its seconds, or a query in a JSON list, answered by its rows as lists of PostgreSQL's text, null for null. The first
line, before any query, is DuckDB's version. Run by `braid bench tpch-power` and `tpcds-power`.
"""
import decimal, glob, json, os, sys, time
import duckdb

connection = duckdb.connect()
connection.execute("set enable_progress_bar = false")
connection.execute("set default_null_order = 'nulls_last_on_asc_first_on_desc'")
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.parquet"))):
    connection.execute(f"create table {os.path.splitext(os.path.basename(path))[0]} as select * from '{path}'")


def text(value):
    if value is None or isinstance(value, str):
        return value
    return format(value, "f") if isinstance(value, decimal.Decimal) else str(value)


def reply(request):
    if isinstance(request, list):
        return [[text(value) for value in row] for row in connection.execute(request[0]).fetchall()]
    start = time.perf_counter()
    connection.execute(request).fetchall()
    return {"seconds": time.perf_counter() - start}


print(json.dumps({"version": duckdb.__version__}), flush=True)
for line in sys.stdin:
    print(json.dumps(reply(json.loads(line))), flush=True)
