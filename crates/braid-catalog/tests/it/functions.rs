//! Functions over the system relations, in calls as clients write them.

use braid_catalog::functions::expand_calls;
use braid_catalog::object_ids::{key_constraint_id, key_index_id, table_object_id};
use braid_sql::Evaluation;
use braid_sql::binder::Statement;
use braid_sql::binder::precedence::rebind_all;
use braid_sql::testing::FixedSession;
use braid_sql::testing::naive::rows_of;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;

use crate::given_server::user_catalog;
use crate::view_rows::World;
use crate::views::SystemTables;

/// The name and the texts of the first column of a query.
fn answer(sql: &str, world: &World<'_>) -> (String, Vec<Option<String>>) {
    let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).unwrap();
    let mut syntax = parser.parse_query().unwrap();
    expand_calls(&mut syntax);
    rebind_all(&mut syntax);
    let statement = Statement::new(sql, &FixedSession, &SystemTables);
    let query = statement.binder().whole_query(&syntax).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let rows = rows_of(&query, &statement.into_columns(), (&FixedSession, &[]), world).unwrap();
    let output = &query.outputs[0];
    let text = |row: Vec<_>| Evaluation::new(&FixedSession, &[]).text(&row[0], output.sql_type).unwrap();
    (output.name.clone(), rows.into_iter().map(text).collect())
}

#[tokio::test]
async fn functions_return_what_postgresql_returns() {
    let catalog = user_catalog().await;
    let world = World::new(&catalog);
    let id = catalog.table("every_type").unwrap().def.id;
    let (table, index, constraint) = (table_object_id(id), key_index_id(id), key_constraint_id(id));
    let check = |call: &str, expected: Option<&str>| {
        let call = call.replace("$table", &table.to_string()).replace("$index", &index.to_string());
        let call = call.replace("$constraint", &constraint.to_string());
        let (name, rows) = answer(&format!("SELECT {call}"), &world);
        assert_eq!(rows, [expected.map(str::to_owned)], "{call}");
        assert_eq!(name, call.split('(').next().unwrap().trim_start_matches("pg_catalog."), "{call}");
    };
    check("pg_catalog.pg_table_is_visible($table)", Some("t"));
    check("pg_table_is_visible(77)", None);
    check("pg_collation_is_visible(100)", Some("t"));
    check("pg_opclass_is_visible(1978)", Some("t"));
    check("pg_opfamily_is_visible(1976)", Some("t"));
    check("pg_conversion_is_visible(NULL)", None);
    check("pg_ts_config_is_visible(3748)", Some("t"));
    check("pg_ts_dict_is_visible(3765)", Some("t"));
    check("pg_ts_parser_is_visible(3722)", Some("t"));
    check("pg_ts_template_is_visible(3727)", Some("t"));
    check("pg_statistics_obj_is_visible(77)", None);
    check("pg_get_statisticsobjdef_columns(77)", None);
    check("pg_relation_is_publishable($table)", Some("t"));
    check("pg_relation_is_publishable(77)", None);
    check("obj_description($table, 'pg_class')", None);
    check("obj_description($table)", None);
    check("col_description($table, 1)", None);
    check("shobj_description(5, 'pg_database')", None);
    let definition = "CREATE UNIQUE INDEX every_type_pkey ON public.every_type USING btree (a_varchar, an_integer)";
    check("pg_get_indexdef($index)", Some(definition));
    check("pg_get_indexdef($index, 0, false)", Some(definition));
    check("pg_get_indexdef($index, 0, true)", Some(&definition.replace("public.", "")));
    check("pg_get_indexdef($index, 2, true)", Some("an_integer"));
    check("pg_get_indexdef($index, 9, true)", Some(""));
    check("pg_get_indexdef(77, 1, true)", None);
    check("pg_get_constraintdef($constraint, true)", Some("PRIMARY KEY (a_varchar, an_integer)"));
    check("pg_get_constraintdef(77)", None);
    check("pg_get_constraintdef($constraint)", Some("PRIMARY KEY (a_varchar, an_integer)"));
    check("pg_get_viewdef($table)", None);
    check("pg_is_other_temp_schema(2200)", Some("f"));
    check("pg_my_temp_schema()", Some("0"));
}

/// A name in an argument means the column around the call, also where the function's own relations have one of this name.
#[tokio::test]
async fn arguments_mean_columns_around_the_call() {
    let catalog = user_catalog().await;
    let world = World::new(&catalog);
    let texts = |sql: &str| answer(sql, &world).1.into_iter().map(Option::unwrap).collect::<Vec<_>>();
    let visible = "SELECT relname FROM pg_class WHERE relkind = 'r' AND pg_table_is_visible(oid) ORDER BY 1";
    assert_eq!(texts(visible), ["every_type", "unkeyed"]);
    let defaults = "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef ORDER BY adnum";
    assert_eq!(texts(defaults), ["7", "0.5", "'x'::text"]);
    assert_eq!(answer("SELECT pg_get_expr(adbin, 77) FROM pg_attrdef LIMIT 1", &world).1, [None]);
    let pretty = "SELECT pg_get_expr(adbin, adrelid, true) FROM pg_attrdef ORDER BY adnum";
    assert_eq!(texts(pretty), texts(defaults));
}
