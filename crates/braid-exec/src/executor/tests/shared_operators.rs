//! Operators in one pass whose rows depend on other rows of the same query, over and below random plans with parameters: grouping sets,
//! functions that return rows, windows, DISTINCT ON, WITH TIES, foreign aggregates. Each query must have the answer of the query alone, also when
//! operators have almost no memory, and when other queries leave.

mod measurements;

use super::memory_tables::Kind;
use super::random_plans::Typed;
use super::shared_plans::SharedCase;
use super::*;
use crate::plan::{AggregateCall, AggregateFunction, SortKey};

/// An operator of these tests.
#[derive(Clone, Copy, Debug)]
enum Above {
    Expand,
    ProjectSet,
    Window,
    Peers,
    Accumulate,
}

const ALL: [Above; 5] = [Above::Expand, Above::ProjectSet, Above::Window, Above::Peers, Above::Accumulate];

impl Above {
    fn put_on(self, (input, kinds): Typed, generator: &mut Generator) -> Typed {
        match self {
            Self::Expand => expanded(input, kinds, &mut generator.random),
            Self::ProjectSet => repeated(input, kinds, generator),
            Self::Window => windowed(input, kinds, &mut generator.random),
            Self::Peers => (peers::of_peers(input, &mut generator.random), kinds),
            Self::Accumulate => accumulated(input, kinds, &mut generator.random),
        }
    }
}

fn expanded(input: Plan, mut kinds: Vec<Kind>, random: &mut SeededRandom) -> Typed {
    let lists = grouping_sets::lists(random, kinds.len());
    kinds.push(Kind::Int);
    (Plan::Expand { input: input.into(), lists }, kinds)
}

/// The definition of windows takes long for many rows.
fn windowed(input: Plan, mut kinds: Vec<Kind>, random: &mut SeededRandom) -> Typed {
    let limit = if random.chance(1, 5) { 120 } else { 30 };
    let plan = windows::window(first_rows(input, Some(limit), random), &kinds, random);
    let Plan::Window { spec, .. } = &plan else { unreachable!("it is a window") };
    let results: Vec<Kind> = spec.calls.iter().map(|call| windows::kind_of(&call.function, &kinds)).collect();
    kinds.extend(results);
    (plan, kinds)
}

/// Each row a number of times that a condition of the query decides about.
fn repeated(input: Plan, mut kinds: Vec<Kind>, generator: &mut Generator) -> Typed {
    let width = kinds.len();
    let integer = |value: u64| Expression::Constant(Some(Scalar::Int(value as i64)));
    let condition = generator.condition(&kinds, 1);
    let random = &mut generator.random;
    let branches = vec![(condition, integer(random.below(4)))];
    let mut expressions: Vec<Expression> = (0..width).map(Expression::Column).collect();
    expressions.push(Expression::Case { branches, otherwise: Some(integer(random.below(3)).into()) });
    kinds.extend([Kind::Int; 2]);
    let projected = Plan::Project { input: input.into(), expressions };
    (project_sets::numbers(projected, width, 1 + random.below(9) as usize), kinds)
}

/// The values of each group, in the order of the rows or sorted.
fn accumulated(input: Plan, kinds: Vec<Kind>, random: &mut SeededRandom) -> Typed {
    let integers: Vec<usize> = (0..kinds.len()).filter(|column| kinds[*column] == Kind::Int).collect();
    let Some(argument) = integers.first() else { return expanded(input, kinds, random) };
    let is_ordered = random.chance(1, 2);
    let input = if is_ordered { in_total_order(input, random) } else { input };
    let column = |random: &mut SeededRandom| random.below(kinds.len() as u64) as usize;
    let keys: Vec<usize> = (0..random.below(3)).map(|_| column(random)).collect();
    let filter = (0..kinds.len()).find(|column| kinds[*column] == Kind::Bool).filter(|_| random.chance(1, 2));
    let count = AggregateCall { function: AggregateFunction::CountRows, argument: None, distinct: false, filter: None };
    let aggregates = if random.chance(1, 2) { vec![count] } else { Vec::new() };
    let results = keys.iter().map(|key| kinds[*key]).chain(aggregates.iter().map(|_| Kind::Int)).chain([Kind::Text]);
    let (results, spec) = (results.collect(), AggregationSpec { keys, aggregates });
    let calls = vec![accumulations::call(*argument, filter, is_ordered)];
    (accumulations::accumulated(input, spec, calls), results)
}

fn in_total_order(input: Plan, random: &mut SeededRandom) -> Plan {
    first_rows(input, None, random)
}

fn first_rows(input: Plan, limit: Option<usize>, random: &mut SeededRandom) -> Plan {
    let key = |column| SortKey { column, descending: random.chance(1, 2), nulls_first: false };
    let keys = (0..input.column_count()).map(key).collect();
    Plan::Sort { input: input.into(), spec: SortSpec { keys, limit }.into() }
}

fn counted(input: Plan, kinds: &[Kind], random: &mut SeededRandom) -> Typed {
    let count = AggregateCall { function: AggregateFunction::CountRows, argument: None, distinct: false, filter: None };
    let key = random.below(kinds.len() as u64) as usize;
    let spec = AggregationSpec { keys: vec![key], aggregates: vec![count] };
    (Plan::Aggregate { input: input.into(), spec: spec.into() }, vec![kinds[key], Kind::Int])
}

