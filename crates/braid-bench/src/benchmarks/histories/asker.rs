//! A client: it asks in bursts, cancels some of its queries, reads slowly, or vanishes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use braid_base::{Random, SeededRandom};
use tokio::sync::mpsc;

use super::history::{History, Observation};
use crate::BenchError;
use crate::drivers::wire_session::{Outcome, Reading, WireSession};
use crate::workloads::histories::statements::Statement;

/// Bursts begin at multiples of this, so that those of several clients coincide.
const BURST_PERIOD_MS: u64 = 20;

/// Forms that most queries have at a time, for how many queries, and the percentage of these queries. Without them few queries that wait at
/// the same time would be of one plan.
const THEMES: u64 = 3;
const QUERIES_OF_THEMES: u64 = 1200;
const THEME_PERCENT: u64 = 92;

/// A query without an answer after this time hangs.
const ANSWER_AFTER_MAX: Duration = Duration::from_secs(120);

/// Longest time until a cancel request or the end of a connection, in milliseconds.
const INTERRUPT_AFTER_MS_MAX: u64 = 30;

/// Longest pause of a slow reader, in milliseconds.
const PAUSE_MS_MAX: u64 = 30;

/// The settings of a session. A timeout or a limit is so short that it is reached under load.
#[derive(Clone, Copy, Debug)]
struct Settings {
    sharing: &'static str,
    templates: &'static str,
    result_cache: &'static str,
    timeout_ms: u64,
    limit_ms: u64,
}

impl Settings {
    fn random(random: &mut SeededRandom) -> Self {
        let mut one_in = |count| random.below(count) == 0;
        let sharing = if one_in(3) { "auto" } else { "global" };
        let templates = if one_in(3) { "eager" } else { "learned" };
        // A result that is kept takes no pass.
        let result_cache = if one_in(10) { "on" } else { "off" };
        // Few: sessions whose queries end early ask more of them.
        let mut rarely = || if one_in(25) { if one_in(2) { 50 } else { 500 } } else { 0 };
        let (timeout_ms, limit_ms) = (rarely(), rarely());
        Self { sharing, templates, result_cache, timeout_ms, limit_ms }
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "set braid.sharing = '{}'; set braid.templates = '{}'; set braid.result_cache = '{}'; \
             set statement_timeout = '{}ms'; set braid.response_limit = '{}ms'",
            self.sharing, self.templates, self.result_cache, self.timeout_ms, self.limit_ms
        )
    }
}

/// What a client does while its query runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behaviour {
    Waits,
    Cancels(Duration),
    Vanishes(Duration),
}

/// Asks until `left` queries, of all clients, are asked. Clients with the same `themes` have the same forms at a time.
pub(super) async fn ask(
    history: Arc<History>,
    seed: u64,
    themes: u64,
    left: Arc<AtomicU64>,
    observations: mpsc::Sender<Observation>,
) -> Result<(), BenchError> {
    let mut random = SeededRandom::new(seed);
    let mut asker = Asker::connect(history, &mut random, observations).await?;
    let mut burst = 0;
    while let Ok(left) = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) {
        if burst == 0 {
            burst = 1 + random.below(8);
            asker.wait_for_burst().await;
        }
        burst -= 1;
        let of_now = themes.wrapping_add(left / QUERIES_OF_THEMES * THEMES + random.below(THEMES));
        let theme = (random.below(100) < THEME_PERCENT).then_some(of_now);
        let statement = asker.history.statements.next(&mut random, theme);
        let interrupt = Duration::from_millis(random.below(INTERRUPT_AFTER_MS_MAX));
        let pause = Duration::from_millis(random.below(PAUSE_MS_MAX));
        let (behaviour, reading) = match random.below(100) {
            0..4 => (Behaviour::Cancels(interrupt), Reading::Fast),
            4 => (Behaviour::Vanishes(interrupt), Reading::Fast),
            5..8 => (Behaviour::Waits, Reading::Portal(pause / 10)),
            8..12 => (Behaviour::Waits, Reading::Paused(pause)),
            _ => (Behaviour::Waits, Reading::Fast),
        };
        if !asker.ask(statement, behaviour, reading).await? {
            asker = Asker::connect(asker.history, &mut random, asker.observations).await?;
        }
    }
    Ok(())
}

