//! What sessions see of others, and do to them: `pg_stat_activity`, `pg_locks`, `pg_blocking_pids`, `pg_cancel_backend`.

use braid_engine::Session;
use braid_testing::in_time;

use crate::test_db::{TestDb, answer_of, begun_to_wait, run};

async fn asked(session: &Session, sql: &str) -> String {
    run(session, sql).await.unwrap()
}

#[tokio::test]
async fn activity_shows_all_sessions_and_what_they_wait_for() {
    let db = TestDb::new().await;
    let (bob, carol) = (db.database.session("bob"), db.database.session("carol"));
    db.run("create table t (a int primary key);; insert into t values (1), (2)").await;
    run(&bob, "set application_name = 'bobs'").await.unwrap();
    run(&bob, "begin;;update t set a = 3 where a = 1").await.unwrap();
    run(&carol, "begin;;select 1/0").await.unwrap_err();
    let shown = "select usename, application_name, state, wait_event_type, wait_event, query, xact_start is null
        from pg_stat_activity where pid <> pg_backend_pid() order by pid";
    let expected = "bob|bobs|idle in transaction|Client|ClientRead|update t set a = 3 where a = 1|false\n\
        carol||idle in transaction (aborted)|Client|ClientRead|select 1/0|false";
    assert_eq!(db.run(shown).await, expected);
    let own = "select state, query, query_start = state_change, backend_type from pg_stat_activity where pid = pg_backend_pid()";
    assert_eq!(db.run(own).await, format!("active|{own}|true|client backend"));

    run(&carol, "rollback").await.unwrap();
    let waiting = begun_to_wait(&db, &carol, "delete from t where a = 1").await;
    {
        let activity = format!(
            "select state, wait_event_type, wait_event, query, pg_blocking_pids(pid)::text
            from pg_stat_activity where pid = {}",
            carol.id()
        );
        let expected = format!("active|Lock|transactionid|delete from t where a = 1|{{{}}}", bob.id());
        assert_eq!(db.run(&activity).await, expected);
        let locks = "select pid, locktype, relation::regclass, mode, granted, transactionid is null from pg_locks order by 1, 2, 4";
        let expected = [
            format!("{}|relation|t|RowExclusiveLock|true|true", bob.id()),
            format!("{}|transactionid|NULL|ExclusiveLock|true|false", bob.id()),
            format!("{}|relation|t|RowExclusiveLock|true|true", carol.id()),
            format!("{}|transactionid|NULL|ExclusiveLock|true|false", carol.id()),
            format!("{}|transactionid|NULL|ShareLock|false|false", carol.id()),
        ];
        assert_eq!(db.run(locks).await, expected.join("\n"));
        let holder = "select holder.pid from pg_locks waiting join pg_locks holder using (locktype, transactionid)
            where not waiting.granted and holder.granted";
        assert_eq!(db.run(holder).await, bob.id().to_string());
        run(&bob, "rollback").await.unwrap();
    }
    answer_of(waiting).await.unwrap();
    assert_eq!(db.run("select count(*) from pg_locks").await, "0");
    drop((bob, carol));
    assert_eq!(db.run("select count(*) from pg_stat_activity").await, "1");
}

#[tokio::test]
async fn locks_show_advisory_locks() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    db.run("select pg_advisory_lock(-2), pg_advisory_lock_shared(4294967297), pg_advisory_lock(-1, 7)").await;
    let waiting = begun_to_wait(&db, &bob, "select pg_advisory_lock(4294967297)").await;
    {
        let locks = "select pid, classid, objid, objsubid, mode, granted from pg_locks where locktype = 'advisory' order by 1, 2, 3";
        let (own, other) = (db.session.id(), bob.id());
        let expected = format!(
            "{own}|1|1|1|ShareLock|true\n{own}|4294967295|7|2|ExclusiveLock|true\n\
             {own}|4294967295|4294967294|1|ExclusiveLock|true\n{other}|1|1|1|ExclusiveLock|false"
        );
        assert_eq!(db.run(locks).await, expected);
        assert_eq!(
            db.run(&format!("select pg_blocking_pids({other})::text, pg_blocking_pids({own})::text")).await,
            format!("{{{own}}}|{{}}")
        );
        let event = format!("select wait_event_type, wait_event from pg_stat_activity where pid = {other}");
        assert_eq!(db.run(&event).await, "Lock|advisory");
        db.run("select pg_advisory_unlock_all()").await;
    }
    answer_of(waiting).await.unwrap();
}

#[tokio::test]
async fn sessions_cancel_and_end_others() {
    let db = TestDb::new().await;
    let (bob, carol) = (db.database.session("bob"), db.database.session("carol"));
    let own = db.session.id();
    // Nothing runs: nothing is cancelled, now or later.
    assert_eq!(db.run(&format!("select pg_cancel_backend({})", bob.id())).await, "true");
    assert_eq!(asked(&bob, "select 1").await, "1");

    db.run("select pg_advisory_lock(1)").await;
    let waiting = begun_to_wait(&db, &bob, "select pg_advisory_lock(1)").await;
    assert_eq!(asked(&carol, &format!("select pg_cancel_backend({})", bob.id())).await, "true");
    assert_eq!(answer_of(waiting).await.unwrap_err(), "57014");
    assert_eq!(asked(&bob, "select 1").await, "1");

    let waiting = begun_to_wait(&db, &bob, "select pg_advisory_lock(1)").await;
    assert_eq!(asked(&carol, &format!("select pg_terminate_backend({})", bob.id())).await, "true");
    answer_of(waiting).await.unwrap_err();
    assert!(bob.is_terminated());
    in_time("the end of a session", bob.terminated()).await;
    assert_eq!(run(&bob, "select 1").await.unwrap_err().sqlstate(), "57P01");
    assert_eq!(asked(&carol, "select 1").await, "1");

    for (sql, answer) in [("select pg_cancel_backend(-5)", "false"), ("select pg_terminate_backend(0)", "false")] {
        assert_eq!(db.run(sql).await, answer);
        let [notice] = &db.session.take_notices()[..] else { panic!("one warning: {sql}") };
        assert!(notice.message.ends_with("is not a PostgreSQL backend process"), "{}", notice.message);
    }
    assert_eq!(db.run("select pg_cancel_backend(null) is null").await, "true");
    let states = [
        (format!("select pg_terminate_backend({own}, -1)"), "22003"),
        (format!("select pg_terminate_backend({own}, 9)"), "0A000"),
    ];
    for (sql, state) in states {
        assert_eq!(db.fail(&sql).await.sqlstate(), state, "{sql}");
    }
}
