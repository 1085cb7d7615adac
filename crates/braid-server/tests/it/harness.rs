//! A server on a free port over a temporary data directory.

use std::net::SocketAddr;
use std::sync::Arc;

use braid_base::ByteSize;
use braid_engine::{Config, Database};
use braid_server::{RunningServer, ServerOptions, serve};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};
use tokio_util::sync::CancellationToken;

use crate::raw_client::RawClient;

/// A server with its own database.
pub struct TestServer {
    pub address: SocketAddr,
    pub database: Arc<Database>,
    pub shutdown: CancellationToken,
    pub running: RunningServer,
    _data_dir: TempDir,
}

impl TestServer {
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub async fn start_with(change: impl FnOnce(&mut ServerOptions)) -> Self {
        let data_dir = tempfile::tempdir().unwrap();
        let mut config = Config::new(data_dir.path());
        config.buffer = ByteSize::mib(64);
        config.target_partitions = 2;
        let database = Database::open(config).await.unwrap();
        let mut options = ServerOptions { listen: ([127, 0, 0, 1], 0).into(), ..ServerOptions::default() };
        change(&mut options);
        let shutdown = CancellationToken::new();
        let running = serve(Arc::clone(&database), options, shutdown.clone()).await.unwrap();
        Self { address: running.address, database, shutdown, running, _data_dir: data_dir }
    }

    pub fn config(&self) -> tokio_postgres::Config {
        let mut config = tokio_postgres::Config::new();
        config.host("127.0.0.1").port(self.address.port()).user("tester").dbname("braid");
        config
    }

    pub async fn client(&self) -> Client {
        let (client, connection) = self.config().connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// Waits until exactly one statement runs.
    pub async fn one_statement_runs(&self) {
        eventually("one statement to run", || self.database.running_statement_count() == 1).await;
    }

    pub async fn raw(&self) -> RawClient {
        RawClient::connect(self.address).await
    }
}

/// The rows of a simple query, as text.
pub async fn text_rows(client: &Client, sql: &str) -> Vec<Vec<Option<String>>> {
    let messages = client.simple_query(sql).await.unwrap();
    let row = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => Some((0..row.len()).map(|c| row.get(c).map(str::to_owned)).collect()),
        _ => None,
    };
    messages.iter().filter_map(row).collect()
}

/// The SQLSTATE of a failed call.
pub fn sqlstate<T>(result: Result<T, tokio_postgres::Error>) -> String {
    match result {
        Ok(_) => "00000".to_owned(),
        Err(error) => error.code().map_or_else(|| error.to_string(), |code| code.code().to_owned()),
    }
}

pub use braid_testing::{eventually, in_time};

/// Rows without end within any test's patience.
pub const ENDLESS: &str = "select value from generate_series(1, 1000000000000) as s(value)";

/// A statement that runs as long but answers a single row at its end.
pub const LONG: &str = "select sum(value * 3 % 7) from generate_series(1, 1000000000000) as s(value)";
