//! Roles across sessions: plans that are kept, logins, transactions that exclude each other, and restarts. What single statements answer is in the SQL
//! logic tests.

use braid_engine::{Database, LoginPassword, Session};

use crate::test_db::{TestDb, config, run};

async fn state(session: &Session, sql: &str) -> Result<String, &'static str> {
    run(session, sql).await.map_err(|error| error.sqlstate())
}

/// A table of the bootstrap superuser, and a role without privileges.
async fn database() -> TestDb {
    let db = TestDb::new().await;
    db.run("create table facts (k int, v int);; insert into facts select n % 7, n from generate_series(1, 1000) s(n)")
        .await;
    db.run("create role reader login;; create role other login").await;
    db
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_is_kept_is_no_way_around_privileges() {
    let db = database().await;
    let sql = |n: u32| format!("select count(*) from facts where v < {n}");
    for n in 10..14 {
        assert_eq!(db.run(&sql(n)).await, (n - 1).to_string(), "the template is learned");
    }
    let reader = db.database.session("reader");
    for n in 10..14 {
        assert_eq!(state(&reader, &sql(n)).await, Err("42501"), "{n}");
    }
    db.run("grant select on facts to reader").await;
    for n in 10..14 {
        assert_eq!(state(&reader, &sql(n)).await, Ok((n - 1).to_string()));
    }
    // Another role has not what the first one has, whose plan is kept.
    let other = db.database.session("other");
    assert_eq!(state(&other, &sql(11)).await, Err("42501"));
    db.run("grant reader to other").await;
    assert_eq!(state(&other, &sql(11)).await, Ok("10".to_owned()));
    db.run("revoke select on facts from reader").await;
    for session in [&reader, &other] {
        for n in 10..14 {
            assert_eq!(state(session, &sql(n)).await, Err("42501"), "{n}");
        }
    }
    assert_eq!(db.run(&sql(12)).await, "11");
}

#[tokio::test(flavor = "multi_thread")]
async fn results_that_are_kept_are_no_way_around_privileges() {
    let db = database().await;
    let sql = "select k, sum(v) from facts group by k order by k";
    db.run("set braid.result_cache = on").await;
    let answer = db.run(sql).await;
    for _ in 0..3 {
        assert_eq!(db.run(sql).await, answer);
    }
    let reader = db.database.session("reader");
    run(&reader, "set braid.result_cache = on").await.unwrap();
    assert_eq!(state(&reader, sql).await, Err("42501"));
    db.run("grant select on facts to reader").await;
    for _ in 0..3 {
        assert_eq!(state(&reader, sql).await, Ok(answer.clone()));
    }
    db.run("revoke select on facts from reader").await;
    assert_eq!(state(&reader, sql).await, Err("42501"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_of_an_owner_without_privileges_is_refused_to_superusers_too() {
    let db = database().await;
    db.run("grant create on schema public to reader;; grant select on facts to reader").await;
    let reader = db.database.session("reader");
    run(&reader, "create view counted as select count(*) as n from facts").await.unwrap();
    for _ in 0..3 {
        assert_eq!(db.run("select n from counted").await, "1000");
    }
    db.run("revoke select on facts from reader").await;
    for _ in 0..3 {
        assert_eq!(db.state("select n from counted").await, "42501");
    }
    db.run("grant select (k) on facts to reader").await;
    assert_eq!(db.run("select n from counted").await, "1000", "count(*) reads any column");
}

#[tokio::test]
async fn prepared_statements_are_checked_when_they_run() {
    let db = database().await;
    db.run("grant select on facts to reader").await;
    let reader = db.database.session("reader");
    let prepared = reader.parse("select max(v) from facts where k < $1").unwrap().remove(0);
    reader.prepare(&prepared, &[]).await.unwrap();
    run(&reader, "prepare p as select max(v) from facts").await.unwrap();
    assert_eq!(state(&reader, "execute p").await, Ok("1000".to_owned()));
    db.run("revoke select on facts from reader").await;
    assert_eq!(state(&reader, "execute p").await, Err("42501"));
    reader.prepare(&prepared, &[]).await.unwrap();
}

#[tokio::test]
async fn the_first_role_gives_the_superuser_its_name() {
    let db = TestDb::new().await;
    let other = db.database.session("carol");
    assert_eq!(run(&other, "select current_user").await.unwrap(), "carol");
    assert_eq!(db.database.login_password("anyone"), LoginPassword::OfServer);
    assert!(db.database.check_login("anyone").is_ok());
    db.run("create role reader login").await;
    assert_eq!(run(&other, "select current_user").await.unwrap(), "alice", "it is the one superuser under its name");
    let refused = |user: &str| db.database.check_login(user).map_err(|error| error.to_string());
    assert!(refused("alice").is_ok() && refused("reader").is_ok());
    assert_eq!(refused("carol").unwrap_err(), "role \"carol\" does not exist");
    let unknown = db.database.session("carol");
    assert_eq!(state(&unknown, "select 1").await, Err("28000"));
    db.run("alter role reader nologin").await;
    assert_eq!(refused("reader").unwrap_err(), "role \"reader\" is not permitted to log in");
}

#[tokio::test]
async fn logins_have_limits() {
    let db = database().await;
    let login = |user: &str| db.database.check_login(user).map_err(|error| error.sqlstate());
    db.run("alter role reader connection limit 1").await;
    assert_eq!(login("reader"), Ok(()));
    let first = db.database.session("reader");
    assert_eq!(login("reader"), Err("53300"));
    drop(first);
    assert_eq!(login("reader"), Ok(()));
    db.run("revoke connect on database braid from public").await;
    assert_eq!(login("reader"), Err("42501"));
    db.run("grant connect on database braid to reader").await;
    assert_eq!((login("reader"), login("other"), login("alice")), (Ok(()), Err("42501"), Ok(())));
}

#[tokio::test]
async fn passwords_are_kept_as_verifiers_and_expire() {
    let db = database().await;
    assert_eq!(db.database.login_password("reader"), LoginPassword::None);
    assert_eq!(db.database.login_password("nobody"), LoginPassword::None);
    assert_eq!(db.database.login_password("alice"), LoginPassword::OfServer);
    db.run("alter role reader password 'secret'").await;
    let LoginPassword::Own(verifier) = db.database.login_password("reader") else { panic!("it has a password") };
    assert!(verifier.starts_with("SCRAM-SHA-256$4096:") && !verifier.contains("secret"));
    assert_eq!(db.run("select rolpassword = 'secret' from pg_authid where rolname = 'reader'").await, "false");
    db.run("alter role reader valid until '2001-01-01'").await;
    assert_eq!(db.database.login_password("reader"), LoginPassword::Invalid);
    db.run("alter role reader valid until 'infinity' password null").await;
    assert_eq!(db.database.login_password("reader"), LoginPassword::None);
    assert_eq!(db.state("alter role reader password 'md5d41d8cd98f00b204e9800998ecf8427e'").await, "0A000");
}

#[tokio::test]
async fn sessions_begin_with_the_settings_of_their_role() {
    let db = database().await;
    db.run("create schema own;; grant usage on schema own to reader").await;
    db.run("alter role reader set search_path to own, public;; alter role reader set my.word = 'x'").await;
    let reader = db.database.session("reader");
    assert_eq!(run(&reader, "show search_path").await.unwrap(), "own, public");
    assert_eq!(run(&reader, "select current_schema(), current_setting('my.word')").await.unwrap(), "own|x");
    run(&reader, "set search_path to public").await.unwrap();
    assert_eq!(run(&reader, "show search_path").await.unwrap(), "public");
    run(&reader, "reset all").await.unwrap();
    assert_eq!(run(&reader, "show search_path").await.unwrap(), "own, public");
    // A role that is taken brings none.
    assert_eq!(db.run("set role reader;; show search_path").await, "\"$user\", public");
}

#[tokio::test]
async fn a_role_that_is_granted_something_meanwhile_is_not_dropped() {
    let db = database().await;
    let granting = db.database.session("alice");
    run(&granting, "begin;; grant select on facts to reader").await.unwrap();
    db.run("drop role reader").await;
    let refused = run(&granting, "commit").await.unwrap_err();
    assert_eq!(refused.sqlstate(), "40001", "{refused:?}");
    assert_eq!(db.run("select relacl is null from pg_class where relname = 'facts'").await, "true");
}

#[tokio::test]
async fn taken_roles_end_with_their_transaction() {
    let db = database().await;
    db.run("begin;; set role reader").await;
    assert_eq!(db.run("select current_user").await, "reader");
    db.run("rollback").await;
    assert_eq!(db.run("select current_user").await, "alice");
    db.run("begin;; set local role reader;; commit").await;
    assert_eq!(db.run("select current_user").await, "alice");
    db.run("begin;; set role reader;; commit").await;
    assert_eq!(db.run("select current_user").await, "reader");
    db.run("reset all").await;
    assert_eq!(db.run("select current_user").await, "reader", "RESET ALL keeps the role");
    db.run("discard all").await;
    assert_eq!(db.run("select current_user").await, "alice");
}

#[tokio::test]
async fn a_role_keeps_its_sessions_under_another_name() {
    let db = database().await;
    db.run("grant select on facts to reader").await;
    let reader = db.database.session("reader");
    db.run("alter role reader rename to writer;; create role reader").await;
    assert_eq!(run(&reader, "select current_user").await.unwrap(), "writer");
    assert_eq!(state(&reader, "select count(*) from facts").await, Ok("1000".to_owned()));
    db.run("drop owned by writer;; drop role writer").await;
    assert_eq!(
        state(&reader, "select count(*) from facts").await,
        Err("42501"),
        "a role that is gone has no privileges"
    );
}

#[tokio::test]
async fn roles_owners_and_privileges_are_there_after_a_restart() {
    let db = database().await;
    db.run("create schema own authorization reader;; grant select on facts to reader with grant option").await;
    db.run("alter default privileges in schema own grant select on tables to other;; grant reader to other").await;
    let relations =
        "select relname, relowner::regrole, relacl from pg_class where relname in ('facts', 't') order by 1";
    let reader = db.database.session("reader");
    run(&reader, "create table own.t (a int)").await.unwrap();
    let before = db.run(relations).await;
    let TestDb { dir, database, session } = db;
    drop((session, reader));
    database.close().await;
    drop(database);
    let database = Database::open(config(dir.path())).await.unwrap();
    let session = database.session("alice");
    assert_eq!(run(&session, relations).await.unwrap(), before);
    assert_eq!(run(&session, "select count(*) from pg_default_acl").await.unwrap(), "1");
    let other = database.session("other");
    assert_eq!(run(&other, "select count(*) from facts").await.unwrap(), "1000");
    assert_eq!(state(&other, "drop table own.t").await, Ok(String::from("DROP TABLE")));
}

#[tokio::test]
async fn others_are_shown_little_of_sessions_and_cannot_end_them() {
    let db = database().await;
    let reader = db.database.session("reader");
    let query = format!("select query from pg_stat_activity where pid = {}", db.session.id());
    assert_eq!(run(&reader, &query).await.unwrap(), "<insufficient privilege>");
    for function in ["pg_cancel_backend", "pg_terminate_backend"] {
        assert_eq!(state(&reader, &format!("select {function}({})", db.session.id())).await, Err("42501"));
    }
    db.run("grant pg_read_all_stats, pg_signal_backend to reader").await;
    assert_ne!(run(&reader, &query).await.unwrap(), "<insufficient privilege>");
    let other = db.database.session("other");
    assert_eq!(state(&reader, &format!("select pg_terminate_backend({})", other.id())).await, Ok("true".to_owned()));
    assert_eq!(state(&other, "select 1").await, Err("57P01"));
    assert_eq!(state(&reader, "select count(*) from pg_authid").await, Err("42501"));
}

/// Values that a role may not read are no part of errors, at the end of a transaction neither.
#[tokio::test(flavor = "multi_thread")]
async fn errors_show_no_values_that_the_role_may_not_read() {
    let db = database().await;
    db.run("create table keys (k int primary key, u text unique, n int check (n > 0))").await;
    db.run("create table uses (k int references keys deferrable initially deferred)").await;
    db.run("insert into keys values (1, 'secret', 5);; insert into uses values (1)").await;
    db.run("grant insert, update, delete on keys, uses to reader;; grant select (k) on keys to reader").await;
    let reader = db.database.session("reader");
    let details = async |session: &Session| {
        let mut details = Vec::new();
        for sql in [
            "insert into keys values (1, 'other', 5)",
            "insert into keys values (2, 'secret', 5)",
            "update keys set n = -1 where k = 1",
            "insert into keys values (null, 'third', 5)",
            "insert into uses values (7)",
            "delete from keys where k = 1",
        ] {
            details.push(run(session, sql).await.expect_err(sql).detail());
        }
        details
    };
    let text = |detail: &str| Some(detail.to_owned());
    let of_uses = text("Key is not present in table \"keys\".");
    let of_keys = text("Key (k)=(1) is still referenced from table \"uses\".");
    let of_reader = [text("Key (k)=(1) already exists."), None, None, None, of_uses, of_keys.clone()];
    assert_eq!(details(&reader).await, of_reader);
    db.run("grant select on keys, uses to reader").await;
    let of_owner = [
        text("Key (k)=(1) already exists."),
        text("Key (u)=(secret) already exists."),
        text("Failing row contains (1, secret, -1)."),
        text("Failing row contains (null, third, 5)."),
        text("Key (k)=(7) is not present in table \"keys\"."),
        of_keys,
    ];
    assert_eq!(details(&reader).await, of_owner);
}
