//! Branches of CASE expressions that zone maps decide.
//!
//! ```text
//! year of a date:   CASE WHEN d IN (-infinity, infinity) THEN … WHEN d < 0001-01-01 THEN … ELSE EXTRACT(YEAR FROM d) END
//! all dates d are of 1992 to 1998:   EXTRACT(YEAR FROM d)
//! ```
//!
//! A branch goes whose condition is true for no value within the bounds of its column; a null makes such a condition null. What remains is
//! cheaper, and has narrower bounds and fewer distinct values, by which other rules decide.

use braid_storage::Scalar;

use super::Plan;
use crate::Expression;
use crate::expression::Comparison;
use crate::values::integer_bounds::IntegerBounds;

/// What is known of the columns that expressions read.
struct Known<'a> {
    bounds: &'a dyn Fn(usize) -> Option<IntegerBounds>,
    is_null_free: &'a dyn Fn(usize) -> bool,
}

impl Plan {
    /// The same plan without the branches that are never taken.
    #[must_use]
    pub fn with_decided_cases(mut self) -> Self {
        if self.has_cases() {
            self.decide_cases();
        }
        self
    }

    fn has_cases(&self) -> bool {
        let own = matches!(self, Self::Project { expressions, .. } if expressions.iter().any(has_case));
        own || self.inputs().into_iter().any(Self::has_cases)
    }

    fn decide_cases(&mut self) {
        self.inputs_mut().into_iter().for_each(Self::decide_cases);
        if let Self::Project { input, expressions } = self {
            let (bounds, is_null_free) = (|of| input.integer_bounds(of), |of| input.is_null_free(of));
            let known = Known { bounds: &bounds, is_null_free: &is_null_free };
            expressions.iter_mut().for_each(|expression| known.decide(expression));
        }
    }
}

fn has_case(expression: &Expression) -> bool {
    matches!(expression, Expression::Case { .. }) || expression.children().into_iter().any(has_case)
}

