//! What a grouping is to do.

use std::fmt;

/// What is computed of a group's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateFunction {
    /// Number of rows; takes no argument.
    CountRows,
    /// Number of values that are not null.
    Count,
    /// Sum of numbers; that of integers is exact.
    Sum,
    /// Least value. A NaN is above all numbers, strings are in the order of their bytes.
    Minimum,
    /// Greatest value.
    Maximum,
    /// Sum divided by count.
    Average(AverageKind),
    /// Whether all booleans are true.
    BoolAnd,
    /// Whether a boolean is true.
    BoolOr,
}

/// How an average is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AverageKind {
    /// A numeric: `sum * 10^scale_up_digits / count`, truncated towards zero.
    Numeric {
        /// Digits that the average has after the point beyond the argument's.
        scale_up_digits: u8,
    },
    /// In double precision.
    Float,
}

/// One aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AggregateCall {
    /// What is computed.
    pub function: AggregateFunction,
    /// The argument's position among the columns of a batch; every function but `CountRows` needs one.
    pub argument: Option<usize>,
    /// DISTINCT: each value counts once.
    pub distinct: bool,
    /// FILTER: position of a column of booleans; only rows where it is true count.
    pub filter: Option<usize>,
}

/// Keys and aggregates. Without keys, all rows are one group, which is there even without rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AggregationSpec {
    /// Positions of the key columns; nulls are equal to each other.
    pub keys: Vec<usize>,
    /// What is computed of each group; nothing for a mere DISTINCT.
    pub aggregates: Vec<AggregateCall>,
}

impl AggregationSpec {
    /// Columns that are read, some of them more than once.
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
