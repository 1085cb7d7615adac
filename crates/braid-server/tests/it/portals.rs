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

/// What PostgreSQL 15 answers for five rows, one FETCH after the other.
const SCROLLED: &[(&str, &str)] = &[
    ("next", "1"),
    ("prior", ""),
    ("prior", ""),
    ("next", "1"),
    ("forward 2", "2 3"),
    ("relative -1", "2"),
    ("relative 0", "2"),
    ("0", "2"),
    ("forward 0", "2"),
    ("backward 0", "2"),
    ("absolute 3", "3"),
    ("absolute -2", "4"),
    ("absolute 0", ""),
    ("next", "1"),
    ("absolute 9", ""),
    ("prior", "5"),
    ("last", "5"),
    ("first", "1"),
    ("forward all", "2 3 4 5"),
    ("backward 2", "5 4"),
    ("backward all", "3 2 1"),
    ("next", "1"),
    ("-1", ""),
    ("all", "1 2 3 4 5"),
    ("relative -2", "4"),
    ("relative 9", ""),
    ("backward", "5"),
    ("forward", ""),
    ("absolute 2", "2"),
    ("relative 1", "3"),
    ("absolute -9", ""),
    ("next", "1"),
    ("last", "5"),
    ("next", ""),
    ("next", ""),
    ("prior", "5"),
    ("forward -2", "4 3"),
    ("backward -2", "4 5"),
];

#[tokio::test]
async fn a_scroll_cursor_goes_to_any_row() {
    let server = TestServer::start().await;
    let client = server.client().await;
    client.batch_execute("begin").await.unwrap();
    // One row in a batch, and several.
    for (name, rows) in [("a", "select * from generate_series(1, 5) as s (n)"), ("b", "values (1), (2), (3), (4), (5)")]
    {
        client.batch_execute(&format!("declare {name} scroll cursor for {rows}")).await.unwrap();
        for (direction, expected) in SCROLLED {
            let rows = text_rows(&client, &format!("fetch {direction} from {name}")).await;
            let rows: Vec<String> = rows.into_iter().filter_map(|row| row[0].clone()).collect();
            assert_eq!(rows.join(" "), *expected, "{direction} from {name}");
        }
        client.batch_execute(&format!("fetch absolute 0 from {name}")).await.unwrap();
    }
    let mut raw = server.raw().await;
    raw.query("begin").await;
    raw.query("declare c scroll cursor for select * from generate_series(1, 5)").await;
    for (direction, tag) in [("absolute 1", "1"), ("forward all", "4"), ("backward 3", "3"), ("absolute 9", "0")] {
        let answers = raw.query(&format!("move {direction} in c")).await;
        assert_eq!((kinds(&answers).as_str(), answers[0].text()), ("CZ", format!("MOVE {tag}")), "{direction}");
    }
    assert_eq!(raw.query("fetch prior from c").await[1].values(), [Some(b"5".to_vec())]);
}

#[tokio::test]
async fn a_scroll_cursor_reads_many_batches_both_ways() {
    let server = TestServer::start().await;
    let client = server.client().await;
    let numbers = async |sql: &str| -> Vec<i64> {
        let rows = text_rows(&client, sql).await;
        rows.iter().map(|row| row[0].as_deref().unwrap().parse().unwrap()).collect()
    };
    client
        .batch_execute("begin; declare c scroll cursor with hold for select * from generate_series(1, 30000)")
        .await
        .unwrap();
    assert_eq!(numbers("fetch 20000 from c").await, (1..=20000).collect::<Vec<_>>());
    client.batch_execute("commit").await.unwrap();
    assert_eq!(numbers("fetch backward 19000 from c").await, (1000..20000).rev().collect::<Vec<_>>());
    assert_eq!(numbers("fetch all from c").await, (1001..=30000).collect::<Vec<_>>());
    assert_eq!(numbers("fetch backward all from c").await, (1..=30000).rev().collect::<Vec<_>>());
    client.batch_execute("close c").await.unwrap();
}

