"""The closed loop: N clients, no think time, each sending its next query when the last one is answered.

After the deadline no query is begun, but those under way are waited for and counted, as in
crates/braid-bench/src/drivers/closed_loop.rs. Each client is seeded with its number, so every engine is asked the same queries.
Clients are threads: the engines' libraries and psycopg's socket reads release Python's lock.
"""
import random, threading, time
from dataclasses import dataclass, field
from tpch_mix import MIX


@dataclass
class Figures:
    clients: int
    elapsed_s: float = 0.0
    latency_s: list = field(default_factory=list)
    errors: list = field(default_factory=list)

    def throughput(self):
        return len(self.latency_s) / self.elapsed_s

    def latency_ms(self, quantile):
        ordered = sorted(self.latency_s)
        return ordered[min(len(ordered) - 1, int(len(ordered) * quantile))] * 1e3 if ordered else float("nan")


def closed_loop(connect, clients, seconds):
    """`connect()` makes a client: a function that takes SQL and returns its rows. All are made before any is asked."""
    figures, ready = Figures(clients), threading.Barrier(clients + 1)
    clients_made = [connect() for _ in range(clients)]

    def client(number):
        execute, rng = clients_made[number], random.Random(number)
        ready.wait()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            sql, start = rng.choice(MIX)(rng), time.monotonic()
            try:
                execute(sql)
            except Exception as error:  # counted and shown, never hidden
                figures.errors.append(str(error)[:200])
                time.sleep(0.01)
                continue
            figures.latency_s.append(time.monotonic() - start)

    threads = [threading.Thread(target=client, args=(n,), daemon=True) for n in range(clients)]
    for thread in threads:
        thread.start()
    ready.wait()
    start = time.monotonic()
    for thread in threads:
        thread.join()
    figures.elapsed_s = time.monotonic() - start
    return figures
