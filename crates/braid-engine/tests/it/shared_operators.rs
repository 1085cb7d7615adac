//! Windows, grouping sets, set operations, recursions and all aggregates in passes: many queries of one form at once have the answers of the
//! same queries alone, and one pass answers most of them.

use braid_engine::Session;
use futures::future::join_all;

use crate::test_db::{TestDb, run};

/// Statements over `facts (k int, v int, name text)`. `#` is a constant, which differs between the clients.
const SHAPES: [&str; 28] = [
    "select k, v, rank() over (partition by k order by v), sum(v) over (partition by k) from facts where v < # order by 1, 2, 3",
    "select k, v, row_number() over (order by v, k, name), lag(v) over (order by v, k, name) from facts where k < # order by 3",
    "select k, v, avg(v) over (partition by k order by v rows between 3 preceding and 1 following) from facts
     where v > # order by 1, 2, 3",
    "select k, name, count(*), sum(v) from facts where v < # group by rollup (k, name) order by 1, 2, 3",
    "select k, name, l, grouping(name), count(*) filter (where v > 50), avg(v), stddev(v), min(name)
     from (select facts.*, length(name) as l from facts) as f where v < # group by rollup (l, k, name) order by 1, 2, 3, 4, 5",
    "select k, count(*), sum(case when v = # then 1 else 0 end) from facts where v > 5 group by rollup (k) order by 1, 2",
    "select k, name, grouping(k), max(v) from facts where v > # group by cube (k, name) order by 1, 2, 3",
    "select count(*), sum(v) from facts where v < # - 100 group by grouping sets ((), (k))",
    "select distinct on (k) k, v, name from facts where v > # order by k, v, name",
    "select k, v from facts where k <> # order by v desc, k fetch first 7 rows with ties",
    "select k, string_agg(name, ',' order by v, name) from facts where v < # group by k order by k",
    "select k, string_agg(name, ',') from (select * from facts where v < # order by name, v) as f group by k order by k",
    "select percentile_cont(0.5) within group (order by v), percentile_disc(0.25) within group (order by v) from facts where k < #",
    "select count(distinct name), sum(distinct v), stddev(v), bool_or(v = 5) from facts where k < #",
    "select k, round(corr(v, v * 7 % 13)::numeric, 8), regr_count(v, k), bit_xor(v), bit_or(k) filter (where v > 9),
     round(stddev(v::float8)::numeric, 8) from facts where v < # group by k order by k",
    "select name, variance(v::bigint), stddev_pop(v::numeric(6, 2)), percentile_cont(0.25) within group (order by v desc)
     from facts where v < # group by name order by name",
    "select k from facts where v < # intersect select k + 3 from facts where v > 50 order by k",
    "select k, name from facts where v < # except all select k, name from facts where v < 5 order by 1, 2",
    "select k % 3 from facts where v < # intersect all select k % 5 from facts where v < 40 order by 1",
    "select k, generate_series(1, k % 4) from facts where v = # order by 1, 2",
    "with c as (select k, v, count(*) as n, 'f' as kind from facts group by k, v union all select k, v, count(*), 'l' from labels group by k, v)
     select l.v, l.n, m.k, m.n from c l, c m, c o where l.kind = 'f' and l.k = # and l.n > 1 and m.kind = 'f' and m.v = l.v and m.k = 3
     and o.kind = 'l' and o.k = 1 order by 1, 2, 3, 4",
    "with recursive steps (n, k) as (select 1, # union all select n + 1, k + n from steps where n < 12)
     select s.n, count(*) from steps s join facts f on f.k = s.k % 23 group by s.n order by s.n",
    "with recursive reached (k) as (select # union select (r.k + f.v) % 23 from reached r join facts f on f.k = r.k where f.v < 4)
     select k from reached order by k",
    "select k, v from facts where v > (select avg(v) from facts where k < #) and v < 60 order by 1, 2",
    "select k, v, (select n.label from labels n where n.k = facts.k and n.v < 500) from facts where v < # order by 1, 2",
    "select k, v, v < any (select n.v from labels n where n.k < # and n.k <> facts.k) from facts where v < 9 order by 1, 2, 3",
    "select k, v from facts where (k, v) not in (select n.k, n.v from labels n where n.v < #) and v < 10 order by 1, 2",
    "select k, c, rank() over (order by c desc) from (select k, count(*) as c from facts where v < # group by k) as g order by 3, 1",
];

