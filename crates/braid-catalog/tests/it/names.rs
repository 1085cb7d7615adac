//! Functions that look names up, with PostgreSQL 15's answers and errors for the same tables.

use braid_catalog::object_ids::table_object_id;
use braid_sql::Evaluation;
use braid_sql::binder::Statement;
use braid_sql::tables::NoTables;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;

use crate::given_server::user_catalog;
use crate::named_session::NamedSession;

/// The text of an expression's value, `NULL`, or the SQLSTATE and the message of its error.
fn answer(expression: &str, session: &NamedSession) -> String {
    let syntax = Parser::new(&PostgreSqlDialect {}).try_with_sql(expression).unwrap().parse_expr().unwrap();
    let statement = Statement::new(expression, session, &NoTables);
    let value = statement.binder().output_expression(&syntax).and_then(|bound| {
        let evaluation = Evaluation::new(session, &[]);
        evaluation.text(&evaluation.value(&bound)?, bound.sql_type)
    });
    match value {
        Ok(text) => text.unwrap_or_else(|| "NULL".to_owned()),
        Err(error) => format!("{} {}", error.sqlstate(), error.message()),
    }
}

async fn check(cases: &[(&str, &str)]) {
    let catalog = user_catalog().await;
    let table = table_object_id(catalog.table("every_type").unwrap().def.id).to_string();
    let session = NamedSession::of(catalog);
    for (expression, expected) in cases {
        assert_eq!(answer(&expression.replace("$table", &table), &session), *expected, "{expression}");
    }
}

#[tokio::test]
async fn relations_schemas_and_roles_are_named() {
    check(&[
        ("'every_type'::regclass::oid = $table", "t"),
        ("$table::regclass", "every_type"),
        ("'public.every_type'::regclass", "every_type"),
        ("'information_schema.tables'::regclass", "information_schema.tables"),
        ("'pg_class'::regclass::oid", "1259"),
        ("77::oid::regclass", "77"),
        ("'nope'::regclass", "42P01 relation \"nope\" does not exist"),
        ("to_regclass('nope')", "NULL"),
        ("'public'::regnamespace::oid", "2200"),
        ("'postgres'::regrole::oid", "10"),
        ("'nope'::regrole", "42704 role \"nope\" does not exist"),
    ])
    .await;
}

#[tokio::test]
async fn room_on_disk_is_that_of_tables_with_rows() {
    check(&[
        ("pg_relation_size('every_type')", "0"),
        ("pg_relation_size('every_type', 'vm')", "0"),
        ("pg_relation_size('every_type', 'x')", "22023 invalid fork name"),
        ("pg_table_size('every_type_pkey')", "0"),
        ("pg_total_relation_size($table::oid)", "0"),
        ("pg_total_relation_size(77)", "NULL"),
        ("pg_indexes_size('unkeyed')", "0"),
        ("pg_indexes_size('nope')", "42P01 relation \"nope\" does not exist"),
        ("pg_database_size('postgres')", "0"),
        ("pg_database_size('x')", "3D000 database \"x\" does not exist"),
        ("pg_tablespace_size('pg_global')", "0"),
        ("pg_tablespace_size(77)", "NULL"),
        ("pg_tablespace_size('x')", "42704 tablespace \"x\" does not exist"),
        ("pg_tablespace_location(1663)", ""),
        ("pg_tablespace_location(77)", "58P01 could not stat file \"pg_tblspc/77\": No such file or directory"),
    ])
    .await;
}

#[tokio::test]
async fn the_sessions_user_has_all_privileges() {
    check(&[
        ("has_table_privilege('every_type', 'select')", "t"),
        ("has_table_privilege('postgres', 'every_type', 'SELECT, insert with grant option')", "t"),
        ("has_table_privilege(10::oid, $table::oid, 'trigger')", "t"),
        ("has_table_privilege(77, 'select')", "NULL"),
        ("has_table_privilege(77, 'x')", "22023 unrecognized privilege type: \"x\""),
        ("has_table_privilege('nope', 'x')", "42P01 relation \"nope\" does not exist"),
        ("has_table_privilege('nope', 'nope', 'x')", "42704 role \"nope\" does not exist"),
        ("has_table_privilege('every_type', 'select,')", "22023 unrecognized privilege type: \"\""),
        ("has_table_privilege('pg_monitor', 'every_type', 'select')", "f"),
        ("has_table_privilege('pg_read_all_data', 'every_type', 'select')", "t"),
        ("has_table_privilege('pg_read_all_data', 'pg_authid', 'select')", "t"),
        ("has_table_privilege('public', 'pg_class', 'select')", "t"),
        ("has_table_privilege('public', 'pg_authid', 'select')", "f"),
        ("has_column_privilege('pg_write_all_data', 'every_type', 'an_integer', 'update')", "t"),
        ("has_column_privilege('every_type', 99::int2, 'update')", "NULL"),
        (
            "has_column_privilege('every_type', 'nope', 'update')",
            "42703 column \"nope\" of relation \"every_type\" does not exist",
        ),
        ("has_function_privilege('pg_monitor', 'pg_ls_waldir()', 'execute')", "t"),
        ("has_function_privilege('public', 'pg_ls_waldir()', 'execute')", "f"),
        ("has_type_privilege('public', 'integer', 'usage')", "t"),
        ("has_database_privilege('public', 1073741823::oid, 'temp')", "t"),
        ("has_database_privilege('public', 'postgres', 'create')", "f"),
        ("has_any_column_privilege('every_type', 'update')", "t"),
        ("has_any_column_privilege('every_type', 'delete')", "22023 unrecognized privilege type: \"delete\""),
        ("has_schema_privilege('public', ' usage ')", "t"),
        ("has_schema_privilege('nope', 'usage')", "3F000 schema \"nope\" does not exist"),
        ("has_schema_privilege(77, 'usage')", "NULL"),
        ("has_database_privilege('postgres', 'CONNECT')", "t"),
        ("has_database_privilege('nope', 'connect')", "3D000 database \"nope\" does not exist"),
        ("pg_has_role('pg_monitor', 'member')", "t"),
        ("pg_has_role(77, 'usage with admin option')", "t"),
        ("pg_has_role('nope', 'usage')", "42704 role \"nope\" does not exist"),
    ])
    .await;
}

#[tokio::test]
async fn no_column_has_a_sequence() {
    check(&[
        ("pg_get_serial_sequence('every_type', 'an_integer')", "NULL"),
        (
            "pg_get_serial_sequence('public.every_type', 'x')",
            "42703 column \"x\" of relation \"every_type\" does not exist",
        ),
        ("pg_get_serial_sequence('pg_class', 'relname')", "NULL"),
        ("pg_get_serial_sequence('nope', 'x')", "42P01 relation \"nope\" does not exist"),
    ])
    .await;
}
