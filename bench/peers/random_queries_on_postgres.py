#!/usr/bin/env python3
"""Random queries without tables, on PostgreSQL and on Braid: which of them Braid answers otherwise.

    random_queries_on_postgres.py --braid 'host=127.0.0.1 port=5432 user=braid dbname=braid' [--postgres DSN] [--seed N] [--count N]

A query is made of VALUES, series, joins, subqueries, groups, set operations and common table expressions. Rows are compared as bags, or in
order under ORDER BY; types and SQLSTATEs are compared, too. What Braid refuses (0A000) is counted. Where several equal values may be
shown, such as 1.0 and 1.00 by DISTINCT, a difference means nothing. One seed always makes the same queries.
"""
import argparse
import re
import sys

import psycopg
from random_choices import Choices

# Values by the letter of their type: integer, numeric, text, date, interval.
LITERALS = {
    "i": ["0", "1", "2", "3", "-1", "NULL", "10"],
    "n": ["1.0", "1.00", "2.5", "NULL", "-0.5", "100"],
    "t": ["'a'", "'b'", "'ab'", "NULL", "''", "'B'"],
    "d": ["date '2024-01-01'", "date '2024-02-29'", "NULL::date"],
    "v": ["interval '1 month'", "interval '30 days'", "NULL::interval", "interval '1 day'"],
}
TYPES = {"i": "int", "n": "numeric", "t": "text", "d": "date", "v": "interval"}
LETTERS = "iintdv"
TEXT_CHARACTERS_MAX = 6000
DIFFERENCES_SHOWN = 20


class Maker(Choices):
    """Makes queries. A scope is a list of relations: a name, and its columns with their letters."""

    def relation(self):
        alias, kind = self.name("r"), self.random.random()
        if kind < 0.25:
            column = self.name("c")
            low, high = self.random.randint(-1, 2), self.random.randint(0, 4)
            return f"generate_series({low}, {high}) AS {alias}({column})", alias, [(column, "i")]
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
            return literal if letter in "dv" else f"{literal}::{TYPES[letter]}"

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
            ],
            "n": [
                lambda: f"({of('n')} + {of('n')})",
                lambda: f"({of('n')} * {of('i')})",
                lambda: f"round({of('n')}, 1)",
                lambda: f"{of('i')}::numeric",
                lambda: f"({of('n')} / 4)",
            ],
            "t": [
                lambda: f"({of('t')} || {of('t')})",
                lambda: f"upper({of('t')})",
                lambda: f"{of('i')}::text",
                lambda: f"substr({of('t')}, 1, 1)",
                lambda: f"{of('n')}::text",
            ],
            "d": [lambda: f"({of('d')} + {of('i')})", lambda: f"least({of('d')}, {of('d')})"],
            "v": [lambda: f"({of('v')} + {of('v')})", lambda: f"({of('v')} * 2)"],
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
        if kind < 0.82:
            return f"{of(depth - 1)} BETWEEN {of(0)} AND {of(0)}"
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
                return self.choice([f"avg({argument})", f"sum({argument}::bigint)"])
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
    """Types and rows, or the SQLSTATE."""
    try:
        cursor = connection.execute(query)
        rows = [tuple(None if value is None else str(value) for value in row) for row in cursor.fetchall()]
        return [column.type_code for column in cursor.description], rows if is_ordered else sorted(rows, key=str)
    except psycopg.Error as error:
        return error.sqlstate


def is_same_up_to_equal_values(found, expected):
    """The same rows, with others of equal values in between: ORDER BY says nothing of 1.0 and 1.00."""
    if isinstance(found, str) or isinstance(expected, str) or found[0] != expected[0]:
        return False
    value = lambda text: text.rstrip("0").rstrip(".") if text and re.fullmatch(r"-?\d+\.\d+", text) else text
    values = lambda rows: [tuple(map(value, row)) for row in rows]
    return sorted(found[1], key=str) == sorted(expected[1], key=str) and values(found[1]) == values(expected[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--braid", required=True, help="connection string of Braid")
    parser.add_argument("--postgres", default="", help="connection string of PostgreSQL (default: PGHOST, PGPORT, …)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000, help="number of queries")
    options = parser.parse_args()
    maker, counts = Maker(options.seed), {"same": 0, "refused": 0, "different": 0}
    with psycopg.connect(options.postgres, autocommit=True) as postgres, psycopg.connect(options.braid, autocommit=True) as braid:
        postgres.execute("set statement_timeout = '5s'")
        for _ in range(options.count):
            query, is_ordered = maker.query()
            if len(query) > TEXT_CHARACTERS_MAX:
                continue
            expected, found = answer(postgres, query, is_ordered), answer(braid, query, is_ordered)
            if found == "0A000":
                counts["refused"] += 1
            elif found == expected or is_same_up_to_equal_values(found, expected):
                counts["same"] += 1
            else:
                counts["different"] += 1
                if counts["different"] <= DIFFERENCES_SHOWN:
                    print(f"{query}\n  PostgreSQL {expected}\n  Braid      {found}\n")
    print(f"seed {options.seed}: {counts}")
    sys.exit(1 if counts["different"] else 0)


if __name__ == "__main__":
    main()
