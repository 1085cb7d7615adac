//! The groups in which `pg_settings` shows PostgreSQL's settings.

/// The groups, and the names of their settings.
const CATEGORIES: &[(&str, &[&str])] = &[
    ("Autovacuum", &["autovacuum_max_workers"]),
    (
        "Client Connection Defaults / Locale and Formatting",
        &["DateStyle", "IntervalStyle", "TimeZone", "client_encoding", "extra_float_digits"],
    ),
    ("Client Connection Defaults / Shared Library Preloading", &["shared_preload_libraries"]),
    (
        "Client Connection Defaults / Statement Behavior",
        &[
            "bytea_output",
            "check_function_bodies",
            "client_min_messages",
            "default_table_access_method",
            "default_tablespace",
            "default_toast_compression",
            "default_transaction_deferrable",
            "default_transaction_isolation",
            "default_transaction_read_only",
            "idle_in_transaction_session_timeout",
            "idle_session_timeout",
            "lock_timeout",
            "row_security",
            "search_path",
            "session_replication_role",
            "statement_timeout",
            "transaction_deferrable",
            "transaction_isolation",
            "transaction_read_only",
            "xmloption",
        ],
    ),
    ("Connections and Authentication / Authentication", &["password_encryption"]),
    ("Connections and Authentication / Connection Settings", &["max_connections"]),
    ("Connections and Authentication / SSL", &["ssl"]),
    ("File Locations", &["data_directory"]),
    (
        "Preset Options",
        &[
            "block_size",
            "in_hot_standby",
            "integer_datetimes",
            "lc_collate",
            "lc_ctype",
            "max_function_args",
            "max_identifier_length",
            "max_index_keys",
            "server_encoding",
            "server_version",
            "server_version_num",
        ],
    ),
    ("Query Tuning / Genetic Query Optimizer", &["geqo", "geqo_effort", "geqo_threshold"]),
    (
        "Query Tuning / Other Planner Options",
        &[
            "constraint_exclusion",
            "cursor_tuple_fraction",
            "default_statistics_target",
            "from_collapse_limit",
            "jit",
            "join_collapse_limit",
            "plan_cache_mode",
            "recursive_worktable_factor",
        ],
    ),
    (
        "Query Tuning / Planner Cost Constants",
        &[
            "cpu_index_tuple_cost",
            "cpu_operator_cost",
            "cpu_tuple_cost",
            "effective_cache_size",
            "jit_above_cost",
            "jit_inline_above_cost",
            "jit_optimize_above_cost",
            "min_parallel_index_scan_size",
            "min_parallel_table_scan_size",
            "parallel_setup_cost",
            "parallel_tuple_cost",
            "random_page_cost",
            "seq_page_cost",
        ],
    ),
    (
        "Query Tuning / Planner Method Configuration",
        &[
            "enable_async_append",
            "enable_bitmapscan",
            "enable_gathermerge",
            "enable_hashagg",
            "enable_hashjoin",
            "enable_incremental_sort",
            "enable_indexonlyscan",
            "enable_indexscan",
            "enable_material",
            "enable_memoize",
            "enable_mergejoin",
            "enable_nestloop",
            "enable_parallel_append",
            "enable_parallel_hash",
            "enable_partition_pruning",
            "enable_partitionwise_aggregate",
            "enable_partitionwise_join",
            "enable_seqscan",
            "enable_sort",
            "enable_tidscan",
        ],
    ),
    ("Replication / Sending Servers", &["max_replication_slots", "max_wal_senders"]),
    ("Reporting and Logging / What to Log", &["application_name"]),
    ("Reporting and Logging / When to Log", &["log_min_duration_statement", "log_min_error_statement"]),
    (
        "Resource Usage / Asynchronous Behavior",
        &[
            "effective_io_concurrency",
            "maintenance_io_concurrency",
            "max_parallel_maintenance_workers",
            "max_parallel_workers",
            "max_parallel_workers_per_gather",
            "max_worker_processes",
            "parallel_leader_participation",
        ],
    ),
    (
        "Resource Usage / Memory",
        &[
            "hash_mem_multiplier",
            "logical_decoding_work_mem",
            "maintenance_work_mem",
            "max_prepared_transactions",
            "temp_buffers",
            "work_mem",
        ],
    ),
    ("Statistics / Cumulative Query and Index Statistics", &["track_activity_query_size"]),
    ("Version and Platform Compatibility / Other Platforms and Clients", &["transform_null_equals"]),
    (
        "Version and Platform Compatibility / Previous PostgreSQL Versions",
        &[
            "array_nulls",
            "backslash_quote",
            "escape_string_warning",
            "standard_conforming_strings",
            "synchronize_seqscans",
        ],
    ),
    ("Write-Ahead Log / Settings", &["synchronous_commit", "wal_level"]),
];

/// The group of a setting: one of PostgreSQL's, or that of Braid's own.
pub(crate) fn category(name: &str) -> &'static str {
    let known = CATEGORIES.iter().find(|(_, names)| names.contains(&name));
    known.map_or("Customized Options", |(category, _)| category)
}

#[cfg(test)]
mod tests {
    use super::super::DEFINITIONS;
    use super::*;

    #[test]
    fn settings_of_postgresql_have_a_group() {
        for definition in DEFINITIONS {
            let is_own = definition.name.starts_with("braid.");
            let is_unlisted = ["is_superuser", "role", "session_authorization"].contains(&definition.name);
            let is_customized = category(definition.name) == "Customized Options";
            assert!(is_unlisted || is_customized == is_own, "{}", definition.name);
        }
    }
}
