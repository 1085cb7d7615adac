#!/usr/bin/env python3
"""Runs PostgreSQL's own isolation tests on PostgreSQL and on Braid, and counts which interleavings end alike.

    BRAID=target/release/braid python isolation_specs.py DIRECTORY [--files deadlock-hard,nowait] [--report FILE]

DIRECTORY is src/test/isolation of PostgreSQL's source, of the version that is installed. Its specs say which steps each session has, and
in which orders (permutations) they run; a spec without permutations runs in all orders, or in 200 that are chosen at random, always the
same. A step that does not end is left waiting, and the next session goes on, as in PostgreSQL's isolationtester. Each permutation is

    alike        each step has the same rows, command tags and SQLSTATEs, and waits from and until the same steps;
    but waits    the same, but steps wait otherwise;
    in effect    both sides end transactions with 40001 or 40P01, but not in the same steps: Braid finds most conflicts at the commit, and
                 PostgreSQL does not say either which transaction of a circle it ends;
    more errors  Braid answers 40001 or 40P01, and PostgreSQL does not: a client has to try again;
    fewer        PostgreSQL answers 40001 or 40P01, and Braid does not: it may have let an anomaly through;
    other order  a step waits on Braid only, so that later steps of its session run later than on PostgreSQL, and something differs;
    refused      Braid answers 0A000 or a syntax error where PostgreSQL answers otherwise;
    otherwise    anything else differs;
    hung         a step has not ended on one side before the deadline, though nothing else was left to do;
    left out     a step needs functions, triggers, partitions, inheritance, statistics, prepared transactions or changes of pg_class.

What a set-up defines of these is left out of it, and so are EXPLAIN and, of the permutations, those whose steps name it. Braid is not sent
settings that it does not know, indexes of other methods than btree and columns of INCLUDE, which change no answer. A transaction that is
still open behind the last step is committed, so that Braid can say whether it could be. PostgreSQL runs first, and says itself which
sessions wait. On Braid a step waits if it has not ended after --wait seconds where PostgreSQL's waits, and after four times as long where
it does not. The report lists both sequences of events of all that is not alike.
"""
import argparse, collections, contextlib, functools, math, os, random, re, select, tempfile, time
import psycopg
from postgres_cluster import PostgresCluster
from regression_sql import EXPLAIN, SETTINGS, SPACE, Undone, braid_server, defined_name, statements

KINDS = ["alike", "but waits", "in effect", "more errors", "fewer", "other order", "refused", "otherwise", "hung", "left out"]
CONFLICTS = {"40001", "40P01"}
REFUSALS = {"0A000", "42601"}
# How many orders of a spec that names none.
MOST = 200

Step = collections.namedtuple("Step", "name session sql")
# Markers are pairs: the name of a step, or "*", and a number of notices, or 0.
Entry = collections.namedtuple("Entry", "step markers")

TOKEN = re.compile(r'\s+|\#[^\n]*|\{\s*(?P<block>[^}]*?)\s*\}|"(?P<quoted>(?:[^"]|"")*)"|(?P<word>\w[\w$]*)|(?P<mark>[(),*])')


class Part:
    """A session, or what stands before the first one."""

    def __init__(self, name):
        self.name, self.setup, self.teardown, self.steps = name, [], [], []


