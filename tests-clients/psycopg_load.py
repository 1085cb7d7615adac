"""psycopg 3 under load: threads ask random constants of a few templates, with sharing auto and global, as text and prepared, with
text and binary results, and with fetch sizes. Each answer must equal the one that a session with sharing off gave before."""

import random
import sys
import threading
import time

import psycopg

THREADS = 16
SECONDS = 4
SEED = 7

# Statements with their constants: each constant is one of a few values, so that queries of a pass meet.
TEMPLATES = [
    ("select g, count(*), sum(v), min(s) from loaded where v < {} group by g order by g", [5, 40, 90, 150]),
    ("select id, v, n, s from loaded where v = {} order by id", [1, 2, 77, 500]),
    ("select count(*), sum(l.n), max(d) from loaded as l join other as o on l.g = o.g where o.w > {}", [0, 2, 4, 9]),
    ("select distinct s from loaded where id % {} = 0 order by s limit 20", [3, 7, 100]),
    ("select sum(1000 / (v - {})) from loaded", [-1, 50, 300]),
    ("select count(*) from loaded where s like 'name 1%' and exists (select 1 from other where w = v - {})", [1, 3, 8]),
]


def ask(connection, text, constant, prepared, binary, fetch):
    """The rows, or the SQLSTATE of the error."""
    # With parameters "%" is doubled.
    parametrised = text.replace("%", "%%").format("%s::integer")
    try:
        if fetch:
            with connection.transaction(), connection.cursor(name="c", binary=binary) as cursor:
                cursor.itersize = fetch
                cursor.execute(parametrised, [constant])
                return list(cursor)
        cursor = connection.cursor(binary=binary)
        if prepared:
            return cursor.execute(parametrised, [constant], prepare=True, binary=binary).fetchall()
        return cursor.execute(text.format(constant), binary=binary).fetchall()
    except psycopg.Error as error:
        if error.sqlstate is None:
            raise
        return error.sqlstate


def run(number, expected, until, asked, failures):
    choices = random.Random(SEED * 1000 + number)
    try:
        with psycopg.connect(autocommit=True) as connection:
            connection.execute(f"set braid.sharing = {'global' if number % 2 else 'auto'}")
            while time.monotonic() < until and not failures:
                text, constant = choices.choice(sorted(expected))
                how = (choices.random() < 0.5, choices.random() < 0.5, choices.choice([0, 0, 0, 7]))
                got = ask(connection, text, constant, *how)
                if got != expected[text, constant]:
                    failures.append(f"{text} with {constant}, prepared, binary, fetch {how}: {got!r:.300}, "
                                    f"expected {expected[text, constant]!r:.300}")
                asked[number] += 1
    except Exception as error:
        failures.append(f"thread {number}: {error!r}")


def main():
    with psycopg.connect(autocommit=True) as alone:
        alone.execute("create table loaded (id integer not null, g integer, v integer, n numeric(10,2), s text, d date)")
        alone.execute("insert into loaded select value, value % 9, case when value % 11 > 0 then value * 7 % 200 end, "
                      "cast(value % 1000 as numeric(10,2)) * 0.25, 'name ' || (value % 50), date '2024-01-01' + value % 300 "
                      "from generate_series(1, 20000) as t(value)")
        alone.execute("create table other (g integer, w integer)")
        alone.execute("insert into other select value % 9, value % 10 from generate_series(1, 200) as t(value)")
        alone.execute("set braid.sharing = off")
        alone.execute("set braid.templates = off")
        expected = {(text, constant): ask(alone, text, constant, False, False, 0)
                    for text, constants in TEMPLATES for constant in constants}
        assert "22012" in expected.values(), "one of the constants divides by zero"
        assert sum(isinstance(rows, list) and len(rows) > 0 for rows in expected.values()) > 15, expected
        asked, failures = [0] * THREADS, []
        until = time.monotonic() + SECONDS
        threads = [threading.Thread(target=run, args=(number, expected, until, asked, failures))
                   for number in range(THREADS)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        if failures:
            sys.exit(f"psycopg under load, seed {SEED}: {failures[0]}")
        shared = alone.execute("select coalesce(sum(queries), 0) from braid_passes where queries > 1").fetchone()[0]
        assert min(asked) > 0 and shared > 0, f"asked {asked}, {shared} queries shared a pass"
        print(f"psycopg under load: {sum(asked)} answers, all as with sharing off; "
              f"{shared} queries of the last passes shared one")


main()
