//! Functions over the system relations, as queries.
//!
//! PostgreSQL computes them in C from its caches. Here each is a scalar subquery, put in the place of its calls before a statement is
//! bound, so that it is planned with the rest of the statement and sees the same state of the database:
//!
//! ```sql
//! pg_get_triggerdef(x)  →  (SELECT … called.a1 … AS pg_get_triggerdef FROM (SELECT CAST(x AS oid) AS a1) AS called)
//! ```
//!
//! Arguments stand in a query of their own, beside no relation, so that names in them mean what they meant around the call, and are
//! evaluated once. Calls with other numbers of arguments, with names of arguments or with clauses are left as they are.

use braid_sql::syntax::WHOLE_ROW;
use braid_sql::syntax::walk::{Rewrite, Tree};
use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, ObjectNamePart, Query, Value,
    ValueWithSpan,
};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Tokenizer;

/// A function: its name, the types of its arguments, and its result from `called.a1`, `called.a2`, ….
#[derive(Debug)]
struct CatalogFunction {
    name: &'static str,
    arguments: &'static [&'static str],
    result: &'static str,
}

const fn function(name: &'static str, arguments: &'static [&'static str], result: &'static str) -> CatalogFunction {
    CatalogFunction { name, arguments, result }
}

/// A member of an index: a column, or an expression, which `pg_index.indexprs` divides by a character that SQL has not.
macro_rules! index_member {
    () => {
        "CASE
            WHEN keyed.attnum > indexed.indnkeyatts OR indexed.indkey[keyed.attnum - 1] <> 0 THEN quote_ident(keyed.attname)
            ELSE split_part(CAST(indexed.indexprs AS text), CHR(1), CAST((SELECT count(*)
                FROM generate_series(0, keyed.attnum - 1) places(at) WHERE indexed.indkey[places.at] = 0) AS integer)) END"
    };
}

const INDEX_DEFINITION: &str = concat!(
    "CASE
    WHEN called.a3 IS NULL THEN NULL
    WHEN called.a2 = 0 THEN (SELECT format('CREATE %sINDEX %I ON %s USING btree (%s)%s',
        CASE WHEN indexed.indisunique THEN 'UNIQUE ' ELSE '' END, named.relname,
        CASE WHEN called.a3 AND pg_table_is_visible(base.oid) THEN quote_ident(base.relname)
            ELSE format('%I.%I', spaced.nspname, base.relname) END,
        (SELECT string_agg(",
    index_member!(),
    "
                || coalesce((SELECT ' ' || quote_ident(class.opcname) FROM pg_catalog.pg_opclass class
                    WHERE class.oid = indexed.indclass[keyed.attnum - 1] AND NOT class.opcdefault), '')
                || CASE indexed.indoption[keyed.attnum - 1] WHEN 1 THEN ' DESC NULLS LAST' WHEN 2 THEN ' NULLS FIRST'
                    WHEN 3 THEN ' DESC' ELSE '' END, ', ' ORDER BY keyed.attnum)
            FROM pg_catalog.pg_attribute keyed WHERE keyed.attrelid = named.oid AND keyed.attnum <= indexed.indnkeyatts),
        coalesce((SELECT ' INCLUDE (' || string_agg(quote_ident(keyed.attname), ', ' ORDER BY keyed.attnum) || ')'
            FROM pg_catalog.pg_attribute keyed
            WHERE keyed.attrelid = named.oid AND keyed.attnum > indexed.indnkeyatts), '')
            || CASE WHEN indexed.indnullsnotdistinct THEN ' NULLS NOT DISTINCT' ELSE '' END
            || coalesce(CASE WHEN called.a3 THEN ' WHERE ' || CAST(indexed.indpred AS text)
                ELSE ' WHERE (' || CAST(indexed.indpred AS text) || ')' END, ''))
        FROM pg_catalog.pg_index indexed
        JOIN pg_catalog.pg_class named ON named.oid = indexed.indexrelid
        JOIN pg_catalog.pg_class base ON base.oid = indexed.indrelid
        JOIN pg_catalog.pg_namespace spaced ON spaced.oid = base.relnamespace
        WHERE indexed.indexrelid = called.a1)
    WHEN called.a2 <> 0 THEN (SELECT coalesce((SELECT ",
    index_member!(),
    "
            FROM pg_catalog.pg_attribute keyed
            WHERE keyed.attrelid = indexed.indexrelid AND keyed.attnum = called.a2), '')
        FROM pg_catalog.pg_index indexed WHERE indexed.indexrelid = called.a1)
    END"
);

/// Keys, those of the system's relations that are unique, foreign keys, and check constraints, whose conditions are kept as SQL.
const CONSTRAINT_DEFINITION: &str =
    "(SELECT CASE keys.contype WHEN 'c' THEN 'CHECK ((' || CAST(keys.conbin AS text) || '))'
        || CASE WHEN keys.convalidated THEN '' ELSE ' NOT VALID' END
    WHEN 'f' THEN 'FOREIGN KEY (' || (SELECT string_agg(quote_ident(own.attname), ', ' ORDER BY places.at)
            FROM generate_series(1, cardinality(keys.conkey)) places(at)
            JOIN pg_catalog.pg_attribute own ON own.attrelid = keys.conrelid AND own.attnum = keys.conkey[places.at])
        || ') REFERENCES ' || (SELECT CASE WHEN pg_table_is_visible(other.oid) THEN quote_ident(other.relname)
            ELSE format('%I.%I', spaced.nspname, other.relname) END
            FROM pg_catalog.pg_class other JOIN pg_catalog.pg_namespace spaced ON spaced.oid = other.relnamespace
            WHERE other.oid = keys.confrelid)
        || '(' || (SELECT string_agg(quote_ident(referred.attname), ', ' ORDER BY places.at)
            FROM generate_series(1, cardinality(keys.confkey)) places(at)
            JOIN pg_catalog.pg_attribute referred ON referred.attrelid = keys.confrelid AND referred.attnum = keys.confkey[places.at])
        || ')' || CASE keys.confmatchtype WHEN 'f' THEN ' MATCH FULL' ELSE '' END
        || CASE keys.confupdtype WHEN 'r' THEN ' ON UPDATE RESTRICT' WHEN 'c' THEN ' ON UPDATE CASCADE'
            WHEN 'n' THEN ' ON UPDATE SET NULL' WHEN 'd' THEN ' ON UPDATE SET DEFAULT' ELSE '' END
        || CASE keys.confdeltype WHEN 'r' THEN ' ON DELETE RESTRICT' WHEN 'c' THEN ' ON DELETE CASCADE'
            WHEN 'n' THEN ' ON DELETE SET NULL' WHEN 'd' THEN ' ON DELETE SET DEFAULT' ELSE '' END
        || coalesce((SELECT ' (' || string_agg(quote_ident(own.attname), ', ' ORDER BY places.at) || ')'
            FROM generate_series(1, cardinality(keys.confdelsetcols)) places(at)
            JOIN pg_catalog.pg_attribute own ON own.attrelid = keys.conrelid AND own.attnum = keys.confdelsetcols[places.at]), '')
        || CASE WHEN keys.condeferrable THEN ' DEFERRABLE' ELSE '' END
        || CASE WHEN keys.condeferred THEN ' INITIALLY DEFERRED' ELSE '' END
        || CASE WHEN keys.convalidated THEN '' ELSE ' NOT VALID' END
    ELSE CASE keys.contype WHEN 'p' THEN 'PRIMARY KEY (' WHEN 'u' THEN (SELECT CASE WHEN indexed.indnullsnotdistinct THEN 'UNIQUE NULLS NOT DISTINCT (' ELSE 'UNIQUE (' END
            FROM pg_catalog.pg_index indexed WHERE indexed.indexrelid = keys.conindid) END
    || (SELECT string_agg(quote_ident(keyed.attname), ', ' ORDER BY keyed.attnum)
        FROM pg_catalog.pg_attribute keyed WHERE keyed.attrelid = keys.conindid) || ')' END
    FROM pg_catalog.pg_constraint keys WHERE keys.oid = called.a1)";

