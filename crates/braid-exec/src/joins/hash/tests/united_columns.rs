//! The combination of workers' columns, for all representations.

use super::parallel_build::{FINE, RUNTIME};
use super::random_sides::vector;
use super::*;
use crate::MemoryBudget;
use crate::joins::hash::build::united_columns::unite;
use crate::joins::hash::build_tasks::BuildTasks;
use crate::runtime::collected_rows::CollectedRows;
use crate::runtime::stop::StopFlag;
use crate::values::vector::Values;

/// Columns of workers with nulls, in all representations of each kind.
fn forms() -> Vec<Vec<Vector>> {
    let scalars = |values: &[&str]| -> Vec<Value> {
        values.iter().map(|value| (!value.is_empty()).then(|| Scalar::Bytes(value.as_bytes().to_vec()))).collect()
    };
    let strings = |values: &[&str], form: u8| vector(&scalars(values), form);
    let integers = |values: &[i128], form: u8| {
        let values: Vec<Value> = values
            .iter()
            .map(|value| i64::try_from(*value).map_or(Some(Scalar::Int128(*value)), |value| Some(Scalar::Int(value))))
            .collect();
        vector(&values, form)
    };
    let nulls = |count: usize| Vector::repeat(None, count);
    let long = "a string that does not fit its view, and more";
    let many: Vec<String> = (0..100).map(|number| format!("{number}{long}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    vec![
        vec![integers(&[1, 2, 3], 0), integers(&[4], 2)],
        vec![integers(&[1, 2], 0), integers(&[1 << 100, 7], 0), nulls(2), integers(&[5], 1)],
        vec![nulls(2), integers(&[9], 0)],
        vec![nulls(1), nulls(2)],
        vec![vector(&[Some(Scalar::Bool(true)), None], 0), vector(&[Some(Scalar::Bool(true))], 2), nulls(1)],
        vec![vector(&[Some(Scalar::Float(1.5))], 2), nulls(1), vector(&[None, Some(Scalar::Float(-2.0))], 0)],
        vec![strings(&["a", long, ""], 0), strings(&[long, "b"], 0), nulls(1), strings(&["", long], 0)],
        vec![strings(&["a", long], 1), strings(&[long, "", "b"], 1), nulls(2), strings(&["a"], 1)],
        vec![nulls(1), strings(&[long, "b"], 1), strings(&["c", "b"], 1)],
        vec![strings(&["a", long], 1), strings(&many, 1), strings(&["c", "b"], 0), nulls(1)],
    ]
}

#[test]
fn columns_become_one_whatever_their_forms() {
    for vectors in forms() {
        let values = |vector: &Vector| (0..vector.len()).map(|row| vector.value(row)).collect::<Vec<Value>>();
        let expected: Vec<Value> = vectors.iter().flat_map(values).collect();
        let mut appended = vectors[0].clone();
        vectors[1..].iter().for_each(|vector| appended.append(vector));
        let stays_coded = matches!(appended.values(), Values::Coded(_));
        // Parts take a step of 64 KiB each; in the end there is no room for one more column.
        for limit in [1 << 30, vectors.len() << 16] {
            let budget: Arc<dyn MemoryBudget> = FixedBudget::new(ByteSize(limit as u64));
            let part = |vector: &Vector| {
                let mut part = CollectedRows::new(1, Reservation::new(budget.clone(), "hash join"));
                part.consume(&mut Batch::of_vectors(vector.len(), [Arc::new(vector.clone())])).unwrap();
                part
            };
            let parts = vectors.iter().map(part).collect();
            let mut tasks = BuildTasks::new(3, expected.len(), &StopFlag::default(), FINE);
            let united = RUNTIME.block_on(unite(1, parts, &mut tasks)).unwrap();
            assert_eq!(united.row_count, expected.len());
            let column = &united.columns[0];
            assert_eq!(values(column), expected);
            assert!(!stays_coded || matches!(column.values(), Values::Coded(_)), "{column:?}");
            assert_eq!(column.valid().is_some(), expected.contains(&None));
        }
    }
}
