"""Writes PostgreSQL's answers into files of window functions over rows, tests of braid-sql.

    python windows_on_postgres.py FILE...      # with PGHOST, PGPORT, PGUSER

A line has six fields with tabs between: a call with the columns c0, c1, … as arguments, the types of the columns with ` & ` between, what
stands within OVER, the rows as in aggregates_on_postgres.py, the type of the result, and the result of each row with ` | ` between. An
error has `!` as its type, and SQLSTATE and message. Only the first four fields are read. Rows come in the order of the window, so that
equal ones stay as they are.
"""

import sys

import psycopg
from aggregates_on_postgres import relation
from expressions_on_postgres import escaped


def answer(connection, call, types, over, rows):
    """The type and the texts of a window function's values."""
    sql = f"SELECT {call} OVER ({over}) FROM {relation(types.split(' & '), rows)} ORDER BY place"
    try:
        result = connection.execute(sql).pgresult
        values = [result.get_value(row, 0) for row in range(result.ntuples)]
        name = connection.execute("SELECT format_type(%s::oid, -1)", (result.ftype(0),)).fetchone()[0]
        return name, " | ".join("\\N" if value is None else escaped(value.decode()) for value in values)
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
                    fields = line.split("\t")[:4]
                    lines[at] = "\t".join([*fields, *answer(connection, *fields)])
            with open(name, "w") as file:
                file.write("\n".join(lines))


if __name__ == "__main__":
    main()
