//! Random groups whose arguments have conditions with parameters. In two steps, each query has the groups that it has in one.

use super::memory_tables::{KINDS, Kind};
use super::shared_plans::SharedCase;
use super::*;
use crate::expression::{Arithmetic, Comparison, NumberRange};
use crate::plan::parameters_above_groups::ParametrisedGroups;
use crate::plan::{AggregateCall, AggregateFunction};

/// Columns of the table: a key, two columns that are compared with the parameters of their number, and values.
const KEY: usize = 0;
const COMPARED: [usize; 2] = [1, 2];
const VALUES: [(usize, Kind); 4] = [(3, Kind::Int), (4, Kind::Wide), (5, Kind::Bool), (6, Kind::Text)];

struct Maker {
    random: SeededRandom,
    /// The kinds of the compared columns.
    kinds: [Kind; 2],
    variety: u64,
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

    fn table(&mut self) -> Arc<Table> {
        let of_values = VALUES.map(|(_, kind)| kind);
        let kinds: Vec<Kind> = [Kind::Int].into_iter().chain(self.kinds).chain(of_values).collect();
        let row_count = [0, 5, 60][self.below(3)];
        // Without numbers that need 128 bits, sums are in range.
        let is_narrow = self.chance(4, 5);
        let row = |maker: &mut Self| {
            let value = |(at, kind): (usize, &Kind)| match maker.value(*kind, if at == KEY { 3 } else { maker.variety })
            {
                Some(Scalar::Int128(value)) if at > COMPARED[1] && is_narrow => Some(Scalar::Int((value >> 66) as i64)),
                value => value,
            };
            kinds.iter().enumerate().map(value).collect()
        };
        let rows = (0..row_count).map(|_| row(self)).collect();
        Table::of_rows(0, kinds, rows, &mut self.random)
    }

    fn condition(&mut self, depth: usize) -> Expression {
        let at = self.below(2);
        let column = || Box::new(Expression::Column(COMPARED[at]));
        match self.below(if depth == 0 { 5 } else { 8 }) {
            0..3 => {
                let comparison = [Comparison::Equal, Comparison::NotEqual, Comparison::Less][self.below(3)];
                Expression::Compare { comparison, left: column(), right: Expression::Parameter(at).into() }
            }
            // A condition may compare no column.
            3 if self.chance(1, 2) => Expression::IsNull(Expression::Parameter(at).into()),
            3 => Expression::IsNull(column()),
            4 => {
                let (kind, number) = (self.kinds[at], self.random.below(2));
                Expression::In { value: column(), list: vec![kind.scalar(number, 1)] }
            }
            5 => Expression::And(vec![self.condition(depth - 1), self.condition(depth - 1)]),
            6 => Expression::Or(vec![self.condition(depth - 1), self.condition(depth - 1)]),
            _ => Expression::Not(self.condition(depth - 1).into()),
        }
    }

    /// A value of the kind of a column.
    fn result(&mut self, (column, kind): (usize, Kind)) -> Expression {
        let value = Expression::Column(column);
        match self.below(6) {
            0 => Expression::Constant(None),
            1 if kind.is_integer() => Expression::Constant(Some(Scalar::Int(0))),
            1 => Expression::Constant(Some(kind.scalar(3, 1))),
            2 if kind.is_integer() => Expression::Arithmetic {
                operation: Arithmetic::Add,
                left: value.into(),
                right: Expression::Constant(Some(Scalar::Int(5))).into(),
                range: NumberRange::Numeric,
            },
            _ => value,
        }
    }

    fn argument(&mut self, of: (usize, Kind)) -> Expression {
        if self.chance(1, 3) {
            return self.result(of);
        }
        let mut branches = vec![(self.condition(2), self.result(of))];
        if self.chance(1, 3) {
            branches.push((self.condition(1), self.result(of)));
        }
        let otherwise = self.chance(2, 3).then(|| self.result(of).into());
        Expression::Case { branches, otherwise }
    }

