//! `JOIN … USING` and `NATURAL JOIN`, spelled out with ON.
//!
//! USING merges two columns into one: the left side's of an inner or left join, the right side's of a right join, and of a
//! full join the one that is not null. The merged column comes first in `*`, and its name alone means it; `a.id` and `b.id`
//! still mean the tables' own. DataFusion takes the left side's column for all joins and keeps `*` in the tables' order.
//! So USING becomes ON, `*` becomes a list, and a merged column's name becomes an expression on the tables' columns. An
//! alias of a join in parentheses hides the tables' names: the join becomes a subquery.
//!
//! A name means the innermost query's column that has it. ORDER BY looks at the select list first. Where a relation's columns
//! are not known (functions without column names), what depends on them is refused.

mod visible;

use std::ops::ControlFlow;

use arrow::datatypes::DataType;
use datafusion::sql::sqlparser::ast::{
    Cte, Distinct, Expr, Join, JoinConstraint, JoinOperator, OrderBy, OrderByKind, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableAlias, TableFactor, TableWithJoins, Value, Visit, VisitMut, Visitor,
    VisitorMut,
};

use self::visible::{
    Columns, JoinKind, OutputColumn, VisibleColumn, common_names, function_columns, quoted, renamed, unknown_columns,
};
use super::column_names::item_name;
use super::rewrite::parse_query;
use crate::EngineError;
use crate::names::{fold, fold_parts};

pub(super) use self::visible::KnownTables;

/// Whether a query has joins by name, or aliases of joins.
pub(super) fn joins_by_name(query: &Query) -> bool {
    struct Find;
    impl Visitor for Find {
        type Break = ();

        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
            if select.from.iter().any(is_by_name) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    query.visit(&mut Find).is_break()
}

fn is_by_name(tables: &TableWithJoins) -> bool {
    let nested = |factor: &TableFactor| match factor {
        TableFactor::NestedJoin { table_with_joins, alias } => alias.is_some() || is_by_name(table_with_joins),
        _ => false,
    };
    let constraint = |join: &Join| {
        let by_name =
            |constraint: &JoinConstraint| matches!(constraint, JoinConstraint::Using(_) | JoinConstraint::Natural);
        constraint_of(&join.join_operator).is_some_and(|(_, constraint)| by_name(constraint))
    };
    nested(&tables.relation) || tables.joins.iter().any(|join| constraint(join) || nested(&join.relation))
}

/// Spells out the joins of a query and of its subqueries.
pub(super) fn spell_out_joins(query: &mut Query, tables: &KnownTables) -> Result<(), EngineError> {
    let mut spelling = Spelling { tables, ctes: Vec::new(), scopes: Vec::new() };
    spelling.query(query).map(drop)
}

/// The columns of a query's rows; `None` where they are not known.
type Output = Option<Vec<OutputColumn>>;

struct Spelling<'a> {
    tables: &'a KnownTables,
    /// WITH queries, the innermost last.
    ctes: Vec<(String, Output)>,
    /// What the FROM clauses around make visible, the innermost last.
    scopes: Vec<Columns>,
}

