"""Runs queries on DuckDB one at a time, as they come: PARQUET-DIRECTORY.

Every Parquet file becomes a table in memory. Each line of standard input is a query as a JSON string; each is answered
by a line of JSON with its seconds and its number of rows. The first line, before any query, is DuckDB's version.
Run by `braid bench tpch-power`.
"""
import glob, json, os, sys, time
import duckdb

connection = duckdb.connect()
connection.execute("set enable_progress_bar = false")
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.parquet"))):
    connection.execute(f"create table {os.path.splitext(os.path.basename(path))[0]} as select * from '{path}'")
print(json.dumps({"version": duckdb.__version__}), flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    rows = connection.execute(json.loads(line)).fetchall()
    print(json.dumps({"seconds": time.perf_counter() - start, "rows": len(rows)}), flush=True)
