//! Groups below joins on unique keys, and conditions with parameters above groups: when the plans have these forms, and that
//! answers are those of the texts.

use braid_engine::Session;
use futures::future::join_all;

use crate::test_db::{TestDb, run};

/// Customers by the number of their orders, without the orders of some values: TPC-H Q13.
const COUNTED: &str = "select n, count(*) from (select c.k, count(o.v) as n from customers c \
    left join orders o on c.k = o.k and o.v <> # group by c.k) as counts group by n order by n";

/// A region's share in each year: TPC-H Q8.
const SHARES: &str = "select k, sum(case when region = '#' then v else 0 end), sum(v), count(*), \
    max(case when region = '#' then v end), count(*) filter (where region = '#'), min(region) from sales group by k order by k";

fn session(db: &TestDb, settings: &[(&str, &str)]) -> Session {
    let session = db.database.session("alice");
    settings.iter().for_each(|(name, value)| session.set_setting(name, value).unwrap());
    session
}

async fn insert(db: &TestDb, table: &str, rows: impl Iterator<Item = String>) {
    let rows: Vec<String> = rows.collect();
    db.run(&format!("insert into {table} values {}", rows.join(", "))).await;
}

/// Runs queries at the same time and alone, and compares each with its text. Returns the plan that they share.
async fn check(db: &TestDb, text: &str, constants: std::ops::Range<usize>) -> String {
    let by_text = session(db, &[("braid.templates", "off"), ("braid.sharing", "off")]);
    let texts: Vec<String> = constants.map(|constant| text.replace('#', &constant.to_string())).collect();
    let asked = texts.iter().map(|text| {
        let client = session(db, &[("braid.sharing", "global"), ("braid.templates", "eager")]);
        async move { run(&client, text).await.unwrap() }
    });
    let answers = join_all(asked).await;
    let alone = session(db, &[("braid.sharing", "off"), ("braid.templates", "eager")]);
    for (text, found) in texts.iter().zip(answers) {
        let expected = run(&by_text, text).await.unwrap();
        assert_eq!(found, expected, "{text}");
        assert_eq!(run(&alone, text).await.unwrap(), expected, "alone: {text}");
    }
    let mut plan = String::new();
    db.session.shared_form(&texts).await.unwrap().plan.describe(0, &mut plan).unwrap();
    plan
}

