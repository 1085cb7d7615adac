//! `star-merged`: an experiment. One pass for queries of all thirteen types of the star schema, beside one pass for each type.
//!
//! The merged pass is written by hand with the engine's scans, groups, sorts and routing (`merged_pass`). It scans the fact table
//! once, builds and probes each dimension once, and forks by template (CJOIN: Candea, Polyzotis, Vingralek, VLDB 2009). Between
//! scan and fork, a row carries its queries as bits of words, not as the number of an interned set, because few rows have equal
//! sets when many templates meet (`set_counts`). Set numbers are interned within a branch.
//!
//! | module | contents |
//! |---|---|
//! | `star_template` | what the types have above their joins |
//! | `star_sources` | scans of the tables |
//! | `query_layout` | the bits of queries in words: a word for each template, or words that templates share |
//! | `pass_runtime` | workers and memory |
//! | `row_words` | the words of a batch's rows |
//! | `dimension` | a dimension, with the query set of each of its keys |
//! | `fact_steps` | the shared part: conditions on the fact table, joins |
//! | `branch_sink` | a branch after the fork |
//! | `merged_pass` | the pass |
//! | `template_passes` | the passes by template |
//! | `set_counts` | the sets that interning across templates would make |
//!
//! All forms answer the same distinct queries, take turns, and must give the same rows. Plans and parameters are made before the
//! time starts; the merged pass builds its dimensions and predicate indexes within it.

mod branch_sink;
mod dimension;
mod fact_steps;
mod merged_pass;
mod pass_runtime;
mod query_layout;
mod row_words;
mod set_counts;
mod star_sources;
mod star_template;
mod template_passes;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_base::{Random, SeededRandom};
use braid_engine::Database;
use braid_exec::runtime::result_rows::ResultRows;

use self::merged_pass::{MergedPass, PassSeconds};
use self::query_layout::Placement;
use self::set_counts::SetCounts;
use self::star_sources::StarSources;
use self::template_passes::{TemplatePasses, TemplateRows};
use crate::benchmarks::benchmark::BenchResult;
use crate::benchmarks::data_directory::{ensure_added_tables, open_tpch};
use crate::drivers::client::{Client, SessionClient};
use crate::report::summary::median;
use crate::report::{Figure, Goal, number, plain_table, right};
use crate::workloads::answer::RowOrder;
use crate::workloads::star::{STAR_TYPES, Star, StarQuery};
use crate::workloads::workload::Workload;
use crate::{BenchError, BenchOptions};

/// Numbers of queries in a pass.
const QUERY_COUNTS: [usize; 3] = [12, 64, 256];

/// Maximum number of runs of each form; their median counts. Fewer if they exceed the time for a measurement.
const RUNS_MAX: usize = 9;

/// The forms of the merged pass.
const PLACEMENTS: [(Placement, &str); 2] =
    [(Placement::OwnWords, "a word for each template"), (Placement::SharedWords, "shared words")];

/// Seconds of a merged pass of 64 queries at scale 1 on 2 cores up to which such passes are worth their machinery.
const GOAL_S: f64 = 0.14;

/// The number of queries of the goal.
const GOAL_QUERIES: usize = 64;

/// Runs it.
pub async fn run(options: &BenchOptions) -> BenchResult {
    let database = open_tpch(options, None).await?;
    ensure_added_tables(&database, Star.added_tables()).await?;
    let sources = StarSources::new(&database);
    let header =
        ["queries", "distinct", "templates", "passes by template s", "own words s", "shared words s", "queries/s"];
    let mut times = plain_table(&header);
    let mut parts = plain_table(&["queries", "words", "branches' sets", "dimensions s", "fact s", "ends s"]);
    let mut sets = plain_table(&["queries", "rows wanted %", "sets at fork", "at any step", "per 1000 rows"]);
    let mut figures = Vec::new();
    for count in QUERY_COUNTS {
        let queries = random_queries(count, options.seed);
        let measured = Measured::of(options, &database, &sources, &queries).await?;
        let counts = SetCounts::of(&sources, &queries).await?;
        let best_s = measured.merged.iter().map(|form| form.total_s).fold(f64::INFINITY, f64::min);
        times.add_row([
            right(count.to_string()),
            right(queries.len().to_string()),
            right(measured.template_count.to_string()),
            right(number(measured.templates_s)),
            right(number(measured.merged[0].total_s)),
            right(number(measured.merged[1].total_s)),
            right(number(count as f64 / best_s)),
        ]);
        for ((_, name), form) in PLACEMENTS.iter().zip(&measured.merged) {
            parts.add_row([
                right(count.to_string()),
                right(name),
                right(form.set_count.to_string()),
                right(number(form.parts.dimensions)),
                right(number(form.parts.fact)),
                right(number(form.parts.ends)),
            ]);
            let figure = Figure::new(format!("merged pass of {count}, {name}"), form.total_s, "s");
            // The goal applies to scale 1.
            let has_goal = count == GOAL_QUERIES && options.scale >= 1.0;
            figures.push(if has_goal { figure.with_goal(Goal::AtMost(GOAL_S)) } else { figure });
        }
        sets.add_row([
            right(count.to_string()),
            right(number(counts.wanted_rows as f64 * 1e2 / counts.fact_rows as f64)),
            right(counts.at_fork.to_string()),
            right(counts.at_any_step.to_string()),
            right(number(counts.per_thousand_rows())),
        ]);
        figures.push(Figure::new(format!("passes by template of {count}"), measured.templates_s, "s"));
        figures.push(Figure::new(
            format!("passes by template / merged pass of {count}"),
            measured.templates_s / best_s,
            "",
        ));
        figures.push(Figure::new(format!("sets across templates of {count}"), counts.at_fork as f64, ""));
    }
    println!("queries of random types: one pass for each template one after the other, and one merged pass\n{times}");
    println!("parts of the merged pass, medians of each\n{parts}");
    println!("distinct sets if they were interned across templates\n{sets}");
    Ok(figures)
}

