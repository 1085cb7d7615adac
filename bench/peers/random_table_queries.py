#!/usr/bin/env python3
"""Random queries over tables with PostgreSQL's answers, for the tests of braid-plan.

    python random_table_queries.py --tables DIRECTORY/tables.tsv --seed N --count N FILE    # with PGHOST, PGPORT, PGUSER

The file has the form of `queries_on_postgres.py`, and is read by `crates/braid-plan/tests/it/random_queries.rs`, which runs each query through
binder, rewriting and operators:

    BRAID_RANDOM_QUERIES=FILE cargo test -p braid-plan --test it random_queries -- --nocapture

Queries have joins of all kinds, lateral ones, subqueries in all clauses, groups, grouping sets, windows, set operations, common table
expressions and recursions. Rows are determined: what LIMIT cuts is ordered by all columns, aggregates that depend on an order have one, and
windows whose rows are counted are ordered by the keys of all tables. One seed always makes the same queries. A query that PostgreSQL does not
answer within a second, or with more than ROWS_MAX rows, is left out.
"""
import argparse
import os

import psycopg
from queries_on_postgres import DATABASE, answer, create_tables
from random_choices import Choices

# The columns of tables with the letters of their types.
COLUMNS = {
    "r1": "id:i i:i l:l n:n m:n f:f t:t c:c b:b d:d s:s",
    "r2": "id:i i:i l:l n:n f:f t:t c:c b:b d:d",
    "r3": "id:i i:i n:n t:t b:b s:s",
    "e0": "id:i i:i n:n t:t",
}
TYPES = {
    "i": "integer", "l": "bigint", "n": "numeric", "f": "double precision", "t": "text", "c": "character(4)", "b": "boolean", "d": "date",
    "s": "timestamp",
}
LITERALS = {
    "i": ["0", "1", "2", "3", "5", "-1", "NULL"],
    "l": ["0", "1", "7", "NULL"],
    "n": ["1.50", "0", "2.5", "-3.25", "NULL", "10"],
    "f": ["0.5", "1.5", "-2", "NULL"],
    "t": ["'a'", "'b'", "'ab'", "''", "NULL", "'B'"],
    "c": ["'a'", "'ab'", "NULL"],
    "b": ["true", "false", "NULL"],
    "d": ["'2024-01-01'", "'2024-02-29'", "NULL"],
    "s": ["'2024-01-01 00:00'", "'2024-02-29 12:30'", "NULL"],
}
LETTERS = "iiiillnnnfttcbdds"
KEYS = "iiilntcbd"
TEXT_CHARACTERS_MAX = 5000
ROWS_MAX = 300


