//! Random expressions over random columns.

use braid_testing::properties;
use braid_testing::proptest::prelude::*;

use super::*;

/// Columns of the batches: two of integers, one each of floats, strings, booleans and dates, and one of nulls.
const INTEGERS: [usize; 2] = [0, 1];
const FLOATS: usize = 2;
const STRINGS: [usize; 2] = [3, 4];
const BOOLS: usize = 5;
const DATES: usize = 6;
const NULLS: usize = 7;

const TEXTS: [&str; 8] = ["", "a", "x", "ab", "éa日", "abcdefghijklmnop", "abcdefghijklmnoq", "b%_"];

fn any_integer() -> impl Strategy<Value = i128> {
    prop_oneof![
        6 => -9..9_i128,
        1 => prop::sample::select(vec![32_767, -32_768, 1 << 31, 1 << 62, -(1 << 63), 1 << 64, 1 << 100, i128::MAX, i128::MIN])
    ]
}

fn any_float() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![
        0.0,
        -0.0,
        1.5,
        -2.0,
        1e308,
        -1e308,
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ])
}

fn any_text() -> impl Strategy<Value = &'static str> {
    prop::sample::select(TEXTS.to_vec())
}

fn constant(scalar: Scalar) -> Expression {
    Expression::Constant(Some(scalar))
}

fn null() -> Expression {
    Expression::Constant(None)
}

fn any_case(condition: BoxedStrategy<Expression>, result: BoxedStrategy<Expression>) -> BoxedStrategy<Expression> {
    (prop::collection::vec((condition, result.clone()), 1..3), prop::option::of(result))
        .prop_map(|(branches, otherwise)| case(branches, otherwise))
        .boxed()
}

fn any_operation() -> impl Strategy<Value = Arithmetic> {
    prop::sample::select(vec![Arithmetic::Add, Arithmetic::Subtract, Arithmetic::Multiply])
}

fn integers(depth: u32) -> BoxedStrategy<Expression> {
    let leaf = prop_oneof![
        6 => prop::sample::select(INTEGERS.to_vec()).prop_map(column),
        1 => Just(column(NULLS)),
        3 => any_integer().prop_map(|value| constant(number_of(value))),
        1 => Just(null()),
    ];
    if depth == 0 {
        return leaf.boxed();
    }
    let inner = || integers(depth - 1);
    let ranges = vec![NumberRange::Int16, NumberRange::Int32, NumberRange::Int64, NumberRange::Numeric];
    prop_oneof![
        2 => leaf,
        4 => (any_operation(), prop::sample::select(ranges), inner(), inner()).prop_map(|(o, n, a, b)| arithmetic(o, n, a, b)),
        1 => (inner(), prop::sample::select(vec![0, 2, 18, 19, 38, 39, 200]))
            .prop_map(|(value, digits)| Expression::ScaleUp { value: Box::new(value), digits }),
        2 => any_case(booleans(depth - 1), inner()),
        1 => texts(depth - 1).prop_map(length_unless_x),
        1 => prop::sample::select(vec![DatePart::Year, DatePart::Quarter, DatePart::Month, DatePart::Day])
            .prop_map(|part| Expression::DatePart { part, value: Box::new(column(DATES)) }),
    ]
    .boxed()
}

fn floats(depth: u32) -> BoxedStrategy<Expression> {
    let leaf = prop_oneof![
        4 => Just(column(FLOATS)),
        1 => Just(column(NULLS)),
        2 => any_float().prop_map(|value| constant(Scalar::Float(value))),
    ];
    if depth == 0 {
        return leaf.boxed();
    }
    let inner = || floats(depth - 1);
    prop_oneof![
        leaf,
        (any_operation(), inner(), inner()).prop_map(|(o, a, b)| arithmetic(o, NumberRange::Double, a, b)),
        any_case(booleans(depth - 1), inner()),
    ]
    .boxed()
}

fn texts(depth: u32) -> BoxedStrategy<Expression> {
    let leaf = prop_oneof![
        4 => prop::sample::select(STRINGS.to_vec()).prop_map(column),
        1 => Just(column(NULLS)),
        2 => any_text().prop_map(text),
        1 => Just(null()),
    ];
    if depth == 0 {
        return leaf.boxed();
    }
    let inner = || texts(depth - 1);
    prop_oneof![
        2 => leaf,
        1 => (inner(), -2i64..4, prop::option::of(0i64..5))
            .prop_map(|(value, start, length)| Expression::Substring { value: Box::new(value), start, length }),
        2 => any_case(booleans(depth - 1), inner()),
    ]
    .boxed()
}

