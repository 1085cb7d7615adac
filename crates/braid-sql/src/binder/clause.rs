//! The clauses of a query, and what they may not contain.

use crate::{SqlError, SqlState};

/// Where an expression stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clause {
    /// Outside of a query.
    None,
    SelectList,
    Where,
    Having,
    GroupBy,
    OrderBy,
    DistinctOn,
    JoinCondition,
    FromFunction,
    Limit,
    Offset,
    Values,
    /// The condition of FILTER.
    Filter,
    /// PARTITION BY and ORDER BY of a window.
    WindowPartition,
    WindowOrder,
    /// The offsets of a frame, by mode.
    WindowFrameRows,
    WindowFrameRange,
    WindowFrameGroups,
    /// An argument of EXECUTE.
    ExecuteArgument,
    /// A new value of a row.
    Update,
    /// The default of a column.
    Default,
    /// The condition of COPY FROM.
    CopyWhere,
    /// The condition of a CHECK.
    Check,
    /// The expression of a generated column.
    Generation,
    /// A member of an index.
    IndexExpression,
    /// The condition of an index.
    IndexPredicate,
    /// A condition of MERGE.
    MergeWhen,
    /// The list of RETURNING.
    Returning,
}

impl Clause {
    /// Its name in messages: "aggregate functions are not allowed in …".
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "expressions",
            Self::SelectList => "SELECT",
            Self::Where => "WHERE",
            Self::Having => "HAVING",
            Self::GroupBy => "GROUP BY",
            Self::OrderBy => "ORDER BY",
            Self::DistinctOn => "DISTINCT ON",
            Self::JoinCondition => "JOIN conditions",
            Self::FromFunction => "functions in FROM",
            Self::Limit => "LIMIT",
            Self::Offset => "OFFSET",
            Self::Values => "VALUES",
            Self::Filter => "FILTER",
            Self::WindowPartition | Self::WindowOrder => "window definitions",
            Self::WindowFrameRows => "window ROWS",
            Self::WindowFrameRange => "window RANGE",
            Self::WindowFrameGroups => "window GROUPS",
            Self::ExecuteArgument => "EXECUTE parameters",
            Self::Update => "UPDATE",
            Self::Default => "DEFAULT expressions",
            Self::CopyWhere => "COPY FROM WHERE conditions",
            Self::Check => "check constraints",
            Self::Generation => "column generation expressions",
            Self::IndexExpression => "index expressions",
            Self::IndexPredicate => "index predicates",
            Self::MergeWhen => "MERGE WHEN conditions",
            Self::Returning => "RETURNING",
        }
    }

    /// Refuses an aggregate here.
    pub fn check_aggregate(self) -> Result<(), SqlError> {
        match self {
            Self::SelectList
            | Self::Having
            | Self::OrderBy
            | Self::DistinctOn
            | Self::WindowPartition
            | Self::WindowOrder => Ok(()),
            _ => Err(SqlError::new(
                SqlState::GroupingError,
                format!("aggregate functions are not allowed in {}", self.name()),
            )),
        }
    }

    /// Refuses a window function here.
    pub fn check_window(self) -> Result<(), SqlError> {
        match self {
            Self::SelectList | Self::OrderBy | Self::DistinctOn => Ok(()),
            _ => Err(SqlError::new(
                SqlState::WindowingError,
                format!("window functions are not allowed in {}", self.name()),
            )),
        }
    }

    /// Refuses a set-returning function here.
    pub fn check_set(self) -> Result<(), SqlError> {
        match self {
            Self::SelectList | Self::GroupBy | Self::OrderBy | Self::DistinctOn => Ok(()),
            _ => Err(SqlError::unsupported(format!("set-returning functions are not allowed in {}", self.name()))),
        }
    }
}
