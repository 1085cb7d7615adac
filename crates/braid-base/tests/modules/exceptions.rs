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

/// Room, importing module, imported module, and why this import may close a cycle. There is none.
pub const EXCEPTIONS: &[(&str, &str, &str, &str)] = &[];