struct Asker {
    history: Arc<History>,
    session: WireSession,
    settings: Settings,
    /// Whether the query before was cancelled: the request may arrive late, and end this one.
    has_cancelled: bool,
    observations: mpsc::Sender<Observation>,
}

impl Asker {
    async fn connect(
        history: Arc<History>,
        random: &mut SeededRandom,
        observations: mpsc::Sender<Observation>,
    ) -> Result<Self, BenchError> {
        let settings = Settings::random(random);
        let session = WireSession::connect(history.address, &settings.to_string()).await?;
        Ok(Self { history, session, settings, has_cancelled: false, observations })
    }

    /// Waits for the next burst of all clients. If many answers are unchecked, that is when few are left, so that checks and bursts
    /// take turns.
    async fn wait_for_burst(&self) {
        let checks = &self.observations;
        let is_congested = checks.capacity() < checks.max_capacity() / 2;
        loop {
            let period = u128::from(BURST_PERIOD_MS);
            let past_ms = self.history.started.elapsed().as_millis() % period;
            tokio::time::sleep(Duration::from_millis((period - past_ms) as u64)).await;
            if !is_congested || checks.capacity() > checks.max_capacity() / 8 * 7 {
                return;
            }
        }
    }

    /// Asks, and hands the answer over. Returns whether the connection is still there.
    async fn ask(&mut self, statement: Statement, behaviour: Behaviour, reading: Reading) -> Result<bool, BenchError> {
        let oldest_version = self.history.versions.lock().sent();
        let found = self.outcome(&statement, behaviour, reading).await?;
        let may_be_cancelled = self.has_cancelled || self.settings.timeout_ms > 0 || is_cancel(behaviour);
        self.has_cancelled = is_cancel(behaviour);
        let tally = &self.history.tally;
        let found = match found {
            None => {
                tally.left.add(1);
                self.history.versions.lock().checked(oldest_version);
                return Ok(false);
            }
            Some(Outcome::Failed { sqlstate, .. }) if sqlstate == "57014" && may_be_cancelled => {
                tally.cancelled.add(1);
                self.history.versions.lock().checked(oldest_version);
                return Ok(true);
            }
            Some(Outcome::Failed { sqlstate, .. }) if sqlstate == "53000" && self.settings.limit_ms > 0 => {
                tally.refused.add(1);
                self.history.versions.lock().checked(oldest_version);
                return Ok(true);
            }
            Some(found) => self.history.planted(found),
        };
        let versions = self.history.versions.lock().answered(oldest_version);
        let observation = Observation {
            is_prepared: statement.parameters.is_some() || reading != Reading::Fast,
            circumstances: format!("{}; {behaviour:?}, {reading:?}", self.settings),
            statement,
            found,
            versions,
            oldest_version,
        };
        let sent = self.observations.send(observation).await;
        sent.map_err(|_| BenchError::other("checking answers", "the checkers have stopped"))?;
        Ok(true)
    }

    /// What came back; nothing if this client vanished before.
    async fn outcome(
        &mut self,
        statement: &Statement,
        behaviour: Behaviour,
        reading: Reading,
    ) -> Result<Option<Outcome>, BenchError> {
        let hangs = || {
            let seconds = ANSWER_AFTER_MAX.as_secs();
            BenchError::other(statement.text.clone(), format!("no answer after {seconds} s"))
        };
        let canceller = self.session.canceller();
        let asking = tokio::time::timeout(ANSWER_AFTER_MAX, self.session.ask(statement, reading));
        match behaviour {
            Behaviour::Waits => asking.await.map_err(|_| hangs())?.map(Some),
            Behaviour::Cancels(after) => {
                let cancelling = async {
                    tokio::time::sleep(after).await;
                    canceller.cancel().await
                };
                let (asked, cancelled) = tokio::join!(asking, cancelling);
                cancelled?;
                asked.map_err(|_| hangs())?.map(Some)
            }
            Behaviour::Vanishes(after) => tokio::select! {
                asked = asking => asked.map_err(|_| hangs())?.map(Some),
                () = tokio::time::sleep(after) => Ok(None),
            },
        }
    }
}

fn is_cancel(behaviour: Behaviour) -> bool {
    matches!(behaviour, Behaviour::Cancels(_))
}
