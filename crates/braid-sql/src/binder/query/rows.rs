//! Comparisons of rows: `(a, b) = (c, d)`, `(a, b) < (c, d)`, `(a, b) IN ((1, 2), (3, 4))`.

use sqlparser::ast::Expr;

use crate::binder::places::Place;
use crate::binder::{Binder, Placed, negation, truth};
use crate::expression::{Expression, Node};
use crate::{SqlError, SqlState};

impl Binder<'_> {
    /// Rows of one length, compared by an operator. A row of one member is that member.
    ///
    /// Rows are equal if all members are. One is less than another if the first members that are not equal are less; where one of these is
    /// null, the result is null.
    pub(in crate::binder) fn compare_rows(
        &self,
        operator: &str,
        place: Place<'_>,
        left: Vec<Placed<'_>>,
        right: Vec<Placed<'_>>,
    ) -> Result<Expression, SqlError> {
        if left.len() != right.len() {
            let message = "unequal number of entries in row expressions";
            return Err(self.places.mark(SqlError::new(SqlState::SyntaxError, message), place));
        }
        let pairs: Vec<(Placed<'_>, Placed<'_>)> = left.into_iter().zip(right).collect();
        match (&pairs[..], operator) {
            ([], _) => {
                let message = "cannot compare rows of zero length";
                Err(self.places.mark(SqlError::unsupported(message), place))
            }
            ([_], _) => {
                let mut pairs = pairs;
                let (left, right) = pairs.remove(0);
                self.operator(operator, place, left, right)
            }
            (_, "=") => Ok(truth(Node::And(self.each_pair("=", place, pairs)?))),
            (_, "<>") => Ok(truth(Node::Or(self.each_pair("<>", place, pairs)?))),
            (_, "<" | "<=" | ">" | ">=") => self.ordered_rows(operator, place, pairs),
            _ => {
                let message = format!("could not determine interpretation of row comparison operator {operator}");
                let hint = "Row comparison operators must be associated with btree operator families.";
                Err(self.places.mark(SqlError::unsupported(message).with_hint(hint), place))
            }
        }
    }

    fn each_pair(
        &self,
        operator: &str,
        place: Place<'_>,
        pairs: Vec<(Placed<'_>, Placed<'_>)>,
    ) -> Result<Vec<Expression>, SqlError> {
        pairs.into_iter().map(|(left, right)| self.operator(operator, place, left, right)).collect()
    }

    /// `a < c OR (a = c AND (b < d))`: the last pair is compared by the operator itself, those before it strictly.
    fn ordered_rows(
        &self,
        operator: &str,
        place: Place<'_>,
        mut pairs: Vec<(Placed<'_>, Placed<'_>)>,
    ) -> Result<Expression, SqlError> {
        let strict = &operator[..1];
        let is_volatile = |(left, right): &(Placed<'_>, Placed<'_>)| left.0.is_volatile() || right.0.is_volatile();
        if pairs.iter().any(is_volatile) {
            return Err(SqlError::unsupported("volatile functions in comparisons of rows are not supported"));
        }
        let Some((left, right)) = pairs.pop() else {
            return Err(SqlError::unsupported("rows without members are not supported"));
        };
        let mut ordered = self.operator(operator, place, left, right)?;
        while let Some((left, right)) = pairs.pop() {
            let is_equal = self.operator("=", place, left.clone(), right.clone())?;
            let is_before = self.operator(strict, place, left, right)?;
            ordered = truth(Node::Or(vec![is_before, truth(Node::And(vec![is_equal, ordered]))]));
        }
        Ok(ordered)
    }

    /// `(a, b) IN ((1, 2), (3, 4))`
    pub(in crate::binder) fn row_in_list(
        &self,
        operand: &[Expr],
        list: &[Expr],
        negated: bool,
        place: Place<'_>,
    ) -> Result<Expression, SqlError> {
        let operand = self.row_members(operand)?;
        // Each row of the list has a copy of it.
        if operand.iter().any(|(member, _)| member.is_volatile()) {
            return Err(SqlError::unsupported("volatile functions in comparisons of rows are not supported"));
        }
        let compared = list.iter().map(|row| match crate::binder::unnested(row) {
            Expr::Tuple(members) => self.compare_rows("=", place, operand.clone(), self.row_members(members)?),
            _ => Err(SqlError::unsupported("comparisons of rows with values are not supported")),
        });
        let is_in = truth(Node::Or(compared.collect::<Result<Vec<_>, _>>()?));
        Ok(if negated { negation(is_in) } else { is_in })
    }

    /// `(a, b) IS NULL`: whether all members are null; `IS NOT NULL`: whether none is.
    pub(in crate::binder) fn row_is_null(&self, members: &[Expr], is_null: bool) -> Result<Expression, SqlError> {
        let tests = self.row_members(members)?.into_iter().map(|(member, _)| {
            let is_null_itself = truth(Node::IsNull(Box::new(member)));
            if is_null { is_null_itself } else { negation(is_null_itself) }
        });
        Ok(truth(Node::And(tests.collect())))
    }
}
