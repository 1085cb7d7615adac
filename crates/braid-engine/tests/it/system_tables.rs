//! What psql and drivers ask the system tables. The long queries are psql 15's own (`psql -E`).

use crate::test_db::TestDb;

#[tokio::test]
async fn the_basic_questions_have_answers() {
    let db = TestDb::new().await;
    db.run("create table t (a int not null, b varchar(10))").await;
    db.check(&[
        ("select relname, relkind from pg_catalog.pg_class where relname = 't'", "t|r"),
        ("select nspname from pg_namespace where nspname = 'public'", "public"),
        ("select table_name from information_schema.tables where table_schema = 'public'", "t"),
        ("select 't'::regclass::int > 16383", "true"),
        ("select pg_size_pretty(pg_total_relation_size('t'::regclass))", "0 bytes"),
        ("select count(*) from pg_type where typname = 'int4'", "1"),
    ])
    .await;
}

/// `\dt`
const LIST_TABLES: &str = r#"SELECT n.nspname as "Schema",
  c.relname as "Name",
  CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type",
  pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
WHERE c.relkind IN ('r','p','')
      AND n.nspname <> 'pg_catalog'
      AND n.nspname !~ '^pg_toast'
      AND n.nspname <> 'information_schema'
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 1,2"#;

/// `\d t`: which table
const FIND_TABLE: &str = r"SELECT c.oid,
  n.nspname,
  c.relname
FROM pg_catalog.pg_class c
     LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname OPERATOR(pg_catalog.~) '^(t)$' COLLATE pg_catalog.default
  AND pg_catalog.pg_table_is_visible(c.oid)
ORDER BY 2, 3";

/// `\d+ t`: what kind of table
const TABLE_KIND: &str = r"SELECT c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity, c.relforcerowsecurity, false AS relhasoids, c.relispartition, pg_catalog.array_to_string(c.reloptions || array(select 'toast.' || x from pg_catalog.unnest(tc.reloptions) x), ', ')
, c.reltablespace, CASE WHEN c.reloftype = 0 THEN '' ELSE c.reloftype::pg_catalog.regtype::pg_catalog.text END, c.relpersistence, c.relreplident, am.amname
FROM pg_catalog.pg_class c
 LEFT JOIN pg_catalog.pg_class tc ON (c.reltoastrelid = tc.oid)
LEFT JOIN pg_catalog.pg_am am ON (c.relam = am.oid)
WHERE c.oid = '{oid}'";

/// `\d t`: its columns
const COLUMNS: &str = r"SELECT a.attname,
  pg_catalog.format_type(a.atttypid, a.atttypmod),
  (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true)
   FROM pg_catalog.pg_attrdef d
   WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef),
  a.attnotnull,
  (SELECT c.collname FROM pg_catalog.pg_collation c, pg_catalog.pg_type t
   WHERE c.oid = a.attcollation AND t.oid = a.atttypid AND a.attcollation <> t.typcollation) AS attcollation,
  a.attidentity,
  a.attgenerated
FROM pg_catalog.pg_attribute a
WHERE a.attrelid = '{oid}' AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum";

/// `\d t`: its policies
const POLICIES: &str = r"SELECT pol.polname, pol.polpermissive,
  CASE WHEN pol.polroles = '{0}' THEN NULL ELSE pg_catalog.array_to_string(array(select rolname from pg_catalog.pg_roles where oid = any (pol.polroles) order by 1),',') END,
  pg_catalog.pg_get_expr(pol.polqual, pol.polrelid),
  pg_catalog.pg_get_expr(pol.polwithcheck, pol.polrelid),
  CASE pol.polcmd
    WHEN 'r' THEN 'SELECT'
    WHEN 'a' THEN 'INSERT'
    WHEN 'w' THEN 'UPDATE'
    WHEN 'd' THEN 'DELETE'
    END AS cmd
