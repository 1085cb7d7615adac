//! Clients: a session in this process, or a connection over the wire.
//!
//! Drivers and checks use only the trait, so that the same closed loop measures both.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use braid_engine::{Database, Outcome, Session};
use futures::TryStreamExt;
use futures::future::BoxFuture;
use tokio_postgres::SimpleQueryMessage;
use tokio_util::sync::CancellationToken;

use crate::BenchError;
use crate::drivers::lent_servers::ServerProcess;
use crate::workloads::answer::Answer;

/// One client, which runs one query at a time.
pub trait Client: Send {
    /// Runs a statement, discards its rows, and returns their number.
    fn run<'a>(&'a mut self, sql: &'a str) -> BoxFuture<'a, Result<u64, BenchError>>;

    /// Runs a statement and returns its rows.
    fn answer<'a>(&'a mut self, sql: &'a str) -> BoxFuture<'a, Result<Answer, BenchError>>;
}

/// Whether the statements of a session run as passes with others, the setting `braid.sharing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Each statement runs alone.
    Off,
    /// The default: statements under load run as passes.
    Auto,
}

impl Sharing {
    /// The setting's value.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Auto => "auto",
        }
    }

    /// Sets it for a client's session.
    pub async fn set(self, client: &mut dyn Client) -> Result<(), BenchError> {
        client.run(&format!("set braid.sharing = '{}'", self.name())).await.map(drop)
    }
}

/// A session of a database in this process.
pub struct SessionClient {
    session: Session,
}

impl SessionClient {
    /// A new session.
    pub fn new(database: &Arc<Database>) -> Self {
        Self { session: database.session("braid") }
    }

    /// Runs one or several statements until `cancel`, and returns the rows of the last one.
    pub async fn batches(&self, sql: &str, cancel: CancellationToken) -> Result<Vec<RecordBatch>, BenchError> {
        let mut batches = Vec::new();
        for statement in self.session.parse(sql)? {
            batches = match self.session.execute(&statement, Vec::new(), cancel.clone()).await? {
                Outcome::Rows { stream, .. } => stream.try_collect().await?,
                _ => Vec::new(),
            };
        }
        Ok(batches)
    }
}

impl Client for SessionClient {
    fn run<'a>(&'a mut self, sql: &'a str) -> BoxFuture<'a, Result<u64, BenchError>> {
        Box::pin(async move {
            let mut rows = 0;
            for statement in self.session.parse(sql)? {
                let outcome = self.session.execute(&statement, Vec::new(), CancellationToken::new()).await?;
                if let Outcome::Rows { mut stream, .. } = outcome {
                    while let Some(batch) = stream.try_next().await? {
                        rows += batch.num_rows() as u64;
                    }
                }
            }
            Ok(rows)
        })
    }

    fn answer<'a>(&'a mut self, sql: &'a str) -> BoxFuture<'a, Result<Answer, BenchError>> {
        Box::pin(async move {
            let batches = self.batches(sql, CancellationToken::new()).await?;
            Answer::from_batches(&batches).map_err(|e| BenchError::other("reading an answer", e))
        })
    }
}

/// A connection over PostgreSQL's protocol.
pub struct WireClient {
    client: tokio_postgres::Client,
    connection: tokio::task::JoinHandle<()>,
}

impl WireClient {
    /// Connects to a server on `address`.
    pub async fn connect(address: SocketAddr) -> Result<Self, BenchError> {
        Self::connect_as(address, &mut tokio_postgres::Config::new()).await
    }

    /// Connects to a server process, with its password if it has one.
    pub async fn log_in(server: &ServerProcess) -> Result<Self, BenchError> {
        let mut config = tokio_postgres::Config::new();
        if let Some(password) = &server.password {
            config.password(password);
        }
        Self::connect_as(server.address, &mut config).await
    }

    async fn connect_as(address: SocketAddr, config: &mut tokio_postgres::Config) -> Result<Self, BenchError> {
        let config = config.host(address.ip().to_string()).port(address.port()).user("braid").dbname("braid");
        let (client, connection) = config
            .connect(tokio_postgres::NoTls)
            .await
            .map_err(|source| BenchError::Wire { what: format!("connecting to {address}"), source })?;
        // An error of the connection reaches the client as an error of its next query.
        let connection = tokio::spawn(async move { drop(connection.await) });
        Ok(Self { client, connection })
    }

    /// Selects the numbers 1 to `rows`, one per row. Reads the first row, pauses for `unread`, and then reads and discards the
    /// others. Returns the time of that last step.
    pub async fn stream_series(&self, rows: u64, unread: Duration) -> Result<Duration, BenchError> {
        let sql = format!("select value from generate_series(1, {rows}::bigint) as s(value)");
        let failed = |source| BenchError::Wire { what: sql.clone(), source };
        let answer = self.client.query_raw(&sql, std::iter::empty::<i64>()).await.map_err(failed)?;
        let mut answer = std::pin::pin!(answer);
        let (mut count, mut sum, mut reading) = (0, 0, Instant::now());
        while let Some(row) = answer.try_next().await.map_err(failed)? {
            count += 1;
            sum += u128::from(row.try_get::<_, i64>(0).map_err(failed)?.unsigned_abs());
            if count == 1 {
                tokio::time::sleep(unread).await;
                reading = Instant::now();
            }
        }
        if sum != u128::from(rows) * u128::from(rows + 1) / 2 {
            let difference = format!("{count} rows with the sum {sum}");
            return Err(BenchError::WrongAnswer { query: sql, difference });
        }
        Ok(reading.elapsed())
    }

    async fn simple_query(&self, sql: &str) -> Result<Vec<SimpleQueryMessage>, BenchError> {
        let what = || sql.chars().take(80).collect::<String>();
        self.client.simple_query(sql).await.map_err(|source| BenchError::Wire { what: what(), source })
    }
}

impl Drop for WireClient {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl Client for WireClient {
    fn run<'a>(&'a mut self, sql: &'a str) -> BoxFuture<'a, Result<u64, BenchError>> {
        Box::pin(async move {
            let messages = self.simple_query(sql).await?;
            Ok(messages.iter().filter(|m| matches!(m, SimpleQueryMessage::Row(_))).count() as u64)
        })
    }

    fn answer<'a>(&'a mut self, sql: &'a str) -> BoxFuture<'a, Result<Answer, BenchError>> {
        Box::pin(async move {
            let messages = self.simple_query(sql).await?;
            let rows = messages.iter().filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some((0..row.len()).map(|at| row.get(at)).collect()),
                _ => None,
            });
            Ok(Answer::from_wire(rows))
        })
    }
}
