//! Transactions of several statements beside each other: what is seen, what is committed, what fails.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_base::{Random, SeededRandom};
use braid_engine::{MessageScope, Session};
use braid_testing::cases;

use crate::test_db::{TestDb, answer_of, begun_to_wait, run, waits};

async fn state(session: &Session, sql: &str) -> String {
    run(session, sql).await.unwrap_err().sqlstate().to_owned()
}

#[tokio::test]
async fn changes_are_seen_by_their_transaction_alone_until_it_commits() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    db.run("create table t (a int);; insert into t values (1)").await;
    db.run("begin;; insert into t values (2);; create table u (b text)").await;
    db.check(&[("select a from t order by a", "1\n2"), ("select count(*) from u", "0")]).await;
    assert_eq!(run(&bob, "select a from t").await.unwrap(), "1");
    assert_eq!(state(&bob, "select * from u").await, "42P01");
    run(&bob, "insert into t values (3)").await.unwrap();
    db.check(&[("select a from t order by a", "1\n2\n3"), ("insert into u select a::text from t", "INSERT 0 3")]).await;
    db.check(&[("select b from u order by b", "1\n2\n3"), ("commit", "COMMIT")]).await;
    assert_eq!(run(&bob, "select count(*) from t, u").await.unwrap(), "9");
    // With templates, too: what a transaction has planned is nothing for others.
    db.run("begin;; create table v (c int);; insert into v values (7)").await;
    db.check(&[("select c from v where c = 7", "7"), ("select c from v where c = 8", "")]).await;
    assert_eq!(state(&bob, "select c from v where c = 7").await, "42P01");
    db.run("rollback").await;
    assert_eq!(db.state("select c from v where c = 7").await, "42P01");
}

#[tokio::test]
async fn repeatable_reads_see_their_snapshot_and_their_own_changes() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    db.run("create table t (a int);; begin isolation level repeatable read;; insert into t values (1)").await;
    db.check(&[("select a from t", "1")]).await;
    run(&bob, "insert into t values (2)").await.unwrap();
    db.check(&[("select a from t", "1"), ("commit", "COMMIT"), ("select a from t order by a", "1\n2")]).await;
}

#[tokio::test]
async fn a_serializable_transaction_fails_if_what_it_has_read_was_changed() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    db.run("create table t (a int);; create table u (a int)").await;
    // Write skew: each counts the other's rows and inserts its own.
    let begin = "begin isolation level serializable";
    for (first, second) in [(&db.session, &bob), (&bob, &db.session)] {
        run(first, begin).await.unwrap();
        run(second, begin).await.unwrap();
        run(first, "insert into u select count(*) from t").await.unwrap();
        run(second, "insert into t select count(*) from u").await.unwrap();
        run(first, "commit").await.unwrap();
        let error = run(second, "commit").await.unwrap_err();
        assert_eq!(error.sqlstate(), "40001");
        assert_eq!(error.message(), "could not serialize access due to read/write dependencies among transactions");
    }
    db.check(&[("select count(*) from t", "0"), ("select count(*) from u", "2")]).await;
    // One that writes nothing, and one that has read nothing that was changed.
    run(&bob, begin).await.unwrap();
    db.run(begin).await;
    db.check(&[("select count(*) from u", "2")]).await;
    run(&bob, "insert into u select count(*) from t").await.unwrap();
    run(&bob, "commit").await.unwrap();
    db.check(&[("select count(*) from u", "2"), ("commit", "COMMIT")]).await;
}

#[tokio::test]
async fn a_serializable_transaction_that_only_reads_may_change_what_is_temporary() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    db.run("create table t (a int);; create table u (a int);; create temp table own (a int)").await;
    let begin = "begin isolation level serializable read only";
    db.run(&format!("{begin};; insert into own select count(*) from t")).await;
    run(&bob, "insert into t values (1)").await.unwrap();
    db.check(&[("commit", "COMMIT"), ("select * from own", "0")]).await;
    // It has written before it was restricted.
    db.run("begin isolation level serializable;; insert into u select count(*) from t;; set transaction read only")
        .await;
    run(&bob, "insert into t select count(*) from u").await.unwrap();
    assert_eq!(db.state("commit").await, "40001");
}

#[tokio::test]
async fn a_commit_fails_where_others_have_taken_its_name_or_its_table() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    db.run("create table t (a int);; begin;; create table u (a int);; insert into t values (1)").await;
    run(&bob, "create table u (b int)").await.unwrap();
    assert_eq!(db.state("commit").await, "42P07");
    db.check(&[("select count(*) from t", "0"), ("begin", "BEGIN"), ("insert into t values (1)", "INSERT 0 1")]).await;
    // Its table it keeps until then.
    let waiting = begun_to_wait(&db, &bob, "drop table t").await;
    db.check(&[("commit", "COMMIT")]).await;
    answer_of(waiting).await.unwrap();
}

