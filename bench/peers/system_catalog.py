"""Writes PostgreSQL's system catalog as braid-catalog stores it.

    python system_catalog.py DIRECTORY      # with PGHOST, PGPORT, PGUSER; the database must be empty, its owner `postgres`

`DIRECTORY/NAME.tsv` has the rows of the catalog NAME that belong to the system: a header, and COPY's text format. Row types of relations,
what initdb makes for extensions, collations of the operating system and TOAST are left out. The domains of `information_schema` are shown
as their base types, and expression trees as their SQL. Definitions of views are those of PostgreSQL, in which functions of
`information_schema`, which take rows, are written out, and others are replaced by what they return on a server where
views cannot be updated, temporary schemas are called after the numbers of their sessions, and statistics about accesses are not
collected.
"""

import os
import re
import sys

import psycopg

RELATIONS = """SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname IN ('pg_catalog', 'information_schema') AND c.relkind IN ('r', 'v', 'i')"""

TYPES = """SELECT t.oid FROM pg_type t WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typrelid = 0
    AND NOT EXISTS (SELECT FROM pg_type e WHERE e.oid = t.typelem AND e.typrelid <> 0)"""

PLPGSQL = "SELECT objid FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'"

# The base type, its modifier and its collation in place of a domain.
BASE = "(SELECT {0} FROM pg_type d WHERE d.oid = a.atttypid AND d.typtype = 'd')"

# Rows of the system: which, and what stands in place of a column.
CATALOGS = {
    "pg_aggregate": ("true", {}),
    "pg_am": ("true", {}),
    "pg_amop": ("true", {}),
    "pg_amproc": ("true", {}),
    "pg_attribute": (
        f"attrelid IN ({RELATIONS}) AND attnum > 0",
        {
            "atttypid": f"coalesce({BASE.format('d.typbasetype')}, a.atttypid)",
            "atttypmod": f"coalesce({BASE.format('d.typtypmod')}, a.atttypmod)",
            "attacl": "NULL",
        },
    ),
    "pg_authid": ("true", {"rolpassword": "NULL"}),
    "pg_auth_members": ("true", {}),
    "pg_cast": ("true", {}),
    "pg_class": (
        f"oid IN ({RELATIONS})",
        {
            "reltype": "0",
            "reltoastrelid": "0",
            "relpages": "0",
            "reltuples": "-1",
            "relallvisible": "0",
            "relfrozenxid": "0",
            "relminmxid": "0",
        },
    ),
    "pg_collation": ("collname IN ('default', 'C', 'POSIX', 'ucs_basic')", {}),
    "pg_constraint": (f"conrelid IN ({RELATIONS})", {}),
    "pg_conversion": ("true", {}),
    "pg_description": (
        f"objoid NOT IN ({PLPGSQL}) AND objoid NOT IN (SELECT oid FROM pg_extension)"
        " AND NOT (classoid = 'pg_collation'::regclass AND objoid >= 12000) AND objsubid = 0"
        " AND objoid <> 'pg_toast'::regnamespace",
        {},
    ),
    "pg_index": (f"indexrelid IN ({RELATIONS})", {}),
    "pg_language": ("lanname <> 'plpgsql'", {}),
    "pg_namespace": ("nspname IN ('pg_catalog', 'information_schema', 'public')", {}),
    "pg_opclass": ("true", {}),
    "pg_operator": ("true", {}),
    "pg_opfamily": ("true", {}),
    "pg_proc": (
        f"pronamespace = 'pg_catalog'::regnamespace AND oid NOT IN ({PLPGSQL})",
        {
            "proargdefaults": "pg_get_expr(proargdefaults, 0)",
            "prosqlbody": "pg_get_function_sqlbody(oid)",
        },
    ),
    "pg_range": ("true", {}),
    "pg_rewrite": (f"rulename = '_RETURN' AND ev_class IN ({RELATIONS})", {"ev_action": "pg_get_viewdef(ev_class)"}),
    "pg_tablespace": ("true", {}),
    "pg_ts_config": ("true", {}),
    "pg_ts_config_map": ("true", {}),
    "pg_ts_dict": ("true", {}),
    "pg_ts_parser": ("true", {}),
    "pg_ts_template": ("true", {}),
    "pg_type": (f"oid IN ({TYPES})", {}),
}

