"""Writes what PostgreSQL's system relations say of tables of users, as the tests of braid-catalog compare it.

    python user_table_catalog.py TABLES.sql FILE      # with PGHOST, PGPORT, PGUSER; the database must be empty

`FILE` has a line for each row: the relation, and `column=value` for each column that is not null. Object ids of what users have are
names in angle brackets; those of types, collations, operator classes and the like are numbers, because Braid has PostgreSQL's.
"""

import re
import sys

import psycopg

# What depends on how a table is stored, and on when it was made.
LEFT_OUT = {
    "oid", "relallvisible", "relfilenode", "relfrozenxid", "relminmxid", "relpages", "reltoastrelid", "reltuples", "reltype",
}

# Relation, condition, order, and expressions in place of columns.
RELATIONS = [
    ("pg_class", "relnamespace = 2200", "relname", {}),
    (
        "pg_attribute",
        "attnum > 0 AND attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 2200)",
        "attrelid::regclass::text, attnum",
        {"attrelid": "'<' || attrelid::regclass || '>'"},
    ),
    (
        "pg_attrdef",
        "true",
        "adrelid::regclass::text, adnum",
        {"adrelid": "'<' || adrelid::regclass || '>'", "adbin": "pg_get_expr(adbin, adrelid)"},
    ),
    (
        "pg_constraint",
        "connamespace = 2200",
        "conname",
        {"conrelid": "'<' || conrelid::regclass || '>'", "conindid": "'<' || conindid::regclass || '>'"},
    ),
    (
        "pg_index",
        "indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 2200)",
        "indexrelid::regclass::text",
        {"indrelid": "'<' || indrelid::regclass || '>'", "indexrelid": "'<' || indexrelid::regclass || '>'"},
    ),
]

# Views, with the columns that their rows are ordered by.
VIEWS = [
    ("pg_tables", "schemaname = 'public'", "tablename"),
    ("pg_indexes", "schemaname = 'public'", "indexname"),
    ("pg_roles", "true", "rolname"),
    ("pg_user", "true", "usename"),
    ("information_schema.tables", "table_schema = 'public'", "table_name"),
    ("information_schema.columns", "table_schema = 'public'", "table_name, ordinal_position"),
    ("information_schema.table_constraints", "table_schema = 'public'", "constraint_name"),
    ("information_schema.key_column_usage", "table_schema = 'public'", "constraint_name, ordinal_position"),
    ("information_schema.schemata", "schema_name <> 'pg_toast'", "schema_name"),
]


def escaped(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def lines(connection, relation, where, order, replaced):
    sql = "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 ORDER BY attnum"
    names = [name for (name,) in connection.execute(sql, (relation,)) if name not in LEFT_OUT]
    selected = ", ".join(f"({replaced.get(name, f'r.{name}')})::text" for name in names)
    for row in connection.execute(f"SELECT {selected} FROM {relation} r WHERE {where} ORDER BY {order}"):
        # Names of NOT NULL have the number of the table that the tests have them of.
        row = [value and re.sub(r"^2200_\d+_", "2200_<every_type>_", value) for value in row]
        values = [f"{name}={escaped(value)}" for name, value in zip(names, row) if value is not None]
        yield "\t".join([relation, *values])


def main():
    tables, path = sys.argv[1:]
    with psycopg.connect(dbname="postgres", autocommit=True) as connection, open(path, "w") as file:
        connection.execute(open(tables).read())
        for relation, where, order, replaced in RELATIONS:
            file.writelines(line + "\n" for line in lines(connection, relation, where, order, replaced))
        for relation, where, order in VIEWS:
            file.writelines(line + "\n" for line in lines(connection, relation, where, order, {}))


if __name__ == "__main__":
    main()
