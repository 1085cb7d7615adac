//! Grouping sets and aggregates.

use super::order::sort_keys;
use super::{Environment, Row};
use crate::aggregates::Aggregate;
use crate::expression::Expression;
use crate::functions::{Call, UnlimitedMemory};
use crate::pg_catalog::pg_catalog;
use crate::relation::{AggregateCall, Aggregation, ColumnId};
use crate::{SqlError, Value};

/// Rows that are equal in the keys of a grouping set.
struct Group {
    /// Null where the set lacks the key.
    keys: Vec<Value>,
    rows: Vec<Row>,
}

impl Environment<'_> {
    /// A row for each group of each grouping set.
    pub(super) fn aggregated(&self, aggregation: &Aggregation) -> Result<Vec<Row>, SqlError> {
        let input = self.rows(&aggregation.input)?;
        let mut all = Vec::new();
        for set in &aggregation.sets {
            for group in self.groups(&aggregation.keys, set, &input)? {
                let columns = aggregation.keys.iter().map(|(column, _)| *column);
                let mut made: Row = columns.zip(group.keys).collect();
                for (column, call) in &aggregation.aggregates {
                    made.insert(*column, self.aggregate(call, &group.rows)?);
                }
                for (column, positions) in &aggregation.groupings {
                    let bits = positions.iter().fold(0, |bits, at| bits * 2 + i32::from(!set.contains(at)));
                    made.insert(*column, Value::Int4(bits));
                }
                all.push(made);
            }
        }
        Ok(all)
    }

    /// The groups of a set. That of the empty set is there without rows, too.
    fn groups(&self, keys: &[(ColumnId, Expression)], set: &[usize], input: &[Row]) -> Result<Vec<Group>, SqlError> {
        let expressions: Vec<Expression> = keys.iter().map(|(_, key)| key.clone()).collect();
        let equality = self.equality_of(&expressions)?;
        let mut groups: Vec<Group> = Vec::new();
        if set.is_empty() {
            groups.push(Group { keys: vec![Value::Null; keys.len()], rows: Vec::new() });
        }
        for row in input {
            let mut values = self.values(&expressions, row)?;
            for (at, value) in values.iter_mut().enumerate() {
                if !set.contains(&at) {
                    *value = Value::Null;
                }
            }
            let known: Vec<Vec<Value>> = groups.iter().map(|group| group.keys.clone()).collect();
            match equality.position(&values, &known)? {
                Some(at) => groups[at].rows.push(row.clone()),
                None => groups.push(Group { keys: values, rows: vec![row.clone()] }),
            }
        }
        Ok(groups)
    }

    /// An aggregate of the rows of a group.
    fn aggregate(&self, call: &AggregateCall, rows: &[Row]) -> Result<Value, SqlError> {
        let entry = pg_catalog().function(call.function);
        let aggregate = Aggregate::of(entry)
            .ok_or_else(|| SqlError::unsupported(format!("aggregate {} is not supported", entry.name)))?;
        let mut counted = Vec::new();
        for row in rows {
            if call.filter.as_ref().map_or(Ok(true), |filter| self.holds(filter, row))? {
                counted.push(row.clone());
            }
        }
        // Without ORDER BY, DISTINCT sorts.
        let further: &[Expression] = if call.is_distinct { &call.arguments } else { &[] };
        let sorted = self.sorted(counted, &call.order_by, further)?;
        let context = Call {
            session: self.world.session,
            argument_types: &call.argument_types,
            result_type: call.sql_type,
            memory: &UnlimitedMemory,
        };
        let (direct, of_rows, keys) = match call.is_within_group {
            true => {
                let keys: Vec<Expression> = call.order_by.iter().map(|key| key.expression.clone()).collect();
                let row = rows.first().cloned().unwrap_or_default();
                (self.values(&call.arguments, &row)?, keys, sort_keys(&call.order_by)?)
            }
            false => (Vec::new(), call.arguments.clone(), Vec::new()),
        };
        let mut lists = Vec::new();
        for row in &sorted {
            lists.push(self.values(&of_rows, row)?);
        }
        if call.is_distinct {
            lists = self.equality_of(&of_rows)?.without_repetitions(lists)?;
        }
        let mut accumulation = aggregate.start(&context, &keys)?;
        for list in lists {
            accumulation.add(&list, &context)?;
        }
        accumulation.finish(&direct, &context)
    }
}
