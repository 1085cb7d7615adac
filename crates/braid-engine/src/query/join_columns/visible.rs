//! The columns that relations have and that a FROM clause makes visible.

use std::collections::HashMap;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Ident, ObjectName, TableAlias};

use crate::names::{fold, fold_parts};
use crate::query::rewrite::call;
use crate::{EngineError, SqlState};

/// A column of a relation: its name, and its type where the syntax tells it.
#[derive(Clone, Debug)]
pub(super) struct OutputColumn {
    pub name: String,
    pub data_type: Option<DataType>,
}

/// The columns of the tables that a statement names, by schema (if given) and name.
#[derive(Default)]
pub(in crate::query) struct KnownTables(HashMap<(Option<String>, String), SchemaRef>);

impl KnownTables {
    pub fn add(&mut self, schema: Option<&str>, table: &str, columns: SchemaRef) {
        self.0.insert((schema.map(str::to_owned), table.to_owned()), columns);
    }

    /// The columns of the table, unless it does not exist.
    pub(super) fn columns(&self, name: &ObjectName) -> Option<Vec<OutputColumn>> {
        let mut parts = fold_parts(name).ok()?;
        let table = parts.pop()?;
        let schema = self.0.get(&(parts.pop(), table))?;
        let columns = schema.fields().iter().map(|field| OutputColumn {
            name: field.name().clone(),
            data_type: field.metadata().is_empty().then(|| field.data_type().clone()),
        });
        Some(columns.collect())
    }
}

/// A column that is found by its name alone.
#[derive(Clone)]
pub(super) struct VisibleColumn {
    pub name: String,
    /// The expression on the columns of single relations.
    pub value: Expr,
    pub data_type: Option<DataType>,
    /// Whether USING made it of two columns.
    pub is_merged: bool,
}

/// What a FROM clause, or a part of it, makes visible.
#[derive(Clone, Default)]
pub(super) struct Columns {
    pub visible: Vec<VisibleColumn>,
    /// The relations by their names, for `t.*` and `t.a`.
    relations: Vec<(String, Vec<OutputColumn>)>,
    /// Whether a relation has columns that the syntax does not tell.
    pub has_unknown: bool,
}

/// Which rows without a partner a join keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
}

impl Columns {
    /// A relation called `name`; `None` where its columns are not known.
    pub fn of_relation(name: &str, columns: Option<Vec<OutputColumn>>) -> Self {
        let has_unknown = columns.is_none();
        let columns = columns.unwrap_or_default();
        let visible = columns.iter().map(|column| VisibleColumn {
            name: column.name.clone(),
            value: Expr::CompoundIdentifier(vec![quoted(name), quoted(&column.name)]),
            data_type: column.data_type.clone(),
            is_merged: false,
        });
        Self { visible: visible.collect(), relations: vec![(name.to_owned(), columns)], has_unknown }
    }

    /// Both, one behind the other.
    pub fn and(mut self, other: Self) -> Self {
        self.visible.extend(other.visible);
        self.relations.extend(other.relations);
        self.has_unknown |= other.has_unknown;
        self
    }

    pub fn has_merged(&self) -> bool {
        self.visible.iter().any(|column| column.is_merged)
    }