/// A random plan, on it one or two of the operators, and perhaps a condition or groups.
fn case(seed: u64, operators: &[Above]) -> SharedCase {
    let mut generator = Generator::new(seed);
    let parameters = generator.take_parameters();
    let depth = generator.random.below(4) as usize;
    let mut typed = generator.plan(depth);
    for _ in 0..1 + generator.random.below(2) {
        if generator.random.chance(1, 2) {
            let condition = generator.condition(&typed.1, 1);
            typed.0 = Plan::Filter { input: typed.0.into(), condition };
        }
        let above = operators[generator.random.below(operators.len() as u64) as usize];
        typed = above.put_on(typed, &mut generator);
    }
    typed = match generator.random.below(4) {
        0 => counted(typed.0, &typed.1, &mut generator.random),
        1 => {
            let condition = generator.condition(&typed.1, 1);
            (Plan::Filter { input: typed.0.into(), condition }, typed.1)
        }
        _ => typed,
    };
    SharedCase::with_plan(generator, typed.0, &parameters)
}

/// Whether queries share the plan, unlike one whose peers come in several orders.
fn is_shared(case: &SharedCase) -> bool {
    let shared = crate::SharedPlan::new(&case.case.plan, &case.parameters, FixedBudget::new(PLENTY));
    !matches!(shared, Err(ExecError::Foreign(_)))
}

async fn check_all(operators: &[Above]) {
    let cases = cases!(500, nightly 1_500);
    let (is_replay, repeats, count) = (cases.is_replay(), cases.repeats(), cases.size_hint().0);
    let mut compared = 0;
    for drawn in cases {
        for _ in 0..repeats {
            let case = case(drawn.seed, operators);
            compared += usize::from(is_shared(&case) && case.check().await);
        }
    }
    println!("{compared} of {count} plans were compared");
    assert!(is_replay || compared * 3 > count, "only {compared} of {count} plans were compared");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_query_has_its_grouping_sets() {
    check_all(&[Above::Expand]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_query_has_the_rows_of_its_functions() {
    check_all(&[Above::ProjectSet]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_query_has_the_results_of_its_windows() {
    check_all(&[Above::Window]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_query_has_its_peers() {
    check_all(&[Above::Peers]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_query_has_the_results_of_its_foreign_aggregates() {
    check_all(&[Above::Accumulate]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operators_with_almost_no_memory_give_each_query_its_answer() {
    let cases = cases!(700, nightly 2_000);
    let (is_replay, count) = (cases.is_replay(), cases.size_hint().0);
    let (mut compared, mut spilled) = (0, 0);
    for drawn in cases {
        let case = case(drawn.seed, &ALL);
        if is_shared(&case) {
            let (is_compared, has_spilled) = shared_spilling::check(case).await;
            compared += usize::from(is_compared);
            spilled += usize::from(has_spilled);
        }
    }
    println!("{compared} of {count} plans were compared, {spilled} spilled");
    assert!(is_replay || compared * 3 > count && spilled * 20 > count, "{compared} compared, {spilled} spilled");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_that_stay_get_what_they_get_alone_from_each_operator() {
    let cases = cases!(0..1_000);
    let is_replay = cases.is_replay();
    let (mut left, mut stayed) = (0, 0);
    for drawn in cases {
        let case = case(drawn.seed, &ALL);
        if is_shared(&case) {
            let counts = pass_members::check(case).await;
            left += counts.0;
            stayed += counts.1;
        }
    }
    assert!(is_replay || left > 500 && stayed > 500, "{left} queries left, {stayed} stayed");
}

/// Column 0 < parameter 0.
fn below(input: Plan) -> Plan {
    let (left, right) = (Expression::Column(0).into(), Expression::Parameter(0).into());
    let condition = Expression::Compare { comparison: crate::expression::Comparison::Less, left, right };
    Plan::Filter { input: input.into(), condition }
}

fn shown(plan: &Plan) -> Result<String, ExecError> {
    let rows = [1, 2].map(|value| vec![Some(Scalar::Int(value))]);
    crate::SharedPlan::new(plan, &rows, FixedBudget::new(PLENTY)).map(|shared| shared.describe())
}

#[test]
fn peers_of_rows_that_come_in_the_order_of_each_query_are_not_shared() {
    let source = || Plan::Source { source: Table::of_integers(0, 1, &[&[Some(1)]]), column_count: 1 };
    let sorted = |input| in_total_order(input, &mut SeededRandom::new(1));
    let kept = crate::runtime::peers::KeptPeers::First;
    let peers = |input: Plan| Plan::Peers { input: input.into(), keys: vec![0], kept };
    let of_query = |input: Plan| {
        let expressions = vec![Expression::Column(0), Expression::Parameter(0)];
        Plan::Project { input: input.into(), expressions }
    };
    let text = shown(&peers(sorted(of_query(below(source()))))).unwrap();
    assert_eq!(text.lines().next().unwrap(), "SharedPeers: first by [#0]");
    let error = shown(&peers(of_query(sorted(below(source()))))).unwrap_err();
    assert_eq!(error.to_string(), "queries cannot share peers of rows in several orders");
}
