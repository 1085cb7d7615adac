"""Writes PostgreSQL's answers into files of queries, the tests of braid-sql.

    python queries_on_postgres.py FILE...      # with PGHOST, PGPORT, PGUSER

A query is one line, and its answer the lines below, to an empty line: `=` and for each column a tab, its name, a tab and its type; then
each row, with tabs between the values and before the first one. Backslash, tab and newline are escaped, \\N is null. Of an error there is
one line: `!`, the SQLSTATE, the place in characters from 1 (0 for none), the message, the detail and the hint, with tabs between. Only
the queries are read; lines that begin with `#` stay. The tables are those of `tables.tsv` beside the file, which a database of their own
gets anew. Sessions have time zone UTC.
"""

import os
import sys

import psycopg
from expressions_on_postgres import escaped

DATABASE = "braid_queries"


def unescaped(text):
    return None if text == "\\N" else text.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\")


def create_tables(connection, name):
    """A paragraph for each table: `table`, its name, and its columns with their types; its primary key; its rows."""
    with open(name) as file:
        paragraphs = file.read().strip().split("\n\n")
    for paragraph in paragraphs:
        lines = [line.split("\t") for line in paragraph.split("\n") if not line.startswith("#")]
        (_, table, *columns), (_, *key), *rows = lines
        definitions = list(columns)
        if key:
            definitions.append(f"PRIMARY KEY ({', '.join(key)})")
        connection.execute(f"CREATE TABLE {table} ({', '.join(definitions)})")
        marks = ", ".join(["%s"] * len(columns))
        for row in rows:
            connection.execute(f"INSERT INTO {table} VALUES ({marks})", [unescaped(field) for field in row])


def answer(connection, query):
    """The lines of a query's answer."""
    try:
        result = connection.execute(query).pgresult
    except psycopg.Error as error:
        diag = error.diag
        texts = [diag.message_primary, diag.message_detail or "", diag.message_hint or ""]
        fields = ["!", diag.sqlstate, diag.statement_position or "0", *(escaped(text) for text in texts)]
        return ["\t".join(fields).rstrip("\t")]
    columns = ["="]
    for column in range(result.nfields):
        sql = "SELECT format_type(%s::oid, %s::int)"
        (type_name,) = connection.execute(sql, (result.ftype(column), result.fmod(column))).fetchone()
        columns += [escaped(result.fname(column).decode()), type_name]
    lines = ["\t".join(columns)]
    for row in range(result.ntuples):
        values = [result.get_value(row, column) for column in range(result.nfields)]
        lines.append("".join("\t" + ("\\N" if value is None else escaped(value.decode())) for value in values))
    return lines


def write_answers(connection, name):
    with open(name) as file:
        lines = file.read().split("\n")
    written, is_answer = [], False
    for line in lines:
        if not line:
            is_answer = False
        elif line.startswith("#"):
            written.append(line)
        elif not is_answer:
            written += [line, *answer(connection, line), ""]
            is_answer = True
    with open(name, "w") as file:
        file.write("\n".join(written))


def main():
    with psycopg.connect(dbname="postgres", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
        connection.execute(f"CREATE DATABASE {DATABASE} TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C' ENCODING 'UTF8'")
    with psycopg.connect(dbname=DATABASE, autocommit=True) as connection:
        connection.execute("SET timezone = 'UTC'")
        connection.execute("SET statement_timeout = '20s'")
        create_tables(connection, os.path.join(os.path.dirname(sys.argv[1]), "tables.tsv"))
        for name in sys.argv[1:]:
            write_answers(connection, name)


if __name__ == "__main__":
    main()
