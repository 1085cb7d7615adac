//! The rooms whose modules are looked at, and the imports that are allowed to close a cycle.

/// Crates, or folders of crates (`braid-exec::joins`), whose modules must not import each other in a cycle.
pub const ROOMS: &[&str] = &[
    "braid-share",
    "braid-sql",
    "braid-io",
    "braid-storage",
    "braid-buffer",
    "braid-scan",
    "braid-plan",
    "braid-exec",
    "braid-exec::values",
    "braid-exec::keys",
    "braid-exec::expression",
    "braid-exec::query_sets",
    "braid-exec::query_sets::index",
    "braid-exec::query_sets::index::like_index",
    "braid-exec::runtime",
    "braid-exec::spill",
    "braid-exec::plan",
    "braid-exec::scan",
    "braid-exec::sorting",
    "braid-exec::aggregation",
    "braid-exec::aggregation::groups",
    "braid-exec::aggregation::states",
    "braid-exec::aggregation::merging",
    "braid-exec::joins",
    "braid-exec::joins::hash",
    "braid-exec::joins::hash::build",
    "braid-exec::joins::hash::probe",
    "braid-exec::sharing",
    "braid-exec::sharing::query_conditions",
    "braid-exec::sharing::shared_join",
    "braid-exec::executor",
    "braid-df",
    "braid-df::bounded",
    "braid-engine",
    "braid-bench",
    "braid-bench::workloads",
    "braid-bench::drivers",
    "braid-bench::benchmarks",
    "braid-server",
];

/// Room, importing module, imported module, and why this import may close a cycle: trees whose nodes contain trees.
#[rustfmt::skip]
pub const EXCEPTIONS: &[(&str, &str, &str, &str)] = &[
    ("braid-sql", "expression", "relation", "a node of an expression is a subquery, whose relation has expressions"),
    ("braid-exec::expression", "case", "node", "a node of the tree is a CASE, whose parts are nodes"),
    ("braid-exec::expression", "foreign", "node", "a node of the tree is a foreign call, whose arguments are nodes"),
    ("braid-exec::expression", "row_subset", "node", "a node of the tree is a junction, whose parts are nodes"),
    ("braid-exec::plan", "operator_tree", "shared_operator", "a node of a plan is a shared operator, whose inputs are plans"),
];
