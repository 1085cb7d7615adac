#!/usr/bin/env python3
"""Runs PostgreSQL's own regression SQL on PostgreSQL and on Braid, and counts what is answered alike.

    BRAID=target/release/braid python regression_sql.py DIRECTORY [--files select,join] [--report FILE]

DIRECTORY is src/test/regress of PostgreSQL's source, of the version that is installed. Each statement is

    alike      the same rows as text, in any order, or the same SQLSTATE;
    refused    Braid answers 0A000 or a syntax error where PostgreSQL answers otherwise;
    otherwise  anything else;
    follows    names what Braid has refused to define earlier in the file, or stands in a transaction block that Braid refused to go on with;
    left out   functions, triggers and rules, and what names them.

What Braid refuses, PostgreSQL undoes, so that both go on from the same state: outside of a transaction block the statement is rolled
back, and within one the block fails on both. Queries are counted apart. Sessions have ISO dates and the zone of PostgreSQL's tests.
EXPLAIN is left out. Each file has a session of its own. The report lists every statement that is not alike, with both answers.
"""
import argparse, collections, contextlib, os, re, subprocess, tempfile, time
import psycopg
from postgres_cluster import PostgresCluster, free_port

WRITES = """insert update delete insert_conflict merge returning create_table alter_table constraints foreign_key create_view matview sequence
identity transactions truncate temp portals prepare copy""".split()

TOPICS = """boolean char name varchar text int2 int4 int8 oid float4 float8 bit numeric uuid strings numerology date time timetz
timestamp timestamptz interval horology regex comments expressions unicode select select_distinct select_distinct_on select_implicit
select_having case join subselect union aggregates groupingsets window with limit arrays json jsonb jsonpath jsonb_jsonpath rangefuncs
tablesample random misc_functions rowtypes errors""".split()

SETTINGS = ["timezone = 'America/Los_Angeles'", "datestyle = 'ISO, MDY'", "intervalstyle = 'postgres'", "statement_timeout = '5s'"]

TOKEN = re.compile(
    r"(?P<comment>--[^\n]*)|(?P<block>/\*)|(?P<escape>\b[eE]'(?:[^'\\]|\\.|'')*')|(?P<string>'(?:[^']|'')*')"
    r'|(?P<name>"(?:[^"]|"")*")|(?P<dollar>\$(?:[A-Za-z_]\w*)?\$)|(?P<end>;)|(?P<psql>\\[^\n]*)|(?P<space>\s+)|(?P<word>\w+)|(?P<other>.)',
    re.S)


def end_of_block_comment(text, at):
    depth = 1
    while depth and at < len(text):
        depth += {"/*": 1, "*/": -1}.get(text[at:at + 2], 0)
        at += 2 if text[at:at + 2] in ("/*", "*/") else 1
    return at


def statements(text):
    """The statements, each with the rows that follow a COPY FROM stdin."""
    at, begin, depth = 0, 0, 0
    while at < len(text):
        token = TOKEN.match(text, at)
        kind, at = token.lastgroup, token.end()
        if kind == "block":
            at = end_of_block_comment(text, at)
        elif kind == "dollar":
            end = text.find(token.group(), at)
            at = len(text) if end < 0 else end + len(token.group())
        elif kind == "other":
            depth += {"(": 1, ")": -1}.get(token.group(), 0)
        elif kind == "end" and depth <= 0 or kind == "psql":
            sql = text[begin:token.start()].strip()
            begin, depth, rows = at, 0, None
            if kind == "psql" and not re.match(r"\\(g|gset|gexec|gx|;)\b", token.group()):
                continue
            if re.match(r"(?is)(--[^\n]*\n|\s)*copy\b.*\bfrom\s+stdin", sql):
                end = text.find("\n\\.", at)
                # Without rows, where the COPY is to fail, the next statement follows at once.
                if end >= 0 and not re.search(r";[ \t]*$", text[at:end], re.MULTILINE):
                    rows, at = text[at:end].lstrip("\n") + "\n", text.find("\n", end + 1) + 1 or len(text)
                    begin = at
            if re.sub(r"(?s)/\*.*?\*/|--[^\n]*", "", sql).strip():
                yield sql, rows


class Server:
    """A connection, made again when it is lost."""

    def __init__(self, dsn):
        self.dsn, self.lost = dsn, 0
        self.connect()

    def connect(self):
        self.connection = psycopg.connect(self.dsn, autocommit=True)
        for setting in SETTINGS:
            self.connection.execute("SET " + setting)

    def answer(self, sql, rows=None):
        """("rows", sorted rows), ("done", command) or ("error", SQLSTATE, message)."""
        pq = self.connection.pgconn
        result = pq.exec_(sql.encode())
        if result.status == psycopg.pq.ExecStatus.COPY_IN:
            pq.put_copy_data((rows or "").encode())
            pq.put_copy_end()
            result = pq.get_result()
            while pq.get_result():
                pass
        elif result.status == psycopg.pq.ExecStatus.COPY_OUT:
            copied = []
            while (line := pq.get_copy_data(0))[0] > 0:
                copied.append((line[1].tobytes(),))
            while pq.get_result():
                pass
            return "rows", sorted(copied)
        if result.status == psycopg.pq.ExecStatus.TUPLES_OK:
            cell = lambda row, column: result.get_value(row, column)
            found = [tuple(cell(row, column) for column in range(result.nfields)) for row in range(result.ntuples)]
            return "rows", sorted(found, key=repr)
        if result.status in (psycopg.pq.ExecStatus.COMMAND_OK, psycopg.pq.ExecStatus.EMPTY_QUERY):
            return ("done",)
        state = (result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) or b"").decode()
        message = (result.error_field(psycopg.pq.DiagnosticField.MESSAGE_PRIMARY) or pq.error_message).decode()
        if pq.status != psycopg.pq.ConnStatus.OK:
            self.lost += 1
            self.connect()
        return "error", state, message


