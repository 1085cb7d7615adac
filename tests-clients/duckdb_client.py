"""DuckDB's attachment of PostgreSQL, by its extension: reads, creates, inserts. Without ctid, which Braid refuses."""
import datetime
import glob
import os
import sys

import duckdb
import duckdb_extension_postgres_scanner

ATTACHED = "dbname={PGDATABASE} host={PGHOST} port={PGPORT} user={PGUSER}".format(**os.environ)


def main():
    (extension,) = glob.glob(os.path.dirname(duckdb_extension_postgres_scanner.__file__) + "/extensions/*/*.duckdb_extension")
    db = duckdb.connect()
    db.execute(f"LOAD '{extension}'")
    db.execute("SET pg_use_ctid_scan = false")
    db.execute(f"ATTACH '{ATTACHED}' AS pg (TYPE postgres)")

    def expect(sql, expected):
        found = db.execute(sql).fetchall()
        if found != expected:
            sys.exit(f"duckdb {sql}: {found} instead of {expected}")

    db.execute("CREATE TABLE pg.things (id INTEGER PRIMARY KEY, name VARCHAR, price DECIMAL(10, 2), made DATE)")
    db.execute("INSERT INTO pg.things SELECT n, 'row ' || n, n / 4, DATE '2024-02-29' + n::INTEGER FROM range(5000) s(n)")
    expect("SELECT count(*), sum(id), max(made) FROM pg.things", [(5000, 12497500, datetime.date(2037, 11, 6))])
    expect("SELECT name FROM pg.things WHERE id = 17", [("row 17",)])
    expect("SELECT count(*) FROM pg.things a JOIN range(100) s(n) ON a.id = s.n", [(100,)])
    db.execute("BEGIN")
    db.execute("INSERT INTO pg.things VALUES (9000, 'gone', 1, NULL)")
    expect("SELECT count(*) FROM pg.things", [(5001,)])
    db.execute("ROLLBACK")
    expect("SELECT count(*) FROM pg.things", [(5000,)])
    db.execute("CALL postgres_execute('pg', 'UPDATE things SET name = ''changed '' || id WHERE id % 10 = 3')")
    expect("SELECT count(*) FROM pg.things WHERE name LIKE 'changed%'", [(500,)])
    # It finds rows by ctid, which Braid refuses.
    try:
        db.execute("DELETE FROM pg.things WHERE id >= 4000")
    except duckdb.Error as error:
        if "system columns are not supported" not in str(error):
            raise
    expect("SELECT * FROM postgres_query('pg', 'SELECT version() LIKE ''PostgreSQL%''')", [(True,)])
    db.execute("DROP TABLE pg.things")
    print("duckdb: ok")


main()
