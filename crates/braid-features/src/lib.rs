//! Nothing but a list of dependencies: one feature set of the third-party crates, whichever packages are selected.
//!
//! Cargo turns on a dependency's features for the packages it was asked to build. So `cargo test -p braid-df` and
//! `cargo test --workspace` would each compile their own DataFusion, four minutes in dev and eighteen in release. Every
//! crate above the DataFusion wall depends on this one, which asks for the union; then they all share one.
//! `tests/direction.rs` of `braid-base` fails when a selection's features differ from the workspace's.
