"""Writes PostgreSQL's answers into files of calls that return rows, tests of braid-sql.

    python rows_on_postgres.py FILE...      # with PGHOST, PGPORT, PGUSER

A line is a call, a tab, the names and types of its columns, and for each of the first 20 rows a tab and its values, separated by
` | ` and escaped as in expressions_on_postgres.py. An error is a tab, `!`, a tab, and the SQLSTATE, the place and the message. Only
the call is read. Lines that are empty or begin with `#` stay; `#zone NAME` sets the time zone of the lines after it, else it is UTC.
"""

import sys

import psycopg

from expressions_on_postgres import PREFIX, escaped

ROWS_MAX = 20


def columns(connection, statement):
    """Names and types, without a row being made."""
    result = connection.execute(f"{statement} LIMIT 0").pgresult
    types = [(result.ftype(at), result.fmod(at)) for at in range(result.nfields)]
    names = [connection.execute("SELECT format_type(%s::oid, %s::int)", pair).fetchone()[0] for pair in types]
    return [(result.fname(at).decode(), names[at]) for at in range(result.nfields)]


def answer(connection, call):
    """Columns and rows. A function in the select list makes no more rows than LIMIT asks for."""
    try:
        statement = f"{PREFIX}{call}"
        if columns(connection, statement)[0][1] == "record":
            statement = f"SELECT * FROM {call}"
        names = columns(connection, f"SELECT * FROM {call}")
        rows = connection.execute(f"{statement} LIMIT {ROWS_MAX}").pgresult
        values = [[rows.get_value(row, at) for at in range(rows.nfields)] for row in range(rows.ntuples)]
        texts = [" | ".join("\\N" if value is None else escaped(value.decode()) for value in row) for row in values]
        return [", ".join(f"{name} {sql_type}" for name, sql_type in names), *texts]
    except psycopg.Error as error:
        place = int(error.diag.statement_position or 0)
        place = place - len(PREFIX) if place else 0
        return ["!", escaped(f"{error.diag.sqlstate} {place} {error.diag.message_primary}")]


def main():
    with psycopg.connect(autocommit=True) as connection:
        for name in sys.argv[1:]:
            connection.execute("SET timezone = 'UTC'")
            with open(name) as file:
                lines = file.read().split("\n")
            for at, line in enumerate(lines):
                if line.startswith("#zone "):
                    connection.execute("SELECT set_config('timezone', %s, false)", (line.removeprefix("#zone "),))
                elif line and not line.startswith("#"):
                    call = line.split("\t")[0]
                    lines[at] = "\t".join([call, *answer(connection, call)])
            with open(name, "w") as file:
                file.write("\n".join(lines))


if __name__ == "__main__":
    main()
