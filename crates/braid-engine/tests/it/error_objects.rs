//! What errors of constraints are about, for programs: the schema, and the table with its column or constraint, or the domain.

use braid_engine::{EngineError, ErrorObject};

use crate::test_db::TestDb;

/// The SQLSTATE, and schema, table, column, domain and constraint.
fn about(error: &EngineError) -> (&'static str, String) {
    let ErrorObject { schema, table, column, data_type, constraint } = error.object().clone();
    let names = [schema, table, column, data_type, constraint].map(|name| name.unwrap_or_default()).join(",");
    (error.sqlstate(), names)
}

const TABLES: &[&str] = &[
    "create schema s",
    "create domain s.positive as int check (value > 0)",
    "create domain s.given as int not null",
    "create table s.p (k int primary key, n int not null, c int check (c > 0), d s.positive, e s.given default 1)",
    "create table s.r (k int references s.p)",
    "insert into s.p (k, n) values (1, 1)",
    "create table s.a (x int, y int, z int)",
    "insert into s.a values (1, null, 1), (1, 2, -2)",
];

/// As PostgreSQL 15 shows them.
#[tokio::test]
async fn errors_name_the_schema_of_what_they_are_about() {
    let db = TestDb::new().await;
    for sql in TABLES {
        db.run(sql).await;
    }
    for (sql, sqlstate, names) in [
        ("insert into s.p (k, n) values (1, 1)", "23505", "s,p,,,p_pkey"),
        ("insert into s.p (k) values (2)", "23502", "s,p,n,,"),
        ("insert into s.p (k, n, c) values (2, 1, -1)", "23514", "s,p,,,p_c_check"),
        ("insert into s.p (k, n, d) values (2, 1, -1)", "23514", "s,,,positive,positive_check"),
        ("insert into s.p (k, n, e) values (2, 1, null)", "23502", "s,,,given,"),
        ("select (-1)::s.positive", "23514", "s,,,positive,positive_check"),
        ("select null::s.given", "23502", "s,,,given,"),
        ("update s.p set n = null", "23502", "s,p,n,,"),
        ("insert into s.r values (9)", "23503", "s,r,,,r_k_fkey"),
        ("alter table s.a alter y set not null", "23502", "s,a,y,,"),
        ("alter table s.a add primary key (y)", "23502", "s,a,y,,"),
        ("alter table s.a add column n int not null", "23502", "s,a,n,,"),
        ("alter table s.a add unique (x)", "23505", "s,a,,,a_x_key"),
        ("alter table s.a add constraint big check (z > 0)", "23514", "s,a,,,big"),
        ("alter table s.a add constraint f foreign key (z) references s.p", "23503", "s,a,,,f"),
        ("create unique index i on s.a (x)", "23505", "s,a,,,i"),
        ("alter table s.a alter z type s.positive", "23514", "s,,,positive,positive_check"),
    ] {
        assert_eq!(about(&db.fail(sql).await), (sqlstate, names.to_owned()), "{sql}");
    }
    db.run("insert into s.r values (1)").await;
    assert_eq!(about(&db.fail("delete from s.p").await), ("23503", "s,r,,,r_k_fkey".to_owned()));
    db.run("create table t (k int primary key)").await;
    assert_eq!(about(&db.fail("insert into t values (1), (1)").await), ("23505", "public,t,,,t_pkey".to_owned()));
}