impl Known<'_> {
    fn decide(&self, expression: &mut Expression) {
        expression.children_mut().into_iter().for_each(|child| self.decide(child));
        let Expression::Case { branches, otherwise } = expression else { return };
        branches.retain(|(condition, _)| !self.is_never_true(condition));
        if branches.is_empty() {
            *expression = otherwise.take().map_or(Expression::Constant(None), |otherwise| *otherwise);
        }
    }

    fn is_never_true(&self, condition: &Expression) -> bool {
        match condition {
            Expression::Constant(None | Some(Scalar::Bool(false))) => true,
            Expression::IsNull(value) => value.is_null_free(self.is_null_free),
            Expression::And(all) => all.iter().any(|one| self.is_never_true(one)),
            Expression::In { value, list } => self.bounds(value).is_some_and(|bounds| {
                list.iter().all(|constant| integer(constant).is_some_and(|constant| !contains(bounds, constant)))
            }),
            Expression::Compare { comparison, left, right } => match (self.bounds(left), &**right) {
                (Some(bounds), Expression::Constant(Some(constant))) => {
                    integer(constant).is_some_and(|constant| is_never(bounds, *comparison, constant))
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Bounds of a column.
    fn bounds(&self, value: &Expression) -> Option<IntegerBounds> {
        (self.bounds)(value.as_column()?)
    }
}

fn integer(constant: &Scalar) -> Option<i128> {
    match constant {
        Scalar::Int(value) => Some((*value).into()),
        Scalar::Int128(value) => Some(*value),
        _ => None,
    }
}

fn contains(bounds: IntegerBounds, value: i128) -> bool {
    bounds.low <= value && value <= bounds.high
}

/// Whether no value within the bounds compares so with the constant.
fn is_never(bounds: IntegerBounds, comparison: Comparison, constant: i128) -> bool {
    match comparison {
        Comparison::Equal => !contains(bounds, constant),
        Comparison::NotEqual => bounds.low == constant && bounds.high == constant,
        Comparison::Less => bounds.low >= constant,
        Comparison::LessOrEqual => bounds.low > constant,
        Comparison::Greater => bounds.high <= constant,
        Comparison::GreaterOrEqual => bounds.high < constant,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::DatePart;

    fn constant(value: i64) -> Expression {
        Expression::Constant(Some(Scalar::Int(value)))
    }

    fn compare(column: usize, comparison: Comparison, with: i64) -> Expression {
        Expression::Compare { comparison, left: Expression::Column(column).into(), right: constant(with).into() }
    }

    /// Whether a branch with this condition goes, above a column from 10 to 20 without nulls, one from 7 to 7 with nulls, and an unknown one.
    fn goes(condition: Expression) -> bool {
        let bounds =
            |column: usize| [(10, 20), (7, 7)].get(column).map(|(low, high)| IntegerBounds { low: *low, high: *high });
        let known = Known { bounds: &bounds, is_null_free: &|column| column == 0 };
        let branches = vec![(condition, constant(1))];
        let mut case = Expression::Case { branches, otherwise: Some(constant(2).into()) };
        known.decide(&mut case);
        !matches!(case, Expression::Case { .. })
    }

    #[test]
    fn comparisons_go_that_are_true_for_no_value_within_the_bounds() {
        use Comparison as C;
        for (comparison, with, expected) in [
            (C::Equal, 9, true),
            (C::Equal, 10, false),
            (C::Equal, 20, false),
            (C::Equal, 21, true),
            (C::NotEqual, 15, false),
            (C::Less, 10, true),
            (C::Less, 11, false),
            (C::LessOrEqual, 9, true),
            (C::LessOrEqual, 10, false),
            (C::Greater, 20, true),
            (C::Greater, 19, false),
            (C::GreaterOrEqual, 21, true),
            (C::GreaterOrEqual, 20, false),
        ] {
            assert_eq!(goes(compare(0, comparison, with)), expected, "{comparison:?} {with}");
            assert!(!goes(compare(2, comparison, with)), "nothing is known of the column");
        }
        assert!(goes(compare(1, C::NotEqual, 7)), "of the nulls the condition is null");
    }

    #[test]
    fn lists_null_tests_and_conjunctions_go() {
        let within = |list: &[i64]| Expression::In {
            value: Expression::Column(0).into(),
            list: list.iter().map(|value| Scalar::Int(*value)).collect(),
        };
        assert!(goes(within(&[1, 9, 21])) && !goes(within(&[1, 15])));
        let is_null = |value: Expression| Expression::IsNull(value.into());
        let year = |column| Expression::DatePart { part: DatePart::Year, value: Expression::Column(column).into() };
        assert!(goes(is_null(Expression::Column(0))) && goes(is_null(year(0))));
        assert!(!goes(is_null(Expression::Column(1))) && !goes(is_null(year(1))));
        let unknown = || compare(2, Comparison::Equal, 5);
        assert!(goes(Expression::And(vec![unknown(), within(&[9])])));
        assert!(!goes(Expression::Or(vec![unknown(), within(&[9])])));
    }

    #[test]
    fn what_remains_takes_the_place_of_the_whole() {
        let known = Known { bounds: &|_| Some(IntegerBounds { low: 0, high: 9 }), is_null_free: &|_| true };
        let decided = |branches, otherwise: Option<Expression>| {
            let mut case = Expression::Case { branches, otherwise: otherwise.map(Box::new) };
            known.decide(&mut case);
            case.to_string()
        };
        let never = || compare(0, Comparison::Greater, 9);
        let perhaps = || compare(0, Comparison::Greater, 4);
        let branches = vec![(never(), constant(1)), (perhaps(), constant(2))];
        assert_eq!(decided(branches, Some(constant(3))), "CASE WHEN #0 > 4 THEN 2 ELSE 3 END");
        assert_eq!(decided(vec![(never(), constant(1))], Some(Expression::Column(0))), "#0");
        assert_eq!(decided(vec![(never(), constant(1))], None), Expression::Constant(None).to_string());
    }
}
