//! What the templates of statements and the values of functions take of the process's memory, in a binary of its own, whose allocator
//! counts. Its tests run one at a time.
//!
//! | module | contents |
//! |---|---|
//! | [`counting_allocator`] | the bytes that are allocated |
//! | [`texts`] | the statements |
//! | [`value_peaks`] | values of functions stay within the budgets |

#![allow(clippy::unwrap_used, reason = "in tests the line number is enough")]

mod counting_allocator;
mod texts;
mod value_peaks;

use std::ops::Range;
use std::sync::{Arc, Mutex};

use braid_base::ByteSize;
use braid_bench::workloads::generated::{GeneratedTable, batches};
use braid_bench::workloads::tpch::TpchTable;
use braid_engine::{Config, Database, Outcome};
use futures::{StreamExt, TryStreamExt};
use tokio_util::sync::CancellationToken;

use counting_allocator::{CountingAllocator, allocated_bytes};
use texts::statement;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Held by the test that measures.
static MEASURING: Mutex<()> = Mutex::new(());

/// Texts that are kept. To plan ten thousand takes ten minutes in an unoptimised build; the figures are scaled.
const TEXT_COUNT: usize = 1000;

/// Texts of the same shapes before, which load what all of them share.
const EARLIER_TEXT_COUNT: usize = 80;

/// Sessions at a time. Planning is what takes long, and has a thread for each core of a query.
const SESSION_COUNT: usize = 4;

/// The cache's bounds.
const TEXTS_MAX: usize = 10_000;
const BYTES_MAX: f64 = 64.0 * 1024.0 * 1024.0;

/// A database with all tables of TPC-H, small, but large enough that queries run as passes of templates.
async fn open(directory: &std::path::Path) -> Arc<Database> {
    let mut config = Config::new(directory);
    config.buffer = ByteSize::mib(64);
    config.target_partitions = 2;
    let database = Database::open(config).await.unwrap();
    for table in TpchTable::ALL {
        let rows: Vec<_> = batches(*table, 0.002).try_collect().await.unwrap();
        let rows = futures::stream::iter(rows.into_iter().map(Ok)).boxed();
        database.load_batches(table.new_table(), rows).await.unwrap();
    }
    database
}

/// Runs each text three times with different constants: the second makes the plan, and the third runs by it.
async fn run_thrice(database: &Arc<Database>, numbers: Range<usize>) {
    let in_session = |first: usize| {
        let (database, numbers) = (database.clone(), numbers.clone());
        tokio::spawn(async move {
            let session = database.session("alice");
            for number in numbers.skip(first).step_by(SESSION_COUNT) {
                for round in 0..3 {
                    let sql = statement(number, round);
                    let parsed = session.parse(&sql).unwrap().remove(0);
                    let outcome = session.execute(&parsed, vec![], CancellationToken::new()).await;
                    let Ok(Outcome::Rows { stream, .. }) = outcome else { panic!("{sql}: {outcome:?}") };
                    stream.try_for_each(async |_| Ok(())).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
                }
            }
        })
    };
    let sessions: Vec<_> = (0..SESSION_COUNT).map(in_session).collect();
    for session in sessions {
        session.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::await_holding_lock, reason = "each test has a runtime of its own, which waits for nothing else")]
async fn templates_take_what_they_are_counted_with_and_ten_thousand_stay_within_64_mib() {
    let _measuring = MEASURING.lock().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path()).await;
    run_thrice(&database, TEXT_COUNT..TEXT_COUNT + EARLIER_TEXT_COUNT).await;
    let (before, allocated_before) = (database.template_figures(), allocated_bytes());
    assert_eq!((before.texts, before.plans), (EARLIER_TEXT_COUNT, EARLIER_TEXT_COUNT), "{before:?}");

    run_thrice(&database, 0..TEXT_COUNT).await;
    let after = database.template_figures();
    let grown = allocated_bytes() as f64 - allocated_before as f64;
    let all = EARLIER_TEXT_COUNT + TEXT_COUNT;
    assert_eq!(
        (after.texts, after.plans, after.hits),
        (all, all, all as u64),
        "each has a plan that was used once: {after:?}"
    );

    let counted = (after.bytes - before.bytes) as f64;
    let (grown_of_text, counted_of_text) = (grown / TEXT_COUNT as f64, counted / TEXT_COUNT as f64);
    println!("bytes of a text: {grown_of_text:.0} allocated, {counted_of_text:.0} counted");
    assert!((0.5..=2.0).contains(&(counted / grown)), "{counted} bytes are counted, {grown} bytes were allocated");
    // The cache keeps as many of ten thousand as its count lets it.
    let kept = (TEXTS_MAX as f64).min(BYTES_MAX / counted_of_text);
    let kept_bytes = kept * grown_of_text;
    assert!(kept_bytes <= BYTES_MAX, "{kept:.0} texts are kept, and take {kept_bytes:.0} bytes");
}