#[tokio::test]
async fn types_belong_to_their_transaction() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    db.run("begin;; create type mood as enum ('sad');; alter type mood add value 'ok';; create table m (x mood)").await;
    db.run("insert into m values ('ok'), ('sad')").await;
    db.check(&[("select x from m order by x", "sad\nok")]).await;
    assert_eq!(state(&bob, "select 'ok'::mood").await, "42704");
    db.run("savepoint s;; alter type mood add value 'fine';; select 'fine'::mood;; rollback to s").await;
    assert_eq!(db.state("select 'fine'::mood").await, "22P02");
    db.run("rollback to s;; commit").await;
    assert_eq!(run(&bob, "select max(x) from m").await.unwrap(), "ok");
    // A label that is added to a committed type cannot be used before the commit, as in PostgreSQL.
    db.run("begin;; alter type mood add value 'fine'").await;
    assert!(["22P02", "55P04"].contains(&db.state("select 'fine'::mood").await));
    db.run("rollback;; begin;; alter type mood rename value 'ok' to 'fine'").await;
    assert_eq!(db.state("select x from m").await, "0A000");
    db.run("rollback;; begin;; alter type mood rename value 'ok' to 'fine';; commit").await;
    db.check(&[("select max(x) from m", "fine")]).await;
    // Two sessions that change the same type.
    db.run("begin;; alter type mood add value 'a'").await;
    run(&bob, "alter type mood add value 'b'").await.unwrap();
    assert_eq!(db.state("commit").await, "40001");
}

#[tokio::test]
async fn a_message_is_one_transaction() {
    let db = TestDb::new().await;
    let (alice, bob) = (&db.session, db.database.session("bob"));
    db.run("create table t (a int)").await;
    alice.begin_message(MessageScope::Message);
    run(alice, "insert into t values (1)").await.unwrap();
    alice.begin_message(MessageScope::Message);
    run(alice, "insert into t values (2)").await.unwrap();
    assert_eq!(run(alice, "select count(*) from t").await.unwrap(), "2");
    assert_eq!(run(&bob, "select count(*) from t").await.unwrap(), "0");
    alice.end_message().await.unwrap();
    assert_eq!(run(&bob, "select count(*) from t").await.unwrap(), "2");
    alice.begin_message(MessageScope::Message);
    run(alice, "insert into t values (3)").await.unwrap();
    assert_eq!(state(alice, "insert into t values ('x')").await, "22P02");
    alice.end_message().await.unwrap();
    assert_eq!(run(&bob, "select count(*) from t").await.unwrap(), "2");
    // A block takes in what came before it in its message.
    alice.begin_message(MessageScope::Message);
    run(alice, "insert into t values (3);; begin").await.unwrap();
    alice.end_message().await.unwrap();
    run(alice, "rollback").await.unwrap();
    assert_eq!(run(&bob, "select count(*) from t").await.unwrap(), "2");
}

/// Transfers between two tables keep the sum that every reader sees, whatever is committed, rolled back or dropped meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn readers_see_all_of_a_transaction_or_nothing() {
    for case in cases!(0..6) {
        let db = Arc::new(TestDb::new().await);
        db.run("create table a (n int);; create table b (n int)").await;
        let writers = (0..4).map(|writer| {
            let session = db.database.session("w");
            let mut random = SeededRandom::new(case.seed * 4 + writer);
            tokio::spawn(async move {
                let mut kept = 0;
                for _ in 0..8 {
                    let n = random.below(100);
                    run(&session, "begin").await.unwrap();
                    run(&session, &format!("insert into a values ({n})")).await.unwrap();
                    if random.chance(1, 3) {
                        run(&session, "savepoint s;; insert into b values (1);; rollback to s").await.unwrap();
                    }
                    run(&session, &format!("insert into b select -{n}")).await.unwrap();
                    let is_kept = random.chance(2, 3);
                    run(&session, if is_kept { "commit" } else { "rollback" }).await.unwrap();
                    kept += usize::from(is_kept);
                }
                kept
            })
        });
        let writers: Vec<_> = writers.collect();
        let reader = db.database.session("r");
        let sum = "select coalesce(sum(n), 0), count(*) from (select n from a union all select n from b) x";
        let mut seen = BTreeSet::new();
        while !writers.iter().all(tokio::task::JoinHandle::is_finished) {
            let read = run(&reader, sum).await.unwrap();
            let (total, count) = read.split_once('|').unwrap();
            assert_eq!((total, count.parse::<usize>().unwrap() % 2), ("0", 0));
            seen.insert(count.to_owned());
        }
        let mut kept = 0;
        for writer in writers {
            kept += writer.await.unwrap();
        }
        assert_eq!(run(&reader, sum).await.unwrap(), format!("0|{}", 2 * kept));
        assert!(seen.len() > 1, "the reader ran beside the writers");
    }
}

