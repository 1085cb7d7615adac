//! The list of settings.

use super::definition::Report::{self, Reported, Silent};
use super::definition::{Definition, Domain};
use crate::{EngineError, SqlState};

/// The version of PostgreSQL whose behaviour is followed, and whose number is shown to clients.
const SERVER_VERSION: &str = concat!("15.0 (Braid ", env!("CARGO_PKG_VERSION"), ")");

const ISOLATION_LEVELS: [&str; 4] = ["serializable", "repeatable read", "read committed", "read uncommitted"];

const fn setting(
    name: &'static str,
    default: &'static str,
    domain: Domain,
    report: Report,
    description: &'static str,
) -> Definition {
    Definition { name, default, domain, report, description }
}

/// A setting of PostgreSQL's planner or executor, for which Braid has no use.
const fn planner(name: &'static str, default: &'static str, domain: Domain) -> Definition {
    setting(name, default, domain, Silent, "A setting of PostgreSQL's planner or executor. Braid has no use for it.")
}

/// What SHOW prints, and SHOW ALL and `pg_settings` leave out, as in PostgreSQL.
const UNLISTED: [&str; 3] = ["is_superuser", "role", "session_authorization"];

/// The settings that SHOW ALL and `pg_settings` list, by name.
pub(crate) fn listed_definitions() -> impl Iterator<Item = &'static Definition> {
    DEFINITIONS.iter().filter(|definition| !UNLISTED.contains(&definition.name))
}

