//! `pg_stat_activity`: the sessions of the server. `pg_stat_ssl` and `pg_stat_gssapi`: how their clients are connected.

use braid_sql::Value;

use crate::named_row::{NamedRow, oid, text};
use crate::server_facts::{Encryption, ServerFacts, Session};

/// All sessions. Addresses of clients are not shown, and of hidden ones only whose they are.
pub(super) fn sessions(facts: &dyn ServerFacts) -> Vec<NamedRow> {
    let database = facts.database();
    let row = |session: Session| {
        let mut values = vec![
            ("datid", oid(database.id)),
            ("datname", text(&database.name)),
            ("pid", Value::Int4(session.id)),
            ("usesysid", oid(session.role_id)),
            ("usename", text(&session.role_name)),
            ("application_name", text(&session.application_name)),
        ];
        if session.is_hidden {
            values.push(("query", text("<insufficient privilege>")));
            return values;
        }
        values.extend([
            ("client_port", session.client_port.map_or(Value::Null, Value::Int4)),
            ("backend_start", Value::TimestampTz(session.started_us)),
            ("xact_start", time(session.transaction_started_us)),
            ("query_start", time(session.query_started_us)),
            ("state_change", time(session.state_changed_us)),
            ("wait_event_type", session.wait.map_or(Value::Null, |(kind, _)| text(kind))),
            ("wait_event", session.wait.map_or(Value::Null, |(_, event)| text(event))),
            ("state", text(session.state)),
            ("query", session.query.map_or(Value::Null, |query| text(&query))),
            ("backend_type", text("client backend")),
        ]);
        values
    };
    facts.sessions().into_iter().map(row).collect()
}

fn time(time_us: Option<i64>) -> Value {
    time_us.map_or(Value::Null, Value::TimestampTz)
}

/// How sessions with a client are encrypted, of those that are not hidden.
pub(super) fn encryption(facts: &dyn ServerFacts) -> Vec<NamedRow> {
    let row = |session: Session| {
        let mut values = vec![("pid", Value::Int4(session.id)), ("ssl", Value::Bool(session.encryption.is_some()))];
        if let Some(Encryption { version, cipher, key_bits }) = session.encryption {
            values.extend([("version", text(&version)), ("cipher", text(&cipher)), ("bits", Value::Int4(key_bits))]);
        }
        values
    };
    with_clients(facts).map(row).collect()
}

/// That no session is authenticated by GSSAPI.
pub(super) fn gssapi(facts: &dyn ServerFacts) -> Vec<NamedRow> {
    let row = |session: Session| {
        let no = Value::Bool(false);
        vec![("pid", Value::Int4(session.id)), ("gss_authenticated", no.clone()), ("encrypted", no)]
    };
    with_clients(facts).map(row).collect()
}

fn with_clients(facts: &dyn ServerFacts) -> impl Iterator<Item = Session> {
    facts.sessions().into_iter().filter(|session| !session.is_hidden && session.client_port.is_some())
}