class Maker(Choices):
    """Makes queries. A scope is a list of relations: a name, its columns with their letters, and whether `id` tells its rows apart."""

    def __init__(self, seed):
        super().__init__(seed)
        self.ctes = []

    def columns_of(self, letter, scope):
        return [f"{name}.{column}" for name, own, _ in scope for column, kind in own if kind == letter]

    def literal(self, letter):
        return f"{self.choice(LITERALS[letter])}::{TYPES[letter]}"

    # Relations.

    def relation(self, depth, outer):
        """An item of FROM: its text, and its entry in the scope. It is lateral if it reads outer columns."""
        kind, alias = self.random.random(), self.name("q")
        if kind < 0.6 or depth <= 0:
            table = self.choice(["r1", "r1", "r2", "r2", "r3", "r3", "e0"])
            columns = [tuple(column.split(":")) for column in COLUMNS[table].split()]
            return f"{table} {alias}", (alias, columns, True)
        if kind < 0.66:
            column = self.name("c")
            high = self.expression("i", outer, 0) if outer else str(self.random.randint(0, 4))
            return f"generate_series(1, least({high}, 4)) AS {alias}({column})", (alias, [(column, "i")], False)
        if kind < 0.72:
            letters = [self.choice(LETTERS) for _ in range(self.random.randint(1, 3))]
            rows = [", ".join(self.expression(t, outer, 1) if self.chance(0.3) else self.literal(t) for t in letters) for _ in range(3)]
            columns = [self.name("c") for _ in letters]
            values = ", ".join(f"({row})" for row in rows)
            lateral = "LATERAL " if outer else ""
            return f"{lateral}(VALUES {values}) AS {alias}({', '.join(columns)})", (alias, list(zip(columns, letters)), False)
        if kind < 0.74 and outer:
            # Rows of an array, or a function whose argument is a subquery.
            column = self.name("c")
            if self.chance(0.5):
                values = ", ".join(self.expression("i", outer, 1) for _ in range(3))
                return f"unnest(ARRAY[{values}]) AS {alias}({column})", (alias, [(column, "i")], False)
            bound = self.scalar("l", outer, 0)
            return f"generate_series(1, least({bound}, 3)) AS {alias}({column})", (alias, [(column, "l")], False)
        if kind < 0.8 and self.ctes:
            name, columns = self.choice(self.ctes)
            return f"{name} {alias}", (alias, columns, False)
        query, letters = self.select(depth - 1, outer)
        columns = [self.name("c") for _ in letters]
        lateral = "LATERAL " if outer else ""
        return f"{lateral}({query}) AS {alias}({', '.join(columns)})", (alias, list(zip(columns, letters)), False)

    def from_clause(self, depth, outer):
        text, entry = self.relation(depth, [])
        scope = [entry]
        for _ in range(self.choice([0, 0, 1, 1, 2] if depth else [0, 0, 1])):
            join = self.choice(["CROSS JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
            is_lateral = join in ("CROSS JOIN", "JOIN", "LEFT JOIN") and self.chance(0.25)
            other, entry = self.relation(depth - 1, scope + outer if is_lateral else [])
            if join == "CROSS JOIN" and not is_lateral:
                join = "JOIN"
            if join == "CROSS JOIN":
                text += f" CROSS JOIN {other}"
            else:
                text += f" {join} {other} ON {self.join_condition(join, scope, entry, outer, depth)}"
            scope.append(entry)
        return text, scope

    def join_condition(self, join, scope, entry, outer, depth):
        letter = self.choice("iilnt")
        left, right = self.columns_of(letter, scope), self.columns_of(letter, [entry])
        if not left or not right:
            return "true" if join != "FULL JOIN" else "1 = 1"
        condition = f"{self.choice(left)} = {self.choice(right)}"
        if join == "FULL JOIN" and self.chance(0.7):
            return condition
        if self.chance(0.3):
            condition += f" AND {self.condition(scope + [entry] + outer, 1, depth - 1)}"
        return condition

    # Expressions.

    def expression(self, letter, scope, depth, queries=0):
        """`queries`: how deep subqueries may be nested in it."""
        columns = self.columns_of(letter, scope)
        if depth <= 0 or self.chance(0.35):
            return self.choice(columns) if columns and self.chance(0.85) else self.literal(letter)
        if queries > 0 and self.chance(0.2):
            return self.scalar(letter, scope, queries - 1)
        if queries > 0 and letter in "it" and self.chance(0.08):
            return self.array(letter, scope, queries - 1)

        def of(kind):
            return self.expression(kind, scope, depth - 1, queries)

        forms = [
            lambda: f"CASE WHEN {self.condition(scope, depth - 1, queries)} THEN {of(letter)} ELSE {of(letter)} END",
            lambda: f"coalesce({of(letter)}, {of(letter)})",
            lambda: f"nullif({of(letter)}, {of(letter)})",
        ]
        if letter not in "bc":
            forms.append(lambda: f"{self.choice(['greatest', 'least'])}({of(letter)}, {of(letter)})")
        forms += {
            "i": [
                lambda: f"({of('i')} {self.choice('+-')} {of('i')})",
                lambda: f"({of('i')} % 3)",
                lambda: f"length({of('t')})",
                lambda: f"abs({of('i')})",
                lambda: self.guarded(scope, depth, queries),
                lambda: f"extract(month FROM {of('d')})::int",
            ],
            "l": [lambda: f"({of('l')} + {of('i')})", lambda: f"{of('i')}::bigint", lambda: f"({of('l')} / 2)"],
            "n": [
                lambda: f"({of('n')} {self.choice('+-')} {of('n')})",
                lambda: f"({of('n')} * {of('i')})",
                lambda: f"round({of('n')}, 1)",
                lambda: f"({of('n')} / 4)",
                lambda: f"{of('l')}::numeric",
            ],
            "f": [lambda: f"({of('f')} + {of('f')})", lambda: f"({of('f')} * 2)", lambda: f"{of('i')}::float8"],
            "t": [
                lambda: f"({of('t')} || {of('t')})",
                lambda: f"{self.choice(['upper', 'lower', 'trim'])}({of('t')})",
                lambda: f"substr({of('t')}, 1, 2)",
                lambda: f"{of(self.choice('ilnbd'))}::text",
            ],
            "c": [lambda: f"{of('t')}::char(4)"],
            "b": [lambda: f"({self.condition(scope, depth - 1, queries)})"],
            "d": [lambda: f"({of('d')} + {of('i')})", lambda: f"{of('s')}::date"],
            "s": [lambda: f"{of('d')}::timestamp", lambda: f"date_trunc('month', {of('s')})"],
        }[letter]
        return self.choice(forms)()

    def guarded(self, scope, depth, queries):
        """A division that would fail without its guard."""
        divisor, number = self.expression("i", scope, 0), self.expression("i", scope, depth - 1)
        if queries > 0 and self.chance(0.5):
            text, inner = self.from_clause(0, [])
            number = self.expression("i", inner, 0)
            condition = self.condition(inner + scope, 1, 0)
            quotient = f"(SELECT max({number} / {divisor}) FROM {text} WHERE {condition})"
        else:
            quotient = f"{number} / {divisor}"
        return f"CASE WHEN {divisor} <> 0 THEN {quotient} ELSE {self.expression('i', scope, 0)} END"

    def scalar(self, letter, scope, depth):
        """A scalar subquery of one row."""
        text, inner = self.from_clause(depth, scope)
        where = f" WHERE {self.condition(inner + scope, 2, depth)}" if self.chance(0.85) else ""
        if self.chance(0.25):
            value = self.expression(letter, inner + scope, 1)
            skipped = self.choice(["", "", f" OFFSET {self.random.randint(0, 2)}", f" OFFSET abs({self.expression('i', scope, 0)})"])
            return f"(SELECT {value} AS o FROM {text}{where} ORDER BY 1 LIMIT 1{skipped})"
        return f"(SELECT {self.aggregate(letter, inner, scope, depth)} FROM {text}{where})"

    def array(self, letter, scope, depth):
        """An array of a subquery's values, in their order."""
        query, _ = self.select(depth, scope, ["i" if letter == "i" else self.choice("ilntd")])
        array = f"ARRAY(SELECT o0 FROM ({query}) a ORDER BY o0)"
        return f"array_length({array}, 1)" if letter == "i" else f"array_to_string({array}, ',')"

    def aggregate(self, letter, inner, outer, depth):
        """An aggregate of a type."""
        def of(kind):
            # A column of the query's own, so that the aggregate belongs to it.
            columns = self.columns_of(kind, inner)
            if not columns:
                return None
            column = self.choice(columns)
            if self.chance(0.3) and kind in "iln":
                return f"({column} + {self.expression(kind, inner + outer, 1)})"
            return column

        filtered = f" FILTER (WHERE {self.condition(inner + outer, 1, depth - 1)})" if self.chance(0.15) else ""
        own = of(letter)
        if own and letter not in "bc" and self.chance(0.5):
            return f"{self.choice(['min', 'max'])}({own}){filtered}"
        forms = {
            "i": [("i", "count({})::int"), ("t", "count(DISTINCT {})::int"), ("i", "sum({})::int"), (None, "count(*)::int")],
            "l": [("i", "sum({})"), ("i", "count({})"), (None, "count(*)"), ("n", "count(DISTINCT {})")],
            "n": [("n", "sum({})"), ("i", "avg({})"), ("l", "sum({})"), ("n", "sum(DISTINCT {})")],
            "f": [("f", "sum({})"), ("f", "percentile_cont(0.5) WITHIN GROUP (ORDER BY {})")],
            "t": [("t", "string_agg({0}, ',' ORDER BY {0})"), ("i", "array_agg({0} ORDER BY {0})::text"), ("t", "min({})")],
            "b": [("b", "bool_or({})"), ("b", "bool_and({})")],
            "c": [("c", "min({})::char(4)")],
            "d": [("d", "max({})"), ("d", "percentile_disc(0.3) WITHIN GROUP (ORDER BY {})")],
            "s": [("s", "min({})")],
        }[letter]
        kind, form = self.choice(forms)
        if kind is None:
            return form.replace("(*)", f"(*){filtered}") if "::" not in form else form
        argument = of(kind)
        if argument is None:
            return f"max({self.literal(letter)})" if letter not in "bc" else f"{'bool_or' if letter == 'b' else 'min'}({self.literal(letter)})"
        call = form.format(argument)
        if filtered:
            call = call.replace(")::", f"){filtered}::", 1) if ")::" in call else call + filtered
        return call

    def condition(self, scope, depth, queries=0):
        letter, kind = self.choice(LETTERS), self.random.random()

        def of(depth):
            return self.expression(letter, scope, depth, 0)

        if kind < 0.4 or (depth <= 0 and queries <= 0):
            return f"{of(depth - 1)} {self.choice(['=', '=', '<>', '<', '<=', '>', '>='])} {of(0)}"
        if kind < 0.5:
            left, right = self.condition(scope, depth - 1, queries), self.condition(scope, depth - 1, queries)
            return f"({left} {self.choice(['AND', 'OR', 'OR'])} {right})"
        if kind < 0.54:
            return f"NOT ({self.condition(scope, depth - 1, queries)})"
        if kind < 0.6:
            return f"{of(0)} IS {self.choice(['', 'NOT '])}NULL"
        if kind < 0.65:
            return f"{of(0)} IN ({', '.join(self.literal(letter) for _ in range(self.random.randint(1, 3)))})"
        if kind < 0.69:
            return f"{of(0)} IS {self.choice(['', 'NOT '])}DISTINCT FROM {of(0)}"
        if kind < 0.73 and letter != "b":
            return f"{of(0)} BETWEEN {self.choice(['', 'SYMMETRIC '])}{of(0)} AND {of(0)}"
        if kind < 0.76:
            return f"{self.expression('t', scope, 0)} LIKE {self.choice(['%s', '%%', 'a%%', '%%b', '_'])!r}".replace("%%", "%").replace("%s", "a")
        if queries <= 0:
            return f"{of(0)} = {of(0)}"
        if kind < 0.84:
            query, _ = self.select(queries - 1, scope, [letter])
            return f"{of(0)} {self.choice(['', 'NOT '])}IN ({query})"
        if kind < 0.92:
            query, _ = self.select(queries - 1, scope)
            return f"{self.choice(['', 'NOT '])}EXISTS ({query})"
        if kind < 0.95:
            query, _ = self.select(queries - 1, scope, [letter])
            return f"{of(0)} {self.choice(['=', '<', '>', '<>'])} {self.choice(['ANY', 'ALL'])} ({query})"
        if kind < 0.97:
            query, _ = self.select(queries - 1, scope, [letter, "i"])
            return f"({of(0)}, {self.expression('i', scope, 0)}) {self.choice(['', 'NOT '])}IN ({query})"
        return f"{of(0)} {self.choice(['=', '<', '>'])} {self.scalar(letter, scope, queries - 1)}"

    # Queries.

    def window(self, letter, scope):
        """A window function, whose value does not depend on the order of equal rows."""
        partition = f"PARTITION BY {self.expression(self.choice(KEYS), scope, 1)} " if self.chance(0.6) else ""
        key = self.expression(self.choice("ilndt"), scope, 1)
        direction = self.choice(["", " DESC", " NULLS FIRST"])
        identities = [f"{name}.id" for name, _, is_told in scope if is_told]
        is_total = len(identities) == len(scope)
        order = f"ORDER BY {key}{direction}"
        if is_total and self.chance(0.6):
            order += f", {', '.join(identities)}"
            frame = self.choice(["", " ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING", " ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW", " ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING"])
        else:
            is_total = False
            frame = self.choice(["", "", " GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW", " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"])
        if is_total and self.chance(0.1):
            frame = f" ROWS BETWEEN (SELECT count(*) FROM r3) PRECEDING AND {self.choice(['CURRENT ROW', '(SELECT 1) FOLLOWING'])}"
        filtered = f" FILTER (WHERE {self.condition(scope, 1)})" if self.chance(0.1) else ""
        over = f"OVER ({partition}{order}{frame})"
        if letter == "l":
            argument = self.expression("i", scope, 1)
            forms = [f"count(*){filtered} {over}", f"sum({argument}){filtered} {over}", f"count({argument}){filtered} {over}", f"rank() OVER ({partition}{order})", f"dense_rank() OVER ({partition}{order})"]
            if is_total:
                forms += [f"row_number() OVER ({partition}{order})"] * 2
            return self.choice(forms)
        if letter == "n" and self.chance(0.5):
            return f"{self.choice(['sum', 'avg'])}({self.expression('n', scope, 1)}) {over}"
        if letter in "bc":
            return None
        argument = self.expression(letter, scope, 1)
        if is_total:
            return self.choice([
                f"lag({argument}) OVER ({partition}{order})", f"lead({argument}, 2) OVER ({partition}{order})",
                f"first_value({argument}) {over}", f"last_value({argument}) {over}", f"nth_value({argument}, 2) {over}", f"max({argument}) {over}",
            ])
        return f"{self.choice(['min', 'max'])}({argument}) {over}"

    def grouped(self, letters, text, scope, outer, depth):
        keys = []
        for _ in range(self.choice([0, 1, 1, 2])):
            letter = self.choice(KEYS)
            key = self.expression(letter, scope + (outer if self.chance(0.3) else []), 1, depth if self.chance(0.3) else 0)
            if not key[0].isdigit() and not key.startswith(("NULL", "'", "-", "true", "false")):
                keys.append((letter, key))

        def output(kind):
            own = [key for letter, key in keys if letter == kind]
            if own and self.chance(0.7):
                return self.choice(own)
            return self.aggregate(kind, scope, outer, depth)

        outputs = ", ".join(f"{output(kind)} AS o{at}" for at, kind in enumerate(letters))
        query = f"SELECT {outputs} FROM {text}"
        if keys:
            names = ", ".join(key for _, key in keys)
            query += f" GROUP BY {self.choice(['ROLLUP ({})', 'CUBE ({})', 'GROUPING SETS (({0}), ())']).format(names)}" if self.is_plain(keys) and self.chance(0.2) else f" GROUP BY {names}"
        if self.chance(0.25):
            query += f" HAVING {self.aggregate('l', scope, outer, depth)} {self.choice(['>', '<', '<>'])} {self.choice(['1', '2', self.scalar('l', outer, depth - 1) if depth > 0 else '3'])}"
        return query

    def is_plain(self, keys):
        """Whether the parser reads the keys in ROLLUP: none begins with a parenthesis."""
        return all("(" not in key for _, key in keys)

    def select(self, depth, outer, wanted=None):
        """A query, and the letters of its columns."""
        letters = wanted or [self.choice(LETTERS) for _ in range(self.random.randint(1, 3))]
        kind = self.random.random()
        if depth > 0 and kind < 0.12:
            left, _ = self.select(depth - 1, outer, letters)
            right, _ = self.select(depth - 1, outer, letters)
            operator = self.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"])
            return f"({left}) {operator} ({right})", letters
        if depth > 0 and kind < 0.2:
            return self.with_query(depth, outer, letters), letters
        text, scope = self.from_clause(depth, outer)
        all_names = scope + outer
        if self.chance(0.65):
            text += f" WHERE {self.condition(all_names, 2, depth)}"
        if self.chance(0.3):
            query = self.grouped(letters, text, scope, outer, depth)
        else:
            windows = [self.window(letter, scope) if self.chance(0.12) else None for letter in letters]
            outputs = [window or self.expression(letter, all_names, 2, depth) for letter, window in zip(letters, windows)]
            if letters[0] == "i" and self.chance(0.05):
                outputs[0] = f"generate_series(1, least({self.expression('i', scope, 1)}, 3))"
            named = ", ".join(f"{output} AS o{at}" for at, output in enumerate(outputs))
            query = f"SELECT {'DISTINCT ' if self.chance(0.15) else ''}{named} FROM {text}"
        if kind > 0.92:
            # The first row of each value. All columns order it, so that the rows that could come first are equal.
            first = self.random.randrange(len(letters))
            others = "".join(f", o{at}{self.choice(['', ' DESC'])}" for at in range(len(letters)) if at != first)
            return f"SELECT DISTINCT ON (o{first}) * FROM ({query}) d ORDER BY o{first}{others}", letters
        if self.chance(0.06):
            order = f"1{self.choice(['', ' DESC'])}"
            return f"SELECT * FROM ({query} ORDER BY {order} FETCH FIRST {self.random.randint(1, 3)} ROWS WITH TIES) e", letters
        if self.chance(0.15):
            order = ", ".join(f"{at + 1}{self.choice(['', ' DESC', ' NULLS FIRST'])}" for at in range(len(letters)))
            count = self.choice([str(self.random.randint(0, 5))] * 3 + ["(SELECT count(*) FROM r3)"])
            if outer and self.chance(0.2):
                count = f"abs({self.expression('i', outer, 0)})"
            query += f" ORDER BY {order} LIMIT {count}"
            if self.chance(0.3):
                query += f" OFFSET {self.random.randint(0, 2)}"
        return query, letters

    def with_query(self, depth, outer, letters):
        """Common table expressions, perhaps a recursion."""
        name, before = self.name("w"), list(self.ctes)
        if self.chance(0.25):
            columns = [("k", "i"), ("x", letters[0] if letters[0] in "ilt" else "i")]
            start, _ = self.select(0, outer, [letter for _, letter in columns])
            step = {"i": "x + 1", "l": "x + k", "t": "substr(x || 'z', 1, 3)"}[columns[1][1]]
            if self.chance(0.3):
                step = f"CASE WHEN k > 0 THEN {step} ELSE x END"
            definition = f"{name}(k, x) AS (SELECT * FROM ({start}) s UNION {self.choice(['', 'ALL '])}SELECT k + 1, {step} FROM {name} WHERE k < 4)"
            head = "WITH RECURSIVE"
        else:
            query, own = self.select(depth - 1, outer)
            columns = [(self.name("c"), letter) for letter in own]
            names = ", ".join(column for column, _ in columns)
            definition = f"{name}({names}) AS {self.choice(['', '', 'MATERIALIZED ', 'NOT MATERIALIZED '])}({query})"
            head = "WITH"
        self.ctes.append((name, columns))
        body, _ = self.select(depth - 1, outer, letters)
        if f"{name} " not in body:
            letter = self.choice([letter for _, letter in columns])
            own = next(column for column, kind in columns if kind == letter)
            body = f"SELECT * FROM ({body}) b WHERE EXISTS (SELECT 1 FROM {name} WHERE {name}.{own} = {self.literal(letter)}) OR true"
        self.ctes = before
        return f"{head} {definition} {body}"

    def query(self):
        """A query. Its rows have an order, or none at all."""
        self.ctes = []
        query, letters = self.select(self.choice([0, 1, 1, 2, 2]), [])
        if self.chance(0.35):
            query = f"SELECT * FROM ({query}) z ORDER BY {', '.join(str(at + 1) for at in range(len(letters)))}"
            if self.chance(0.4):
                query += f" LIMIT {self.random.randint(0, 5)} OFFSET {self.random.randint(0, 2)}"
        return query


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", required=True, help="the file of the tables")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000, help="number of queries")
    parser.add_argument("file", help="what is written")
    options = parser.parse_args()
    with psycopg.connect(dbname="postgres", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
        connection.execute(f"CREATE DATABASE {DATABASE} TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C' ENCODING 'UTF8'")
    maker, written, left_out = Maker(options.seed), [], 0
    with psycopg.connect(dbname=DATABASE, autocommit=True) as connection:
        connection.execute("SET timezone = 'UTC'")
        connection.execute("SET statement_timeout = '1s'")
        connection.execute("SET jit = off")
        create_tables(connection, os.path.join(options.tables))
        for _ in range(options.count):
            query = maker.query()
            lines = answer(connection, query) if len(query) <= TEXT_CHARACTERS_MAX else []
            if not lines or lines[0].startswith("!\t57014") or len(lines) > ROWS_MAX:
                left_out += 1
                continue
            written.append("\n".join([query, *lines, ""]))
    with open(options.file, "w") as file:
        file.write("\n".join([f"# Seed {options.seed}.", "", *written]))
    errors = {}
    for entry in written:
        line = entry.split("\n")[1]
        if line.startswith("!"):
            errors[line.split("\t")[1]] = errors.get(line.split("\t")[1], 0) + 1
    print(f"{len(written)} queries, {left_out} left out; errors by SQLSTATE: {errors}")


if __name__ == "__main__":
    main()
