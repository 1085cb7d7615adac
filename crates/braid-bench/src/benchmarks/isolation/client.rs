//! A client: it runs transactions, cancels some of their statements, vanishes within some, and connects again when the server is
//! killed.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::History;
use super::lists::{append, elements, read, takes_a_place};
use super::recorder::{Ended, Process};
use super::transactions::{Behaviour, Step, Transaction};
use crate::BenchError;
use crate::drivers::wire_session::WireSession;
use crate::workloads::histories::statements::Statement;
use crate::workloads::random_sql::draw::Draw;

/// A statement without an answer after this time hangs, and so does a server that takes no connection.
const ANSWER_AFTER_MAX: Duration = Duration::from_secs(60);

/// Time between two attempts to connect.
const CONNECT_EVERY: Duration = Duration::from_millis(20);

/// Errors that end a transaction of such clients: serialization failure, deadlock, cancellation, lock timeout.
const EXPECTED: [&str; 4] = ["40001", "40P01", "57014", "55P03"];

/// The error of an append whose place in its list another one has taken.
const PLACE_IS_TAKEN: &str = "23505";

/// Runs transactions until none is left.
pub(super) async fn run(history: Arc<History>, seed: u64) -> Result<(), BenchError> {
    let mut draw = Draw::new(seed);
    let process = history.recorder.new_process();
    let mut client = Client { session: None, is_prepared: false, process, history };
    while client.history.take() {
        if client.session.is_none() {
            let settings = settings(&client.history, &mut draw);
            client.session = Some(connect(&client.history, &settings).await?);
        }
        client.is_prepared = draw.percent(50);
        let transaction = Transaction::random(&mut draw, &client.history.lists);
        client.history.recorder.begins(client.process, &transaction.steps);
        let ended = client.run(&transaction).await?;
        client.process = client.history.recorder.ended(client.process, &transaction.steps, &ended);
    }
    Ok(())
}

/// Settings of a session: sharing at random, and the level also for statements by themselves.
fn settings(history: &History, draw: &mut Draw) -> String {
    let sharing = draw.choose(&["off", "auto", "global"]);
    let lock_timeout = draw.choose(&["50ms", "2s"]);
    let level = history.level.name();
    format!(
        "set braid.sharing = '{sharing}'; set lock_timeout = '{lock_timeout}'; set default_transaction_isolation = '{level}'"
    )
}

/// Connects to the server, or the next one if it has been killed.
pub(super) async fn connect(history: &History, settings: &str) -> Result<WireSession, BenchError> {
    let start = Instant::now();
    loop {
        match WireSession::connect(history.address(), settings).await {
            Ok(session) => return Ok(session),
            Err(error) if error.sqlstate().is_some() || start.elapsed() > ANSWER_AFTER_MAX => return Err(error),
            Err(_) => tokio::time::sleep(CONNECT_EVERY).await,
        }
    }
}

/// What became of a statement.
enum Answer {
    /// The first column of its rows.
    Rows(Vec<String>),
    /// An error ended the transaction.
    Failed,
    /// The connection is lost, or was given up.
    Lost,
}

struct Client {
    history: Arc<History>,
    /// None after it was lost.
    session: Option<WireSession>,
    /// Whether statements have parameters.
    is_prepared: bool,
    process: Process,
}

impl Client {
    /// Runs a transaction to its end.
    async fn run(&mut self, transaction: &Transaction) -> Result<Ended, BenchError> {
        let mut reads = Vec::new();
        if !transaction.is_implicit {
            let begin = format!("begin isolation level {}", self.history.level.name());
            match self.ask(&text(&begin), Behaviour::Waits, 0).await? {
                Answer::Rows(_) => {}
                Answer::Failed => return self.roll_back().await,
                Answer::Lost => return Ok(Ended::Aborted),
            }
        }
        for (at, step) in transaction.steps.iter().enumerate() {
            match self.step(*step, transaction.behaviour, at).await? {
                Answer::Rows(rows) if matches!(step, Step::Read { .. }) => reads.push(self.list(&rows)?),
                Answer::Rows(_) => {}
                Answer::Failed if transaction.is_implicit => return Ok(Ended::Aborted),
                Answer::Failed => return self.roll_back().await,
                Answer::Lost if transaction.is_implicit => return Ok(Ended::Unknown),
                Answer::Lost => return Ok(Ended::Aborted),
            }
        }
        if transaction.is_implicit {
            return Ok(Ended::Committed(reads));
        }
        if transaction.behaviour == Behaviour::RollsBack {
            return self.roll_back().await;
        }
        match self.ask(&text("commit"), transaction.behaviour, transaction.steps.len()).await? {
            Answer::Rows(_) => Ok(Ended::Committed(reads)),
            // A cancel request that comes just before COMMIT leaves the transaction open.
            Answer::Failed => self.roll_back().await,
            Answer::Lost => Ok(Ended::Unknown),
        }
    }

