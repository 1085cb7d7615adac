"""Answers the texts of many clients on DuckDB, each client in a thread with a cursor of its own: PARQUET-DIRECTORY.

Every Parquet file becomes a table in memory. Each line of standard input is a JSON object:
- {"execute": [statement]} runs statements;
- {"answers": [query]} returns the rows of queries as lists of PostgreSQL's text, null for null;
- {"clients": [[query]], "seconds": s} runs a closed loop: a client starts its texts again after the last one. The reply has for
  each client its latencies in microseconds and its errors, and for the process the elapsed seconds, the seconds of processor time,
  and those of them that the loop itself took outside of DuckDB's calls.
Each line is answered by a line of JSON. The first line, before any request, is DuckDB's version. Run by `braid bench tpch-mix`.
"""
import decimal, glob, itertools, json, os, sys, threading, time
import duckdb

connection = duckdb.connect()
connection.execute("set enable_progress_bar = false")
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.parquet"))):
    connection.execute(f"create table {os.path.splitext(os.path.basename(path))[0]} as select * from '{path}'")


def text(value):
    if value is None or isinstance(value, str):
        return value
    return format(value, "f") if isinstance(value, decimal.Decimal) else str(value)


def answer(query):
    return [[text(value) for value in row] for row in connection.execute(query).fetchall()]


def client(texts, ready, seconds, figures):
    """One client. The clock of its thread stands still while DuckDB computes, except for what DuckDB does in this thread."""
    cursor, inside = connection.cursor(), 0.0
    ready.wait()
    begin, deadline = time.thread_time(), time.monotonic() + seconds
    for query in itertools.cycle(texts):
        start, called = time.monotonic(), time.thread_time()
        if start >= deadline:
            break
        try:
            cursor.execute(query).fetchall()
            figures["latency_us"].append(int((time.monotonic() - start) * 1e6))
        except duckdb.Error as error:  # counted and shown, never hidden
            figures["errors"].append(str(error)[:200])
            time.sleep(0.01)
        inside += time.thread_time() - called
    figures["loop_s"] = time.thread_time() - begin - inside


def closed_loop(clients, seconds):
    figures = [{"latency_us": [], "errors": [], "loop_s": 0.0} for _ in clients]
    ready = threading.Barrier(len(clients) + 1)
    arguments = [(texts, ready, seconds, of_client) for texts, of_client in zip(clients, figures)]
    threads = [threading.Thread(target=client, args=of_client, daemon=True) for of_client in arguments]
    for thread in threads:
        thread.start()
    ready.wait()
    start, processor = time.monotonic(), time.process_time()
    for thread in threads:
        thread.join()
    loop_s = sum(of_client.pop("loop_s") for of_client in figures)
    elapsed_s, processor_s = time.monotonic() - start, time.process_time() - processor
    return {"elapsed_s": elapsed_s, "processor_s": processor_s, "loop_s": loop_s, "clients": figures}


def reply(request):
    if "clients" in request:
        return closed_loop(request["clients"], request["seconds"])
    for statement in request.get("execute", []):
        connection.execute(statement)
    return [answer(query) for query in request.get("answers", [])]


print(json.dumps({"version": duckdb.__version__}), flush=True)
for line in sys.stdin:
    print(json.dumps(reply(json.loads(line))), flush=True)
