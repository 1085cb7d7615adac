//! The crates import in one direction. This test reads `cargo metadata` and fails on an edge that ARCHITECTURE.md
//! does not have; a new edge is a decision, made there and here together.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Every crate of the workspace in layer order, with the Braid crates it may import.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("braid-base", &[]),
    ("braid-testing", &["braid-base"]),
    ("braid-share", &["braid-base"]),
    ("braid-sql", &["braid-base"]),
    ("braid-io", &["braid-base"]),
    ("braid-storage", &["braid-base", "braid-io"]),
    ("braid-catalog", &["braid-base", "braid-sql", "braid-io", "braid-storage"]),
    ("braid-buffer", &["braid-base", "braid-io", "braid-storage"]),
    ("braid-scan", &["braid-base", "braid-io", "braid-storage", "braid-buffer"]),
    ("braid-exec", &["braid-base", "braid-io", "braid-storage", "braid-buffer", "braid-scan"]),
    (
        "braid-plan",
        &["braid-base", "braid-sql", "braid-io", "braid-storage", "braid-buffer", "braid-scan", "braid-exec"],
    ),
    (
        "braid-engine",
        &[
            "braid-base",
            "braid-share",
            "braid-catalog",
            "braid-sql",
            "braid-io",
            "braid-storage",
            "braid-buffer",
            "braid-scan",
            "braid-exec",
            "braid-plan",
        ],
    ),
    (
        "braid-bench",
        &["braid-base", "braid-io", "braid-storage", "braid-buffer", "braid-scan", "braid-exec", "braid-engine"],
    ),
    ("braid-server", &["braid-base", "braid-io", "braid-engine", "braid-bench"]),
    ("braid-testkit", &["braid-base", "braid-io", "braid-engine", "braid-bench", "braid-server"]),
];

/// Tests of all crates import it, and nothing but tests.
const FOR_TESTS: &str = "braid-testing";

/// What `cargo metadata` says of each package of the workspace.
fn packages() -> Vec<serde_json::Value> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs where tests run");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    metadata["packages"].as_array().expect("cargo metadata lists packages").clone()
}

fn name_of(package: &serde_json::Value) -> &str {
    package["name"].as_str().expect("a package and a dependency have a name")
}

fn dependencies_of(package: &serde_json::Value) -> &[serde_json::Value] {
    package["dependencies"].as_array().expect("a package lists its dependencies")
}

fn dependencies_by_package() -> BTreeMap<String, BTreeSet<String>> {
    let is_counted = |d: &&serde_json::Value| d["kind"] != "dev" || d["name"] != FOR_TESTS;
    let names = |package| dependencies_of(package).iter().filter(is_counted).map(|d| name_of(d).to_owned()).collect();
    packages().iter().map(|package| (name_of(package).to_owned(), names(package))).collect()
}

#[test]
fn crates_import_in_one_direction() {
    let packages = dependencies_by_package();
    let known: BTreeSet<&str> = MAY_IMPORT.iter().map(|(name, _)| *name).collect();
    let found: BTreeSet<&str> = packages.keys().map(String::as_str).collect();
    assert_eq!(found, known, "the workspace and the table of crates differ");
    for (name, allowed) in MAY_IMPORT {
        for dependency in packages[*name].iter().filter(|d| d.starts_with("braid-")) {
            let is_itself = dependency == name; // With the feature `testing`, for its integration tests.
            assert!(is_itself || allowed.contains(&dependency.as_str()), "{name} must not import {dependency}");
        }
    }
}

/// Tests above `braid-io` turn on its feature `testing`: the fault device is there, and the crates below are built
/// once for all tests, not once for each selection of packages. No crate turns it on for the server.
#[test]
fn only_tests_turn_on_testing_and_all_of_them_do() {
    for package in packages() {
        let has_testing = |dependency: &serde_json::Value| {
            dependency["features"].as_array().is_some_and(|features| features.iter().any(|f| f == "testing"))
        };
        let is_dev = |dependency: &serde_json::Value| dependency["kind"] == "dev";
        let name = name_of(&package);
        let mut dependencies = dependencies_of(&package).iter();
        assert!(dependencies.all(|d| is_dev(d) || !has_testing(d)), "{name} takes test code into the server");
        let is_above_io = !["braid-base", "braid-share", "braid-sql", "braid-testing"].contains(&name);
        let tests_with = dependencies_of(&package).iter().filter(|d| is_dev(d) && has_testing(d));
        let tests_with: Vec<&str> = tests_with.map(name_of).collect();
        assert_eq!(tests_with.contains(&"braid-io"), is_above_io, "{name} and braid-io's feature `testing`");
    }
}

#[test]
fn the_table_of_crates_is_itself_a_direction() {
    for (at, (name, allowed)) in MAY_IMPORT.iter().enumerate() {
        let lower: Vec<&str> = MAY_IMPORT[..at].iter().map(|(lower, _)| *lower).collect();
        assert!(allowed.iter().all(|a| lower.contains(a)), "{name} may import something that is not below it");
    }
}
