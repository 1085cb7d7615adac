"""pgAdmin 4: the SQL by which it connects and fills its tree, its tabs, its dashboard and its data grid, for objects made here.

The SQL comes from the installed package: its templates, rendered with the parameters that pgAdmin has, and statements in its
Python sources. What the server refuses is an error unless REFUSED names it, and so is what REFUSED names and the server answers.
EXPECTED and WRONG are the same for columns of answers.

    pgadmin_client.py [--write FILE] [--verbose]

--write keeps all the answers as JSON, without what differs from server to server (oids, times, process ids), so that the files of
two servers can be compared; of PostgreSQL, nothing is expected to be refused. --verbose prints the SQL of what is refused. The
database has to be empty.
"""
import argparse
import ast
import collections
import datetime
import importlib.util
import json
import pathlib
import re
import sys

import jinja2
import psycopg
import psycopg.sql

PACKAGE = pathlib.Path(importlib.util.find_spec("pgadmin4").submodule_search_locations[0]) / "pgadmin"
VERSIONS = [(number * 10000, f"{number}_plus") for number in range(18, 10, -1)] + [(0, "default")]

OBJECTS = """
CREATE ROLE clerk LOGIN CONNECTION LIMIT 3;
CREATE ROLE readers NOLOGIN;
CREATE ROLE manager LOGIN CREATEROLE CREATEDB VALID UNTIL '2040-01-01 00:00:00+00';
GRANT readers TO clerk;
GRANT readers TO manager WITH ADMIN OPTION;
ALTER ROLE clerk SET search_path = shop, public;
COMMENT ON ROLE clerk IS 'a clerk';
COMMENT ON DATABASE braid IS 'the database';
GRANT CONNECT ON DATABASE braid TO clerk;
CREATE SCHEMA shop;
CREATE SCHEMA "Odd Name" AUTHORIZATION manager;
COMMENT ON SCHEMA shop IS 'what is sold';
GRANT USAGE ON SCHEMA shop TO readers;
ALTER DEFAULT PRIVILEGES IN SCHEMA shop GRANT SELECT ON TABLES TO readers;
CREATE TYPE state AS ENUM ('new', 'paid', 'sent');
COMMENT ON TYPE state IS 'of an order';
GRANT USAGE ON TYPE state TO readers;
CREATE DOMAIN amount AS numeric(10,2) DEFAULT 0 NOT NULL CONSTRAINT positive CHECK (VALUE >= 0);
COMMENT ON DOMAIN amount IS 'money';
CREATE TABLE shop.customer (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name varchar(40) NOT NULL, mail text CONSTRAINT mail_key UNIQUE,
    born date, since timestamptz(3) DEFAULT now(), code char(4), key uuid, notes jsonb, tags text[],
    CONSTRAINT named CHECK (length(name) > 0));
CREATE TABLE shop."order" (
    id bigserial, customer_id integer NOT NULL, state state DEFAULT 'new', total amount,
    tax numeric(10,2) GENERATED ALWAYS AS (total * 0.2) STORED, placed timestamp, took interval, paid boolean DEFAULT false,
    ratio double precision, small smallint, fraction real, picture bytea, at time, "Odd Column" text,
    CONSTRAINT order_pkey PRIMARY KEY (id),
    CONSTRAINT order_customer FOREIGN KEY (customer_id) REFERENCES shop.customer (id)
        ON DELETE CASCADE ON UPDATE RESTRICT DEFERRABLE,
    CONSTRAINT order_unique UNIQUE (customer_id, placed));
CREATE TABLE shop.line (
    order_id bigint, n integer, what text, PRIMARY KEY (order_id, n), FOREIGN KEY (order_id) REFERENCES shop."order");
ALTER TABLE shop.customer OWNER TO manager;
COMMENT ON TABLE shop."order" IS 'an order';
COMMENT ON COLUMN shop."order".state IS 'how far it is';
COMMENT ON CONSTRAINT order_customer ON shop."order" IS 'who ordered';
CREATE INDEX order_placed ON shop."order" (placed DESC NULLS LAST, state);
CREATE INDEX order_paid ON shop."order" (id) WHERE paid;
CREATE INDEX customer_lower ON shop.customer (lower(name));
CREATE UNIQUE INDEX customer_code ON shop.customer (code) INCLUDE (name);
COMMENT ON INDEX shop.order_placed IS 'by time';
CREATE SEQUENCE shop.numbers AS integer INCREMENT 5 MINVALUE 10 MAXVALUE 1000 START 20 CACHE 3 CYCLE;
COMMENT ON SEQUENCE shop.numbers IS 'numbers';
CREATE VIEW shop.paid AS SELECT id, total FROM shop."order" WHERE paid;
COMMENT ON VIEW shop.paid IS 'paid orders';
CREATE MATERIALIZED VIEW shop.totals AS SELECT customer_id, sum(total) AS total FROM shop."order" GROUP BY customer_id;
CREATE UNIQUE INDEX totals_customer ON shop.totals (customer_id);
COMMENT ON MATERIALIZED VIEW shop.totals IS 'sums';
GRANT SELECT, INSERT ON shop."order" TO readers;
GRANT SELECT (name), UPDATE (name) ON shop.customer TO clerk WITH GRANT OPTION;
GRANT SELECT ON shop.paid TO PUBLIC;
GRANT SELECT ON shop.totals TO readers;
GRANT USAGE ON SEQUENCE shop.numbers TO clerk;
INSERT INTO shop.customer (name, mail, code) VALUES ('Ann', 'a@x', 'A1'), ('Bob', 'b@x', 'B1');
INSERT INTO shop."order" (customer_id, total, paid, placed)
    VALUES (1, 10, true, '2024-01-01 10:00'), (2, 20.5, false, '2024-01-02');
INSERT INTO shop.line VALUES (1, 1, 'bread'), (1, 2, 'milk');
REFRESH MATERIALIZED VIEW shop.totals;
ANALYZE shop."order";
"""

