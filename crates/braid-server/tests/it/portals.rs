//! Row limits, cursors, their lives.

use tokio::io::AsyncWriteExt;

use crate::harness::{ENDLESS, TestServer, sqlstate, text_rows};
use crate::raw_client::{bind, execute, kinds, parse, sync};

#[tokio::test]
async fn a_portal_goes_on_where_it_was() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let transaction = client.transaction().await.unwrap();
    let portal = transaction.bind("select * from generate_series(1, 10)", &[]).await.unwrap();
    let mut seen = Vec::new();
    for expected in [4, 4, 2, 0] {
        let rows = transaction.query_portal(&portal, 4).await.unwrap();
        assert_eq!(rows.len(), expected);
        seen.extend(rows.iter().map(|row| row.get::<_, i32>(0)));
    }
    assert_eq!(seen, (1..=10).collect::<Vec<i32>>());
    transaction.commit().await.unwrap();
}

#[tokio::test]
async fn two_portals_are_read_alternately_without_end() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let transaction = client.transaction().await.unwrap();
    let a = transaction.bind(ENDLESS, &[]).await.unwrap();
    let b = transaction.bind("select * from generate_series(1, 100000)", &[]).await.unwrap();
    for round in 0..3 {
        assert_eq!(transaction.query_portal(&a, 5000).await.unwrap().len(), 5000);
        let rows = transaction.query_portal(&b, 1000).await.unwrap();
        assert_eq!(rows[0].get::<_, i32>(0), round * 1000 + 1);
    }
    transaction.rollback().await.unwrap();
    assert_eq!(text_rows(&client, "select 1").await.len(), 1, "dropping the portals stopped their queries");
}

#[tokio::test]
async fn suspension_is_told_and_sync_outside_a_transaction_ends_portals() {
    let server = TestServer::start().await;
    let mut raw = server.raw().await;
    let sql = "select * from generate_series(1, 3)";
    let steps =
        [parse("", sql, &[]), bind("p", "", 0, &[], 0), execute("p", 2), execute("p", 2), execute("p", 2), sync()];
    raw.stream.write_all(&steps.concat()).await.unwrap();
    let answers = raw.until_ready().await;
    assert_eq!(kinds(&answers), "12DDsDCCZ");
    let tags: Vec<String> = answers.iter().filter(|m| m.kind == 'C').map(|m| m.text()).collect();
    assert_eq!(tags, ["SELECT 1", "SELECT 0"]);
    raw.stream.write_all(&[execute("p", 2), sync()].concat()).await.unwrap();
    assert_eq!(raw.until_ready().await[0].field(b'C').as_deref(), Some("34000"));
    // A limit that is met exactly is reported as a suspension, because the server has not read further.
    let steps = [parse("", sql, &[]), bind("p", "", 0, &[], 0), execute("p", 3), execute("p", 3), sync()];
    raw.stream.write_all(&steps.concat()).await.unwrap();
    assert_eq!(kinds(&raw.until_ready().await), "12DDDsCZ");
}

#[tokio::test]
async fn cursors_fetch_forward() {
    let server = TestServer::start().await;
    let client = server.client().await;
    assert_eq!(sqlstate(client.batch_execute("declare c cursor for select 1").await), "25P01");
    client
        .batch_execute("begin; declare \"My c\" no scroll cursor for select * from generate_series(1, 10)")
        .await
        .unwrap();
    assert_eq!(text_rows(&client, "fetch from \"My c\"").await, [[Some("1".to_owned())]]);
    assert_eq!(text_rows(&client, "fetch forward 3 from \"My c\"").await.len(), 3);
    client.batch_execute("move 2 in \"My c\"").await.unwrap();
    assert_eq!(text_rows(&client, "fetch next \"My c\"").await, [[Some("7".to_owned())]]);
    assert_eq!(text_rows(&client, "fetch all in \"My c\"").await.len(), 3);
    assert_eq!(text_rows(&client, "fetch 5 \"My c\"").await.len(), 0);
    client.batch_execute("close \"My c\"").await.unwrap();
    assert_eq!(sqlstate(client.batch_execute("fetch \"My c\"").await), "34000");
    assert_eq!(sqlstate(client.batch_execute("select 1").await), "25P02");
    client.batch_execute("rollback").await.unwrap();
}

#[tokio::test]
async fn cursors_live_as_long_as_they_said() {
    let server = TestServer::start().await;
    let client = server.client().await;
    client.batch_execute("begin").await.unwrap();
    client.batch_execute("declare gone cursor for select * from generate_series(1, 10)").await.unwrap();
    client.batch_execute("declare held cursor with hold for select * from generate_series(1, 10)").await.unwrap();
    assert_eq!(text_rows(&client, "fetch 2 from held").await.len(), 2);
    client.batch_execute("commit").await.unwrap();
    assert_eq!(text_rows(&client, "fetch 1 from held").await, [[Some("3".to_owned())]]);
    assert_eq!(sqlstate(client.batch_execute("fetch 1 from gone").await), "34000");
    client.batch_execute("close all").await.unwrap();
    assert_eq!(sqlstate(client.batch_execute("fetch 1 from held").await), "34000");
}

#[tokio::test]
async fn cursors_work_through_the_extended_protocol_with_parameters() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let transaction = client.transaction().await.unwrap();
    let declare = "declare c cursor for select value + $1::bigint as v from generate_series(1, 10) as s(value)";
    transaction.execute(declare, &[&100_i64]).await.unwrap();
    let rows = transaction.query("fetch 2 from c", &[]).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.get::<_, i64>("v")).collect::<Vec<_>>(), [101, 102]);
    assert_eq!(text_rows_of(&transaction, "fetch 1 from c").await, "103", "the same cursor in the other protocol");
    transaction.commit().await.unwrap();
}

async fn text_rows_of(transaction: &tokio_postgres::Transaction<'_>, sql: &str) -> String {
    let messages = transaction.simple_query(sql).await.unwrap();
    let text = messages.iter().find_map(|message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    text.unwrap()
}
