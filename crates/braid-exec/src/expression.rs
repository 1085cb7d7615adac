//! Expressions over the columns of a batch.
//!
//! The planner resolves types: the operands of an operation have one scale, and dates are days. Operations beyond those
//! below are foreign expressions, which another crate evaluates on Arrow arrays.
//!
//! An [`Expression`] is a description that plans rewrite and share; each worker evaluates it with an [`Evaluator`] of its
//! own.
//!
//! | module | contents |
//! |---|---|
//! | `evaluator` | [`Evaluator`] |
//! | `node` | the tree of prepared operations that it walks |
//! | `compilation` | from an expression to that tree: constants folded, patterns and sets prepared |
//! | `operand` | the operands of kernels: vectors and constants |
//! | `row_subset` | evaluation for some rows of a batch |
//! | `piece_rows` | the number of rows to evaluate at a time where values may be long |
//! | `arithmetic`, `comparison`, `boolean_logic`, `date_part`, `substring`, `membership`, `case` | the operations |
//! | `string_predicate` | a condition on strings, once for each string of a dictionary |
//! | `like_pattern` | the patterns of LIKE, by their shape |
//! | `column_condition` | conditions on one column as predicates of scans |
//! | `display` | expressions as EXPLAIN shows them |
//! | `foreign` | foreign expressions |

mod arithmetic;
mod boolean_logic;
mod case;
mod column_condition;
mod comparison;
mod compilation;
mod date_part;
mod display;
mod evaluator;
mod foreign;
mod like_pattern;
mod membership;
mod node;
mod operand;
mod piece_rows;
mod row_subset;
mod string_predicate;
mod substring;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use braid_storage::Scalar;
use smallvec::SmallVec;

use crate::MemoryBudget;

pub use evaluator::Evaluator;
pub(crate) use like_pattern::LikePattern;
pub use piece_rows::PieceRows;

/// The parts of an expression or an operator: seldom more than four, which need no allocation.
pub(crate) type Few<T> = SmallVec<[T; 4]>;

/// So many parts.
pub(crate) fn few<T, const COUNT: usize>(parts: [T; COUNT]) -> Few<T> {
    parts.into_iter().collect()
}

/// An expression.
#[derive(Clone, Debug)]
pub enum Expression {
    /// The column at this position of the batch.
    Column(usize),
    /// A constant; `None` for null.
    Constant(Option<Scalar>),
    /// A parameter of the query, by its number. A constant takes its place when the query is bound, or each query of a
    /// pass has one of its own.
    Parameter(usize),
    /// The value of a scalar subquery, by its number among those of the [`Plan::WithScalars`](crate::plan::Plan::WithScalars)
    /// above. A constant takes its place when that subquery has run.
    SubqueryValue(usize),
    /// Arithmetic on two operands.
    Arithmetic {
        /// How.
        operation: Arithmetic,
        /// Left operand.
        left: Box<Expression>,
        /// Right operand.
        right: Box<Expression>,
        /// The range of the result.
        range: NumberRange,
    },
    /// Integers times a power of ten: a numeric at a larger scale, exactly.
    ScaleUp {
        /// The integers.
        value: Box<Expression>,
        /// Digits that the scale grows by.
        digits: u8,
    },
    /// Left compared with right, of one kind and scale. Strings bytewise, floats in PostgreSQL's order.
    Compare {
        /// How.
        comparison: Comparison,
        /// Left operand.
        left: Box<Expression>,
        /// Right operand.
        right: Box<Expression>,
    },
    /// AND of all, in SQL's three-valued logic.
    And(Vec<Expression>),
    /// OR of all.
    Or(Vec<Expression>),
    /// NOT.
    Not(Box<Expression>),
    /// IS NULL.
    IsNull(Box<Expression>),
    /// Whether the value equals one of the constants. No constant is null.
    In {
        /// The value.
        value: Box<Expression>,
        /// Constants of the value's kind.
        list: Vec<Scalar>,
    },
    /// LIKE: `%` any string, `_` any character (text is UTF-8), a backslash escapes.
    Like {
        /// Text.
        value: Box<Expression>,
        /// The pattern, as SQL writes it: a constant, or a parameter until it is bound.
        pattern: Box<Expression>,
    },
    /// CASE WHEN: the first branch whose condition is true; only its rows are evaluated.
    Case {
        /// Conditions and results.
        branches: Vec<(Expression, Expression)>,
        /// ELSE; null without it.
        otherwise: Option<Box<Expression>>,
    },
    /// A field of a date (days since 1970), as an integer.
    DatePart {
        /// Which.
        part: DatePart,
        /// Dates.
        value: Box<Expression>,
    },
    /// `substring(value from start for length)`, counted in characters from 1 (text is UTF-8); as PostgreSQL, a start
    /// below 1 uses up length.
    Substring {
        /// Text.
        value: Box<Expression>,
        /// First character.
        start: i64,
        /// Number of characters, not negative; to the end without it.
        length: Option<i64>,
    },
    /// A foreign expression, evaluated on Arrow arrays.
    Foreign {
        /// The implementation.
        function: Arc<dyn ForeignExpression>,
        /// Its arguments and their types.
        arguments: Vec<(Expression, DataType)>,
    },
}