# Templates that the server does not answer, and why. A name has # in place of the version's directory.
REFUSED = {
    "servers/sql/#/stats.sql": "a cast of inet to text",
    "replica_nodes/sql/#/nodes.sql": "host(inet)",
    "replica_nodes/sql/#/properties.sql": "host(inet)",
    "databases/sql/#/defacl.sql": "EXCEPT of aclitem",
}

ORDER_COLUMNS = ["id", "customer_id", "state", "total", "tax", "placed", "took", "paid", "ratio", "small", "fraction", "picture",
                 "at", "Odd Column"]

# Answers of which a column is known.
EXPECTED = {
    "databases/sql/#/nodes.sql [all]": ("name", ["braid"]),
    "roles/sql/#/nodes.sql [all]": ("rolname", ["readers", "braid", "clerk", "manager"]),
    "roles/sql/#/properties.sql [clerk]": ("rolmembership", ['{0readers}']),
    "schemas/pg/#/sql/nodes.sql [all]": ("name", ["Odd Name", "public", "shop"]),
    "schemas/pg/#/sql/acl.sql [shop]": ("grantee", ["braid", "readers"]),
    "tables/sql/#/nodes.sql [all]": ("name", ["customer", "line", "order"]),
    "tables/sql/#/properties.sql [order]": ("description", ["an order"]),
    "columns/sql/#/nodes.sql [order]": ("name", ORDER_COLUMNS),
    "columns/sql/#/properties.sql [order]": ("name", ORDER_COLUMNS),
    "columns/sql/#/properties.sql [customer.since]": ("cltype", ["timestamp(3) with time zone"]),
    "index_constraint/sql/#/nodes.sql [order p]": ("name", ["order_pkey"]),
    "index_constraint/sql/#/nodes.sql [order u]": ("name", ["order_unique"]),
    "index_constraint/sql/#/get_constraint_cols.sql [order u order_unique]": ("column", ["customer_id", "placed"]),
    "foreign_key/sql/#/nodes.sql [order f]": ("name", ["order_customer"]),
    "foreign_key/sql/#/properties.sql [order f order_customer]": ("reftab", ["customer"]),
    "check_constraint/sql/#/nodes.sql [customer c]": ("name", ["named"]),
    "indexes/sql/#/nodes.sql [order]": ("name", ["order_paid", "order_placed"]),
    "indexes/sql/#/column_details.sql [order_placed]": ("options", ['{DESC,"NULLS LAST"}', '{ASC,"NULLS LAST"}']),
    "indexes/sql/#/include_details.sql [customer_code]": ("colname", ["name"]),
    "rules/sql/nodes.sql [paid]": ("name", ["_RETURN"]),
    "views/pg/#/sql/nodes.sql [all]": ("name", ["paid"]),
    "mviews/pg/#/sql/nodes.sql [all]": ("name", ["totals"]),
    "sequences/sql/#/nodes.sql [all]": ("name", ["customer_id_seq", "numbers", "order_id_seq"]),
    "sequences/sql/#/get_def.sql [customer_id_seq]": ("increment_by", ["5"]),
    "types/pg/sql/#/nodes.sql [all]": ("name", ["state"]),
    "types/pg/sql/#/additional_properties.sql [state]": ("enumlabel", ["new", "paid", "sent"]),
    "domains/sql/#/node.sql [all]": ("name", ["amount"]),
    "depends/pg/#/dependents.sql [pg_class paid]": ("refname", ["paid", "_RETURN", "_RETURN"]),
    "depends/pg/#/role_dependencies.sql [pg_class customer]": ("refname", ["clerk", "manager", "readers"]),
    "sqleditor/sql/#/primary_keys.sql": ("attname", ["id"]),
    "sqleditor/sql/#/objectquery.sql [filtered]": ("id", ["1"]),
    "sqleditor/sql/#/insert.sql": ("id", ["77"]),
    "sqleditor/sql/#/select.sql": ("state", ["paid"]),
}

