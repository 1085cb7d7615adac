//! A connection that asks statements with and without parameters, reads slowly, and has its statement cancelled.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::time::Duration;

use bytes::BytesMut;
use futures::TryStreamExt;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_postgres::types::{Format, FromSql, IsNull, ToSql, Type};
use tokio_postgres::{CancelToken, Config, NoTls, SimpleQueryMessage};

use crate::BenchError;
use crate::workloads::histories::statements::Statement;

/// Prepared statements that a session keeps.
const PREPARED_MAX: usize = 8;

/// Rows of an answer that are kept, to be shown if they are wrong.
const SHOWN_ROWS_MAX: usize = 40;

/// Rows of each step of a portal.
const PORTAL_ROWS: i32 = 50;

type BoxedError = Box<dyn std::error::Error + Sync + Send>;

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Rows.
    Rows(Rows),
    /// An error of the server.
    Failed { sqlstate: String, message: String },
}

/// A row in the bytes of the wire.
type Row = Vec<Option<Vec<u8>>>;

/// Rows by their hash. Values are compared as the bytes that came over the wire.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    count: usize,
    /// Of the columns' names and all rows.
    hash: u64,
    /// The first rows; for people.
    shown: Vec<Row>,
}

impl PartialEq for Rows {
    fn eq(&self, other: &Self) -> bool {
        (self.count, self.hash) == (other.count, other.hash)
    }
}

impl Eq for Rows {}

impl Outcome {
    /// Rows of one column in their order.
    #[cfg(test)]
    pub(crate) fn of_values(values: &[&str]) -> Self {
        let rows = values.iter().map(|value| vec![Some(value.as_bytes().to_vec())]).collect();
        Self::Rows(Collected { columns: vec!["v".to_owned()], rows }.rows(true))
    }

    /// Another outcome: rows with another hash, or an error with another message.
    pub(crate) fn made_wrong(self) -> Self {
        match self {
            Self::Rows(rows) => Self::Rows(Rows { hash: !rows.hash, ..rows }),
            Self::Failed { sqlstate, message } => Self::Failed { sqlstate, message: message + ", planted" },
        }
    }
}

/// How a client reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// As fast as it can.
    Fast,
    /// With a pause after the first row, and prepared.
    Paused(Duration),
    /// A portal with a few rows at a time, and a pause after each step.
    Portal(Duration),
}

/// Values in the bytes of the wire.
struct Raw(Option<Vec<u8>>);

impl<'a> FromSql<'a> for Raw {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, BoxedError> {
        Ok(Self(Some(raw.to_vec())))
    }

    fn from_sql_null(_: &Type) -> Result<Self, BoxedError> {
        Ok(Self(None))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// A parameter of any type, as text.
#[derive(Debug)]
struct TextParameter<'a>(&'a str);

impl ToSql for TextParameter<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, BoxedError> {
        out.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    tokio_postgres::types::to_sql_checked!();
}

/// Cancels the statement that runs on a connection.
pub(crate) struct Canceller {
    token: CancelToken,
    address: SocketAddr,
}

impl Canceller {
    /// Sends the request, and waits until the server has dealt with it: otherwise it could hit the connection's next statement.
    ///
    /// # Errors
    /// When the request cannot be sent.
    pub(crate) async fn cancel(self) -> Result<(), BenchError> {
        const WHAT: &str = "a cancel request";
        let mut stream = TcpStream::connect(self.address).await.map_err(|error| BenchError::other(WHAT, error))?;
        let sent = self.token.cancel_query_raw(&mut stream, NoTls).await;
        sent.map_err(|source| BenchError::Wire { what: WHAT.to_owned(), source })?;
        // The server answers by closing, and may do so before it has read that this side is closed.
        match stream.read(&mut [0]).await {
            Ok(0) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Ok(()),
            Ok(_) => Err(BenchError::other(WHAT, "the server sent something")),
            Err(error) => Err(BenchError::other(WHAT, error)),
        }
    }
}

/// The connection. It closes when this is dropped, whatever it does then.
pub(crate) struct WireSession {
    address: SocketAddr,
    client: tokio_postgres::Client,
    connection: tokio::task::JoinHandle<()>,
    prepared: Vec<(String, tokio_postgres::Statement)>,
}

impl Drop for WireSession {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl WireSession {
    /// Connects, and runs the statements of `settings`.
    pub(crate) async fn connect(address: SocketAddr, settings: &str) -> Result<Self, BenchError> {
        let mut config = Config::new();
        config.host(address.ip().to_string()).port(address.port()).user("braid").dbname("braid");
        let failed = |source| BenchError::Wire { what: format!("connecting to {address}"), source };
        let (client, connection) = config.connect(NoTls).await.map_err(failed)?;
        // An error of the connection reaches the client as an error of its next query.
        let connection = tokio::spawn(async move { drop(connection.await) });
        let session = Self { address, client, connection, prepared: Vec::new() };
        session.run(settings).await?;
        Ok(session)
    }

