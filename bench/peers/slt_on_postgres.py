#!/usr/bin/env python3
"""Runs SQL logic tests (crates/braid-testkit/slt/*.slt) on PostgreSQL, and reports where it answers otherwise.

    slt_on_postgres.py [--write] [FILE ...]

Without it, an expected result is only its author's belief. `--write` fills in what PostgreSQL answers, for queries and
SQLSTATEs alike, so that a new test is written as its SQL alone. Records under `onlyif braid` are left out; those under
`skipif braid` run here and nowhere else: the pairs of the two are the documented differences.

Understands what the files use: statement ok / error (SQLSTATE) / count N, query TYPES [rowsort], skipif, onlyif, halt,
connection, system ok, control substitution on, comments, and $SCRATCH. Column types are I for integers, R for numerics and floats, T for the rest.
"""
import argparse, glob, os, re, subprocess, sys, tempfile
import psycopg
from psycopg import pq
from postgres_cluster import PostgresCluster

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = os.path.join(HERE, "../../crates/braid-testkit/slt/*.slt")
INTEGERS, NUMBERS = {20, 21, 23, 26}, {700, 701, 1700}


class Server:
    """PostgreSQL with a new database for each file, and a connection for each name a file uses."""

    def __init__(self, dsn, database):
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(f"drop database if exists {database}")
            connection.execute(f"create database {database}")
        self.dsn, self.connections = dsn.replace("dbname=postgres", f"dbname={database}"), {}

    def run(self, name, sql):
        """(types, rows) of a query, a count of rows for other statements, or a SQLSTATE in ("error", state, message)."""
        if name not in self.connections:
            self.connections[name] = psycopg.connect(self.dsn, autocommit=True)
            self.connections[name].execute("set timezone = 'UTC'")
        result = self.connections[name].pgconn.exec_(sql.encode())
        if result.status == pq.ExecStatus.COPY_OUT:
            rows = []
            while (data := self.connections[name].pgconn.get_copy_data(0))[0] > 0:
                rows.append([bytes(data[1]).decode().rstrip("\n")])
            self.connections[name].pgconn.get_result()
            return "T", rows
        if result.status == pq.ExecStatus.TUPLES_OK:
            types = "".join("I" if result.ftype(c) in INTEGERS else "R" if result.ftype(c) in NUMBERS else "T"
                            for c in range(result.nfields))
            return types, [[text_of(result.get_value(r, c)) for c in range(result.nfields)] for r in range(result.ntuples)]
        if result.status in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.EMPTY_QUERY):
            return int(result.command_tuples or 0)
        state = result.error_field(pq.DiagnosticField.SQLSTATE)
        return "error", state.decode() if state else "", result.error_message.decode().strip()

    def close(self):
        for connection in self.connections.values():
            connection.close()


def text_of(value):
    return "NULL" if value is None else (value.decode() or "(empty)")


def normal(line):
    return " ".join(line.split())


def rows_of(answer, sort):
    lines = [" ".join(row) for row in answer[1]]
    return sorted(lines, key=lambda line: line.split(" ")) if sort else lines


def run_file(server, path, scratch, write):
    """Checks one file; answers the number of differences, and with `write` puts PostgreSQL's answers into it."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    written, at, differences = [], 0, 0
    skip, name = False, "default"
    while at < len(lines):
        head = lines[at].split()
        start, at = at, at + 1
        if not head or head[0].startswith("#"):
            written.append(lines[start])
            continue
        if head[0] in ("skipif", "onlyif"):
            skip = skip or (head[1] == "postgresql") == (head[0] == "skipif")
            written.append(lines[start])
            continue
        if head[0] == "connection":
            name = head[1]
            written.append(lines[start])
            continue
        if head[0] == "halt":
            written += lines[start:]
            break
        if head[0] == "control":
            written.append(lines[start])
            continue
        if head[0] not in ("statement", "query", "system"):
            raise SystemExit(f"{path}:{start + 1}: what is {lines[start]!r}?")
        body = []
        while at < len(lines) and lines[at] != "":
            body.append(lines[at])
            at += 1
        if skip:
            written += lines[start:at]
            skip, name = False, "default"
            continue
        if head[0] == "system":
            subprocess.run(["sh", "-c", "\n".join(body).replace("$SCRATCH", scratch)], check=True)
            written += lines[start:at]
            continue
        cut = body.index("----") if "----" in body else len(body)
        sql, expected = "\n".join(body[:cut]), body[cut + 1:]
        answer = server.run(name, sql.replace("$SCRATCH", scratch))
        skip, name = False, "default"
        if isinstance(answer, tuple) and answer[0] == "error":
            found_head, found = f"{head[0]} error ({answer[1]})", []
        elif head[0] == "query":
            sort = "rowsort" in head
            types, found = (answer[0], rows_of(answer, sort)) if isinstance(answer, tuple) else ("", [])
            found_head = f"query {types}{' rowsort' if sort else ''}"
        else:
            counted = head[1:2] == ["count"] and isinstance(answer, int)
            found_head, found = f"statement count {answer}" if counted else "statement ok", []
        wanted = sorted(map(normal, expected), key=lambda line: line.split(" ")) if "rowsort" in head else expected
        if found_head != lines[start].rstrip() or list(map(normal, found)) != list(map(normal, wanted)):
            differences += 1
            if not write:
                print(f"{os.path.basename(path)}:{start + 1}: PostgreSQL differs\n  {sql}\n  file: {lines[start]}")
                print("\n".join(f"    {line}" for line in expected))
                print(f"  PostgreSQL: {found_head} {answer[2] if found_head.split()[1] == 'error' else ''}")
                print("\n".join(f"    {line}" for line in found))
        written.append(found_head)
        written += body[:cut]
        if head[0] == "query" and found_head.split()[1] != "error":
            written += ["----", *found]
    if write:
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(written))
    return differences


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--write", action="store_true", help="put PostgreSQL's answers into the files")
    ap.add_argument("files", nargs="*", default=None)
    a = ap.parse_args()
    differences = 0
    with tempfile.TemporaryDirectory() as scratch, PostgresCluster() as dsn:
        os.chmod(scratch, 0o777)
        for path in a.files or sorted(glob.glob(FILES)):
            server = Server(dsn, "slt_" + re.sub(r"\W", "_", os.path.splitext(os.path.basename(path))[0]))
            differences += run_file(server, path, scratch, a.write)
            server.close()
    print(f"{differences} differences" + (", written" if a.write and differences else ""))
    sys.exit(1 if differences and not a.write else 0)


if __name__ == "__main__":
    main()
