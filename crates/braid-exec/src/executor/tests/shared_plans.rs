//! Random plans with parameters for random queries. One pass must give each query the answer of the query alone.

use super::memory_tables::Kind;
use super::*;
use crate::{ParameterRow, SharedPlan};

/// A plan with parameters, and the parameter row of each query.
pub struct SharedCase {
    pub case: Case,
    pub parameters: Vec<ParameterRow>,
}

impl SharedCase {
    pub fn new(seed: u64) -> Self {
        Self::of(Generator::new(seed))
    }

    /// A plan with common tables.
    pub fn with_tables(seed: u64) -> Self {
        let mut generator = Generator::new(seed);
        generator.nest_tables();
        Self::of(generator)
    }

    /// A plan with recursions.
    pub fn with_recursions(seed: u64) -> Self {
        let mut generator = Generator::new(seed);
        generator.recur();
        Self::of(generator)
    }

    fn of(mut generator: Generator) -> Self {
        let kinds = generator.take_parameters();
        let depth = 1 + generator.random.below(5).min(generator.random.below(6)) as usize;
        let (plan, _) = generator.plan(depth);
        Self::with_plan(generator, plan, &kinds)
    }

    /// A plan with parameters of these kinds, and random queries.
    pub fn with_plan(mut generator: Generator, plan: Plan, kinds: &[Kind]) -> Self {
        let query_count = [1, 2, 3, 5, 9, 70][generator.random.below(6) as usize];
        let mut parameters: Vec<ParameterRow> = (0..query_count).map(|_| generator.parameter_row(kinds)).collect();
        for parameter in 0..kinds.len() {
            // Many queries rarely agree on a value by chance.
            if generator.random.chance(1, 4) {
                let common = parameters[0][parameter].clone();
                parameters.iter_mut().for_each(|row| row[parameter] = common.clone());
            }
        }
        Self { case: Case { plan, tables: generator.tables, random: generator.random }, parameters }
    }

    /// The answer of each query alone; `None` if it has no defined answer.
    pub fn expected(&self) -> Option<Vec<Result<Answer, NoAnswer>>> {
        let mut known: Vec<(String, Result<Answer, NoAnswer>)> = Vec::new();
        let mut answers = Vec::new();
        for row in &self.parameters {
            let key = format!("{row:?}");
            let answer = match known.iter().find(|(other, _)| *other == key) {
                Some((_, answer)) => answer.clone(),
                None => {
                    let definition =
                        Definition { tables: &self.case.tables, parameters: row, subquery_values: Vec::new() };
                    let answer = definition.answer(&self.case.plan);
                    known.push((key, answer.clone()));
                    answer
                }
            };
            if let Err(NoAnswer::Undefined) = answer {
                return None;
            }
            answers.push(answer);
        }
        Some(answers)
    }

    async fn run(&self, worker_count: usize, budget: &Arc<FixedBudget>) -> Result<Vec<Vec<Row>>, ExecError> {
        self.run_with(worker_count, budget, None).await
    }

    /// Runs the pass, and spills if there is a space for temporary files.
    pub async fn run_with(
        &self,
        worker_count: usize,
        budget: &Arc<FixedBudget>,
        space: Option<&Arc<SpillSpace>>,
    ) -> Result<Vec<Vec<Row>>, ExecError> {
        let shared = SharedPlan::new(&self.case.plan, &self.parameters, budget.clone())?;
        let mut executor = Executor::new(worker_count, budget.clone()).with_tuning(Tuning::small());
        if let Some(space) = space {
            executor = executor.with_spill_space(space.clone());
        }
        let run = tokio::time::timeout(PATIENCE, executor.run_shared(&shared, |_| Collected::default()));
        let found = run.await.expect("it ends")?;
        assert_eq!(found.len(), self.parameters.len(), "each query has its rows");
        Ok(found.into_iter().map(|sinks| sinks.into_iter().flat_map(|sink| sink.0).collect()).collect())
    }

    /// Runs the pass and compares. Returns whether an answer was compared.
    pub async fn check(mut self) -> bool {
        let Some(expected) = self.expected() else { return false };
        for worker_count in [1, 3] {
            let budget = FixedBudget::new(PLENTY);
            match self.run(worker_count, &budget).await {
                Ok(found) => self.assert_answers(found, &expected),
                Err(ExecError::SeveralRows) if expected.iter().all(|answer| answer.is_err()) => {}
                Err(error) => panic!("{error}, wanted {expected:?}"),
            }
            assert_given_back(&budget).await;
        }
        if self.case.random.chance(1, 3) {
            let budget = FixedBudget::new(ByteSize(1 << self.case.random.below(20)));
            match self.run(2, &budget).await {
                Err(ExecError::Memory(_)) => {}
                Ok(found) => self.assert_answers(found, &expected),
                Err(ExecError::SeveralRows) if expected.iter().all(|answer| answer.is_err()) => {}
                Err(error) => panic!("{error}, wanted {expected:?}"),
            }
            assert_given_back(&budget).await;
        }
        true
    }

    pub fn assert_answers(&self, found: Vec<Vec<Row>>, expected: &[Result<Answer, NoAnswer>]) {
        for (query, (found, expected)) in found.into_iter().zip(expected).enumerate() {
            let outcome =
                std::panic::catch_unwind(|| assert_answers(found, expected.as_ref().expect("it does not fail")));
            if let Err(panic) = outcome {
                eprintln!("query {query} with {:?}", self.parameters[query]);
                std::panic::resume_unwind(panic);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_query_of_a_pass_gets_what_it_gets_alone() {
    let cases = cases!(0..3_000);
    let (is_replay, repeats, count) = (cases.is_replay(), cases.repeats(), cases.size_hint().0);
    let mut compared = 0;
    for case in cases {
        for _ in 0..repeats {
            compared += usize::from(SharedCase::new(case.seed).check().await);
        }
    }
    println!("{compared} of {count} shared plans were compared");
    let most = is_replay || compared * 2 > count;
    assert!(most, "only {compared} of {count} plans have one answer for each query");
}