/// Distinct queries of random types with random constants, ascending by type. Equal queries are one.
fn random_queries(count: usize, seed: u64) -> Vec<StarQuery> {
    let mut random = SeededRandom::new(seed);
    let mut query = || {
        let number = random.below(STAR_TYPES as u64) as usize;
        StarQuery::random(number, &mut random)
    };
    let queries: BTreeSet<StarQuery> = (0..count).map(|_| query()).collect();
    queries.into_iter().collect()
}

/// The medians of all forms.
struct Measured {
    template_count: usize,
    templates_s: f64,
    /// By [`PLACEMENTS`].
    merged: Vec<Merged>,
}

struct Merged {
    /// The median of whole passes.
    total_s: f64,
    /// The medians of their parts.
    parts: PassSeconds,
    set_count: usize,
}

impl Measured {
    async fn of(
        options: &BenchOptions,
        database: &Arc<Database>,
        sources: &StarSources,
        queries: &[StarQuery],
    ) -> Result<Self, BenchError> {
        let passes = TemplatePasses::new(&database.session("bench"), queries).await?;
        check_texts(database, &passes, queries).await?;
        let mut templates = Vec::new();
        let mut merged: Vec<(Vec<PassSeconds>, usize)> = vec![(Vec::new(), 0); PLACEMENTS.len()];
        for run in 0..=RUNS_MAX {
            let by_template = passes.run().await?;
            let mut run_seconds = vec![by_template.seconds.iter().sum::<f64>()];
            for ((placement, name), (seconds, set_count)) in PLACEMENTS.iter().zip(&mut merged) {
                let pass = MergedPass::run(sources, queries, *placement).await?;
                run_seconds.push(pass.seconds.total());
                // The first run is a warm-up. It is checked.
                if run == 0 {
                    *set_count = pass.set_count;
                    check(&passes, queries, &by_template, &pass.by_query, name)?;
                } else {
                    seconds.push(pass.seconds);
                }
            }
            if run > 0 {
                templates.push(run_seconds[0]);
            }
            if run > 0 && run_seconds.iter().sum::<f64>() * run as f64 > options.seconds {
                break;
            }
        }
        let merged = merged.into_iter().map(|(seconds, set_count)| Merged::of(&seconds, set_count)).collect();
        Ok(Self { template_count: passes.count(), templates_s: median(templates), merged })
    }
}

impl Merged {
    fn of(seconds: &[PassSeconds], set_count: usize) -> Self {
        let of = |part: fn(&PassSeconds) -> f64| median(seconds.iter().map(part).collect());
        let parts = PassSeconds { dimensions: of(|s| s.dimensions), fact: of(|s| s.fact), ends: of(|s| s.ends) };
        Self { total_s: of(PassSeconds::total), parts, set_count }
    }
}

/// Compares the rows of each query with those of the passes by template.
fn check(
    passes: &TemplatePasses,
    queries: &[StarQuery],
    by_template: &TemplateRows,
    merged: &[ResultRows],
    name: &str,
) -> Result<(), BenchError> {
    for (at, query) in queries.iter().enumerate() {
        let (expected, found) = (passes.answer(at, &by_template.by_query[at])?, passes.answer(at, &merged[at])?);
        expected.compare(&found, RowOrder::Kept).map_err(|difference| BenchError::WrongAnswer {
            query: format!("{} in a merged pass with {name}", query.text()),
            difference: difference.to_string(),
        })?;
    }
    Ok(())
}

/// Compares the first query of each type with its text, run alone.
async fn check_texts(
    database: &Arc<Database>,
    passes: &TemplatePasses,
    queries: &[StarQuery],
) -> Result<(), BenchError> {
    let mut client = SessionClient::new(database);
    let rows = passes.run().await?.by_query;
    let mut checked = None;
    for (at, query) in queries.iter().enumerate() {
        if checked.replace(query.number) == Some(query.number) {
            continue;
        }
        let expected = client.answer(&query.text()).await?;
        expected.compare(&passes.answer(at, &rows[at])?, RowOrder::Kept).map_err(|difference| {
            BenchError::WrongAnswer { query: query.text(), difference: difference.to_string() }
        })?;
    }
    Ok(())
}
