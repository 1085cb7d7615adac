//! Filters on constants that move into scans select the rows that they select above the scans.

use braid_storage::ColumnType;

use super::stored_tables::{StoredTable, TYPES, scalar};
use super::*;
use crate::expression::Comparison;

const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

/// Random conditions over a [`StoredTable`], with the values of their parameters.
pub(super) struct Conditions<'a> {
    pub random: &'a mut SeededRandom,
    pub values: Vec<Value>,
}

impl Conditions<'_> {
    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }

    fn scalar(&mut self, column: usize) -> Scalar {
        let number = self.random.below(30);
        match (scalar(TYPES[column], number), TYPES[column]) {
            // A value that is no 32-bit float, and one beyond 64 bits.
            (Scalar::Float(_), _) if number == 7 => Scalar::Float(0.1),
            (Scalar::Int(_), ColumnType::BigInt) if number == 7 => Scalar::Int128(1 << 70),
            (value, _) => value,
        }
    }

    /// A constant or a parameter, sometimes null.
    fn constant(&mut self, column: usize) -> Expression {
        let value = if self.random.chance(1, 15) { None } else { Some(self.scalar(column)) };
        if self.random.chance(1, 2) {
            return Expression::Constant(value);
        }
        self.values.push(value);
        Expression::Parameter(self.values.len() - 1)
    }

    fn comparison(&mut self, column: usize, comparison: Comparison) -> Expression {
        let sides = [Expression::Column(column), self.constant(column)];
        let is_mirrored = self.random.chance(1, 2);
        let [left, right] = sides.map(Box::new);
        match is_mirrored {
            true => Expression::Compare { comparison: comparison.mirrored(), left: right, right: left },
            false => Expression::Compare { comparison, left, right },
        }
    }

    pub fn condition(&mut self, depth: usize) -> Expression {
        let column = self.below(TYPES.len());
        let value = || Box::new(Expression::Column(column));
        let at = self.below(COMPARISONS.len());
        match self.below(if depth == 0 { 7 } else { 11 }) {
            0..4 => self.comparison(column, COMPARISONS[at]),
            4 => Expression::IsNull(value()),
            5 => {
                let list = (0..1 + self.below(4)).map(|_| self.scalar(column)).collect();
                Expression::In { value: value(), list }
            }
            6 if TYPES[column] == ColumnType::Boolean => *value(),
            6 => {
                let (left, right) = (value(), value());
                Expression::Compare { comparison: COMPARISONS[at], left, right }
            }
            7 => Expression::Not(self.condition(depth - 1).into()),
            8 => Expression::Or((0..1 + self.below(3)).map(|_| self.comparison(column, Comparison::Equal)).collect()),
            9 => Expression::Or(vec![self.condition(depth - 1), self.condition(depth - 1)]),
            _ => Expression::And(vec![self.condition(depth - 1), self.condition(depth - 1)]),
        }
    }
}

pub(super) async fn rows_of(plan: &Plan) -> Vec<String> {
    let mut rows = run(plan, 2, &FixedBudget::new(PLENTY)).await.unwrap();
    rows.sort_by(|a, b| compare_rows(a, b));
    rows.iter().map(|row| format!("{row:?}")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filter_in_a_scan_selects_the_same_rows() {
    let (mut moved, mut selective, mut count) = (0, 0, 0);
    let cases = cases!(0..12);
    let is_replay = cases.is_replay();
    for case in cases {
        let mut random = case.random();
        let table = StoredTable::random(&mut random).await;
        for _ in 0..40 {
            let mut conditions = Conditions { random: &mut random, values: Vec::new() };
            let parts = (0..1 + conditions.below(3)).map(|_| conditions.condition(2)).collect();
            let values = conditions.values;
            let plan = Plan::Filter { input: table.plan().into(), condition: Expression::And(parts) };
            let bound = plan.bind(&values);
            let in_scan = bound.clone().with_filters_in_scans();
            let (expected, found) = (rows_of(&bound).await, rows_of(&in_scan).await);
            assert_eq!(found, expected, "{bound:?} as {in_scan:?}");
            count += 1;
            moved += usize::from(matches!(in_scan, Plan::Source { .. }));
            selective += usize::from(!found.is_empty() && found.len() < table.version().row_count() as usize);
        }
    }
    println!("{moved} of {count} filters moved as a whole, {selective} selected some rows");
    assert!(is_replay || moved * 4 > count && selective * 4 > count, "{moved} moved, {selective} selected some rows");
}

#[tokio::test]
async fn the_scan_shows_its_filters() {
    let table = StoredTable::new().await;
    let compare = |column, comparison, right: Expression| Expression::Compare {
        comparison,
        left: Expression::Column(column).into(),
        right: right.into(),
    };
    let int = |value| Expression::Constant(Some(Scalar::Int(value)));
    let kept = compare(1, Comparison::Less, Expression::Column(2));
    let either = vec![compare(2, Comparison::Equal, int(3)), compare(2, Comparison::Equal, Expression::Parameter(0))];
    let parts = vec![compare(1, Comparison::GreaterOrEqual, int(7)), Expression::Or(either), kept];
    let plan = Plan::Filter { input: table.plan().into(), condition: Expression::And(parts) };
    let check = |plan: &Plan, expected: &str| {
        let mut text = String::new();
        plan.describe(0, &mut text).unwrap();
        assert_eq!(text, expected);
    };
    let moved = plan.bind(&[Some(Scalar::Int(1))]).with_filters_in_scans();
    check(&moved, "Filter: #1 < #2\n  Scan: table=t, filters=[c1 >= 7, c2 IN (1, 3)]\n");
    let moved = plan.bind(&[None]).with_filters_in_scans();
    check(&moved, "Filter: #1 < #2\n  Scan: table=t, filters=[c1 >= 7, c2 = 3]\n");
    // Parameters are no constants.
    let moved = plan.with_filters_in_scans();
    check(&moved, "Filter: ((#2 = 3 OR #2 = parameter 0) AND #1 < #2)\n  Scan: table=t, filters=[c1 >= 7]\n");
}