impl Spelling<'_> {
    fn query(&mut self, query: &mut Query) -> Result<Output, EngineError> {
        let outer_ctes = self.ctes.len();
        if let Some(with) = &mut query.with {
            for cte in &mut with.cte_tables {
                self.cte(cte, with.recursive)?;
            }
        }
        let output = match &mut *query.body {
            SetExpr::Select(select) => self.select(select, query.order_by.as_mut())?,
            body => {
                let output = self.body(body)?;
                self.expressions(&mut query.order_by)?;
                output
            }
        };
        self.expressions(&mut query.limit_clause)?;
        self.ctes.truncate(outer_ctes);
        Ok(output)
    }

    fn cte(&mut self, cte: &mut Cte, is_recursive: bool) -> Result<(), EngineError> {
        let name = fold(&cte.alias.name);
        if is_recursive && let SetExpr::SetOperation { left, .. } = &*cte.query.body {
            let mut first = left.clone();
            let output = self.body(&mut first)?;
            self.ctes.push((name.clone(), renamed(output, &cte.alias)));
        }
        let output = self.query(&mut cte.query)?;
        name_items(&mut cte.query.body);
        self.ctes.push((name, renamed(output, &cte.alias)));
        Ok(())
    }

    fn body(&mut self, body: &mut SetExpr) -> Result<Output, EngineError> {
        match body {
            SetExpr::Select(select) => self.select(select, None),
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { left, right, .. } => {
                let output = self.body(left)?;
                self.body(right)?;
                let untyped = |column: OutputColumn| OutputColumn { data_type: None, ..column };
                Ok(output.map(|columns| columns.into_iter().map(untyped).collect()))
            }
            SetExpr::Values(values) => {
                let width = values.rows.first().map_or(0, |row| row.len());
                self.expressions(values)?;
                let column = |at: usize| OutputColumn { name: format!("column{at}"), data_type: None };
                Ok(Some((1..=width).map(column).collect()))
            }
            _ => Ok(None),
        }
    }

    fn select(&mut self, select: &mut Select, order_by: Option<&mut OrderBy>) -> Result<Output, EngineError> {
        let mut columns = Columns::default();
        for tables in &mut select.from {
            let found = self.joined(tables, &columns)?;
            columns = columns.and(found);
        }
        self.scopes.push(columns);
        self.select_list(&mut select.projection)?;
        let aliases: Vec<String> = select.projection.iter().filter_map(alias_of).collect();
        if let Some(Distinct::On(keys)) = &mut select.distinct {
            self.expressions(keys)?;
        }
        self.expressions(&mut select.selection)?;
        self.expressions(&mut select.group_by)?;
        self.expressions(&mut select.having)?;
        self.expressions(&mut select.named_window)?;
        if let Some(order_by) = order_by {
            self.order_by(order_by, &aliases)?;
        }
        let output = self.output(&select.projection);
        self.scopes.pop();
        Ok(output)
    }

    fn select_list(&mut self, items: &mut Vec<SelectItem>) -> Result<(), EngineError> {
        let mut spelled_out = Vec::with_capacity(items.len());
        for mut item in items.drain(..) {
            match &mut item {
                SelectItem::Wildcard(_) if self.scope().has_merged() => {
                    if self.scope().has_unknown {
                        return Err(unknown_columns());
                    }
                    spelled_out.extend(self.scope().visible.iter().map(as_item));
                    continue;
                }
                SelectItem::UnnamedExpr(expr) => {
                    let name = match &*expr {
                        Expr::Identifier(ident) => Some(fold(ident)),
                        _ => None,
                    };
                    let before = expr.clone();
                    self.expressions(expr)?;
                    let is_column = matches!(expr, Expr::CompoundIdentifier(_));
                    if let Some(name) = name.filter(|_| *expr != before && !is_column) {
                        let expr = expr.clone();
                        item = SelectItem::ExprWithAlias { expr, alias: quoted(&name) };
                    }
                }
                other => self.expressions(other)?,
            }
            spelled_out.push(item);
        }
        *items = spelled_out;
        Ok(())
    }

    /// A name in ORDER BY is first one that the select list gives, `aliases`.
    fn order_by(&mut self, order_by: &mut OrderBy, aliases: &[String]) -> Result<(), EngineError> {
        let OrderByKind::Expressions(keys) = &mut order_by.kind else { return Ok(()) };
        for key in keys {
            match &key.expr {
                Expr::Identifier(ident) if aliases.contains(&fold(ident)) => {}
                _ => self.expressions(&mut key.expr)?,
            }
        }
        Ok(())
    }

    /// What a FROM item makes visible. `before` is what the items left of it do, which LATERAL sees.
    fn joined(&mut self, tables: &mut TableWithJoins, before: &Columns) -> Result<Columns, EngineError> {
        let mut left = self.relation(&mut tables.relation, before)?;
        for join in &mut tables.joins {
            let seen = before.clone().and(left.clone());
            let right = self.relation(&mut join.relation, &seen)?;
            left = self.join(left, right, &mut join.join_operator)?;
        }
        Ok(left)
    }

    fn join(&mut self, left: Columns, right: Columns, operator: &mut JoinOperator) -> Result<Columns, EngineError> {
        let Some((kind, constraint)) = constraint_of(operator) else { return Ok(left.and(right)) };
        let names = match constraint {
            JoinConstraint::Using(names) => {
                let parts = names.iter().map(|name| Ok(fold_parts(name)?.pop().unwrap_or_default()));
                parts.collect::<Result<Vec<_>, EngineError>>()?
            }
            JoinConstraint::Natural => common_names(&left, &right)?,
            JoinConstraint::On(_) | JoinConstraint::None => {
                self.scopes.push(left.and(right));
                self.expressions(operator)?;
                return Ok(self.scopes.pop().unwrap_or_default());
            }
        };
        let (merged, condition) = left.merge(right, kind, &names)?;
        let constraint = JoinConstraint::On(condition.unwrap_or_else(always));
        *operator = match kind {
            JoinKind::Inner => JoinOperator::Inner(constraint),
            JoinKind::Left => JoinOperator::LeftOuter(constraint),
            JoinKind::Right => JoinOperator::RightOuter(constraint),
            JoinKind::Full => JoinOperator::FullOuter(constraint),
        };
        Ok(merged)
    }

    fn relation(&mut self, factor: &mut TableFactor, before: &Columns) -> Result<Columns, EngineError> {
        match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let parts = fold_parts(name)?;
                let cte = match parts.as_slice() {
                    [only] => self.ctes.iter().rev().find(|(name, _)| name == only),
                    _ => None,
                };
                let columns = match cte {
                    Some((_, columns)) => columns.clone(),
                    None => self.tables.columns(name),
                };
                let own_name = parts.last().cloned().unwrap_or_default();
                Ok(under_alias(columns, alias.as_ref(), &own_name))
            }
            TableFactor::Table { name, alias, args: Some(args), .. } => {
                self.laterally(before, |this| this.expressions(&mut args.args))?;
                let own_name = fold_parts(name)?.pop().unwrap_or_default();
                let columns = function_columns(name, alias.as_ref());
                Ok(Columns::of_relation(&alias.as_ref().map_or(own_name, |alias| fold(&alias.name)), columns))
            }
            TableFactor::Derived { lateral, subquery, alias, .. } => {
                let output =
                    if *lateral { self.laterally(before, |this| this.query(subquery))? } else { self.query(subquery)? };
                name_items(&mut subquery.body);
                Ok(under_alias(output, alias.as_ref(), ""))
            }
            TableFactor::NestedJoin { table_with_joins, alias: None } => self.joined(table_with_joins, before),
            TableFactor::NestedJoin { table_with_joins, alias: Some(alias) } => {
                let columns = self.joined(table_with_joins, before)?;
                let alias = alias.clone();
                let (derived, output) = subquery_of(table_with_joins, columns, &alias)?;
                *factor = derived;
                Ok(under_alias(Some(output), Some(&alias), ""))
            }
            other => {
                self.laterally(before, |this| this.expressions(other))?;
                let alias = match other {
                    TableFactor::UNNEST { alias, .. } | TableFactor::Function { alias, .. } => alias.as_ref(),
                    _ => None,
                };
                let columns = alias.filter(|alias| !alias.columns.is_empty()).map(|alias| {
                    let names = alias.columns.iter().map(|column| fold(&column.name));
                    names.map(|name| OutputColumn { name, data_type: None }).collect()
                });
                Ok(under_alias(columns, alias, ""))
            }
        }
    }

    /// With the columns of the FROM items on the left in sight.
    fn laterally<T>(&mut self, before: &Columns, work: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(before.clone());
        let result = work(self);
        self.scopes.pop();
        result
    }

    fn scope(&self) -> &Columns {
        self.scopes.last().expect("a scope is pushed before its expressions are read")
    }

    /// Puts values in the place of merged columns' names, and spells out the joins of subqueries.
    fn expressions<T: VisitMut>(&mut self, tree: &mut T) -> Result<(), EngineError> {
        match tree.visit(&mut Names { spelling: self, depth: 0 }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(*error),
        }
    }

    /// What a name alone means, if that is a merged column.
    fn merged(&self, name: &str) -> Result<Option<Expr>, EngineError> {
        let mut may_be_inner = false;
        for scope in self.scopes.iter().rev() {
            let mut found = scope.named(name);
            match (found.next(), found.next()) {
                (Some(column), None) if column.is_merged && may_be_inner => return Err(unknown_columns()),
                (Some(column), None) => return Ok(column.is_merged.then(|| column.value.clone())),
                (Some(_), Some(_)) => return Ok(None),
                (None, _) => may_be_inner |= scope.has_unknown,
            }
        }
        Ok(None)
    }

    /// The columns of a select list.
    fn output(&self, items: &[SelectItem]) -> Output {
        let mut output = Vec::with_capacity(items.len());
        for item in items {
            match item {
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                    output.push(OutputColumn { name: item_name(item)?, data_type: self.type_of(expr) });
                }
                SelectItem::Wildcard(_) if !self.scope().has_unknown => {
                    let column = |column: &VisibleColumn| OutputColumn {
                        name: column.name.clone(),
                        data_type: column.data_type.clone(),
                    };
                    output.extend(self.scope().visible.iter().map(column));
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _)
                    if !self.scope().has_unknown =>
                {
                    let relation = fold_parts(name).ok()?.pop()?;
                    output.extend_from_slice(self.scope().relation(&relation)?);
                }
                _ => return None,
            }
        }
        Some(output)
    }

    /// The type of a column; other expressions' types are not found out.
    fn type_of(&self, expr: &Expr) -> Option<DataType> {
        match expr {
            Expr::Identifier(ident) => self.scope().named(&fold(ident)).next()?.data_type.clone(),
            Expr::CompoundIdentifier(idents) => {
                let [.., relation, column] = idents.as_slice() else { return None };
                let columns = self.scope().relation(&fold(relation))?;
                columns.iter().find(|found| found.name == fold(column))?.data_type.clone()
            }
            _ => None,
        }
    }
}