    fn function(&mut self, kind: Kind) -> AggregateFunction {
        use AggregateFunction as F;
        match (self.below(6), kind) {
            (0, _) => F::CountRows,
            (1, _) => F::Minimum,
            (2, _) => F::Maximum,
            (3 | 4, kind) if kind.is_integer() => F::Sum,
            (3, Kind::Bool) => F::BoolAnd,
            (4, Kind::Bool) => F::BoolOr,
            _ => F::Count,
        }
    }

    fn plan(&mut self, table: &Arc<Table>) -> Plan {
        let column_count = table.kinds.len();
        let mut input = Plan::Source { source: table.clone(), column_count };
        if self.chance(1, 2) {
            input = Plan::Filter { input: input.into(), condition: self.condition(1) };
        }
        let mut expressions = Vec::new();
        let mut place = |expression: Expression| {
            expressions.push(expression);
            expressions.len() - 1
        };
        let keys: Vec<usize> = match self.below(4) {
            0 => Vec::new(),
            1 => vec![place(Expression::Column(KEY)), place(Expression::Column(COMPARED[0]))],
            _ => vec![place(Expression::Column(KEY))],
        };
        let calls = (0..1 + self.below(3)).map(|_| {
            let of = VALUES[self.below(4)];
            let function = self.function(of.1);
            let argument = (function != AggregateFunction::CountRows).then(|| place(self.argument(of)));
            let filter = match self.below(4) {
                0 => Some(place(self.condition(1))),
                1 => Some(place(Expression::Column(5))),
                _ => None,
            };
            AggregateCall { function, argument, distinct: false, filter }
        });
        let aggregates = calls.collect();
        let mut input = Plan::Project { input: input.into(), expressions };
        if self.chance(1, 2) {
            // Aggregates read expressions through another projection.
            let expressions = (0..input.column_count()).map(Expression::Column).collect();
            input = Plan::Project { input: input.into(), expressions };
        }
        Plan::Aggregate { input: input.into(), spec: AggregationSpec { keys, aggregates }.into() }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_in_two_steps_are_those_in_one() {
    let cases = cases!(0..3_000);
    let (is_replay, count) = (cases.is_replay(), cases.size_hint().0);
    let mut rewritten = 0;
    for case in cases {
        let mut random = case.random();
        let kinds = [KINDS[random.below(5) as usize], KINDS[random.below(5) as usize]];
        let variety = [2, 5, 12][random.below(3) as usize];
        let mut maker = Maker { random, kinds, variety };
        let table = maker.table();
        let plan = maker.plan(&table);
        let query_count = [2, 3, 9][maker.below(3)];
        let row = |maker: &mut Maker| maker.kinds.map(|kind| maker.value(kind, variety)).to_vec();
        let mut parameters: Vec<Row> = (0..query_count).map(|_| row(&mut maker)).collect();
        let one_varies = maker.chance(1, 3);
        if one_varies {
            let common = parameters[0][1].clone();
            parameters.iter_mut().for_each(|row| row[1] = common.clone());
        }
        let Some(groups) = ParametrisedGroups::of(&plan, &|parameter| !one_varies || parameter == 0) else { continue };
        rewritten += 1;
        let in_two_steps = groups.in_two_steps(groups.input.clone());
        assert_eq!(in_two_steps.column_count(), plan.column_count());
        let tables = vec![table];
        for row in &parameters {
            let definition = Definition { tables: &tables, parameters: row, subquery_values: Vec::new() };
            let (expected, found) = (definition.answer(&plan).unwrap(), definition.answer(&in_two_steps).unwrap());
            assert_answers(found.rows, &expected);
        }
        let case = Case { plan: in_two_steps, tables, random: maker.random };
        assert!(SharedCase { case, parameters }.check().await);
    }
    println!("{rewritten} of {count} plans were rewritten");
    assert!(is_replay || rewritten * 4 > count, "only {rewritten} of {count} plans");
}

/// Groups by the first column of a table of integers, of sums of the third where a condition on the second is true.
fn of_integers(condition: Expression, result: Expression, function: AggregateFunction) -> Plan {
    let table = Table::of_integers(0, 3, &[&[Some(1), Some(2), Some(3)], &[Some(1), Some(4), Some(5)]]);
    let source = Plan::Source { source: table, column_count: 3 };
    let otherwise = Some(Expression::Constant(Some(Scalar::Int(0))).into());
    let case = Expression::Case { branches: vec![(condition, result)], otherwise };
    let expressions = vec![Expression::Column(0), case, Expression::Column(2)];
    let input = Plan::Project { input: source.into(), expressions };
    let call = |function, argument| AggregateCall { function, argument: Some(argument), distinct: false, filter: None };
    let aggregates = vec![call(function, 1), call(AggregateFunction::Sum, 2)];
    Plan::Aggregate { input: input.into(), spec: AggregationSpec { keys: vec![0], aggregates }.into() }
}

fn equals(column: Expression, parameter: usize) -> Expression {
    let (left, right) = (column.into(), Expression::Parameter(parameter).into());
    Expression::Compare { comparison: Comparison::Equal, left, right }
}

#[test]
fn the_shape_is_two_groupings() {
    let plan = of_integers(equals(Expression::Column(1), 0), Expression::Column(2), AggregateFunction::Sum);
    let groups = ParametrisedGroups::of(&plan, &|_| true).unwrap();
    assert_eq!((groups.keys.len(), groups.key_count(), groups.aggregate_count()), (2, 1, 2));
    let mut shown = String::new();
    groups.in_two_steps(groups.input.clone()).describe(0, &mut shown).unwrap();
    let lines: Vec<&str> = shown.lines().map(str::trim).collect();
    let expected = [
        "Project: #0, #1, #2",
        "Aggregate: by [#0]: [Sum(#1), Sum(#2)]",
        "Project: #0, CASE WHEN #1 = parameter 0 THEN #2 ELSE 0 END, #2",
        // One partial sum serves both.
        "Aggregate: by [#0, #1]: [Sum(#2)]",
        "Project: #0, #1, #2",
    ];
    assert_eq!(lines[..5], expected, "{shown}");
}

/// What is left as it is, and why.
#[test]
fn other_groups_stay_as_they_are() {
    use AggregateFunction as F;
    let is_taken = |plan: &Plan| ParametrisedGroups::of(plan, &|_| true).is_some();
    let condition = || equals(Expression::Column(1), 0);
    let value = || Expression::Column(2);
    let sum = |right: Expression| {
        let (left, right) = (value().into(), right.into());
        Expression::Arithmetic { operation: Arithmetic::Add, left, right, range: NumberRange::Int64 }
    };
    let integer = |value| Expression::Constant(Some(Scalar::Int(value)));
    assert!(is_taken(&of_integers(condition(), value(), F::Sum)));
    assert!(is_taken(&of_integers(condition(), sum(integer(5)), F::Sum)));
    let average = F::Average(crate::plan::AverageKind::Numeric { scale: 0, result_scale: 2 });
    for (plan, reason) in [
        (of_integers(condition(), sum(integer(i64::MAX)), F::Sum), "a result that may be out of range"),
        (of_integers(condition(), Expression::Parameter(1), F::Maximum), "a result that is a parameter"),
        (of_integers(equals(sum(integer(5)), 0), value(), F::Sum), "a condition that may fail"),
        (of_integers(condition(), value(), average), "an average"),
        (
            of_integers(equals(Expression::Column(1), 0), Expression::Constant(Some(Scalar::Float(1.0))), F::Sum),
            "floats",
        ),
    ] {
        assert!(!is_taken(&plan), "{reason}");
    }
    let plan = of_integers(condition(), value(), F::Sum);
    assert!(ParametrisedGroups::of(&plan, &|_| false).is_none(), "a parameter that does not vary");
    // Over no row, a partial group without keys has a row of constants.
    let of_parameter = of_integers(Expression::IsNull(Expression::Parameter(0).into()), value(), F::Sum);
    assert!(is_taken(&of_parameter));
    let Plan::Aggregate { input, spec } = of_parameter else { unreachable!("groups") };
    let spec = AggregationSpec { keys: Vec::new(), ..(*spec).clone() };
    assert!(!is_taken(&Plan::Aggregate { input, spec: spec.into() }), "no key and no compared column");
}
