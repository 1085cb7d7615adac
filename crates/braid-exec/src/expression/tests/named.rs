//! Single cases.

use super::*;

fn evaluate(expression: Expression, batch: &mut Batch) -> Result<Vec<Option<Scalar>>, String> {
    let vector = evaluator(expression).evaluate(batch).map_err(|error| error.to_string())?;
    Ok(scalars(&vector))
}

fn ints<const N: usize>(values: [i64; N]) -> Vec<Option<Scalar>> {
    values.into_iter().map(|value| Some(Scalar::Int(value))).collect()
}

#[test]
fn evaluators_go_to_their_worker() {
    fn is_send<T: Send>() {}
    is_send::<Evaluator>();
}

#[test]
fn a_column_is_not_copied() {
    let mut batch = batch([Vector::integers(vec![1, 2])]);
    let found = evaluator(column(0)).evaluate(&mut batch).unwrap();
    assert!(Arc::ptr_eq(&found, &batch.column(0)));
}

#[test]
fn what_lies_under_a_null_does_not_overflow() {
    let nulls = || Vector::new(Values::Int(vec![i64::MAX, 5]), Some(vec![false, true]));
    for range in [NumberRange::Int16, NumberRange::Int32, NumberRange::Int64, NumberRange::Numeric] {
        for operation in [Arithmetic::Add, Arithmetic::Multiply] {
            let sum = arithmetic(operation, range, column(0), int(3));
            let found = evaluator(sum).evaluate(&mut batch([nulls()])).unwrap();
            assert!(matches!(found.values(), Values::Int(_)), "no value is wide");
            let expected = if operation == Arithmetic::Add { 8 } else { 15 };
            assert_eq!(scalars(&found), [None, Some(Scalar::Int(expected))]);
        }
    }
    let huge = Vector::new(Values::Float(vec![1e308, 1.0]), Some(vec![false, true]));
    let product = arithmetic(Arithmetic::Multiply, NumberRange::Double, column(0), column(0));
    assert_eq!(evaluate(product, &mut batch([huge])), Ok(vec![None, Some(Scalar::Float(1.0))]));
}

#[test]
fn a_constant_that_is_out_of_range_fails_for_rows_only() {
    let beyond = || arithmetic(Arithmetic::Add, NumberRange::Int32, int(i32::MAX.into()), int(1));
    let two = || batch([Vector::integers(vec![1, 2])]);
    assert_eq!(evaluate(beyond(), &mut two()), Err("integer out of range".to_owned()));
    assert_eq!(evaluate(beyond(), &mut batch([Vector::integers(vec![])])), Ok(vec![]));
    let is_large = || compare(Comparison::Greater, column(0), int(9));
    assert_eq!(evaluate(case(vec![(is_large(), beyond())], Some(column(0))), &mut two()), Ok(ints([1, 2])));
    let both = Expression::And(vec![is_large(), compare(Comparison::Equal, beyond(), column(0))]);
    assert_eq!(evaluator(both).select(&mut two()).unwrap(), [false, false]);
}

#[test]
fn parts_that_fail_are_not_asked_for_rows_that_are_decided() {
    let small = || compare(Comparison::Less, column(0), int(100));
    let square = || arithmetic(Arithmetic::Multiply, NumberRange::Int16, column(0), column(0));
    let rows = || batch([Vector::integers(vec![3, 30_000, 12, 5, 6, 7])]);
    let even = |connective: fn(Vec<Expression>) -> Expression, first: Expression| {
        connective(vec![first, compare(Comparison::Greater, square(), int(30))])
    };
    let expected = [false, false, true, false, true, true];
    assert_eq!(evaluator(even(Expression::And, small())).select(&mut rows()).unwrap(), expected);
    let large = Expression::Not(Box::new(small()));
    let expected = [false, true, true, false, true, true];
    assert_eq!(evaluator(even(Expression::Or, large)).select(&mut rows()).unwrap(), expected);
    let written_first = Expression::And(vec![compare(Comparison::Greater, square(), int(30)), column(1)]);
    let mut rows = rows();
    rows.push(Arc::new(Vector::new(Values::Bool(vec![true; 6]), None)));
    assert!(evaluator(written_first).select(&mut rows).is_err());
}

#[test]
fn dictionaries_do_not_mix() {
    let mut evaluator = evaluator(like(column(0), "a%"));
    for (values, expected) in [(["a", "b"], [true, false]), (["b", "a"], [false, true]), (["ab", "a"], [true, true])] {
        let found = evaluator.select(&mut batch([Vector::new(coded(&values, &[0, 1]), None)])).unwrap();
        assert_eq!(found, expected);
    }
    let nulls = Vector::new(coded(&[], &[0, 0]), Some(vec![false, false]));
    assert_eq!(evaluator.select(&mut batch([nulls])).unwrap(), [false, false]);
}

#[test]
fn constants_of_case_share_a_dictionary() {
    let is_a = compare(Comparison::Equal, column(0), text("a"));
    let mut evaluator = evaluator(case(vec![(is_a, text("yes"))], Some(text("no"))));
    let mut dictionaries = Vec::new();
    for _ in 0..2 {
        let found = evaluator.evaluate(&mut batch([Vector::new(strings(&["a", "b", "a"]), None)])).unwrap();
        let Values::Coded(coded) = found.values() else { panic!("codes") };
        assert_eq!([coded.get(0), coded.get(1), coded.get(2)], [b"yes".as_slice(), b"no", b"yes"]);
        dictionaries.push(coded.dictionary.clone());
    }
    assert!(Arc::ptr_eq(&dictionaries[0], &dictionaries[1]));
}

#[test]
fn functions_from_elsewhere_report_their_errors() {
    let mut rows = batch([Vector::new(strings(&["ab", "x", ""]), Some(vec![true, false, true]))]);
    let expected = vec![Some(Scalar::Int(2)), None, Some(Scalar::Int(0))];
    assert_eq!(evaluate(length_unless_x(column(0)), &mut rows), Ok(expected));
    assert_eq!(evaluate(length_unless_x(text("abc")), &mut rows), Ok(ints([3, 3, 3])));
    assert_eq!(evaluate(length_unless_x(text("x")), &mut rows), Err("x has no length".to_owned()));
}