/// Walks through expressions; queries in them are worked on as a whole.
struct Names<'a, 'b> {
    spelling: &'a mut Spelling<'b>,
    /// Queries around that are done.
    depth: usize,
}

impl VisitorMut for Names<'_, '_> {
    type Break = Box<EngineError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        if self.depth == 0
            && let Err(error) = self.spelling.query(query)
        {
            return ControlFlow::Break(Box::new(error));
        }
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Self::Break> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let Expr::Identifier(ident) = &*expr else { return ControlFlow::Continue(()) };
        if self.depth > 0 {
            return ControlFlow::Continue(());
        }
        match self.spelling.merged(&fold(ident)) {
            Ok(None) => ControlFlow::Continue(()),
            Ok(Some(value)) => {
                *expr = value;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }
}

fn under_alias(columns: Output, alias: Option<&TableAlias>, own_name: &str) -> Columns {
    match alias {
        Some(alias) => Columns::of_relation(&fold(&alias.name), renamed(columns, alias)),
        None => Columns::of_relation(own_name, columns),
    }
}

/// `(a JOIN b …) AS alias` as a subquery with all of the join's columns.
fn subquery_of(
    tables: &TableWithJoins,
    columns: Columns,
    alias: &TableAlias,
) -> Result<(TableFactor, Vec<OutputColumn>), EngineError> {
    if columns.has_unknown {
        return Err(unknown_columns());
    }
    let mut subquery = parse_query("SELECT 1")?;
    let SetExpr::Select(select) = &mut *subquery.body else {
        return Err(EngineError::internal("SELECT is not a select"));
    };
    select.projection = columns.visible.iter().map(as_item).collect();
    select.from = vec![tables.clone()];
    let output = columns.visible.into_iter();
    let output = output.map(|column| OutputColumn { name: column.name, data_type: column.data_type }).collect();
    Ok((TableFactor::Derived { lateral: false, subquery, alias: Some(alias.clone()), sample: None }, output))
}

fn as_item(column: &VisibleColumn) -> SelectItem {
    match &column.value {
        value @ Expr::CompoundIdentifier(_) => SelectItem::UnnamedExpr(value.clone()),
        value => SelectItem::ExprWithAlias { expr: value.clone(), alias: quoted(&column.name) },
    }
}

fn alias_of(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
        _ => None,
    }
}

