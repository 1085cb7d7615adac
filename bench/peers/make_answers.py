#!/usr/bin/env python3
"""Makes the stored answers of the TPC-H or TPC-DS queries: what two engines that share no code agree on.

    make_answers.py tpch --scale 0.01 --out ../../crates/braid-bench/answers/sf0.01
    make_answers.py tpcds --scale 0.01 --out ../../crates/braid-bench/answers/tpcds-sf0.01

Generates the data, runs crates/braid-bench/queries/q*.sql or queries/tpcds/q*.sql on DuckDB and on PostgreSQL, and
writes PostgreSQL's answer where the two agree; where they do not, it says so and fails. Two values agree when they are
equal as text, or are numbers at most 1e-6 apart (DuckDB's averages and quotients are binary floats, PostgreSQL's are
decimal). Rows must agree in order; a query whose ORDER BY leaves ties in its answer is reported, because another engine
may break them differently.

Answers of more than 3000 rows are stored as a digest: the number of rows and the 64-bit FNV-1a hash of the file that
would have been written.
"""
import argparse, csv, decimal, glob, io, os, re, sys
import duckdb, psycopg
import tpcds_data, tpch_data
from postgres_cluster import PostgresCluster

QUERIES = os.path.join(tpch_data.HERE, "../../crates/braid-bench/queries")
TOLERANCE = decimal.Decimal("0.000001")
DIGEST_ROWS_MIN = 3000


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


def has_ties(connection, sql, column_count):
    """Whether the answer depends on the order of rows that the last ORDER BY outside of parentheses leaves open."""
    depth, order = 0, None
    for token in re.finditer(r"'[^']*'|[()]|\border\s+by\b", sql, re.I):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth == 0 and token[0].lower().startswith("order"):
            order = token.end()
    if order is None:
        return False
    limit = re.search(r"\s+limit\s+\d+\s*$", sql, re.I)
    end = limit.start() if limit else len(sql.rstrip())
    answers = []
    for direction in ("asc", "desc"):
        keys = "".join(f", {at} {direction}" for at in range(1, column_count + 1))
        rows = connection.execute(sql[:end] + keys + sql[end:]).fetchall()
        answers.append([[canonical(value) for value in row] for row in rows])
    return any(not all(map(agree, x, y)) for x, y in zip(*answers))


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("benchmark", choices=("tpch", "tpcds"))
    ap.add_argument("--scale", default="0.01")
    ap.add_argument("--out", required=True)
    ap.add_argument("--data", help="where to generate the data [a directory per scale under ~/.cache/braid/peers]")
    a = ap.parse_args()
    is_tpch = a.benchmark == "tpch"
    benchmark = tpch_data if is_tpch else tpcds_data
    queries = QUERIES if is_tpch else f"{QUERIES}/tpcds"
    prefix = "" if is_tpch else "tpcds-"
    directory = a.data or os.path.expanduser(f"~/.cache/braid/peers/{prefix}csv-{a.scale}")
    benchmark.generate("csv", a.scale, directory)
    fraction = format(decimal.Decimal("0.0001") / decimal.Decimal(a.scale), "f")
    duck = duckdb.connect()
    benchmark.load_duckdb(duck, directory)
    os.makedirs(a.out, exist_ok=True)
    faults = 0
    with PostgresCluster() as dsn, psycopg.connect(dsn, autocommit=True) as pg:
        benchmark.load_postgres(pg, directory)
        for path in sorted(glob.glob(f"{queries}/q*.sql")):
            name = os.path.basename(path).removesuffix(".sql")
            with open(path, encoding="utf-8") as file:
                sql = file.read()
            if is_tpch:
                sql = sql.replace("0.0001000000", fraction)
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
            if has_ties(duck, sql, len(columns)):
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