    /// Runs statements without rows.
    pub(crate) async fn run(&self, sql: &str) -> Result<(), BenchError> {
        let failed = |source| BenchError::Wire { what: sql.chars().take(80).collect(), source };
        self.client.batch_execute(sql).await.map_err(failed)
    }

    /// The rows of a text as text.
    pub(crate) async fn text_rows(&self, sql: &str) -> Result<Vec<Vec<String>>, BenchError> {
        let failed = |source| BenchError::Wire { what: sql.to_owned(), source };
        let messages = self.client.simple_query(sql).await.map_err(failed)?;
        let rows = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|at| row.get(at).unwrap_or_default().to_owned()).collect())
            }
            _ => None,
        });
        Ok(rows.collect())
    }

    /// The first column of the rows, as text; it must have that type if the statement has parameters. A null is empty.
    ///
    /// # Errors
    /// When the statement failed, or the connection broke.
    pub(crate) async fn first_column(&mut self, asked: &Statement) -> Result<Vec<String>, BenchError> {
        if asked.parameters.is_none() {
            let rows = self.text_rows(&asked.text).await?;
            return Ok(rows.into_iter().filter_map(|row| row.into_iter().next()).collect());
        }
        let failed = |source| BenchError::Wire { what: asked.text.clone(), source };
        let statement = self.statement(&asked.text).await.map_err(failed)?;
        let rows = self.client.query_raw(&statement, parameters(asked)).await.map_err(failed)?;
        let first = |row: tokio_postgres::Row| async move { row.try_get::<_, Option<String>>(0) };
        let texts: Vec<Option<String>> = rows.and_then(first).try_collect().await.map_err(failed)?;
        Ok(texts.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// What cancels its statement.
    pub(crate) fn canceller(&self) -> Canceller {
        Canceller { token: self.client.cancel_token(), address: self.address }
    }

    /// Asks, and reads the rows.
    ///
    /// # Errors
    /// When the connection broke. An error of the server is an outcome.
    pub(crate) async fn ask(&mut self, statement: &Statement, reading: Reading) -> Result<Outcome, BenchError> {
        let asked = match (&statement.parameters, reading) {
            (None, Reading::Fast) => self.simple(statement).await,
            (_, Reading::Portal(pause)) => self.portal(statement, pause).await,
            (_, Reading::Fast) => self.prepared(statement, Duration::ZERO).await,
            (_, Reading::Paused(pause)) => self.prepared(statement, pause).await,
        };
        match asked {
            Ok(rows) => Ok(Outcome::Rows(rows)),
            Err(source) => match source.as_db_error() {
                Some(error) => Ok(Outcome::Failed {
                    sqlstate: error.code().code().to_owned(),
                    message: error.message().to_owned(),
                }),
                None => Err(BenchError::Wire { what: statement.text.clone(), source }),
            },
        }
    }

    async fn simple(&self, statement: &Statement) -> Result<Rows, tokio_postgres::Error> {
        let messages = self.client.simple_query(&statement.text).await?;
        let mut collected = Collected::default();
        for message in &messages {
            match message {
                SimpleQueryMessage::RowDescription(columns) => {
                    collected.columns = columns.iter().map(|column| column.name().to_owned()).collect();
                }
                SimpleQueryMessage::Row(row) => {
                    collected.add((0..row.len()).map(|at| row.get(at).map(|value| value.as_bytes().to_vec())));
                }
                _ => {}
            }
        }
        Ok(collected.rows(statement.has_order()))
    }

    async fn statement(&mut self, text: &str) -> Result<tokio_postgres::Statement, tokio_postgres::Error> {
        if let Some((_, statement)) = self.prepared.iter().find(|(prepared, _)| prepared == text) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(text).await?;
        if self.prepared.len() == PREPARED_MAX {
            self.prepared.remove(0);
        }
        self.prepared.push((text.to_owned(), statement.clone()));
        Ok(statement)
    }

    async fn prepared(&mut self, asked: &Statement, pause: Duration) -> Result<Rows, tokio_postgres::Error> {
        let statement = self.statement(&asked.text).await?;
        let stream = self.client.query_raw(&statement, parameters(asked)).await?;
        let mut stream = std::pin::pin!(stream);
        let mut collected = Collected::of(&statement);
        while let Some(row) = stream.try_next().await? {
            collected.add_row(&row)?;
            if collected.rows.len() == 1 && !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
        }
        Ok(collected.rows(asked.has_order()))
    }

    async fn portal(&mut self, asked: &Statement, pause: Duration) -> Result<Rows, tokio_postgres::Error> {
        let transaction = self.client.transaction().await?;
        let statement = transaction.prepare(&asked.text).await?;
        let portal = transaction.bind_raw(&statement, parameters(asked)).await?;
        let mut collected = Collected::of(&statement);
        loop {
            let rows = transaction.query_portal(&portal, PORTAL_ROWS).await?;
            for row in &rows {
                collected.add_row(row)?;
            }
            if rows.len() < PORTAL_ROWS as usize {
                break;
            }
            tokio::time::sleep(pause).await;
        }
        transaction.commit().await?;
        Ok(collected.rows(asked.has_order()))
    }
}

fn parameters(statement: &Statement) -> Vec<TextParameter<'_>> {
    statement.parameters.iter().flatten().map(|text| TextParameter(text)).collect()
}