# Order of rows where the first column is no key.
ORDERS = {"pg_description": "classoid, objoid, objsubid", "pg_attribute": "attrelid, attnum"}

DOMAINS = {
    "cardinal_number": "integer",
    "character_data": "character varying",
    "sql_identifier": "name",
    "time_stamp": "timestamp(2) with time zone",
    "yes_or_no": "character varying(3)",
}


def copied(connection, relation, where, replaced):
    """The rows of a relation as COPY writes them."""
    sql = """SELECT attname, atttypid = 'regproc'::regtype FROM pg_attribute
        WHERE attrelid = %s::regclass AND attnum > 0 ORDER BY attnum"""
    columns = connection.execute(sql, (relation,)).fetchall()
    # Functions by number: their names may be ambiguous.
    replaced = {name: f"a.{name}::oid" for name, is_function in columns if is_function} | replaced
    selected = ", ".join(f"{replaced.get(name, f'a.{name}')} AS {name}" for name, _ in columns)
    order = ORDERS.get(relation, ", ".join(str(at + 1) for at in range(min(3, len(columns)))))
    query = f"SELECT {selected} FROM {relation} a WHERE {where} ORDER BY {order}"
    with connection.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT text, HEADER)") as rows:
        return b"".join(rows).decode()


def closing(text, start):
    """The place of the parenthesis that closes the one at `start`, and the arguments between them."""
    depth, arguments, begin = 0, [], start + 1
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0 or (depth == 1 and text[at] == ","):
            arguments.append(text[begin:at].strip())
            begin = at + 1
        if depth == 0:
            return at, arguments
    raise ValueError(text)


def inlined(text, bodies):
    """The text with calls of functions of `information_schema` as their bodies."""
    while found := re.search(r"information_schema\.(_pg_\w+)\(", text):
        end, arguments = closing(text, found.end() - 1)
        body = bodies[found[1]]
        for at, argument in enumerate(arguments):
            body = body.replace(f"${at + 1}", f"({argument})")
        text = text[: found.start()] + body + text[end + 1 :]
    return text


def function_bodies(connection):
    """The bodies of the functions that return one value, with `$1` and `$2` for their arguments."""
    bodies = {
        "_pg_truetypid": "CASE WHEN $2.typtype = 'd' THEN $2.typbasetype ELSE $1.atttypid END",
        "_pg_truetypmod": "CASE WHEN $2.typtype = 'd' THEN $2.typtypmod ELSE $1.atttypmod END",
        "_pg_index_position": "(SELECT (g.n)::integer FROM pg_index, LATERAL unnest(pg_index.indkey) WITH ORDINALITY g(x, n)"
        " WHERE pg_index.indexrelid = $1 AND g.x = $2)",
    }
    sql = """SELECT proname, proargnames, pg_get_function_sqlbody(oid) FROM pg_proc
        WHERE pronamespace = 'information_schema'::regnamespace AND proname ~ '^_pg_(char|num|date|inter)'"""
    for name, arguments, body in connection.execute(sql):
        body = re.sub(r"\s+", " ", body.removeprefix("RETURN ")).strip()
        for at, argument in enumerate(arguments):
            body = re.sub(rf"\b{argument}\b", f"${at + 1}", body)
        bodies[name] = f"({body})"
    return bodies


