use super::*;
use crate::resolution::resolve_operator;
use crate::testing::FixedSession;

fn sorted(key: &SortKey, texts: [&str; 4]) -> Vec<String> {
    let mut values: Vec<Value> = texts.map(|text| if text == "-" { Value::Null } else { Value::text(text) }).into();
    values.sort_by(|left, right| key.compare(left, right, &FixedSession).expect("texts are compared"));
    values.iter().map(|value| if value.is_null() { "-".to_owned() } else { value.as_text().to_owned() }).collect()
}

#[test]
fn nulls_are_greater_than_all_values_unless_said_otherwise() {
    let texts = ["b", "-", "a", "B"];
    for (direction, nulls, expected) in [
        (Direction::Ascending, None, ["B", "a", "b", "-"]),
        (Direction::Descending, None, ["-", "b", "a", "B"]),
        (Direction::Ascending, Some(Nulls::First), ["-", "B", "a", "b"]),
        (Direction::Descending, Some(Nulls::Last), ["b", "a", "B", "-"]),
    ] {
        let key = SortKey::of(TypeId::VARCHAR, direction, nulls).expect("varchar has an order");
        assert_eq!(sorted(&key, texts), expected);
    }
}

#[test]
fn using_takes_operators_of_any_order() {
    let using = |name: &str, id: TypeId| {
        let operator = resolve_operator(name, Some(id), id).expect("the operator exists");
        SortKey::using(id, name, operator.function, None)
    };
    let texts = ["b", "-", "a", "B"];
    for name in ["~>~", ">"] {
        let key = using(name, TypeId::TEXT).expect("it is an order");
        assert_eq!(
            (key.direction(), sorted(&key, texts)),
            (Direction::Descending, ["-", "b", "a", "B"].map(str::to_owned).into())
        );
    }
    let key = using(">", TypeId::INT4_ARRAY).expect("it is an order");
    assert_eq!((key.direction(), key.nulls()), (Direction::Descending, Nulls::First));
    let error = using("<=", TypeId::INT4).expect_err("it is no order");
    assert_eq!((error.sqlstate(), error.message()), ("42809", "operator <= is not a valid ordering operator"));
}

#[test]
fn types_without_order_or_equality_are_refused() {
    let error = TypeOrder::of(TypeId::JSON).expect_err("json has no order");
    assert_eq!(error.message(), "could not identify an ordering operator for type json");
    assert_eq!((error.sqlstate(), error.hint().is_some()), ("42883", true));
    let error = TypeEquality::of(TypeId::JSON).expect_err("json has no equality");
    assert_eq!(error.message(), "could not identify an equality operator for type json");
}

#[test]
fn every_type_of_the_catalog_has_an_order_or_an_error() {
    for entry in pg_catalog().types() {
        // That it neither panics nor loops is what is tested.
        drop((TypeOrder::of(entry.id), TypeEquality::of(entry.id)));
    }
}
