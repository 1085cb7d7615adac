#!/usr/bin/env python3
"""Runs QPipe's eight-query TPC-H mix on Braid and its peers, in turn on this machine, and prints one table.

Before an engine is measured, its answers to the first queries of the mix are compared with those of the engine before
it: figures of engines that disagree are not printed.
"""
import argparse, decimal, os, random
from closed_loop import closed_loop
from engines import ENGINES
from tpch_mix import MIX


def same(a, b):
    """Engines differ in the digits of averages and quotients and in padding char(n), and in nothing else."""
    number = (int, float, decimal.Decimal)
    if isinstance(a, number) and isinstance(b, number):
        return abs(float(a) - float(b)) <= 1e-6 + 1e-9 * abs(float(a))
    return str(a).rstrip() == str(b).rstrip()


def check(connect, expected):
    """The engine's answers to one query of each type; compared with `expected` where there are some."""
    execute, rng = connect(), random.Random(0)
    found = {sql: execute(sql) for sql in (query(rng) for query in MIX)}
    for sql, rows in (expected or {}).items():
        if [len(row) for row in found[sql]] != [len(row) for row in rows] or not all(
                all(map(same, x, y)) for x, y in zip(rows, found[sql])):
            raise SystemExit(f"the answers differ: {sql}\n{rows[:5]}\n{found[sql][:5]}")
    return found


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--engines", default=",".join(ENGINES), help="comma-separated; default: %(default)s")
    ap.add_argument("--scale", default="1")
    ap.add_argument("--clients", default="1,12,64")
    ap.add_argument("--seconds", type=float, default=15)
    ap.add_argument("--work", default=os.path.expanduser("~/.cache/braid/peers"), help="where data is kept: %(default)s")
    a = ap.parse_args()
    os.makedirs(a.work, exist_ok=True)
    rows = []
    try:
        measure(a, rows)
    finally:
        # What was measured is not lost to an engine that fails.
        print_table(a.scale, rows)


def measure(a, rows):
    """Appends a row for each engine and number of clients."""
    answers = None
    for name in a.engines.split(","):
        with ENGINES[name](a.work, a.scale) as connect:
            answers = check(connect, answers)
            for clients in map(int, a.clients.split(",")):
                figures = closed_loop(connect, clients, a.seconds)
                failed = f"{len(figures.errors)} ({figures.errors[0]})" if figures.errors else "0"
                rows.append((name, str(clients), f"{figures.throughput():.1f}", f"{figures.latency_ms(0.5):.0f}",
                             f"{figures.latency_ms(0.95):.0f}", failed))
                print(f"{name}, {clients} clients: {rows[-1][2]} queries/s", flush=True)


def print_table(scale, rows):
    header = ("engine", "clients", "queries/s", "p50 ms", "p95 ms", "failed")
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    print(f"\nTPC-H mix of QPipe's figure 12, scale {scale}, closed loop, {os.cpu_count()} cores")
    for row in (header, tuple("-" * w for w in widths), *rows):
        print("  ".join(v.ljust(w) if i in (0, 5) else v.rjust(w) for i, (v, w) in enumerate(zip(row, widths))))


if __name__ == "__main__":
    main()
