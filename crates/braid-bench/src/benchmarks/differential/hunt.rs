//! Runs cases in batches, counts the outcomes, and reduces different cases to their smallest form.

use std::fmt;
use std::sync::Arc;

use braid_engine::Database;

use super::comparison::compare;
use super::engines::{Braid, PeerEngine, Reply};
use crate::BenchError;
use crate::workloads::answer::RowOrder;
use crate::workloads::random_sql::generator::Generator;
use crate::workloads::random_sql::query::Query;
use crate::workloads::random_sql::schema::{Table, tables};

/// Cases per set of tables.
pub const CASES_OF_TABLES: u64 = 500;

/// Cases per message to the peer.
const BATCH: u64 = 100;

/// Maximum number of queries to reduce a case.
const SHRINKING_STEPS_MAX: usize = 1500;

/// Counts of outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All cases.
    pub cases: u64,
    /// The answers agree.
    pub agreed: u64,
    /// Rows in answers that agreed.
    pub rows: u64,
    /// Braid refused the query.
    pub refused: u64,
    /// Both failed.
    pub both_failed: u64,
    /// Only the other engine failed.
    pub peer_failed: u64,
    /// The answers differ, or only Braid failed.
    pub differed: u64,
}

/// The outcome of a case.
enum Verdict {
    Agreed(usize),
    Refused,
    BothFailed,
    PeerFailed,
    Differed(String),
}

/// A case that differs, in its smallest form.
pub struct Finding {
    /// The seed of its tables.
    pub seed: u64,
    /// Its number among the cases on them, from 0.
    pub number: u64,
    query: String,
    smallest: Query,
    tables: Vec<Table>,
    difference: String,
    /// Whether Braid on other plans agrees.
    diagnosis: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "-- {} ({})", self.difference, self.diagnosis)?;
        writeln!(f, "-- braid bench differential --seed {} --cases {}", self.seed, self.number + 1)?;
        writeln!(f, "-- {}", self.query)?;
        self.tables.iter().try_for_each(|table| write!(f, "{table}"))?;
        writeln!(f, "{};", self.smallest)
    }
}

/// Braid, Braid on other plans, and a peer on the same tables.
pub struct Hunt {
    braid: Braid,
    other_plans: Braid,
    peer: PeerEngine,
}

impl Hunt {
    /// Of `peer`.
    pub async fn new(database: &Arc<Database>, peer: PeerEngine) -> Result<Self, BenchError> {
        let (braid, other_plans) = (Braid::new(database).await?, Braid::on_other_plans(database).await?);
        Ok(Self { braid, other_plans, peer })
    }

    /// Runs the first `count` cases of a seed's tables, and reports each difference.
    pub async fn run(
        &mut self,
        seed: u64,
        count: u64,
        tally: &mut Tally,
        tell: &mut (dyn FnMut(Finding) + Send),
    ) -> Result<(), BenchError> {
        let tables = tables(seed);
        self.load(&tables).await?;
        for first in (0..count).step_by(BATCH as usize) {
            let numbers = first..(first + BATCH).min(count);
            let queries: Vec<Query> = numbers.clone().map(|number| query(seed, number, &tables)).collect();
            for (number, (query, verdict)) in numbers.zip(queries.iter().zip(self.judge(&queries).await?)) {
                tally.add(&verdict);
                if let Verdict::Differed(difference) = verdict {
                    let finding = self.finding(seed, number, query, &tables, difference).await?;
                    tell(finding);
                }
            }
        }
        Ok(())
    }

    async fn load(&mut self, tables: &[Table]) -> Result<(), BenchError> {
        self.braid.load(tables).await?;
        self.peer.load(tables).await
    }

    /// The outcome of each query. Both engines run at the same time.
    async fn judge(&mut self, queries: &[Query]) -> Result<Vec<Verdict>, BenchError> {
        let texts: Vec<String> = queries.iter().map(Query::to_string).collect();
        let (braid, peer) = (&mut self.braid, &mut self.peer);
        let of_braid = async {
            let mut replies = Vec::with_capacity(texts.len());
            for text in &texts {
                replies.push(braid.ask(text).await);
            }
            replies
        };
        let (found, expected) = futures::join!(of_braid, peer.ask(texts.clone()));
        let pairs = expected?.into_iter().zip(found);
        Ok(queries.iter().zip(pairs).map(|(query, (expected, found))| verdict(query, expected, found)).collect())
    }

