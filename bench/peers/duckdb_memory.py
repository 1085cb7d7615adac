"""Runs one query on a DuckDB file, in a process of its own, and prints the memory it took, as JSON: FILE.

The query comes on standard input as JSON: {"sql", "threads"}. Run by `braid bench tpch-memory`. The file is opened for
reading with DuckDB's own memory limit; nothing of it is in the process's memory before. Bytes are resident ones: before the
query, which is after one that reads nothing, and at most. What is cached of the file is asked for after the query.
"""
import json, sys
import duckdb


def resident_bytes(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(name))


asked = json.load(sys.stdin)
connection = duckdb.connect(sys.argv[1], read_only=True)
connection.execute("set enable_progress_bar = false")
connection.execute(f"set threads = {asked['threads']}")
limit = connection.execute("select current_setting('memory_limit')").fetchone()[0]
before = resident_bytes("VmRSS")
rows = len(connection.execute(asked["sql"]).fetchall())
peak = resident_bytes("VmHWM")
cached = connection.execute("select sum(memory_usage_bytes) from duckdb_memory() where tag = 'BASE_TABLE'").fetchone()[0]
figures = {"before_bytes": before, "peak_bytes": peak, "cached_bytes": int(cached), "rows": rows}
print(json.dumps({"version": duckdb.__version__, "memory_limit": limit} | figures))
