//! Scans against an in-memory model, over tables that a real store wrote and a real buffer reads.

#![allow(clippy::unwrap_used, reason = "in a test the line number is enough, in its fixture too")]

mod fixture;
mod life_of_a_scan;
mod model;
mod random_scans;
