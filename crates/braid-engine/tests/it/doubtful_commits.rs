//! The disk fails in the one moment after which it is unknown whether a commit is durable.

use std::path::Path;
use std::sync::Arc;

use braid_engine::{Config, Database, EngineError, Outcome, Session, TransactionStatus};
use braid_io::{Fault, FaultDevice, IoOperation, open_device};
use bytes::Bytes;
use tokio_util::sync::CancellationToken;

/// A database on a disk that fails on command.
async fn open_on_faults(dir: &Path) -> (Arc<Database>, Arc<FaultDevice>) {
    let config = Config::new(dir);
    let disk = FaultDevice::new(open_device(dir, &config.device).unwrap());
    (Database::open_on(disk.clone(), config).await.unwrap(), disk)
}

async fn execute(session: &Session, sql: &str) -> Result<Outcome, EngineError> {
    session.execute(&session.parse(sql)?[0], vec![], CancellationToken::new()).await
}

async fn copy_one_row(session: &Session) -> Result<u64, EngineError> {
    match execute(session, "copy t from stdin").await? {
        Outcome::CopyIn(mut copy) => {
            copy.data(Bytes::from_static(b"2\n")).await?;
            copy.finish().await
        }
        other => panic!("{other:?}"),
    }
}

fn row_count(database: &Database) -> u64 {
    database.store().snapshot().table("t").unwrap().row_count()
}

/// Makes the commit of `write` doubtful, and answers its error after all checks.
async fn doubt<T: std::fmt::Debug>(write: impl AsyncFn(&Session) -> Result<T, EngineError>) {
    let dir = tempfile::tempdir().unwrap();
    let (database, disk) = open_on_faults(dir.path()).await;
    let session = database.session("tester");
    execute(&session, "create table t (a bigint)").await.unwrap();
    execute(&session, "insert into t values (1)").await.unwrap();

    // The sync of the log that has the commit's record.
    let (operation, file) = (Some(IoOperation::Sync), Some("0000000000000001.log".into()));
    disk.inject(Fault::Fail { operation, file, nth: 1, errno: 5 });
    let error = write(&session).await.unwrap_err();
    assert_eq!(error.sqlstate(), "08007", "{error:?}");
    assert_eq!(error.message(), "the commit may or may not have become durable");
    assert!(error.detail().unwrap().contains("cannot sync"), "{error:?}");
    assert!(error.hint().unwrap().starts_with("Restart the server and check"), "{error:?}");
    assert_ne!(session.transaction_status(), TransactionStatus::InBlock);
    // Queries go on from the state before; a later write has certainly failed, and says that instead.
    assert_eq!(row_count(&database), 1);
    disk.clear();
    let halted = execute(&session, "insert into t values (3)").await.unwrap_err();
    assert_eq!(halted.sqlstate(), "58030", "{halted:?}");
    assert!(halted.hint().unwrap().contains("changed nothing"), "{halted:?}");
    assert_eq!(row_count(&database), 1);
    drop(session);
    database.close().await;
    drop(database);

    // Nothing crashed, so the record is there; the write is whole, and writes are taken again.
    let database = Database::open(Config::new(dir.path())).await.unwrap();
    assert_eq!(row_count(&database), 2);
    execute(&database.session("tester"), "insert into t values (3)").await.unwrap();
    assert_eq!(row_count(&database), 3);
    assert!(database.store().check(|_| {}).await.is_sound());
}

#[tokio::test]
async fn a_commit_in_doubt_claims_neither_success_nor_failure() {
    doubt(async |session| execute(session, "insert into t values (2)").await).await;
    doubt(async |session| execute(session, "insert into t select 2").await).await;
    doubt(async |session| copy_one_row(session).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_cancelled_in_its_commit_says_that_it_succeeded() {
    let dir = tempfile::tempdir().unwrap();
    let database = Database::open(Config::new(dir.path())).await.unwrap();
    execute(&database.session("tester"), "create table t (a bigint)").await.unwrap();
    database.close().await;
    drop(database);

    let cancel = CancellationToken::new();
    let (database, disk) = open_on_faults(dir.path()).await;
    let cancels = cancel.clone();
    disk.before_next(IoOperation::Sync, move || {
        cancels.cancel();
        // Time for the statement to notice, if it listened.
        std::thread::sleep(std::time::Duration::from_millis(50));
    });
    let session = database.session("tester");
    let insert = &session.parse("insert into t select value from generate_series(1, 1000) as s(value)").unwrap()[0];
    session.execute(insert, vec![], cancel.clone()).await.unwrap();
    assert!(cancel.is_cancelled());
    assert_eq!(row_count(&database), 1000);
    // The same token before the commit.
    assert_eq!(session.execute(insert, vec![], cancel).await.unwrap_err().sqlstate(), "57014");
    assert_eq!(row_count(&database), 1000);
}
