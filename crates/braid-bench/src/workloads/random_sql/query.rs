//! A query as a tree, and its text.
//!
//! A node of the tree is a part that [`super::shrink`] can leave out. Expressions are texts. Every relation has a unique alias
//! and every column is qualified, so that leaving out a part does not change the meaning of the others.

use std::fmt;

/// A query with its order.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The query without its order.
    pub body: Body,
    /// The order by columns of the result: no column, or all columns.
    pub order_by: Vec<OrderKey>,
    /// LIMIT.
    pub limit: Option<u64>,
    /// OFFSET.
    pub offset: Option<u64>,
}

/// A column to sort by.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderKey {
    /// Its name in the result.
    pub name: String,
    /// `desc nulls first`.
    pub direction: &'static str,
}

/// One SELECT, or a union of several.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// One SELECT.
    Select(Box<Select>),
    /// A union of two.
    Set {
        /// `union all`.
        operation: &'static str,
        /// The first.
        left: Box<Body>,
        /// The second, with columns of the same names and kinds.
        right: Box<Body>,
    },
}

/// A SELECT.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// DISTINCT.
    pub is_distinct: bool,
    /// The columns.
    pub items: Vec<Item>,
    /// FROM.
    pub from: From,
    /// The conditions of WHERE; all must hold.
    pub conditions: Vec<Condition>,
    /// GROUP BY.
    pub group_by: Vec<String>,
    /// The conditions of HAVING; all must hold.
    pub having: Vec<Condition>,
}

/// A column of the result.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its value.
    pub value: Value,
    /// Its name.
    pub name: String,
}

/// The value of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An expression.
    Expression(String),
    /// A query of one value.
    Query(Box<Query>),
}

/// FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct From {
    /// The first relation.
    pub first: Relation,
    /// The relations that are joined to it.
    pub joins: Vec<Join>,
}

/// A table or a query, under its alias.
#[derive(Clone, Debug, PartialEq)]
pub struct Relation {
    /// The relation.
    pub source: Source,
    /// Its alias, which is unique in the query.
    pub alias: String,
}

/// The source of a relation.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A table.
    Table(String),
    /// A derived table.
    Query(Box<Query>),
}

/// A relation that is joined.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    /// `left join`; a `cross join` has no conditions.
    pub kind: &'static str,
    /// The relation.
    pub relation: Relation,
    /// The conditions of ON; all must hold.
    pub on: Vec<Condition>,
}

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// An expression.
    Plain(String),
    /// NOT.
    Not(Box<Condition>),
    /// AND.
    All(Vec<Condition>),
    /// OR.
    Any(Vec<Condition>),
    /// EXISTS.
    Exists(Box<Query>),
    /// `value operator (query)`: `in`, `not in`, `<`, …
    Compared {
        /// The left side.
        value: String,
        /// The operator.
        operator: &'static str,
        /// The right side, of one column.
        query: Box<Query>,
    },
}

impl Query {
    /// A SELECT without an order.
    pub fn of(select: Select) -> Self {
        Self { body: Body::Select(Box::new(select)), order_by: Vec::new(), limit: None, offset: None }
    }
}

fn separated<T: fmt::Display>(f: &mut fmt::Formatter<'_>, parts: &[T], separator: &str) -> fmt::Result {
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            f.write_str(separator)?;
        }
        write!(f, "{part}")?;
    }
    Ok(())
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.body)?;
        for (at, key) in self.order_by.iter().enumerate() {
            write!(f, "{} {} {}", if at == 0 { " order by" } else { "," }, key.name, key.direction)?;
        }
        if let Some(limit) = self.limit {
            write!(f, " limit {limit}")?;
        }
        self.offset.map_or(Ok(()), |offset| write!(f, " offset {offset}"))
    }
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Select(select) => write!(f, "{select}"),
            Self::Set { operation, left, right } => write!(f, "({left}) {operation} ({right})"),
        }
    }
}

impl fmt::Display for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_distinct { "select distinct " } else { "select " })?;
        separated(f, &self.items, ", ")?;
        write!(f, " from {}", self.from)?;
        if !self.conditions.is_empty() {
            f.write_str(" where ")?;
            separated(f, &self.conditions, " and ")?;
        }
        if !self.group_by.is_empty() {
            write!(f, " group by {}", self.group_by.join(", "))?;
        }
        if !self.having.is_empty() {
            f.write_str(" having ")?;
            separated(f, &self.having, " and ")?;
        }
        Ok(())
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Expression(text) => write!(f, "{text} as {}", self.name),
            Value::Query(query) => write!(f, "({query}) as {}", self.name),
        }
    }
}

impl fmt::Display for From {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        for join in &self.joins {
            write!(f, " {} {}", join.kind, join.relation)?;
            if !join.on.is_empty() {
                f.write_str(" on ")?;
                separated(f, &join.on, " and ")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::Table(name) => write!(f, "{name} as {}", self.alias),
            Source::Query(query) => write!(f, "({query}) as {}", self.alias),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let several = |f: &mut fmt::Formatter<'_>, conditions: &[Self], separator| {
            f.write_str("(")?;
            separated(f, conditions, separator)?;
            f.write_str(")")
        };
        match self {
            Self::Plain(text) => f.write_str(text),
            Self::Not(condition) => write!(f, "(not {condition})"),
            Self::All(conditions) => several(f, conditions, " and "),
            Self::Any(conditions) => several(f, conditions, " or "),
            Self::Exists(query) => write!(f, "exists ({query})"),
            Self::Compared { value, operator, query } => write!(f, "({value} {operator} ({query}))"),
        }
    }
}
