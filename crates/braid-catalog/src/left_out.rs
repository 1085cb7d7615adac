//! Views of PostgreSQL over functions that Braid does not have: those whose rows are given, and those that do not exist.

/// Views that list what the server tells.
const TOLD: &[&str] = &[
    "pg_cursors",
    "pg_locks",
    "pg_prepared_statements",
    "pg_settings",
    "pg_stat_activity",
    "pg_stat_archiver",
    "pg_stat_bgwriter",
    "pg_stat_gssapi",
    "pg_stat_ssl",
];

/// Views without rows: they list what Braid does not have. These are extensions, replication, two-phase commit, vacuum and the progress
/// of other maintenance, publications, security labels, and extended statistics.
const EMPTY: &[&str] = &[
    "pg_available_extension_versions",
    "pg_available_extensions",
    "pg_prepared_xacts",
    "pg_publication_tables",
    "pg_replication_origin_status",
    "pg_replication_slots",
    "pg_seclabels",
    "pg_stat_progress_analyze",
    "pg_stat_progress_basebackup",
    "pg_stat_progress_cluster",
    "pg_stat_progress_copy",
    "pg_stat_progress_create_index",
    "pg_stat_progress_vacuum",
    "pg_stat_recovery_prefetch",
    "pg_stat_replication",
    "pg_stat_replication_slots",
    "pg_stat_subscription",
    "pg_stat_subscription_stats",
    "pg_stat_user_functions",
    "pg_stat_wal_receiver",
    "pg_stat_xact_user_functions",
    "pg_stats_ext",
    "pg_stats_ext_exprs",
];

/// Views of `information_schema` without rows: foreign data.
const EMPTY_BY_STANDARD: &[&str] = &[
    "_pg_foreign_data_wrappers",
    "_pg_foreign_servers",
    "_pg_foreign_table_columns",
    "_pg_foreign_tables",
    "_pg_user_mappings",
    "column_options",
    "foreign_data_wrapper_options",
    "foreign_data_wrappers",
    "foreign_server_options",
    "foreign_servers",
    "foreign_table_options",
    "foreign_tables",
    "user_mapping_options",
    "user_mappings",
];

/// Schema, name and reason.
const LEFT_OUT: &[(&str, &str, &str)] = &[
    ("information_schema", "data_type_privileges", PARAMETERS),
    ("information_schema", "element_types", PARAMETERS),
    ("information_schema", "parameters", PARAMETERS),
    ("information_schema", "sql_features", FEATURES),
    ("information_schema", "sql_implementation_info", FEATURES),
    ("information_schema", "sql_parts", FEATURES),
    ("information_schema", "sql_sizing", FEATURES),
    ("pg_catalog", "pg_backend_memory_contexts", MEMORY),
    ("pg_catalog", "pg_config", FILES),
    ("pg_catalog", "pg_file_settings", FILES),
    ("pg_catalog", "pg_hba_file_rules", FILES),
    ("pg_catalog", "pg_ident_file_mappings", FILES),
    ("pg_catalog", "pg_shmem_allocations", MEMORY),
    ("pg_catalog", "pg_stat_slru", MEMORY),
    ("pg_catalog", "pg_stat_wal", PROCESSES),
    ("pg_catalog", "pg_statistic_ext_data", "a column of it is an array of rows"),
];

const PARAMETERS: &str = "it shows parameters of functions, whose defaults are not kept one by one";
const FEATURES: &str = "they list what PostgreSQL implements of the SQL standard";
const MEMORY: &str = "it shows PostgreSQL's memory";
const FILES: &str = "it shows PostgreSQL's files";
const PROCESSES: &str = "it shows PostgreSQL's processes";

/// Whether the rows of the view are given.
pub(crate) fn is_listed(schema: &str, name: &str) -> bool {
    let listed: &[&[&str]] = if schema == "pg_catalog" { &[TOLD, EMPTY] } else { &[EMPTY_BY_STANDARD] };
    listed.iter().any(|names| names.contains(&name))
}

/// Whether there is no such relation.
pub(crate) fn is_left_out(schema: &str, name: &str) -> bool {
    reason(schema, name).is_some()
}

/// Why there is no such relation.
pub fn reason(schema: &str, name: &str) -> Option<&'static str> {
    LEFT_OUT.iter().find(|(s, n, _)| *s == schema && *n == name).map(|(_, _, reason)| *reason)
}