class Spec:
    """What one server is to run. `taken(statement)` is the statement as that server is sent it, or None."""

    def __init__(self, text, taken=lambda statement: statement):
        self.taken, self.undone, self.all, self.sessions, self.named = taken, Undone(), Part(""), [], []
        # The names of the steps that cannot run.
        self.gone = set()
        tokens = ((token.lastgroup, token[token.lastgroup]) for token in TOKEN.finditer(text) if token.lastgroup)
        part, steps, inside = self.all, {}, False
        for kind, text in tokens:
            if kind == "word" and text in ("setup", "teardown"):
                getattr(part, text).append(self.kept(next(tokens)[1])[0])
            elif kind == "word" and text == "session":
                part = Part(next(tokens)[1])
                self.sessions.append(part)
            elif kind == "word" and text == "step":
                name = next(tokens)[1]
                sql, whole = self.kept(next(tokens)[1])
                steps[name] = Step(name, len(self.sessions) - 1, sql)
                part.steps.append(steps[name])
                self.gone |= set() if whole else {name}
            elif kind == "word" and text == "permutation":
                self.named.append([])
            elif kind == "mark" and text in "()":
                inside = text == "("
            elif not inside:
                self.named[-1].append(Entry(steps[text], []))
            elif text == "notices":
                markers = self.named[-1][-1].markers
                markers[-1] = markers[-1][0], int(next(tokens)[1])
            elif text != ",":
                self.named[-1][-1].markers.append((text, 0))

    def kept(self, sql):
        """The statements that can run, and whether that is all of them but EXPLAIN."""
        kept, whole = [], True
        for statement, _ in statements(sql + "\n;"):
            if EXPLAIN.match(statement):
                continue
            if not (NOT_HERE.search(statement) or self.undone.kind(statement)):
                kept.append(self.taken(statement))
                continue
            whole = False
            if name := defined_name(statement):
                self.undone.code.add(name)
        return "".join(statement + ";\n" for statement in kept if statement), whole

    def orders(self):
        """The permutations, and how many there could be."""
        if self.named:
            return self.named, len(self.named)
        sizes = [len(part.steps) for part in self.sessions]
        every = math.factorial(sum(sizes)) // math.prod(map(math.factorial, sizes))
        turns = [session for session, size in enumerate(sizes) for _ in range(size)]
        draw, chosen = random.Random(1), set()
        while len(chosen) < min(every, MOST):
            draw.shuffle(turns)
            chosen.add(tuple(turns))
        orders = []
        for order in sorted(chosen):
            rest = [iter(part.steps) for part in self.sessions]
            orders.append([Entry(next(rest[session]), []) for session in order])
        return orders, every


NOT_HERE = re.compile(r"""(?i)\bpartition\s+(?:of|by)\b|\binherits\s*\(|\bpg_stat_|\bprepare\s+transaction\b|\b(?:commit|rollback)\s+prepared\b
    |\bextension\b|\b(?:update|into)\s+pg_class\b""".replace("\n    ", ""))
ONLY_FASTER = re.compile(SPACE + r"(?:create\s+(?:unique\s+)?index\b.*\busing\s+(?:hash|gin|gist)\b|alter\s+(?:table|index)\s+\w+\s+set\s*\()")
SETTING = re.compile(SPACE + r"set\s+(?:(?:local|session)\s+)?(\w+)\s*(?:=|to\b)")


def taken_by_braid(dsn):
    """What Braid is sent: all but the settings that it does not know, and what makes only PostgreSQL's queries faster."""
    @functools.cache
    def is_known(setting):
        with contextlib.closing(Session(dsn)) as session:
            return session.ask("SHOW " + setting, time.monotonic() + 10)[0][0] != "error"

    def taken(statement):
        setting = SETTING.match(statement)
        if ONLY_FASTER.match(statement) or setting and not is_known(setting[1]):
            return None
        return re.sub(r"(?i)\binclude\s*\([^)]*\)", "", statement)

    return taken


class Hung(Exception):
    pass


def answer_of(result, ordered):
    """("rows", tag, rows), ("done", tag) or ("error", SQLSTATE, message)."""
    status, tag = result.status, (result.command_status or b"").decode()
    if status == psycopg.pq.ExecStatus.TUPLES_OK:
        rows = [tuple(result.get_value(row, column) for column in range(result.nfields)) for row in range(result.ntuples)]
        return "rows", tag, rows if ordered else sorted(rows, key=repr)
    if status in (psycopg.pq.ExecStatus.COMMAND_OK, psycopg.pq.ExecStatus.EMPTY_QUERY):
        return "done", tag
    state = result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) or b"lost"
    message = result.error_field(psycopg.pq.DiagnosticField.MESSAGE_PRIMARY) or result.error_message
    return "error", state.decode(), message.decode().strip()