# What stands in place of calls of functions with these names, with `$1` for the first argument.
REPLACED = {
    r"has_(server|foreign_data_wrapper|tablespace|language|parameter)_privilege": "true",
    r"pg_is_other_temp_schema": "(EXISTS (SELECT 1 FROM pg_namespace other WHERE other.oid = $1"
    " AND starts_with((other.nspname)::text, 'pg_temp_'::text)"
    " AND (other.nspname)::text <> ('pg_temp_'::text || (pg_backend_pid())::text)))",
    r"row_security_active": "false",
    r"pg_my_temp_schema": "(SELECT own.oid FROM pg_namespace own"
    " WHERE (own.nspname)::text = ('pg_temp_'::text || (pg_backend_pid())::text))",
    r"pg_get_userbyid": "(SELECT owning.rolname FROM pg_authid owning WHERE owning.oid = $1)",
    # Behind a default may be the number of the type that its literal is of.
    r"pg_get_expr(?=\(ad\.adbin,)": "(split_part(($1)::text, chr(2), 1) || COALESCE(format_type((NULLIF(split_part(($1)::text, chr(2), 2),"
    " ''::text))::oid, NULL::integer), ''::text))",
    r"pg_get_expr": "($1)::text",
    r"pg_get_viewdef": "(SELECT (rule.ev_action)::text FROM pg_rewrite rule"
    " WHERE rule.ev_class = $1 AND rule.rulename = '_RETURN')",
    # The expressions of an index stand in one text, with a character between them that SQL has not.
    r"pg_get_indexdef": "(SELECT format('CREATE %sINDEX %I ON %I.%I USING btree (%s)%s', CASE WHEN indexed.indisunique THEN 'UNIQUE ' ELSE ''"
    " END, named.relname, spaced.nspname, base.relname, (SELECT string_agg(CASE WHEN keyed.attnum > indexed.indnkeyatts OR"
    " indexed.indkey[keyed.attnum - 1] <> 0 THEN quote_ident(keyed.attname) ELSE split_part(CAST(indexed.indexprs AS text),"
    " CHR(1), CAST((SELECT count(*) FROM generate_series(0, keyed.attnum - 1) places(at) WHERE indexed.indkey[places.at] = 0)"
    " AS integer)) END || coalesce((SELECT ' ' || quote_ident(class.opcname) FROM pg_opclass class WHERE class.oid ="
    " indexed.indclass[keyed.attnum - 1] AND NOT class.opcdefault), '') || CASE indexed.indoption[keyed.attnum - 1] WHEN 1"
    " THEN ' DESC NULLS LAST' WHEN 2 THEN ' NULLS FIRST' WHEN 3 THEN ' DESC' ELSE '' END, ', ' ORDER BY keyed.attnum) FROM"
    " pg_attribute keyed WHERE keyed.attrelid = named.oid AND keyed.attnum <= indexed.indnkeyatts), coalesce((SELECT ' INCLUDE"
    " (' || string_agg(quote_ident(keyed.attname), ', ' ORDER BY keyed.attnum) || ')' FROM pg_attribute keyed WHERE"
    " keyed.attrelid = named.oid AND keyed.attnum > indexed.indnkeyatts), '') || CASE WHEN indexed.indnullsnotdistinct THEN '"
    " NULLS NOT DISTINCT' ELSE '' END || coalesce(' WHERE (' || CAST(indexed.indpred AS text) || ')', '')) FROM pg_index"
    " indexed JOIN pg_class named ON named.oid = indexed.indexrelid JOIN pg_class base ON base.oid = indexed.indrelid JOIN"
    " pg_namespace spaced ON spaced.oid = base.relnamespace WHERE indexed.indexrelid = $1)",
    r"pg_relation_is_updatable": "(0)",
    r"pg_column_is_updatable": "false",
    # Views ask for check constraints only, whose conditions are kept as SQL.
    r"pg_get_constraintdef": "(SELECT (('CHECK (('::text || (keys.conbin)::text) || '))'::text) || CASE WHEN keys.convalidated THEN"
    " ''::text ELSE ' NOT VALID'::text END FROM pg_constraint keys WHERE keys.oid = $1)",
    # No table has triggers or rules.
    r"(pg_get_triggerdef|pg_get_ruledef)": "NULL::text",
    r"pg_stat_get_live_tuples": "(SELECT (counted.reltuples)::bigint FROM pg_class counted WHERE counted.oid = $1)",
    r"pg_stat_get_db_numbackends": "(SELECT (count(*))::integer FROM pg_stat_activity backend WHERE backend.datid = $1)",
}

# Functions of statistics that Braid has.
COUNTED = {
    "pg_stat_get_analyze_count",
    "pg_stat_get_db_sessions",
    "pg_stat_get_db_tuples_deleted",
    "pg_stat_get_db_tuples_inserted",
    "pg_stat_get_db_tuples_updated",
    "pg_stat_get_db_xact_commit",
    "pg_stat_get_db_xact_rollback",
    "pg_stat_get_last_analyze_time",
    "pg_stat_get_last_vacuum_time",
    "pg_stat_get_vacuum_count",
}