const VIEW_DEFINITION: &str = "(SELECT CAST(rule.ev_action AS text) FROM pg_catalog.pg_rewrite rule
    WHERE rule.ev_class = called.a1 AND rule.rulename = '_RETURN')";

/// What a relation is called in messages, with its kind.
macro_rules! relation_description {
    () => {
        "(SELECT CASE described.relkind WHEN 'r' THEN 'table ' WHEN 'p' THEN 'table ' WHEN 'i' THEN 'index ' WHEN 'S' THEN 'sequence '
            WHEN 'v' THEN 'view ' WHEN 'm' THEN 'materialized view ' ELSE 'relation ' END || CAST(CAST(described.oid AS regclass) AS text)
            FROM pg_catalog.pg_class described WHERE described.oid = "
    };
}

/// An object as messages name it (objectaddress.c, `getObjectDescription`), of the catalogs that have objects of users.
const OBJECT_DESCRIPTION: &str = concat!(
    "CASE WHEN called.a3 IS NULL THEN NULL
    WHEN called.a1 = 1259 AND called.a3 = 0 THEN ",
    relation_description!(),
    "called.a2)
    WHEN called.a1 = 1259 THEN (SELECT 'column ' || own.attname || ' of ' || ",
    relation_description!(),
    "own.attrelid)
        FROM pg_catalog.pg_attribute own WHERE own.attrelid = called.a2 AND own.attnum = called.a3)
    WHEN called.a1 = 1247 THEN (SELECT 'type ' || format_type(typed.oid, -1) FROM pg_catalog.pg_type typed WHERE typed.oid = called.a2)
    WHEN called.a1 = 2615 THEN (SELECT 'schema ' || spaced.nspname FROM pg_catalog.pg_namespace spaced WHERE spaced.oid = called.a2)
    WHEN called.a1 = 2606 THEN (SELECT 'constraint ' || keys.conname || CASE WHEN keys.conrelid = 0 THEN '' ELSE ' on ' || ",
    relation_description!(),
    "keys.conrelid) END
        FROM pg_catalog.pg_constraint keys WHERE keys.oid = called.a2)
    WHEN called.a1 = 2604 THEN (SELECT 'default value for column ' || own.attname || ' of ' || ",
    relation_description!(),
    "own.attrelid)
        FROM pg_catalog.pg_attrdef kept JOIN pg_catalog.pg_attribute own ON own.attrelid = kept.adrelid AND own.attnum = kept.adnum
        WHERE kept.oid = called.a2)
    WHEN called.a1 = 2618 THEN (SELECT 'rule ' || rule.rulename || ' on ' || ",
    relation_description!(),
    "rule.ev_class)
        FROM pg_catalog.pg_rewrite rule WHERE rule.oid = called.a2)
    WHEN called.a1 = 1255 THEN (SELECT 'function ' || CAST(CAST(defined.oid AS regprocedure) AS text)
        FROM pg_catalog.pg_proc defined WHERE defined.oid = called.a2)
    WHEN called.a1 = 1260 THEN (SELECT 'role ' || named.rolname FROM pg_catalog.pg_roles named WHERE named.oid = called.a2)
    WHEN called.a1 = 1262 THEN (SELECT 'database ' || named.datname FROM pg_catalog.pg_database named WHERE named.oid = called.a2)
    END"
);