/// Each of four sessions adds to one counter and moves amounts between accounts: no update is lost, whether a statement is a
/// transaction or a block has several, and whatever is inserted meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn no_update_is_lost() {
    let db = TestDb::new().await;
    db.run("create table c (n int);; insert into c values (0)").await;
    db.run(
        "create table accounts (id int, amount int);; insert into accounts select i, 100 from generate_series(1, 5) i",
    )
    .await;
    let sessions = (0..4).map(|client| {
        let session = db.database.session("s");
        let mut random = SeededRandom::new(client);
        tokio::spawn(async move {
            let mut deadlocks = 0;
            for step in 0..10 {
                run(&session, "update c set n = n + 1").await.unwrap();
                run(&session, &format!("insert into accounts values ({}, 0)", 100 + step)).await.unwrap();
                let (from, to, amount) = (1 + random.below(5), 1 + random.below(5), random.below(20));
                run(&session, "begin").await.unwrap();
                let mut moved =
                    run(&session, &format!("update accounts set amount = amount - {amount} where id = {from}")).await;
                if moved.is_ok() {
                    moved =
                        run(&session, &format!("update accounts set amount = amount + {amount} where id = {to}")).await;
                }
                match moved {
                    Ok(_) => drop(run(&session, "commit").await.unwrap()),
                    Err(error) => {
                        assert_eq!(error.sqlstate(), "40P01", "{error:?}");
                        deadlocks += 1;
                        run(&session, "rollback").await.unwrap();
                    }
                }
            }
            deadlocks
        })
    });
    let sessions: Vec<_> = sessions.collect();
    let mut deadlocks = 0;
    for session in sessions {
        deadlocks += session.await.unwrap();
    }
    db.check(&[("select n from c", "40"), ("select sum(amount), count(*) from accounts", "500|45")]).await;
    println!("{deadlocks} deadlocks");
    assert!(db.database.store().check(|_| {}).await.is_sound());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_waits_for_another_one_of_the_same_row() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    db.run("create table t (a int, b int);; insert into t values (1, 0), (2, 0)").await;
    db.run("begin;; update t set b = 1 where a = 1").await;
    // Another row is free, also of the same chunk.
    run(&bob, "update t set b = 5 where a = 2").await.unwrap();
    let waiting = begun_to_wait(&db, &bob, "update t set b = b + 10 where a = 1").await;
    db.run("commit").await;
    assert_eq!(waiting.await.unwrap().unwrap(), "UPDATE 1");
    db.check(&[("select a, b from t order by a", "1|11\n2|5")]).await;
    // After a rollback the row is as it was.
    db.run("begin;; delete from t where a = 1").await;
    let waiting = begun_to_wait(&db, &bob, "update t set b = 12 where b = 11").await;
    db.run("rollback").await;
    assert_eq!(waiting.await.unwrap().unwrap(), "UPDATE 1");
    // A snapshot that is older than a change of the same row.
    db.run("begin isolation level repeatable read;; select * from t").await;
    run(&bob, "update t set b = 0 where a = 1").await.unwrap();
    assert_eq!(db.state("update t set b = 1 where a = 1").await, "40001");
    db.run("rollback").await;
    // Two that wait for each other.
    db.run("begin;; update t set b = 1 where a = 1").await;
    run(&bob, "begin;; update t set b = 2 where a = 2").await.unwrap();
    let waiting = begun_to_wait(&db, &bob, "update t set b = 2 where a = 1").await;
    assert_eq!(db.state("update t set b = 1 where a = 2").await, "40P01");
    db.run("rollback").await;
    assert_eq!(waiting.await.unwrap().unwrap(), "UPDATE 1");
    run(&bob, "commit").await.unwrap();
    db.check(&[("select a, b from t order by a", "1|2\n2|2")]).await;
}