# What happens in no database of Braid; all else that is not counted of databases is null.
NEVER = r"pg_stat_get_db_(conflict_\w+|checksum_failures)"

# What statistics about one object are when nothing is counted; others are null.
NO_STATISTIC = {"bigint": "(0)::bigint", "double precision": "(0)::double precision"}


def replaced_calls(text, replacements):
    """The text with calls of functions replaced."""
    for name, replacement in replacements.items():
        while found := re.search(rf"\b{name}\(", text):
            end, arguments = closing(text, found.end() - 1)
            text = text[: found.start()] + replacement.replace("$1", arguments[0]) + text[end + 1 :]
    return text


def all_replacements(connection):
    """`REPLACED`, and what functions of statistics return when nothing is counted."""
    sql = """SELECT proname, format_type(prorettype, NULL) FROM pg_proc
        WHERE proname LIKE 'pg_stat_get_%' AND prorettype <> 'record'::regtype AND proargtypes = '26'"""
    found = [(name, result) for name, result in connection.execute(sql) if name not in COUNTED]
    is_null = lambda name: name.startswith("pg_stat_get_db_") and not re.fullmatch(NEVER, name)
    none = {name: f"NULL::{result}" if is_null(name) else NO_STATISTIC.get(result, f"NULL::{result}") for name, result in found}
    return none | REPLACED


def definition(text, bodies, replacements, classes):
    """A view's definition without domains, and without what takes or returns rows."""
    text = re.sub(r"\((\w+)\.\*, (\w+)\.\*\)", r"(\1, \2)", text)
    while found := re.search(r"information_schema\._pg_expandarray\(", text):
        end, (array,) = closing(text, found.end() - 1)
        name = re.match(r" AS (\w+)", text[end + 1 :])[1]
        rows = f"unnest({array}) AS {name}, ((generate_subscripts({array}, 1) - array_lower({array}, 1)) + 1) AS {name}_n"
        text = text[: found.start()] + rows + text[end + 1 + len(f" AS {name}") :]
        text = re.sub(rf"\((\w+\.{name})\)\.n AS n\b", r"\1_n AS n", text)
        text = re.sub(rf"\((\w+\.{name})\)\.n\b", r"\1_n", text)
        text = re.sub(rf"\((\w+\.{name})\)\.x\b", r"\1", text)
    for domain, base in DOMAINS.items():
        text = text.replace(f"::information_schema.{domain}", f"::{base}")
    text = replaced_calls(inlined(text, bodies), replacements)
    text = re.sub(r"'(?:information_schema\.)?(pg_\w+)'::regclass", lambda found: f"({classes[found[1]]})::oid", text)
    # `($1).attribute` of a row that is a name.
    return re.sub(r"\((\w+)\)\.(atttypid|atttypmod)\b", r"\1.\2", text)


def escaped(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def unescaped(text):
    return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), text)


def with_definitions(connection, rules):
    """The rows of pg_rewrite with simplified definitions."""
    bodies = function_bodies(connection)
    replacements = all_replacements(connection)
    sql = "SELECT relname, oid FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace"
    classes = dict(connection.execute(sql))
    header, *lines = rules.splitlines()
    at = header.split("\t").index("ev_action")
    rows = [line.split("\t") for line in lines]
    for row in rows:
        text = definition(unescaped(row[at]), bodies, replacements, classes)
        # Blanks and line breaks are PostgreSQL's for the reader.
        row[at] = escaped(re.sub(r"\s+", " ", text).strip())
    return "\n".join([header, *("\t".join(row) for row in rows)]) + "\n"


def main():
    directory = sys.argv[1]
    with psycopg.connect(dbname="postgres", autocommit=True) as connection:
        for relation, (where, replaced) in CATALOGS.items():
            rows = copied(connection, relation, where, replaced)
            if relation == "pg_rewrite":
                rows = with_definitions(connection, rows)
            with open(os.path.join(directory, f"{relation}.tsv"), "w") as file:
                file.write(rows)


if __name__ == "__main__":
    main()
