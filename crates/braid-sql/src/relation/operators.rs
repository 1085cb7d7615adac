//! The operators of relations.

use super::ColumnId;
use crate::expression::SetCall;
use crate::pg_catalog::FunctionId;
use crate::{Expression, SqlType};

/// Rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Relation {
    /// One row without columns: a query without FROM.
    OneRow,
    /// The rows of a table.
    Table(TableScan),
    /// `VALUES`: each row has an expression for each column.
    Values {
        /// The columns made.
        columns: Vec<ColumnId>,
        /// Their values.
        rows: Vec<Vec<Expression>>,
    },
    /// The rows for which a condition is true.
    Filter {
        /// Rows.
        input: Box<Relation>,
        /// A boolean.
        condition: Expression,
    },
    /// Further columns of each row.
    Map {
        /// Rows.
        input: Box<Relation>,
        /// The columns made. None reads another one.
        expressions: Vec<(ColumnId, Expression)>,
    },
    /// Rows of set-returning functions for each row.
    Expand(Box<Expansion>),
    /// Pairs of rows. The right side may read columns of the left one (LATERAL).
    Join {
        /// What it makes of them.
        kind: JoinKind,
        /// The left side.
        left: Box<Relation>,
        /// The right side.
        right: Box<Relation>,
        /// A boolean; true for a cross join.
        condition: Expression,
    },
    /// `GROUP BY`, and aggregates. Hands on no column of its input.
    Aggregate(Box<Aggregation>),
    /// Window functions over one window.
    Window(Box<Windowing>),
    /// `ORDER BY`: stable, most significant key first.
    Sort {
        /// Rows.
        input: Box<Relation>,
        /// The order.
        keys: Vec<SortKey>,
    },
    /// `LIMIT` and `OFFSET`, of type bigint; null limits nothing.
    Limit {
        /// Rows.
        input: Box<Relation>,
        /// Number of rows to skip.
        offset: Option<Expression>,
        /// Most rows after these.
        limit: Option<Expression>,
        /// `WITH TIES`: rows that are equal to the last one in these keys come, too.
        ties: Option<Vec<SortKey>>,
    },
    /// Rows that differ in these columns, which are the only ones that are handed on.
    Distinct {
        /// Rows.
        input: Box<Relation>,
        /// Columns.
        columns: Vec<ColumnId>,
    },
    /// `DISTINCT ON`: of rows that are equal in these keys, the first.
    DistinctOn {
        /// Rows.
        input: Box<Relation>,
        /// The keys.
        keys: Vec<Expression>,
    },
    /// `UNION ALL` of any number of inputs.
    Union {
        /// The inputs, with their columns in the order of the result.
        inputs: Vec<Rows>,
        /// The columns made.
        columns: Vec<ColumnId>,
    },
    /// `INTERSECT` and `EXCEPT`.
    SetOperation {
        /// Which.
        operator: SetOperator,
        /// Whether equal rows are counted (ALL), or come once.
        is_all: bool,
        /// The left side.
        left: Box<Rows>,
        /// The right side.
        right: Box<Rows>,
        /// The columns made.
        columns: Vec<ColumnId>,
    },
    /// A common table expression, computed at most once, for the relation that reads it.
    With {
        /// Its number.
        cte: CteId,
        /// `MATERIALIZED`, `NOT MATERIALIZED`, or neither.
        is_materialized: Option<bool>,
        /// Its rows.
        definition: Box<Rows>,
        /// What reads it.
        body: Box<Relation>,
    },
    /// `WITH RECURSIVE`: made once, for the relation that reads it.
    Recursive(Box<Recursion>),
    /// The rows of a common table expression; within the step of a recursion, those that the step before made.
    CteScan {
        /// Which.
        cte: CteId,
        /// The columns made.
        columns: Vec<ColumnId>,
    },
}

/// A relation with an order of its columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The rows.
    pub relation: Relation,
    /// The columns.
    pub columns: Vec<ColumnId>,
}