/// The only rules are those of views.
const RULE_DEFINITION: &str =
    "(SELECT format('CREATE RULE %I AS' || CHR(10) || '    ON SELECT TO %s DO INSTEAD %s;', rule.rulename,
        CASE WHEN pg_table_is_visible(viewed.oid) THEN quote_ident(viewed.relname)
            ELSE format('%I.%I', spaced.nspname, viewed.relname) END, CAST(rule.ev_action AS text))
    FROM pg_catalog.pg_rewrite rule JOIN pg_catalog.pg_class viewed ON viewed.oid = rule.ev_class
    JOIN pg_catalog.pg_namespace spaced ON spaced.oid = viewed.relnamespace WHERE rule.oid = called.a1)";

const NOTHING_COUNTED: &str = "CASE WHEN called.a1 IS NOT NULL THEN CAST(0 AS bigint) END";

const NEVER: &str = "CASE WHEN called.a1 IS NULL THEN CAST(NULL AS timestamptz) END";

/// A function as CREATE FUNCTION makes it (ruleutils.c, `pg_get_functiondef`). PostgreSQL refuses aggregates (42809). Here a cast fails for
/// them (42883): its text says why, and names no function.
const FUNCTION_DEFINITION: &str = "(SELECT CASE WHEN defined.prokind = 'a'
        THEN CAST(CAST(format('\"%s is an aggregate function\"', defined.proname) AS regproc) AS text)
        ELSE format(E'CREATE OR REPLACE %s %I.%I(%s)\n%s LANGUAGE %I\n%s%s\n',
            CASE defined.prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END, spaced.nspname, defined.proname,
            pg_get_function_arguments(defined.oid), ' RETURNS ' || pg_get_function_result(defined.oid) || E'\n', spoken.lanname,
            coalesce(nullif(concat(
                CASE defined.prokind WHEN 'w' THEN ' WINDOW' END,
                CASE defined.provolatile WHEN 'i' THEN ' IMMUTABLE' WHEN 's' THEN ' STABLE' END,
                CASE defined.proparallel WHEN 's' THEN ' PARALLEL SAFE' WHEN 'r' THEN ' PARALLEL RESTRICTED' END,
                CASE WHEN defined.proisstrict THEN ' STRICT' END,
                CASE WHEN defined.prosecdef THEN ' SECURITY DEFINER' END,
                CASE WHEN defined.proleakproof THEN ' LEAKPROOF' END,
                CASE WHEN defined.procost <> CASE WHEN spoken.lanname IN ('internal', 'c') THEN 1 ELSE 100 END
                    THEN ' COST ' || defined.procost END,
                CASE WHEN defined.prorows NOT IN (0, 1000) THEN ' ROWS ' || defined.prorows END,
                CASE WHEN CAST(defined.prosupport AS oid) <> 0 THEN ' SUPPORT ' || CAST(defined.prosupport AS text) END)
                || E'\n', E'\n'), ''),
            coalesce(CAST(defined.prosqlbody AS text), format('AS %s$%s$%s$%s$', quote_literal(defined.probin) || ', ',
                CASE defined.prokind WHEN 'p' THEN 'procedure' ELSE 'function' END, defined.prosrc,
                CASE defined.prokind WHEN 'p' THEN 'procedure' ELSE 'function' END))) END
    FROM pg_catalog.pg_proc defined
    JOIN pg_catalog.pg_namespace spaced ON spaced.oid = defined.pronamespace
    JOIN pg_catalog.pg_language spoken ON spoken.oid = defined.prolang
    WHERE defined.oid = called.a1)";

/// How the names of functions of `information_schema` begin.
const OF_INFORMATION_SCHEMA: &str = "_pg_";

/// Functions of `information_schema` whose arguments are a row of `pg_attribute` and one of `pg_type`: the column of the latter that is the
/// result for a domain, and that of the former otherwise.
const OF_ROWS: [(&str, &str, &str); 2] =
    [("_pg_truetypid", "typbasetype", "atttypid"), ("_pg_truetypmod", "typtypmod", "atttypmod")];

