//! What psql and drivers ask the system tables.

use crate::test_db::TestDb;

#[tokio::test]
async fn the_basic_questions_have_answers() {
    let db = TestDb::new().await;
    db.run("create table t (a int not null, b varchar(10))").await;
    db.check(&[
        ("select relname, relkind from pg_catalog.pg_class where relname = 't'", "t|r"),
        ("select nspname from pg_namespace where nspname = 'public'", "public"),
        ("select table_name from information_schema.tables where table_schema = 'public'", "t"),
        ("select 't'::regclass::int > 0", "true"),
    ])
    .await;
}
