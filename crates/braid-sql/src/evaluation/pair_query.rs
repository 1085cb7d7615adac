//! Queries of expressions and conditions over the pairs of rows of two tables, evaluated pair by pair.
//!
//! For a few pairs this is less work than to plan the query and to run the plan.

use std::collections::HashMap;
use std::fmt;

use super::{Evaluation, Row};
use crate::expression::{Expression, Node};
use crate::relation::{ColumnId, JoinKind, Query, Relation, Subquery, TableScan};
use crate::values::Value;
use crate::{SqlError, SqlType};

/// A row of each of two tables.
pub trait Pair: fmt::Debug {
    /// The value of a column of the row of a table: the first one in the query's text, or the second.
    ///
    /// # Errors
    /// For a value that cannot be read.
    fn value(&self, table: TableOfPair, place: usize) -> Result<Value, SqlError>;
}

/// Which table of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableOfPair {
    /// The one on the left of the join.
    First,
    /// The one on its right.
    Second,
}

/// Such a query, bound.
#[derive(Clone, Debug, PartialEq)]
pub struct PairQuery {
    places: HashMap<ColumnId, (TableOfPair, usize)>,
    steps: Vec<Step>,
    outputs: Vec<(ColumnId, SqlType)>,
}

/// What is done with a pair, in turn.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// It is left out unless this is true.
    Keep(Expression),
    /// It gets this column.
    Make(ColumnId, Expression),
}

impl PairQuery {
    /// The query; `None` if it is another one, or has an expression whose value depends on more than the pair, the parameters and the facts of
    /// the session: volatile functions, subqueries, and types that the database may change. Nor has it any that may take long.
    pub fn of(query: &Query) -> Option<Self> {
        let (mut places, mut steps) = (HashMap::new(), Vec::new());
        collect(&query.relation, &mut places, &mut steps)?;
        let is_simple = steps.iter().all(|step| match step {
            Step::Keep(expression) | Step::Make(_, expression) => {
                !expression.is_volatile() && !expression.may_take_long() && is_of_fixed_types(expression)
            }
        });
        let outputs = query.outputs.iter().map(|output| (output.column, output.sql_type)).collect();
        is_simple.then_some(Self { places, steps, outputs })
    }

    /// The types of its columns.
    pub fn types(&self) -> impl ExactSizeIterator<Item = SqlType> {
        self.outputs.iter().map(|(_, sql_type)| *sql_type)
    }

    /// The row that it makes of a pair, if any.
    ///
    /// # Errors
    /// Those of its expressions. What is behind a condition that is not true is not evaluated.
    pub fn row(&self, pair: &dyn Pair, evaluation: &Evaluation<'_>) -> Result<Option<Vec<Value>>, SqlError> {
        let mut made = PairRow { query: self, pair, made: HashMap::new() };
        for step in &self.steps {
            match step {
                Step::Keep(condition) => {
                    if evaluation.in_row(&made).value(condition)? != Value::Bool(true) {
                        return Ok(None);
                    }
                }
                Step::Make(column, expression) => {
                    let value = evaluation.in_row(&made).value(expression)?;
                    made.made.insert(*column, value);
                }
            }
        }
        self.outputs.iter().map(|(column, _)| made.column(*column)).collect::<Result<_, _>>().map(Some)
    }
}

/// A pair with the columns that were made of it.
#[derive(Debug)]
struct PairRow<'a> {
    query: &'a PairQuery,
    pair: &'a dyn Pair,
    made: HashMap<ColumnId, Value>,
}

impl Row for PairRow<'_> {
    fn column(&self, column: ColumnId) -> Result<Value, SqlError> {
        match (self.made.get(&column), self.query.places.get(&column)) {
            (Some(value), _) => Ok(value.clone()),
            (None, Some((table, place))) => self.pair.value(*table, *place),
            (None, None) => Err(SqlError::unsupported("a column of another table is not supported here")),
        }
    }

    fn subquery(&self, _: &Subquery, _: &Evaluation<'_>) -> Result<Value, SqlError> {
        Err(SqlError::unsupported("subqueries over a pair of rows are not supported"))
    }
}