/// Expression trees are kept as SQL.
const FUNCTIONS: &[CatalogFunction] = &[
    function(
        "pg_get_expr",
        &["pg_node_tree", "oid"],
        "CASE WHEN called.a2 = 0 OR EXISTS (SELECT 1 FROM pg_catalog.pg_class named WHERE named.oid = called.a2)
            THEN replace(CAST(called.a1 AS text), CHR(1), ', ') END",
    ),
    function(
        "pg_get_expr",
        &["pg_node_tree", "oid", "boolean"],
        "CASE WHEN called.a3 IS NOT NULL THEN pg_get_expr(called.a1, called.a2) END",
    ),
    // Its schema is in the search path, and none before it has a relation of its name.
    function(
        "pg_table_is_visible",
        &["oid"],
        "(SELECT array_position(current_schemas(true), home.nspname) IS NOT NULL AND NOT EXISTS (SELECT 1
            FROM pg_catalog.pg_class hiding JOIN pg_catalog.pg_namespace other ON other.oid = hiding.relnamespace
            WHERE hiding.relname = named.relname AND array_position(current_schemas(true), other.nspname)
                < array_position(current_schemas(true), home.nspname))
            FROM pg_catalog.pg_class named JOIN pg_catalog.pg_namespace home ON home.oid = named.relnamespace
            WHERE named.oid = called.a1)",
    ),
    function(
        "pg_collation_is_visible",
        &["oid"],
        "(SELECT named.collnamespace = 11 FROM pg_catalog.pg_collation named WHERE named.oid = called.a1)",
    ),
    function(
        "pg_conversion_is_visible",
        &["oid"],
        "(SELECT named.connamespace = 11 FROM pg_catalog.pg_conversion named WHERE named.oid = called.a1)",
    ),
    function(
        "pg_opclass_is_visible",
        &["oid"],
        "(SELECT named.opcnamespace = 11 FROM pg_catalog.pg_opclass named WHERE named.oid = called.a1)",
    ),
    function(
        "pg_opfamily_is_visible",
        &["oid"],
        "(SELECT named.opfnamespace = 11 FROM pg_catalog.pg_opfamily named WHERE named.oid = called.a1)",
    ),
    function(
        "pg_ts_config_is_visible",
        &["oid"],
        "(SELECT named.cfgnamespace = 11 FROM pg_catalog.pg_ts_config named WHERE named.oid = called.a1)",
    ),
    function(
        "pg_ts_dict_is_visible",
        &["oid"],
        "(SELECT named.dictnamespace = 11 FROM pg_catalog.pg_ts_dict named WHERE named.oid = called.a1)",
    ),
    function(
        "pg_ts_parser_is_visible",
        &["oid"],
        "(SELECT named.prsnamespace = 11 FROM pg_catalog.pg_ts_parser named WHERE named.oid = called.a1)",
    ),
    function(
        "pg_ts_template_is_visible",
        &["oid"],
        "(SELECT named.tmplnamespace = 11 FROM pg_catalog.pg_ts_template named WHERE named.oid = called.a1)",
    ),
    function(
        "pg_statistics_obj_is_visible",
        &["oid"],
        "(SELECT named.stxnamespace = 11 FROM pg_catalog.pg_statistic_ext named WHERE named.oid = called.a1)",
    ),
    function(
        "obj_description",
        &["oid", "name"],
        "(SELECT noted.description FROM pg_catalog.pg_description noted WHERE noted.objoid = called.a1
            AND noted.classoid = (SELECT named.oid FROM pg_catalog.pg_class named
                WHERE named.relname = called.a2 AND named.relnamespace = 11)
            AND noted.objsubid = 0)",
    ),
    function(
        "pg_relation_is_publishable",
        &["regclass"],
        "(SELECT named.relkind IN ('r', 'p') AND named.relpersistence = 'p' AND named.oid >= 16384
            FROM pg_catalog.pg_class named WHERE named.oid = called.a1)",
    ),
    // There are no triggers.
    function("pg_get_triggerdef", &["oid"], "CASE WHEN called.a1 IS NULL THEN CAST(NULL AS text) END"),
    function(
        "pg_get_triggerdef",
        &["oid", "boolean"],
        "CASE WHEN called.a1 IS NULL AND called.a2 IS NULL THEN CAST(NULL AS text) END",
    ),
    // There are no extended statistics.
    function("pg_get_statisticsobjdef_columns", &["oid"], "CASE WHEN called.a1 IS NULL THEN CAST(NULL AS text) END"),
    function(
        "obj_description",
        &["oid"],
        "(SELECT noted.description FROM pg_catalog.pg_description noted
            WHERE noted.objoid = called.a1 AND noted.objsubid = 0 LIMIT 1)",
    ),
    function(
        "col_description",
        &["oid", "integer"],
        "(SELECT noted.description FROM pg_catalog.pg_description noted
            WHERE noted.objoid = called.a1 AND noted.classoid = 1259 AND noted.objsubid = called.a2)",
    ),
    function(
        "shobj_description",
        &["oid", "name"],
        "(SELECT noted.description FROM pg_catalog.pg_shdescription noted WHERE noted.objoid = called.a1
            AND noted.classoid = (SELECT named.oid FROM pg_catalog.pg_class named
                WHERE named.relname = called.a2 AND named.relnamespace = 11))",
    ),
    function("pg_get_indexdef", &["oid"], "pg_get_indexdef(called.a1, 0, false)"),
    function("pg_get_indexdef", &["oid", "integer", "boolean"], INDEX_DEFINITION),
    function("pg_get_constraintdef", &["oid"], CONSTRAINT_DEFINITION),
    // Without the parentheses that PostgreSQL puts around all conditions otherwise.
    function(
        "pg_get_constraintdef",
        &["oid", "boolean"],
        "CASE WHEN called.a2 THEN coalesce((SELECT 'CHECK (' || CAST(keys.conbin AS text) || ')'
                || CASE WHEN keys.convalidated THEN '' ELSE ' NOT VALID' END
                FROM pg_catalog.pg_constraint keys WHERE keys.oid = called.a1 AND keys.contype = 'c'),
            pg_get_constraintdef(called.a1))
            WHEN NOT called.a2 THEN pg_get_constraintdef(called.a1) END",
    ),
    function("pg_get_viewdef", &["oid"], VIEW_DEFINITION),
    function(
        "pg_get_viewdef",
        &["oid", "boolean"],
        "CASE WHEN called.a2 IS NOT NULL THEN pg_get_viewdef(called.a1) END",
    ),
    function("pg_get_viewdef", &["text"], "pg_get_viewdef(CAST(CAST(called.a1 AS regclass) AS oid))"),
    function(
        "pg_get_viewdef",
        &["text", "boolean"],
        "CASE WHEN called.a2 IS NOT NULL THEN pg_get_viewdef(CAST(CAST(called.a1 AS regclass) AS oid)) END",
    ),
    // Nothing is counted of single tables and indexes.
    function("pg_stat_get_autoanalyze_count", &["oid"], NOTHING_COUNTED),
    function("pg_stat_get_autovacuum_count", &["oid"], NOTHING_COUNTED),
    function("pg_stat_get_blocks_fetched", &["oid"], NOTHING_COUNTED),
    function("pg_stat_get_blocks_hit", &["oid"], NOTHING_COUNTED),
    function("pg_stat_get_dead_tuples", &["oid"], NOTHING_COUNTED),
    function("pg_stat_get_ins_since_vacuum", &["oid"], NOTHING_COUNTED),
    function("pg_stat_get_mod_since_analyze", &["oid"], NOTHING_COUNTED),
    function("pg_stat_get_numscans", &["oid"], NOTHING_COUNTED),
    function("pg_stat_get_tuples_deleted", &["oid"], NOTHING_COUNTED),
    function("pg_stat_get_tuples_fetched", &["oid"], NOTHING_COUNTED),
    function("pg_stat_get_tuples_hot_updated", &["oid"], NOTHING_COUNTED),
    function("pg_stat_get_tuples_inserted", &["oid"], NOTHING_COUNTED),
    function("pg_stat_get_tuples_returned", &["oid"], NOTHING_COUNTED),
    function("pg_stat_get_tuples_updated", &["oid"], NOTHING_COUNTED),
    function("pg_stat_get_last_autoanalyze_time", &["oid"], NEVER),
    function("pg_stat_get_last_autovacuum_time", &["oid"], NEVER),
    function(
        "pg_stat_get_live_tuples",
        &["oid"],
        "CASE WHEN called.a1 IS NOT NULL THEN coalesce((SELECT CAST(greatest(counted.reltuples, 0) AS bigint)
            FROM pg_catalog.pg_class counted WHERE counted.oid = called.a1), 0) END",
    ),
    function("pg_get_functiondef", &["oid"], FUNCTION_DEFINITION),
    function(
        "pg_get_function_sqlbody",
        &["oid"],
        "(SELECT CAST(defined.prosqlbody AS text) FROM pg_catalog.pg_proc defined WHERE defined.oid = called.a1)",
    ),
    function(
        "pg_relation_filenode",
        &["regclass"],
        "(SELECT nullif(named.relfilenode, 0) FROM pg_catalog.pg_class named WHERE named.oid = called.a1)",
    ),
    function(
        "pg_indexam_has_property",
        &["oid", "text"],
        "(SELECT CASE lower(called.a2)
            WHEN 'can_order' THEN method.amname = 'btree'
            WHEN 'can_unique' THEN method.amname = 'btree'
            WHEN 'can_multi_col' THEN method.amname IN ('btree', 'gist', 'gin', 'brin')
            WHEN 'can_exclude' THEN method.amname IN ('btree', 'hash', 'gist', 'spgist')
            WHEN 'can_include' THEN method.amname IN ('btree', 'gist', 'spgist') END
            FROM pg_catalog.pg_am method WHERE method.oid = called.a1 AND method.amtype = 'i')",
    ),
    // All indexes are B-trees.
    function(
        "pg_index_has_property",
        &["regclass", "text"],
        "(SELECT CASE WHEN lower(called.a2) IN ('clusterable', 'index_scan', 'bitmap_scan', 'backward_scan') THEN true END
            FROM pg_catalog.pg_index indexed WHERE indexed.indexrelid = called.a1)",
    ),
    function(
        "pg_index_column_has_property",
        &["regclass", "integer", "text"],
        "(SELECT CASE WHEN called.a2 BETWEEN 1 AND indexed.indnatts THEN CASE lower(called.a3)
                WHEN 'returnable' THEN true
                WHEN 'distance_orderable' THEN false
                WHEN 'orderable' THEN called.a2 <= indexed.indnkeyatts
                ELSE CASE WHEN called.a2 <= indexed.indnkeyatts THEN CASE lower(called.a3)
                    WHEN 'asc' THEN indexed.indoption[called.a2 - 1] IN (0, 2)
                    WHEN 'desc' THEN indexed.indoption[called.a2 - 1] IN (1, 3)
                    WHEN 'nulls_first' THEN indexed.indoption[called.a2 - 1] IN (2, 3)
                    WHEN 'nulls_last' THEN indexed.indoption[called.a2 - 1] IN (0, 1)
                    WHEN 'search_array' THEN true
                    WHEN 'search_nulls' THEN true END END END END
            FROM pg_catalog.pg_index indexed WHERE indexed.indexrelid = called.a1)",
    ),
    // There are no partitions.
    function("pg_partition_root", &["regclass"], "CASE WHEN called.a1 IS NULL THEN CAST(NULL AS regclass) END"),
    // There are no triggers and no policies of rows.
    function("pg_trigger_depth", &[], "0"),
    function("row_security_active", &["oid"], "CASE WHEN called.a1 IS NOT NULL THEN false END"),
    function("row_security_active", &["text"], "CASE WHEN CAST(called.a1 AS regclass) IS NOT NULL THEN false END"),
    // The log is the standard error, no file.
    function("pg_current_logfile", &[], "CAST(NULL AS text)"),
    function("pg_get_partkeydef", &["oid"], "CASE WHEN called.a1 IS NULL THEN CAST(NULL AS text) END"),
    // The bits of UPDATE, INSERT and DELETE: rows of views cannot be changed.
    function(
        "pg_relation_is_updatable",
        &["regclass", "boolean"],
        "CASE WHEN called.a1 IS NOT NULL AND called.a2 IS NOT NULL THEN coalesce((SELECT
            CASE WHEN named.relkind IN ('r', 'p') THEN 28 ELSE 0 END
            FROM pg_catalog.pg_class named WHERE named.oid = called.a1), 0) END",
    ),
    function(
        "pg_column_is_updatable",
        &["regclass", "smallint", "boolean"],
        "CASE WHEN called.a1 IS NOT NULL AND called.a2 IS NOT NULL AND called.a3 IS NOT NULL THEN coalesce((SELECT
            called.a2 > 0 AND named.relkind IN ('r', 'p')
            FROM pg_catalog.pg_class named WHERE named.oid = called.a1), false) END",
    ),
    function("pg_describe_object", &["oid", "oid", "integer"], OBJECT_DESCRIPTION),
    function("pg_get_ruledef", &["oid"], RULE_DEFINITION),
    function(
        "pg_get_ruledef",
        &["oid", "boolean"],
        "CASE WHEN called.a2 IS NOT NULL THEN pg_get_ruledef(called.a1) END",
    ),
    function(
        "_pg_char_max_length",
        &["oid", "integer"],
        "CASE WHEN called.a2 = -1 THEN NULL WHEN called.a1 IN (1042, 1043) THEN called.a2 - 4
            WHEN called.a1 IN (1560, 1562) THEN called.a2 END",
    ),
    function(
        "_pg_char_octet_length",
        &["oid", "integer"],
        "CASE WHEN called.a1 IN (25, 1042, 1043) THEN CASE called.a2 WHEN -1 THEN 1073741824
            ELSE information_schema._pg_char_max_length(called.a1, called.a2) * 4 END END",
    ),
    function(
        "_pg_numeric_precision",
        &["oid", "integer"],
        "CASE WHEN called.a2 IS NULL THEN NULL ELSE CASE called.a1 WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64
            WHEN 700 THEN 24 WHEN 701 THEN 53
            WHEN 1700 THEN CASE WHEN called.a2 <> -1 THEN ((called.a2 - 4) >> 16) & 65535 END END END",
    ),
    function(
        "_pg_numeric_precision_radix",
        &["oid", "integer"],
        "CASE WHEN called.a2 IS NULL THEN NULL WHEN called.a1 IN (20, 21, 23, 700, 701) THEN 2 WHEN called.a1 = 1700 THEN 10 END",
    ),
    function(
        "_pg_numeric_scale",
        &["oid", "integer"],
        "CASE WHEN called.a2 IS NULL THEN NULL WHEN called.a1 IN (20, 21, 23) THEN 0
            WHEN called.a1 = 1700 THEN CASE WHEN called.a2 <> -1 THEN (called.a2 - 4) & 65535 END END",
    ),
    function(
        "_pg_datetime_precision",
        &["oid", "integer"],
        "CASE WHEN called.a2 IS NULL THEN NULL WHEN called.a1 = 1082 THEN 0
            WHEN called.a1 IN (1083, 1114, 1184, 1266) THEN CASE WHEN called.a2 < 0 THEN 6 ELSE called.a2 END
            WHEN called.a1 = 1186 THEN CASE WHEN called.a2 < 0 OR called.a2 & 65535 = 65535 THEN 6
                ELSE called.a2 & 65535 END END",
    ),
    function(
        "_pg_interval_type",
        &["oid", "integer"],
        "CASE WHEN called.a1 = 1186 AND called.a2 IS NOT NULL
            THEN upper(substring(format_type(called.a1, called.a2), '^interval[()0-9]* (.*)$')) END",
    ),
    function(
        "_pg_index_position",
        &["oid", "smallint"],
        "(SELECT CAST(places.at + 1 AS integer) FROM pg_catalog.pg_index indexed,
            generate_series(0, CAST(indexed.indnatts AS integer) - 1) places(at)
            WHERE indexed.indexrelid = called.a1 AND indexed.indkey[places.at] = called.a2 LIMIT 1)",
    ),
    function(
        "pg_my_temp_schema",
        &[],
        "coalesce((SELECT named.oid FROM pg_catalog.pg_namespace named
            WHERE named.nspname = 'pg_temp_' || CAST(pg_backend_pid() AS text)), CAST(0 AS oid))",
    ),
    function(
        "pg_is_other_temp_schema",
        &["oid"],
        "CASE WHEN called.a1 IS NOT NULL THEN EXISTS (SELECT 1 FROM pg_catalog.pg_namespace named
            WHERE named.oid = called.a1 AND starts_with(CAST(named.nspname AS text), 'pg_temp_')
                AND named.nspname <> 'pg_temp_' || CAST(pg_backend_pid() AS text)) END",
    ),
];

