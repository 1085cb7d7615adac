//! Braid behind sqllogictest, once as a session in this process and once as a client of the wire protocol, for each
//! connection that a file opens.
//!
//! Values are compared as PostgreSQL prints them, null as `NULL`, an empty text as `(empty)`. Column types are `I` for
//! integers, `R` for numerics and floats, `T` for everything else, and they are compared too: PostgreSQL, asked by
//! `bench/peers/slt_on_postgres.py`, answers in the same letters.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, FieldRef, SchemaRef};
use async_trait::async_trait;
use braid_engine::{Database, DescribedType, EngineError, MessageScope, Outcome, Session, Statement};
use futures::TryStreamExt;
use sqllogictest::{AsyncDB, DBOutput, DefaultColumnType};
use tokio_util::sync::CancellationToken;

use crate::pg_text::pg_text;
use crate::wire_client::{Protocol, Reply, WireClient, WireError};

/// A session of a database in this process.
pub struct SqlLogicSession {
    session: Session,
}

impl SqlLogicSession {
    /// A new session of `database`, with these values of settings.
    pub fn new(database: &Arc<Database>, settings: &[(&str, &str)]) -> Self {
        let session = database.session("braid");
        for (name, value) in settings {
            session.set_setting(name, value).expect("tests set settings that exist");
        }
        Self { session }
    }
}

#[async_trait]
impl AsyncDB for SqlLogicSession {
    type Error = EngineError;
    type ColumnType = DefaultColumnType;

    /// Runs one statement or several; the last one's answer counts, as in PostgreSQL's simple protocol.
    async fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, EngineError> {
        let statements = self.session.parse(sql)?;
        let scope = if statements.len() > 1 { MessageScope::Message } else { MessageScope::Statement };
        self.session.begin_message(scope);
        let output = self.run_all(statements).await;
        match output {
            Ok(output) => self.session.end_message().await.map(|()| output),
            Err(error) => {
                self.session.abandon_message();
                Err(error)
            }
        }
    }

    async fn shutdown(&mut self) {}

    fn engine_name(&self) -> &str {
        "braid"
    }

    async fn sleep(duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn error_sql_state(error: &EngineError) -> Option<String> {
        Some(error.sqlstate().to_owned())
    }
}

impl SqlLogicSession {
    async fn run_all(&self, statements: Vec<Statement>) -> Result<DBOutput<DefaultColumnType>, EngineError> {
        let mut output = DBOutput::StatementComplete(0);
        for statement in statements {
            output = match self.session.execute(&statement, Vec::new(), CancellationToken::new()).await? {
                Outcome::Rows { schema, stream, .. } => {
                    let batches = stream.try_collect::<Vec<_>>().await?;
                    rows(&schema, &batches)?
                }
                Outcome::Done { tag } => DBOutput::StatementComplete(affected_rows(&tag)),
                Outcome::CopyOut(mut copy) => {
                    let mut text = String::new();
                    while let Some(records) = copy.next().await {
                        text.push_str(records?.text());
                    }
                    copied_lines(&text)
                }
                // A file of statements has no data to send: the load gets none, and ends.
                Outcome::CopyIn(copy) => DBOutput::StatementComplete(copy.finish().await?),
            };
        }
        Ok(output)
    }
}

/// A client of a server.
pub struct SqlLogicClient {
    client: WireClient,
    protocol: Protocol,
}

impl SqlLogicClient {
    /// A new connection to the server at `address`, which asks in `protocol`.
    pub async fn connect(address: SocketAddr, protocol: Protocol) -> Result<Self, WireError> {
        Ok(Self { client: WireClient::connect(address).await?, protocol })
    }
}

#[async_trait]
impl AsyncDB for SqlLogicClient {
    type Error = WireError;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, WireError> {
        Ok(match self.client.ask(sql, self.protocol).await? {
            Reply::Rows { oids, rows } => DBOutput::Rows {
                types: oids.into_iter().map(column_type_of_oid).collect(),
                rows: rows.into_iter().map(|row| row.into_iter().map(shown).collect()).collect(),
            },
            Reply::Copied(text) => copied_lines(&text),
            Reply::Done(tag) => DBOutput::StatementComplete(affected_rows(&tag)),
        })
    }

    async fn shutdown(&mut self) {}

    fn engine_name(&self) -> &str {
        "braid"
    }

    async fn sleep(duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn error_sql_state(error: &WireError) -> Option<String> {
        match error {
            WireError::Server { sqlstate, .. } => Some(sqlstate.clone()),
            WireError::Broken(_) | WireError::Protocol(_) => None,
        }
    }
}

fn copied_lines(text: &str) -> DBOutput<DefaultColumnType> {
    let lines = text.lines().map(|line| vec![line.to_owned()]).collect();
    DBOutput::Rows { types: vec![DefaultColumnType::Text], rows: lines }
}

/// A value as the files have it.
fn shown(text: Option<String>) -> String {
    match text {
        None => "NULL".to_owned(),
        Some(text) if text.is_empty() => "(empty)".to_owned(),
        Some(text) => text,
    }
}

fn rows(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<DBOutput<DefaultColumnType>, EngineError> {
    let column_type = |field: &FieldRef| match DescribedType::of(field) {
        Some(described) => column_type_of_oid(described.oid),
        None => column_type(field.data_type()),
    };
    let types = schema.fields().iter().map(column_type).collect();
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let value = |column: &ArrayRef| {
                let text = pg_text(column.as_ref(), row);
                text.map(shown).map_err(|error| EngineError::internal(error.to_string()))
            };
            rows.push(batch.columns().iter().map(value).collect::<Result<Vec<_>, _>>()?);
        }
    }
    Ok(DBOutput::Rows { types, rows })
}

fn column_type(data_type: &DataType) -> DefaultColumnType {
    match data_type {
        t if t.is_integer() => DefaultColumnType::Integer,
        t if t.is_numeric() => DefaultColumnType::FloatingPoint,
        _ => DefaultColumnType::Text,
    }
}

/// The letter that `bench/peers/slt_on_postgres.py` has for a type.
fn column_type_of_oid(oid: u32) -> DefaultColumnType {
    match oid {
        20 | 21 | 23 | 26 => DefaultColumnType::Integer,
        700 | 701 | 1700 => DefaultColumnType::FloatingPoint,
        _ => DefaultColumnType::Text,
    }
}

/// The count in a command tag: its last word, where that is a number.
fn affected_rows(tag: &str) -> u64 {
    tag.rsplit(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_the_last_word_of_a_tag() {
        assert_eq!(["INSERT 0 5", "COPY 3", "CREATE TABLE"].map(affected_rows), [5, 3, 0]);
    }
}
