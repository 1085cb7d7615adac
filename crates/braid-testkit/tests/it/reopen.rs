//! A data directory that was closed can be opened again, at once and in the same process.

use braid_bench::drivers::client::{Client, SessionClient};
use braid_engine::{Config, Database};

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_directory_opens_again_at_once() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..5 {
        let database = Database::open(Config::new(directory.path())).await.unwrap();
        let mut client = SessionClient::new(&database);
        client.run("create table if not exists kept (round integer)").await.unwrap();
        client.run(&format!("insert into kept values ({round})")).await.unwrap();
        let answer = client.answer("select count(*), max(round) from kept where round >= 0").await.unwrap();
        assert_eq!(answer.rows, [[(round + 1).to_string(), round.to_string()]]);
        database.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_has_one_opener_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(Config::new(directory.path())).await.unwrap();
    let error = Database::open(Config::new(directory.path())).await.map(|_| ()).unwrap_err();
    assert_eq!(error.sqlstate(), "55006", "{error}");
    assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
    database.close().await;
}