impl CatalogFunction {
    /// The subquery for a call, with placeholders for arguments.
    fn text(&self) -> String {
        let argument = |(at, argument): (usize, &&str)| {
            // No value has to be cast to it, and no other type can be.
            let cast = if *argument == "pg_node_tree" {
                format!("${}", at + 1)
            } else {
                format!("CAST(${} AS {argument})", at + 1)
            };
            format!("{cast} AS a{}", at + 1)
        };
        let arguments: Vec<String> = self.arguments.iter().enumerate().map(argument).collect();
        let from = if arguments.is_empty() {
            String::new()
        } else {
            format!(" FROM (SELECT {}) AS called", arguments.join(", "))
        };
        format!("(SELECT {} AS {}{from})", self.result, self.name)
    }

    /// The subquery for a call with these arguments. It has no place in the statement's text.
    fn call(&self, arguments: Vec<Expr>) -> Expr {
        let text = self.text();
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, &text).tokenize().expect("functions are tokens");
        let mut parser = Parser::new(&PostgreSqlDialect {}).with_tokens(tokens);
        let mut subquery = parser.parse_expr().expect("functions are expressions");
        // Functions call functions, none itself; calls in arguments are expanded already.
        subquery.rewrite(&mut Calls);
        subquery.rewrite(&mut Placeholders { arguments });
        subquery
    }
}