const CLIENTS: usize = 12;

/// Distinct queries that one pass must answer.
const PASS_QUERIES_MIN: usize = 8;

/// Rounds after which such a pass must have been there.
const ROUNDS_MAX: usize = 40;

async fn database() -> TestDb {
    let db = TestDb::new().await;
    db.run("create table facts (k int, v int, name text)").await;
    db.run("create table labels (k int, v int, label text)").await;
    let facts: Vec<String> =
        (0..5000).map(|n| format!("({}, {}, 'n{}')", n * 7 % 23, n * 13 % 101, n * 11 % 17)).collect();
    db.run(&format!("insert into facts values {}", facts.join(", "))).await;
    let labels: Vec<String> = (0..20).map(|n| format!("({n}, {}, 'l{n}')", n * 3)).collect();
    db.run(&format!("insert into labels values {}", labels.join(", "))).await;
    db
}

fn session(db: &TestDb, sharing: &str) -> Session {
    let session = db.database.session("alice");
    session.set_setting("braid.sharing", sharing).unwrap();
    session.set_setting("braid.templates", if sharing == "off" { "off" } else { "eager" }).unwrap();
    session
}

fn text(shape: &str, constant: usize) -> String {
    shape.replace('#', &constant.to_string())
}

async fn number(db: &TestDb, sql: &str) -> usize {
    db.run(sql).await.parse().unwrap()
}

/// The most distinct queries that a shared pass after this one has answered.
async fn most_answered(db: &TestDb, after: usize) -> usize {
    let passes = format!("from braid_passes where number > {after} and form = 'shared' and ending = 'answered'");
    number(db, &format!("select coalesce(max(distinct_queries), 0) {passes}")).await
}

/// Asks all clients at once until one pass has answered most of them. Returns what was wrong.
async fn check(db: &TestDb, clients: &[Session], alone: &Session, shape: &str) -> Result<(), String> {
    let texts: Vec<String> = (0..CLIENTS).map(|client| text(shape, 3 + 2 * client)).collect();
    let mut expected = Vec::new();
    for text in &texts {
        expected.push(run(alone, text).await.map_err(|error| format!("{text}: {error:?}"))?);
    }
    let last = number(db, "select coalesce(max(number), 0) from braid_passes").await;
    for _ in 0..ROUNDS_MAX {
        let asked = clients.iter().zip(&texts).map(|(client, text)| run(client, text));
        for ((found, expected), text) in join_all(asked).await.into_iter().zip(&expected).zip(&texts) {
            let found = found.map_err(|error| format!("{text}: {error:?}"))?;
            assert_eq!(found, *expected, "{text}");
        }
        if most_answered(db, last).await >= PASS_QUERIES_MIN {
            let failed = format!("select count(*) from braid_passes where number > {last} and ending <> 'answered'");
            let failed = number(db, &failed).await;
            return if failed == 0 { Ok(()) } else { Err(format!("{failed} passes failed: {shape}")) };
        }
    }
    let refused = db.run("select template, refusal from braid_templates where refusal is not null").await;
    Err(format!("a pass answered {} at most: {shape}\n{refused}", most_answered(db, last).await))
}

#[tokio::test(flavor = "multi_thread")]
async fn all_operators_answer_many_queries_in_one_pass() {
    let db = database().await;
    let alone = session(&db, "off");
    let clients: Vec<Session> = (0..CLIENTS).map(|_| session(&db, "global")).collect();
    let mut wrong = Vec::new();
    for shape in SHAPES {
        wrong.extend(check(&db, &clients, &alone, shape).await.err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