/// Rows while they arrive.
#[derive(Default)]
struct Collected {
    columns: Vec<String>,
    rows: Vec<Row>,
}

impl Collected {
    fn of(statement: &tokio_postgres::Statement) -> Self {
        let column = |column: &tokio_postgres::Column| format!("{} {}", column.name(), column.type_());
        Self { columns: statement.columns().iter().map(column).collect(), rows: Vec::new() }
    }

    fn add(&mut self, values: impl Iterator<Item = Option<Vec<u8>>>) {
        self.rows.push(values.collect());
    }

    fn add_row(&mut self, row: &tokio_postgres::Row) -> Result<(), tokio_postgres::Error> {
        let values = (0..row.len()).map(|at| row.try_get::<_, Raw>(at).map(|raw| raw.0));
        self.rows.push(values.collect::<Result<_, _>>()?);
        Ok(())
    }

    fn rows(mut self, has_order: bool) -> Rows {
        if !has_order {
            self.rows.sort();
        }
        let mut hasher = DefaultHasher::new();
        (&self.columns, &self.rows).hash(&mut hasher);
        let count = self.rows.len();
        self.rows.truncate(SHOWN_ROWS_MAX);
        self.rows.shrink_to_fit();
        Rows { count, hash: hasher.finish(), shown: self.rows }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rows(rows) => {
                write!(f, "{} rows", rows.count)?;
                let value = |value: &Option<Vec<u8>>| {
                    value.as_ref().map_or_else(|| "null".to_owned(), |bytes| bytes.escape_ascii().to_string())
                };
                rows.shown
                    .iter()
                    .try_for_each(|row| write!(f, "\n    {}", row.iter().map(value).collect::<Vec<_>>().join(" | ")))
            }
            Self::Failed { sqlstate, message } => write!(f, "{message} (SQLSTATE {sqlstate})"),
        }
    }
}
