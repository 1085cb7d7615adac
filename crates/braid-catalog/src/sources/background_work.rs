//! `pg_stat_bgwriter` and `pg_stat_archiver`: what the server does beside its sessions, since it started.
//!
//! A checkpoint is made when it is asked for or the log is long, which PostgreSQL counts alike, and never by the clock. There is no background
//! writer, and no archive: these numbers are zero. What is not counted is null.

use braid_sql::Value;

use crate::named_row::NamedRow;
use crate::server_facts::ServerFacts;

/// The row of `pg_stat_bgwriter`.
pub(super) fn background_writer(facts: &dyn ServerFacts) -> Vec<NamedRow> {
    let requested = i64::try_from(facts.checkpoint_count()).unwrap_or(i64::MAX);
    vec![vec![
        ("checkpoints_timed", Value::Int8(0)),
        ("checkpoints_req", Value::Int8(requested)),
        ("buffers_clean", Value::Int8(0)),
        ("maxwritten_clean", Value::Int8(0)),
        ("stats_reset", Value::TimestampTz(facts.started_us())),
    ]]
}

/// The row of `pg_stat_archiver`.
pub(super) fn archiver(facts: &dyn ServerFacts) -> Vec<NamedRow> {
    vec![vec![
        ("archived_count", Value::Int8(0)),
        ("failed_count", Value::Int8(0)),
        ("stats_reset", Value::TimestampTz(facts.started_us())),
    ]]
}