fn booleans(depth: u32) -> BoxedStrategy<Expression> {
    let leaf = prop_oneof![
        5 => Just(column(BOOLS)),
        1 => Just(column(NULLS)),
        1 => any::<bool>().prop_map(|value| constant(Scalar::Bool(value))),
        1 => Just(null()),
    ];
    if depth == 0 {
        return leaf.boxed();
    }
    let inner = || booleans(depth - 1);
    let comparisons = || {
        prop::sample::select(vec![
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Less,
            Comparison::LessOrEqual,
            Comparison::Greater,
            Comparison::GreaterOrEqual,
        ])
    };
    let compared = |operand: BoxedStrategy<Expression>| {
        (comparisons(), operand.clone(), operand).prop_map(|(comparison, a, b)| compare(comparison, a, b))
    };
    let contained = |value: BoxedStrategy<Expression>, list: BoxedStrategy<Vec<Scalar>>| {
        (value, list).prop_map(|(value, list)| Expression::In { value: Box::new(value), list })
    };
    prop_oneof![
        1 => leaf,
        3 => compared(integers(depth - 1)),
        2 => compared(floats(depth - 1)),
        3 => compared(texts(depth - 1)),
        1 => compared(inner()),
        3 => prop::collection::vec(inner(), 1..5).prop_map(Expression::And),
        3 => prop::collection::vec(inner(), 1..5).prop_map(Expression::Or),
        1 => inner().prop_map(|value| Expression::Not(Box::new(value))),
        1 => prop_oneof![integers(depth - 1), floats(depth - 1), texts(depth - 1), inner()]
            .prop_map(|value| Expression::IsNull(Box::new(value))),
        1 => contained(integers(depth - 1), prop::collection::vec(any_integer().prop_map(number_of), 0..9).boxed()),
        1 => contained(floats(depth - 1), prop::collection::vec(any_float().prop_map(Scalar::Float), 0..9).boxed()),
        1 => contained(
            texts(depth - 1),
            prop::collection::vec(any_text().prop_map(|text| Scalar::Bytes(text.into())), 0..8).boxed()
        ),
        1 => contained(inner(), prop::collection::vec(any::<bool>().prop_map(Scalar::Bool), 0..2).boxed()),
        2 => (texts(depth - 1), "[ab%_é]{0,4}").prop_map(|(value, pattern)| like(value, &pattern)),
        1 => any_case(inner(), inner()),
    ]
    .boxed()
}

/// An expression of any type.
fn any_expression() -> impl Strategy<Value = Expression> {
    prop_oneof![integers(3), floats(2), texts(3), booleans(3)]
}

fn with_nulls(values: Values, valid: Vec<bool>) -> Vector {
    let valid = valid.contains(&false).then_some(valid);
    Vector::new(values, valid)
}

fn integer_column(rows: usize) -> impl Strategy<Value = Vector> {
    let narrow = prop::collection::vec(any_integer().prop_map(|value| value as i64), rows).prop_map(Values::Int);
    let wide = prop::collection::vec(any_integer(), rows).prop_map(Values::Int128);
    (prop_oneof![2 => narrow, 1 => wide], validity(rows)).prop_map(|(values, valid)| with_nulls(values, valid))
}

fn string_column(rows: usize) -> impl Strategy<Value = Vector> {
    let plain = prop::collection::vec(any_text(), rows).prop_map(|values| strings(&values));
    let codes = prop::collection::vec(0..TEXTS.len() as u32, rows).prop_map(|codes| coded(&TEXTS, &codes));
    (prop_oneof![plain, codes], validity(rows)).prop_map(|(values, valid)| with_nulls(values, valid))
}

fn validity(rows: usize) -> impl Strategy<Value = Vec<bool>> {
    prop_oneof![Just(vec![true; rows]), prop::collection::vec(prop::bool::weighted(0.7), rows)]
}

