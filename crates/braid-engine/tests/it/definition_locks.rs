//! Which statements wait for what the transaction of another session has used or defined anew.

use crate::test_db::{TestDb, answer_of, begun_to_wait, run};

/// What a transaction has done that is not over.
const DONE: [&str; 17] = [
    "select * from t",
    "select * from t for share",
    "insert into t values (9, 9, 'z', 1)",
    "insert into child values (2)",
    "comment on table t is 'x'",
    "create index on t (b)",
    "alter table child add foreign key (k) references parent not valid",
    "alter table t add d int",
    "alter table t validate constraint cv",
    "truncate t",
    "drop table child",
    "select * from mv",
    "refresh materialized view mv",
    "insert into td values (1)",
    "insert into ser (x) values (1)",
    "alter sequence sq increment 2",
    "create or replace view v as select a from t where true",
];

/// PostgreSQL's answers: # where a statement waits for what the column has done. Where Braid differs: `+` where it waits and PostgreSQL does
/// not, `-` the other way round.
const WAITS: [(&str, &str); 47] = [
    (".......#.#.......", "select * from t"),
    (".#.....#.#.......", "select * from t for update"),
    (".....#.#+##......", "insert into t values (8, 8, 'w', 1)"),
    (".#...#.#+#+......", "update t set c = 'q' where a = 2"),
    ("......#...#......", "delete from parent where k = 7"),
    ("......#...#......", "insert into child values (1)"),
    ("....##.###.......", "comment on table t is 'y'"),
    ("....##.###.......", "comment on column t.b is 'y'"),
    (".......-.-.......", "grant select on t to public"),
    ("..#.#+.###.......", "create index on t (k)"),
    ("..#.#+.###.......", "create unique index on t (a, b)"),
    ("###.##.###..#...#", "drop index ti"),
    ("..+.++.++#.......", "alter index ti rename to tj"),
    ("###.##.###..#...#", "alter table t add e int"),
    ("###.##.###..#...#", "alter table t drop column c"),
    ("###.##.###..#...#", "alter table t alter b set default 5"),
    ("###.##.###..#...#", "alter table t rename to t2"),
    ("###.##.###..#...#", "alter table t rename c to cc"),
    ("###.##.###..#...#", "alter table t add check (b < 100)"),
    ("..+.##.###.......", "alter table t validate constraint cv"),
    ("..+.##.###-......", "alter table t validate constraint nv"),
    ("###########.#...#", "alter table t drop constraint nv"),
    ("..#.#######......", "alter table t add foreign key (b) references parent not valid"),
    ("###.##.###..#...#", "alter table t owner to current_user"),
    ("......#...#......", "create table r (k int references parent)"),
    ("..#.##.###.......", "create table r (k int references t)"),
    ("###.##.###..#...#", "truncate t"),
    ("###########.#...#", "truncate parent cascade"),
    ("#############...#", "drop table t cascade"),
    ("..##..#...#......", "drop table child"),
    ("###########.#...#", "drop table parent cascade"),
    ("................#", "drop view v"),
    ("................#", "alter view v rename to w"),
    (".......#.#......#", "create or replace view v as select a from t where a > 0"),
    (".......#.#.##....", "refresh materialized view mv"),
    (".......#.#..#....", "refresh materialized view concurrently mv"),
    ("...........##....", "drop materialized view mv"),
    ("...........##....", "alter materialized view mv rename to mw"),
    (".............#...", "alter domain dom add check (value > 0)"),
    ("..............#..", "drop table ser"),
    ("..............#..", "truncate ser restart identity"),
    ("...............#.", "alter sequence sq increment 3"),
    ("...............#.", "drop sequence sq"),
    ("...............#.", "alter sequence sq rename to sr"),
    ("....##.###.......", "analyze t"),
    ("..#.#..###.......", "lock table t in share mode"),
    ("...............-.", "select nextval('sq')"),
];

#[tokio::test]
async fn statements_wait_for_what_others_have_done() {
    let db = TestDb::new().await;
    db.run(
        "create table t (a int primary key, b int, c text, k int);; alter table t add constraint cv check (b > 0) not valid;;
        insert into t values (1, 1, 'x', 1), (2, 2, 'y', 1);; create table parent (k int primary key);;
        insert into parent values (1), (2);; create table child (k int references parent);; insert into child values (1);;
        alter table t add constraint nv foreign key (k) references parent not valid;; create index ti on t (c);;
        create sequence sq;; create table ser (id serial, x int);; create view v as select a from t;;
        create materialized view mv as select a from t;; create unique index mi on mv (a);;
        create domain dom as int;; create table td (d dom)",
    )
    .await;
    let bob = db.database.session("bob");
    run(&bob, "set lock_timeout = 10").await.unwrap();
    let mut found = Vec::new();
    for (row, sql) in WAITS {
        let mut answers = String::new();
        for (at, done) in DONE.iter().enumerate() {
            db.run(&format!("begin;; {done}")).await;
            run(&bob, "begin").await.unwrap();
            let waits = match run(&bob, sql).await {
                Ok(_) => false,
                Err(error) if error.sqlstate() == "55P03" => true,
                Err(error) => panic!("{done}; {sql}: {error:?}"),
            };
            run(&bob, "rollback").await.unwrap();
            db.run("rollback").await;
            answers.push(match (row.as_bytes()[at], waits) {
                (b'#' | b'-', true) => '#',
                (b'#' | b'-', false) => '-',
                (_, true) => '+',
                (_, false) => '.',
            });
        }
        found.push((answers, sql));
    }
    let expected = WAITS.map(|(row, sql)| (row.to_owned(), sql));
    assert_eq!(found, expected);
}

