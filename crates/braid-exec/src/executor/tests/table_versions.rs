//! Plans whose scans read other versions of their tables than those that they were made with.

use super::stored_tables::{StoredTable, TYPES};
use super::*;
use crate::plan::{AggregateCall, AggregateFunction};

fn row_count(input: Plan) -> Plan {
    let call = AggregateCall { function: AggregateFunction::CountRows, argument: None, distinct: false, filter: None };
    let spec = AggregationSpec { keys: Vec::new(), aggregates: vec![call] };
    Plan::Aggregate { input: input.into(), spec: spec.into() }
}

/// The rows of a table with their number, from a scalar subquery, and a constant from another source.
fn numbered(table: &Plan) -> Plan {
    let one = ResultRows::new(1, vec![Vector::integers(vec![7])]);
    let one = Plan::Source { source: Arc::new(ResultSource::new(vec![Arc::new(one)])), column_count: 1 };
    let expressions = vec![Expression::SubqueryValue(0), Expression::SubqueryValue(1)];
    let input = Plan::Project { input: table.clone().into(), expressions };
    Plan::WithScalars { subqueries: vec![row_count(table.clone()), one], input: input.into() }
}

#[tokio::test]
async fn a_plan_reads_the_versions_that_it_is_given() {
    let mut random = SeededRandom::new(1);
    let table = StoredTable::new().await;
    table.insert(30, &mut random).await;
    let plan = numbered(&table.plan());
    let old = table.version();
    assert_eq!(plan.tables().into_iter().collect::<Vec<_>>(), [old.def.id]);
    table.insert(10, &mut random).await;
    let new = table.version();
    for (version, count) in [(&old, 30), (&new, 40), (&old, 30)] {
        let plan = plan.at_versions(|id| (id == version.def.id).then(|| version.clone())).unwrap();
        let rows = run(&plan, 2, &FixedBudget::new(PLENTY)).await.unwrap();
        let int = |value: i64| Some(Scalar::Int(value));
        assert_eq!(rows, vec![vec![int(count), int(7)]; count as usize]);
    }
    assert!(plan.at_versions(|_| None).is_none(), "the table is gone");
    let mut other = (*new).clone();
    let mut def = (*other.def).clone();
    def.columns.pop();
    other.def = def.into();
    assert!(plan.at_versions(|_| Some(Arc::new(other.clone()))).is_none(), "a table without column {}", TYPES.len());
}