/// The number of a common table expression in its statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CteId(pub u32);

/// The rows of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableScan {
    /// The number by which the catalog knows it.
    pub table: u64,
    /// Its name, for plans.
    pub name: String,
    /// All its columns: the table's, by position, and the number that it has here.
    pub columns: Vec<ColumnId>,
    /// `TABLESAMPLE`: only some of its rows.
    pub sample: Option<Box<Sample>>,
}

/// Which rows of a table are read. They depend on nothing but the rows that the table has and the seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// How they are chosen.
    pub method: SampleMethod,
    /// How many of a hundred: a `real` that is known before the query runs.
    pub percentage: Expression,
    /// A `double precision` that is known before the query runs.
    pub seed: Expression,
}

/// How the rows of a sample are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleMethod {
    /// Each row by itself.
    Bernoulli,
    /// Blocks of rows.
    System,
}

impl SampleMethod {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bernoulli => "bernoulli",
            Self::System => "system",
        }
    }
}

impl Sample {
    /// Its expressions.
    pub fn expressions(&self) -> [&Expression; 2] {
        [&self.percentage, &self.seed]
    }

    /// The same, to be changed.
    pub fn expressions_mut(&mut self) -> [&mut Expression; 2] {
        [&mut self.percentage, &mut self.seed]
    }
}

/// What a join makes of pairs of rows. A row's partners are the other side's rows with which the condition is true.
///
/// The binder makes the first four kinds, of which the last three keep rows without a partner. The others come of subqueries; semi, anti
/// and mark joins hand on no column of the right side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// Each row with each partner.
    Inner,
    /// The same, and left rows without a partner, with nulls for the right side's columns.
    Left,
    /// The same for the right side's rows.
    Right,
    /// The same for both sides' rows.
    Full,
    /// Left rows with a partner, once: `EXISTS`.
    Semi,
    /// Left rows without a partner: `NOT EXISTS`.
    Anti,
    /// All left rows, once, and a boolean column: true with a partner; else null if the condition is null for a row of the right side;
    /// else false. It is the value of `x = ANY (…)`.
    Mark(ColumnId),
    /// As [`JoinKind::Left`], and error 21000 if a left row has a second partner: a scalar subquery.
    Single,
}

impl JoinKind {
    /// Whether it hands on the columns of the right side.
    pub fn keeps_right_columns(self) -> bool {
        !matches!(self, Self::Semi | Self::Anti | Self::Mark(_))
    }
}

/// `INTERSECT` or `EXCEPT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperator {
    /// Rows of both.
    Intersect,
    /// Rows of the left side that the right one lacks.
    Except,
}

/// Rows of set-returning functions: as many for each input row as the longest of them returns. Shorter ones give null.
#[derive(Clone, Debug, PartialEq)]
pub struct Expansion {
    /// Rows.
    pub input: Relation,
    /// The functions.
    pub functions: Vec<SetFunctionCall>,
    /// The number of each row among those of its input row, from 1: `WITH ORDINALITY`.
    pub ordinality: Option<ColumnId>,
}

/// A call of a set-returning function, or of an ordinary one, which gives one row.
#[derive(Clone, Debug, PartialEq)]
pub enum SetFunctionCall {
    /// Returns a set.
    Set {
        /// The call.
        call: SetCall,
        /// The columns made, one for each that it returns.
        columns: Vec<ColumnId>,
    },
    /// One row of one value.
    Scalar {
        /// The value.
        value: Expression,
        /// The column made.
        column: ColumnId,
    },
}

