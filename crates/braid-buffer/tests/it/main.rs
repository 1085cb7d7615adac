//! The asynchronous shell on a real store: concurrency, cancellation, corruption, failing disks.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests; the line number is enough")]

mod columns;
mod fixture;
mod shell;
