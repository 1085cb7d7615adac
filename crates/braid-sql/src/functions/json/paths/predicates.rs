//! Whether a predicate of a path is true, false or unknown.

use std::cmp::Ordering;

use super::datetimes::{Zone, ordering};
use super::execution::Run;
use super::failure::{Failure, suppressed};
use crate::SqlError;
use crate::functions::strings::regular_expressions::{RegularExpression, is_found};
use crate::values::json::Jsonb;
use crate::values::json_path::{Chain, PathFlags, PathItem, PathOperator};

/// True or false; `None` for unknown.
pub type Truth = Option<bool>;

impl PathOperator {
    /// Whether it computes a number.
    pub(super) fn is_arithmetic(self) -> bool {
        matches!(self, Self::Add | Self::Subtract | Self::Multiply | Self::Divide | Self::Remainder)
    }
}

impl Run<'_> {
    /// Whether a predicate is true of a value.
    pub(super) fn holds(&mut self, predicate: &Chain, value: &Jsonb) -> Result<Truth, Failure> {
        match &predicate[..] {
            [item] => self.holds_item(item, value),
            _ => Err(Failure::Fatal(SqlError::unsupported("this jsonpath predicate is not supported"))),
        }
    }

    pub(super) fn holds_item(&mut self, item: &PathItem, value: &Jsonb) -> Result<Truth, Failure> {
        match item {
            PathItem::Binary(PathOperator::And, operands) => match self.holds(&operands[0], value)? {
                Some(false) => Ok(Some(false)),
                left => {
                    let right = self.holds(&operands[1], value)?;
                    Ok(if right == Some(true) { left } else { right })
                }
            },
            PathItem::Binary(PathOperator::Or, operands) => match self.holds(&operands[0], value)? {
                Some(true) => Ok(Some(true)),
                left => {
                    let right = self.holds(&operands[1], value)?;
                    Ok(if right == Some(false) { left } else { right })
                }
            },
            PathItem::Not(operand) => Ok(self.holds(operand, value)?.map(|truth| !truth)),
            PathItem::IsUnknown(operand) => Ok(Some(self.holds(operand, value)?.is_none())),
            PathItem::Exists(path) => self.exists(path, value),
            PathItem::Binary(PathOperator::StartsWith, operands) => {
                let initials = Some((&operands[1], false));
                self.any_pair(&operands[0], initials, value, |one, other| Ok(starts_with(one, other)))
            }
            PathItem::Binary(operator, operands) => {
                let right = Some((&operands[1], true));
                let zone = self.zone;
                self.any_pair(&operands[0], right, value, |one, other| compared(*operator, one, other, zone))
            }
            PathItem::LikeRegex(operand, pattern, flags) => {
                let expression = regular_expression(pattern, *flags).map_err(Failure::Fatal)?;
                self.any_pair(operand, None, value, |one, _| match one {
                    Jsonb::String(text) => is_found(&expression, text).map(Some).map_err(Failure::Fatal),
                    _ => Ok(None),
                })
            }
            _ => Err(Failure::Fatal(SqlError::unsupported("this jsonpath predicate is not supported"))),
        }
    }

    /// In strict mode all values must be looked at, as each may be an error.
    fn exists(&mut self, path: &Chain, value: &Jsonb) -> Result<Truth, Failure> {
        if self.is_lax {
            let result = self.run(path, value, None);
            return suppressed(result);
        }
        let mut values = Vec::new();
        let result = self.run(path, value, Some(&mut values));
        Ok(suppressed(result)?.map(|_| !values.is_empty()))
    }

    /// Whether a condition holds for any value of the left path, with any value of the right one if there is one.
    fn any_pair(
        &mut self,
        left: &Chain,
        right: Option<(&Chain, bool)>,
        value: &Jsonb,
        condition: impl Fn(&Jsonb, &Jsonb) -> Result<Truth, Failure>,
    ) -> Result<Truth, Failure> {
        let Some(left) = suppressed(self.values_of(left, value, true))? else { return Ok(None) };
        let right = match right {
            None => vec![Jsonb::Null],
            Some((right, unwraps)) => match suppressed(self.values_of(right, value, unwraps))? {
                Some(right) => right,
                None => return Ok(None),
            },
        };
        let (mut is_unknown, mut is_true) = (false, false);
        for one in &left {
            for other in &right {
                self.take_step()?;
                match condition(one, other)? {
                    None if !self.is_lax => return Ok(None),
                    None => is_unknown = true,
                    Some(true) if self.is_lax => return Ok(Some(true)),
                    Some(truth) => is_true |= truth,
                }
            }
        }
        Ok(if is_true || !is_unknown { Some(is_true) } else { None })
    }
}

fn starts_with(whole: &Jsonb, initial: &Jsonb) -> Truth {
    match (whole, initial) {
        (Jsonb::String(whole), Jsonb::String(initial)) => Some(whole.starts_with(&**initial)),
        _ => None,
    }
}

/// Values of different types, and containers, cannot be compared. Null differs from all others.
fn compared(operator: PathOperator, left: &Jsonb, right: &Jsonb, zone: Zone<'_>) -> Result<Truth, Failure> {
    let ordering = match (left, right) {
        (Jsonb::Null, Jsonb::Null) => Ordering::Equal,
        (Jsonb::Null, _) | (_, Jsonb::Null) => return Ok(Some(operator == PathOperator::NotEqual)),
        (Jsonb::Datetime(left), Jsonb::Datetime(right)) => match ordering(*left, *right, zone)? {
            Some(ordering) => ordering,
            None => return Ok(None),
        },
        (Jsonb::Bool(_), Jsonb::Bool(_))
        | (Jsonb::Number(_), Jsonb::Number(_))
        | (Jsonb::String(_), Jsonb::String(_)) => left.compare(right),
        _ => return Ok(None),
    };
    Ok(Some(match operator {
        PathOperator::Equal => ordering.is_eq(),
        PathOperator::NotEqual => ordering.is_ne(),
        PathOperator::Less => ordering.is_lt(),
        PathOperator::LessOrEqual => ordering.is_le(),
        PathOperator::Greater => ordering.is_gt(),
        PathOperator::GreaterOrEqual => ordering.is_ge(),
        _ => return Ok(None),
    }))
}

/// The regular expression of `like_regex`.
pub(super) fn regular_expression(pattern: &str, flags: PathFlags) -> Result<RegularExpression<'_>, SqlError> {
    if flags.is_expanded && !flags.is_literal {
        let message = "XQuery \"x\" flag (expanded regular expressions) is not implemented";
        return Err(SqlError::unsupported(message));
    }
    Ok(RegularExpression {
        pattern,
        ignores_case: flags.ignores_case,
        stops_at_newline: !flags.is_literal && !flags.dot_matches_newline,
        anchors_at_newline: !flags.is_literal && flags.anchors_at_newline,
        is_literal: flags.is_literal,
    })
}
