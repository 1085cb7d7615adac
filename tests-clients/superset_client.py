"""Apache Superset: what it asks of PostgreSQL. SQLAlchemy 1.4 lists schemas, tables and views, then the columns and keys of each;
charts group by the time grains of its engine specification, which are read from Superset's wheel; SQL Lab limits, explains and
cancels statements.

    superset_client.py WHEEL [--write FILE]

--write keeps the answers as JSON, so that those of two servers can be compared. The database has to be empty.
"""
import argparse
import ast
import datetime
import json
import os
import pathlib
import sys
import zipfile

import sqlalchemy as sa

OBJECTS = """
CREATE SCHEMA shop;
CREATE TYPE state AS ENUM ('new', 'paid');
CREATE DOMAIN amount AS numeric(10,2) CHECK (VALUE >= 0);
CREATE TABLE shop.customer (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name varchar(40) NOT NULL UNIQUE, notes jsonb);
CREATE TABLE shop.sale (
    id bigserial PRIMARY KEY, customer_id integer REFERENCES shop.customer (id) ON DELETE CASCADE, state state DEFAULT 'new',
    total amount, tax numeric(10,2) GENERATED ALWAYS AS (total * 0.2) STORED, at timestamp, since timestamptz, day date,
    seconds bigint, tags text[], "Odd Column" text, CONSTRAINT sale_day UNIQUE (customer_id, day), CHECK (seconds > 0));
CREATE INDEX sale_at ON shop.sale (at DESC, state);
CREATE UNIQUE INDEX sale_lower ON shop.sale (lower("Odd Column")) WHERE total > 1;
CREATE VIEW shop.totals AS SELECT customer_id, sum(total) AS total FROM shop.sale GROUP BY customer_id;
CREATE MATERIALIZED VIEW shop.days AS SELECT day, count(*) AS n FROM shop.sale GROUP BY day;
COMMENT ON TABLE shop.sale IS 'what was sold';
COMMENT ON COLUMN shop.sale.total IS 'with tax';
INSERT INTO shop.customer (name) VALUES ('Ann'), ('Bob');
INSERT INTO shop.sale (customer_id, total, at, since, day, seconds, "Odd Column")
    SELECT 1 + i % 2, i, timestamp '2024-01-01' + i * interval '7 hours 13 minutes 5 seconds',
        timestamptz '2024-02-28 22:00+00' + i * interval '11 hours', date '2023-11-30' + i, 1700000000 + i * 86399, i::text
    FROM generate_series(1, 200) i;
"""


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found!r} instead of {expected!r}")


def time_grains(wheel):
    """The expressions of PostgresBaseEngineSpec, by the name of the grain."""
    tree = ast.parse(zipfile.ZipFile(wheel).read("superset/db_engine_specs/postgres.py"))
    assigned = next(
        node for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_time_grain_expressions")
    return {ast.unparse(key): value.value for key, value in zip(assigned.value.keys, assigned.value.values)}


def introspection(connection):
    inspector = sa.inspect(connection)
    answers = {"schemas": sorted(inspector.get_schema_names())}
    expect("schemas", "shop" in answers["schemas"], True)
    answers["databases"] = [name for (name,) in connection.execute(
        sa.text("SELECT datname FROM pg_database WHERE datistemplate = false AND datname = current_database()"))]
    tables = sorted(inspector.get_table_names("shop") + inspector.get_foreign_table_names("shop"))
    views = sorted(inspector.get_view_names("shop"))
    expect("tables", tables, ["customer", "sale"])
    expect("views", [name for name in views if name != "days"], ["totals"])
    for name in [*tables, *views]:
        answers[name] = {
            "columns": [{**column, "type": repr(column["type"])} for column in inspector.get_columns(name, "shop")],
            "primary key": inspector.get_pk_constraint(name, "shop"), "foreign keys": inspector.get_foreign_keys(name, "shop"),
            "unique": inspector.get_unique_constraints(name, "shop"), "checks": inspector.get_check_constraints(name, "shop"),
            "indexes": inspector.get_indexes(name, "shop"), "comment": inspector.get_table_comment(name, "shop")}
    sale = answers["sale"]
    expect("columns", [column["name"] for column in sale["columns"]], [
        "id", "customer_id", "state", "total", "tax", "at", "since", "day", "seconds", "tags", "Odd Column"])
    expect("primary key", sale["primary key"]["constrained_columns"], ["id"])
    expect("foreign key", sale["foreign keys"][0]["options"], {"ondelete": "CASCADE"})
    expect("unique", [key["column_names"] for key in sale["unique"]], [["customer_id", "day"]])
    expect("comment", sale["comment"], {"text": "what was sold"})
    answers["view"] = " ".join(inspector.get_view_definition("totals", "shop").split())
    answers["enums"] = inspector.get_enums("public")
    return answers


def charts(connection, wheel):
    """A chart's query for each grain, over each column of a time, and over seconds since the epoch."""
    answers = {}
    seconds = "(timestamp 'epoch' + seconds * interval '1 second')"
    for grain, expression in time_grains(wheel).items():
        # Of a date there are no seconds and minutes.
        for column in ["at", "since", seconds, *([] if "EXTRACT" in expression else ["day"])]:
            rows = connection.exec_driver_sql(
                f"SELECT {expression.format(col=column)} AS __timestamp, sum(total) AS total FROM shop.sale"
                " WHERE at >= TO_TIMESTAMP('2024-01-02 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')"
                " AND day < TO_DATE('2024-05-01', 'YYYY-MM-DD')"
                " GROUP BY 1 ORDER BY total DESC, 1 LIMIT 1000".replace("%", "%%")).fetchall()
            answers[f"{grain} of {column}"] = [[str(value) for value in row] for row in rows]
    expect("by year", answers["TimeGrain.YEAR of at"], [["2024-01-01 00:00:00", "11622.00"]])
    return answers


def sql_lab(connection):
    connection.exec_driver_sql('set search_path = "shop"')
    limited = "SELECT * FROM (SELECT customer_id, total FROM totals ORDER BY 1) AS inner_qry LIMIT 1001"
    expect("SQL Lab", [row[0] for row in connection.exec_driver_sql(limited)], [1, 2])
    with_table = "WITH __cte AS (SELECT * FROM sale) SELECT count(DISTINCT state) AS c, count(*) AS n FROM __cte"
    expect("a dataset's WITH", tuple(connection.exec_driver_sql(with_table).one()), (1, 200))
    expect("EXPLAIN", len(connection.exec_driver_sql("EXPLAIN SELECT * FROM sale").fetchone()), 1)
    pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
    gone = connection.exec_driver_sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid='{pid}' AND pid <> {pid}")
    expect("cancel", gone.fetchall(), [])
    return {}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("wheel", type=pathlib.Path)
    options.add_argument("--write", type=pathlib.Path)
    options = options.parse_args()
    engine = sa.create_engine("postgresql+psycopg2://{PGUSER}@{PGHOST}:{PGPORT}/{PGDATABASE}".format(**os.environ))
    answers = {}
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(OBJECTS.replace("%", "%%"))
        connection.exec_driver_sql("REFRESH MATERIALIZED VIEW shop.days")
        answers["introspection"] = introspection(connection)
        answers["charts"] = charts(connection, options.wheel)
        sql_lab(connection)
    if options.write:
        options.write.write_text(json.dumps(answers, indent=1, default=str))
    print("superset: ok")


if __name__ == "__main__":
    main()