fn any_columns() -> impl Strategy<Value = Vec<Vector>> {
    prop_oneof![1 => 0usize..2, 4 => 1usize..40].prop_flat_map(|rows| {
        let floats = (prop::collection::vec(any_float(), rows), validity(rows));
        let bools = (prop::collection::vec(any::<bool>(), rows), validity(rows));
        let dates = prop::collection::vec(-800_000i64..3_000_000, rows).prop_map(Vector::integers);
        (
            [integer_column(rows), integer_column(rows)],
            floats.prop_map(|(values, valid)| with_nulls(Values::Float(values), valid)),
            [string_column(rows), string_column(rows)],
            bools.prop_map(|(values, valid)| with_nulls(Values::Bool(values), valid)),
            dates,
        )
            .prop_map(move |([a, b], floats, [c, d], bools, dates)| {
                vec![a, b, floats, c, d, bools, dates, Vector::repeat(None, rows)]
            })
    })
}

fn batch_of(columns: &[Vector], deferred: bool) -> Batch {
    if !deferred {
        return batch(columns.to_vec());
    }
    let rows = columns[0].len();
    let mut batch = Batch::new(rows);
    let origin = Arc::new(Vectors(columns.to_vec()));
    batch.push_deferred(origin, (0..rows as u32).collect::<Vec<u32>>(), 0..columns.len());
    batch
}

fn reason(error: &ExecError) -> String {
    match error {
        ExecError::OutOfRange { type_name } => (*type_name).to_owned(),
        other => other.to_string(),
    }
}

/// Whether every part is evaluated for every row.
fn is_strict(expression: &Expression) -> bool {
    !matches!(expression, Expression::And(_) | Expression::Or(_) | Expression::Case { .. })
        && expression.children().into_iter().all(is_strict)
}

properties! {
    400 cases;

    #[test]
    fn vectors_are_as_rows(
        expression in any_expression(),
        batches in prop::collection::vec((any_columns(), any::<bool>()), 1..4),
    ) {
        let mut evaluator = evaluator(expression.clone());
        for (columns, deferred) in batches {
            let row_count = columns[0].len();
            let row = |row: usize| columns.iter().map(|column| column.value(row)).collect::<Vec<Option<Scalar>>>();
            let expected: Vec<Result<Option<Scalar>, String>> =
                (0..row_count).map(|at| value(&expression, &row(at))).collect();
            let errors: Vec<&String> = expected.iter().filter_map(|value| value.as_ref().err()).collect();
            match evaluator.evaluate(&mut batch_of(&columns, deferred)) {
                Ok(vector) => {
                    prop_assert_eq!(vector.len(), row_count);
                    prop_assert!(errors.is_empty() || !is_strict(&expression), "no error, but {:?}", errors);
                    for (found, expected) in scalars(&vector).iter().zip(&expected) {
                        if let Ok(expected) = expected {
                            prop_assert_eq!(found, expected);
                        }
                    }
                }
                Err(error) => prop_assert!(errors.contains(&&reason(&error)), "{} but {:?}", error, errors),
            }
        }
    }

    #[test]
    fn what_is_selected_is_true(
        expression in booleans(3),
        batches in prop::collection::vec((any_columns(), any::<bool>()), 1..20),
    ) {
        let mut evaluator = evaluator(expression.clone());
        for (columns, deferred) in batches {
            let row_count = columns[0].len();
            let row = |row: usize| columns.iter().map(|column| column.value(row)).collect::<Vec<Option<Scalar>>>();
            let expected: Vec<Result<Option<Scalar>, String>> =
                (0..row_count).map(|at| value(&expression, &row(at))).collect();
            let errors: Vec<&String> = expected.iter().filter_map(|value| value.as_ref().err()).collect();
            match evaluator.select(&mut batch_of(&columns, deferred)) {
                Ok(selected) => {
                    prop_assert_eq!(selected.len(), row_count);
                    for (found, expected) in selected.iter().zip(&expected) {
                        if let Ok(expected) = expected {
                            prop_assert_eq!(*found, *expected == Some(Scalar::Bool(true)));
                        }
                    }
                }
                Err(error) => prop_assert!(errors.contains(&&reason(&error)), "{} but {:?}", error, errors),
            }
        }
    }

    #[test]
    fn columns_are_those_that_are_mapped(expression in any_expression()) {
        let mut before = Vec::new();
        expression.columns(&mut before);
        let mut mapped = expression.clone();
        mapped.map_columns(&mut |column| column + 10);
        let mut after = Vec::new();
        mapped.columns(&mut after);
        prop_assert_eq!(before.iter().map(|column| column + 10).collect::<Vec<usize>>(), after);
    }
}
