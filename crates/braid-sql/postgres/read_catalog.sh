#!/usr/bin/env bash
# Writes the tables of this folder from the system catalog of PostgreSQL 15, which psql's variables (PGHOST, PGPORT, …) name.
# They say what PostgreSQL has: its types, casts, operators, functions, aggregates, orders and key words. Types are named by `pg_type.typname`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

version=$(psql -X -At -c "SHOW server_version_num")
if [ "$((version / 10000))" != 15 ]; then echo "PostgreSQL $version is not PostgreSQL 15" >&2; exit 1; fi

table() { psql -X -q -v ON_ERROR_STOP=1 -c "COPY ($2) TO STDOUT (FORMAT text, HEADER, NULL '')" >"$1.tsv"; }
names() { echo "(SELECT string_agg(t.typname, ' ' ORDER BY a.n) FROM unnest($1) WITH ORDINALITY AS a(id, n) JOIN pg_type t ON t.oid = a.id)"; }
name() { echo "(SELECT typname FROM pg_type WHERE oid = $1)"; }

table types "SELECT oid, typname AS name, typtype AS kind, typcategory AS category, typispreferred AS preferred, typlen AS length,
        $(name c.typelem) AS element, $(name c.typarray) AS array,
        c.typinput::oid AS input, c.typoutput::oid AS output
    FROM pg_type c WHERE typrelid = 0 AND typnamespace = 'pg_catalog'::regnamespace 
        AND NOT EXISTS (SELECT FROM pg_type e WHERE e.oid = c.typelem AND e.typrelid <> 0) ORDER BY oid"

table casts "SELECT $(name castsource) AS source, $(name casttarget) AS target, castcontext AS context, castmethod AS method,
        nullif(castfunc, 0)::oid AS function
    FROM pg_cast ORDER BY castsource, casttarget"

table operators "SELECT oid, oprname AS name, $(name oprleft) AS left, $(name oprright) AS right, $(name oprresult) AS result,
        oprcode::oid AS function
    FROM pg_operator WHERE oprcode <> 0 ORDER BY oid"

table functions "SELECT p.oid, proname AS name, prokind AS kind, provolatile AS volatility, proisstrict AS strict, proretset AS returns_set,
        $(name prorettype) AS result, $(names "proargtypes::oid[]") AS arguments, $(name "nullif(provariadic, 0)") AS variadic,
        nullif(array_to_string(proargnames[1:pronargs], ' ', '-'), '') AS argument_names,
        CASE WHEN pronargdefaults > 0 THEN pg_get_expr(proargdefaults, 0) END AS defaults,
        CASE WHEN proargmodes IS NOT NULL THEN (SELECT string_agg(o.name || ' ' || t.typname, ',' ORDER BY o.n)
            FROM unnest(proallargtypes, proargmodes, proargnames) WITH ORDINALITY AS o(id, mode, name, n)
            JOIN pg_type t ON t.oid = o.id WHERE o.mode IN ('o', 'b', 't')) END AS columns,
        CASE WHEN l.lanname IN ('internal', 'c') THEN prosrc WHEN proname = '_pg_expandarray' THEN proname END AS symbol
    FROM pg_proc p JOIN pg_language l ON l.oid = prolang
    WHERE pronamespace = 'pg_catalog'::regnamespace OR proname = '_pg_expandarray' ORDER BY p.oid"

# Transition functions that have no final function return their state.
table aggregates "SELECT aggfnoid::oid AS function, aggkind AS kind, aggnumdirectargs AS direct_arguments, aggtransfn::oid AS transition,
        nullif(aggfinalfn::oid, 0) AS final, nullif(aggcombinefn::oid, 0) AS combine, agginitval AS initial,
        (SELECT oprname FROM pg_operator WHERE oid = aggsortop) AS sort_operator
    FROM pg_aggregate WHERE aggfnoid::oid IN (SELECT oid FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace) ORDER BY aggfnoid::oid"

# B-tree operator classes: the order that a type has, and others. Types that only hash have equality and no order.
operator() { echo "(SELECT oprcode::oid FROM pg_amop JOIN pg_operator o ON o.oid = amopopr WHERE amopfamily = c.opcfamily
        AND amoplefttype = c.opcintype AND amoprighttype = c.opcintype AND amopstrategy = $1)"; }
table orders "SELECT $(name opcintype) AS type, opcdefault AS is_default,
        CASE amname WHEN 'btree' THEN amproc::oid END AS compare,
        CASE amname WHEN 'btree' THEN $(operator 1) END AS less,
        CASE amname WHEN 'btree' THEN $(operator 3) ELSE $(operator 1) END AS equal,
        CASE amname WHEN 'btree' THEN $(operator 5) END AS greater
    FROM pg_opclass c JOIN pg_am m ON m.oid = c.opcmethod
        JOIN pg_amproc p ON amprocfamily = opcfamily AND amproclefttype = opcintype AND amprocrighttype = opcintype AND amprocnum = 1
    WHERE amname = 'btree' OR (amname = 'hash' AND opcdefault AND NOT EXISTS
        (SELECT FROM pg_opclass b JOIN pg_am a ON a.oid = b.opcmethod AND a.amname = 'btree' WHERE b.opcintype = c.opcintype))
    ORDER BY opcintype, opcdefault DESC, opcname"
table key_words "SELECT word, catcode AS category, barelabel AS is_label, catdesc AS category_words, baredesc AS label_words
    FROM pg_get_keywords()"
