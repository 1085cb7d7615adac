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
    ("braid-io", "device", "statistics", "a device reports its counters, which are kept by reason of a request"),
    ("braid-io", "device", "trace", "a device reports its trace, which names the reason of each request"),
    ("braid-io", "error", "device", "errors name the reason of the request that failed"),

    ("braid-storage", "segment", "codec", "codecs return errors of segments"),
    ("braid-storage", "store", "manifest", "a manifest names the ids of the store's data files"),
    ("braid-storage", "table", "store", "a table version holds its open data files"),
    ("braid-storage", "store", "table_appender", "the store starts appenders, which commit through the store"),
    ("braid-storage", "catalog", "manifest", "the catalog is written as a manifest, which has the catalog's types"),
    ("braid-storage", "store_error", "manifest", "errors of the store contain those of its manifest"),

    ("braid-buffer", "policy", "attach", "the enumeration of policies contains each policy"),
    ("braid-buffer", "policy", "elevator", "the enumeration of policies contains each policy"),
    ("braid-buffer", "policy", "normal", "the enumeration of policies contains each policy"),
    ("braid-buffer", "policy", "relevance", "the enumeration of policies contains each policy"),
    ("braid-buffer", "cooperative_scan", "buffer_manager", "a scan calls back the manager that registered it"),
    ("braid-buffer", "segment_load", "buffer_manager", "a load calls back the manager that started it"),

    ("braid-scan", "cooperative_scan", "chunk_consumer", "a scan makes its consumers, which share its state"),
    ("braid-scan", "cooperative_scan", "consumer", "a scan makes its consumers, which share its state"),

    ("braid-engine", "catalog", "query", "system tables are planned with the same bounds as queries"),
    ("braid-engine", "output", "conversion", "what is written is cast by the rules of conversions"),
    ("braid-engine", "session", "copy", "a session dispatches statements, which act on the session"),
    ("braid-engine", "session", "dml", "a session dispatches statements, which act on the session"),
    ("braid-engine", "session", "table", "a session dispatches statements, which act on the session"),
    ("braid-engine", "query", "session", "a session dispatches statements, which act on the session"),
    ("braid-engine", "settings", "session", "a session dispatches statements, which act on the session"),
    ("braid-engine", "statement", "copy", "a parsed statement contains a parsed COPY"),
    ("braid-engine", "outcome", "copy", "the outcome of COPY is the copy that the client goes on with"),
    ("braid-engine", "database", "load", "a database is asked to load, and loading writes into a database"),
    ("braid-engine", "database", "session", "a database makes sessions, which act on the database"),
    ("braid-engine", "dml", "table", "INSERT finds its columns as CREATE TABLE does"),

    ("braid-server", "portal", "cursor", "a portal keeps the command of its cursor"),
];
