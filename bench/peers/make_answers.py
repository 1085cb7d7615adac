#!/usr/bin/env python3
"""Makes the stored answers of the 22 TPC-H queries: what two engines that share no code agree on.

    make_answers.py --scale 0.01 --out ../../crates/braid-bench/answers/sf0.01

Generates the data with tpchgen, runs crates/braid-bench/queries/q01.sql..q22.sql on DuckDB and on PostgreSQL, and
writes PostgreSQL's answer where the two agree; where they do not, it says so and fails. Two values agree when they are
equal as text, or are numbers at most 1e-6 apart (DuckDB's averages and quotients are binary floats, PostgreSQL's are
decimal). Rows must agree in order; a query whose ORDER BY leaves ties in its answer is reported, because another engine
may break them differently.

Answers of more than 2000 rows are stored as a digest: the number of rows and the 64-bit FNV-1a hash of the file that
would have been written.
"""
import argparse, csv, decimal, glob, io, os, sys
import duckdb, psycopg
import tpch_data
from postgres_cluster import PostgresCluster

QUERIES = os.path.join(tpch_data.HERE, "../../crates/braid-bench/queries")
TOLERANCE = decimal.Decimal("0.000001")
DIGEST_ROWS_MIN = 2000
# Positions (from 0) of each query's ORDER BY columns in its answer.
SORT_KEYS = {1: [0, 1], 2: [0, 2, 1, 3], 3: [1, 2], 4: [0], 5: [1], 7: [0, 1, 2], 8: [0], 9: [0, 1], 10: [2], 11: [1],
             12: [0], 13: [1, 0], 15: [0], 16: [3, 0, 1, 2], 18: [4, 3], 20: [0], 21: [1, 0], 22: [0]}


def canonical(value):
    """A value as the files hold it: numbers without trailing zeros, char(n) without padding, null as \\N."""
    if value is None:
        return "\\N"
    if isinstance(value, (float, decimal.Decimal)):
        number = decimal.Decimal(repr(value)) if isinstance(value, float) else value
        text = format(number.quantize(decimal.Decimal(1).scaleb(-12), context=decimal.Context(prec=60)), "f")
        return text.rstrip("0").rstrip(".")
    return str(value).rstrip(" ")


def agree(a, b):
    if a == b:
        return True
    try:
        return abs(decimal.Decimal(a) - decimal.Decimal(b)) <= TOLERANCE
    except decimal.InvalidOperation:
        return False


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--scale", default="0.01")
    ap.add_argument("--out", required=True)
    ap.add_argument("--data", help="where to generate the data [a directory per scale under ~/.cache/braid/peers]")
    a = ap.parse_args()
    directory = a.data or os.path.expanduser(f"~/.cache/braid/peers/csv-{a.scale}")
    tpch_data.generate("csv", a.scale, directory)
    fraction = format(decimal.Decimal("0.0001") / decimal.Decimal(a.scale), "f")
    duck = duckdb.connect()
    tpch_data.load_duckdb(duck, directory)
    os.makedirs(a.out, exist_ok=True)
    faults = 0
    with PostgresCluster() as dsn, psycopg.connect(dsn, autocommit=True) as pg:
        tpch_data.load_postgres(pg, directory)
        for path in sorted(glob.glob(f"{QUERIES}/q*.sql")):
            name = os.path.basename(path)[:3]
            with open(path, encoding="utf-8") as file:
                sql = file.read().replace("0.0001000000", fraction)
            answers = {}
            for engine, cursor in (("DuckDB", duck.execute(sql)), ("PostgreSQL", pg.execute(sql))):
                answers[engine] = [[canonical(v) for v in row] for row in cursor.fetchall()]
                columns = [d[0] for d in cursor.description]
            ours, theirs = answers["PostgreSQL"], answers["DuckDB"]
            wrong = len(ours) != len(theirs) or next(
                ((x, y) for x, y in zip(ours, theirs) if not all(map(agree, x, y))), None)
            if wrong:
                print(f"{name}: the engines differ: {wrong}, {len(ours)} and {len(theirs)} rows", file=sys.stderr)
                faults += 1
                continue
            keys = [tuple(row[k] for k in SORT_KEYS[int(name[1:])]) for row in ours] if int(name[1:]) in SORT_KEYS else []
            if len(set(keys)) != len(keys):
                print(f"{name}: ties in ORDER BY", file=sys.stderr)
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows([columns, *ours])
            data = text.getvalue().encode()
            for old in glob.glob(f"{a.out}/{name}.*"):
                os.remove(old)
            if len(ours) > DIGEST_ROWS_MIN:
                with open(f"{a.out}/{name}.digest", "w", encoding="ascii") as file:
                    file.write(f"{len(ours)} rows, fnv1a {fnv1a(data):016x}\n")
            else:
                with open(f"{a.out}/{name}.csv", "wb") as file:
                    file.write(data)
            print(f"{name}: {len(ours)} rows", flush=True)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