/// Puts queries in the place of calls of functions over the system relations. It is to be called before
/// [`rebind_all`](braid_sql::binder::precedence::rebind_all).
pub fn expand_calls(query: &mut Query) {
    query.rewrite(&mut Calls);
}

/// Whether an expression may be one that [`expand_calls`] replaces: it calls a function with such a name.
pub fn may_be_catalog_call(expression: &Expr) -> bool {
    let Expr::Function(call) = expression else { return false };
    let name = call.name.0.last().and_then(ObjectNamePart::as_ident);
    let is_one = |name: &Ident| {
        let mut known = FUNCTIONS.iter().map(|function| function.name).chain(OF_ROWS.map(|(name, ..)| name));
        known.any(|known| name.value.eq_ignore_ascii_case(known))
    };
    name.is_some_and(is_one)
}

/// Replaces calls, the inner ones first.
struct Calls;

impl Rewrite for Calls {
    fn leave_expression(&mut self, expression: &mut Expr) {
        if let Some((function, arguments)) = catalog_call(expression) {
            *expression = function.call(arguments);
        } else if let Some(of_rows) = call_of_rows(expression) {
            *expression = of_rows;
        }
    }
}

/// Replaces `$1` by the first argument. Those in the arguments are parameters of the statement, and are not visited.
struct Placeholders {
    arguments: Vec<Expr>,
}

