#!/usr/bin/env python3
"""Compares columns of numeric without a precision with numeric(15,2): medians of queries over a million rows, in ms.

    BRAID=target/release/braid numeric_columns.py

The tables have the same rows: `declared` of numeric(15,2), `plain` of numeric, and `mixed` of numeric with one value more that
shows other digits, so that all of its values are read as bytes. Answers of the first two must be the same.
"""
import contextlib, statistics, tempfile, time
import psycopg
from regression_sql import braid_server

ROWS = 1_000_000
RUNS = 15
QUERIES = [
    "select sum(n) from T",
    "select avg(n), min(n), max(n) from T",
    "select count(*) from T where n > 50000.5",
    "select count(*) from T where n between 10 and 20.5",
    "select sum(n * 2.5) from T where n < 99000",
    "select g, sum(n) from T group by g order by g limit 3",
    "select count(*) from (select n from T group by n) x",
    "select count(*) from T a join T b on a.n = b.n and b.id < 1000",
    "select n from T order by n desc limit 3",
]
TABLES = {"declared": "numeric(15,2)", "plain": "numeric", "mixed": "numeric"}


def timed(connection, sql):
    """The median time in ms, and the answer."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        answer = connection.execute(sql).fetchall()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times), answer


def main():
    with contextlib.ExitStack() as stack:
        dsn = stack.enter_context(braid_server(stack.enter_context(tempfile.TemporaryDirectory())))
        connection = stack.enter_context(psycopg.connect(dsn, autocommit=True))
        for table, column_type in TABLES.items():
            connection.execute(f"create table {table} (id int, g int, n {column_type})")
            start = time.perf_counter()
            connection.execute(f"insert into {table} select i, i % 1000, (i * 7919::bigint % 10000000) * 0.01 "
                               f"from generate_series(1, {ROWS}) s(i)")
            print(f"{table}: inserted in {time.perf_counter() - start:.1f} s")
        connection.execute("insert into mixed values (0, 0, 1.234)")
        print(f"{'declared':>9} {'plain':>9} {'mixed':>9}  plain/declared")
        for query in QUERIES:
            found = {table: timed(connection, query.replace("T", table)) for table in TABLES}
            assert found["declared"][1] == found["plain"][1], query
            times = [found[table][0] for table in TABLES]
            print(" ".join(f"{ms:9.1f}" for ms in times), f" {times[1] / times[0]:.2f}  {query}")


if __name__ == "__main__":
    main()