impl Comparison {
    /// The comparison that is true where this one is false.
    pub fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        }
    }

    /// The comparison with its sides swapped.
    pub fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            symmetric => symmetric,
        }
    }
}

impl Expression {
    /// Appends the columns that it reads, with repetitions.
    pub fn columns(&self, columns: &mut Vec<usize>) {
        if let Self::Column(column) = self {
            columns.push(*column);
        }
        self.children().into_iter().for_each(|child| child.columns(columns));
    }

    /// Appends the query's parameters that it reads, each as often as it reads it.
    pub fn parameters(&self, parameters: &mut Vec<usize>) {
        if let Self::Parameter(parameter) = self {
            parameters.push(*parameter);
        }
        self.children().into_iter().for_each(|child| child.parameters(parameters));
    }

    /// Whether its evaluation can fail for some values.
    pub(crate) fn may_fail(&self) -> bool {
        let may_fail =
            |part: &Self| matches!(part, Self::Arithmetic { .. } | Self::ScaleUp { .. } | Self::Foreign { .. });
        self.any(&may_fail)
    }

    /// Whether it may take long for one row: by a foreign part, or a search in a long text.
    pub(crate) fn may_take_long(&self) -> bool {
        self.any(&|part: &Self| matches!(part, Self::Foreign { .. } | Self::Like { .. }))
    }

    /// Replaces each column that it reads.
    pub fn map_columns(&mut self, map: &mut impl FnMut(usize) -> usize) {
        if let Self::Column(column) = self {
            *column = map(*column);
        }
        self.children_mut().into_iter().for_each(|child| child.map_columns(map));
    }

    /// Puts expressions in place of the columns that it reads.
    pub(crate) fn replace_columns(&mut self, with: &impl Fn(usize) -> Self) {
        match self {
            Self::Column(column) => *self = with(*column),
            _ => self.children_mut().into_iter().for_each(|child| child.replace_columns(with)),
        }
    }

    /// The column, if the expression is only a column.
    pub fn as_column(&self) -> Option<usize> {
        match self {
            Self::Column(column) => Some(*column),
            _ => None,
        }
    }

    /// Puts constants in place of the query's parameters. Panics when there are not enough.
    pub fn bind_parameters(&mut self, values: &[Option<Scalar>]) {
        self.bind_known(&|parameter| Some(values[parameter].clone()));
    }

    /// Puts constants in place of the parameters that have a known value.
    pub(crate) fn bind_known(&mut self, value_of: &impl Fn(usize) -> Option<Option<Scalar>>) {
        if let Self::Parameter(parameter) = self
            && let Some(value) = value_of(*parameter)
        {
            *self = Self::Constant(value);
        }
        self.children_mut().into_iter().for_each(|child| child.bind_known(value_of));
    }

    /// Puts what stands for the values of subqueries in their places. Panics when there is not enough.
    pub fn bind_subquery_values(&mut self, values: &[Self]) {
        if let Self::SubqueryValue(subquery) = self {
            *self = values[*subquery].clone();
            return;
        }
        self.children_mut().into_iter().for_each(|child| child.bind_subquery_values(values));
    }

