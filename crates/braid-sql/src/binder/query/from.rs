//! FROM: tables, subqueries, functions, and joins of them.

use std::collections::BTreeSet;

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Join, JoinConstraint, JoinOperator, ObjectName,
    ObjectNamePart, TableAlias, TableAliasColumnDef, TableFactor, TableWithJoins,
};

use super::samples::only_tables_are_sampled;
use super::scope::{Access, Scope, ScopeColumn, ScopeRelation, visible_columns};
use super::subqueries::column_expression;
use super::system_columns::with_system_columns;
use crate::binder::clause::Clause;
use crate::binder::places::Place;
use crate::binder::{Binder, fold, truth};
use crate::expression::{Expression, Node};
use crate::pg_catalog::TypeId;
use crate::relation::{ColumnId, Expansion, JoinKind, Output, Query, Relation, SetFunctionCall, TableScan};
use crate::search_path::SYSTEM_SCHEMA;
use crate::syntax::{is_no_table_name, is_rows_from, is_unnamed, join_name};
use crate::tables::{NamedColumn, ROW_IDS, VALUE_SOURCE, is_common_rows, row_ids_name, schema_of_identified_table};
use crate::values::Value;
use crate::{SqlError, SqlState, SqlType};

/// Something of FROM: its rows, and what it can be called.
pub(super) struct FromItem {
    pub relation: Relation,
    pub names: Vec<ScopeRelation>,
}