/// Gives the unnamed expressions of a subquery PostgreSQL's names, by which the query around it may ask for them.
fn name_items(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => {
            let names: Vec<_> = select.projection.iter().map(item_name).collect();
            for (item, name) in select.projection.iter_mut().zip(&names) {
                let SelectItem::UnnamedExpr(expr) = item else { continue };
                let is_column = matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
                let is_only = names.iter().filter(|other| *other == name).count() == 1;
                if let Some(name) = name.as_ref().filter(|_| is_only && !is_column) {
                    *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: quoted(name) };
                }
            }
        }
        SetExpr::SetOperation { left, .. } => name_items(left),
        SetExpr::Query(query) => name_items(&mut query.body),
        _ => {}
    }
}

/// The kind and the constraint of PostgreSQL's joins.
fn constraint_of(operator: &JoinOperator) -> Option<(JoinKind, &JoinConstraint)> {
    match operator {
        JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) | JoinOperator::CrossJoin(constraint) => {
            Some((JoinKind::Inner, constraint))
        }
        JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => Some((JoinKind::Left, constraint)),
        JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => Some((JoinKind::Right, constraint)),
        JoinOperator::FullOuter(constraint) => Some((JoinKind::Full, constraint)),
        _ => None,
    }
}

fn always() -> Expr {
    Expr::Value(Value::Boolean(true).with_empty_span())
}