class Session:
    """A connection, the permutation's entry that it is busy with, and the notices that it has got."""

    def __init__(self, dsn):
        self.pq = psycopg.pq.PGconn.connect(dsn.encode())
        self.busy, self.notices, self.pq.notice_handler = None, 0, self.noticed
        self.ask(";".join("SET " + setting for setting in SETTINGS if "timeout" not in setting), time.monotonic() + 10)

    def noticed(self, _):
        self.notices += 1

    def send(self, sql):
        self.ended, self.answers, self.ordered = False, [], re.search(r"(?i)\border\s+by\b", sql)
        with self.noted():
            self.pq.send_query(sql.encode())

    @contextlib.contextmanager
    def noted(self):
        """Notes the loss of the connection as an answer."""
        try:
            yield
        except psycopg.OperationalError as error:
            self.ended = True
            self.answers.append(("error", "lost", str(error).strip()))

    def has_ended(self, seconds):
        """Whether all answers have come; waits for at most so long."""
        with self.noted():
            if not self.ended and self.pq.is_busy():
                select.select([self.pq.socket], [], [], seconds)
                self.pq.consume_input()
            while not self.ended and not self.pq.is_busy():
                if result := self.pq.get_result():
                    self.answers.append(answer_of(result, self.ordered))
                else:
                    self.ended = True
                    heard = iter(self.pq.notifies, None)
                    self.answers.extend(("heard", notice.relname.decode(), notice.extra.decode()) for notice in heard)
        return self.ended

    def ask(self, sql, deadline):
        self.send(sql)
        while not self.has_ended(0.1):
            if time.monotonic() > deadline:
                raise Hung
        return self.answers

    def close(self):
        """Ends what the session does, undoes its transaction, and closes it."""
        end = time.monotonic() + 5
        with contextlib.suppress(Hung, psycopg.Error):
            if self.pq.transaction_status == psycopg.pq.TransactionStatus.ACTIVE:
                self.pq.get_cancel().cancel()
                while not self.has_ended(0.1) and time.monotonic() < end:
                    pass
            if self.pq.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                self.ask("ROLLBACK", end)
            self.ask("DISCARD ALL", end)
        self.pq.finish()


