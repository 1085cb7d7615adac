//! Checks answers: each must equal the answer of the same query alone on one of the versions that it may have seen.
//!
//! "Alone" is a session with sharing, templates and kept results off, on the unchanging copies of a version. Its answers are remembered
//! by text, parameters and copies, which do not change. An answer is compared with those first that are remembered; the others are
//! computed only if it equals none of them, and once if several checkers need them.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::{OnceCell, mpsc};

use super::history::{History, Observation};
use crate::BenchError;
use crate::drivers::wire_session::{Outcome, Reading, WireSession};
use crate::workloads::histories::statements::Statement;
use crate::workloads::histories::tables::changing;

/// Settings of the sessions that compute the right answers.
const ALONE: &str = "set braid.sharing = off; set braid.templates = off; set braid.result_cache = off";

/// Answers that are remembered; then all are forgotten. With an answer of some kilobytes at most, these are about 100 MB.
const REMEMBERED_MAX: usize = 50_000;

/// Wrong answers that are shown.
const SHOWN_MAX: u64 = 10;

/// A statement on copies, and whether its values are in the binary format.
type Question = (Statement, bool);

/// The right answers. A cell is empty while its answer is computed.
pub(super) type Remembered = Arc<Mutex<HashMap<Question, Arc<OnceCell<Outcome>>>>>;

/// The answers to check, which all checkers take from.
pub(super) type Observations = Arc<tokio::sync::Mutex<mpsc::Receiver<Observation>>>;

/// What knows the right answers.
trait Oracle {
    /// The right answer of a statement on copies.
    fn answer<'a>(
        &'a mut self,
        statement: &'a Statement,
        is_prepared: bool,
    ) -> BoxFuture<'a, Result<Outcome, BenchError>>;
}

/// A session that shares nothing.
impl Oracle for WireSession {
    fn answer<'a>(
        &'a mut self,
        statement: &'a Statement,
        is_prepared: bool,
    ) -> BoxFuture<'a, Result<Outcome, BenchError>> {
        let reading = if is_prepared { Reading::Paused(std::time::Duration::ZERO) } else { Reading::Fast };
        Box::pin(self.ask(statement, reading))
    }
}

/// Checks until there is no more observation.
pub(super) async fn check(
    history: Arc<History>,
    observations: Observations,
    remembered: Remembered,
) -> Result<(), BenchError> {
    let alone = WireSession::connect(history.address, ALONE).await?;
    let mut checker = Checker { alone, remembered, computed: 0 };
    loop {
        let next = observations.lock().await.recv().await;
        let Some(observation) = next else { return Ok(()) };
        let verdict = checker.check(&observation).await?;
        let tally = &history.tally;
        tally.computed.add(std::mem::take(&mut checker.computed));
        match (verdict, &observation.found) {
            (Verdict::Right, Outcome::Rows(_)) => tally.answered.add(1),
            (Verdict::Right, Outcome::Failed { .. }) => tally.failed.add(1),
            (Verdict::Wrong(expected), _) => {
                if tally.wrong.next() <= SHOWN_MAX {
                    show(history.seed, &observation, &expected);
                }
            }
        }
        history.versions.lock().checked(observation.oldest_version);
    }
}

/// What a check found.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// The answer is that of the query alone on one of its versions.
    Right,
    /// It is none of the right ones, which are these.
    Wrong(Vec<(Statement, Outcome)>),
}

struct Checker<O> {
    alone: O,
    remembered: Remembered,
    /// Answers that this checker has computed.
    computed: u64,
}

impl<O: Oracle> Checker<O> {
    async fn check(&mut self, observation: &Observation) -> Result<Verdict, BenchError> {
        // The newest first, because a query mostly sees it. Versions of tables that the statement does not name are one.
        let mut statements: Vec<(Statement, &[String])> = Vec::new();
        for version in observation.versions.iter().rev() {
            let statement = observation.statement.on(&version.copies);
            if statements.iter().all(|(other, _)| *other != statement) {
                statements.push((statement, &version.copies));
            }
        }
        let is_prepared = observation.is_prepared;
        for (statement, copies) in &statements {
            let cell = self.remembered.lock().get(&(statement.clone(), is_prepared)).cloned();
            let remembered = cell.as_ref().and_then(|cell| cell.get());
            if remembered.is_some_and(|outcome| is_same(&observation.found, outcome, copies)) {
                return Ok(Verdict::Right);
            }
        }
        let mut expected = Vec::new();
        for (statement, copies) in statements {
            let outcome = self.expected(&statement, is_prepared).await?;
            if is_same(&observation.found, &outcome, copies) {
                return Ok(Verdict::Right);
            }
            expected.push((statement, outcome));
        }
        Ok(Verdict::Wrong(expected))
    }

    async fn expected(&mut self, statement: &Statement, is_prepared: bool) -> Result<Outcome, BenchError> {
        let cell = {
            let mut remembered = self.remembered.lock();
            if remembered.len() >= REMEMBERED_MAX {
                remembered.clear();
            }
            Arc::clone(remembered.entry((statement.clone(), is_prepared)).or_default())
        };
        let compute = async || {
            self.computed += 1;
            self.alone.answer(statement, is_prepared).await
        };
        cell.get_or_try_init(compute).await.cloned()
    }
}