#[tokio::test]
async fn changes_of_rows_are_those_of_a_model() {
    for case in cases!(0..12) {
        let mut random = case.random();
        let db = TestDb::new().await;
        db.run("create table t (a int, b int)").await;
        let mut model: Vec<(i64, i64)> = Vec::new();
        let mut saved = model.clone();
        let (mut next, mut in_block) = (0, false);
        for _ in 0..40 {
            let (modulus, rest) = (1 + random.below(6) as i64, random.below(3) as i64);
            let is_hit = |row: &(i64, i64)| row.0 % modulus == rest;
            match random.below(9) {
                0..3 => {
                    let count = 1 + random.below(20) as i64;
                    db.run(&format!(
                        "insert into t select i, i % 7 from generate_series({next}, {}) i",
                        next + count - 1
                    ))
                    .await;
                    model.extend((next..next + count).map(|a| (a, a % 7)));
                    next += count;
                }
                3..5 => {
                    db.run(&format!("update t set b = b * 2 + 1, a = a where a % {modulus} = {rest}")).await;
                    model.iter_mut().filter(|row| is_hit(row)).for_each(|row| row.1 = (row.1 * 2 + 1) % (1 << 20));
                    db.run("update t set b = b % 1048576").await;
                }
                5 => {
                    db.run(&format!("delete from t where a % {modulus} = {rest}")).await;
                    model.retain(|row| !is_hit(row));
                }
                6 if !in_block => {
                    db.run("begin").await;
                    (in_block, saved) = (true, model.clone());
                }
                7 if in_block => {
                    db.run("savepoint s;; delete from t where b % 2 = 0;; update t set b = 0;; rollback to s").await;
                }
                8 if in_block => {
                    let is_kept = random.chance(2, 3);
                    db.run(if is_kept { "commit" } else { "rollback" }).await;
                    in_block = false;
                    if !is_kept {
                        model.clone_from(&saved);
                    }
                }
                _ => {}
            }
            let mut rows: Vec<String> = model.iter().map(|(a, b)| format!("{a}|{b}")).collect();
            rows.sort();
            let mut found: Vec<String> =
                run(&db.session, "select a, b from t").await.unwrap().lines().map(str::to_owned).collect();
            found.sort();
            assert_eq!(found, rows);
        }
    }
}

/// What others commit between two changes of one kind is theirs.
#[tokio::test]
async fn a_transaction_that_changes_types_or_views_twice_takes_nothing_of_others_back() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    db.run("begin;; create type a as enum ('x')").await;
    run(&bob, "create type b as enum ('p');; create table tb (m b)").await.unwrap();
    db.run("create type c as enum ('y')").await;
    run(&bob, "alter type b add value 'q'").await.unwrap();
    run(&bob, "insert into tb values ('q')").await.unwrap();
    db.check(&[("commit", "COMMIT"), ("select m from tb where m = 'q'", "q")]).await;
    db.check(&[("select 'x'::a, 'y'::c, 'q'::b", "x|y|q")]).await;
    db.run("begin;; create view v1 as select 1 as a").await;
    run(&bob, "create view w as select 2 as a;; create view gone as select 3 as a").await.unwrap();
    db.run("create view v2 as select 4 as a").await;
    run(&bob, "create or replace view w as select 5 as a;; drop view gone").await.unwrap();
    db.check(&[("commit", "COMMIT"), ("select v1.a, v2.a, w.a from v1, v2, w", "1|4|5")]).await;
    assert_eq!(db.state("select * from gone").await, "42P01");
    // What others drop meanwhile, and the transaction has not touched, is no conflict.
    db.run("begin;; create view v3 as select 6 as a").await;
    run(&bob, "drop view w").await.unwrap();
    db.check(&[("create view v4 as select 7 as a", "CREATE VIEW"), ("commit", "COMMIT")]).await;
}

/// As PostgreSQL promises it: no duplicates for transactions that have looked for the key first.
#[tokio::test]
async fn serializable_transactions_that_look_for_a_key_before_they_add_it_are_to_be_tried_again() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    db.run("create table t (k int primary key);; create table other (a int)").await;
    for (level, reads, expected) in [
        ("serializable", "select * from t where k = 5", "40001"),
        ("serializable", "select * from other", "23505"),
        ("repeatable read", "select * from t where k = 5", "23505"),
    ] {
        db.run("delete from t").await;
        for session in [&db.session, &bob] {
            run(session, &format!("begin isolation level {level};; {reads}")).await.unwrap();
        }
        db.run("insert into t values (5)").await;
        let ends = async { assert_eq!(db.run("commit").await, "COMMIT") };
        assert_eq!(waits(&bob, "insert into t values (5)", ends).await.unwrap_err(), expected, "{level}: {reads}");
        run(&bob, "rollback").await.unwrap();
    }
    // What it has added itself is a duplicate.
    db.run("begin isolation level serializable;; select * from t;; insert into t values (6)").await;
    assert_eq!(db.state("insert into t values (6)").await, "23505");
    db.run("rollback").await;
}
