"""Writes PostgreSQL's answers into files of expressions, the tests of braid-sql.

    python expressions_on_postgres.py FILE...      # with PGHOST, PGPORT, PGUSER

A line is an expression, a tab, its type, a tab, and its text, with backslash, tab and newline escaped and \\N for null; for an error
the type is `!` and the text is the SQLSTATE, the place in the expression in characters from 1 (0 for none), and the message. Only
the expression is read; lines that are empty or begin with `#` stay. Sessions have time zone UTC, and now() is no test.
"""

import sys

import psycopg

PREFIX = "SELECT "


def escaped(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def answer(connection, expression):
    """The type and the text of an expression's value."""
    try:
        row = connection.execute(f"{PREFIX}{expression}").pgresult
        if row.nfields != 1 or row.ntuples != 1:
            return "!", "not one value"
        value = row.get_value(0, 0)
        oid, modifier = row.ftype(0), row.fmod(0)
        name = connection.execute("SELECT format_type(%s::oid, %s::int)", (oid, modifier)).fetchone()[0]
        return name, "\\N" if value is None else escaped(value.decode())
    except psycopg.Error as error:
        place = int(error.diag.statement_position or 0)
        place = place - len(PREFIX) if place else 0
        return "!", escaped(f"{error.diag.sqlstate} {place} {error.diag.message_primary}")


def main():
    with psycopg.connect(autocommit=True) as connection:
        connection.execute("SET timezone = 'UTC'")
        for name in sys.argv[1:]:
            with open(name) as file:
                lines = file.read().split("\n")
            for at, line in enumerate(lines):
                if line and not line.startswith("#"):
                    expression = line.split("\t")[0]
                    lines[at] = "\t".join([expression, *answer(connection, expression)])
            with open(name, "w") as file:
                file.write("\n".join(lines))


if __name__ == "__main__":
    main()