/// Whether an answer is the one on copies. A message has the copies' names in the place of the original tables'.
fn is_same(found: &Outcome, on_copies: &Outcome, copies: &[String]) -> bool {
    match (found, on_copies) {
        (Outcome::Failed { sqlstate, message }, Outcome::Failed { sqlstate: state_on_copies, message: on_copies }) => {
            let copies = copies.iter().enumerate();
            sqlstate == state_on_copies
                && *message == copies.fold(on_copies.clone(), |text, (at, copy)| text.replace(copy, &changing(at)))
        }
        _ => found == on_copies,
    }
}

fn show(seed: u64, observation: &Observation, expected: &[(Statement, Outcome)]) {
    println!("wrong answer, seed {seed}, {}:", observation.circumstances);
    println!("  {}", observation.statement.text);
    if let Some(parameters) = &observation.statement.parameters {
        println!("  parameters: {}", parameters.join(", "));
    }
    println!("  found: {}", observation.found);
    for (statement, outcome) in expected {
        println!("  expected by: {}\n  {outcome}", statement.text);
    }
}

#[cfg(test)]
mod tests {
    use super::super::versions::Version;
    use super::*;

    /// Knows the answers of `select v from changing_0`, by copy: an error in the place of rows.
    struct Answers(Vec<(&'static str, Outcome)>);

    impl Oracle for Answers {
        fn answer<'a>(&'a mut self, statement: &'a Statement, _: bool) -> BoxFuture<'a, Result<Outcome, BenchError>> {
            let known = self.0.iter().find(|(copy, _)| statement.text.ends_with(copy));
            let (_, outcome) = known.unwrap_or_else(|| panic!("{}", statement.text));
            Box::pin(std::future::ready(Ok(outcome.clone())))
        }
    }

    fn failed(message: &str) -> Outcome {
        Outcome::Failed { sqlstate: "22012".to_owned(), message: message.to_owned() }
    }

    fn checker() -> Checker<Answers> {
        let answers = Answers(vec![
            ("past_0_1", Outcome::of_values(&["1", "2"])),
            ("past_0_2", Outcome::of_values(&["1", "2", "3"])),
            ("past_0_3", failed("past_0_3 divides")),
        ]);
        Checker { alone: answers, remembered: Remembered::default(), computed: 0 }
    }

    /// Whether a checker calls an answer right that is of one of the versions with these numbers.
    async fn is_right(checker: &mut Checker<Answers>, found: Outcome, versions: &[u64]) -> bool {
        let version = |number: &u64| Version { number: *number, copies: vec![format!("past_0_{number}")] };
        let observation = Observation {
            statement: Statement { text: "select v from changing_0".to_owned(), parameters: None },
            is_prepared: false,
            circumstances: String::new(),
            found,
            versions: versions.iter().map(version).collect(),
            oldest_version: 0,
        };
        match checker.check(&observation).await.unwrap() {
            Verdict::Right => true,
            Verdict::Wrong(expected) => {
                assert_eq!(expected.len(), versions.len());
                false
            }
        }
    }

    #[tokio::test]
    async fn an_answer_is_right_only_on_a_version_that_it_may_have_seen() {
        let mut checker = checker();
        let (first, second) = (Outcome::of_values(&["1", "2"]), Outcome::of_values(&["1", "2", "3"]));
        assert!(is_right(&mut checker, first.clone(), &[1]).await);
        assert!(is_right(&mut checker, first.clone(), &[1, 2, 3]).await);
        assert!(is_right(&mut checker, second.clone(), &[1, 2]).await);
        // Also when the answers of all versions are remembered: an older or a newer state is wrong.
        assert!(!is_right(&mut checker, first.clone(), &[2, 3]).await);
        assert!(!is_right(&mut checker, second.clone(), &[1]).await);
        assert!(!is_right(&mut checker, second, &[3]).await);
        assert!(!is_right(&mut checker, first.made_wrong(), &[1, 2, 3]).await);
        assert_eq!(checker.computed, 3, "each answer once");
    }

    #[tokio::test]
    async fn another_value_number_of_rows_or_error_is_wrong() {
        let mut checker = checker();
        for values in [&[][..], &["1"], &["1", "3"], &["1", "2", "2"], &["2", "1"], &["12", ""]] {
            assert!(!is_right(&mut checker, Outcome::of_values(values), &[1, 2, 3]).await, "{values:?}");
        }
        assert!(is_right(&mut checker, failed("changing_0 divides"), &[2, 3]).await);
        assert!(!is_right(&mut checker, failed("changing_1 divides"), &[2, 3]).await);
        assert!(!is_right(&mut checker, failed("changing_0 divides"), &[1, 2]).await);
        let other_state = Outcome::Failed { sqlstate: "22003".to_owned(), message: "changing_0 divides".to_owned() };
        assert!(!is_right(&mut checker, other_state, &[3]).await);
    }
}
