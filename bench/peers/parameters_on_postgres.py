"""Writes PostgreSQL's answers about the parameters of prepared statements into a file, a test of braid-sql.

    python parameters_on_postgres.py FILE...      # with PGHOST, PGPORT, PGUSER

A line is the declared types with commas between (`?` for one that is not declared, `-` for none at all), a tab, and a statement; behind it the
answer: a tab, the types of the parameters, a tab, and the types of the columns, with commas between. For an error the types are `!`, and
behind the next tab there are the SQLSTATE, the place in characters from 1 (0 for none), and the message; behind another tab the detail, if
there is one. Only declared types and statement are read; lines that are empty or begin with `#` stay. The tables are those of
`queries/tables.tsv`, which a database of their own gets anew.
"""

import os
import sys

import psycopg
from expressions_on_postgres import escaped
from psycopg import pq
from queries_on_postgres import create_tables

DATABASE = "braid_parameters"


def type_name(connection, oid, modifier):
    return connection.execute("SELECT format_type(%s::oid, %s::int)", (oid, modifier)).fetchone()[0]


def oid_of(connection, declared):
    return 0 if declared == "?" else connection.execute("SELECT %s::regtype::oid::int", (declared,)).fetchone()[0]


def answer(connection, declared, statement):
    """The fields behind a statement."""
    oids = [] if declared == "-" else [oid_of(connection, name) for name in declared.split(",")]
    result = connection.pgconn.prepare(b"", statement.encode(), oids)
    if result.status != pq.ExecStatus.COMMAND_OK:
        field = lambda code: (result.error_field(code) or b"").decode()
        place = field(pq.DiagnosticField.STATEMENT_POSITION) or "0"
        state, message = field(pq.DiagnosticField.SQLSTATE), field(pq.DiagnosticField.MESSAGE_PRIMARY)
        detail = field(pq.DiagnosticField.MESSAGE_DETAIL)
        return ["!", escaped(f"{state} {place} {message}"), *([escaped(detail)] if detail else [])]
    described = connection.pgconn.describe_prepared(b"")
    parameters = [type_name(connection, described.param_type(at), -1) for at in range(described.nparams)]
    columns = range(described.nfields)
    columns = [type_name(connection, described.ftype(at), described.fmod(at)) for at in columns]
    return [",".join(parameters), ",".join(columns)]


def main():
    with psycopg.connect(dbname="postgres", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
        connection.execute(f"CREATE DATABASE {DATABASE} TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C' ENCODING 'UTF8'")
    with psycopg.connect(dbname=DATABASE, autocommit=True) as connection:
        connection.execute("SET timezone = 'UTC'")
        connection.prepare_threshold = None
        create_tables(connection, os.path.join(os.path.dirname(sys.argv[1]), "queries/tables.tsv"))
        for name in sys.argv[1:]:
            with open(name) as file:
                lines = file.read().split("\n")
            for at, line in enumerate(lines):
                if line and not line.startswith("#"):
                    declared, statement = line.split("\t")[:2]
                    lines[at] = "\t".join([declared, statement, *answer(connection, declared, statement)])
            with open(name, "w") as file:
                file.write("\n".join(lines))
    with psycopg.connect(dbname="postgres", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {DATABASE}")


if __name__ == "__main__":
    main()
