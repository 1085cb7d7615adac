//! The hints of errors for names that are no columns: PostgreSQL's, which `.slt` files do not compare.

use crate::test_db::TestDb;

#[tokio::test]
async fn hints_tell_the_columns_that_may_be_meant() {
    let db = TestDb::new().await;
    db.run("create table h1 (id int, amount int, customer_name text, col1 int, col2 int)").await;
    db.run("create table h2 (id int, amonut int, cust text)").await;
    let one = |column: &str| format!("Perhaps you meant to reference the column \"{column}\".");
    let two = |a: &str, b: &str| format!("Perhaps you meant to reference the column \"{a}\" or the column \"{b}\".");
    let hidden =
        "There is a column named \"amount\" in table \"h1\", but it cannot be referenced from this part of the query.";
    for (sql, hint) in [
        ("select amont from h1", Some(one("h1.amount"))),
        ("select custmer_name from h1", Some(one("h1.customer_name"))),
        ("select col3 from h1", Some(two("h1.col1", "h1.col2"))),
        ("select h1.col3 from h1", Some(two("h1.col1", "h1.col2"))),
        ("select y.amont from h1 y", Some(one("y.amount"))),
        ("select h2.amount from h1, h2", Some(one("h1.amount"))),
        ("select amonu from h1, h2", Some(one("h2.amonut"))),
        ("select zzz from h1", None),
        ("select a from h1", None),
        ("select idd from h1", Some(one("h1.id"))),
        ("select \"Amount\" from h1", Some(one("h1.amount"))),
        ("update h1 set amount = amont", Some(one("h1.amount"))),
        ("delete from h1 where amont = 1", Some(one("h1.amount"))),
        ("insert into h1 (id) values (1) returning amont", Some(one("h1.amount"))),
        ("select 1 from h1 order by amont", Some(one("h1.amount"))),
        ("select 1 from h1 group by amont", Some(one("h1.amount"))),
        ("select (select amont from h2) from h1", Some(two("h2.amonut", "h1.amount"))),
        ("select * from h1, (select amount) s", Some(hidden.to_owned())),
        ("select * from h1, (select amoutn) s", Some(one("h1.amount"))),
        ("select * from h1 join h2 on amonnt = 1", Some(two("h1.amount", "h2.amonut"))),
        ("select * from h1 join h2 using (id) where amountt = 1", Some(one("h1.amount"))),
        ("select s.ab from (select 1 as ac, 2 as ad) s", Some(two("s.ac", "s.ad"))),
        ("with w as (select amount from h1) select amunt from w", Some(one("w.amount"))),
        ("select column3 from (values (1, 2)) v", Some(two("v.column1", "v.column2"))),
        ("create view hv as select amont from h1", Some(one("h1.amount"))),
        ("merge into h1 using h2 on h1.id = h2.idd when matched then delete", Some(one("h2.id"))),
        ("select public.h1.amont from h1", Some(one("h1.amount"))),
    ] {
        let error = db.fail(sql).await;
        assert_eq!((error.sqlstate(), error.hint()), ("42703", hint), "{sql}");
    }
}
