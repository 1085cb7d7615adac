//! `braid check`: every checksum and structure of a data directory, each fault on a line of its own.

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

/// Runs the command; faults are on standard output, and the exit status tells that there are some.
pub(crate) async fn run(options: Options) -> Result<(), CommandError> {
    let data = &options.data.data;
    if !data.is_dir() {
        // Opening would create it, and find it sound.
        return Err(CommandError::Usage(format!("there is no data directory {}", data.display())));
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
        println!("not part of any table (the next start deletes it): {}", orphan.display());
    }
    if report.is_sound() {
        let (tables, files, size) = (report.tables, report.files, ByteSize(report.bytes).rounded());
        println!("sound: {tables} tables, {files} files, {} segments, {size}", report.segments);
        Ok(())
    } else {
        Err(CommandError::Faulty { faults: report.faults.len(), data: data.clone() })
    }
}

/// Shown on a terminal only.
fn progress_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} segments, {eta} left")
        .expect("the template is a constant that parses");
    ProgressBar::new(0).with_style(style)
}
