//! TPC-H at scale 0.01 with several chunks a table, loaded once for a test binary.
//!
//! At this scale every table would be a single chunk and scans would have nothing to cooperate about. So each table
//! is loaded in pieces, each seven tenths of the rows still to come. Commits merge a trailing chunk with fewer than twice
//! the new rows; each piece here, the last one too, has less than half of the one before and so stays a chunk of its own.
//!
//! A data directory belongs to one process and one `Database`; each test therefore gets a copy of the loaded one. The
//! loaded one outlives the process, as statics do not end; the next process removes it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use braid_base::ByteSize;
use braid_bench::workloads::generated::{GeneratedTable, batches};
use braid_bench::workloads::tpch::TpchTable;
use braid_engine::{Config, Database, EngineError};
use futures::{StreamExt, TryStreamExt};
use tokio::sync::OnceCell;

/// The scale: the smallest with stored answers.
pub const SCALE: f64 = 0.01;

/// The last piece has fewer rows than this; the others have some vectors each.
const PIECE_ROWS_MIN: usize = 2048;

/// What loaded directories are called, before the process id.
const PREFIX: &str = "small-tpch-";

static LOADED: OnceCell<PathBuf> = OnceCell::const_new();

/// Opens a copy of the loaded database in `directory`, with a buffer of `buffer`.
pub async fn open_copy(directory: &Path, buffer: ByteSize) -> Arc<Database> {
    let loaded = LOADED.get_or_init(load).await;
    copy_directory(loaded, directory);
    let mut config = Config::new(directory);
    config.buffer = buffer;
    Database::open(config).await.expect("a copied data directory opens")
}

async fn load() -> PathBuf {
    remove_leftovers();
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{PREFIX}{}", std::process::id()));
    let database = Database::open(Config::new(&directory)).await.expect("an empty data directory opens");
    for &table in TpchTable::ALL {
        load_in_pieces(&database, table).await.expect("a small table loads");
    }
    database.close().await;
    directory
}

async fn load_in_pieces(database: &Database, table: TpchTable) -> Result<(), EngineError> {
    let batches: Vec<_> = batches(table, SCALE).try_collect().await.expect("the generator generates");
    let rows = arrow::compute::concat_batches(&batches[0].schema(), &batches).expect("all batches have one schema");
    let piece_rows = |rest: usize| if rest < PIECE_ROWS_MIN { rest } else { rest * 7 / 10 };
    let mut done = piece_rows(rows.num_rows());
    let first = futures::stream::iter([Ok(rows.slice(0, done))]).boxed();
    database.load_batches(table.new_table(), first).await?;
    while done < rows.num_rows() {
        let piece = piece_rows(rows.num_rows() - done);
        let mut appender = database.store().append(table.name()).expect("the table was just created");
        appender.append(rows.slice(done, piece)).await.expect("rows of the table's schema are taken");
        appender.commit().await.expect("an append commits");
        done += piece;
    }
    Ok(())
}

/// Removes the directories of processes that are gone.
fn remove_leftovers() {
    for entry in std::fs::read_dir(env!("CARGO_TARGET_TMPDIR")).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        if process.is_some_and(|id| !Path::new("/proc").join(id).exists()) {
            // Another test process may be removing the same one.
            drop(std::fs::remove_dir_all(entry.path()));
        }
    }
}

fn copy_directory(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory can be made in the temporary directory");
    for entry in std::fs::read_dir(from).expect("the loaded directory is there") {
        let path = entry.expect("the loaded directory can be read").path();
        let target = to.join(path.file_name().expect("an entry of a directory has a name"));
        if path.is_dir() {
            copy_directory(&path, &target);
        } else {
            std::fs::copy(&path, &target).expect("there is room for a copy");
        }
    }
}
