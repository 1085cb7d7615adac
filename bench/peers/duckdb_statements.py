"""Runs statements on an empty DuckDB in memory, as they come.

Each line of standard input is a JSON list of statements; each is answered by a line with a JSON list that has for every
statement its `rows`, values as PostgreSQL's text and null for null, and its `error` or null. The first line, before any
statement, is DuckDB's version. Run by `braid bench differential`.
"""
import decimal, json, sys
import duckdb

connection = duckdb.connect()
connection.execute("set enable_progress_bar = false")
connection.execute("set threads = 1")
connection.execute("set default_null_order = 'nulls_last_on_asc_first_on_desc'")


def text(value):
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "t" if value else "f"
    return format(value, "f") if isinstance(value, decimal.Decimal) else str(value)


def reply(statement):
    try:
        rows = connection.execute(statement).fetchall()
    except duckdb.Error as error:
        return {"rows": [], "error": str(error)}
    return {"rows": [[text(value) for value in row] for row in rows], "error": None}


print(json.dumps({"version": duckdb.__version__}), flush=True)
for line in sys.stdin:
    print(json.dumps([reply(statement) for statement in json.loads(line)]), flush=True)