    /// The columns of one name.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a VisibleColumn> {
        self.visible.iter().filter(move |column| column.name == name)
    }

    pub fn relation(&self, name: &str) -> Option<&[OutputColumn]> {
        let found = self.relations.iter().find(|(relation, _)| relation == name);
        found.map(|(_, columns)| columns.as_slice())
    }

    /// Joins by columns of equal names: what is visible then, and the join's condition.
    pub fn merge(self, right: Self, kind: JoinKind, names: &[String]) -> Result<(Self, Option<Expr>), EngineError> {
        let mut merged = Vec::with_capacity(names.len());
        let mut condition = None;
        for name in names {
            let (ours, theirs) = (self.only(name, "left")?, right.only(name, "right")?);
            let equal = binary(ours.value.clone(), BinaryOperator::Eq, theirs.value.clone());
            condition = Some(match condition {
                None => equal,
                Some(condition) => binary(condition, BinaryOperator::And, equal),
            });
            merged.push(merged_column(kind, ours, theirs));
        }
        let mut all = self.and(right);
        all.visible.retain(|column| !names.contains(&column.name));
        all.visible.splice(0..0, merged);
        Ok((all, condition))
    }

    /// The one column of that name on a side of a join.
    fn only<'a>(&'a self, name: &'a str, side: &str) -> Result<&'a VisibleColumn, EngineError> {
        let mut found = self.named(name);
        match (found.next(), found.next()) {
            (Some(column), None) => Ok(column),
            (Some(_), Some(_)) => Err(EngineError::new(
                SqlState::AmbiguousColumn,
                format!("common column name \"{name}\" appears more than once in {side} table"),
            )),
            (None, _) if self.has_unknown => Err(unknown_columns()),
            (None, _) => Err(EngineError::new(
                SqlState::UndefinedColumn,
                format!("column \"{name}\" specified in USING clause does not exist in {side} table"),
            )),
        }
    }
}

/// The columns that NATURAL JOIN joins by, in the left side's order.
pub(super) fn common_names(left: &Columns, right: &Columns) -> Result<Vec<String>, EngineError> {
    if left.has_unknown || right.has_unknown {
        return Err(unknown_columns());
    }
    let shared = left.visible.iter().filter(|column| right.named(&column.name).next().is_some());
    Ok(shared.map(|column| column.name.clone()).collect())
}

/// `transformFromClauseItem` and `buildMergedJoinVar` in PostgreSQL's parse_clause.c. Coalesced with its partner, a column
/// of a left or right join keeps its value and takes the type that both have in common.
fn merged_column(kind: JoinKind, left: &VisibleColumn, right: &VisibleColumn) -> VisibleColumn {
    let same_type = left.data_type.is_some() && left.data_type == right.data_type;
    let coalesce = |a: &VisibleColumn, b: &VisibleColumn| call("coalesce", vec![a.value.clone(), b.value.clone()]);
    let value = match kind {
        JoinKind::Inner | JoinKind::Left if same_type => left.value.clone(),
        JoinKind::Right if same_type => right.value.clone(),
        JoinKind::Right => coalesce(right, left),
        JoinKind::Inner | JoinKind::Left | JoinKind::Full => coalesce(left, right),
    };
    let data_type = left.data_type.clone().filter(|_| same_type);
    VisibleColumn { name: left.name.clone(), value, data_type, is_merged: true }
}

/// A relation's columns under an alias, whose column names replace the first ones.
pub(super) fn renamed(columns: Option<Vec<OutputColumn>>, alias: &TableAlias) -> Option<Vec<OutputColumn>> {
    let names = alias.columns.iter().map(|column| fold(&column.name));
    let mut columns = columns?;
    for (column, name) in columns.iter_mut().zip(names) {
        column.name = name;
    }
    Some(columns)
}

/// The columns of a function in FROM: those its alias names, one for a series.
pub(super) fn function_columns(name: &ObjectName, alias: Option<&TableAlias>) -> Option<Vec<OutputColumn>> {
    let function = fold_parts(name).ok()?.pop()?;
    let column = |name: String| OutputColumn { name, data_type: None };
    match alias {
        Some(alias) if !alias.columns.is_empty() => {
            Some(alias.columns.iter().map(|named| column(fold(&named.name))).collect())
        }
        _ if function != "generate_series" => None,
        Some(alias) => Some(vec![column(fold(&alias.name))]),
        None => Some(vec![column(function)]),
    }
}

pub(super) fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

pub(super) fn unknown_columns() -> EngineError {
    EngineError::unsupported("JOIN … USING and NATURAL JOIN of relations whose columns are not named are not supported")
        .with_hint("Name the columns: AS alias(a, b), or join with ON.")
}
