//! One pass for queries of several templates: each dimension is built once, the fact table is scanned once, each row is joined
//! once with each dimension, and the pass forks by template.

use std::sync::Arc;
use std::time::Instant;

use braid_exec::runtime::pipeline::Sink;
use braid_exec::runtime::result_rows::ResultRows;
use braid_exec::runtime::stop::Stop;
use braid_exec::{Batch, ExecError, PredicateIndex, QueryNumber, RowClass, SetStore};
use braid_storage::ColumnPredicate;
use tokio::task::{JoinError, JoinHandle};

use super::branch_sink::{BranchPlan, BranchSink};
use super::dimension::DimensionSpec;
use super::fact_steps::{FactCondition, FactPlan, FactSteps};
use super::pass_runtime::{PassRuntime, failed};
use super::query_layout::{Branch, Placement, QueryLayout};
use super::row_words::ClassWords;
use super::star_sources::StarSources;
use super::star_template::{DimensionTable, StarTemplate};
use crate::BenchError;
use crate::workloads::star::StarQuery;

/// The fact table.
pub const FACT_TABLE: &str = "star_lineorder";

/// The seconds of a pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct PassSeconds {
    /// Scanning and building the dimensions.
    pub dimensions: f64,
    /// Scanning the fact table, with joins, fork and groups.
    pub fact: f64,
    /// Merging, sorting and routing groups.
    pub ends: f64,
}

impl PassSeconds {
    /// All of it.
    pub fn total(&self) -> f64 {
        self.dimensions + self.fact + self.ends
    }
}

/// The result of a pass.
pub struct MergedRows {
    /// The rows of each distinct query.
    pub by_query: Vec<ResultRows>,
    /// The distinct sets of all branches.
    pub set_count: usize,
    /// The time that it took.
    pub seconds: PassSeconds,
}

/// A pass whose dimensions are built.
pub struct MergedPass {
    /// The part that all templates share.
    pub fact: Arc<FactPlan>,
    branches: Vec<Arc<BranchPlan>>,
    fact_columns: Vec<&'static str>,
    runtime: PassRuntime,
}

impl MergedPass {
    /// Runs a pass of distinct queries, which ascend by type.
    ///
    /// # Errors
    /// When a part of it fails, or keys of a dimension repeat.
    pub async fn run(
        sources: &StarSources,
        queries: &[StarQuery],
        placement: Placement,
    ) -> Result<MergedRows, BenchError> {
        let start = Instant::now();
        let pass = Self::build(sources, queries, placement).await?;
        let built = Instant::now();
        let workers = pass.scan(sources).await?;
        let scanned = Instant::now();
        let by_query = pass.finish(workers, queries.len()).await?;
        let seconds = PassSeconds {
            dimensions: (built - start).as_secs_f64(),
            fact: (scanned - built).as_secs_f64(),
            ends: scanned.elapsed().as_secs_f64(),
        };
        let set_count = pass.branches.iter().map(|branch| branch.store.set_count()).sum();
        Ok(MergedRows { by_query, set_count, seconds })
    }

    /// Builds the dimensions.
    ///
    /// # Errors
    /// When keys of a dimension repeat, or a scan fails.
    pub async fn build(sources: &StarSources, queries: &[StarQuery], placement: Placement) -> Result<Self, BenchError> {
        let runtime = PassRuntime::new();
        let planner = Planner { layout: QueryLayout::new(queries, placement), queries };
        let specs = DimensionTable::ALL.into_iter().filter_map(|table| planner.dimension(table));
        let mut building = Vec::new();
        for spec in specs {
            let scan = sources.scan(spec.table.name(), &spec.columns);
            let (fact_key, columns) = (spec.table.keys().1, spec.columns.clone());
            building.push((fact_key, columns, tokio::spawn(spec.build(scan, runtime.clone()))));
        }
        let mut fact_columns = planner.fact_columns();
        let (mut dimensions, mut columns_of) = (Vec::new(), Vec::new());
        for (fact_key, columns, dimension) in building {
            dimensions.push((place_of(&mut fact_columns, fact_key), dimension.await.map_err(of_task)??));
            columns_of.push(columns);
        }
        let conditions = planner.fact_conditions(&mut fact_columns);
        let fact = Arc::new(FactPlan { used: planner.layout.used.clone(), conditions, dimensions });
        let branch = |branch: &Branch| {
            let template = StarTemplate::of_type(branch.number);
            let measure = template.measure.columns().into_iter();
            let measure_columns = measure.map(|column| place_of(&mut fact_columns, column)).collect();
            let key = |(table, column): &(DimensionTable, &'static str)| {
                let at = fact.dimensions.iter().position(|(_, dimension)| dimension.table == *table);
                let at = at.expect("a template joins the dimensions of its keys");
                (at, columns_of[at].iter().position(|known| known == column).expect("keys are kept"))
            };
            let key_columns = template.keys.iter().map(key).collect();
            let store = SetStore::new(branch.queries.len(), runtime.budget.clone())?;
            Ok(Arc::new(BranchPlan::new(branch.clone(), template, store, measure_columns, key_columns)))
        };
        let branches = planner.layout.branches.iter().map(branch).collect::<Result<_, _>>().map_err(failed)?;
        Ok(Self { fact, branches, fact_columns, runtime })
    }

    /// Runs the scan of the fact table into a sink of each worker.
    ///
    /// # Errors
    /// When the scan or a sink fails.
    pub async fn scan_into<S: Sink>(
        &self,
        sources: &StarSources,
        make_sink: impl Fn() -> S + Send,
    ) -> Result<Vec<S>, BenchError> {
        let scan = sources.scan(FACT_TABLE, &self.fact_columns);
        self.runtime.executor().run(&scan, make_sink).await.map_err(failed)
    }

