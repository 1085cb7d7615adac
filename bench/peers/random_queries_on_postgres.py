#!/usr/bin/env python3
"""Random queries on PostgreSQL and on Braid: which of them Braid answers otherwise.

    random_queries_on_postgres.py --braid 'host=127.0.0.1 port=5432 user=braid dbname=braid' [--postgres DSN] [--seed N] [--count N]
        [--tables crates/braid-plan/tests/random/tables.tsv]

Without `--tables`, a query is made of VALUES, series, rows of arrays and of json, joins, subqueries, groups, set operations and common
table expressions, over functions of nine types. Values that most functions refuse, such as infinite times, are left out: whether PostgreSQL
computes what no row needs depends on its plan. With it, the queries are those of `random_table_queries.py`, over tables that both servers
get. Rows are compared as bags, or in order under ORDER BY; types and SQLSTATEs are compared, too. What Braid refuses (0A000) is counted. Where
several equal values may be shown, such as 1.0 and 1.00 by DISTINCT, the two may choose otherwise: these are counted apart. A query that
PostgreSQL does not answer in 5 s is left out. One seed always makes the same queries.
"""
import argparse
import contextlib
import re
import sys

import psycopg
import random_table_queries
from queries_on_postgres import create_tables
from random_choices import Choices

# Values by the letter of their type: integer, numeric, text, date, interval, array of integers, jsonb, timestamptz, time.
LITERALS = {
    "i": ["0", "1", "2", "3", "-1", "NULL", "10"],
    "n": ["1.0", "1.00", "2.5", "NULL", "-0.5", "100"],
    "t": ["'a'", "'b'", "'ab'", "NULL", "''", "'B'"],
    "d": ["date '2024-01-01'", "date '2024-02-29'", "NULL::date"],
    "v": ["interval '1 month'", "interval '30 days'", "NULL::interval", "interval '1 day'"],
    "a": ["ARRAY[1,2]", "'{}'::int[]", "NULL::int[]", "'{3,NULL,1}'::int[]"],
    "j": [
        """'{"a": 1, "b": [1, 2]}'::jsonb""", """'[1, "x", null]'::jsonb""", "'null'::jsonb", "NULL::jsonb", """'"a"'::jsonb""", "'2.5'::jsonb",
    ],
    "z": ["timestamptz '2024-03-10 12:00+00'", "timestamptz '2024-11-03 05:30+00'", "NULL::timestamptz"],
    "m": ["time '13:45'", "time '00:00'", "NULL::time"],
}
TYPES = {
    "i": "int", "n": "numeric", "t": "text", "d": "date", "v": "interval", "a": "int[]", "j": "jsonb", "z": "timestamptz", "m": "time",
}
LETTERS = "iiintttdvajzm"
# Letters whose literals say their types.
TYPED = "dvajzm"
TEXT_CHARACTERS_MAX = 6000
DIFFERENCES_SHOWN = 20
QUERY_CANCELED = "57014"