fn collect(
    relation: &Relation,
    places: &mut HashMap<ColumnId, (TableOfPair, usize)>,
    steps: &mut Vec<Step>,
) -> Option<()> {
    match relation {
        Relation::Join { kind: JoinKind::Inner, left, right, condition } => {
            for (table, side) in [(TableOfPair::First, left), (TableOfPair::Second, right)] {
                let Relation::Table(TableScan { columns, sample: None, .. }) = &**side else { return None };
                places.extend(columns.iter().enumerate().map(|(place, column)| (*column, (table, place))));
            }
            steps.push(Step::Keep(condition.clone()));
        }
        Relation::Filter { input, condition } => {
            collect(input, places, steps)?;
            steps.push(Step::Keep(condition.clone()));
        }
        Relation::Map { input, expressions } => {
            collect(input, places, steps)?;
            steps.extend(expressions.iter().cloned().map(|(column, expression)| Step::Make(column, expression)));
        }
        _ => return None,
    }
    Some(())
}

/// Whether no subquery and no enumerated type or domain is in it.
fn is_of_fixed_types(expression: &Expression) -> bool {
    let is_other =
        matches!(expression.node, Node::Subquery(_) | Node::Domain(_)) || expression.sql_type.id.is_of_user();
    !is_other && !expression.any_operand(&mut |operand| !is_of_fixed_types(operand))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pg_catalog::TypeId;
    use crate::relation::Output;
    use crate::testing::FixedSession;

    /// A pair of single numbers.
    #[derive(Debug)]
    struct Numbers(i32, i32);

    impl Pair for Numbers {
        fn value(&self, table: TableOfPair, _: usize) -> Result<Value, SqlError> {
            Ok(Value::Int4(if table == TableOfPair::First { self.0 } else { self.1 }))
        }
    }

    fn table(number: u64, column: u32) -> Box<Relation> {
        let (name, columns) = (format!("t{number}"), vec![ColumnId(column)]);
        Box::new(Relation::Table(TableScan { table: number, name, columns, sample: None }))
    }

    fn integer(node: Node) -> Expression {
        Expression { node, sql_type: SqlType::of(TypeId::INT4) }
    }

    fn column(number: u32) -> Expression {
        integer(Node::Column(ColumnId(number), crate::expression::Origin::default()))
    }

    fn is_null(operand: Expression) -> Expression {
        Expression { node: Node::IsNull(Box::new(operand)), sql_type: SqlType::of(TypeId::BOOL) }
    }

    fn not(operand: Expression) -> Expression {
        Expression { node: Node::Not(Box::new(operand)), sql_type: SqlType::of(TypeId::BOOL) }
    }

    /// Both columns, if `condition`.
    fn query(kind: JoinKind, condition: Expression) -> Query {
        let truth = Expression::of(Value::Bool(true), TypeId::BOOL);
        let join = Relation::Join { kind, left: table(1, 1), right: table(2, 2), condition: truth };
        let filter = Relation::Filter { input: Box::new(join), condition };
        let made = vec![(ColumnId(3), column(2))];
        let output =
            |number| Output { name: String::new(), column: ColumnId(number), sql_type: SqlType::of(TypeId::INT4) };
        let relation = Relation::Map { input: Box::new(filter), expressions: made };
        Query { relation, outputs: vec![output(1), output(3)] }
    }

    #[test]
    fn pairs_are_kept_by_conditions_and_get_columns() {
        let evaluation = Evaluation::new(&FixedSession, &[]);
        let kept = PairQuery::of(&query(JoinKind::Inner, not(is_null(column(1))))).unwrap();
        assert_eq!(kept.row(&Numbers(1, 2), &evaluation).unwrap(), Some(vec![Value::Int4(1), Value::Int4(2)]));
        let left_out = PairQuery::of(&query(JoinKind::Inner, is_null(column(1)))).unwrap();
        assert_eq!(left_out.row(&Numbers(1, 2), &evaluation).unwrap(), None);
    }

    #[test]
    fn other_queries_are_none() {
        let condition = || not(is_null(column(1)));
        assert!(PairQuery::of(&query(JoinKind::Left, condition())).is_none());
        let Query { relation, outputs } = query(JoinKind::Inner, condition());
        let limited = Relation::Limit { input: Box::new(relation), offset: None, limit: None, ties: None };
        assert!(PairQuery::of(&Query { relation: limited, outputs }).is_none());
    }
}