impl Rewrite for Placeholders {
    fn leave_expression(&mut self, expression: &mut Expr) {
        if let Expr::Value(ValueWithSpan { value: Value::Placeholder(name), .. }) = expression {
            let at: usize = name[1..].parse().expect("placeholders are numbered");
            *expression = self.arguments[at - 1].clone();
        }
    }
}

/// Whether a function of `pg_proc` is one over the system relations.
pub fn is_over_relations(name: &str, types: &[&str]) -> bool {
    let takes_text = |types: &[&str]| types.first() == Some(&"text");
    let is_meant = |function: &CatalogFunction| {
        function.name == name
            && function.arguments.len() == types.len()
            && takes_text(function.arguments) == takes_text(types)
    };
    FUNCTIONS.iter().any(is_meant)
}

/// The function over the system relations that an expression calls, with its arguments.
fn catalog_call(expression: &Expr) -> Option<(&'static CatalogFunction, Vec<Expr>)> {
    let Expr::Function(call) = expression else { return None };
    let FunctionArguments::List(list) = &call.args else { return None };
    let is_plain = call.over.is_none()
        && call.filter.is_none()
        && call.null_treatment.is_none()
        && call.within_group.is_empty()
        && list.duplicate_treatment.is_none()
        && list.clauses.is_empty();
    let name = name_in_catalog(&call.name)?;
    let arguments: Option<Vec<Expr>> = list.args.iter().map(positional).collect();
    let arguments = arguments.filter(|_| is_plain)?;
    let is_called = |function: &&CatalogFunction| function.name == name && function.arguments.len() == arguments.len();
    // Of a string PostgreSQL takes the function of texts, if there is one.
    let is_string = |argument: &Expr| match argument {
        Expr::Value(value) => matches!(value.value, Value::SingleQuotedString(_)),
        _ => false,
    };
    let of_text = arguments.first().is_some_and(is_string);
    let fits = |function: &&CatalogFunction| (function.arguments.first() == Some(&"text")) == of_text;
    let mut called = FUNCTIONS.iter().filter(is_called);
    let function = called.clone().find(fits).or_else(|| called.next())?;
    Some((function, arguments))
}

