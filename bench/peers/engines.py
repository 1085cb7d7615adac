"""The engines that are compared: each loads the same data and then makes clients.

Every engine is a context manager whose value is `connect`: a function without arguments that makes one client, which is
a function that takes SQL and returns rows. What an engine needs on disk lies under the work directory and is reused.
"""
import contextlib, os, shutil, socket, subprocess, time
import tpch_data
from postgres_cluster import PostgresCluster, free_port


@contextlib.contextmanager
def duckdb(work, scale):
    import duckdb as library
    path = os.path.join(work, f"duckdb-{scale}.db")
    if not os.path.exists(path):
        parquet = tpch_data.generate("parquet", scale, os.path.join(work, f"parquet-{scale}"))
        with library.connect(path + ".unfinished") as connection:
            tpch_data.load_duckdb(connection, parquet, "parquet")
        os.rename(path + ".unfinished", path)
    connection = library.connect(path, read_only=True)

    def connect():
        cursor = connection.cursor()
        return lambda sql: cursor.execute(sql).fetchall()
    try:
        yield connect
    finally:
        connection.close()


@contextlib.contextmanager
def datafusion(work, scale):
    import datafusion as library
    parquet = tpch_data.generate("parquet", scale, os.path.join(work, f"parquet-{scale}"))
    config = library.SessionConfig().with_target_partitions(os.cpu_count())
    context = library.SessionContext(config)
    for table in tpch_data.TABLES:
        context.register_parquet(table, f"{parquet}/{table}.parquet")

    def execute(sql):
        return [row for batch in context.sql(sql).collect() for row in zip(*(c.to_pylist() for c in batch.columns))]
    yield lambda: execute


def over_the_wire(dsn):
    import psycopg

    def connect():
        connection = psycopg.connect(dsn, autocommit=True)
        return lambda sql: connection.execute(sql).fetchall()
    return connect


@contextlib.contextmanager
def postgresql(work, scale):
    import psycopg
    # As root, the user postgres runs it, who may not look into root's home.
    work_of_postgres = "/var/tmp/braid-peers" if os.geteuid() == 0 else work
    directory = os.path.join(work_of_postgres, f"postgresql-{scale}")
    # Everything in memory, and parallel plans for one client; the defaults are for a machine of 2005.
    settings = {"shared_buffers": "4GB", "effective_cache_size": "8GB", "max_connections": "2000", "jit": "off"}
    with PostgresCluster(directory, settings) as dsn:
        with psycopg.connect(dsn, autocommit=True) as connection:
            if not connection.execute("select 1 from pg_tables where tablename = 'braid_loaded'").fetchone():
                connection.execute(f"drop table if exists {', '.join(tpch_data.TABLES)}")
                csv = tpch_data.generate("csv", scale, os.path.join(work, f"csv-{scale}"))
                tpch_data.load_postgres(connection, csv)
                connection.execute("create table braid_loaded ()")
        yield over_the_wire(dsn)


@contextlib.contextmanager
def braid(work, scale):
    binary = os.environ["BRAID"]
    directory = os.path.join(work, f"braid-{scale}")
    if not os.path.exists(os.path.join(directory, "loaded")):
        # An interrupted load keeps its finished tables, which a new one would refuse to load again.
        shutil.rmtree(directory, ignore_errors=True)
        subprocess.run([binary, "load", "tpch", "--scale", str(scale), "--data", directory], check=True)
        open(os.path.join(directory, "loaded"), "w").close()
    port = free_port()
    with open(os.path.join(work, "braid.log"), "ab") as log:
        server = subprocess.Popen([binary, "serve", "--data", directory, "--listen", f"127.0.0.1:{port}"], stdout=log, stderr=log)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            if server.poll() is not None:
                raise SystemExit(f"braid serve ended: see {work}/braid.log")
            time.sleep(0.1)
        yield over_the_wire(f"host=127.0.0.1 port={port} user=braid dbname=braid")
    finally:
        server.terminate()
        server.wait()


ENGINES = {"braid": braid, "duckdb": duckdb, "datafusion": datafusion, "postgresql": postgresql}