/// Those that change one definition beside each other, as pg_restore's processes do, are made one after the other.
#[tokio::test]
async fn indexes_of_one_table_are_created_one_after_the_other() {
    let db = TestDb::new().await;
    let (bob, carol) = (db.database.session("bob"), db.database.session("carol"));
    db.run("create table t (a int, b int, c int)").await;
    run(&bob, "begin;; create index on t (a)").await.unwrap();
    let waiting = begun_to_wait(&db, &carol, "create index on t (b)").await;
    let shown = "select l.locktype, l.objid::regclass::text, l.mode, a.wait_event from pg_locks l join pg_stat_activity a using (pid)
        where not l.granted";
    assert_eq!(db.run(shown).await, "object|t|ExclusiveLock|object");
    run(&bob, "commit").await.unwrap();
    answer_of(waiting).await.unwrap();
    assert_eq!(db.run("select indexname from pg_indexes where tablename = 't' order by 1").await, "t_a_idx\nt_b_idx");
    let sessions: Vec<_> = (0..4).map(|_| db.database.session("dave")).collect();
    let all = sessions.iter().enumerate().map(|(at, session)| async move {
        run(session, &format!("create index i{at} on t (c);; alter table t add d{at} int")).await.unwrap();
    });
    futures::future::join_all(all).await;
    assert_eq!(db.run("select count(*) from pg_indexes where tablename = 't'").await, "6");
}

#[tokio::test]
async fn definitions_give_their_locks_back() {
    let db = TestDb::new().await;
    let (bob, carol) = (db.database.session("bob"), db.database.session("carol"));
    db.run("create table t (a int)").await;
    let locks = "select relation::regclass, mode, granted from pg_locks where locktype = 'relation' order by 1, 2, 3";
    // With the savepoint behind which they were taken.
    run(&bob, "begin;; savepoint s;; alter table t add b int").await.unwrap();
    assert_eq!(db.run(locks).await, "t|AccessExclusiveLock|true");
    let waiting = begun_to_wait(&db, &carol, "select * from t").await;
    run(&bob, "rollback to s").await.unwrap();
    assert_eq!(answer_of(waiting).await.as_deref(), Ok(""));
    // With a statement that fails, in a block and without.
    for begin in ["select 1", "begin"] {
        run(&bob, &format!("rollback;; {begin}")).await.unwrap();
        run(&bob, "alter table t add check (1 / (a - a) = 0), drop column none").await.unwrap_err();
        assert_eq!(db.run(locks).await, "", "{begin}");
    }
    run(&bob, "rollback;; alter table t add b int").await.unwrap();
    assert_eq!(db.run(locks).await, "");
    // Those that wait are ended by timeouts and by others, and the table is as it was.
    run(&bob, "begin;; select * from t").await.unwrap();
    assert_eq!(db.state("set lock_timeout = 20;; drop table t").await, "55P03");
    assert_eq!(db.state("set lock_timeout = 0;; set statement_timeout = 20;; truncate t").await, "57014");
    db.run("set statement_timeout = 0").await;
    let waiting = begun_to_wait(&db, &carol, "alter table t drop b").await;
    db.run(&format!("select pg_cancel_backend({})", carol.id())).await;
    assert_eq!(answer_of(waiting).await.unwrap_err(), "57014");
    assert_eq!(db.run(locks).await, "t|AccessShareLock|true");
}

#[tokio::test]
async fn definitions_that_wait_for_each_other_are_a_deadlock() {
    let db = TestDb::new().await;
    let (bob, carol) = (db.database.session("bob"), db.database.session("carol"));
    db.run("create table t (a int);; create table u (a int)").await;
    for (first, second) in [
        (["select * from t", "alter table t add b int"], ["select * from t", "drop table t"]),
        (["truncate t", "truncate u"], ["alter table u add b int", "select * from t"]),
        (["insert into t values (1)", "create index on u (a)"], ["insert into u values (1)", "create index on t (a)"]),
    ] {
        run(&bob, &format!("begin;; {}", first[0])).await.unwrap();
        run(&carol, &format!("begin;; {}", second[0])).await.unwrap();
        let waiting = begun_to_wait(&db, &bob, first[1]).await;
        assert_eq!(run(&carol, second[1]).await.unwrap_err().sqlstate(), "40P01", "{first:?} {second:?}");
        answer_of(waiting).await.unwrap();
        run(&bob, "rollback").await.unwrap();
        run(&carol, "rollback").await.unwrap();
    }
}