# Those of which it is not so, and why.
WRONG = {
    "depends/pg/#/dependents.sql [pg_class paid]": "no dependency of the view's type",
}

# The files of a directory that change something, or that are parts of other templates or of SQL that is shown, not run.
NOT_READ = re.compile(
    r"(create|change_password|update|delete|alter|drop|.*grant|truncate|reset_|attach|detach|refresh|reassign|enable_disable"
    r"|insert|begin|end|validate|.*_diff|types_condition|get_types_where_condition|sqlpane).*\.sql")

# The files that pgAdmin renders for all the objects of a parent, and those that it renders for nothing else.
OF_ALL = re.compile("(nodes?|count|properties|coll_.*).sql")
OF_PARENT = re.compile("(count|coll_.*).sql")

# Of servers before version 13; pgAdmin's sources ask for it in no other place.
NOT_USED = {"languages/sql/#/templates.sql"}

# What pgAdmin asks a template for more than one thing by.
VARIANTS = {
    "fts_parsers/sql/#/functions.sql": [{key: True} for key in ("start", "token", "end", "lextype", "headline")],
    "fts_templates/sql/#/functions.sql": [{"lexize": True}, {"init": True}],
    "types/pg/sql/#/get_external_functions.sql": [{key: True} for key in ("extfunc", "typemodin", "typemodout")],
    "types/pg/sql/#/get_subtypes.sql": [
        {"subtype": True}, {"subtype_opclass": True}, {"get_opcintype": True}, {"opcintype": 701}, {"getoid": True},
        {"canonical": True, "oid": 701}],
    "roles/sql/#/dependents.sql": [{"fetch_database": True}, {"fetch_dependents": True, "lastsysoid": 16383}],
    "tablespaces/sql/#/dependents.sql": [{"fetch_database": True}, {"fetch_dependents": True}],
    "tables/sql/#/get_inherits.sql": [{"tid": None}],
    "fts_configurations/sql/#/parser.sql": [{"parser": None}, {"cfgid": None}],
    "foreign_tables/sql/#/get_tables.sql": [{"attrelid": None}, {"attrelid": "(1259)"}],
    "databases/sql/#/defacl.sql": [{}, {"grant_reovke_sql": True}],
}


def identifier(connection, *names, of_types=False):
    """pgAdmin's qtIdent and qtTypeIdent."""
    if names and isinstance(names[0], list):
        return [identifier(connection, name) for name in names[0]]
    return ".".join(quoted(str(name), of_types) for name in names if str(name))


def quoted(name, of_types):
    plain = re.fullmatch("[a-z_][a-z_0-9]*", name) or of_types and re.fullmatch(r"[a-z][a-z ]*(\[\])?", name)
    category = KEYWORDS.scan_keyword(name)
    if plain and (category in (None, 0) or of_types and category == 1):
        return name
    return '"' + name.replace('"', '""') + '"'


def literal(value, connection, force_quote=False):
    text = psycopg.sql.Literal(value).as_string(connection).strip()
    return f"'{text}'" if force_quote and not text.startswith("'") else text


def module(path):
    specification = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(loaded)
    return loaded


KEYWORDS = module(PACKAGE / "utils/driver/psycopg3/keywords.py")


def environment(folders):
    made = jinja2.Environment(loader=jinja2.FileSystemLoader(folders), trim_blocks=True)
    made.globals["_"] = lambda text: text
    made.filters.update(
        qtIdent=identifier, qtLiteral=literal, hasAny=lambda data, keys: any(key in data for key in keys),
        qtTypeIdent=lambda connection, *names: identifier(connection, *names, of_types=True))
    return made


