//! SQLSTATEs, and the place in the text.

use crate::test_db::TestDb;

#[tokio::test]
async fn errors_carry_postgresqls_states() {
    let db = TestDb::new().await;
    db.run("create table t (a int, b text)").await;
    db.run("insert into t values (1, 'x'), (2, 'y')").await;
    db.check_states(&[
        ("selec 1", "42601"),
        ("select * from nosuch", "42P01"),
        ("select * from other.t", "42P01"),
        ("select nosuch from t", "42703"),
        ("select t.nosuch from t", "42703"),
        ("select x.a from t", "42P01"),
        ("select nosuch(a) from t", "42883"),
        ("select lower(1, 2, 3)", "42883"),
        ("select sum(b) from t", "42883"),
        ("select 'a' + a from t", "22P02"),
        ("select a from t, t u", "42702"),
        ("select a::nosuch from t", "42704"),
        ("select a, count(*) from t", "42803"),
        ("select 'abc'::int", "22P02"),
        ("select b::int from t", "22P02"),
        ("select 'abc'::date", "22007"),
        ("select '2024-13-01'::date", "22008"),
        ("select 'x'::uuid", "22P02"),
        ("select (select a from t)", "21000"),
        ("select a from t limit -1", "2201W"),
        ("select sqrt(-1)", "2201F"),
        ("select a from t where b", "42804"),
        ("select true::date", "42846"),
        ("select * from t a join t a on true", "42712"),
        ("show nosuch", "42704"),
        ("set nosuch = 1", "42704"),
    ])
    .await;
}

#[tokio::test]
async fn errors_point_into_the_text() {
    let db = TestDb::new().await;
    db.run("create table t (a int)").await;
    for (sql, position) in [
        ("select * from nosuch", 15),
        ("select a,\n  nosuch from t", 13),
        ("select nosuch(a) from t", 8),
        ("select 'ä', * from nosuch", 20),
        ("select 1; select * frm t", 24),
    ] {
        let error = db.fail(sql).await;
        assert_eq!(error.position(), Some(position), "{sql}: {error:?}");
    }
}