    /// Its parts, from left to right.
    pub(crate) fn children(&self) -> Few<&Self> {
        match self {
            Self::Column(_) | Self::Constant(_) | Self::Parameter(_) | Self::SubqueryValue(_) => Few::new(),
            Self::Arithmetic { left, right, .. }
            | Self::Compare { left, right, .. }
            | Self::Like { value: left, pattern: right } => few([left, right]),
            Self::And(parts) | Self::Or(parts) => parts.iter().collect(),
            Self::Not(value)
            | Self::IsNull(value)
            | Self::ScaleUp { value, .. }
            | Self::In { value, .. }
            | Self::DatePart { value, .. }
            | Self::Substring { value, .. } => few([value]),
            Self::Case { branches, otherwise } => {
                let branches = branches.iter().flat_map(|(condition, result)| [condition, result]);
                branches.chain(otherwise.as_deref()).collect()
            }
            Self::Foreign { arguments, .. } => arguments.iter().map(|(argument, _)| argument).collect(),
        }
    }

    pub(crate) fn children_mut(&mut self) -> Few<&mut Self> {
        match self {
            Self::Column(_) | Self::Constant(_) | Self::Parameter(_) | Self::SubqueryValue(_) => Few::new(),
            Self::Arithmetic { left, right, .. }
            | Self::Compare { left, right, .. }
            | Self::Like { value: left, pattern: right } => few([left, right]),
            Self::And(parts) | Self::Or(parts) => parts.iter_mut().collect(),
            Self::Not(value)
            | Self::IsNull(value)
            | Self::ScaleUp { value, .. }
            | Self::In { value, .. }
            | Self::DatePart { value, .. }
            | Self::Substring { value, .. } => few([value]),
            Self::Case { branches, otherwise } => {
                let branches = branches.iter_mut().flat_map(|(condition, result)| [condition, result]);
                branches.chain(otherwise.as_deref_mut()).collect()
            }
            Self::Foreign { arguments, .. } => arguments.iter_mut().map(|(argument, _)| argument).collect(),
        }
    }
}

/// An expression that another crate evaluates.
pub trait ForeignExpression: Send + Sync + fmt::Debug + fmt::Display {
    /// Its value for each row.
    ///
    /// # Errors
    /// The errors of the implementation.
    fn evaluate(
        &self,
        arguments: &[ArrayRef],
        row_count: usize,
    ) -> Result<ArrayRef, Box<dyn std::error::Error + Send + Sync>>;

    /// As [`Self::evaluate`], for an expression whose values may be long: it counts them. An array whose values have more than
    /// [`BATCH_BYTES_MAX`](braid_base::BATCH_BYTES_MAX) bytes holds their memory for as long as one of its buffers exists.
    ///
    /// # Errors
    /// As [`Self::evaluate`]; when the budget refuses; [`ExecError::BatchTooLong`](crate::ExecError::BatchTooLong) if the batch is divisible
    /// and the values would be too long. The caller then evaluates fewer rows at a time.
    fn evaluate_within(
        &self,
        arguments: &[ArrayRef],
        row_count: usize,
        _resources: Resources<'_>,
    ) -> Result<ArrayRef, Box<dyn std::error::Error + Send + Sync>> {
        self.evaluate(arguments, row_count)
    }
}

/// What an evaluation may use.
#[derive(Clone, Copy, Debug)]
pub struct Resources<'a> {
    /// The memory of the query.
    pub budget: &'a Arc<dyn MemoryBudget>,
    /// Whether the caller evaluates fewer rows at a time if the values are too long. There are several rows then.
    pub is_divisible: bool,
}

/// An arithmetic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Product.
    Multiply,
}

/// The range of results of a type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NumberRange {
    /// smallint
    Int16,
    /// integer, and dates
    Int32,
    /// bigint
    Int64,
    /// numeric: 64 bits if they suffice, otherwise 128
    Numeric,
    /// double precision; an infinite result of finite numbers is out of range
    Double,
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// =
    Equal,
    /// <>
    NotEqual,
    /// <
    Less,
    /// <=
    LessOrEqual,
    /// >
    Greater,
    /// >=
    GreaterOrEqual,
}

/// A field of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatePart {
    /// Year; 0 and below before our era, as PostgreSQL's internal count.
    Year,
    /// 1 to 4
    Quarter,
    /// 1 to 12
    Month,
    /// 1 to 31
    Day,
}