def statements_in(path, function):
    """The SQL that a function of pgAdmin's Python sources holds as literals."""
    tree = ast.parse((PACKAGE / path).read_text())
    body = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == function)
    texts = [node.value for node in ast.walk(body) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [text for text in texts if re.match(r"\s*(SELECT|SET|SHOW)\s", text)]


class Session:
    """Renders and runs what pgAdmin would, and keeps the answers."""

    def __init__(self, connection):
        self.connection, self.version = connection, connection.info.server_version
        self.folders = sorted(folder for folder in PACKAGE.glob("**/templates") if "tests" not in folder.parts)
        self.environment = environment(self.folders)
        self.usual, self.names, self.answers, self.failures = {}, {}, {}, {}
        self.asked = set()

    def resolve(self, template):
        """The template of the newest version that is not newer than the server, as pgAdmin's loader finds it."""
        for number, name in VERSIONS:
            path = template.replace("#", name)
            if number <= self.version and any((folder / path).is_file() for folder in self.folders):
                return path
        return None

    def files(self, directory):
        """The templates of a directory that read, those of all versions together."""
        pattern = directory.replace("#", "*") + "/*.sql"
        found = {path.name for folder in self.folders for path in folder.glob(pattern)}
        return sorted(name for name in found if not NOT_READ.fullmatch(name) and self.resolve(f"{directory}/{name}"))

    def ask(self, template, label="", **parameters):
        """Runs what the template makes of the parameters."""
        parameters = {**self.usual, **parameters, "conn": self.connection}
        sql = self.environment.get_template(self.resolve(template)).render(parameters)
        self.run(template, label, sql, {name: parameters[name] for name in re.findall(r"%\((\w+)\)s", sql)} or None)

    def run(self, name, label, sql, arguments=None):
        """Keeps the answer, once for each statement; a template may leave nothing to ask."""
        key = f"{name} [{label}]" if label else name
        asked = (sql, str(arguments))
        if asked in self.asked or not re.sub(r"/\*.*?\*/|--[^\n]*", "", sql).strip():
            return
        self.asked.add(asked)
        try:
            cursor = self.connection.execute(sql, arguments)
        except psycopg.Error as error:
            self.failures[key] = (name, f"{error.sqlstate}: {error.diag.message_primary}", sql)
            self.answers[key] = self.failures[key][1]
            return
        ordered = re.search(r"(?i)\border\s+by\b[^()]*$", sql)
        self.answers[key] = self.normalized(cursor.pgresult, cursor.description or [], ordered)

    def normalized(self, result, columns, ordered):
        rows = [[self.value(result.get_value(row, at), column) for at, column in enumerate(columns)]
                for row in range(result.ntuples)]
        return {"columns": [f"{column.name} {column.type_display}" for column in columns],
                "rows": rows if ordered else sorted(rows, key=str)}

    def value(self, value, column):
        """Without what differs from server to server."""
        if value is None:
            return None
        if column.name in ("pid", "PID"):
            return "pid"
        year = datetime.date.today().year
        text = re.sub(rf"{year}-\d\d-\d\d[ T][0-9:.]+([+-]\d\d(:?\d\d)?)?", "time", value.decode())
        text = re.sub(r"\b[1-9]\d{4,}\b", lambda number: self.names.get(number[0], number[0]), text)
        return "oid" if column.type_code == 26 and re.fullmatch(r"\d{5,}", text) else text

    def column(self, key, name):
        """A column of an answer, without the names that PostgreSQL has of itself."""
        answer = self.answers.get(key)
        if not isinstance(answer, dict):
            return answer
        at = [column.split(" ")[0] for column in answer["columns"]].index(name)
        return [row[at] for row in answer["rows"] if not (row[at] or "").startswith(("pg_", "postgres"))]

    def name_oids(self):
        for kind, sql in [
            ("relation", "SELECT oid, relname FROM pg_catalog.pg_class"),
            ("type", "SELECT oid, typname FROM pg_catalog.pg_type"),
            ("constraint", "SELECT oid, conname FROM pg_catalog.pg_constraint"),
            ("role", "SELECT oid, rolname FROM pg_catalog.pg_roles"),
            ("schema", "SELECT oid, nspname FROM pg_catalog.pg_namespace"),
            ("database", "SELECT oid, datname FROM pg_catalog.pg_database"),
            ("rule of", "SELECT r.oid, relname FROM pg_catalog.pg_rewrite r, pg_catalog.pg_class c WHERE c.oid = ev_class"),
            ("default of",
             "SELECT d.oid, relname || adnum FROM pg_catalog.pg_attrdef d, pg_catalog.pg_class c WHERE c.oid = adrelid"),
        ]:
            self.names.update({str(oid): f"{kind} {name}" for oid, name in self.connection.execute(sql) if oid >= 16384})

    def numbers(self, sql, *arguments):
        """What a query of names and their oids or numbers finds."""
        return {name: int(number) for name, number in sorted(self.connection.execute(sql, arguments))}


def under(parent, own, objects, **more):
    """The parameters for all the objects of a parent, and for each of them, whose oid is the parameter of the name `own`."""
    parent = {**parent, **more}
    everything = {**parent, "all": True, "label": parent.get("label", "all")}
    return [everything, *({**parent, "label": name, own: oid} for name, oid in objects.items())]


def nodes(session):
    """For each directory of templates, the parameters that pgAdmin has for the nodes of its kind."""
    schemas = session.numbers("SELECT nspname, oid FROM pg_catalog.pg_namespace")
    databases = session.numbers("SELECT datname, oid FROM pg_catalog.pg_database")
    session.usual.update(did=databases["braid"], datlastsysoid=16383, last_system_oid=16383)
    yield "connect/sql/#", [{}]
    yield "servers/sql/#", [{}]
    roles = session.numbers("SELECT rolname, oid FROM pg_catalog.pg_roles WHERE oid = 10 OR oid > 16383")
    yield "roles/sql/#", under({}, "rid", roles)
    yield "tablespaces/sql/#", under({}, "tsid", session.numbers("SELECT spcname, oid FROM pg_catalog.pg_tablespace"))
    yield "databases/sql/#", under({"did": 0}, "did", databases)
    yield "schemas/pg/#/sql", under({"schema": "shop"}, "scid", {name: schemas[name] for name in ("public", "shop", "Odd Name")})
    yield "catalog/pg/#/sql", under({}, "scid", {name: schemas[name] for name in ("pg_catalog", "information_schema")})
    yield from relations(session, schemas["shop"])
    yield from types(session, schemas["public"])
    yield from of_the_system(session, schemas)
    yield from absent(schemas)


def relations(session, shop):
    of_kind = "SELECT relname, oid FROM pg_catalog.pg_class WHERE relnamespace = %s AND relkind = %s"
    tables, views, mviews, sequences = (session.numbers(of_kind, shop, kind) for kind in "rvmS")
    inside = {"scid": shop, "schema_name": "shop"}
    yield "tables/sql/#", under(inside, "tid", tables, sname="shop", tname="order", data={"schema": "shop", "name": "order"},
                                oid=tables["order"], pid=0, where=f"WHERE dep.objid={tables['order']}::oid")
    for name, oid in {**tables, **views, **mviews}.items():
        yield from below_relation(session, name, oid)
    for name, oid in tables.items():
        yield from constraints(session, name, oid)
    yield "views/pg/#/sql", under(inside, "vid", views, data={"schema": "shop", "name": "paid"})
    yield "mviews/pg/#/sql", under(inside, "vid", mviews, data={"schema": "shop", "name": "totals"})
    data = {"schema": "shop", "name": "numbers", "oid": sequences["numbers"]}
    yield "sequences/sql/#", under(inside, "seid", sequences, schema="shop", name="numbers", data=data)
    yield "partitions/sql/pg/#", under({**inside, "tid": tables["order"]}, "ptid", {"none": 0})


def below_relation(session, name, oid):
    inside = {"tid": oid, "vid": oid, "schema": "shop", "table": name, "label": name}
    columns = session.numbers("SELECT attname, attnum FROM pg_catalog.pg_attribute WHERE attrelid = %s AND attnum > 0", oid)
    yield "columns/sql/#", [
        {**inside, "all": True},
        *({**inside, "label": f"{name}.{column}", "clid": number, "column": column, "data": {"name": column},
           "where": f"WHERE dep.objid={oid}::oid AND dep.objsubid={number}", "type_ids": "20, 1043", "type_id": "20"}
          for column, number in columns.items())]
    indexes = session.numbers(
        "SELECT relname, c.oid FROM pg_catalog.pg_index, pg_catalog.pg_class c WHERE c.oid = indexrelid AND indrelid = %s", oid)
    yield "indexes/sql/#", under(inside, "idx", indexes, oid=403, data={"name": name})
    yield "rules/sql", under(inside, "rid", {f"rule of {name}": 0}, rule_name="_RETURN")
    yield "triggers/sql/pg/#", under(inside, "trid", {f"trigger of {name}": 0}, tgfoid=0, clist="1", data={"name": "none"})
    policy = {f"policy of {name}": 0}
    yield "row_security_policies/sql/#", under(inside, "plid", policy, policy_table_id=oid, data={"name": "none"})


def constraints(session, name, oid):
    for directory, kind, own in [
        ("index_constraint/sql/#", "p", "cid"), ("index_constraint/sql/#", "u", "cid"), ("foreign_key/sql/#", "f", "fkid"),
        ("check_constraint/sql/#", "c", "cid"), ("exclusion_constraint/sql/#", "x", "exid"),
    ]:
        found = session.numbers(
            "SELECT conname, CASE WHEN contype IN ('p', 'u') THEN conindid ELSE oid END FROM pg_catalog.pg_constraint"
            " WHERE conrelid = %s AND contype = %s", oid, kind)
        inside = {"tid": oid, "constraint_type": kind, "colcnt": 2, "indextype": "btree", "type": "integer",
                  "confrelid": oid, "keys": [(1, 1), (2, 2)], "label": f"{name} {kind}"}
        yield directory, [{**inside, "all": True}, *(
            {**inside, "label": f"{name} {kind} {constraint}", own: number, "cid": number, "name": constraint}
            for constraint, number in (found or {"none": 0}).items())]


def types(session, public):
    found = session.numbers("SELECT typname, oid FROM pg_catalog.pg_type WHERE typname IN ('amount', 'state')")
    checks = session.numbers("SELECT conname, oid FROM pg_catalog.pg_constraint WHERE contypid = %s", found["amount"])
    yield "types/pg/sql/#", under({"scid": public}, "tid", {"state": found["state"]}, typtype="e", schema="public", data={
        "schema": "public", "name": "state", "typname": "float8", "opcname": "float8_ops"})
    yield "domains/sql/#", under({"scid": public}, "doid", {"amount": found["amount"]}, basensp="public", name="amount")
    yield "domain_constraints/sql/#", under({"doid": found["amount"]}, "coid", checks, name="positive", datatype="'amount'")


def of_the_system(session, schemas):
    catalog, shop = schemas["pg_catalog"], schemas["shop"]
    inside = {"scid": catalog, "schema_name": "pg_catalog"}
    yield "tables/sql/#", [{**inside, "tid": 1259, "label": "pg_class", "oid": 1259, "pid": 0, "tname": "pg_class",
                             "data": {"schema": "pg_catalog", "name": "pg_am"}}]
    columns = {"coid": 1259, "label": "pg_class", "where": "WHERE dep.objid=1259::oid AND dep.objsubid=1"}
    yield "catalog_object_column/sql/#", under(columns, "clid", {"pg_class.oid": 1})
    views = session.numbers("SELECT relname, oid FROM pg_catalog.pg_class WHERE relname = 'table_privileges'")
    yield "catalog_object/sql/pg/#", under({"scid": schemas["information_schema"]}, "coid", views)
    yield "languages/sql/#", under({}, "lid", session.numbers("SELECT lanname, oid FROM pg_catalog.pg_language"))
    yield "extensions/sql", under({}, "eid", session.numbers("SELECT extname, oid FROM pg_catalog.pg_extension"))
    for directory, own, sql in [
        ("casts/sql/#", "cid", "SELECT 'int8 to int4', oid FROM pg_catalog.pg_cast WHERE castsource = 20 AND casttarget = 23"),
        ("collations/sql/#", "coid", "SELECT collname, oid FROM pg_catalog.pg_collation WHERE collname IN ('C', 'default')"),
        ("functions/pg/sql/#", "fnid", "SELECT 'lower', oid FROM pg_catalog.pg_proc WHERE proname = 'lower' AND prorettype = 25"),
        ("fts_configurations/sql/#", "cfgid", "SELECT cfgname, oid FROM pg_catalog.pg_ts_config WHERE cfgname = 'simple'"),
        ("fts_dictionaries/sql/#", "dcid", "SELECT dictname, oid FROM pg_catalog.pg_ts_dict WHERE dictname = 'simple'"),
        ("fts_parsers/sql/#", "pid", "SELECT prsname, oid FROM pg_catalog.pg_ts_parser WHERE prsname = 'default'"),
        ("fts_templates/sql/#", "tid", "SELECT tmplname, oid FROM pg_catalog.pg_ts_template WHERE tmplname = 'simple'"),
    ]:
        more = {"data": {"schema": "pg_catalog" if own == "coid" else catalog, "name": "C"}, "name": "lower",
                "parser": "default", "parseroid": 3722, "copy_config": True,
                "nspname": "pg_catalog", "out_arg_oid": 25, "srctyp": "bigint", "trgtyp": "integer"}
        yield directory, under({"scid": shop, "schema_name": "shop", "label": "shop"}, own, {})
        yield directory, under(inside, own, session.numbers(sql) or {"none": 0}, **more)


def absent(schemas):
    """What nothing is made of here: pgAdmin asks for the lists of it all the same."""
    shop = {"scid": schemas["shop"], "schema_name": "shop"}
    for kind in ("procedures", "trigger_functions"):
        yield f"{kind}/pg/sql/#", under(shop, "fnid", {"none": 0}, name="none", nspname="shop", out_arg_oid=25)
    yield "aggregates/sql/#", under(shop, "agid", {"none": 0})
    yield "operators/sql/#", under(shop, "opid", {"none": 0})
    tables = {"basensp": "shop", "name": "none", "tid": 1259, "type_ids": "20, 23"}
    yield "foreign_tables/sql/#", under(shop, "foid", {"none": 0}, attrelid=1259, **tables)
    yield "event_triggers/sql/#", under({}, "etid", {"none": 0}, data={"name": "none"})
    yield "foreign_data_wrappers/sql/#", under({}, "fid", {"none": 0})
    yield "foreign_servers/sql/#", under({"fid": 0}, "fsid", {"none": 0})
    yield "user_mappings/sql/#", under({"fsid": 0, "fserid": 0}, "umid", {"none": 0})
    yield "publications/pg/#/sql", under({}, "pbid", {"none": 0}, pubname="none", pname="none", tid=1259)
    yield "subscriptions/sql/#", under({}, "subid", {"none": 0}, subname="none")
    yield "replica_nodes/sql/#", under({}, "pid", {"none": 0})


def tree(session):
    """The tree and the tabs of properties, SQL and statistics."""
    for directory, contexts in nodes(session):
        for name in session.files(directory):
            template = f"{directory}/{name}"
            for context in contexts if template not in NOT_USED else []:
                everything = context.get("all", False)
                if OF_PARENT.fullmatch(name) and not everything or everything and not OF_ALL.fullmatch(name):
                    continue
                for number, variant in enumerate(VARIANTS.get(template, [{}])):
                    label = context.get("label", "") + (f" {number}" if number else "")
                    session.ask(template, **{**context, **variant, "label": label})


def start(session):
    """What is sent when a connection starts, and when the first nodes open."""
    for path, function in [
        ("utils/driver/psycopg3/connection.py", "_initialize"), ("utils/driver/psycopg3/connection.py", "_set_user_info"),
        ("browser/server_groups/servers/pgagent/__init__.py", "backend_supported"),
        ("browser/server_groups/servers/databases/schemas/utils.py", "check_pgstattuple"),
        ("tools/search_objects/utils.py", "_check_permission"), ("tools/debugger/__init__.py", "check_debugger_enabled"),
        ("tools/debugger/__init__.py", "validate_debug"), ("dashboard/__init__.py", "check_system_statistics"),
    ]:
        for number, sql in enumerate(statements_in(path, function)):
            parameter = "utf-8" if "SET client_encoding" in sql else "1259"
            session.run(f"{path} {function} {number}", "", sql.replace("{0}", parameter))


def dependencies(session):
    """The tabs of dependencies and dependents."""
    for table, name in [("pg_class", "relname"), ("pg_namespace", "nspname"), ("pg_type", "typname"),
                        ("pg_constraint", "conname"), ("pg_roles", "rolname")]:
        rows = session.numbers(f"SELECT {name}, oid FROM pg_catalog.{table} WHERE oid > 16383 AND {name} !~ '^(pg|sql|_pg)_'")
        for label, oid in rows.items():
            label = f"{table} {label}"
            session.ask("depends/pg/#/dependencies.sql", label, where_clause=f"WHERE dep.objid={oid}::oid", object_id=oid)
            session.ask("depends/pg/#/role_dependencies.sql", label, where_clause=f"WHERE dep.objid={oid}::oid")
            session.ask("depends/pg/#/dependents.sql", label, where_clause=f"WHERE dep.refobjid={oid}::oid")


def dashboard(session):
    charts = [f"{name}_stats" for name in ("session", "tps", "ti", "to", "bio")]
    for label, did in [("server", None), ("database", session.usual["did"])]:
        for name in ("activity", "locks", "prepared"):
            session.ask(f"dashboard/sql/#/{name}.sql", label, did=did)
        session.ask("dashboard/sql/#/dashboard_stats.sql", label, did=did, chart_names=charts)
    for name in ("config", "log_format", "replication_slots", "replication_stats"):
        session.ask(f"dashboard/sql/#/{name}.sql")
    session.ask("vacuum_settings/sql/vacuum_defaults.sql", columns="'autovacuum_enabled', 'autovacuum_vacuum_threshold'")


def tools(session):
    """The query tool's completion, the wizard of grants, the search for objects, the lists of types."""
    schemas = "'shop', 'public'"
    for kind in ("tables", "views"):
        session.ask("sqlautocomplete/sql/#/tableview.sql", kind, schema_names=schemas, object_name=kind)
        session.ask("sqlautocomplete/sql/#/columns.sql", kind, schema_names=schemas, object_name=kind[:-1])
    for name in ("databases", "datatypes", "foreign_keys", "functions", "keywords", "schema"):
        session.ask(f"sqlautocomplete/sql/#/{name}.sql", schema_names=schemas, search_path=True)
    session.ask("sqlautocomplete/sql/#/schema.sql", "all")
    shop = session.numbers("SELECT nspname, oid FROM pg_catalog.pg_namespace")["shop"]
    for name in ("get_schemas", "foreign_table", "sequence", "table"):
        session.ask(f"grant_wizard/pg/#/sql/{name}.sql", node_id=shop)
    for kind in "vm":
        session.ask("grant_wizard/pg/#/sql/view.sql", kind, node_id=shop, node_type=kind)
    for kind in ("function", "procedure", "trigger_function"):
        session.ask("grant_wizard/pg/#/sql/function.sql", kind, node_id=shop, type=kind)
    for template in ("tables/sql/#/get_types_where_condition.sql", "foreign_tables/sql/#/types_condition.sql"):
        condition = session.environment.get_template(session.resolve(template)).render(session.usual, server_type="pg")
        session.ask("datatype/sql/#/get_types.sql", template, condition=condition, add_serials=True)
    session.ask("search_objects/sql/pg/#/search.sql", "order", search_text="%order%", obj_type="all",
                show_node_prefs=collections.defaultdict(lambda: True), skip_obj_type=[])


def data(session):
    """View/Edit Data: a row is shown, added, changed and deleted."""
    order = session.numbers("SELECT relname, oid FROM pg_catalog.pg_class WHERE relname = 'order'")["order"]
    where = {"nsp_name": "shop", "object_name": "order", "obj_id": order, "limit": 1000}
    for name in ("objectname", "get_columns", "primary_keys", "objectquery"):
        session.ask(f"sqleditor/sql/#/{name}.sql", **where)
    session.ask("sqleditor/sql/#/objectquery.sql", "filtered", **where, sql_filter="paid",
                data_sorting=[{"name": "id", "order": "desc"}])
    session.ask("sqleditor/sql/#/validate.sql", **where, row_filter="paid")
    types = {"id": "bigint", "customer_id": "integer", "total": "amount", "state": "state", "Odd Column": "text",
             "picture": "bytea"}
    values = {"id": "77", "customer_id": "1", "total": "3.50", "state": "paid", "Odd Column": "x", "picture": None}
    row = {"data_to_be_saved": values, "data_type": types, "type_cast_required": dict.fromkeys(types, True),
           "pgadmin_alias": {column: column.replace(" ", "_") for column in types}, "pk_names": "id", **where}
    arguments = {column.replace(" ", "_"): value for column, value in values.items()}
    session.ask("sqleditor/sql/#/insert.sql", **row, **arguments)
    session.ask("sqleditor/sql/#/select.sql", **row, **arguments, primary_keys=["id"])
    session.ask("sqleditor/sql/#/update.sql", **{**row, "data_to_be_saved": {"total": "4"}}, total="4", primary_keys={"id": 77})
    session.ask("sqleditor/sql/#/delete.sql", **where, no_of_keys=1, primary_key_labels=["id"], data=[{"id": 77}])
    shown = {"sql": 'SELECT * FROM shop."order" WHERE id = 1', "format": "json"}
    for analyze in (False, True):
        session.ask("sqleditor/sql/#/explain_plan.sql", f"analyze {analyze}", **shown, analyze=analyze, verbose=analyze, costs=True,
                    buffers=analyze, timing=analyze)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--write", type=pathlib.Path)
    options.add_argument("--verbose", action="store_true")
    options = options.parse_args()
    with psycopg.connect(autocommit=True, prepare_threshold=None) as connection:
        connection.execute(OBJECTS)
        session = Session(connection)
        session.name_oids()
        for part in (start, tree, dependencies, dashboard, tools, data):
            part(session)
        if options.write:
            options.write.write_text(json.dumps(session.answers, indent=1, ensure_ascii=False))
        braid = "Braid" in connection.execute("SELECT version()").fetchone()[0]
    report(session, REFUSED if braid else {}, WRONG if braid else {}, options.verbose)


def report(session, refused, wrong, verbose):
    failed = {name for name, *_ in session.failures.values()}
    complaints = [
        f"{key}: {message}" + (f"\n{sql}" if verbose else "")
        for key, (name, message, sql) in session.failures.items() if name not in refused]
    complaints += [f"{name} is answered, although REFUSED names it" for name in refused if name not in failed]
    for key, (column, expected) in EXPECTED.items():
        found = session.column(key, column)
        if (found != expected) != (key in wrong):
            complaints.append(f"{key}: {column} is {found} instead of {expected}" + (", no more" if key in wrong else ""))
    if complaints:
        sys.exit("\n".join(complaints))
    print(f"pgadmin: {len(session.answers)} answers, {len(failed)} templates refused, {len(wrong)} answers known to be wrong")


if __name__ == "__main__":
    main()