/// Whether a plan has an aggregation below a join.
fn has_groups_below_join(plan: &str) -> bool {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = plan.lines().collect();
    lines.iter().enumerate().any(|(at, line)| {
        let below = lines[at + 1..].iter().take_while(|below| depth(below) > depth(line));
        line.contains("HashJoin") && below.into_iter().any(|below| below.contains("Aggregate"))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_go_below_joins_while_keys_are_unique() {
    let db = TestDb::new().await;
    db.run("create table customers (k int)").await;
    db.run("create table orders (k int, v int)").await;
    insert(&db, "customers", (0..3000).map(|k| format!("({k})"))).await;
    insert(&db, "orders", (0..6000).map(|n| format!("({}, {})", n * 7 % 3100, n % 13))).await;
    insert(&db, "orders", (0..20).map(|n| format!("(null, {n})"))).await;
    assert!(has_groups_below_join(&check(&db, COUNTED, 0..9).await));
    // One null is as unique as any other value.
    insert(&db, "customers", ["(null)".to_owned()].into_iter()).await;
    assert!(has_groups_below_join(&check(&db, COUNTED, 0..9).await));
    for duplicate in ["null", "8"] {
        insert(&db, "customers", [format!("({duplicate})")].into_iter()).await;
        let plan = check(&db, COUNTED, 0..9).await;
        assert!(!has_groups_below_join(&plan), "{duplicate}: {plan}");
    }
}

/// Appends come while queries run. Each answer is that of one of the versions: the customers are counted, one by one.
#[tokio::test(flavor = "multi_thread")]
async fn duplicates_that_come_between_passes_are_seen() {
    let db = TestDb::new().await;
    db.run("create table customers (k int)").await;
    db.run("create table orders (k int, v int)").await;
    insert(&db, "customers", (0..3000).map(|k| format!("({k})"))).await;
    insert(&db, "orders", (0..6000).map(|n| format!("({}, {})", n % 3000, n % 13))).await;
    // Each customer has two orders; a customer that is there twice has four, and counts once.
    let text = |constant: usize| {
        "select count(*), sum(n), max(n) from (select c.k, count(o.v) as n from customers c \
            left join orders o on c.k = o.k and o.v < # group by c.k) as counts"
            .replace('#', &(100 + constant).to_string())
    };
    let readers = (0..6).map(|client| {
        let reader = session(&db, &[("braid.sharing", "global")]);
        let texts: Vec<String> = (0..12).map(|n| text(n * 7 + client)).collect();
        async move {
            let mut last = 0;
            for text in texts {
                let found = run(&reader, &text).await.unwrap();
                let numbers: Vec<u64> = found.split('|').map(|number| number.parse().unwrap()).collect();
                let duplicates = (numbers[1] - 6000) / 2;
                assert_eq!(numbers, [3000, 6000 + 2 * duplicates, if duplicates == 0 { 2 } else { 4 }], "{text}");
                assert!(duplicates >= last, "{duplicates} duplicates after {last}");
                last = duplicates;
            }
        }
    });
    let writer = async {
        for k in 0..30 {
            insert(&db, "customers", [format!("({})", k * 3)].into_iter()).await;
        }
    };
    futures::join!(join_all(readers), writer);
    assert_eq!(run(&session(&db, &[]), &text(0)).await.unwrap(), "3000|6060|4");
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_with_parameters_go_above_groups_of_few_values() {
    let db = TestDb::new().await;
    db.run("create table sales (k int, region text, v int, id int)").await;
    let row = |n: i32| {
        let region = if n % 11 == 0 { "null".to_owned() } else { format!("'{}'", n % 10) };
        let value = if n % 7 == 0 { "null".to_owned() } else { (n * 31 % 1000 - 300).to_string() };
        format!("({}, {region}, {value}, {n})", n % 5)
    };
    insert(&db, "sales", (0..6000).map(row)).await;
    let aggregations = |plan: &str| plan.matches("Aggregate:").count();
    let plan = check(&db, SHARES, 0..12).await;
    assert_eq!(aggregations(&plan), 2, "{plan}");
    // A column of many values would make as many groups as there are rows.
    let many = SHARES.replace("region = '#'", "id = #");
    let plan = check(&db, &many, 0..12).await;
    assert_eq!(aggregations(&plan), 1, "{plan}");
    // All of a table, and none of it.
    for text in [
        "select sum(case when region = '#' then v else 0 end), count(case when region < '#' then 1 end) from sales",
        "select sum(case when region = '#' then v else 0 end), count(case when region < '#' then 1 end) from sales where k > 7",
    ] {
        check(&db, text, 0..12).await;
    }
}

/// A part of the revenue, by a property of the build side: TPC-H Q14.
#[tokio::test(flavor = "multi_thread")]
async fn patterns_on_a_build_side_are_searched_for_below_the_join() {
    let db = TestDb::new().await;
    db.run("create table parts (k int, kind text)").await;
    db.run("create table sold (k int, v int)").await;
    insert(&db, "parts", (0..300).map(|k| format!("({k}, '{} {k}')", ["PROMO", "ECONOMY", "SMALL"][k % 3]))).await;
    insert(&db, "parts", (0..9).map(|k| format!("({}, null)", 300 + k))).await;
    insert(&db, "sold", (0..6000).map(|n| format!("({}, {})", n * 7 % 310, n % 100))).await;
    let text = "select 100.0 * sum(case when kind like 'PROMO%' then v else 0 end) / sum(v), count(*) \
        from sold, parts where sold.k = parts.k and v > 1#";
    let plan = check(&db, text, 0..9).await;
    let [join, pattern] = ["HashJoin", "LIKE"].map(|operator| plan.find(operator).unwrap());
    assert!(join < pattern, "{plan}");
    // Few pairs of many build rows.
    insert(&db, "parts", (1000..9000).map(|k| format!("({k}, 'PROMO')"))).await;
    let few = text.replace("v > 1#", "v = 1#");
    let plan = check(&db, &few, 0..9).await;
    let [join, pattern] = ["HashJoin", "LIKE"].map(|operator| plan.find(operator).unwrap());
    assert!(pattern < join, "{plan}");
}