    async fn step(&mut self, step: Step, behaviour: Behaviour, at: usize) -> Result<Answer, BenchError> {
        let (key, element) = match step {
            Step::Read { key } => return self.ask(&read(key, self.is_prepared), behaviour, at).await,
            Step::Append { key, element } => {
                return self.ask(&append(key, element, self.is_prepared), behaviour, at).await;
            }
            Step::AppendRolledBack { key, element } => (key, element),
        };
        let statements = [text("savepoint s"), append(key, element, self.is_prepared), text("rollback to savepoint s")];
        for statement in statements {
            match self.ask(&statement, behaviour, at).await? {
                Answer::Rows(_) => {}
                other => return Ok(other),
            }
        }
        Ok(Answer::Rows(Vec::new()))
    }

    /// Asks a statement, the one at this place of its transaction.
    async fn ask(&mut self, statement: &Statement, behaviour: Behaviour, place: usize) -> Result<Answer, BenchError> {
        let Some(session) = &mut self.session else { return Ok(Answer::Lost) };
        let canceller = session.canceller();
        let asking = answer_in_time(statement, session.first_column(statement));
        let answer = match behaviour {
            Behaviour::Cancels { at, after } if at == place => {
                let cancelling = async {
                    tokio::time::sleep(after).await;
                    canceller.cancel().await
                };
                // A cancel request fails if the server is killed meanwhile, as the statement does.
                let (answer, _) = tokio::join!(asking, cancelling);
                answer
            }
            Behaviour::Vanishes { at, after } if at == place => tokio::select! {
                answer = asking => answer,
                () = tokio::time::sleep(after) => {
                    self.session = None;
                    return Ok(Answer::Lost);
                }
            },
            _ => asking.await,
        };
        match answer {
            Ok(rows) => Ok(Answer::Rows(rows)),
            Err(error) => match error.sqlstate() {
                Some(sqlstate) if EXPECTED.contains(&sqlstate) => Ok(Answer::Failed),
                Some(PLACE_IS_TAKEN) if takes_a_place(&statement.text) => Ok(Answer::Failed),
                Some(_) => Err(error),
                None if matches!(error, BenchError::Wire { .. }) => {
                    self.session = None;
                    Ok(Answer::Lost)
                }
                None => Err(error),
            },
        }
    }

    async fn roll_back(&mut self) -> Result<Ended, BenchError> {
        // A cancel request may arrive late, and end this statement.
        while let Answer::Failed = self.ask(&text("rollback"), Behaviour::Waits, 0).await? {}
        Ok(Ended::Aborted)
    }

    /// The list that was read, spoiled if it is its turn: its last elements in the other order.
    fn list(&self, rows: &[String]) -> Result<Vec<u64>, BenchError> {
        let mut list = elements(rows.iter().map(String::as_str))?;
        if let [.., last, next] = &mut list[..]
            && self.history.is_spoiled()
        {
            std::mem::swap(last, next);
        }
        Ok(list)
    }
}

fn text(sql: &str) -> Statement {
    Statement { text: sql.to_owned(), parameters: None }
}

async fn answer_in_time<T>(
    statement: &Statement,
    asking: impl Future<Output = Result<T, BenchError>>,
) -> Result<T, BenchError> {
    let hangs = |_| BenchError::other(&*statement.text, format!("no answer after {} s", ANSWER_AFTER_MAX.as_secs()));
    tokio::time::timeout(ANSWER_AFTER_MAX, asking).await.map_err(hangs)?
}
