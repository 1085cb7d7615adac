//! A statement on the star schema: its type and its conditions.

use std::fmt;
use std::ops::Bound;

use braid_storage::{ColumnPredicate, Scalar};

/// Number of statement types.
pub const STAR_TYPES: usize = 13;

/// A statement: its type, and its conditions on single columns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StarQuery {
    /// The type, below [`STAR_TYPES`].
    pub number: usize,
    /// All of them hold. The prefix of a column's name tells its table. Queries of one type have conditions of the same form.
    pub conditions: Vec<StarCondition>,
}

/// A condition on a column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StarCondition {
    /// The column.
    pub column: &'static str,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Test {
    Equal(Constant),
    Between(Constant, Constant),
    In(Constant, Constant),
    AtLeast(Constant),
    AtMost(Constant),
    Below(Constant),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Constant {
    Number(u64),
    Text(String),
}

impl StarQuery {
    /// Its text.
    pub fn text(&self) -> String {
        let (select, tables, joins, end) = match self.number {
            0..3 => ("sum(lo_extendedprice * lo_discount) as revenue".to_owned(), "star_date", "", String::new()),
            3..6 => (
                "sum(lo_revenue) as revenue, d_year, p_brand1".to_owned(),
                "star_date, star_part, star_supplier",
                " and lo_partkey = p_partkey and lo_suppkey = s_suppkey",
                " group by d_year, p_brand1 order by d_year, p_brand1".to_owned(),
            ),
            6..10 => {
                let column = if self.number == 6 { "nation" } else { "city" };
                let groups = format!("c_{column}, s_{column}, d_year");
                (
                    format!("{groups}, sum(lo_revenue) as revenue"),
                    "star_date, star_customer, star_supplier",
                    " and lo_custkey = c_custkey and lo_suppkey = s_suppkey",
                    format!(" group by {groups} order by d_year, revenue desc, c_{column}, s_{column}"),
                )
            }
            _ => {
                let groups =
                    ["d_year, c_nation", "d_year, s_nation, p_category", "d_year, s_city, p_brand1"][self.number - 10];
                (
                    format!("{groups}, sum(lo_revenue - lo_supplycost) as profit"),
                    "star_date, star_customer, star_supplier, star_part",
                    " and lo_custkey = c_custkey and lo_suppkey = s_suppkey and lo_partkey = p_partkey",
                    format!(" group by {groups} order by {groups}"),
                )
            }
        };
        let conditions: String = self.conditions.iter().map(|condition| format!(" and {condition}")).collect();
        format!("select {select} from star_lineorder, {tables} where lo_orderdate = d_datekey{joins}{conditions}{end}")
    }
}

impl StarCondition {
    /// The condition as a predicate on the stored values.
    pub fn predicate(&self) -> ColumnPredicate {
        let range = |low, high| ColumnPredicate::Range { low, high };
        match &self.test {
            Test::Equal(value) => ColumnPredicate::equal(value.scalar()),
            Test::Between(low, high) => range(Bound::Included(low.scalar()), Bound::Included(high.scalar())),
            // Ascending.
            Test::In(one, other) => ColumnPredicate::In(vec![one.min(other).scalar(), one.max(other).scalar()]),
            Test::AtLeast(low) => range(Bound::Included(low.scalar()), Bound::Unbounded),
            Test::AtMost(high) => range(Bound::Unbounded, Bound::Included(high.scalar())),
            Test::Below(high) => range(Bound::Unbounded, Bound::Excluded(high.scalar())),
        }
    }
}

impl fmt::Display for StarCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = self.column;
        match &self.test {
            Test::Equal(value) => write!(f, "{column} = {value}"),
            Test::Between(low, high) => write!(f, "{column} between {low} and {high}"),
            Test::In(one, other) => write!(f, "{column} in ({one}, {other})"),
            Test::AtLeast(low) => write!(f, "{column} >= {low}"),
            Test::AtMost(high) => write!(f, "{column} <= {high}"),
            Test::Below(high) => write!(f, "{column} < {high}"),
        }
    }
}

impl Constant {
    fn scalar(&self) -> Scalar {
        match self {
            Self::Number(value) => Scalar::Int(*value as i64),
            Self::Text(value) => Scalar::Bytes(value.as_bytes().to_vec()),
        }
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(value) => write!(f, "'{value}'"),
        }
    }
}

impl From<u64> for Constant {
    fn from(value: u64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Constant {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Constant {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl StarCondition {
    pub(super) fn equal(column: &'static str, value: impl Into<Constant>) -> Self {
        Self { column, test: Test::Equal(value.into()) }
    }

    pub(super) fn between(column: &'static str, low: impl Into<Constant>, high: impl Into<Constant>) -> Self {
        Self { column, test: Test::Between(low.into(), high.into()) }
    }

    pub(super) fn among<T: Into<Constant>>(column: &'static str, [one, other]: [T; 2]) -> Self {
        Self { column, test: Test::In(one.into(), other.into()) }
    }

    pub(super) fn at_least(column: &'static str, low: impl Into<Constant>) -> Self {
        Self { column, test: Test::AtLeast(low.into()) }
    }

    pub(super) fn at_most(column: &'static str, high: impl Into<Constant>) -> Self {
        Self { column, test: Test::AtMost(high.into()) }
    }

    pub(super) fn below(column: &'static str, high: impl Into<Constant>) -> Self {
        Self { column, test: Test::Below(high.into()) }
    }
}
