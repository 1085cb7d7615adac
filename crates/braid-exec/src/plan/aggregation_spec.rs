//! The specification of a grouping.

use std::fmt;

/// An aggregate function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateFunction {
    /// Number of rows, without an argument.
    CountRows,
    /// Number of values that are not null.
    Count,
    /// Sum of numbers, exact for integers.
    Sum,
    /// Minimum. NaN is above all numbers; strings are ordered by their bytes.
    Minimum,
    /// Maximum.
    Maximum,
    /// Sum divided by count.
    Average(AverageKind),
    /// Whether all booleans are true.
    BoolAnd,
    /// Whether any boolean is true.
    BoolOr,
}

/// The arithmetic of an average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AverageKind {
    /// A numeric: the quotient of sum and count (`numeric_quotient`).
    Numeric {
        /// Digits that the argument has after the point.
        scale: u8,
        /// Digits that the average has.
        result_scale: u8,
    },
    /// In double precision.
    Float,
}

/// One aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AggregateCall {
    /// The function.
    pub function: AggregateFunction,
    /// The argument's position among the columns of a batch; every function but `CountRows` needs one.
    pub argument: Option<usize>,
    /// DISTINCT: each value counts once.
    pub distinct: bool,
    /// FILTER: position of a boolean column. Only rows for which it is true count.
    pub filter: Option<usize>,
}

/// Keys and aggregates. Without keys, all rows are one group, which exists even without rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AggregationSpec {
    /// Positions of the key columns; nulls are equal to each other.
    pub keys: Vec<usize>,
    /// The aggregates of each group; empty for DISTINCT.
    pub aggregates: Vec<AggregateCall>,
}

impl AggregationSpec {
    /// The columns that are read, with repetitions.
    pub fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        let of_calls = self.aggregates.iter().flat_map(|call| call.argument.into_iter().chain(call.filter));
        self.keys.iter().copied().chain(of_calls)
    }
}

impl fmt::Display for AggregationSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<String> = self.keys.iter().map(|key| format!("#{key}")).collect();
        let call = |call: &AggregateCall| {
            let distinct = if call.distinct { "DISTINCT " } else { "" };
            let argument = call.argument.map_or_else(|| "*".to_owned(), |argument| format!("#{argument}"));
            let filter = call.filter.map(|filter| format!(" FILTER #{filter}")).unwrap_or_default();
            format!("{:?}({distinct}{argument}){filter}", call.function)
        };
        let calls: Vec<String> = self.aggregates.iter().map(call).collect();
        write!(f, "by [{}]: [{}]", keys.join(", "), calls.join(", "))
    }
}