FROM pg_catalog.pg_policy pol
WHERE pol.polrelid = '{oid}' ORDER BY 1;";

#[tokio::test]
async fn psql_describes_a_table() {
    let db = TestDb::new().await;
    db.run("create table t (id int primary key not enforced, name varchar(10) not null default 'x', price numeric(8,2), c char(3))")
        .await;
    assert_eq!(db.run(LIST_TABLES).await, "public|t|table|alice");
    let found = db.run(FIND_TABLE).await;
    let (oid, rest) = found.split_once('|').unwrap();
    assert_eq!(rest, "public|t");
    let about = |query: &str| query.replace("{oid}", oid);
    assert_eq!(db.run(&about(TABLE_KIND)).await, "0|r|true|false|false|false|false|false|false||0||p|d|heap");
    assert_eq!(
        db.run(&about(COLUMNS)).await,
        "id|integer|NULL|true|NULL||\nname|character varying(10)|'x'::character varying|true|NULL||\n\
         price|numeric(8,2)|NULL|false|NULL||\nc|character(3)|NULL|false|NULL||"
    );
    assert_eq!(db.run(&about(POLICIES)).await, "");
}

#[tokio::test]
async fn object_ids_are_the_same_for_everybody_and_after_changes() {
    let db = TestDb::new().await;
    db.run("create table a (x int)").await;
    db.run("create table b (x int)").await;
    let of_b = db.run("select oid from pg_class where relname = 'b'").await;
    db.run("drop table a").await;
    let bob = db.database.session("bob");
    let again = crate::test_db::run(&bob, "select 'b'::regclass::int").await.unwrap();
    assert_eq!(again, of_b);
    let joined = "select a.attname, d.adbin from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid \
                  where a.attrelid = 'b'::regclass";
    assert_eq!(db.run(joined).await, "x|NULL");
}

#[tokio::test]
async fn the_front_end_answers_questions_about_the_catalog() {
    let db = TestDb::new().await;
    db.run("create table t (id int not null, name varchar(10) default 'x', price numeric(8,2))").await;
    db.check(&[
        ("select 't'::regclass, 'pg_class'::regclass::oid, to_regclass('nothing'), 'public'::regnamespace", "t|1259|NULL|public"),
        (
            "select c.oid::regclass, c.relnamespace::regnamespace, pg_get_userbyid(c.relowner) from pg_class c \
             where c.relname in ('t', 'tables') order by c.relname",
            "t|public|alice\ninformation_schema.tables|information_schema|alice",
        ),
        (
            "select a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, \
             (select pg_get_expr(d.adbin, d.adrelid) from pg_attrdef d where d.adrelid = a.attrelid and d.adnum = a.attnum) \
             from pg_attribute a where a.attrelid = 't'::regclass and a.attnum > 0 order by a.attnum",
            "id|integer|true|NULL\nname|character varying(10)|false|'x'::character varying\nprice|numeric(8,2)|false|NULL",
        ),
        (
            "select column_name, data_type, character_maximum_length, numeric_scale, is_nullable \
             from information_schema.columns where table_name = 't' order by ordinal_position",
            "id|integer|NULL|0|NO\nname|character varying|10|NULL|YES\nprice|numeric|NULL|2|YES",
        ),
        ("select count(*) from pg_class c where c.relkind = 'r' and pg_table_is_visible(c.oid) and c.relname = 't'", "1"),
        ("with pg_class as (select 7 as a) select a from pg_class", "7"),
        ("select count(*) from pg_catalog.pg_type t join pg_namespace n on n.oid = t.typnamespace where t.typname = 'int4'", "1"),
        ("select datname from pg_database", "braid"),
        ("select rolname from pg_roles where rolsuper", "alice"),
    ])
    .await;
    db.check_states(&[
        ("select 'nothing'::regclass", "42P01"),
        ("select * from pg_catalog.nothing", "42P01"),
        ("select 'nothing'::regnamespace", "3F000"),
    ])
    .await;
}
