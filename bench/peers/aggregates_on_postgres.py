"""Writes PostgreSQL's answers into files of aggregates over rows, tests of braid-sql.

    python aggregates_on_postgres.py FILE...      # with PGHOST, PGPORT, PGUSER

A line is a call, a tab, its rows, a tab, the type of the result, a tab, and its text, as in expressions_on_postgres.py; errors have no
place. Only call and rows are read. A call is `name(type & type)` with the types of its arguments, or
`name(expression & expression) within group (type desc & type)`, `count(*)` for any rows. Rows are separated by ` | `, the values of a
row by ` & `; `NULL` is null, and `-` alone is no rows. Without WITHIN GROUP the order of rows is that of the line.
"""

import sys

import psycopg
from expressions_on_postgres import escaped


def split(text, separator):
    return text.split(separator) if text else []


def literal(text, sql_type):
    quoted = "NULL" if text == "NULL" else "'" + text.replace("'", "''") + "'"
    return f"{quoted}::{sql_type}"


def relation(types, rows):
    """A table v of the rows, with their places."""
    columns = "".join(f", c{at}" for at in range(len(types)))
    values = [] if rows == "-" else rows.split(" | ")
    tuples = [
        f"({at}" + "".join(", " + literal(value, t) for value, t in zip(row.split(" & "), types)) + ")"
        for at, row in enumerate(values)
    ]
    if not tuples:
        tuples = ["(-1" + "".join(f", NULL::{t}" for t in types) + ")"]
    return f"(SELECT * FROM (VALUES {', '.join(tuples)}) AS t(place{columns}) WHERE place >= 0) AS v"


def query(call, rows):
    """The SELECT of a line."""
    name, _, rest = call.partition("(")
    if " within group (" in rest:
        direct, _, keys = rest[:-1].partition(") within group (")
        keys = [key.partition(" ") for key in keys.split(" & ")]
        order = ", ".join(f"c{at} {how}" for at, (_, _, how) in enumerate(keys))
        direct = ", ".join(split(direct, " & "))
        return f"SELECT {name}({direct}) WITHIN GROUP (ORDER BY {order}) FROM {relation([key[0] for key in keys], rows)}"
    if rest == "*)":
        return f"SELECT {name}(*) FROM {relation([], rows)}"
    types = rest[:-1].split(" & ")
    arguments = ", ".join(f"c{at}" for at in range(len(types)))
    return f"SELECT {name}({arguments} ORDER BY place) FROM {relation(types, rows)}"


def answer(connection, sql):
    """The type and the text of a query's value."""
    try:
        row = connection.execute(sql).pgresult
        value = row.get_value(0, 0)
        name = connection.execute("SELECT format_type(%s::oid, -1)", (row.ftype(0),)).fetchone()[0]
        return name, "\\N" if value is None else escaped(value.decode())
    except psycopg.Error as error:
        return "!", escaped(f"{error.diag.sqlstate} {error.diag.message_primary}")


def main():
    with psycopg.connect(autocommit=True) as connection:
        connection.execute("SET timezone = 'UTC'")
        for name in sys.argv[1:]:
            with open(name) as file:
                lines = file.read().split("\n")
            for at, line in enumerate(lines):
                if line and not line.startswith("#"):
                    call, rows = line.split("\t")[:2]
                    lines[at] = "\t".join([call, rows, *answer(connection, query(call, rows))])
            with open(name, "w") as file:
                file.write("\n".join(lines))


if __name__ == "__main__":
    main()
