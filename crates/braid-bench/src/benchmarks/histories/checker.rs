//! Checks answers: each must equal the answer of the same query alone on one of the versions that it may have seen.
//!
//! "Alone" is a session with sharing and templates off, on the unchanging copies of a version. Its answers are remembered by text, so
//! that a text without changing tables is computed once.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::history::{History, Observation};
use super::wire_session::{Outcome, Reading, WireSession};
use crate::BenchError;
use crate::workloads::histories::statements::Statement;
use crate::workloads::histories::tables::changing;

/// Settings of the sessions that compute the right answers.
const ALONE: &str = "set braid.sharing = off; set braid.templates = off";

/// Answers that are remembered; then all are forgotten. With an answer of some hundred bytes, these are about 100 MB.
const REMEMBERED_MAX: usize = 200_000;

/// Wrong answers that are shown.
const SHOWN_MAX: u64 = 10;

/// The right answers, by text, parameters and format.
pub(super) type Remembered = Arc<Mutex<HashMap<(Statement, bool), Arc<Outcome>>>>;

/// The answers to check, which all checkers take from.
pub(super) type Observations = Arc<tokio::sync::Mutex<mpsc::Receiver<Observation>>>;

/// Checks until there is no more observation.
pub(super) async fn check(
    history: Arc<History>,
    observations: Observations,
    remembered: Remembered,
) -> Result<(), BenchError> {
    let alone = WireSession::connect(history.address, ALONE).await?;
    let mut checker = Checker { history, alone, remembered };
    loop {
        let next = observations.lock().await.recv().await;
        let Some(observation) = next else { return Ok(()) };
        checker.check(&observation).await?;
        checker.history.versions.lock().checked(observation.oldest_version);
    }
}

struct Checker {
    history: Arc<History>,
    alone: WireSession,
    remembered: Remembered,
}

impl Checker {
    async fn check(&mut self, observation: &Observation) -> Result<(), BenchError> {
        let mut expected: Vec<(Statement, Arc<Outcome>)> = Vec::new();
        for version in observation.versions.iter().rev() {
            let statement = observation.statement.on(&version.copies);
            if expected.iter().any(|(tried, _)| *tried == statement) {
                continue;
            }
            let outcome = self.expected(&statement, observation.is_prepared).await?;
            if of_originals(&outcome, &version.copies) == observation.found {
                let tally = &self.history.tally;
                match outcome.as_ref() {
                    Outcome::Rows(_) => tally.answered.add(1),
                    Outcome::Failed { .. } => tally.failed.add(1),
                }
                return Ok(());
            }
            expected.push((statement, outcome));
        }
        self.history.tally.wrong.add(1);
        if self.history.tally.wrong.get() <= SHOWN_MAX {
            self.show(observation, &expected);
        }
        Ok(())
    }

    async fn expected(&mut self, statement: &Statement, is_prepared: bool) -> Result<Arc<Outcome>, BenchError> {
        let key = (statement.clone(), is_prepared);
        if let Some(outcome) = self.remembered.lock().get(&key) {
            return Ok(Arc::clone(outcome));
        }
        let reading = if is_prepared { Reading::Paused(std::time::Duration::ZERO) } else { Reading::Fast };
        let outcome = Arc::new(self.alone.ask(statement, reading).await?);
        self.history.tally.computed.add(1);
        let mut remembered = self.remembered.lock();
        if remembered.len() >= REMEMBERED_MAX {
            remembered.clear();
        }
        remembered.insert(key, Arc::clone(&outcome));
        Ok(outcome)
    }

    fn show(&self, observation: &Observation, expected: &[(Statement, Arc<Outcome>)]) {
        println!("wrong answer, seed {}, {}:", self.history.seed, observation.circumstances);
        println!("  {}", observation.statement.text);
        if let Some(parameters) = &observation.statement.parameters {
            println!("  parameters: {}", parameters.join(", "));
        }
        println!("  found: {}", observation.found);
        for (statement, outcome) in expected {
            println!("  expected by: {}\n  {outcome}", statement.text);
        }
    }
}

/// The outcome with the names of the original tables in its message.
fn of_originals(outcome: &Outcome, copies: &[String]) -> Outcome {
    match outcome {
        Outcome::Rows(rows) => Outcome::Rows(rows.clone()),
        Outcome::Failed { sqlstate, message } => {
            let replaced = copies.iter().enumerate();
            let message = replaced.fold(message.clone(), |text, (at, copy)| text.replace(copy, &changing(at)));
            Outcome::Failed { sqlstate: sqlstate.clone(), message }
        }
    }
}
