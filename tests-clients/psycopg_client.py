"""psycopg 3: types in both formats, prepared statements, COPY both ways, server cursors, errors, transactions, cancel."""

import datetime as dt
import threading
import uuid
from decimal import Decimal

import psycopg
from psycopg import errors


def check(what, got, expected):
    assert got == expected, f"psycopg, {what}: got {got!r}, expected {expected!r}"


def types(connection):
    values = {
        "boolean": True,
        "smallint": -32768,
        "integer": 2147483647,
        "bigint": -(2**63),
        "double precision": 1e300,
        "numeric(20,4)": Decimal("-1234567890.1200"),
        "text": "ä 'quoted' \\ text",
        "bytea": b"\x00\xff",
        "date": dt.date(2024, 2, 29),
        "timestamp": dt.datetime(2024, 2, 29, 12, 0, 0, 500000),
        "timestamptz": dt.datetime(1969, 7, 20, 20, 17, 40, tzinfo=dt.timezone.utc),
        "interval": dt.timedelta(days=3),
        "uuid": uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    }
    for binary in (False, True):
        for name, value in values.items():
            placeholder = "%b" if binary else "%t"
            cursor = connection.cursor(binary=binary)
            got = cursor.execute(f"select {placeholder}::{name}, null::{name}", [value]).fetchone()
            check(f"{name}, binary {binary}", got, (value, None))
        got = connection.cursor(binary=binary).execute("select array[1, 2, null], row_number() over ()").fetchone()
        check(f"arrays, binary {binary}", got, ([1, 2, None], 1))


def prepared(connection):
    for value in range(10):
        # After five executions psycopg prepares; here from the first one.
        got = connection.execute("select name from people where id = %s", [value % 3], prepare=True).fetchone()
        check("prepared", got, (["zero", "one", None][value % 3],))
    got = connection.execute("select id from people where id = any(%s) order by id", [[0, 2, 7]]).fetchall()
    check("= any(list)", got, [(0,), (2,)])


def copying(connection):
    with connection.cursor() as cursor:
        with cursor.copy("copy people (id, name) from stdin") as copy:
            for row in [(0, "zero"), (1, "one"), (2, None)]:
                copy.write_row(row)
        check("COPY rows", cursor.rowcount, 3)
        with cursor.copy("copy (select id, name from people order by id) to stdout") as copy:
            check("COPY out", list(copy.rows()), [("0", "zero"), ("1", "one"), ("2", None)])
        try:
            with cursor.copy("copy people from stdin") as copy:
                copy.write("x\tbad\n")
            raise AssertionError("psycopg: a bad row was taken")
        except errors.InvalidTextRepresentation as error:
            assert "line 1" in (error.diag.context or ""), error.diag.context


def copying_binary(connection):
    rows = [(1, "one", Decimal("1.50")), (2, None, None), (3, "three", Decimal("-3.25"))]
    with connection.cursor() as cursor:
        cursor.execute("create table binaries (id integer, name text, price numeric(10,2))")
        with cursor.copy("copy binaries from stdin (format binary)") as copy:
            copy.set_types(["int4", "text", "numeric"])
            for row in rows:
                copy.write_row(row)
        with cursor.copy("copy (select * from binaries order by id) to stdout (format binary)") as copy:
            copy.set_types(["int4", "text", "numeric"])
            check("binary COPY", list(copy.rows()), rows)


def batches(connection):
    """executemany sends all rows before one Sync: a transaction of several writes."""
    insert = "insert into people (id, name) values (%s, %s)"
    stored = "select count(*) from people where id >= 10"
    with connection.cursor() as cursor:
        cursor.executemany(insert, [(10, "ten"), (11, "eleven")])
        check("a batch", cursor.execute(stored).fetchone(), (2,))
        try:
            cursor.executemany("insert into people (id, name) values (12 / %s, %s)", [(1, "twelve"), (0, "none")])
            raise AssertionError("psycopg: a division by zero was taken")
        except errors.DivisionByZero:
            pass
        check("rows of a failed batch", cursor.execute(stored).fetchone(), (2,))
        with connection.pipeline():
            cursor.execute(insert, (13, "thirteen"))
            cursor.execute(stored)
        check("a pipeline", cursor.fetchone(), (3,))


def transactions(connection):
    """The default of DB-API: a block begins with the first statement."""
    count = "select count(*) from people where id between 100 and 199"
    connection.autocommit = False
    try:
        connection.execute("insert into people (id, name) values (100, 'a')")
        with connection.transaction():
            connection.execute("insert into people (id, name) values (101, 'b')")
        try:
            with connection.transaction():
                connection.execute("insert into people (id, name) values (102, 'c')")
                connection.execute("select 1 / 0")
        except errors.DivisionByZero:
            pass
        check("own rows", connection.execute(count).fetchone(), (2,))
        connection.rollback()
        check("after rollback", connection.execute(count).fetchone(), (0,))
        connection.execute("create table scratch as select * from people")
        connection.execute("insert into people (id, name) values (100, 'a')")
        connection.commit()
        check("after commit", connection.execute(count).fetchone(), (1,))
        connection.execute("drop table scratch")
        connection.commit()
    finally:
        connection.rollback()
        connection.autocommit = True


def server_cursors(connection):
    with connection.transaction(), connection.cursor(name="some cursor") as cursor:
        cursor.itersize = 100
        cursor.execute("select value + %s::bigint as value from generate_series(1, 1000) as t(value)", [0])
        check("description", cursor.description[0].name, "value")
        check("fetchmany", [row[0] for row in cursor.fetchmany(3)], [1, 2, 3])
        cursor.scroll(7)
        check("after scroll", cursor.fetchone(), (11,))
        check("the rest", sum(1 for _ in cursor), 989)


def failures(connection):
    try:
        connection.execute("select * from nowhere")
        raise AssertionError("psycopg: a missing table was found")
    except errors.UndefinedTable:
        pass
    check("status", connection.info.transaction_status, psycopg.pq.TransactionStatus.IDLE)
    connection.autocommit = False
    try:
        connection.execute("select 1 / 0")
        raise AssertionError("psycopg: division by zero")
    except errors.DivisionByZero:
        pass
    try:
        connection.execute("select 1")
        raise AssertionError("psycopg: a failed transaction went on")
    except errors.InFailedSqlTransaction:
        connection.rollback()
    check("after rollback", connection.execute("select 1").fetchone(), (1,))
    connection.commit()
    connection.autocommit = True


def cancelling(connection):
    timer = threading.Timer(0.5, connection.cancel)
    timer.start()
    try:
        connection.execute("select sum(value * 3 % 7) from generate_series(1, 1000000000000) as s(value)")
        raise AssertionError("psycopg: the statement was not cancelled")
    except errors.QueryCanceled:
        pass
    timer.join()
    check("after cancel", connection.execute("select 1").fetchone(), (1,))


with psycopg.connect(autocommit=True) as connection:
    connection.execute("create table people (id integer, name text)")
    types(connection)
    copying(connection)
    copying_binary(connection)
    prepared(connection)
    batches(connection)
    transactions(connection)
    server_cursors(connection)
    failures(connection)
    cancelling(connection)
