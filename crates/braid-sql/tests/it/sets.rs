//! Calls that return rows, with PostgreSQL's answers: names and types of the columns and the first rows, or the error.
//!
//! The answers in `tests/sets` are PostgreSQL 15's (`bench/peers/rows_on_postgres.py`). What Braid refuses as unsupported is counted.

use std::path::PathBuf;

use braid_sql::Formats;
use braid_sql::binder::Statement;
use braid_sql::functions::SessionFacts;
use braid_sql::input::time_zones::TimeZone;
use braid_sql::tables::NoTables;
use braid_sql::testing::{FixedSession, PREFIX, parsed};
use braid_sql::types::type_names::format_type;
use braid_sql::{Evaluation, SqlError, SqlState};
use sqlparser::ast::Expr;

/// The files, each with how many of its calls are refused.
const FILES: &[(&str, usize)] =
    &[("arrays", 0), ("json", 1), ("key_words", 0), ("series", 0), ("texts", 0), ("time_zones", 0)];

/// Rows that the files have of a call.
const ROWS_MAX: usize = 20;

/// A session in another zone than UTC.
#[derive(Debug)]
struct ZonedSession(TimeZone);

impl SessionFacts for ZonedSession {
    fn zone(&self) -> TimeZone {
        self.0
    }

    fn formats(&self) -> Formats {
        Formats::default()
    }

    fn zone_name(&self) -> String {
        FixedSession.zone_name()
    }

    fn transaction_us(&self) -> i64 {
        FixedSession.transaction_us()
    }

    fn statement_us(&self) -> i64 {
        FixedSession.statement_us()
    }

    fn clock_us(&self) -> i64 {
        FixedSession.clock_us()
    }

    fn user(&self) -> String {
        FixedSession.user()
    }

    fn database(&self) -> String {
        FixedSession.database()
    }

    fn session_id(&self) -> i32 {
        FixedSession.session_id()
    }

    fn setting(&self, name: &str) -> Option<String> {
        FixedSession.setting(name)
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}

/// The fields of a call's line: columns and rows.
fn answer(call: &str, session: &ZonedSession) -> Result<Vec<String>, SqlError> {
    let sql = format!("{PREFIX}{call}");
    let Some(Expr::Function(function)) = parsed(&sql)? else { panic!("{call} is no call") };
    let statement = Statement::new(&sql, session, &NoTables);
    let bound = statement.binder().rows_of(&function)?;
    let bound = bound.unwrap_or_else(|| panic!("{call} returns no rows"));
    let evaluation = Evaluation::new(session, &[]);
    let columns = bound.columns.iter().map(|(name, sql_type)| format!("{name} {}", format_type(*sql_type)));
    let mut fields = vec![columns.collect::<Vec<_>>().join(", ")];
    for row in evaluation.rows(&bound)?.take(ROWS_MAX) {
        let texts = row?.into_iter().zip(&bound.columns).map(|(value, (_, sql_type))| {
            Ok(evaluation.text(&value, *sql_type)?.map_or("\\N".to_owned(), |text| escaped(&text)))
        });
        fields.push(texts.collect::<Result<Vec<String>, SqlError>>()?.join(" | "));
    }
    Ok(fields)
}

/// `None` if the call is refused as unsupported.
fn fields(call: &str, session: &ZonedSession) -> Option<Vec<String>> {
    match answer(call, session) {
        Err(error) if error.state() == SqlState::FeatureNotSupported => None,
        Err(error) => {
            let place = error.position().map_or(0, |place| place.saturating_sub(PREFIX.len()));
            Some(vec!["!".to_owned(), format!("{} {place} {}", error.sqlstate(), escaped(error.message()))])
        }
        Ok(fields) => Some(fields),
    }
}

/// `BRAID_SETS=name` runs one file, which need not be listed, and prints what is refused.
#[test]
fn calls_have_postgresqls_rows() {
    let only = std::env::var("BRAID_SETS").ok();
    let names = FILES.iter().map(|(name, _)| *name);
    let names: Vec<&str> = only.as_deref().map_or_else(|| names.collect(), |only| vec![only]);
    let (mut differences, mut refused) = (Vec::new(), Vec::new());
    for name in names {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/sets/{name}.tsv"));
        let mut session = ZonedSession("UTC".parse().unwrap());
        let mut refused_here = 0;
        for line in std::fs::read_to_string(&path).unwrap().lines().filter(|line| !line.is_empty()) {
            if let Some(zone) = line.strip_prefix("#zone ") {
                session = ZonedSession(zone.parse().unwrap());
            } else if !line.starts_with('#') {
                let mut expected = line.split('\t');
                let call = expected.next().unwrap_or_default();
                let expected: Vec<&str> = expected.collect();
                match fields(call, &session) {
                    None => {
                        if only.is_some() {
                            println!("unsupported: {call}");
                        }
                        refused_here += 1;
                    }
                    Some(found) if found == expected => {}
                    Some(found) => {
                        differences.push(format!("{call}\n  answer     {found:?}\n  PostgreSQL {expected:?}"))
                    }
                }
            }
        }
        refused.push((name, refused_here));
    }
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
    if only.is_none() {
        assert_eq!(refused, FILES, "calls that are refused");
    }
}
