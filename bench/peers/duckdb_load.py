"""Loads Parquet files into a new DuckDB file and prints what it took, as JSON: PARQUET-DIRECTORY DIRECTORY.

Run by `braid bench load`, which lays its own figures beside these. One CREATE TABLE AS for each file, as a user would.
"""
import glob, json, os, sys, time
import duckdb

source, target = sys.argv[1], sys.argv[2]
os.makedirs(target, exist_ok=True)
file = os.path.join(target, "tpch.duckdb")
start = time.time()
connection = duckdb.connect(file)
# It would be drawn on standard output, where the figures go.
connection.execute("set enable_progress_bar = false")
for path in sorted(glob.glob(os.path.join(source, "*.parquet"))):
    table = os.path.splitext(os.path.basename(path))[0]
    connection.execute(f"create table {table} as select * from '{path}'")
connection.execute("checkpoint")
connection.close()
print(json.dumps({"seconds": time.time() - start, "bytes": os.path.getsize(file), "version": duckdb.__version__}))