@contextlib.contextmanager
def braid_server(directory):
    port = free_port()
    with open(os.path.join(directory, "log"), "ab") as log:
        command = [os.environ["BRAID"], "serve", "--data", os.path.join(directory, "data"), "--listen", f"127.0.0.1:{port}"]
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        dsn = f"host=127.0.0.1 port={port} user=braid dbname=braid"
        for _ in range(300):
            with contextlib.suppress(psycopg.OperationalError), psycopg.connect(dsn):
                break
            time.sleep(0.1)
        yield dsn
    finally:
        server.terminate()
        server.wait()


def kept(sql):
    """The statement with ordinary tables instead of unlogged ones."""
    return re.sub(r"(?i)\b(create|select\b.*?\binto)\s+unlogged\s+table\b", r"\1 table", sql)


SPACE = r"(?is)(?:--[^\n]*\n|\s|/\*.*?\*/)*"
EXPLAIN = re.compile(SPACE + r"explain\b")
QUERY = re.compile(SPACE + r"\(*(?:select|values|with|table)\b")
# What a transaction block itself cannot undo, or what PostgreSQL does not run in one.
NOT_UNDONE = re.compile(SPACE + r"(?:begin|start|commit|end|rollback|abort|savepoint|release|prepare\s+transaction|vacuum|cluster|reindex)\b")
DEFINED = re.compile(SPACE + r"""(?:create|alter)\s+(?:or\s+replace\s+)?(?:(?:global|local|temp|temporary|unlogged|recursive|materialized|unique|trusted|
    procedural|constraint)\s+)*(table|view|index|sequence|domain|type|schema|function|procedure|aggregate|trigger|rule|role|user|group|operator|
    cast|collation|publication|server|statistics)\s+(?:concurrently\s+)?(?:if\s+(?:not\s+)?exists\s+)?(?:only\s+)?([\w."]+)""".replace("\n    ", ""))
INTO = re.compile(SPACE + r"select\b.*?\binto\s+(?:(?:temp|temporary|unlogged|table)\s+)*([\w.\"]+)")
HELD = re.compile(SPACE + r"(?:declare|prepare)\s+([\w\"]+)")
CODE = re.compile(SPACE + r"(?:(?:create|alter|drop|comment\s+on)\s+(?:or\s+replace\s+)?(?:constraint\s+)?(?:function|procedure|routine|aggregate|trigger|rule|operator|cast|language)\b|do\b|call\b"
                  r"|alter\s+table\b.*\b(?:enable|disable)\s+(?:always\s+|replica\s+)?(?:trigger|rule)\b)")


def last_name(name):
    return name.split(".")[-1].strip('"').lower()


def defined_name(sql):
    for pattern in (DEFINED, INTO, HELD):
        found = pattern.match(sql)
        if found:
            return last_name(found.groups()[-1])
    return None


class Undone:
    """The names of what Braid has refused to define, of one file."""

    def __init__(self):
        self.refused, self.code = set(), set()

    def mentioned(self, sql, names):
        return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sql, re.I) for name in names)

    def kind(self, sql):
        if CODE.match(sql) or self.mentioned(sql, self.code):
            return "left out"
        own = defined_name(sql)
        return "follows" if self.mentioned(sql, self.refused - {own}) else None


def is_refused(own, other):
    return own[0] == "error" and own[1] in ("0A000", "42601") and own[:2] != other[:2]


def is_alike(own, other):
    return own == other or own[0] == other[0] == "error" and own[1] == other[1]


def in_block(server):
    return server.connection.pgconn.transaction_status != psycopg.pq.TransactionStatus.IDLE


def answers_of(ours, theirs, sql, rows):
    """Both answers. PostgreSQL does nothing that Braid has refused to do."""
    own = ours.answer(sql, rows)
    block = in_block(theirs)
    could_be_refused = own[0] == "error" and own[1] in ("0A000", "42601") and not NOT_UNDONE.match(sql)
    if could_be_refused:
        theirs.answer("SAVEPOINT undone" if block else "BEGIN")
    other = theirs.answer(sql, rows)
    if could_be_refused:
        theirs.answer("ROLLBACK TO undone" if block else "ROLLBACK")
        if block:
            # The block has failed on Braid.
            theirs.answer("a syntax error")
    return own, other