/// `GROUP BY`, and aggregates.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregation {
    /// Rows.
    pub input: Relation,
    /// The columns made for the keys, which are null in grouping sets without them.
    pub keys: Vec<(ColumnId, Expression)>,
    /// The grouping sets, as positions of keys. `GROUP BY a, b` is one set of both; without GROUP BY there is one empty set. The rows of an
    /// empty set are one group, which exists even without rows.
    pub sets: Vec<Vec<usize>>,
    /// The aggregates.
    pub aggregates: Vec<(ColumnId, AggregateCall)>,
    /// `GROUPING(…)` of keys: a bit for each that the row's set lacks, the last argument's lowest.
    pub groupings: Vec<(ColumnId, Vec<usize>)>,
}

/// A call of an aggregate function.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateCall {
    /// Which.
    pub function: FunctionId,
    /// The arguments; for an ordered-set aggregate those of its parentheses (direct arguments).
    pub arguments: Vec<Expression>,
    /// The types of all arguments.
    pub argument_types: Vec<SqlType>,
    /// The type of the result.
    pub sql_type: SqlType,
    /// `DISTINCT`
    pub is_distinct: bool,
    /// `ORDER BY`, or `WITHIN GROUP (ORDER BY …)`, whose keys are arguments, too.
    pub order_by: Vec<SortKey>,
    /// Whether `order_by` is that of WITHIN GROUP.
    pub is_within_group: bool,
    /// `FILTER`: only rows for which it is true count.
    pub filter: Option<Expression>,
}

/// Window functions over one window.
#[derive(Clone, Debug, PartialEq)]
pub struct Windowing {
    /// Rows.
    pub input: Relation,
    /// Rows that are equal in these are one partition.
    pub partition_by: Vec<Expression>,
    /// The order within a partition.
    pub order_by: Vec<SortKey>,
    /// The rows around each row that a function sees.
    pub frame: WindowFrame,
    /// The functions.
    pub calls: Vec<(ColumnId, WindowCall)>,
}

/// A call of a window function, or of an aggregate over a window.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowCall {
    /// Which.
    pub function: FunctionId,
    /// The arguments.
    pub arguments: Vec<Expression>,
    /// Their types.
    pub argument_types: Vec<SqlType>,
    /// The type of the result.
    pub sql_type: SqlType,
    /// `FILTER`, of aggregates.
    pub filter: Option<Expression>,
}

/// The rows around each row that a window function sees.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowFrame {
    /// What its bounds count.
    pub mode: FrameMode,
    /// The first row.
    pub start: FrameBound,
    /// The last row.
    pub end: FrameBound,
    /// Rows that it leaves out.
    pub exclusion: FrameExclusion,
}

/// What the bounds of a frame count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameMode {
    /// Rows.
    Rows,
    /// Values of the order's key.
    Range,
    /// Groups of rows that are equal in the order.
    Groups,
}

/// A bound of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    /// The partition's first row.
    UnboundedPreceding,
    /// So far before the current row.
    Preceding(Expression),
    /// The current row, or its peers.
    CurrentRow,
    /// So far after the current row.
    Following(Expression),
    /// The partition's last row.
    UnboundedFollowing,
}

/// Rows that a frame leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameExclusion {
    /// None.
    NoOthers,
    /// The current row.
    CurrentRow,
    /// The current row and its peers.
    Group,
    /// The peers of the current row.
    Ties,
}

/// A key of an order.
#[derive(Clone, Debug, PartialEq)]
pub struct SortKey {
    /// The value. Its type has a default order.
    pub expression: Expression,
    /// `DESC`
    pub is_descending: bool,
    /// `NULLS FIRST`
    pub nulls_first: bool,
}

/// `WITH RECURSIVE`. The step is repeated on the rows that it made last, at first those of the start, until it makes none.
#[derive(Clone, Debug, PartialEq)]
pub struct Recursion {
    /// Its number: a scan of it in the step reads the rows of the step before, one in the body reads all.
    pub cte: CteId,
    /// `UNION` instead of `UNION ALL`: rows that were there before are dropped.
    pub is_distinct: bool,
    /// The rows at first.
    pub start: Rows,
    /// Made of the last rows.
    pub step: Rows,
    /// What reads it.
    pub body: Relation,
}
