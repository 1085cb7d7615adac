//! Names that a transaction makes free and takes again: the state after a commit is the one that the log makes, and of two that take one
//! name the first to commit has it.

use crate::test_db::{TestDb, run};

/// Transactions, each on what the one before has left.
const TRANSACTIONS: [&str; 17] = [
    "create table z (id serial, v int);; insert into z (v) values (1), (2)",
    "drop table z;; create table z (id serial, w int);; insert into z (w) values (3)",
    "alter table z drop column id;; alter table z add column id serial",
    "alter sequence z_id_seq increment by 10;; drop table z;; create table z (id serial, w int);; insert into z (w) values (4)",
    "create table y (id serial);; drop table y;; create table y (id serial);; drop table y;; create sequence y_id_seq",
    "drop sequence y_id_seq;; create view y_id_seq as select 1 as one",
    "drop view y_id_seq;; create type y_id_seq as enum ('a')",
    "drop type y_id_seq;; create domain y_id_seq as int",
    "drop domain y_id_seq;; create table y_id_seq (a int unique)",
    "alter table z rename to x;; alter table y_id_seq rename to z;; alter table x rename to y_id_seq",
    "create schema s;; create table s.q (id serial);; insert into s.q default values",
    "drop schema s cascade;; create schema s;; create table s.q (id serial, b int);; create view s.v as select b from s.q",
    "savepoint a;; drop table z;; create table z (id serial, k int);; rollback to a;; drop table z;; create table z (id serial, l int)",
    "truncate z;; drop table z;; create table z (id serial primary key);; insert into z default values",
    "create role names_one;; drop role names_one;; create role names_one login",
    "create role names_two;; alter role names_one rename to names_x;; alter role names_two rename to names_one;; alter role names_x rename to names_two",
    "create materialized view m as select 1 as a;; drop materialized view m;; create materialized view m as select 2 as a;; alter table z add constraint u unique (id);; alter table z drop constraint u;; create unique index u on z (id)",
];

const STATES: [&str; 5] = [
    "select n.nspname, c.relname, c.relkind, c.oid::bigint from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.oid >= 16384 order by 1, 2",
    "select table_schema, table_name, column_name, data_type, column_default from information_schema.columns
        where table_schema in ('public', 's') order by 1, 2, 3",
    "select typname, typtype from pg_type where oid >= 16384 order by 1",
    "select rolname, rolcanlogin from pg_roles where rolname like 'names%' order by 1",
    "select schemaname, sequencename, start_value, increment_by from pg_sequences order by 1, 2",
];

async fn state_of(db: &TestDb) -> Vec<String> {
    let mut state = Vec::new();
    for query in STATES {
        state.push(db.run(query).await);
    }
    state
}

#[tokio::test]
async fn the_log_makes_the_same_state() {
    let mut db = TestDb::new().await;
    for transaction in TRANSACTIONS {
        db.run(&format!("begin;; {transaction};; commit")).await;
        let before = state_of(&db).await;
        db = db.reopened().await;
        assert_eq!(state_of(&db).await, before, "{transaction}");
    }
    assert_eq!(db.run("select * from z").await, "1");
    assert_eq!(db.run("select * from y_id_seq").await, "1|4");
    db.run("insert into z default values;; insert into s.q (b) values (7)").await;
    assert_eq!(db.run("select id, b from s.q").await, "1|7");
}

/// Of two transactions that take one name the second to commit fails, and none of it is there.
#[tokio::test]
async fn the_first_to_commit_has_a_name() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    let makers = [
        "create table n (id serial)",
        "create sequence n",
        "create view n as select 1 as a",
        "create materialized view n as select 1 as a",
        "create table other (id int);; create index n on other (id)",
        "create table other (id int);; alter table other rename to n",
    ];
    for first in makers {
        for second in makers {
            run(&bob, &format!("begin;; create table own (a int);; {second}")).await.unwrap();
            db.run(&format!("begin;; {first};; commit")).await;
            let refused = run(&bob, "commit").await.unwrap_err();
            assert_eq!(refused.sqlstate(), "42P07", "{first}; {second}");
            assert_eq!(db.run("select count(*) from pg_class where relname = 'own'").await, "0");
            db.run("drop schema public cascade;; create schema public").await;
        }
    }
    for (maker, state) in
        [("create schema n", "42P06"), ("create type n as enum ()", "42710"), ("create role n", "40001")]
    {
        run(&bob, &format!("begin;; {maker}")).await.unwrap();
        db.run(maker).await;
        assert_eq!(run(&bob, "commit").await.unwrap_err().sqlstate(), state, "{maker}");
    }
}
