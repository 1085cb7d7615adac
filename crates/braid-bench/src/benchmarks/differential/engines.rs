//! The engines: Braid, Braid on other plans, and DuckDB.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use braid_engine::Database;
use futures::FutureExt;
use parking_lot::Mutex;

use crate::BenchError;
use crate::drivers::client::{Client, SessionClient};
use crate::drivers::duckdb::{DuckDbSession, StatementReply};
use crate::workloads::answer::Answer;
use crate::workloads::random_sql::schema::Table;

/// An engine's response to a statement.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Rows.
    Rows(Answer),
    /// A refusal: SQLSTATE 0A000.
    Refused,
    /// An error.
    Failed(String),
}

/// Time limit of a statement. Cases should take less than a hundredth of it.
const STATEMENT_TIMEOUT: &str = "60s";

/// A session of Braid.
pub struct Braid {
    client: SessionClient,
}

impl Braid {
    /// A session as users have it.
    pub async fn new(database: &Arc<Database>) -> Result<Self, BenchError> {
        let mut client = SessionClient::new(database);
        client.run(&format!("set statement_timeout = '{STATEMENT_TIMEOUT}'")).await?;
        Ok(Self { client })
    }

    /// A session whose queries run on one worker, with joins in random order and without templates.
    pub async fn on_other_plans(database: &Arc<Database>) -> Result<Self, BenchError> {
        let mut session = Self::new(database).await?;
        let settings = "set braid.target_partitions = 1; set braid.join_order = random; set braid.templates = off";
        session.client.run(settings).await?;
        Ok(session)
    }

    /// Replaces all tables by these.
    pub async fn load(&mut self, tables: &[Table]) -> Result<(), BenchError> {
        for statement in statements(tables) {
            self.client.run(&statement).await?;
        }
        Ok(())
    }

    /// Its answer.
    pub async fn ask(&mut self, sql: &str) -> Reply {
        // A panic counts as a difference. The session has no state that it could leave inconsistent.
        match AssertUnwindSafe(self.client.answer(sql)).catch_unwind().await {
            Ok(Ok(answer)) => Reply::Rows(answer),
            Ok(Err(BenchError::Engine(error))) if error.sqlstate() == "0A000" => Reply::Refused,
            Ok(Err(error)) => Reply::Failed(error.to_string()),
            Err(_) => Reply::Failed("a panic".to_owned()),
        }
    }
}

/// The engine that Braid is compared with.
pub enum PeerEngine {
    /// Braid on other plans.
    OtherPlans(Braid),
    /// DuckDB.
    DuckDb(Arc<Mutex<DuckDbSession>>),
}

impl PeerEngine {
    /// Creates the tables, if the engine has its own.
    pub async fn load(&mut self, tables: &[Table]) -> Result<(), BenchError> {
        if let Self::DuckDb(session) = self {
            let replies = ask_duckdb(session.clone(), statements(tables)).await?;
            if let Some(error) = replies.into_iter().find_map(|reply| reply.error) {
                return Err(BenchError::other("making tables in DuckDB", error));
            }
        }
        Ok(())
    }

    /// Its answers.
    pub async fn ask(&mut self, queries: Vec<String>) -> Result<Vec<Reply>, BenchError> {
        match self {
            Self::OtherPlans(session) => {
                let mut replies = Vec::with_capacity(queries.len());
                for query in &queries {
                    replies.push(session.ask(query).await);
                }
                Ok(replies)
            }
            Self::DuckDb(session) => {
                let replies = ask_duckdb(session.clone(), queries).await?;
                Ok(replies.into_iter().map(StatementReply::into).collect())
            }
        }
    }
}

impl From<StatementReply> for Reply {
    fn from(reply: StatementReply) -> Self {
        match reply.error {
            Some(error) => Self::Failed(error),
            None => {
                let rows = reply.rows.iter().map(|row| row.iter().map(Option::as_deref).collect());
                Self::Rows(Answer::from_wire(rows))
            }
        }
    }
}

async fn ask_duckdb(
    session: Arc<Mutex<DuckDbSession>>,
    statements: Vec<String>,
) -> Result<Vec<StatementReply>, BenchError> {
    tokio::task::spawn_blocking(move || session.lock().ask(&statements))
        .await
        .map_err(|e| BenchError::other("waiting for DuckDB", e))?
}

fn statements(tables: &[Table]) -> Vec<String> {
    let of_table = |table: &Table| {
        let drop = format!("drop table if exists {}", table.name);
        [drop, table.create()].into_iter().chain(table.inserts())
    };
    tables.iter().flat_map(of_table).collect()
}