def shown(answer):
    if answer[0] == "rows":
        text = [" | ".join("∅" if value is None else value.decode() for value in row) for row in answer[1][:6]]
        return f"{len(answer[1])} rows: " + " // ".join(text)
    return " ".join(answer)


def drop_relations(server, keep):
    found = server.answer("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")[1]
    for (name,) in found:
        if name not in keep:
            server.answer(f'DROP TABLE IF EXISTS "{name.decode()}" CASCADE')


def tables(server):
    return {name for (name,) in server.answer("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")[1]}


def set_up(directory, both):
    """The tables that most files read."""
    with open(os.path.join(directory, "sql", "test_setup.sql")) as file:
        text = file.read()
    for sql, _ in statements(text):
        loaded = re.match(r"(?is).*copy\s+(\w+)\s+from\s+:'filename'", sql)
        rows = None
        if loaded:
            names = {"tenk1": "tenk", "person": "person", "emp": "emp", "student": "student", "stud_emp": "stud_emp", "road": "streets", "onek": "onek"}
            path = os.path.join(directory, "data", names.get(loaded[1].lower(), loaded[1].lower()) + ".data")
            if not os.path.exists(path):
                continue
            with open(path) as file:
                sql, rows = f"COPY {loaded[1]} FROM stdin", file.read()
        if not re.match(r"(?is)(--[^\n]*\n|\s)*(create\s+table|insert|copy)\b", sql):
            continue
        for server in both:
            answer = server.answer(sql, rows)
            if answer[0] == "error":
                print(f"set-up: {answer[1]} {answer[2]}: {sql[:70]!r}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("directory")
    arguments.add_argument("--files", default=",".join(TOPICS), help="comma-separated, or `writes` for all of writes and definitions; default: types, queries and functions")
    arguments.add_argument("--report", help="a file for all statements that are not alike")
    arguments = arguments.parse_args()
    totals, reasons, queries = collections.Counter(), collections.Counter(), collections.Counter()
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        report = stack.enter_context(open(arguments.report or os.devnull, "w"))
        theirs = Server(stack.enter_context(PostgresCluster()))
        ours = Server(stack.enter_context(braid_server(directory)))
        set_up(arguments.directory, (ours, theirs))
        keep = (tables(ours), tables(theirs))
        for name in WRITES if arguments.files == "writes" else arguments.files.split(","):
            with open(os.path.join(arguments.directory, "sql", name + ".sql"), encoding="utf-8", errors="replace") as file:
                text = file.read()
            counts, undone = collections.Counter(), Undone()
            for server in (ours, theirs):
                server.connection.close()
                server.connect()
            block_refused = False
            for sql, rows in statements(text):
                sql = kept(sql)
                if EXPLAIN.match(sql):
                    continue
                found = undone.kind(sql)
                if found == "left out":
                    if name_of := defined_name(sql):
                        undone.code.add(name_of)
                elif in_block(ours) != in_block(theirs):
                    for server in (ours, theirs):
                        server.answer("ROLLBACK")
                    block_refused = False
                if found == "left out" and not NOT_UNDONE.match(sql):
                    counts[found] += 1
                    continue
                block_refused = block_refused and in_block(ours)
                answers = answers_of(ours, theirs, sql, rows)
                if block_refused:
                    found = "follows"
                elif is_refused(*answers):
                    found = found or "refused"
                    block_refused = in_block(ours)
                elif is_alike(*answers):
                    found = found or ("alike (error)" if answers[0][0] == "error" else "alike")
                else:
                    found = found or "otherwise"
                name_of = defined_name(sql)
                if name_of and found in ("refused", "follows") and answers[0][0] == "error":
                    undone.refused.add(name_of)
                elif name_of:
                    undone.refused.discard(name_of)
                counts[found] += 1
                if QUERY.match(sql):
                    queries[found] += 1
                if found == "refused":
                    reasons[f"{answers[0][1]} {answers[0][2]}"[:90]] += 1
                if found in ("refused", "otherwise"):
                    report.write(f"## {name} {found}\n{sql}\n-- braid:      {shown(answers[0])}\n-- postgresql: {shown(answers[1])}\n\n")
            for server, names in zip((ours, theirs), keep):
                server.answer("ROLLBACK")
                drop_relations(server, names)
            totals += counts
            print(f"{name:20}" + "".join(f"{key} {counts[key]:5}  " for key in KINDS), flush=True)
        lost = ours.lost
    print(f"{'all':20}" + "".join(f"{key} {totals[key]:5}  " for key in KINDS))
    for title, counted in (("all", totals), ("queries", queries)):
        alike = counted["alike"] + counted["alike (error)"]
        every = alike + counted["refused"] + counted["otherwise"]
        whole = every + counted["follows"]
        print(f"{title}: {alike} of {every} alike, {100 * alike / max(every, 1):.1f} %; with what follows a refusal {100 * alike / max(whole, 1):.1f} %")
    print(f"connections lost: {lost}")
    for reason, count in reasons.most_common(60):
        print(f"{count:6} {reason}")


KINDS = ["alike", "alike (error)", "otherwise", "refused", "follows", "left out"]

if __name__ == "__main__":
    main()