class Run:
    """A permutation on one server. `guide` is the run on PostgreSQL; for that run it is None."""

    def __init__(self, dsn, spec, order, guide, options):
        self.spec, self.order, self.guide, self.options = spec, order, guide, options
        # By entry: its answers, the entry after whose beginning it has ended, and how long the one before it has been waited for.
        self.answers, self.ended_after, self.paused = {}, {}, {}
        self.events, self.waited, self.hung, self.moved, self.setup_error, self.place = [], set(), False, False, None, -1
        self.deadline = time.monotonic() + options.deadline
        self.control = Session(dsn)
        self.sessions = [Session(dsn) for _ in spec.sessions]
        try:
            self.run()
        except Hung:
            self.hung = True
            self.events.append("HUNG: " + ", ".join(order[session.busy].step.name for session in self.sessions if session.busy is not None))
        for session in self.sessions:
            session.close()
        self.clean_up()

    def run(self):
        for part, session in [(self.spec.all, self.control), *zip(self.spec.sessions, self.sessions)]:
            for at, sql in enumerate(part.setup):
                if self.told(f"setup {part.name}", at, session.ask(sql, self.deadline)):
                    self.setup_error = session.answers[-1]
                    return
        todo = list(range(len(self.order)))
        while todo:
            index = self.next_of(todo)
            self.moved = self.moved or index != todo[0]
            todo.remove(index)
            self.begin(index)
        while any(session.busy is not None for session in self.sessions):
            self.end_others()
        for part, session in zip(self.spec.sessions, self.sessions):
            for at, sql in enumerate(part.teardown):
                self.told(f"teardown {part.name}", at, session.ask(sql, self.deadline))
            if session.pq.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                self.told(f"COMMIT {part.name}", 0, session.ask("COMMIT", self.deadline))

    def told(self, what, at, answers):
        """Notes the answers of a set-up or teardown; whether it has failed."""
        self.answers[what, at] = answers
        failed = any(answer[0] == "error" for answer in answers)
        if failed or what.startswith("COMMIT") or any(answer[0] == "rows" for answer in answers):
            self.events.append(f"{what}: {shown(answers)}")
        return failed

    def session_of(self, index):
        return self.sessions[self.order[index].step.session]

    def next_of(self, todo):
        """The next entry whose session is free. On Braid, those whose session goes on waiting give way to those of others."""
        since = time.monotonic()
        while True:
            passed = time.monotonic() - since
            gives_way = self.guide and passed > self.guide.paused.get(todo[0], 0) + 4 * self.options.wait
            for index in todo if gives_way else todo[:1]:
                if self.session_of(index).busy is None:
                    self.paused[index] = passed
                    return index
            self.end_others()

    def begin(self, index):
        session, self.place = self.session_of(index), index
        markers = self.order[index].markers
        # By the name of a step: how many notices its session must have got.
        session.due = {name: self.session_named(name).notices + count for name, count in markers if count}
        session.busy = index
        session.send(self.order[index].step.sql)
        if ("*", 0) in markers or not self.end(index):
            self.waited.add(index)
            self.events.append(f"{self.order[index].step.name} waits")
        self.end_others(index)

    def session_named(self, name):
        """The session of the step of that name."""
        return next(self.session_of(index) for index, entry in enumerate(self.order) if entry.step.name == name)

    def end_others(self, but=None):
        """Looks which waiting steps have ended, until none has."""
        progress = True
        while progress:
            progress = False
            for index in sorted(session.busy for session in self.sessions if session.busy not in (None, but)):
                progress = self.end(index) or progress
        if time.monotonic() > self.deadline:
            raise Hung

    def end(self, index):
        """Whether the step has ended; returns without that when it is found to wait."""
        entry, session, since = self.order[index], self.session_of(index), time.monotonic()
        while not session.has_ended(0.01):
            if self.is_waiting(index, since):
                return False
            if time.monotonic() > self.deadline:
                raise Hung
        if self.is_held(entry, session):
            return False
        self.answers[index], session.busy, self.ended_after[index] = session.answers, None, self.place
        self.events.append(f"{entry.step.name}{' goes on' if index in self.waited else ''}: {shown(session.answers)}")
        return True

    def is_held(self, entry, session):
        """Whether a marker keeps the step from ending yet."""
        for name, count in entry.markers:
            other = self.session_named(name) if name != "*" else session
            if count and other.notices < session.due[name]:
                return True
            if not count and other is not session and other.busy is not None and self.order[other.busy].step.name == name:
                return True
        return False

    def is_waiting(self, index, since):
        if self.guide:
            waits = self.guide.ended_after.get(index, math.inf) > self.place
            return time.monotonic() - since > self.options.wait * (1 if waits else 4)
        pids = ",".join(str(session.pq.backend_pid) for session in self.sessions)
        sql = f"SELECT pg_isolation_test_session_is_blocked({self.session_of(index).pq.backend_pid}, '{{{pids}}}')"
        return self.control.ask(sql, self.deadline)[0][2][0][0] == b"t"

    def clean_up(self):
        """Runs the teardown, and drops all that it has left."""
        with contextlib.suppress(Hung):
            end = time.monotonic() + 10
            for statement, _ in statements("\n".join(self.spec.all.teardown)):
                self.control.ask(statement, end)
            for (name,) in self.control.ask("SELECT tablename FROM pg_tables WHERE schemaname = 'public'", end)[0][2]:
                self.control.ask(f'DROP TABLE IF EXISTS "{name.decode()}" CASCADE', end)
        self.control.close()

    def outcomes(self):
        """By entry and for what is around them, what must be the same on both sides: not messages, nor what is sent to one side only."""
        return {key: [answer[:2] if answer[0] == "error" else answer for answer in answers
                      if answer[0] != "done" or isinstance(key, int) and answer[1] not in ("", "SET")]
                for key, answers in self.answers.items()}

    def has_conflict(self):
        return any(answer[0] == "error" and answer[1] in CONFLICTS for answers in self.answers.values() for answer in answers)


