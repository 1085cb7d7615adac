"""Runs queries one after the other on DuckDB, hot, and prints the seconds of all of them as JSON: PARQUET-DIRECTORY.

The queries come as a JSON list on standard input. Run by `braid bench one-pass`: every Parquet file becomes a table in
memory, the first query of the list runs once before the clock starts.
"""
import glob, json, os, sys, time
import duckdb

queries = json.load(sys.stdin)
connection = duckdb.connect()
connection.execute("set enable_progress_bar = false")
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.parquet"))):
    connection.execute(f"create table {os.path.splitext(os.path.basename(path))[0]} as select * from '{path}'")
connection.execute(queries[0]).fetchall()
start = time.time()
for query in queries:
    connection.execute(query).fetchall()
print(json.dumps({"seconds": time.time() - start, "version": duckdb.__version__}))
