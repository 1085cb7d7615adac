//! No text makes the binder or a function panic: mutations of the expressions with answers.
//!
//! How deep a text may nest is bounded before it is parsed, by the engine.

use std::path::PathBuf;

use braid_sql::testing::{fuzz_expression, fuzz_rows};
use braid_testing::mutation::mutated;

/// The expressions of all files in a directory.
fn expressions(directory: &str) -> Vec<Vec<u8>> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(directory);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let texts = paths.iter().map(|path| std::fs::read_to_string(path).unwrap());
    let lines: Vec<String> = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    let expressions = lines.iter().filter(|line| !line.is_empty() && !line.starts_with('#'));
    expressions.map(|line| line.split('\t').next().unwrap_or_default().as_bytes().to_vec()).collect()
}

#[test]
fn damaged_expressions_are_answered_or_refused() {
    let seeds = expressions("tests/expressions");
    for case in braid_testing::cases!(0..4000) {
        fuzz_expression(&mutated(&seeds, &mut case.random()));
    }
}

#[test]
fn damaged_calls_return_rows_or_are_refused() {
    let seeds = expressions("tests/sets");
    for case in braid_testing::cases!(0..2000) {
        fuzz_rows(&mutated(&seeds, &mut case.random()));
    }
}
