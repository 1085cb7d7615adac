//! Random groups above random joins. With groups below the join, each query has the rows that it has without.

use std::collections::BTreeSet;

use super::memory_tables::{KINDS, Kind};
use super::shared_plans::SharedCase;
use super::*;
use crate::expression::Comparison;
use crate::plan::eager_aggregation::{GroupedJoin, UniqueKey};
use crate::plan::{AggregateCall, AggregateFunction, AverageKind};

/// The kinds of the grouped side's columns after its keys.
const VALUE_KINDS: [Kind; 5] = [Kind::Int, Kind::Wide, Kind::Text, Kind::Bool, Kind::Float];

struct Maker {
    random: SeededRandom,
    key_kinds: Vec<Kind>,
}

impl Maker {
    fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.random.chance(numerator, denominator)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }

    fn value(&mut self, kind: Kind, variety: u64) -> Value {
        (!self.chance(1, 6)).then(|| kind.scalar(self.random.below(variety), 1))
    }

    /// A table of keys and further columns.
    fn table(&mut self, number: usize, values: &[Kind], row_count_max: usize, variety: u64) -> Arc<Table> {
        let kinds = [&self.key_kinds[..], values].concat();
        let has_nulls: Vec<bool> = kinds.iter().map(|_| self.chance(2, 3)).collect();
        let row_count = self.below(row_count_max + 1);
        let mut value = |(kind, has_nulls): (&Kind, &bool)| match has_nulls {
            true => self.value(*kind, variety),
            false => Some(kind.scalar(self.random.below(variety), 1)),
        };
        let rows: Vec<Row> = (0..row_count).map(|_| kinds.iter().zip(&has_nulls).map(&mut value).collect()).collect();
        let rows = if number == 0 && self.chance(9, 10) { self.with_unique_keys(rows) } else { rows };
        Table::of_rows(number, kinds, rows, &mut self.random)
    }

    fn with_unique_keys(&self, mut rows: Vec<Row>) -> Vec<Row> {
        let key_count = self.key_kinds.len();
        let mut known: Vec<Row> = Vec::new();
        rows.retain(|row| {
            let key: Row = row[..key_count].iter().cloned().map(canonical).collect();
            let is_new = known.iter().all(|other| compare_rows(other, &key).is_ne());
            known.push(key);
            is_new
        });
        rows
    }

    /// The rows of a table, perhaps those that a query wants, perhaps with other columns around its own.
    fn side(&mut self, table: &Arc<Table>, parameter: usize) -> (Plan, Vec<usize>) {
        let column_count = table.kinds.len();
        let mut plan = Plan::Source { source: table.clone(), column_count };
        if self.chance(1, 2) {
            let left = Box::new(Expression::Column(self.key_kinds.len()));
            let right = Box::new(Expression::Parameter(parameter));
            let comparison = [Comparison::NotEqual, Comparison::Less, Comparison::Equal][self.below(3)];
            plan = Plan::Filter { input: plan.into(), condition: Expression::Compare { comparison, left, right } };
        }
        if self.chance(1, 2) {
            return (plan, (0..column_count).collect());
        }
        let columns: Vec<usize> = (0..column_count).rev().collect();
        let expressions =
            [Expression::Constant(None)].into_iter().chain(columns.iter().copied().map(Expression::Column));
        let places = columns.iter().map(|column| 1 + column_count - 1 - column).rev().collect();
        (Plan::Project { input: plan.into(), expressions: expressions.collect() }, places)
    }

    fn call(&mut self, argument_of: impl Fn(usize) -> usize) -> AggregateCall {
        use AggregateFunction as F;
        let value = self.below(VALUE_KINDS.len());
        let average = F::Average(AverageKind::Numeric { scale: 0, result_scale: 2 });
        let function = match (self.below(6), VALUE_KINDS[value]) {
            (0, _) => F::CountRows,
            (1, _) => F::Count,
            (2, _) => F::Minimum,
            (3, _) => F::Maximum,
            (4, Kind::Int | Kind::Wide | Kind::Float) => F::Sum,
            (5, Kind::Int | Kind::Wide) => average,
            (4, Kind::Bool) => F::BoolAnd,
            (5, Kind::Bool) => F::BoolOr,
            _ => F::Count,
        };
        let argument = (function != F::CountRows).then(|| argument_of(value));
        let filter = self.chance(1, 4).then(|| argument_of(3));
        AggregateCall { function, argument, distinct: argument.is_some() && self.chance(1, 5), filter }
    }

    /// Groups of the unique side's rows above a join.
    fn plan(&mut self, tables: &[Arc<Table>]) -> Plan {
        let (unique, of_unique) = self.side(&tables[0], 0);
        let (grouped, of_grouped) = self.side(&tables[1], 1);
        let key_count = self.key_kinds.len();
        let unique_is_build = self.chance(1, 2);
        let kind = match self.below(3) {
            0 => JoinKind::Inner,
            _ if unique_is_build => JoinKind::BuildOuter,
            _ => JoinKind::ProbeOuter,
        };
        let null_keys = if self.chance(1, 3) { NullKeys::EqualNull } else { NullKeys::EqualNothing };
        let (unique_keys, grouped_keys) = (of_unique[..key_count].to_vec(), of_grouped[..key_count].to_vec());
        let (unique_first, grouped_first) =
            if unique_is_build { (grouped.column_count(), 0) } else { (0, unique.column_count()) };
        let takes_equal_key = kind == JoinKind::Inner && self.chance(1, 3);
        let (build, probe, build_keys, probe_keys) = if unique_is_build {
            (unique, grouped, unique_keys.clone(), grouped_keys.clone())
        } else {
            (grouped, unique, grouped_keys.clone(), unique_keys.clone())
        };
        let condition = JoinCondition { kind, build_keys, probe_keys, residual: None, null_keys };
        let mut input = Plan::join(build, probe, condition);
        let mut keys: Vec<usize> = unique_keys.iter().map(|key| unique_first + key).collect();
        if takes_equal_key {
            keys[0] = grouped_first + grouped_keys[0];
        }
        if self.chance(1, 3) {
            keys.push(unique_first + of_unique[key_count]);
        }
        let mut aggregates: Vec<AggregateCall> =
            (0..1 + self.below(3)).map(|_| self.call(|value| grouped_first + of_grouped[key_count + value])).collect();
        if self.chance(1, 2) {
            // The columns that are read, in the order in which they are.
            let mut expressions = Vec::new();
            let mut place = |column: usize| {
                expressions.push(Expression::Column(column));
                expressions.len() - 1
            };
            keys = keys.into_iter().map(&mut place).collect();
            for call in &mut aggregates {
                call.argument = call.argument.map(&mut place);
                call.filter = call.filter.map(&mut place);
            }
            input = Plan::Project { input: input.into(), expressions };
        }
        let spec = AggregationSpec { keys, aggregates };
        Plan::Aggregate { input: input.into(), spec: spec.into() }
    }
}