#[tokio::test]
async fn other_cursors_go_forward_only() {
    let server = TestServer::start().await;
    let client = server.client().await;
    for declared in ["no scroll cursor", "cursor"] {
        for direction in ["prior", "first", "last", "absolute 1", "absolute -1", "0", "relative -1", "backward all"] {
            let text = format!("begin; declare c {declared} for select * from generate_series(1, 5)");
            client.batch_execute(&text).await.unwrap();
            assert_eq!(text_rows(&client, "fetch c").await.len(), 1);
            let refused = client.batch_execute(&format!("fetch {direction} from c")).await;
            assert_eq!(sqlstate(refused), "55000", "{direction}");
            client.batch_execute("rollback").await.unwrap();
        }
        client
            .batch_execute(&format!("begin; declare c {declared} for select * from generate_series(1, 5)"))
            .await
            .unwrap();
        assert_eq!(text_rows(&client, "fetch relative 3 from c").await, [[Some("3".to_owned())]]);
        assert!(text_rows(&client, "fetch relative 3 from c").await.is_empty());
        client.batch_execute("rollback").await.unwrap();
        // As PostgreSQL does, it goes to the number of a row that is still to come.
        client
            .batch_execute(&format!("begin; declare c {declared} for select * from generate_series(1, 5)"))
            .await
            .unwrap();
        assert_eq!(text_rows(&client, "fetch absolute 2 from c").await, [[Some("2".to_owned())]]);
        client.batch_execute("move 1 from c").await.unwrap();
        assert_eq!(text_rows(&client, "fetch absolute 5 from c").await, [[Some("5".to_owned())]]);
        assert!(text_rows(&client, "fetch absolute 9 from c").await.is_empty());
        assert!(text_rows(&client, "fetch absolute 7 from c").await.is_empty());
        assert_eq!(sqlstate(client.batch_execute("fetch absolute 6 from c").await), "55000");
        client.batch_execute("rollback").await.unwrap();
    }
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

#[tokio::test]
async fn a_portal_of_returning_changes_all_rows_and_returns_some() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    client.batch_execute("create table t (a int); insert into t select generate_series(1, 5)").await.unwrap();
    let transaction = client.transaction().await.unwrap();
    let portal = transaction.bind("update t set a = a + $1 returning a", &[&10_i32]).await.unwrap();
    assert_eq!(transaction.query_portal(&portal, 2).await.unwrap().len(), 2);
    let changed = transaction.query_one("select count(*) from t where a > 10", &[]).await.unwrap();
    assert_eq!(changed.get::<_, i64>(0), 5);
    assert_eq!(transaction.query_portal(&portal, 2).await.unwrap().len(), 2);
    transaction.commit().await.unwrap();
    let rows =
        client.query("delete from t where a > $1 returning a::text || $2 as x, a", &[&12_i32, &"!"]).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>(), ["13!", "14!", "15!"]);
    // The rows of a simple query and its tag.
    let answers = client.simple_query("insert into t values (1), (2) returning a").await.unwrap();
    let counts = answers.iter().filter_map(|answer| match answer {
        tokio_postgres::SimpleQueryMessage::CommandComplete(count) => Some(*count),
        _ => None,
    });
    assert_eq!(counts.collect::<Vec<_>>(), [2]);
    // What fails while it is sent, or behind it in the message, is undone.
    assert!(client.simple_query("insert into t values (3) returning a; select 1 / 0").await.is_err());
    let count = client.query_one("select count(*) from t", &[]).await.unwrap();
    assert_eq!(count.get::<_, i64>(0), 4);
}