def shown(answers):
    texts = []
    for kind, *rest in answers:
        if kind == "rows":
            rows = [" | ".join("∅" if value is None else value.decode() for value in row) for row in rest[1][:12]]
            texts.append(f"{rest[0]} [{' // '.join(rows)}]")
        else:
            texts.append(" ".join([*([kind] if kind != "done" else []), *rest]))
    return "; ".join(texts)


def refusal(own, other):
    """What Braid has refused and PostgreSQL has not, or None."""
    theirs = other.outcomes()
    return next((" ".join(answer[1:]) for key, answers in own.answers.items() for answer in answers
                 if answer[0] == "error" and answer[1] in REFUSALS and answer[:2] not in theirs.get(key, [])), None)


def kind_of(own, other):
    if other.setup_error:
        return "left out"
    if own.hung or other.hung:
        return "hung"
    if refusal(own, other):
        return "refused"
    if own.outcomes() == other.outcomes():
        return "alike" if own.ended_after == other.ended_after and not own.moved else "but waits"
    ours, theirs = own.has_conflict(), other.has_conflict()
    if ours or theirs:
        return "in effect" if ours and theirs else "more errors" if ours else "fewer"
    return "other order" if own.moved else "otherwise"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("directory")
    arguments.add_argument("--files", help="comma-separated names of specs; default: all")
    arguments.add_argument("--report", help="a file for all permutations that are not alike")
    arguments.add_argument("--wait", type=float, default=0.3, help="seconds after which a step on Braid waits")
    arguments.add_argument("--deadline", type=float, default=20, help="seconds for one permutation on one side")
    options = arguments.parse_args()
    directory = os.path.join(options.directory, "specs")
    names = options.files.split(",") if options.files else sorted(name[:-5] for name in os.listdir(directory) if name.endswith(".spec"))
    totals, reasons, whole_files = collections.Counter(), collections.Counter(), []
    with contextlib.ExitStack() as stack:
        report = stack.enter_context(open(options.report or os.devnull, "w"))
        theirs = stack.enter_context(PostgresCluster(settings={"deadlock_timeout": "200ms", "autovacuum": "off", "shared_buffers": "64MB"}))
        ours = stack.enter_context(braid_server(stack.enter_context(tempfile.TemporaryDirectory())))
        taken = taken_by_braid(ours)
        print(f"{'':33}" + "".join(f"{kind:>12}" for kind in KINDS))
        for name in names:
            with open(os.path.join(directory, name + ".spec")) as file:
                spec, own_spec = Spec(text := file.read()), Spec(text, taken)
            (orders, every), (own_orders, _) = spec.orders(), own_spec.orders()
            counts, whole = collections.Counter(), None
            for order, own_order in zip(orders, own_orders):
                steps = [entry.step.name for entry in order]
                if whole or spec.gone & set(steps):
                    counts[whole or "left out"] += 1
                    continue
                other = Run(theirs, spec, order, None, options)
                own = Run(ours, own_spec, own_order, other, options)
                kind = kind_of(own, other)
                counts[kind] += 1
                whole = kind if own.setup_error or other.setup_error else None
                if kind == "refused":
                    reasons[refusal(own, other)] += 1
                if kind != "alike":
                    sides = (f"-- {side}:\n   " + "\n   ".join(run.events) for side, run in (("braid", own), ("postgresql", other)))
                    report.write("\n".join([f"## {name}: {' '.join(steps)}: {kind}", *sides]) + "\n\n")
                    report.flush()
            totals += counts
            if counts["left out"] == sum(counts.values()):
                whole_files.append(name)
                continue
            chosen = f" ({len(orders)} of {every})" if len(orders) < every else ""
            print(f"{name + chosen:33}" + "".join(f"{counts[kind] or '':>12}" for kind in KINDS), flush=True)
    print(f"{'all':33}" + "".join(f"{totals[kind]:12}" for kind in KINDS))
    print("left out as a whole: " + (", ".join(whole_files) or "none"))
    for reason, count in reasons.most_common(40):
        print(f"{count:6} {reason}")


if __name__ == "__main__":
    main()
