//! Random projections of joins with patterns. With the patterns below the join, each query has the rows that it has with them above.

use super::memory_tables::Kind;
use super::shared_plans::SharedCase;
use super::*;
use crate::expression::Comparison;
use crate::keys::null_keys::NullKeys;
use crate::plan::patterns_below_joins::PatternsBelowJoin;
use crate::plan::{JoinCondition, JoinKind};

/// Columns of both tables: a key, and two texts.
const KINDS: [Kind; 3] = [Kind::Int, Kind::Text, Kind::Text];

/// Columns of the join.
const WIDTH: usize = 2 * KINDS.len();

struct Maker {
    random: SeededRandom,
}

impl Maker {
    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }

    fn table(&mut self, number: usize) -> Arc<Table> {
        let row_count = [0, 4, 40][self.below(3)];
        let value = |maker: &mut Self, kind: Kind| {
            let variety = if kind == Kind::Int { 6 } else { 14 };
            (!maker.random.chance(1, 7)).then(|| kind.scalar(maker.random.below(variety), 1))
        };
        let rows = (0..row_count).map(|_| KINDS.map(|kind| value(self, kind)).to_vec()).collect();
        Table::of_rows(number, KINDS.to_vec(), rows, &mut self.random)
    }

    fn join(&mut self, tables: &[Arc<Table>; 2], kind: JoinKind) -> Plan {
        let [build, probe] = [0, 1].map(|at| Plan::Source { source: tables[at].clone(), column_count: KINDS.len() });
        let residual = self.random.chance(1, 4).then(|| {
            let (left, right) = (Expression::Column(1).into(), Expression::Column(KINDS.len() + 1).into());
            Expression::Compare { comparison: Comparison::NotEqual, left, right }
        });
        let null_keys = NullKeys::EqualNothing;
        let condition = JoinCondition { kind, build_keys: vec![0], probe_keys: vec![0], residual, null_keys };
        Plan::join(build, probe, condition)
    }

    /// A pattern on a text among the columns, which are those of the join in this order.
    fn pattern(&mut self, columns: &[usize]) -> Expression {
        let texts: Vec<usize> = (0..columns.len()).filter(|at| !columns[*at].is_multiple_of(KINDS.len())).collect();
        let value = Expression::Column(texts[self.below(texts.len())]);
        let pattern = match self.below(5) {
            0 => Expression::Parameter(1),
            at => Expression::Constant(Some(Scalar::Bytes(["a%", "%b%", "_a", "%"][at - 1].into()))),
        };
        Expression::Like { value: value.into(), pattern: pattern.into() }
    }

    fn expression(&mut self, columns: &[usize]) -> Expression {
        let pattern = self.pattern(columns);
        match self.below(5) {
            0 => Expression::Column(self.below(columns.len())),
            1 => pattern,
            2 => Expression::Or(vec![pattern, Expression::Not(self.pattern(columns).into())]),
            3 => Expression::IsNull(pattern.into()),
            _ => {
                let at = columns.iter().position(|column| column.is_multiple_of(KINDS.len())).expect("a key");
                Expression::Case { branches: vec![(pattern, Expression::Column(at))], otherwise: None }
            }
        }
    }

    fn plan(&mut self, mut input: Plan) -> Plan {
        let mut columns: Vec<usize> = (0..WIDTH).collect();
        if self.random.chance(1, 2) {
            let (left, right) = (Expression::Column(0).into(), Expression::Parameter(0).into());
            let condition = Expression::Compare { comparison: Comparison::Less, left, right };
            input = Plan::Filter { input: input.into(), condition };
        }
        while self.random.chance(1, 2) {
            let rotation = 1 + self.below(columns.len() - 1);
            columns.rotate_left(rotation);
            let places = (rotation..WIDTH).chain(0..rotation).map(Expression::Column).collect();
            input = Plan::Project { input: input.into(), expressions: places };
        }
        let expressions = (0..1 + self.below(3)).map(|_| self.expression(&columns)).collect();
        Plan::Project { input: input.into(), expressions }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn patterns_below_joins_have_the_rows_of_those_above() {
    let cases = cases!(0..1_500);
    let (is_replay, count) = (cases.is_replay(), cases.size_hint().0);
    let mut rewritten = 0;
    for case in cases {
        let mut maker = Maker { random: case.random() };
        let tables = [0, 1].map(|number| maker.table(number));
        let join = maker.join(&tables, JoinKind::Inner);
        let plan = maker.plan(join);
        let Some(below) = PatternsBelowJoin::of(&plan) else { continue };
        let below = below.into_plan();
        rewritten += 1;
        assert_eq!(below.column_count(), plan.column_count());
        let row =
            |maker: &mut Maker| vec![Some(Scalar::Int(maker.below(6) as i64)), Some(Scalar::Bytes(b"b%".to_vec()))];
        let parameters: Vec<Row> = (0..1 + maker.below(6)).map(|_| row(&mut maker)).collect();
        let tables = tables.to_vec();
        for row in &parameters {
            let definition = Definition { tables: &tables, parameters: row, subquery_values: Vec::new() };
            let (expected, found) = (definition.answer(&plan).unwrap(), definition.answer(&below).unwrap());
            assert_answers(found.rows, &expected);
        }
        let case = Case { plan: below, tables, random: maker.random };
        assert!(SharedCase { case, parameters }.check().await);
    }
    println!("{rewritten} of {count} plans were rewritten");
    assert!(is_replay || rewritten * 3 > count, "only {rewritten} of {count} plans");
}

#[test]
fn patterns_on_other_rows_stay_above() {
    let mut maker = Maker { random: SeededRandom::new(1) };
    let tables = [0, 1].map(|number| maker.table(number));
    let like = |column: usize, pattern: Expression| Expression::Like {
        value: Expression::Column(column).into(),
        pattern: pattern.into(),
    };
    let constant = || Expression::Constant(Some(Scalar::Bytes(b"a%".to_vec())));
    let (of_probe, of_build) = (1, KINDS.len() + 1);
    let mut is_taken = |kind: JoinKind, expression: Expression| {
        let plan = Plan::Project { input: maker.join(&tables, kind).into(), expressions: vec![expression] };
        PatternsBelowJoin::of(&plan).is_some()
    };
    assert!(is_taken(JoinKind::Inner, like(of_build, constant())));
    assert!(!is_taken(JoinKind::Inner, like(of_probe, constant())), "a probe column");
    assert!(!is_taken(JoinKind::Inner, like(of_build, Expression::Parameter(0))), "a parameter");
    assert!(!is_taken(JoinKind::Inner, like(of_build, Expression::SubqueryValue(0))), "a subquery's value");
    assert!(!is_taken(JoinKind::ProbeOuter, like(of_build, constant())), "rows without a build row");
}