/// What a call of one of [`OF_ROWS`] means. Rows of system relations have no type here, so that no subquery could get them.
fn call_of_rows(expression: &Expr) -> Option<Expr> {
    let Expr::Function(call) = expression else { return None };
    let FunctionArguments::List(list) = &call.args else { return None };
    let name = name_in_catalog(&call.name)?;
    let (_, of_domain, of_column) = OF_ROWS.into_iter().find(|(known, ..)| *known == name)?;
    let [attribute, declared] = &list.args[..] else { return None };
    let (attribute, declared) = (row_name(attribute)?, row_name(declared)?);
    let field =
        |row: &[Ident], name: &str| Expr::CompoundIdentifier(row.iter().cloned().chain([Ident::new(name)]).collect());
    let text = format!(
        "(SELECT CASE WHEN {} = 'd' THEN {} ELSE {} END AS {name})",
        field(&declared, "typtype"),
        field(&declared, of_domain),
        field(&attribute, of_column)
    );
    let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(&text).ok()?;
    parser.parse_expr().ok()
}

/// The name of the relation whose row an argument is.
fn row_name(argument: &FunctionArg) -> Option<Vec<Ident>> {
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument else { return None };
    match argument {
        Expr::Identifier(name) => Some(vec![name.clone()]),
        // `t.*`, or a name with its schema.
        Expr::CompoundIdentifier(names) => match &names[..] {
            [row @ .., last] if last.value == WHOLE_ROW => Some(row.to_vec()),
            _ => Some(names.clone()),
        },
        _ => None,
    }
}

fn positional(argument: &FunctionArg) -> Option<Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Some(argument.clone()),
        _ => None,
    }
}

/// The name of a function of `pg_catalog`, or of one of `information_schema`, which begin with `_pg_` and are named with their schema.
fn name_in_catalog(name: &ObjectName) -> Option<String> {
    let parts: Option<Vec<&Ident>> = name.0.iter().map(ObjectNamePart::as_ident).collect();
    let folded =
        |ident: &Ident| if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() };
    match parts?[..] {
        [name] => Some(folded(name)).filter(|name| !name.starts_with(OF_INFORMATION_SCHEMA)),
        [schema, name] => {
            let name = folded(name);
            let home = if name.starts_with(OF_INFORMATION_SCHEMA) { "information_schema" } else { "pg_catalog" };
            (folded(schema) == home).then_some(name)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(sql: &str) -> String {
        let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).unwrap();
        let mut query = parser.parse_query().unwrap();
        expand_calls(&mut query);
        query.to_string()
    }

    #[test]
    fn calls_become_subqueries() {
        assert_eq!(
            expanded("SELECT pg_catalog.PG_GET_STATISTICSOBJDEF_COLUMNS($1)"),
            "SELECT (SELECT CASE WHEN called.a1 IS NULL THEN CAST(NULL AS TEXT) END AS pg_get_statisticsobjdef_columns \
             FROM (SELECT CAST($1 AS oid) AS a1) AS called)"
        );
        let nested = expanded("SELECT pg_table_is_visible(pg_my_temp_schema()) FROM t");
        assert!(
            nested.contains("CAST((SELECT coalesce(") && nested.contains("AS pg_my_temp_schema) AS oid) AS a1"),
            "{nested}"
        );
    }

    #[test]
    fn other_calls_stay() {
        for sql in [
            "SELECT pg_table_is_visible(1, 2)",
            "SELECT public.pg_table_is_visible(1)",
            "SELECT \"PG_TABLE_IS_VISIBLE\"(1)",
            "SELECT pg_table_is_visible(DISTINCT a) FROM t",
            "SELECT abs(1)",
        ] {
            assert_eq!(expanded(sql), sql);
        }
    }

    /// A call of another function of its name is fine, with another number of arguments.
    #[test]
    fn no_function_is_defined_by_itself() {
        for CatalogFunction { name, arguments, result } in FUNCTIONS {
            let has_other =
                FUNCTIONS.iter().any(|other| other.name == *name && other.arguments.len() != arguments.len());
            assert!(has_other || !result.contains(&format!("{name}(")), "{name} of {} arguments", arguments.len());
        }
    }
}
