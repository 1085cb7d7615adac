//! Expressions with parameters, lifted from lower projections into the uppermost one.
//!
//! The planner computes an expression that occurs twice in a projection of its own, so that the condition of a CASE expression may
//! lie below it. The values are the same wherever they are computed: projections neither add rows nor drop any.

use super::Plan;
use crate::Expression;

/// A projection of rows without columns that have parameters.
#[derive(Clone, Debug)]
pub(super) struct LiftedParameters {
    /// The rows.
    pub(super) input: Plan,
    /// The projection's expressions over the rows' columns.
    pub(super) expressions: Vec<Expression>,
}

impl LiftedParameters {
    /// The projection of these expressions, with the expressions below it for which `varies` is true.
    pub(super) fn of(input: &Plan, expressions: &[Expression], varies: &dyn Fn(&Expression) -> bool) -> Self {
        if let Plan::Project { input: lower, expressions: below } = input {
            let below = Self::of(lower, below, varies);
            if below.expressions.iter().any(varies) {
                return below.below(expressions, varies);
            }
        }
        Self { input: input.clone(), expressions: expressions.to_vec() }
    }

    /// Expressions over the columns of this projection.
    fn below(self, expressions: &[Expression], varies: &dyn Fn(&Expression) -> bool) -> Self {
        let Self { input, expressions: below } = self;
        // What stays below: expressions without parameters, and the columns that the others read.
        let mut staying: Vec<Expression> = Vec::new();
        let places: Vec<Option<usize>> = below
            .iter()
            .map(|expression| {
                (!varies(expression)).then(|| {
                    staying.push(expression.clone());
                    staying.len() - 1
                })
            })
            .collect();
        let mut read = Vec::new();
        below.iter().filter(|expression| varies(expression)).for_each(|expression| expression.columns(&mut read));
        for column in read {
            if !staying.iter().any(|other| other.as_column() == Some(column)) {
                staying.push(Expression::Column(column));
            }
        }
        let place_of = |column: usize| {
            let mut staying = staying.iter();
            staying.position(|other| other.as_column() == Some(column)).expect("what is read stays")
        };
        let of_column = |column: usize| match places[column] {
            Some(place) => Expression::Column(place),
            None => {
                let mut lifted = below[column].clone();
                lifted.map_columns(&mut |column| place_of(column));
                lifted
            }
        };
        let mut expressions = expressions.to_vec();
        expressions.iter_mut().for_each(|expression| expression.replace_columns(&of_column));
        Self { expressions, input: Plan::Project { input: input.into(), expressions: staying } }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Vector;
    use crate::expression::Comparison;
    use crate::runtime::result_rows::{ResultRows, ResultSource};

    fn column(at: usize) -> Expression {
        Expression::Column(at)
    }

    fn equals(left: Expression, right: Expression) -> Expression {
        Expression::Compare { comparison: Comparison::Equal, left: left.into(), right: right.into() }
    }

    #[test]
    fn parameters_rise_and_other_expressions_stay() {
        let rows = Arc::new(ResultRows::new(1, (0..4).map(|n| Vector::integers(vec![n])).collect()));
        let source = Plan::Source { source: Arc::new(ResultSource::new(vec![rows])), column_count: 4 };
        let lower = vec![column(3), equals(column(2), Expression::Parameter(0)), Expression::IsNull(column(1).into())];
        let lower = Plan::Project { input: source.into(), expressions: lower };
        let middle = Plan::Project { input: lower.into(), expressions: vec![column(1), column(2), column(0)] };
        let upper = [Expression::And(vec![column(0), column(1)]), column(2)];
        let varies = |expression: &Expression| expression.to_string().contains("parameter");
        let lifted = LiftedParameters::of(&middle, &upper, &varies);
        let plan = Plan::Project { input: lifted.input.into(), expressions: lifted.expressions };
        let mut shown = String::new();
        plan.describe(0, &mut shown).unwrap();
        let lines: Vec<&str> = shown.lines().map(str::trim).collect();
        assert_eq!(lines[0], "Project: (#2 = parameter 0 AND #0), #1", "{shown}");
        assert_eq!(lines[1..3], ["Project: #1, #0, #2", "Project: #3, #1 IS NULL, #2"]);
        let none = LiftedParameters::of(&plan, &[column(1)], &|_| false);
        assert_eq!((none.input.column_count(), none.expressions.len()), (2, 1));
    }
}