impl Binder<'_> {
    /// The list of FROM. The names go to `scope`.
    pub(super) fn from(&self, items: &[TableWithJoins], scope: &mut Scope<'_>) -> Result<Relation, SqlError> {
        let mut relation: Option<Relation> = None;
        for item in items {
            let bound = self.joined(item, scope)?;
            self.check_names(&scope.relations, &bound.names)?;
            scope.relations.extend(bound.names);
            relation = Some(match relation {
                None => bound.relation,
                Some(left) => Relation::Join {
                    kind: JoinKind::Inner,
                    left: Box::new(left),
                    right: Box::new(bound.relation),
                    condition: always(),
                },
            });
        }
        Ok(relation.unwrap_or(Relation::OneRow))
    }

    /// An item of FROM with its joins. `scope` has what stands to the left.
    fn joined(&self, item: &TableWithJoins, scope: &Scope<'_>) -> Result<FromItem, SqlError> {
        let mut left = self.item(&item.relation, scope)?;
        for join in &item.joins {
            left = self.join(left, join, scope)?;
        }
        Ok(left)
    }

    fn join(&self, left: FromItem, join: &Join, scope: &Scope<'_>) -> Result<FromItem, SqlError> {
        let (kind, constraint) = match &join.join_operator {
            JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => (JoinKind::Inner, constraint),
            JoinOperator::CrossJoin(constraint @ JoinConstraint::None) => (JoinKind::Inner, constraint),
            JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => (JoinKind::Left, constraint),
            JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => (JoinKind::Right, constraint),
            JoinOperator::FullOuter(constraint) => (JoinKind::Full, constraint),
            _ => return Err(SqlError::unsupported("this kind of join is not supported")),
        };
        let can_refer_left = matches!(kind, JoinKind::Inner | JoinKind::Left);
        let left_names = left.names.iter().map(|name| ScopeRelation {
            access: if can_refer_left || name.access == Access::Hidden { name.access } else { Access::OutsideOfJoin },
            ..name.clone()
        });
        let beside = scope.with_relations(scope.relations.iter().cloned().chain(left_names).collect());
        let right = self.item(&join.relation, &beside)?;
        self.check_names(&left.names, &right.names)?;
        match constraint {
            JoinConstraint::None => match (&join.join_operator, kind) {
                (JoinOperator::CrossJoin(_), _) => Ok(paired(kind, left, right, always())),
                // Braid's own parser takes a join without a condition.
                _ => Err(SqlError::new(SqlState::SyntaxError, "a join needs a condition")),
            },
            JoinConstraint::On(condition) => {
                let hidden = scope.hidden().relations.into_iter();
                let names = hidden.chain(left.names.iter().chain(&right.names).cloned()).collect();
                let both = scope.with_relations(names);
                let condition =
                    self.in_scope(&both, Clause::JoinCondition).boolean(condition, "argument of JOIN/ON")?;
                Ok(paired(kind, left, right, condition))
            }
            JoinConstraint::Using(names) => {
                let (names, join_alias) = match names.split_last() {
                    Some((last, names)) if join_name(last).is_some() => (names, join_name(last)),
                    _ => (&names[..], None),
                };
                let names = names.iter().map(|name| match &name.0[..] {
                    [ObjectNamePart::Identifier(name)] => Ok(fold(name)),
                    _ => Err(SqlError::unsupported("USING takes names of columns")),
                });
                let names = names.collect::<Result<Vec<_>, _>>()?;
                self.join_using(kind, left, right, &names, join_alias.as_ref())
            }
            JoinConstraint::Natural => {
                let right_names: BTreeSet<&str> = visible_columns(&right.names).map(|column| &*column.name).collect();
                let common = visible_columns(&left.names).filter(|column| right_names.contains(&*column.name));
                let common: Vec<String> = common.map(|column| column.name.clone()).collect();
                self.join_using(kind, left, right, &common, None)
            }
        }
    }

    /// A join by equal columns of the same names, each of which becomes one column. Its alias names these.
    fn join_using(
        &self,
        kind: JoinKind,
        left: FromItem,
        right: FromItem,
        names: &[String],
        join_alias: Option<&Ident>,
    ) -> Result<FromItem, SqlError> {
        let (mut conditions, mut merged, mut maps) = (Vec::new(), Vec::new(), Vec::new());
        for (at, name) in names.iter().enumerate() {
            if names[..at].contains(name) {
                let message = format!("column name \"{name}\" appears more than once in USING clause");
                return Err(SqlError::new(SqlState::DuplicateColumn, message));
            }
            let (of_left, of_right) = (side_column(&left, name, "left")?, side_column(&right, name, "right")?);
            [of_left, of_right].iter().for_each(|side| self.note_reference(side.id));
            let sides = [of_left, of_right].map(|side| column_expression(side.id, side.sql_type));
            let [left_side, right_side] = sides.clone();
            let (mut values, sql_type) =
                self.of_one_type(sides.into_iter().map(|side| (side, Place::Nowhere)).collect(), "JOIN/USING")?;
            let (left_side, right_side) = ((left_side, Place::Nowhere), (right_side, Place::Nowhere));
            conditions.push(self.operator("=", Place::Nowhere, left_side, right_side)?);
            let right_value = values.remove(1);
            let left_value = values.remove(0);
            let value = match kind {
                JoinKind::Right => right_value,
                JoinKind::Inner
                | JoinKind::Left
                | JoinKind::Semi
                | JoinKind::Anti
                | JoinKind::Mark(_)
                | JoinKind::Single => left_value,
                JoinKind::Full => Expression { node: Node::Coalesce(vec![left_value, right_value]), sql_type },
            };
            let id = match value.node {
                Node::Column(id, _) => id,
                _ => {
                    let id = self.new_column(name, sql_type);
                    maps.push((id, value));
                    id
                }
            };
            merged.push(ScopeColumn { name: name.clone(), id, sql_type });
        }
        let named = join_alias.map(|alias| ScopeRelation {
            has_visible_columns: false,
            is_named_join: true,
            ..ScopeRelation::named(fold(alias), merged.clone())
        });
        let rest = visible_columns(&left.names).chain(visible_columns(&right.names));
        merged.extend(rest.filter(|column| !names.contains(&column.name)).cloned());
        let condition = match conditions.len() {
            0 => always(),
            1 => conditions.remove(0),
            _ => truth(Node::And(conditions)),
        };
        let mut joined = paired(kind, left, right, condition);
        if !maps.is_empty() {
            joined.relation = Relation::Map { input: Box::new(joined.relation), expressions: maps };
        }
        for name in &mut joined.names {
            name.has_visible_columns = false;
        }
        joined.names.push(ScopeRelation { name: None, ..ScopeRelation::named(String::new(), merged) });
        if let Some(named) = named {
            self.check_names(&joined.names, std::slice::from_ref(&named))?;
            joined.names.push(named);
        }
        Ok(joined)
    }

    /// An item of FROM without its joins, of whose rows calls may ask whether they are there. The row of a function of one
    /// column is its value.
    fn item(&self, factor: &TableFactor, scope: &Scope<'_>) -> Result<FromItem, SqlError> {
        let item = self.factor(factor, scope)?;
        Ok(match factor {
            TableFactor::Table { args: None, .. } => self.with_presence(with_system_columns(item)),
            TableFactor::Derived { .. } => self.with_presence(item),
            TableFactor::NestedJoin { alias: Some(_), .. } => self.with_presence(item),
            TableFactor::Table { .. } | TableFactor::Function { .. } | TableFactor::UNNEST { .. }
                if item.names.iter().any(|relation| relation.columns.len() > 1) =>
            {
                self.with_presence(item)
            }
            _ => item,
        })
    }

    fn factor(&self, factor: &TableFactor, scope: &Scope<'_>) -> Result<FromItem, SqlError> {
        match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                with_hints,
                version: None,
                with_ordinality: false,
                partitions,
                json_path: None,
                sample,
                index_hints,
            } if with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty() => {
                let table = self.table(name, alias.as_ref(), scope)?;
                let place = Place::of(name.0.first().and_then(ObjectNamePart::as_ident));
                if sample.is_some() && self.is_view(name) {
                    return Err(self.places.mark(only_tables_are_sampled(), place));
                }
                sample.iter().try_fold(table, |table, sample| self.sampled(table, sample, place, scope))
            }
            TableFactor::Table { sample: Some(_), .. } | TableFactor::Derived { sample: Some(_), .. } => {
                Err(SqlError::new(SqlState::SyntaxError, "syntax error at or near \"tablesample\""))
            }
            TableFactor::Table { name, alias, args: Some(args), with_ordinality, sample: None, .. } => {
                self.function_rows(name, &args.args, *with_ordinality, alias.as_ref(), scope)
            }
            TableFactor::Function { name, args, with_ordinality, alias, lateral: _ } => {
                self.function_rows(name, args, *with_ordinality, alias.as_ref(), scope)
            }
            TableFactor::UNNEST {
                alias,
                array_exprs,
                with_offset: false,
                with_offset_alias: None,
                with_ordinality,
            } => self.unnest_rows(array_exprs, *with_ordinality, alias.as_ref(), scope),
            TableFactor::Derived { lateral, subquery, alias, sample: None } => {
                let is_of_values = alias.as_ref().is_some_and(|alias| alias.name.value.starts_with(VALUE_SOURCE));
                let around = match lateral {
                    true if is_of_values => scope.with_relations(scope.relations.clone()),
                    true => scope.lateral(),
                    false => scope.hidden(),
                };
                let binder = self.in_scope(&around, Clause::FromFunction);
                let query = binder.query(subquery, Scope::within(&binder))?;
                let (relation, columns) = self.told_apart(query);
                let names = match alias {
                    Some(alias) => self.aliased(ScopeRelation::named(fold(&alias.name), columns), Some(alias))?,
                    // Nothing can name it.
                    None => ScopeRelation { name: None, ..ScopeRelation::named(String::new(), columns) },
                };
                Ok(FromItem { relation, names: vec![names] })
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let joined = self.joined(table_with_joins, scope)?;
                let Some(alias) = alias else { return Ok(joined) };
                let columns = visible_columns(&joined.names).cloned().collect();
                let named = self.aliased(ScopeRelation::named(fold(&alias.name), columns), Some(alias))?;
                // No text names identities of rows.
                let hidden = |name: ScopeRelation| match name.is_of_identities() {
                    true => name,
                    false => ScopeRelation { access: Access::Hidden, ..name },
                };
                let hidden = joined.names.into_iter().map(hidden);
                Ok(FromItem { relation: joined.relation, names: hidden.chain([named]).collect() })
            }
            other => Err(SqlError::unsupported(format!("{other} in FROM is not supported"))),
        }
    }

    /// The rows of a subquery, and its columns: of those that are one column within, all but the first get numbers of their own. They differ
    /// in grouping sets.
    pub(super) fn told_apart(&self, query: Query) -> (Relation, Vec<ScopeColumn>) {
        let (mut columns, mut copies): (Vec<ScopeColumn>, Vec<_>) = (Vec::new(), Vec::new());
        for Output { name, column, sql_type } in query.outputs {
            let id = match columns.iter().any(|other| other.id == column) {
                false => column,
                true => {
                    let copy = self.new_column(&name, sql_type);
                    self.note_domain(copy, &column_expression(column, sql_type));
                    copies.push((copy, column_expression(column, sql_type)));
                    copy
                }
            };
            columns.push(ScopeColumn { name, id, sql_type });
        }
        let relation = match copies.is_empty() {
            true => query.relation,
            false => Relation::Map { input: Box::new(query.relation), expressions: copies },
        };
        (relation, columns)
    }

    /// A table, or a common table expression.
    fn table(&self, name: &ObjectName, alias: Option<&TableAlias>, scope: &Scope<'_>) -> Result<FromItem, SqlError> {
        let parts: Option<Vec<&Ident>> = name.0.iter().map(ObjectNamePart::as_ident).collect();
        let parts = parts.unwrap_or_default();
        let place = Place::of(parts.first().copied());
        if let Some(word) = parts.first().filter(|word| is_no_table_name(word)) {
            let error = SqlError::new(SqlState::SyntaxError, format!("syntax error at or near \"{word}\""));
            return Err(self.places.mark(error, place));
        }
        let folded: Vec<String> = parts.iter().map(|part| fold(part)).collect();
        let (schema, table_name) = match &folded[..] {
            [name] => (None, name),
            [schema, name] => (Some(schema.as_str()), name),
            [database, schema, name] if *database == self.session.database() => (Some(schema.as_str()), name),
            _ => {
                return Err(self
                    .places
                    .mark(SqlError::unsupported(format!("the table name {name} is not supported")), place));
            }
        };
        if schema.is_none()
            && let Some(common) = scope.common_table(table_name)
        {
            let Some(cte) = common.cte else {
                if let Some(refusal) = &common.refusal {
                    return Err(self.places.mark(refusal.clone(), place));
                }
                let message = format!("a reference to \"{table_name}\" from here is not supported");
                return Err(self.places.mark(SqlError::unsupported(message), place));
            };
            common.references.borrow_mut().push(place.location());
            let columns: Vec<ScopeColumn> = common
                .columns
                .iter()
                .map(|column| ScopeColumn {
                    name: column.name.clone(),
                    id: self.new_table_column(column),
                    sql_type: column.sql_type,
                })
                .collect();
            let relation = Relation::CteScan { cte, columns: columns.iter().map(|column| column.id).collect() };
            let own = ScopeRelation::named(table_name.clone(), columns);
            let names = self.aliased(ScopeRelation { last_step: common.is_last_step.then_some(cte), ..own }, alias)?;
            return Ok(FromItem { relation, names: vec![names] });
        }
        let searched = schema.or(self.searched);
        let found = self.tables.table(searched, table_name).map_err(|error| self.places.mark(error, place))?;
        let Some(table) = found else {
            let shown = folded.join(".");
            let message = format!("relation \"{shown}\" does not exist");
            let mut error = SqlError::new(SqlState::UndefinedTable, message);
            if schema.is_none() && scope.is_future_table(table_name) {
                error = error
                    .with_detail(format!(
                        "There is a WITH item named \"{table_name}\", but it cannot be referenced from this part of the query."
                    ))
                    .with_hint("Use WITH RECURSIVE, or re-order the WITH items to remove forward references.");
            }
            return Err(self.places.mark(error, place));
        };
        let named = self.tables.columns_of_name(schema, table_name);
        if let Some(view) = self.tables.view(table.id) {
            let (relation, columns) = self.view(&table, &view).map_err(|error| self.places.mark(error, place))?;
            let row = named.is_some().then(|| columns.clone());
            let columns = self.named_columns(named, columns);
            self.note_table((schema, table_name), &table, &columns);
            let own = ScopeRelation::named(table.name.clone(), columns).with_own_fields();
            let names = self.aliased(ScopeRelation { schema: Some(table.schema.clone()), row, ..own }, alias)?;
            return Ok(FromItem { relation, names: vec![names] });
        }
        let columns: Vec<ScopeColumn> = table
            .columns
            .iter()
            .map(|column| ScopeColumn {
                name: column.name.clone(),
                id: self.new_table_column(column),
                sql_type: column.sql_type,
            })
            .collect();
        let mut scan = TableScan {
            table: table.id,
            name: table.name.clone(),
            columns: columns.iter().map(|column| column.id).collect(),
            sample: None,
        };
        let visible = || columns.iter().filter(|column| !column.is_hidden()).cloned().collect();
        let row = (named.is_some() || columns.iter().any(ScopeColumn::is_hidden)).then(visible);
        let columns = self.named_columns(named, columns);
        self.note_table((schema, table_name), &table, &columns);
        let primary_key = positions_of(&table.primary_key, &scan.columns, &columns);
        let own = ScopeRelation::named(table.name.clone(), columns);
        let names = match is_common_rows(table.id) {
            true => ScopeRelation { row, ..own },
            false => ScopeRelation {
                schema: Some(table.schema.clone()),
                table: Some(table.id),
                primary_key,
                row,
                ..own.with_own_fields()
            },
        };
        let names = ScopeRelation { system_columns: self.system_columns(&table), ..names };
        let mut names = vec![self.aliased(names, alias)?];
        if let Some(schema) = schema.filter(|schema| schema_of_identified_table(schema).is_some()) {
            let sql_type = SqlType::of(TypeId::INT8);
            let id = self.new_column(ROW_IDS, sql_type);
            scan.columns.push(id);
            let name = row_ids_name(schema);
            let row_ids = vec![ScopeColumn { name: name.clone(), id, sql_type }];
            names.push(ScopeRelation { has_visible_columns: false, ..ScopeRelation::named(name, row_ids) });
        }
        Ok(FromItem { relation: Relation::Table(scan), names })
    }

    /// The columns that a name means, of all columns of its table.
    fn named_columns(&self, named: Option<Vec<NamedColumn>>, all: Vec<ScopeColumn>) -> Vec<ScopeColumn> {
        let Some(named) = named else { return all };
        let column = |NamedColumn { name, position }: NamedColumn| match position.and_then(|at| all.get(at)) {
            Some(column) => ScopeColumn { name, ..column.clone() },
            None => {
                let sql_type = SqlType::of(TypeId::TEXT);
                ScopeColumn { id: self.new_column(&name, sql_type), name, sql_type }
            }
        };
        named.into_iter().map(column).collect()
    }

    /// A function's rows, or the only value of one that returns no set.
    fn function_rows(
        &self,
        name: &ObjectName,
        arguments: &[FunctionArg],
        with_ordinality: bool,
        alias: Option<&TableAlias>,
        scope: &Scope<'_>,
    ) -> Result<FromItem, SqlError> {
        let beside = scope.lateral();
        let binder = self.in_scope(&beside, Clause::FromFunction);
        if is_rows_from(name) {
            let functions = binder.functions_side_by_side(arguments)?;
            let first = functions.first().map(|(_, name)| name.clone());
            let first = first.ok_or_else(|| SqlError::new(SqlState::SyntaxError, "ROWS FROM needs a function"))?;
            return self.expanded(functions, first, with_ordinality, alias);
        }
        if let Some((view, function)) = view_of_function(name).filter(|_| arguments.is_empty() && !with_ordinality) {
            let view = ObjectName::from(vec![Ident::new(SYSTEM_SCHEMA), Ident::new(view)]);
            let own = TableAlias { explicit: true, name: Ident::new(function), columns: Vec::new(), at: None };
            return self.table(&view, Some(alias.unwrap_or(&own)), scope);
        }
        let (definitions, plain) = match alias {
            Some(alias) if alias.columns.iter().any(|column| column.data_type.is_some()) => {
                let untyped = |column: &TableAliasColumnDef| TableAliasColumnDef { data_type: None, ..column.clone() };
                let columns = alias.columns.iter().map(untyped).collect();
                (&alias.columns[..], Some(TableAlias { columns, ..alias.clone() }))
            }
            _ => (&[][..], None),
        };
        if let (Some(first), true) = (definitions.first(), with_ordinality) {
            let error =
                SqlError::new(SqlState::SyntaxError, "WITH ORDINALITY cannot be used with a column definition list");
            let error = error.with_hint("Put the column definition list inside ROWS FROM().");
            return Err(self.places.mark(error, Place::At(first.name.span.start)));
        }
        let (call, name) = binder.function_in_from(name, arguments, definitions)?;
        let unnamed = alias.filter(|alias| is_unnamed(alias)).map(|alias| TableAlias {
            name: Ident::with_quote('"', &*name),
            ..plain.clone().unwrap_or_else(|| alias.clone())
        });
        self.expanded(vec![(call, name.clone())], name, with_ordinality, unnamed.or(plain).as_ref().or(alias))
    }

    /// The functions of ROWS FROM. `unnest` of several arrays is a function for each.
    fn functions_side_by_side(&self, items: &[FunctionArg]) -> Result<Vec<(SetFunctionCall, String)>, SqlError> {
        let mut functions = Vec::new();
        for item in items {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(function))) = item else {
                return Err(SqlError::unsupported("ROWS FROM takes calls of functions"));
            };
            let FunctionArguments::List(list) = &function.args else {
                return Err(SqlError::unsupported("ROWS FROM takes calls of functions"));
            };
            if function.over.is_some() || function.filter.is_some() || !list.clauses.is_empty() {
                return Err(SqlError::unsupported("this form of a call is not supported in ROWS FROM"));
            }
            let is_unnest = function.name.to_string().eq_ignore_ascii_case("unnest");
            match &list.args[..] {
                arrays @ [_, _, ..] if is_unnest => {
                    for array in arrays {
                        functions.push(self.function_in_from(&function.name, std::slice::from_ref(array), &[])?);
                    }
                }
                arguments => functions.push(self.function_in_from(&function.name, arguments, &[])?),
            }
        }
        Ok(functions)
    }

    /// `UNNEST(a, b)`: the elements of several arrays side by side.
    fn unnest_rows(
        &self,
        arrays: &[Expr],
        with_ordinality: bool,
        alias: Option<&TableAlias>,
        scope: &Scope<'_>,
    ) -> Result<FromItem, SqlError> {
        let beside = scope.lateral();
        let binder = self.in_scope(&beside, Clause::FromFunction);
        let calls = arrays.iter().map(|array| Ok((binder.unnest_in_from(array)?, "unnest".to_owned())));
        self.expanded(calls.collect::<Result<_, SqlError>>()?, "unnest".to_owned(), with_ordinality, alias)
    }

    fn expanded(
        &self,
        functions: Vec<(SetFunctionCall, String)>,
        name: String,
        with_ordinality: bool,
        alias: Option<&TableAlias>,
    ) -> Result<FromItem, SqlError> {
        let relation_name = alias.map_or(name, |alias| fold(&alias.name));
        let is_single = functions.len() == 1;
        let mut columns = Vec::new();
        for (function, function_name) in &functions {
            let made = function.columns();
            for id in made {
                let (own_name, sql_type) = {
                    let known = self.statement.columns.borrow();
                    (known.name(*id).to_owned(), known.sql_type(*id))
                };
                // The only column of a function without named columns is called like the relation.
                let is_unnamed = made.len() == 1 && own_name == *function_name;
                let name = if is_single && is_unnamed { relation_name.clone() } else { own_name };
                columns.push(ScopeColumn { name, id: *id, sql_type });
            }
        }
        let ordinality = with_ordinality.then(|| {
            let sql_type = SqlType::of(TypeId::INT8);
            let id = self.new_column("ordinality", sql_type);
            columns.push(ScopeColumn { name: "ordinality".to_owned(), id, sql_type });
            id
        });
        let functions = functions.into_iter().map(|(function, _)| function).collect();
        let relation = Relation::Expand(Box::new(Expansion { input: Relation::OneRow, functions, ordinality }));
        let names = self.aliased(ScopeRelation::named(relation_name, columns), alias)?;
        Ok(FromItem { relation, names: vec![names] })
    }

    /// The relation under its alias.
    fn aliased(&self, mut relation: ScopeRelation, alias: Option<&TableAlias>) -> Result<ScopeRelation, SqlError> {
        let Some(alias) = alias else { return Ok(relation) };
        if alias.columns.iter().any(|column| column.data_type.is_some()) || alias.at.is_some() {
            let message = "a column definition list is only allowed for functions returning \"record\"";
            return Err(SqlError::new(SqlState::SyntaxError, message));
        }
        let name = fold(&alias.name);
        if alias.columns.len() > relation.columns.len() {
            let message = format!(
                "table \"{name}\" has {} columns available but {} columns specified",
                relation.columns.len(),
                alias.columns.len()
            );
            return Err(SqlError::new(SqlState::InvalidColumnReference, message));
        }
        for (column, alias) in relation.columns.iter_mut().zip(&alias.columns) {
            column.name = fold(&alias.name);
        }
        Ok(ScopeRelation { schema: None, name: Some(name), ..relation })
    }

    /// Refuses two relations of one name. A table and another one of another schema may have it.
    fn check_names(&self, left: &[ScopeRelation], right: &[ScopeRelation]) -> Result<(), SqlError> {
        let can_be_named = |relation: &&ScopeRelation| relation.access != Access::Hidden;
        for relation in right.iter().filter(can_be_named) {
            let is_same = |other: &&ScopeRelation| {
                let differ = other.schema.is_some() && relation.schema.is_some() && other.schema != relation.schema;
                relation.name.is_some() && other.name == relation.name && !differ && !relation.has_proposed_rows()
            };
            if let Some(other) = left.iter().filter(can_be_named).find(is_same) {
                let name = other.name.as_deref().unwrap_or_default();
                let message = format!("table name \"{name}\" specified more than once");
                return Err(SqlError::new(SqlState::DuplicateAlias, message));
            }
        }
        Ok(())
    }
}