class Maker(Choices):
    """Makes queries. A scope is a list of relations: a name, and its columns with their letters."""

    def relation(self):
        alias, kind = self.name("r"), self.random.random()
        if kind < 0.25:
            column = self.name("c")
            low, high = self.random.randint(-1, 2), self.random.randint(0, 4)
            return f"generate_series({low}, {high}) AS {alias}({column})", alias, [(column, "i")]
        if kind < 0.35:
            column = self.name("c")
            rows, letter = self.choice([
                ("unnest('{1,2,NULL,2}'::int[])", "i"), ("unnest(ARRAY['a', 'ab', NULL])", "t"), ("regexp_split_to_table('a,b,,B', ',')", "t"),
                ("""jsonb_array_elements('[1, "x", {"a": 3}]')""", "j"), ("jsonb_path_query('[1, [2, 3]]', '$[*]')", "j"),
            ])
            return f"{rows} AS {alias}({column})", alias, [(column, letter)]
        if kind < 0.4:
            key, value = self.name("c"), self.name("c")
            rows, letters = self.choice([
                ("""jsonb_each('{"a": 1, "b": [2], "c": null}')""", "tj"), ("""jsonb_each_text('{"a": 1, "b": "x"}')""", "tt"),
                ("unnest('{1,2}'::int[], '{a,b,c}'::text[])", "it"),
            ])
            return f"{rows} AS {alias}({key}, {value})", alias, list(zip((key, value), letters))
        if kind < 0.75:
            letters = [self.choice(LETTERS) for _ in range(self.random.randint(1, 3))]
            columns = [self.name("c") for _ in letters]
            rows = [", ".join(self.choice(LITERALS[t]) for t in letters) for _ in range(self.random.randint(1, 4))]
            # The last row gives the columns their types.
            rows.append(", ".join(f"NULL::{TYPES[t]}" for t in letters))
            values = ", ".join(f"({row})" for row in rows)
            return f"(VALUES {values}) AS {alias}({', '.join(columns)})", alias, list(zip(columns, letters))
        query, letters = self.select(self.random.randint(0, 1), [])
        columns = [self.name("c") for _ in letters]
        return f"({query}) AS {alias}({', '.join(columns)})", alias, list(zip(columns, letters))

    def expression(self, letter, scope, depth):
        columns = [f"{name}.{column}" for name, own in scope for column, kind in own if kind == letter]
        if depth <= 0 or self.chance(0.4):
            if columns and self.chance(0.8):
                return self.choice(columns)
            literal = self.choice(LITERALS[letter])
            return literal if letter in TYPED else f"{literal}::{TYPES[letter]}"

        def of(kind):
            return self.expression(kind, scope, depth - 1)

        def counted():
            inner = scope + [("q", [("q", "i")])]
            left, right = self.expression("i", inner, 0), self.expression("i", inner, 0)
            aggregate = self.choice(["max", "min", "count", "sum"])
            comparison = self.choice(["=", "<", ">="])
            return f"(SELECT {aggregate}(q.q)::int FROM generate_series(1, 3) q WHERE {left} {comparison} {right})"

        forms = {
            "i": [
                lambda: f"({of('i')} + {of('i')})",
                lambda: f"({of('i')} * {of('i')})",
                lambda: f"coalesce({of('i')}, {of('i')})",
                lambda: f"length({of('t')})",
                lambda: f"CASE WHEN {self.condition(scope, depth - 1)} THEN {of('i')} ELSE {of('i')} END",
                lambda: f"nullif({of('i')}, {of('i')})",
                lambda: f"greatest({of('i')}, {of('i')})",
                counted,
                lambda: f"cardinality({of('a')})",
                lambda: f"array_position({of('a')}, {of('i')})",
                lambda: f"({of('a')})[{self.random.randint(0, 3)}]",
                lambda: f"extract({self.choice(['hour', 'minute'])} FROM {of('m')})::int",
                lambda: f"position({of('t')} IN {of('t')})",
                lambda: f"ascii({of('t')})",
                lambda: f"({of('d')} - {of('d')})",
                lambda: f"({of('i')} % 3)",
                lambda: f"({of('i')} {self.choice(['&', '|', '#'])} {of('i')})",
            ],
            "n": [
                lambda: f"({of('n')} + {of('n')})",
                lambda: f"({of('n')} * {of('i')})",
                lambda: f"round({of('n')}, 1)",
                lambda: f"{of('i')}::numeric",
                lambda: f"({of('n')} / 4)",
                lambda: f"trunc({of('n')}, 1)",
                lambda: f"{self.choice(['abs', 'ceil', 'floor', 'sign'])}({of('n')})",
                lambda: f"extract({self.choice(['epoch', 'day', 'month'])} FROM {of(self.choice('vz'))})",
                lambda: f"extract({self.choice(['dow', 'week', 'year'])} FROM {of(self.choice('dz'))})",
            ],
            "a": [
                lambda: f"array_append({of('a')}, {of('i')})",
                lambda: f"({of('a')} || {of('a')})",
                lambda: f"array_remove({of('a')}, {of('i')})",
                lambda: f"({of('a')})[1:{self.random.randint(0, 2)}]",
                lambda: f"ARRAY[{of('i')}, {of('i')}]",
                lambda: f"ARRAY(SELECT {self.expression('i', scope + [('q', [('q', 'i')])], 1)} FROM generate_series(1, 3) q ORDER BY 1)",
            ],
            "j": [
                lambda: f"({of('j')} -> {self.choice(['0', '1', '-1'])})",
                lambda: f"({of('j')} -> {self.choice(LITERALS['t'][:2])})",
                lambda: f"({of('j')} #> '{{b,0}}')",
                lambda: f"(jsonb_build_array({of('j')}) || {of('j')})",
                lambda: f"to_jsonb({of(self.choice('itda'))})",
                lambda: f"jsonb_build_array({of('i')}, {of('t')})",
                lambda: f"jsonb_build_object('k', {of(self.choice('itdvam'))})",
                lambda: f"jsonb_strip_nulls({of('j')})",
                lambda: f"jsonb_path_query_array({of('j')}, '$.**')",
            ],
            "z": [
                lambda: f"({of('z')} {self.choice('+-')} {of('v')})",
                lambda: f"date_trunc('{self.choice(['day', 'month', 'hour'])}', {of('z')})",
                lambda: f"{of('d')}::timestamptz",
                lambda: f"(({of('z')} AT TIME ZONE 'America/New_York') AT TIME ZONE 'UTC')",
            ],
            "m": [lambda: f"{of('z')}::time", lambda: f"({of('m')} + {of('v')})"],
            "t": [
                lambda: f"({of('t')} || {of('t')})",
                lambda: f"upper({of('t')})",
                lambda: f"{of('i')}::text",
                lambda: f"substr({of('t')}, 1, 1)",
                lambda: f"{of('n')}::text",
                lambda: f"{of(self.choice('ajzmdv'))}::text",
                lambda: f"({of('j')} ->> {self.choice(['0', LITERALS['t'][0]])})",
                lambda: f"array_to_string({of('a')}, ',', '*')",
                lambda: f"to_char({of('d')}, '{self.choice(['YYYY-MM-DD', 'Mon DDth', 'IYYY IW ID', 'Q J'])}')",
                lambda: f"to_char({of('z')}, 'HH12:MI am TZ')",
                lambda: f"to_char({of('n')}, '{self.choice(['999.99', 'S0009', 'FM990.0', '9V9', 'RN'])}')",
                lambda: f"regexp_replace({of('t')}, '{self.choice(['a', '[ab]+', '(.)b', '^'])}', '{self.choice(['x', '', '<&>'])}')",
                lambda: f"{self.choice(['lpad', 'rpad'])}({of('t')}, 3, '*')",
                lambda: f"split_part({of('t')}, 'b', {self.choice(['1', '2', '-1'])})",
                lambda: f"replace({of('t')}, {of('t')}, 'z')",
                lambda: f"{self.choice(['initcap', 'reverse', 'md5', 'quote_literal'])}({of('t')})",
                lambda: f"left({of('t')}, {of('i')})",
                lambda: f"format('%s|%L', {of('t')}, {of('i')})",
                lambda: f"overlay({of('t')} PLACING 'y' FROM 1)",
                lambda: f"jsonb_typeof({of('j')})",
            ],
            "d": [lambda: f"({of('d')} + {of('i')})", lambda: f"least({of('d')}, {of('d')})"],
            "v": [
                lambda: f"({of('v')} + {of('v')})",
                lambda: f"({of('v')} * 2)",
                lambda: f"({of('z')} - {of('z')})",
                lambda: f"age({of('d')}, {of('d')})",
                lambda: f"justify_days({of('v')})",
                lambda: f"({of('m')} - {of('m')})",
            ],
        }
        return self.choice(forms[letter])()

    def condition(self, scope, depth):
        letter, kind = self.choice(LETTERS), self.random.random()

        def of(depth):
            return self.expression(letter, scope, depth)

        if kind < 0.5 or depth <= 0:
            return f"{of(depth - 1)} {self.choice(['=', '<>', '<', '<=', '>', '>='])} {of(depth - 1)}"
        if kind < 0.58:
            left, right = self.condition(scope, depth - 1), self.condition(scope, depth - 1)
            return f"({left} {self.choice(['AND', 'OR'])} {right})"
        if kind < 0.62:
            return f"NOT ({self.condition(scope, depth - 1)})"
        if kind < 0.68:
            return f"{of(depth - 1)} IS {self.choice(['', 'NOT '])}NULL"
        if kind < 0.74:
            return f"{of(depth - 1)} IN ({', '.join(of(0) for _ in range(self.random.randint(1, 3)))})"
        if kind < 0.78:
            return f"{of(depth - 1)} IS DISTINCT FROM {of(depth - 1)}"
        if kind < 0.81:
            return f"{of(depth - 1)} BETWEEN {of(0)} AND {of(0)}"
        if kind < 0.85:
            own = lambda letter: self.expression(letter, scope, depth - 1)
            return self.choice([
                lambda: f"{own('i')} = {self.choice(['ANY', 'ALL'])} ({own('a')})",
                lambda: f"{own('a')} {self.choice(['@>', '<@', '&&'])} {own('a')}",
                lambda: f"{own('j')} {self.choice(['@>', '<@'])} {own('j')}",
                lambda: f"{own('j')} ? 'a'",
                lambda: f"{own('t')} {self.choice(['~', '!~', '~*'])} '{self.choice(['a', '^.$', '(a|B)b?', '[[:upper:]]'])}'",
                lambda: f"{own('t')} {self.choice(['LIKE', 'NOT LIKE', 'ILIKE', 'SIMILAR TO'])} '{self.choice(['a%', '_', '%b', ''])}'",
                lambda: f"({own('d')}, {own('i')}) {self.choice(['<', '>=', '='])} ({own('d')}, {own('i')})",
                lambda: f"({own('d')}, {own('v')}) OVERLAPS ({own('d')}, {own('d')})",
            ])()
        query, _ = self.select(0, scope, [letter])
        if kind < 0.88:
            return f"{of(depth - 1)} {self.choice(['', 'NOT '])}IN ({query})"
        if kind < 0.93:
            return f"{self.choice(['', 'NOT '])}EXISTS ({query})"
        if kind < 0.97:
            return f"{of(depth - 1)} {self.choice(['=', '<', '>'])} {self.choice(['ANY', 'ALL'])} ({query})"
        query, _ = self.select(0, scope, [letter, "i"])
        return f"({of(0)}, {self.expression('i', scope, 0)}) {self.choice(['', 'NOT '])}IN ({query})"

    def from_clause(self, depth):
        text, alias, columns = self.relation()
        scope = [(alias, columns)]
        for _ in range(self.random.randint(0, 2 if depth else 1)):
            other, alias, columns = self.relation()
            join = self.choice(["CROSS JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
            if join == "CROSS JOIN":
                text += f" CROSS JOIN {other}"
            else:
                letter = self.choice("int")
                left = [f"{name}.{column}" for name, own in scope for column, kind in own if kind == letter]
                right = [f"{alias}.{column}" for column, kind in columns if kind == letter]
                text += f" {join} {other} ON {f'{self.choice(left)} = {self.choice(right)}' if left and right else 'true'}"
            scope.append((alias, columns))
        return text, scope

    def grouped(self, letters, text, scope):
        letter = self.choice("int")
        key = self.expression(letter, scope, 1)
        is_grouped = self.chance(0.5)

        def output(kind):
            if kind == letter and is_grouped and self.chance(0.6):
                return key
            argument = self.expression("i", scope, 1)
            if kind == "i":
                return self.choice(["count(*)::int", f"sum({argument})::int", f"max({argument})", f"count(DISTINCT {argument})::int"])
            if kind == "n":
                median = f"percentile_disc(0.5) WITHIN GROUP (ORDER BY {argument})::numeric"
                return self.choice([f"avg({argument})", f"sum({argument}::bigint)", median])
            if kind == "a":
                return f"array_agg({argument} ORDER BY {argument})"
            if kind == "j":
                value = self.expression(self.choice("itd"), scope, 1)
                return f"jsonb_agg({value} ORDER BY {value})"
            if kind == "t" and self.chance(0.5):
                value = self.expression("t", scope, 1)
                return f"string_agg({'DISTINCT ' if self.chance(0.3) else ''}{value}, ',' ORDER BY {value})"
            return f"min({self.expression(kind, scope, 1)})"

        outputs = ", ".join(output(kind) for kind in letters)
        query = f"SELECT {outputs} FROM {text}"
        if is_grouped:
            query += f" GROUP BY {key}"
            if self.chance(0.3):
                query += f" HAVING count(*) > {self.random.randint(0, 1)}"
        return query

    def select(self, depth, outer, wanted=None):
        text, scope = self.from_clause(depth)
        scope = scope + outer
        if self.chance(0.6):
            text += f" WHERE {self.condition(scope, 2)}"
        letters = wanted or [self.choice(LETTERS) for _ in range(self.random.randint(1, 3))]
        if self.chance(0.3):
            query = self.grouped(letters, text, scope)
        else:
            outputs = ", ".join(self.expression(letter, scope, 2) for letter in letters)
            query = f"SELECT {'DISTINCT ' if self.chance(0.2) else ''}{outputs} FROM {text}"
        if depth and self.chance(0.25):
            other, _ = self.select(0, outer, letters)
            query += f" {self.choice(['UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT'])} {other}"
        return query, letters

    def query(self):
        """A query, and whether its rows have an order."""
        query, letters = self.select(2, [])
        if self.chance(0.2):
            name, columns = self.name("w"), ", ".join(f"o{at}" for at in range(len(letters)))
            use = self.choice([f" JOIN {name} r ON l.o0 = r.o0", f" WHERE l.o0 IN (SELECT o0 FROM {name})", ""])
            query = f"WITH {name}({columns}) AS ({query}) SELECT l.* FROM {name} l{use}"
        if not self.chance(0.4):
            return query, False
        query = f"SELECT * FROM ({query}) z ORDER BY {', '.join(str(at + 1) for at in range(len(letters)))}"
        if self.chance(0.5):
            query += f" LIMIT {self.random.randint(0, 5)} OFFSET {self.random.randint(0, 2)}"
        return query, True


def answer(connection, query, is_ordered):
    """Types and rows, or the SQLSTATE. Rows in no order are sorted."""
    try:
        result = connection.execute(query).pgresult
    except psycopg.Error as error:
        return error.sqlstate
    columns = range(result.nfields)
    rows = [tuple(text_of(result.get_value(row, column)) for column in columns) for row in range(result.ntuples)]
    return [result.ftype(column) for column in columns], rows if is_ordered else sorted(rows, key=str)


def text_of(value):
    return None if value is None else value.decode()


def has_equal_values(found, expected, is_ordered):
    """The same rows but for which of several equal values is shown: 1.0 or 1.00, a month or 30 days."""
    if isinstance(found, str) or isinstance(expected, str) or found[0] != expected[0]:
        return False
    values = [[tuple(map(canonical, row)) for row in rows] for rows in (found[1], expected[1])]
    if not is_ordered:
        values = [sorted(rows, key=str) for rows in values]
    return values[0] == values[1]


def canonical(text):
    """One text for equal values. Numbers and intervals within texts, arrays and documents count, too."""
    if text is None:
        return None
    text = re.sub(r"(\d+) mons?( (\d+) days?)?", lambda found: f"{30 * int(found[1]) + int(found[3] or 0)} days", text)
    return re.sub(r"(\d)\.(\d*?)0+(?!\d)", lambda found: f"{found[1]}.{found[2]}" if found[2] else found[1], text)


def table_query(maker):
    """A query over tables, and whether its rows have an order."""
    query = maker.query()
    return query, re.search(r"\) z ORDER BY [^()]*$", query) is not None


@contextlib.contextmanager
def with_tables(connections, name):
    """The tables of a file, while the block runs."""
    with open(name) as file:
        tables = re.findall(r"^table\t(\w+)", file.read(), re.M)
    drops = "; ".join(f"DROP TABLE IF EXISTS {table}" for table in tables).split("; ")
    for connection in connections:
        for drop in drops:
            connection.execute(drop)
        create_tables(connection, name)
    yield
    for connection in connections:
        for drop in drops:
            connection.execute(drop)


def compare(connections, queries, count):
    """How many queries are answered alike, and how many are not."""
    counts = {"same": 0, "equal values": 0, "refused": 0, "different": 0, "left out": 0}
    postgres, braid = connections
    for query, is_ordered in (next(queries) for _ in range(count)):
        if len(query) > TEXT_CHARACTERS_MAX or (expected := answer(postgres, query, is_ordered)) == QUERY_CANCELED:
            counts["left out"] += 1
            continue
        found = answer(braid, query, is_ordered)
        if found == "0A000" != expected:
            counts["refused"] += 1
        elif found == expected:
            counts["same"] += 1
        elif has_equal_values(found, expected, is_ordered):
            counts["equal values"] += 1
        else:
            counts["different"] += 1
            if counts["different"] <= DIFFERENCES_SHOWN:
                print(f"{query}\n  PostgreSQL {expected}\n  Braid      {found}\n", flush=True)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--braid", required=True, help="connection string of Braid")
    parser.add_argument("--postgres", default="", help="connection string of PostgreSQL (default: PGHOST, PGPORT, …)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000, help="number of queries")
    parser.add_argument("--tables", help="the file of tables; without it, queries have none")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(psycopg.connect(server, autocommit=True)) for server in (options.postgres, options.braid)]
        connections[0].execute("SET statement_timeout = '5s'")
        connections[0].execute("SET jit = off")
        for connection in connections:
            connection.execute("SET timezone = 'UTC'")
        if options.tables:
            connections[1].execute("SET braid.accept_unenforced_constraints = on")
            stack.enter_context(with_tables(connections, options.tables))
            maker = random_table_queries.Maker(options.seed)
            queries = iter(lambda: table_query(maker), None)
        else:
            queries = iter(Maker(options.seed).query, None)
        counts = compare(connections, queries, options.count)
    print(f"seed {options.seed}: {counts}")
    sys.exit(1 if counts["different"] else 0)


if __name__ == "__main__":
    main()
