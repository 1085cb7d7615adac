#!/usr/bin/env python3
"""Statements a second that write, durable, in Braid and in PostgreSQL: inserts and updates of single rows, batches, blocks.

    BRAID=target/release/braid writes.py [--seconds 4]

Each figure is of a fresh table. Both servers sync before they answer. Afterwards sums are checked: no update is lost.
"""
import argparse, contextlib, tempfile, threading, time
import psycopg
from postgres_cluster import PostgresCluster
from regression_sql import braid_server

BATCH, BLOCK = 5000, 2000
CLIENTS = 32


class Peer:
    def __init__(self, dsn, seconds):
        self.dsn, self.seconds = dsn, seconds
        self.connection = self.connect()

    def connect(self):
        return psycopg.connect(self.dsn, autocommit=True)

    def rate(self, clients, statement):
        """Statements a second of so many clients, each with its number as the parameter, and how many there were."""
        counts = [0] * clients

        def work(client):
            connection, start = self.connect(), time.perf_counter()
            while time.perf_counter() - start < self.seconds:
                connection.execute(statement, (client,))
                counts[client] += 1

        threads = [threading.Thread(target=work, args=(client,)) for client in range(clients)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        return sum(counts) / self.seconds, sum(counts)

    def fresh(self, rows=0):
        self.connection.execute("drop table if exists t")
        self.connection.execute("create table t (a int, b int)")
        self.connection.execute(f"insert into t select i, 0 from generate_series(0, {rows - 1}) i")

    def figures(self):
        for clients in (1, CLIENTS):
            self.fresh()
            yield f"INSERT of one row, {clients} clients", self.rate(clients, "insert into t values (%s, 1)")[0]
        self.fresh()
        start = time.perf_counter()
        with self.connection.cursor() as cursor:
            cursor.executemany("insert into t values (%s, 2)", [(row,) for row in range(BATCH)])
        yield f"rows of a batch of {BATCH}", BATCH / (time.perf_counter() - start)
        self.fresh()
        with self.connect() as connection:
            connection.autocommit = False
            start = time.perf_counter()
            for row in range(BLOCK):
                connection.execute("insert into t values (%s, 3)", (row,))
            connection.commit()
            yield f"INSERTs in a block of {BLOCK}", BLOCK / (time.perf_counter() - start)
        for clients, rows in ((1, 100_000), (CLIENTS, CLIENTS)):
            self.fresh(rows)
            rate, count = self.rate(clients, "update t set b = b + 1 where a = %s")
            (total,) = self.connection.execute("select sum(b) from t").fetchone()
            assert total == count, f"{total} of {count} updates are there"
            yield f"UPDATE of one of {rows} rows, {clients} clients", rate


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=4)
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        peers = {
            "Braid": Peer(stack.enter_context(braid_server(directory)), arguments.seconds),
            "PostgreSQL": Peer(stack.enter_context(PostgresCluster(settings={"fsync": "on"})), arguments.seconds),
        }
        for figures in zip(*(peer.figures() for peer in peers.values())):
            rates = "  ".join(f"{peer} {rate:9.0f}/s" for peer, (_, rate) in zip(peers, figures))
            print(f"{figures[0][0]:45} {rates}")


if __name__ == "__main__":
    main()
