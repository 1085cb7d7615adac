//! Groups that exist without rows: each gets a row that no aggregate counts.
//!
//! L ⟕ T, where T has a further column that is true in its rows and null in those that it lacks. The aggregates of T's rows filter by it. A
//! grouping set that is not empty has no group of a row that is absent.

use braid_sql::expression::Node;
use braid_sql::pg_catalog::{FunctionEntry, TypeId, pg_catalog};
use braid_sql::relation::{AggregateCall, Aggregation, ColumnId, JoinKind, Relation};
use braid_sql::{Expression, SqlType, Value};

use super::Unnester;
use super::dependent_join::join;
use crate::rewriting::expressions::{all_of, column, conjuncts, has_subquery, mapped, operator, truth};
use crate::rewriting::static_rows::{bigint, is_static};

/// Most arguments of GROUPING.
const KEYS_MAX: usize = 31;

impl Unnester<'_> {
    /// The aggregation, with a row if direct arguments of its aggregates are computed of one that might not be there.
    pub(super) fn with_direct_arguments(&mut self, mut aggregation: Aggregation) -> Relation {
        let reads = |call: &AggregateCall| call.is_within_group && call.arguments.iter().any(has_subquery);
        if is_static(&aggregation) && aggregation.aggregates.iter().any(|(_, call)| reads(call)) {
            let input = std::mem::replace(&mut aggregation.input, Relation::OneRow);
            // A static aggregation has no keys, so that nothing is left to be checked.
            self.count_present_rows(&mut aggregation, Relation::OneRow, input, all_of(Vec::new()));
        }
        Relation::Aggregate(Box::new(aggregation))
    }

    /// Puts L ⟕ T below an aggregation of T, whose aggregates then count the rows of T only: the conditions on its groups.
    pub(super) fn count_present_rows(
        &mut self,
        aggregation: &mut Aggregation,
        left: Relation,
        input: Relation,
        condition: Expression,
    ) -> Option<Vec<Expression>> {
        let present = self.columns.add("present", SqlType::of(TypeId::BOOL));
        let input = mapped(input, vec![(present, all_of(Vec::new()))]);
        aggregation.input = join(JoinKind::Left, left, input, condition);
        let present = column(present, self.columns);
        let is_present = truth(Node::Is(true, Box::new(present)));
        for (_, key) in &mut aggregation.keys {
            let otherwise = Box::new(Expression::constant(Value::Null, key.sql_type));
            key.node = Node::Case { branches: vec![(is_present.clone(), key.clone())], otherwise };
        }
        for (_, call) in &mut aggregation.aggregates {
            let filter = call.filter.take().into_iter().flat_map(conjuncts);
            call.filter = Some(all_of(std::iter::once(is_present.clone()).chain(filter).collect()));
        }
        match aggregation.keys.len() {
            0 => Some(Vec::new()),
            count if count > KEYS_MAX => None,
            count => self.has_rows_or_no_keys(aggregation, count, is_present),
        }
    }

    /// The condition of a group that it has a row or that its set is empty.
    fn has_rows_or_no_keys(
        &mut self,
        aggregation: &mut Aggregation,
        key_count: usize,
        is_present: Expression,
    ) -> Option<Vec<Expression>> {
        let (bigint_type, integer) = (SqlType::of(TypeId::INT8), SqlType::of(TypeId::INT4));
        let mut named = pg_catalog().functions_named("count");
        let is_of_rows = |entry: &&FunctionEntry| entry.arguments.is_empty();
        let call = AggregateCall {
            function: named.find(is_of_rows).expect("the catalog has the functions of PostgreSQL").id,
            arguments: Vec::new(),
            argument_types: Vec::new(),
            sql_type: bigint_type,
            is_distinct: false,
            order_by: Vec::new(),
            is_within_group: false,
            filter: Some(is_present),
        };
        let counted: ColumnId = self.columns.add("count", bigint_type);
        aggregation.aggregates.push((counted, call));
        let lacking = self.columns.add("grouping", integer);
        aggregation.groupings.push((lacking, (0..key_count).collect()));
        let all = i32::try_from((1_i64 << key_count) - 1).ok()?;
        let all = Expression::constant(Value::Int4(all), integer);
        let has_rows = operator(">", column(counted, self.columns), bigint(0))?;
        let has_no_keys = operator("=", column(lacking, self.columns), all)?;
        Some(vec![truth(Node::Or(vec![has_rows, has_no_keys]))])
    }
}