#[tokio::test]
async fn the_catalog_shows_cursors() {
    let server = TestServer::start().await;
    let mut client = server.client().await;
    let opened = "begin; declare c cursor for select 1; declare \"D d\" no scroll cursor with hold for select 2; \
        declare e binary scroll cursor for select 3";
    client.batch_execute(opened).await.unwrap();
    let lines = |rows: Vec<Vec<Option<String>>>| {
        let line =
            |row: Vec<Option<String>>| row.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>().join("|");
        rows.into_iter().map(line).collect::<Vec<_>>()
    };
    let all = "select name, statement, is_holdable, is_binary, is_scrollable from pg_cursors order by 1";
    let expected = [
        "D d|declare \"D d\" no scroll cursor with hold for select 2|t|f|f",
        "c|declare c cursor for select 1|f|f|f",
        "e|declare e binary scroll cursor for select 3|f|t|t",
    ];
    assert_eq!(lines(text_rows(&client, all).await), expected);
    client.batch_execute("close c").await.unwrap();
    assert_eq!(lines(text_rows(&client, "select name from pg_cursors order by 1").await), ["D d", "e"]);
    client.batch_execute("commit").await.unwrap();
    let held = "select name from pg_cursors where creation_time between now() - interval '1 minute' and now()";
    assert_eq!(lines(text_rows(&client, held).await), ["D d"]);
    let other = server.client().await;
    assert!(text_rows(&other, all).await.is_empty(), "they are of their session");
    client.batch_execute("close all").await.unwrap();
    assert!(text_rows(&client, all).await.is_empty());
    // A cursor that Execute has read goes on from there.
    let mut raw = server.raw().await;
    raw.query("begin").await;
    let steps = [parse("", "select * from generate_series(1, 20)", &[]), bind("p", "", 0, &[], 0), execute("p", 5)];
    raw.stream.write_all(&[steps.concat(), sync()].concat()).await.unwrap();
    raw.until_ready().await;
    let fetched = raw.query("fetch absolute 6 from p").await;
    let row = fetched.iter().find(|message| message.kind == 'D').unwrap().values();
    assert_eq!(row[0].as_deref(), Some(&b"6"[..]));
    let refused = raw.query("fetch absolute 3 from p").await;
    assert_eq!(refused[0].field(b'C').as_deref(), Some("55000"));
    // Portals of the protocol that have names.
    let transaction = client.transaction().await.unwrap();
    let portal = transaction.bind("select * from generate_series(1, 9)", &[]).await.unwrap();
    transaction.query_portal(&portal, 2).await.unwrap();
    let shown = transaction.query("select statement, is_holdable from pg_cursors", &[]).await.unwrap();
    assert_eq!(shown.len(), 1);
    assert_eq!(
        (shown[0].get::<_, &str>(0), shown[0].get::<_, bool>(1)),
        ("select * from generate_series(1, 9)", false)
    );
    transaction.rollback().await.unwrap();
    assert!(text_rows(&client, all).await.is_empty());
}

/// As PostgreSQL's cursors are: they show what was there when they were declared, and what their transaction has opened goes with it.
#[tokio::test]
async fn cursors_read_what_was_there_when_they_were_declared_and_go_with_their_transaction() {
    let server = TestServer::start().await;
    let client = server.client().await;
    let first =
        |rows: Vec<Vec<Option<String>>>| rows.into_iter().map(|row| row[0].clone().unwrap()).collect::<Vec<_>>();
    client.batch_execute("create table t (a int); insert into t values (1), (2)").await.unwrap();
    for form in ["cursor", "scroll cursor"] {
        client.batch_execute(&format!("begin; declare c {form} for select a from t order by a")).await.unwrap();
        client.batch_execute("insert into t values (0)").await.unwrap();
        assert_eq!(first(text_rows(&client, "fetch all from c").await), ["1", "2"], "{form}");
        client.batch_execute("rollback").await.unwrap();
    }
    // A cursor that outlives its transaction has the rows of its declaration, too.
    client.batch_execute("begin; declare h cursor with hold for select a from t order by a; commit").await.unwrap();
    client.batch_execute("insert into t values (3)").await.unwrap();
    assert_eq!(first(text_rows(&client, "fetch all from h").await), ["1", "2"]);
    // It outlives the failures of later transactions, and not that of its own.
    client.batch_execute("begin").await.unwrap();
    client.batch_execute("declare late cursor with hold for select 1; rollback").await.unwrap();
    client.batch_execute("select 1/0").await.unwrap_err();
    assert_eq!(sqlstate(client.batch_execute("fetch late").await), "34000");
    assert_eq!(sqlstate(client.batch_execute("declare late cursor with hold for select 1; select 1/0").await), "22012");
    assert_eq!(sqlstate(client.batch_execute("fetch late").await), "34000");
    assert_eq!(first(text_rows(&client, "select name from pg_cursors").await), ["h"]);
    client.batch_execute("move backward 0 from h").await.unwrap_err();
    client.batch_execute("close h").await.unwrap();
    // Those behind a savepoint go when the transaction returns to it.
    client
        .batch_execute("begin; declare a cursor for select 1; savepoint s; declare b cursor for select 2")
        .await
        .unwrap();
    client.batch_execute("savepoint u; declare c cursor for select 3; release u").await.unwrap();
    assert_eq!(first(text_rows(&client, "select name from pg_cursors order by 1").await), ["a", "b", "c"]);
    client.batch_execute("rollback to s").await.unwrap();
    assert_eq!(first(text_rows(&client, "select name from pg_cursors").await), ["a"]);
    client.batch_execute("declare b cursor for select 4; rollback to s").await.unwrap();
    assert_eq!(sqlstate(client.batch_execute("fetch b").await), "34000");
    client.batch_execute("rollback to s").await.unwrap();
    assert_eq!(first(text_rows(&client, "fetch a").await), ["1"]);
    client.batch_execute("commit").await.unwrap();
}
