//! `braid check`: verifies every checksum and structure of a data directory, and prints each fault on its own line.

use std::sync::Arc;

use braid_base::ByteSize;
use indicatif::{ProgressBar, ProgressStyle};

use super::CommandError;
use super::open::{DataOption, DatabaseOptions};

/// Options of `braid check`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    data: DataOption,
    #[command(flatten)]
    database: DatabaseOptions,
}

/// Runs the command. It prints faults to standard output, and fails if it finds any.
pub(crate) async fn run(options: Options) -> Result<(), CommandError> {
    let data = &options.data.data;
    if !data.is_dir() {
        // Opening would create the directory, and the check would find no fault.
        return Err(CommandError::Usage(format!("data directory {} does not exist", data.display())));
    }
    let database = options.database.open(data).await?;
    let bar = progress_bar();
    let store = Arc::clone(database.store());
    let report = store
        .check(|progress| {
            bar.set_length(progress.segments_total as u64);
            bar.set_position(progress.segments as u64);
        })
        .await;
    bar.finish_and_clear();
    database.close().await;
    for fault in &report.faults {
        println!("{fault}");
    }
    for orphan in &report.orphans {
        println!("file belongs to no table and is deleted at the next start: {}", orphan.display());
    }
    if report.is_sound() {
        let (tables, files, size) = (report.tables, report.files, ByteSize(report.bytes).rounded());
        println!("no faults: {tables} tables, {files} files, {} segments, {size}", report.segments);
        Ok(())
    } else {
        Err(CommandError::Faulty { faults: report.faults.len(), data: data.clone() })
    }
}

/// A progress bar, shown only on a terminal.
fn progress_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} segments, {eta} left")
        .expect("the template is a constant that parses");
    ProgressBar::new(0).with_style(style)
}