/// Whether no two rows of a table have equal values in some columns.
fn are_unique(table: &Table, columns: &[usize]) -> bool {
    let key = |row: &Row| format!("{:?}", columns.iter().map(|column| row[*column].clone()).collect::<Row>());
    table.rows.iter().map(key).collect::<BTreeSet<String>>().len() == table.rows.len()
}

/// Whether the unique side of a join is unique.
fn is_exact(grouped: &GroupedJoin<'_>, tables: &[Arc<Table>]) -> bool {
    match grouped.unique_key() {
        None => false,
        Some(UniqueKey::OfGroups) => true,
        Some(UniqueKey::OfSource(source, columns)) => {
            are_unique(&tables[source.describe().parse::<usize>().unwrap()], &columns)
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_below_a_join_are_those_above_it() {
    let cases = cases!(0..3_000);
    let (is_replay, count) = (cases.is_replay(), cases.size_hint().0);
    let (mut pushed_count, mut ambiguous) = (0, 0);
    for case in cases {
        let mut random = case.random();
        let key_kinds = (0..1 + random.below(2)).map(|_| KINDS[random.below(5) as usize]).collect();
        let mut maker = Maker { random, key_kinds };
        let variety = [3, 8, 20][maker.below(3)];
        let tables = vec![maker.table(0, &[Kind::Int], 12, variety), maker.table(1, &VALUE_KINDS, 60, variety)];
        let plan = maker.plan(&tables);
        let possible = GroupedJoin::of(&plan);
        let exact: Vec<&GroupedJoin<'_>> = possible.iter().filter(|grouped| is_exact(grouped, &tables)).collect();
        ambiguous += possible.len() - exact.len();
        if exact.is_empty() {
            continue;
        }
        let grouped = exact[maker.below(exact.len())];
        pushed_count += 1;
        let pushed = grouped.pushed();
        assert_eq!(pushed.column_count(), plan.column_count());
        let query_count = [1, 2, 5, 9][maker.below(4)];
        let row = |maker: &mut Maker| vec![maker.value(Kind::Int, variety), maker.value(Kind::Int, variety)];
        let parameters: Vec<Row> = (0..query_count).map(|_| row(&mut maker)).collect();
        for row in &parameters {
            let definition = Definition { tables: &tables, parameters: row, subquery_values: Vec::new() };
            let (expected, found) = (definition.answer(&plan).unwrap(), definition.answer(&pushed).unwrap());
            assert_answers(found.rows, &expected);
        }
        let case = Case { plan: pushed, tables, random: maker.random };
        assert!(SharedCase { case, parameters }.check().await);
    }
    println!("{pushed_count} of {count} plans were rewritten, {ambiguous} had keys that are not unique");
    assert!(is_replay || pushed_count * 3 > count && ambiguous > 10, "only {pushed_count} of {count} plans");
}

/// A join of two tables of integers by their first columns, below a grouping by the build side's.
fn of_integers(kind: JoinKind, call: AggregateCall, tables: &[Arc<Table>]) -> Plan {
    let source = |at: usize| Plan::Source { source: tables[at].clone(), column_count: tables[at].kinds.len() };
    let (build_keys, probe_keys, null_keys) = (vec![0], vec![0], NullKeys::EqualNothing);
    let condition = JoinCondition { kind, build_keys, probe_keys, residual: None, null_keys };
    let spec = AggregationSpec { keys: vec![2], aggregates: vec![call] };
    Plan::Aggregate { input: Plan::join(source(0), source(1), condition).into(), spec: spec.into() }
}

fn call(function: AggregateFunction, argument: Option<usize>) -> AggregateCall {
    AggregateCall { function, argument, distinct: false, filter: None }
}

fn two_tables(unique: &[&[Option<i64>]]) -> Vec<Arc<Table>> {
    let rows: &[&[Option<i64>]] = &[&[Some(1), Some(10)], &[Some(1), None], &[Some(4), Some(7)], &[None, Some(8)]];
    vec![Table::of_integers(0, 1, unique), Table::of_integers(1, 2, rows)]
}

#[test]
fn the_shape_is_groups_below_a_join() {
    let tables = two_tables(&[&[Some(1)], &[Some(2)], &[None]]);
    let plan = of_integers(JoinKind::BuildOuter, call(AggregateFunction::Count, Some(1)), &tables);
    let mut shown = String::new();
    GroupedJoin::of(&plan)[0].pushed().describe(0, &mut shown).unwrap();
    let lines: Vec<&str> = shown.lines().map(str::trim).collect();
    assert_eq!(lines[0], "Project: #2, CASE WHEN #1 IS NULL THEN 0 ELSE #1 END", "{shown}");
    assert_eq!(lines[1..3], ["HashJoin: BuildOuter, probe #0 = build #0", "Aggregate: by [#0]: [Count(#1)]"]);
    // Without nulls, rows are counted instead of values.
    let rows: &[&[Option<i64>]] = &[&[Some(1), Some(10)], &[None, Some(8)]];
    let null_free = vec![tables[0].clone(), Table::of_integers(1, 2, rows)];
    let plan = of_integers(JoinKind::BuildOuter, call(AggregateFunction::Count, Some(1)), &null_free);
    shown.clear();
    GroupedJoin::of(&plan)[0].pushed().describe(0, &mut shown).unwrap();
    assert!(shown.contains("THEN 0 ELSE #1 END") && shown.contains("Aggregate: by [#0]: [CountRows(*)]"), "{shown}");
}

/// What is left as it is, and why.
#[test]
fn other_plans_stay_as_they_are() {
    use AggregateFunction as F;
    let tables = two_tables(&[&[Some(1)]]);
    let is_taken = |plan: &Plan| !GroupedJoin::of(plan).is_empty();
    assert!(is_taken(&of_integers(JoinKind::Inner, call(F::Sum, Some(1)), &tables)));
    assert!(
        !is_taken(&of_integers(JoinKind::BuildOuter, call(F::Sum, Some(2)), &tables)),
        "an aggregate of the unique side"
    );
    for kind in [JoinKind::ProbeOuter, JoinKind::FullOuter] {
        assert!(!is_taken(&of_integers(kind, call(F::CountRows, None), &tables)), "{kind:?} keeps the grouped side");
    }
    let mut with_residual = of_integers(JoinKind::Inner, call(F::CountRows, None), &tables);
    if let Plan::Aggregate { input, .. } = &mut with_residual
        && let Plan::Join { condition, .. } = &mut **input
    {
        condition.residual = Some(Expression::IsNull(Expression::Column(1).into()));
    }
    assert!(!is_taken(&with_residual), "a further condition");
    let large = Table::of_rows(
        1,
        vec![Kind::Int, Kind::Wide],
        vec![vec![Some(Scalar::Int(1)), Some(Scalar::Int128(1 << 100))]],
        &mut SeededRandom::new(0),
    );
    let large = vec![tables[0].clone(), large];
    assert!(!is_taken(&of_integers(JoinKind::Inner, call(F::Sum, Some(1)), &large)), "a sum that may be out of range");
    assert!(is_taken(&of_integers(JoinKind::Inner, call(F::Maximum, Some(1)), &large)));
}

/// The rule does not know whether keys are unique: its caller must.
#[tokio::test]
async fn keys_must_be_unique() {
    let tables = two_tables(&[&[Some(1)], &[Some(1)]]);
    let plan = of_integers(JoinKind::BuildOuter, call(AggregateFunction::Count, Some(1)), &tables);
    let [grouped] = &GroupedJoin::of(&plan)[..] else { panic!("one side can be grouped") };
    assert!(!is_exact(grouped, &tables));
    let budget = FixedBudget::new(PLENTY);
    let count = |value: i64| Some(Scalar::Int(value));
    assert_eq!(run(&plan, 1, &budget).await.unwrap(), [[count(1), count(2)]]);
    assert_eq!(run(&grouped.pushed(), 1, &budget).await.unwrap(), [[count(1), count(1)], [count(1), count(1)]]);
}