/// A key of a table as positions among the columns that a name means; none if one of it is gone.
fn positions_of(key: &[usize], stored: &[ColumnId], named: &[ScopeColumn]) -> Vec<usize> {
    let position = |at: &usize| named.iter().position(|column| column.id == stored[*at]);
    key.iter().map(position).collect::<Option<_>>().unwrap_or_default()
}

/// The column of a side that USING names.
fn side_column<'i>(side: &'i FromItem, name: &str, which: &str) -> Result<&'i ScopeColumn, SqlError> {
    let mut found = visible_columns(&side.names).filter(|column| column.name == name);
    match (found.next(), found.next()) {
        (Some(column), None) => Ok(column),
        (Some(_), Some(_)) => {
            let message = format!("common column name \"{name}\" appears more than once in {which} table");
            Err(SqlError::new(SqlState::AmbiguousColumn, message))
        }
        (None, _) => {
            let message = format!("column \"{name}\" specified in USING clause does not exist in {which} table");
            Err(SqlError::new(SqlState::UndefinedColumn, message))
        }
    }
}

fn paired(kind: JoinKind, left: FromItem, right: FromItem, condition: Expression) -> FromItem {
    let names = left.names.into_iter().chain(right.names).collect();
    let (left, right) = (Box::new(left.relation), Box::new(right.relation));
    FromItem { relation: Relation::Join { kind, left, right, condition }, names }
}

/// The condition of a cross join.
fn always() -> Expression {
    Expression::of(Value::Bool(true), TypeId::BOOL)
}

/// The view over a function of the system without arguments that is computed by what the view lists, and the function's name.
fn view_of_function(name: &ObjectName) -> Option<(&'static str, &'static str)> {
    let parts: Option<Vec<String>> = name.0.iter().map(|part| part.as_ident().map(fold)).collect();
    let parts = parts?;
    let function = match &parts[..] {
        [function] => function,
        [schema, function] if schema == SYSTEM_SCHEMA => function,
        _ => return None,
    };
    match function.as_str() {
        "pg_show_all_settings" => Some(("pg_settings", "pg_show_all_settings")),
        _ => None,
    }
}
