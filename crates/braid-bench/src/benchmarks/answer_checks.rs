//! Answers that are checked before a workload is measured.
//!
//! - Stored answers of TPC-H queries.
//! - A text of each type: the same answer from another plan, with joins in random order, and from DuckDB where it is a contestant.
//! - Texts of [`CLIENTS`] clients at the same time, with sharing: the same answer from a client alone, without sharing.

use std::sync::Arc;

use braid_base::SeededRandom;
use tokio::task::JoinSet;

use crate::BenchError;
use crate::benchmarks::measured_server::MeasuredServer;
use crate::drivers::client::{Client, Sharing};
use crate::drivers::closed_loop::Clients;
use crate::drivers::duckdb_clients::DuckDbClients;
use crate::drivers::stored_answers::{STORED_SCALES, check_query};
use crate::workloads::answer::{Answer, RowOrder};
use crate::workloads::workload::{Texts, Workload};

/// Number of clients whose answers are checked.
pub(crate) const CLIENTS: usize = 64;

/// Number of checked texts of each client.
const TEXTS_OF_CLIENT: usize = 2;

/// Seed of the checked texts. Measurements use others.
const SEED: u64 = u64::MAX / 2;

/// What is checked.
pub(crate) struct AnswerChecks<'a> {
    /// The texts.
    pub(crate) workload: &'a Arc<dyn Workload>,
    /// The TPC-H queries whose stored answers are checked.
    pub(crate) stored_answers: &'a [u8],
}

impl AnswerChecks<'_> {
    /// Checks all with the clients, at least [`CLIENTS`], and returns them.
    pub(crate) async fn run(
        &self,
        server: &MeasuredServer,
        mut clients: Clients,
        scale: f64,
        duckdb: Option<&mut DuckDbClients>,
    ) -> Result<Clients, BenchError> {
        if STORED_SCALES.contains(&scale) {
            for &number in self.stored_answers {
                check_query(clients[0].as_mut(), usize::from(number), scale).await?;
            }
        }
        let mut alone = server.log_in().await?;
        Sharing::Off.set(alone.as_mut()).await?;
        let mut reference = server.log_in().await?;
        Sharing::Off.set(reference.as_mut()).await?;
        reference.run("set braid.join_order = random").await?;
        self.check_types(clients[0].as_mut(), reference.as_mut(), duckdb).await?;
        self.check_under_load(clients, alone.as_mut()).await
    }

    async fn check_types(
        &self,
        client: &mut dyn Client,
        reference: &mut dyn Client,
        duckdb: Option<&mut DuckDbClients>,
    ) -> Result<(), BenchError> {
        let text = |number| self.workload.text(number, &mut SeededRandom::new(SEED));
        let texts: Vec<String> = (0..self.workload.type_count()).map(text).collect();
        let mut answers = Vec::with_capacity(texts.len());
        for text in &texts {
            let found = client.answer(text).await?;
            check(text, &reference.answer(text).await?, &found)?;
            answers.push(found);
        }
        if let Some(duckdb) = duckdb {
            let expected = tokio::task::block_in_place(|| duckdb.answers(&texts))?;
            for ((text, expected), found) in texts.iter().zip(&expected).zip(&answers) {
                check(text, expected, found)?;
            }
        }
        Ok(())
    }

    /// All clients start at the same time, so that the server has a backlog from the first texts on.
    async fn check_under_load(&self, mut clients: Clients, alone: &mut dyn Client) -> Result<Clients, BenchError> {
        let mut asking = JoinSet::new();
        for (number, mut client) in clients.drain(..CLIENTS).enumerate() {
            let texts: Vec<String> = Texts::of_client(self.workload, number, SEED).take(TEXTS_OF_CLIENT).collect();
            asking.spawn(async move {
                let answers = answers_of(client.as_mut(), texts).await;
                (client, answers)
            });
        }
        let mut answers = Vec::with_capacity(CLIENTS * TEXTS_OF_CLIENT);
        while let Some(asked) = asking.join_next().await {
            let (client, of_client) = asked.map_err(|e| BenchError::other("a client's task", e))?;
            clients.push(client);
            answers.extend(of_client?);
        }
        for (text, found) in &answers {
            check(text, &alone.answer(text).await?, found)?;
        }
        Ok(clients)
    }
}

async fn answers_of(client: &mut dyn Client, texts: Vec<String>) -> Result<Vec<(String, Answer)>, BenchError> {
    Sharing::Auto.set(client).await?;
    let mut answers = Vec::with_capacity(texts.len());
    for text in texts {
        let answer = client.answer(&text).await?;
        answers.push((text, answer));
    }
    Ok(answers)
}

fn check(text: &str, expected: &Answer, found: &Answer) -> Result<(), BenchError> {
    let compared = expected.compare(found, RowOrder::Kept);
    compared
        .map_err(|difference| BenchError::WrongAnswer { query: text.to_owned(), difference: difference.to_string() })
}
