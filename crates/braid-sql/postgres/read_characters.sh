#!/usr/bin/env bash
# Writes characters.tsv from a PostgreSQL 15 whose database has the locale C.UTF-8 (PGHOST, PGPORT, … name it): the classes of
# characters as ranges, and what lower() and upper() make of characters, in hexadecimal. chr(0) is no text; it is a control.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

rows() { psql -X -At -q -F $'\t' -v ON_ERROR_STOP=1 -c "$1"; }
characters="generate_series(1, 1114111) AS c WHERE c NOT BETWEEN 55296 AND 57343"
{
    printf 'kind\tcharacters\n'
    for class in alnum alpha blank cntrl digit graph lower print punct space upper xdigit; do
        rows "WITH m AS (SELECT c, c - row_number() OVER (ORDER BY c) AS run FROM $characters AND chr(c) ~ '[[:$class:]]'),
            r AS (SELECT min(c) AS first, max(c) AS last FROM m GROUP BY run)
            SELECT '$class', string_agg(to_hex(first) || '-' || to_hex(last), ' ' ORDER BY first) FROM r"
    done
    for case in lower upper; do
        rows "SELECT 'to_$case', string_agg(to_hex(c) || '-' || to_hex(ascii($case(chr(c)))), ' ' ORDER BY c)
            FROM $characters AND $case(chr(c)) <> chr(c)"
    done
} >characters.tsv
