//! The rooms whose modules are looked at, and the imports that are allowed to close a cycle.

/// Crates, or folders of crates (`braid-exec::joins`), whose modules must not import each other in a cycle.
pub const ROOMS: &[&str] = &[
    "braid-io",
    "braid-storage",
    "braid-buffer",
    "braid-scan",
    "braid-exec",
    "braid-engine",
    "braid-bench",
    "braid-server",
];

/// Room, importing module, imported module, and why this import may close a cycle.
#[rustfmt::skip]
pub const EXCEPTIONS: &[(&str, &str, &str, &str)] = &[
    ("braid-buffer", "cooperative_scan", "buffer_manager", "a scan's handle and its pins are given back to the manager that made them"),
    ("braid-buffer", "segment_load", "buffer_manager", "a load reports to the manager that started it"),

    ("braid-server", "portal", "cursor", "a portal keeps the command of its cursor"),
];