/// All settings, by name.
pub(crate) const DEFINITIONS: &[Definition] = &[
    setting("application_name", "", Domain::Text, Reported, "The application's name, for logs."),
    setting("array_nulls", "on", Domain::OneOf(&["on"]), Silent, "Whether NULL in the text of an array is a null."),
    setting("autovacuum_max_workers", "1", Domain::FixedNumber, Silent, "Number of tasks that compact tables."),
    setting(
        "backslash_quote",
        "safe_encoding",
        Domain::OneOf(&["safe_encoding", "on", "off"]),
        Silent,
        "Whether \\' is a quote in strings with escapes; it always is, as the encoding is safe.",
    ),
    setting("block_size", "8192", Domain::FixedNumber, Silent, "Size of a block of PostgreSQL. Braid has none."),
    setting(
        "braid.accept_unenforced_constraints",
        "off",
        Domain::Boolean,
        Silent,
        "Whether CREATE TABLE takes PRIMARY KEY and UNIQUE without checking that keys are unique.",
    ),
    setting(
        "braid.join_order",
        "cheapest",
        Domain::OneOf(&["cheapest", "costliest", "random", "swapped"]),
        Silent,
        "Join order of Braid's operators, by estimated cost. Values other than cheapest serve to measure the cost of bad orders.",
    ),
    setting(
        "braid.join_order_seed",
        "0",
        Domain::Integer(0, i64::MAX),
        Silent,
        "Seed of the join orders random and swapped.",
    ),
    setting(
        "braid.query_memory",
        "",
        Domain::Bytes,
        Silent,
        "Query budget: the memory that the operators of one query of this session may hold.",
    ),
    setting(
        "braid.response_limit",
        "0",
        Domain::Milliseconds,
        Silent,
        "Response time in milliseconds beyond which a query that would have to wait is refused at once; 0 means no limit.",
    ),
    setting(
        "braid.result_cache",
        "off",
        Domain::Boolean,
        Silent,
        "Whether the results of this session's queries are kept for equal ones, and found, while no table has changed.",
    ),
    setting(
        "braid.scan_policy",
        "",
        Domain::ScanPolicy,
        Silent,
        "How the whole server schedules its scans: normal, attach, elevator or relevance.",
    ),
    setting(
        "braid.sharing",
        "auto",
        Domain::OneOf(&["auto", "off", "global"]),
        Silent,
        "Whether queries run in passes with others: auto (when it pays), off or global (always, also alone).",
    ),
    setting(
        "braid.target_partitions",
        "",
        Domain::Integer(1, 1024),
        Silent,
        "Number of cores that one query of this session may use.",
    ),
    setting(
        "braid.templates",
        "learned",
        Domain::OneOf(&["learned", "eager", "off"]),
        Silent,
        "Plans of statements that differ only in their constants: learned from statements that come again, eager (made for the first statement, with all constants as parameters; for tests) or off.",
    ),
    setting("bytea_output", "hex", Domain::OneOf(&["escape", "hex"]), Silent, "Output format of bytea."),
    planner("check_function_bodies", "on", Domain::Boolean),
    setting(
        "client_encoding",
        "UTF8",
        Domain::Encoding,
        Reported,
        "The client's encoding: that of its statements and of what it is sent.",
    ),
    setting(
        "client_min_messages",
        "notice",
        Domain::OneOf(&["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"]),
        Silent,
        "Lowest severity of the messages that are sent to the client.",
    ),
    planner("constraint_exclusion", "partition", Domain::OneOf(&["partition", "on", "off"])),
    planner("cpu_index_tuple_cost", "0.005", Domain::Real(0.0, f64::MAX)),
    planner("cpu_operator_cost", "0.0025", Domain::Real(0.0, f64::MAX)),
    planner("cpu_tuple_cost", "0.01", Domain::Real(0.0, f64::MAX)),
    planner("cursor_tuple_fraction", "0.1", Domain::Real(0.0, 1.0)),
    setting("data_directory", "", Domain::Fixed, Silent, "The server's data directory."),
    setting("DateStyle", "ISO, MDY", Domain::DateStyle, Reported, "Format of dates."),
    planner("default_statistics_target", "100", Domain::Integer(1, 10_000)),
    setting(
        "default_table_access_method",
        "heap",
        Domain::OneOf(&["heap"]),
        Silent,
        "Access method of new tables, as PostgreSQL calls its own; there is no other.",
    ),
    setting(
        "default_tablespace",
        "",
        Domain::OneOf(&["", "pg_default"]),
        Silent,
        "Where new tables are; there is one place.",
    ),
    planner("default_toast_compression", "pglz", Domain::OneOf(&["pglz", "lz4"])),
    setting(
        "default_transaction_deferrable",
        "off",
        Domain::Boolean,
        Silent,
        "Whether new transactions are deferrable. Serializable transactions that only read never fail, deferrable or not.",
    ),
    setting(
        "default_transaction_isolation",
        "read committed",
        Domain::OneOf(&ISOLATION_LEVELS),
        Silent,
        "Isolation level of new transactions.",
    ),
    setting(
        "default_transaction_read_only",
        "off",
        Domain::Boolean,
        Reported,
        "Whether new transactions are read-only.",
    ),
    planner("effective_cache_size", "4GB", Domain::Memory(8, [1, i32::MAX as i64])),
    planner("effective_io_concurrency", "1", Domain::Integer(0, 1000)),
    planner("enable_async_append", "on", Domain::Boolean),
    planner("enable_bitmapscan", "on", Domain::Boolean),
    planner("enable_gathermerge", "on", Domain::Boolean),
    planner("enable_hashagg", "on", Domain::Boolean),
    planner("enable_hashjoin", "on", Domain::Boolean),
    planner("enable_incremental_sort", "on", Domain::Boolean),
    planner("enable_indexonlyscan", "on", Domain::Boolean),
    planner("enable_indexscan", "on", Domain::Boolean),
    planner("enable_material", "on", Domain::Boolean),
    planner("enable_memoize", "on", Domain::Boolean),
    planner("enable_mergejoin", "on", Domain::Boolean),
    planner("enable_nestloop", "on", Domain::Boolean),
    planner("enable_parallel_append", "on", Domain::Boolean),
    planner("enable_parallel_hash", "on", Domain::Boolean),
    planner("enable_partition_pruning", "on", Domain::Boolean),
    planner("enable_partitionwise_aggregate", "off", Domain::Boolean),
    planner("enable_partitionwise_join", "off", Domain::Boolean),
    planner("enable_seqscan", "on", Domain::Boolean),
    planner("enable_sort", "on", Domain::Boolean),
    planner("enable_tidscan", "on", Domain::Boolean),
    planner("escape_string_warning", "on", Domain::Boolean),
    setting(
        "extra_float_digits",
        "1",
        Domain::Integer(-15, 3),
        Silent,
        "Digits of floats: with 1 and above as the shortest text that reads back as the same value.",
    ),
    planner("from_collapse_limit", "8", Domain::Integer(1, i32::MAX as i64)),
    planner("geqo", "on", Domain::Boolean),
    planner("geqo_effort", "5", Domain::Integer(1, 10)),
    planner("geqo_threshold", "12", Domain::Integer(2, i32::MAX as i64)),
    planner("hash_mem_multiplier", "2", Domain::Real(1.0, 1000.0)),
    setting(
        "idle_in_transaction_session_timeout",
        "0",
        Domain::Milliseconds,
        Silent,
        "Time in milliseconds that a session may idle in a transaction block; 0 means no limit.",
    ),
    setting(
        "idle_session_timeout",
        "0",
        Domain::Milliseconds,
        Silent,
        "Time in milliseconds that a session may idle outside of a transaction block; 0 means no limit.",
    ),
    setting("in_hot_standby", "off", Domain::FixedBoolean, Reported, "Whether the server is a standby."),
    setting("integer_datetimes", "on", Domain::FixedBoolean, Reported, "Whether timestamps are stored as integers."),
    setting(
        "IntervalStyle",
        "postgres",
        Domain::OneOf(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"]),
        Reported,
        "Format of intervals.",
    ),
    setting("is_superuser", "on", Domain::Fixed, Reported, "Whether the current role is a superuser."),
    planner("jit", "off", Domain::Boolean),
    planner("jit_above_cost", "100000", Domain::Real(-1.0, f64::MAX)),
    planner("jit_inline_above_cost", "500000", Domain::Real(-1.0, f64::MAX)),
    planner("jit_optimize_above_cost", "500000", Domain::Real(-1.0, f64::MAX)),
    planner("join_collapse_limit", "8", Domain::Integer(1, i32::MAX as i64)),
    setting("lc_collate", "C", Domain::Fixed, Silent, "Collation. Strings compare by their bytes."),
    setting("lc_ctype", "C.UTF-8", Domain::Fixed, Silent, "Character classes."),
    setting(
        "lock_timeout",
        "0",
        Domain::Milliseconds,
        Silent,
        "Longest wait for a lock of a row or a key, in milliseconds; 0 means no limit.",
    ),
    setting(
        "log_min_duration_statement",
        "-1",
        Domain::MillisecondsOrNone,
        Silent,
        "Time in milliseconds from which on a statement is told in the server's log, with where its time went; 0 tells all, -1 none.",
    ),
    setting(
        "log_min_error_statement",
        "error",
        Domain::OneOf(&[
            "debug5", "debug4", "debug3", "debug2", "debug1", "info", "notice", "warning", "error", "log", "fatal",
            "panic",
        ]),
        Silent,
        "Least severity of an error with which the server's log tells the text of its statement.",
    ),
    planner("logical_decoding_work_mem", "64MB", Domain::Memory(1, [64, i32::MAX as i64])),
    planner("maintenance_io_concurrency", "10", Domain::Integer(0, 1000)),
    planner("maintenance_work_mem", "64MB", Domain::Memory(1, [1024, i32::MAX as i64])),
    setting("max_connections", "2000", Domain::FixedNumber, Silent, "Maximum number of connected clients."),
    setting("max_function_args", "100", Domain::FixedNumber, Silent, "Maximum number of arguments of a function."),
    setting("max_identifier_length", "63", Domain::FixedNumber, Silent, "Maximum length of a name in bytes."),
    setting("max_index_keys", "32", Domain::FixedNumber, Silent, "Maximum number of columns of an index."),
    planner("max_parallel_maintenance_workers", "2", Domain::Integer(0, 1024)),
    planner("max_parallel_workers", "8", Domain::Integer(0, 1024)),
    planner("max_parallel_workers_per_gather", "2", Domain::Integer(0, 1024)),
    setting(
        "max_prepared_transactions",
        "0",
        Domain::FixedNumber,
        Silent,
        "Maximum number of prepared transactions, which there are none of.",
    ),
    setting("max_replication_slots", "0", Domain::FixedNumber, Silent, "Maximum number of replication slots."),
    setting("max_wal_senders", "0", Domain::FixedNumber, Silent, "Maximum number of standbys."),
    setting("max_worker_processes", "0", Domain::FixedNumber, Silent, "Maximum number of worker processes."),
    planner("min_parallel_index_scan_size", "512kB", Domain::Memory(8, [0, 715_827_882])),
    planner("min_parallel_table_scan_size", "8MB", Domain::Memory(8, [0, 715_827_882])),
    planner("parallel_leader_participation", "on", Domain::Boolean),
    planner("parallel_setup_cost", "1000", Domain::Real(0.0, f64::MAX)),
    planner("parallel_tuple_cost", "0.1", Domain::Real(0.0, f64::MAX)),
    setting(
        "password_encryption",
        "scram-sha-256",
        Domain::OneOf(&["scram-sha-256"]),
        Silent,
        "Algorithm of the verifiers that passwords are kept as.",
    ),
    planner("plan_cache_mode", "auto", Domain::OneOf(&["auto", "force_generic_plan", "force_custom_plan"])),
    planner("random_page_cost", "4", Domain::Real(0.0, f64::MAX)),
    planner("recursive_worktable_factor", "10", Domain::Real(0.001, 1_000_000.0)),
    setting("role", "none", Domain::Text, Silent, "The role that SET ROLE has taken, or none."),
    setting("row_security", "on", Domain::Boolean, Silent, "Whether row security applies. Braid has no policies."),
    setting("search_path", "\"$user\", public", Domain::Names, Silent, "Schemas to search for names without a schema."),
    planner("seq_page_cost", "1", Domain::Real(0.0, f64::MAX)),
    setting("server_encoding", "UTF8", Domain::Fixed, Reported, "The server's encoding."),
    setting("server_version", SERVER_VERSION, Domain::Fixed, Reported, "The version of PostgreSQL that Braid follows."),
    setting(
        "server_version_num",
        "150000",
        Domain::FixedNumber,
        Silent,
        "The version of PostgreSQL that Braid follows, as a number.",
    ),
    setting("session_authorization", "", Domain::Fixed, Reported, "The user of the session."),
    setting(
        "session_replication_role",
        "origin",
        Domain::OneOf(&["origin", "local"]),
        Silent,
        "Whether triggers and rules of replicas apply; foreign keys are always checked.",
    ),
    setting(
        "shared_preload_libraries",
        "",
        Domain::Fixed,
        Silent,
        "Libraries that are loaded at start; there are none.",
    ),
    setting(
        "standard_conforming_strings",
        "on",
        Domain::OneOf(&["on"]),
        Reported,
        "Whether backslashes in strings are ordinary characters.",
    ),
    setting(
        "statement_timeout",
        "0",
        Domain::Milliseconds,
        Silent,
        "Time in milliseconds that a statement may run; 0 means no limit.",
    ),
    planner("synchronize_seqscans", "on", Domain::Boolean),
    setting(
        "synchronous_commit",
        "on",
        Domain::OneOf(&["local", "remote_write", "remote_apply", "on", "off"]),
        Silent,
        "What commits wait for. They are durable when they return, whatever is set.",
    ),
    planner("temp_buffers", "8MB", Domain::Memory(8, [100, 1_073_741_823])),
    setting("TimeZone", "UTC", Domain::Zone, Reported, "The session's time zone."),
    setting(
        "track_activity_query_size",
        "1024",
        Domain::FixedNumber,
        Silent,
        "Bytes of a statement that pg_stat_activity shows.",
    ),
    setting(
        "transaction_deferrable",
        "off",
        Domain::Boolean,
        Silent,
        "Whether this transaction is deferrable. Serializable transactions that only read never fail, deferrable or not.",
    ),
    setting(
        "transaction_isolation",
        "read committed",
        Domain::OneOf(&ISOLATION_LEVELS),
        Silent,
        "Isolation level of this transaction.",
    ),
    setting("transaction_read_only", "off", Domain::Boolean, Silent, "Whether this transaction is read-only."),
    setting("transform_null_equals", "off", Domain::OneOf(&["off"]), Silent, "Whether x = NULL means x IS NULL."),
    setting("wal_level", "replica", Domain::Fixed, Silent, "What PostgreSQL's log is for. Braid's serves recovery."),
    planner("work_mem", "4MB", Domain::Memory(1, [64, i32::MAX as i64])),
    planner("xmloption", "content", Domain::OneOf(&["content", "document"])),
];

/// What a name means.
#[derive(Clone, Debug)]
pub(crate) enum SettingName {
    /// A setting of the list.
    Known(&'static Definition),
    /// A customized option, which takes any text: two or more identifiers with periods between them, in lower case.
    Custom(String),
}

/// The setting called `name`, in any case, or the customized option that it would be.
///
/// # Errors
/// For what is neither.
pub(crate) fn setting_name(name: &str) -> Result<SettingName, EngineError> {
    let unknown = match definition(name) {
        Ok(definition) => return Ok(SettingName::Known(definition)),
        Err(unknown) => unknown,
    };
    let parts: Vec<&str> = name.split('.').collect();
    if parts.len() < 2 || parts[0].eq_ignore_ascii_case("braid") {
        return Err(unknown);
    }
    let begins = |c: char| c == '_' || !c.is_ascii() || c.is_ascii_alphabetic();
    let goes_on = |c: char| begins(c) || c.is_ascii_digit() || c == '$';
    let is_identifier = |part: &&str| part.starts_with(begins) && part.chars().all(goes_on);
    match parts.iter().all(is_identifier) {
        true => Ok(SettingName::Custom(name.to_ascii_lowercase())),
        false => {
            let message = format!("invalid configuration parameter name \"{name}\"");
            let detail = "Custom parameter names must be two or more simple identifiers separated by dots.";
            Err(EngineError::new(SqlState::InvalidName, message).with_detail(detail))
        }
    }
}

/// The setting called `name`, in any case.
pub(crate) fn definition(name: &str) -> Result<&'static Definition, EngineError> {
    let name = match name.to_ascii_lowercase().as_str() {
        "time zone" | "time.zone" => "timezone".to_owned(),
        "transaction isolation level" => "transaction_isolation".to_owned(),
        "session authorization" => "session_authorization".to_owned(),
        "names" => "client_encoding".to_owned(),
        _ => name.to_owned(),
    };
    let known = DEFINITIONS.iter().find(|definition| definition.name.eq_ignore_ascii_case(&name));
    known.ok_or_else(|| unknown_setting(&name))
}

/// The refusal of a name that is no setting's.
pub(crate) fn unknown_setting(name: &str) -> EngineError {
    let message = format!("unrecognized configuration parameter \"{name}\"");
    EngineError::new(SqlState::UndefinedObject, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn customized_options_are_identifiers_with_periods() {
        for (name, expected) in [("My.Name", "my.name"), ("a.b1.c$", "a.b1.c$")] {
            assert!(matches!(setting_name(name), Ok(SettingName::Custom(name)) if name == expected), "{name}");
        }
        for (name, state) in
            [("a", "42704"), ("braid.x", "42704"), ("a.1", "42602"), ("a..b", "42602"), ("a.b c", "42602")]
        {
            assert_eq!(setting_name(name).unwrap_err().sqlstate(), state, "{name}");
        }
        assert!(matches!(setting_name("BRAID.scan_policy"), Ok(SettingName::Known(_))));
    }

    #[test]
    fn the_list_is_sorted_and_its_defaults_are_canonical() {
        assert!(DEFINITIONS.is_sorted_by_key(|definition| definition.name.to_ascii_lowercase()));
        for definition in DEFINITIONS {
            if !definition.is_fixed() && !definition.default.is_empty() {
                assert_eq!(definition.canonical(definition.default).unwrap(), definition.default);
            }
        }
    }
}
