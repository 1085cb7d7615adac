//! Queries whose joins are predicted to make far more pairs than there are rows: they are in no pass with others.

use braid_engine::Session;
use futures::future::join_all;

use crate::test_db::{TestDb, run};

/// Rows of the table; half of them have one key, half the other.
const ROWS: u64 = 8000;

async fn database() -> TestDb {
    let db = TestDb::new().await;
    db.run(&format!(
        "create table facts as select n, n % 2 as k, n % 100 as v from generate_series(0, {}) as s(n)",
        ROWS - 1
    ))
    .await;
    db
}

fn session(db: &TestDb) -> Session {
    let session = db.database.session("alice");
    session.set_setting("braid.sharing", "global").unwrap();
    session.set_setting("braid.templates", "eager").unwrap();
    session
}

fn text(v: u64) -> String {
    format!("select count(*) from facts a join facts b on a.k = b.k and a.n <> b.n where a.v < {v}")
}

/// Each of `v` hundredths of the rows with all other rows of its key.
fn expected(v: u64) -> String {
    (ROWS * v / 100 * (ROWS / 2 - 1)).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_with_predicted_explosions_leave_their_pass_before_it_starts() {
    let db = database().await;
    let alone = "select count(*) from braid_passes where form = 'alone' and ending = 'answered'";
    let shared = "select max(queries) from braid_passes where form = 'shared' and ending = 'answered'";
    // The first one makes the plan.
    assert_eq!(run(&session(&db), &text(3)).await.unwrap(), expected(3));
    // Up to 2 600 000 pairs, which are few, and from 12 800 000. The first ones run while the others gather.
    let asked = [1, 2, 3, 4, 40, 5, 6, 45, 7, 8].map(|v| (v, session(&db)));
    let answers = join_all(asked.iter().map(|(v, client)| async { (*v, run(client, &text(*v)).await) }));
    for (v, found) in answers.await {
        assert_eq!(found.unwrap(), expected(v), "{v}");
    }
    assert_eq!(db.run(alone).await, "2");
    let most: usize = db.run(shared).await.parse().unwrap();
    assert!(most > 1, "the others share");
    let client = session(&db);
    let explain = |v| format!("explain analyze {}", text(v));
    let explained = run(&client, &explain(50)).await.unwrap();
    assert!(explained.contains(", alone, predicted"), "{explained}");
    let explained = run(&client, &explain(2)).await.unwrap();
    assert!(explained.contains(" distinct, "), "{explained}");
    assert_eq!(db.run(alone).await, "3");
}