    async fn finding(
        &mut self,
        seed: u64,
        number: u64,
        query: &Query,
        tables: &[Table],
        difference: String,
    ) -> Result<Finding, BenchError> {
        let diagnosis = self.diagnosis(query).await?;
        let mut finding = Finding {
            seed,
            number,
            query: query.to_string(),
            smallest: query.clone(),
            tables: tables.to_vec(),
            difference,
            diagnosis,
        };
        let mut steps = SHRINKING_STEPS_MAX;
        self.shrink_query(&mut finding, &mut steps).await?;
        let text = finding.smallest.to_string();
        finding.tables.retain(|table| text.contains(&format!("{} as ", table.name)));
        self.shrink_tables(&mut finding, &mut steps).await?;
        self.load(tables).await?;
        Ok(finding)
    }

    async fn diagnosis(&mut self, query: &Query) -> Result<&'static str, BenchError> {
        if matches!(self.peer, PeerEngine::OtherPlans(_)) {
            return Ok("beside other plans");
        }
        let text = query.to_string();
        let found = self.other_plans.ask(&text).await;
        let expected = self.peer.ask(vec![text]).await?.remove(0);
        Ok(match verdict(query, expected, found) {
            Verdict::Agreed(_) => "other plans agree with the peer",
            _ => "other plans differ from the peer as well",
        })
    }

    /// The current difference of a query's answers, if any.
    async fn difference(&mut self, query: &Query, steps: &mut usize) -> Result<Option<String>, BenchError> {
        *steps = steps.saturating_sub(1);
        Ok(match self.judge(std::slice::from_ref(query)).await?.remove(0) {
            Verdict::Differed(difference) => Some(difference),
            _ => None,
        })
    }

    async fn shrink_query(&mut self, finding: &mut Finding, steps: &mut usize) -> Result<(), BenchError> {
        let mut is_smaller = true;
        while is_smaller {
            is_smaller = false;
            for form in finding.smallest.smaller() {
                if *steps == 0 {
                    return Ok(());
                }
                if let Some(difference) = self.difference(&form, steps).await? {
                    (finding.smallest, finding.difference, is_smaller) = (form, difference, true);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Removes halves of each table's rows, then smaller parts, down to single rows.
    async fn shrink_tables(&mut self, finding: &mut Finding, steps: &mut usize) -> Result<(), BenchError> {
        for at in 0..finding.tables.len() {
            let mut parts = 2;
            while *steps > 0 && !finding.tables[at].rows.is_empty() {
                let kept = self.smaller_table(finding, at, parts, steps).await?;
                let row_count = finding.tables[at].rows.len();
                if !kept && parts >= row_count {
                    break;
                }
                parts = if kept { parts.max(2) } else { (parts * 2).min(row_count.max(2)) };
            }
            // Restores the tables of the smallest case so far.
            self.load(&finding.tables[at..=at]).await?;
        }
        Ok(())
    }

    async fn smaller_table(
        &mut self,
        finding: &mut Finding,
        at: usize,
        parts: usize,
        steps: &mut usize,
    ) -> Result<bool, BenchError> {
        for table in finding.tables[at].smaller(parts) {
            if *steps == 0 {
                break;
            }
            self.load(std::slice::from_ref(&table)).await?;
            if let Some(difference) = self.difference(&finding.smallest.clone(), steps).await? {
                (finding.tables[at], finding.difference) = (table, difference);
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Tally {
    fn add(&mut self, verdict: &Verdict) {
        self.cases += 1;
        match verdict {
            Verdict::Agreed(rows) => {
                self.agreed += 1;
                self.rows += *rows as u64;
            }
            Verdict::Refused => self.refused += 1,
            Verdict::BothFailed => self.both_failed += 1,
            Verdict::PeerFailed => self.peer_failed += 1,
            Verdict::Differed(_) => self.differed += 1,
        }
    }
}

/// A case's query.
fn query(seed: u64, number: u64, tables: &[Table]) -> Query {
    // Any two seeds are as good as far ones; those of tables are left alone.
    Generator::new(seed.wrapping_mul(0x0100_0000_01B3).wrapping_add(number + 1), tables).case()
}

fn verdict(query: &Query, expected: Reply, found: Reply) -> Verdict {
    let order = if query.order_by.is_empty() { RowOrder::Free } else { RowOrder::Kept };
    match (expected, found) {
        (_, Reply::Refused) => Verdict::Refused,
        (Reply::Rows(expected), Reply::Rows(found)) => match compare(&expected, &found, order) {
            Ok(()) => Verdict::Agreed(found.rows.len()),
            Err(difference) => Verdict::Differed(difference.to_string()),
        },
        (Reply::Rows(_), Reply::Failed(message)) => Verdict::Differed(format!("Braid fails: {message}")),
        (Reply::Failed(_) | Reply::Refused, Reply::Rows(_)) => Verdict::PeerFailed,
        (_, Reply::Failed(_)) => Verdict::BothFailed,
    }
}