    async fn scan(&self, sources: &StarSources) -> Result<Vec<FactSink>, BenchError> {
        let sink = || FactSink {
            fact: self.fact.clone(),
            steps: FactSteps::new(self.fact.clone()),
            branches: self.branches.iter().map(|branch| BranchSink::new(branch.clone(), &self.runtime)).collect(),
        };
        self.scan_into(sources, sink).await
    }

    /// The rows of each query. The branches end in parallel.
    async fn finish(&self, workers: Vec<FactSink>, query_count: usize) -> Result<Vec<ResultRows>, BenchError> {
        let mut by_branch: Vec<Vec<_>> = self.branches.iter().map(|_| Vec::with_capacity(workers.len())).collect();
        for worker in workers {
            for (groups, sink) in by_branch.iter_mut().zip(worker.branches) {
                groups.push(sink.into_groups(&self.fact).map_err(failed)?);
            }
        }
        let ending: Vec<JoinHandle<Result<Vec<ResultRows>, ExecError>>> = (self.branches.iter().zip(by_branch))
            .map(|(branch, workers)| {
                let (branch, runtime) = (branch.clone(), self.runtime.clone());
                tokio::spawn(async move { branch.finish(workers, &runtime).await })
            })
            .collect();
        let mut by_query: Vec<Option<ResultRows>> = (0..query_count).map(|_| None).collect();
        for (branch, ended) in self.branches.iter().zip(ending) {
            let rows = ended.await.map_err(of_task)?.map_err(failed)?;
            branch.branch.queries.iter().zip(rows).for_each(|(query, rows)| by_query[*query] = Some(rows));
        }
        Ok(by_query.into_iter().map(|rows| rows.expect("each query is in a branch")).collect())
    }
}

fn of_task(error: JoinError) -> BenchError {
    BenchError::other("running a part of a merged pass", error)
}

/// The position of a column, which is appended if it is missing.
fn place_of(columns: &mut Vec<&'static str>, column: &'static str) -> usize {
    columns.iter().position(|known| *known == column).unwrap_or_else(|| {
        columns.push(column);
        columns.len() - 1
    })
}

/// One worker of the scan of the fact table.
struct FactSink {
    fact: Arc<FactPlan>,
    steps: FactSteps,
    branches: Vec<BranchSink>,
}

impl Sink for FactSink {
    fn consume(&mut self, mut batch: Batch) -> Result<(), Stop> {
        self.steps.begin(&mut batch)?;
        for at in 0..self.fact.dimensions.len() {
            self.steps.join(at, &mut batch)?;
            if batch.row_count() == 0 {
                return Ok(());
            }
        }
        for branch in &mut self.branches {
            branch.add(&self.fact, self.steps.words().column(branch.word()), &mut batch)?;
        }
        Ok(())
    }
}

/// The queries of a pass and their bits.
struct Planner<'a> {
    layout: QueryLayout,
    queries: &'a [StarQuery],
}

impl Planner<'_> {
    /// The specification of a dimension; `None` if no query joins it.
    fn dimension(&self, table: DimensionTable) -> Option<DimensionSpec> {
        let joins = |branch: &&Branch| StarTemplate::of_type(branch.number).dimensions.contains(&table);
        let mut others = self.layout.used.clone();
        let joining: Vec<&Branch> = self.layout.branches.iter().filter(joins).collect();
        joining.iter().for_each(|branch| others[branch.word] &= !branch.mask());
        if joining.is_empty() {
            return None;
        }
        let mut columns = vec![table.keys().0];
        for branch in joining {
            let keys = StarTemplate::of_type(branch.number).keys;
            keys.iter().filter(|(of, _)| *of == table).for_each(|(_, column)| {
                place_of(&mut columns, column);
            });
        }
        let kept_count = columns.len();
        let conditions = self.indexes(table.prefix()).into_iter();
        let conditions = conditions.map(|(column, index)| (place_of(&mut columns, column), index)).collect();
        Some(DimensionSpec { table, columns, kept_count, conditions, used: self.layout.used.clone(), others })
    }

    /// The columns of the fact table, those that all rows need first.
    fn fact_columns(&self) -> Vec<&'static str> {
        self.indexes("lo_").into_iter().map(|(column, _)| column).collect()
    }

    fn fact_conditions(&self, columns: &mut Vec<&'static str>) -> Vec<FactCondition> {
        let condition = |(column, index): (&'static str, Arc<PredicateIndex>)| {
            let sets = index.sets();
            let bits = |class: usize, word: usize| sets.bitmap(RowClass(class as u32)).words()[word];
            let words = ClassWords::new(&self.layout.used, sets.class_count(), bits);
            FactCondition { column: place_of(columns, column), words, index }
        };
        self.indexes("lo_").into_iter().map(condition).collect()
    }

    /// The indexes over the conditions on a table's columns, whose names have this prefix.
    fn indexes(&self, prefix: &str) -> Vec<(&'static str, Arc<PredicateIndex>)> {
        let mut columns: Vec<&'static str> = Vec::new();
        let conditions = self.queries.iter().flat_map(|query| &query.conditions);
        conditions.filter(|condition| condition.column.starts_with(prefix)).for_each(|condition| {
            place_of(&mut columns, condition.column);
        });
        let index = |column: &'static str| {
            let predicates: Vec<(QueryNumber, ColumnPredicate)> = (self.layout.bits())
                .flat_map(|(query, bit)| {
                    let own = self.queries[query].conditions.iter().filter(|condition| condition.column == column);
                    own.map(move |condition| (bit, condition.predicate()))
                })
                .collect();
            let index = PredicateIndex::new(self.layout.bit_count(), &predicates);
            (column, Arc::new(index.expect("no constant is an interval")))
        };
        columns.into_iter().map(index).collect()
    }
}
