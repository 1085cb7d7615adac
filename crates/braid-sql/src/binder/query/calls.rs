//! Calls that operators compute: aggregates, window functions, set-returning functions. Each becomes a column of its query.

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArguments, ObjectName, ObjectNamePart, OrderByExpr, TableAliasColumnDef,
    WindowType,
};

use super::scope::Scope;
use crate::binder::calls::{WrittenCall, is_written_out, unsupported_call};
use crate::binder::clause::Clause;
use crate::binder::places::Place;
use crate::binder::spreading::spreading_call;
use crate::binder::{Binder, Placed, fold, truth};
use crate::expression::{Expression, Node, SetCall};
use crate::functions::sets::SetFunction;
use crate::pg_catalog::{AggregateKind, FunctionEntry, FunctionKind, TypeId, Volatility, pg_catalog};
use crate::relation::{AggregateCall, ColumnId, Relation, SetFunctionCall, SortKey, WindowCall};
use crate::resolution::{FunctionResolution, resolve_function};
use crate::values::{RecordField, RecordType, Value};
use crate::{SqlError, SqlState, SqlType};

/// Where a set-returning function may go.
const LATERAL_HINT: &str = "You might be able to move the set-returning function into a LATERAL FROM item.";

/// Functions that return rows with a key, which is never null: the place of its column.
const KEYED_ROWS: &[(&str, usize)] = &[
    ("aclexplode", 0),
    ("json_each", 0),
    ("json_each_text", 0),
    ("jsonb_each", 0),
    ("jsonb_each_text", 0),
    ("_pg_expandarray", 1),
];

impl<'a> Binder<'a> {
    /// The keys of ORDER BY of an aggregate. One that is written as an argument is that argument, as the function takes it.
    ///
    /// # Errors
    /// For one that is no argument of a call with DISTINCT.
    fn argument_keys(
        &self,
        written: &WrittenCall<'_>,
        arguments: &[Expression],
        as_written: &[Expression],
    ) -> Result<Vec<SortKey>, SqlError> {
        let mut keys = self.keys_of(written.order_by)?;
        for (key, syntax) in keys.iter_mut().zip(written.order_by) {
            let argument = as_written.iter().position(|own| *own == key.expression).and_then(|at| arguments.get(at));
            match argument {
                Some(argument) => key.expression = argument.clone(),
                None if written.is_distinct => {
                    let message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
                    let error = SqlError::new(SqlState::InvalidColumnReference, message);
                    return Err(self.places.mark(error, Place::Start(&syntax.expr)));
                }
                None => {}
            }
        }
        Ok(keys)
    }

    /// The arguments of WITHIN GROUP.
    pub(in crate::binder) fn within_group_arguments<'s>(
        &self,
        written: &WrittenCall<'s>,
    ) -> Result<Vec<Placed<'s>>, SqlError> {
        written.within_group.iter().map(|key| self.placed(&key.expr)).collect()
    }

    /// Casts each value of a hypothetical row and the key of WITHIN GROUP that it is compared with to their common type, and puts that among
    /// the types of the arguments. Does nothing for other functions.
    pub(in crate::binder) fn unify_hypothetical_row(
        &self,
        entry: &FunctionEntry,
        arguments: &mut [Placed<'_>],
        types: &mut [TypeId],
        direct_count: usize,
    ) -> Result<(), SqlError> {
        if !is_hypothetical_set(entry) || arguments.len() != 2 * direct_count || types.len() != arguments.len() {
            return Ok(());
        }
        for (own, key) in (0..direct_count).zip(direct_count..) {
            if arguments[own].0.sql_type.id == arguments[key].0.sql_type.id {
                continue;
            }
            let (unified, common) =
                self.of_one_type(vec![arguments[key].clone(), arguments[own].clone()], "WITHIN GROUP")?;
            for (at, value) in [key, own].into_iter().zip(unified) {
                arguments[at].0 = value;
                types[at] = common.id;
            }
        }
        Ok(())
    }

    /// A call of an aggregate or a window function with its arguments; those after `direct_count` are keys of WITHIN GROUP. `as_written` has
    /// the arguments before they are cast to what the function takes, if it has ORDER BY.
    pub(in crate::binder) fn aggregate_or_window(
        &self,
        entry: &FunctionEntry,
        (arguments, as_written): (Vec<Expression>, &[Expression]),
        direct_count: usize,
        sql_type: SqlType,
        written: &WrittenCall<'_>,
    ) -> Result<Expression, SqlError> {
        let refuse =
            |message: String| Err(self.places.mark(SqlError::new(SqlState::WrongObjectType, message), written.place));
        let name = entry.name;
        if entry.kind == FunctionKind::Aggregate && entry.arguments.is_empty() && !written.is_star {
            return refuse(format!("{name}(*) must be used to call a parameterless aggregate function"));
        }
        if let Some(over) = written.over {
            return self.window_call(entry, arguments, sql_type, over, written);
        }
        if entry.kind == FunctionKind::Window {
            return refuse(format!("window function {name} requires an OVER clause"));
        }
        let is_ordered_set = entry.is_ordered_set();
        if is_ordered_set && written.within_group.is_empty() {
            return refuse(format!("WITHIN GROUP is required for ordered-set aggregate {name}"));
        }
        if !is_ordered_set && !written.within_group.is_empty() {
            return refuse(format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP"));
        }
        let mut arguments = arguments;
        if written.is_distinct {
            // What is compared has a type.
            arguments =
                arguments.into_iter().map(|argument| self.resolve_unknown(argument)).collect::<Result<_, _>>()?;
        }
        let argument_types = arguments.iter().map(|argument| argument.sql_type).collect();
        let (order_by, is_within_group) = if is_ordered_set {
            let keys = arguments.split_off(direct_count.min(arguments.len()));
            (keys.into_iter().zip(written.within_group).map(|(key, syntax)| sort_key(key, syntax)).collect(), true)
        } else {
            (self.argument_keys(written, &arguments, as_written)?, false)
        };
        let fits = |(key, argument): (&SortKey, &Expression)| key.expression.sql_type.id == argument.sql_type.id;
        if is_hypothetical_set(entry)
            && (arguments.len() != order_by.len() || !order_by.iter().zip(&arguments).all(fits))
        {
            return Err(unsupported_call(name));
        }
        let filter = written
            .filter
            .map(|condition| self.within(Clause::Filter).boolean(condition, "argument of FILTER"))
            .transpose()?;
        let call = AggregateCall {
            function: entry.id,
            arguments,
            argument_types,
            sql_type,
            is_distinct: written.is_distinct,
            order_by,
            is_within_group,
            filter,
        };
        let read = call.arguments.iter().chain(call.order_by.iter().map(|key| &key.expression)).chain(&call.filter);
        let read: Vec<&Expression> = read.collect();
        // Direct arguments do not tell whose aggregate it is.
        let direct = if is_within_group { call.arguments.len() } else { 0 };
        let (scope, clause) = self.query_of(&read[direct..])?;
        clause.check_aggregate().map_err(|error| self.places.mark(error, written.place))?;
        self.check_direct_arguments(scope, &read[..direct])?;
        self.check_within_aggregate(scope, &read)?;
        let mut calls = scope.calls.borrow_mut();
        if let Some((column, _)) = calls.aggregates.iter().find(|(_, other)| *other == call && !is_volatile(&read)) {
            return Ok(call_column(*column, sql_type, written.place));
        }
        let column = self.new_column(name, sql_type);
        calls.aggregates.push((column, call));
        Ok(call_column(column, sql_type, written.place))
    }

    /// The query that an aggregate belongs to: the innermost whose columns it reads, and the clause of it.
    fn query_of(&self, read: &[&Expression]) -> Result<(&'a Scope<'a>, Clause), SqlError> {
        if matches!(self.clause, Clause::ExecuteArgument | Clause::Default) {
            self.clause.check_aggregate()?;
        }
        let none = || SqlError::unsupported("aggregate functions are not supported outside of queries");
        let columns: Vec<ColumnId> = read.iter().flat_map(|expression| expression.free_columns()).collect();
        let own = self.scope.ok_or_else(none)?;
        let mut clause = self.clause;
        for scope in self.scopes() {
            let is_own = |column: &ColumnId| {
                scope.owns(*column) || scope.is_aggregate(*column) || scope.is_window(*column) || scope.is_set(*column)
            };
            if columns.iter().any(is_own) {
                return Ok((scope, clause));
            }
            clause = scope.parent_clause;
        }
        Ok((own, self.clause))
    }

    /// Refuses direct arguments that read what only queries within the aggregate's have.
    fn check_direct_arguments(&self, scope: &Scope<'_>, direct: &[&Expression]) -> Result<(), SqlError> {
        let refuse = |message: &str, place: Place<'_>| {
            Err(self.places.mark(SqlError::new(SqlState::GroupingError, message), place))
        };
        for inner in self.scopes().take_while(|inner| !std::ptr::eq(*inner, scope)) {
            let place_of = |is_such: &dyn Fn(ColumnId) -> bool| direct.iter().find_map(|read| read.place_of(is_such));
            if let Some(place) = place_of(&|column| inner.owns(column)) {
                let message = "outer-level aggregate cannot contain a lower-level variable in its direct arguments";
                return refuse(message, place);
            }
            if let Some(place) = place_of(&|column| inner.is_aggregate(column)) {
                return refuse("aggregate function calls cannot be nested", place);
            }
        }
        Ok(())
    }

    fn check_within_aggregate(&self, scope: &Scope<'_>, read: &[&Expression]) -> Result<(), SqlError> {
        let refuse = |state: SqlState, message: &str, place: Place<'_>| {
            Err(self.places.mark(SqlError::new(state, message), place))
        };
        let place_of = |is_such: &dyn Fn(ColumnId) -> bool| read.iter().find_map(|read| read.place_of(is_such));
        if let Some(place) = place_of(&|column| scope.is_aggregate(column)) {
            return refuse(SqlState::GroupingError, "aggregate function calls cannot be nested", place);
        }
        if let Some(place) = place_of(&|column| scope.is_window(column)) {
            let message = "aggregate function calls cannot contain window function calls";
            return refuse(SqlState::GroupingError, message, place);
        }
        if let Some(place) = place_of(&|column| scope.is_set(column)) {
            let message = "aggregate function calls cannot contain set-returning function calls";
            return refuse(SqlState::FeatureNotSupported, message, place)
                .map_err(|error| error.with_hint(LATERAL_HINT));
        }
        Ok(())
    }

    /// `GROUPING(a, b)`
    pub(in crate::binder) fn grouping_call(
        &self,
        arguments: &[&Expr],
        place: Place<'_>,
    ) -> Result<Expression, SqlError> {
        const ARGUMENTS_MAX: usize = 31;
        if arguments.len() > ARGUMENTS_MAX {
            let message = "GROUPING must have fewer than 32 arguments";
            return Err(self.places.mark(SqlError::new(SqlState::TooManyArguments, message), place));
        }
        let arguments = arguments.iter().map(|argument| self.expression(argument)).collect::<Result<Vec<_>, _>>()?;
        let read: Vec<&Expression> = arguments.iter().collect();
        let (scope, clause) = self.query_of(&read)?;
        clause.check_aggregate().map_err(|error| {
            let message = error.message().replacen("aggregate functions", "grouping operations", 1);
            self.places.mark(SqlError::new(error.state(), message), place)
        })?;
        let sql_type = SqlType::of(TypeId::INT4);
        let column = self.new_column("grouping", sql_type);
        scope.calls.borrow_mut().groupings.push((column, arguments));
        Ok(call_column(column, sql_type, place))
    }

    fn window_call(
        &self,
        entry: &FunctionEntry,
        arguments: Vec<Expression>,
        sql_type: SqlType,
        over: &WindowType,
        written: &WrittenCall<'_>,
    ) -> Result<Expression, SqlError> {
        let place = written.place;
        let is_aggregate = entry.kind == FunctionKind::Aggregate;
        let refuse = |message: &str| Err(self.places.mark(SqlError::unsupported(message), place));
        if is_aggregate && entry.is_ordered_set() {
            return refuse(&format!("OVER is not supported for ordered-set aggregate {}", entry.name));
        }
        if written.is_distinct {
            return refuse("DISTINCT is not implemented for window functions");
        }
        if !written.order_by.is_empty() {
            return refuse("aggregate ORDER BY is not implemented for window functions");
        }
        if !is_aggregate && written.filter.is_some() {
            return refuse("FILTER is not implemented for non-aggregate window functions");
        }
        if matches!(self.clause, Clause::ExecuteArgument | Clause::Default) {
            self.clause.check_window().map_err(|error| self.places.mark(error, place))?;
        }
        let Some(scope) = self.scope else {
            return refuse("window functions are not supported outside of queries");
        };
        self.clause.check_window().map_err(|error| self.places.mark(error, place))?;
        let filter = written
            .filter
            .map(|condition| self.within(Clause::Filter).boolean(condition, "argument of FILTER"))
            .transpose()?;
        let mut read = arguments.iter().chain(&filter);
        if let Some(place) = read.find_map(|read| read.place_of(&|column| scope.is_window(column))) {
            let error = SqlError::new(SqlState::WindowingError, "window function calls cannot be nested");
            return Err(self.places.mark(error, place));
        }
        if let Some(place) = arguments.iter().find_map(|read| read.place_of(&|column| scope.is_set(column))) {
            let message = "window function calls cannot contain set-returning function calls";
            return Err(self.places.mark(SqlError::unsupported(message).with_hint(LATERAL_HINT), place));
        }
        let mut window = self.window(over, scope)?;
        let argument_types = arguments.iter().map(|argument| argument.sql_type).collect();
        let call = WindowCall { function: entry.id, arguments, argument_types, sql_type, filter };
        let column = self.new_column(entry.name, sql_type);
        let mut calls = scope.calls.borrow_mut();
        let same = calls.windows.iter_mut().find(|other| {
            other.partition_by == window.partition_by
                && other.order_by == window.order_by
                && other.frame == window.frame
        });
        match same {
            Some(other) => other.calls.push((column, call)),
            None => {
                window.calls.push((column, call));
                calls.windows.push(window);
            }
        }
        Ok(call_column(column, sql_type, place))
    }

    /// A call of a set-returning function in an expression.
    pub(in crate::binder) fn set_column(
        &self,
        entry: &FunctionEntry,
        arguments: Vec<Expression>,
        sql_type: SqlType,
        place: Place<'_>,
    ) -> Result<Expression, SqlError> {
        self.clause.check_set().map_err(|error| self.places.mark(error, place))?;
        let is_record = entry.columns.len() > 1;
        let key = KEYED_ROWS.iter().find(|(name, _)| *name == entry.name).map(|(_, key)| *key);
        let Some(scope) = self.scope.filter(|_| !is_record || key.is_some()) else {
            return Err(unsupported_call(entry.name));
        };
        let element = arguments.first().and_then(|array| pg_catalog().element_of_array(array.sql_type.id));
        let type_of = |id: TypeId| SqlType::of(element.filter(|_| id.is_polymorphic()).unwrap_or(id));
        let named: Vec<(&str, SqlType)> = entry.columns.iter().map(|(name, id)| (*name, type_of(*id))).collect();
        let call = set_call(entry, arguments, sql_type)?;
        // Rows come side by side, so that equal calls return equal ones.
        let is_volatile =
            call.volatility == Volatility::Volatile || is_volatile(&call.arguments.iter().collect::<Vec<_>>());
        let mut calls = scope.calls.borrow_mut();
        let same = calls.sets.iter().filter(|_| !is_volatile).find_map(|other| match other {
            SetFunctionCall::Set { call: other, columns } if *other == call => Some(columns.clone()),
            _ => None,
        });
        let columns = same.unwrap_or_else(|| {
            let columns: Vec<ColumnId> = match is_record {
                true => named.iter().map(|(name, sql_type)| self.new_column(*name, *sql_type)).collect(),
                false => vec![self.new_column(entry.name, sql_type)],
            };
            calls.sets.push(SetFunctionCall::Set { call, columns: columns.clone() });
            columns
        });
        drop(calls);
        match columns[..] {
            [column] => Ok(call_column(column, sql_type, place)),
            _ => self.keyed_row(&named, &columns, key.unwrap_or_default(), place),
        }
    }

    /// The record of a row whose column `key` is never null. It is null behind the function's last row.
    fn keyed_row(
        &self,
        named: &[(&str, SqlType)],
        columns: &[ColumnId],
        key: usize,
        place: Place<'_>,
    ) -> Result<Expression, SqlError> {
        let field = |(name, sql_type): &(&str, SqlType)| RecordField { name: (*name).into(), sql_type: *sql_type };
        let fields = named.iter().map(field).collect();
        let value = |(column, (_, sql_type)): (&ColumnId, &(&str, SqlType))| call_column(*column, *sql_type, place);
        let values: Vec<Expression> = columns.iter().zip(named).map(value).collect();
        let is_absent = truth(Node::IsNull(Box::new(values[key].clone())));
        let record = self.record(RecordType { fields }, values)?;
        let sql_type = record.sql_type;
        let branches = vec![(is_absent, Expression::constant(Value::Null, sql_type))];
        Ok(Expression { node: Node::Case { branches, otherwise: Box::new(record) }, sql_type })
    }

    /// The expression, refused if a set-returning function is in it.
    pub(in crate::binder) fn without_sets(&self, expression: Expression, name: &str) -> Result<Expression, SqlError> {
        let place = self.scope.and_then(|scope| expression.place_of(&|column| scope.is_set(column)));
        let Some(place) = place else { return Ok(expression) };
        let error =
            SqlError::unsupported(format!("set-returning functions are not allowed in {name}")).with_hint(LATERAL_HINT);
        Err(self.places.mark(error, place))
    }

    /// A call of a function that returns rows; `None` if the function returns one value.
    pub fn rows_of(&self, function: &Function) -> Result<Option<SetCall>, SqlError> {
        let FunctionArguments::List(list) = &function.args else { return Ok(None) };
        match self.function_in_from(&function.name, &list.args, &[])?.0 {
            SetFunctionCall::Set { call, .. } => Ok(Some(call)),
            SetFunctionCall::Scalar { .. } => Ok(None),
        }
    }

    /// A function in FROM: its call, and its name. One that returns records needs definitions of its columns.
    pub(super) fn function_in_from(
        &self,
        name: &ObjectName,
        arguments: &[FunctionArg],
        definitions: &[TableAliasColumnDef],
    ) -> Result<(SetFunctionCall, String), SqlError> {
        let ident = match &name.0[..] {
            [ObjectNamePart::Identifier(ident)] => ident,
            [ObjectNamePart::Identifier(schema), ObjectNamePart::Identifier(ident)] if fold(schema) == "pg_catalog" => {
                ident
            }
            _ => return Err(self.no_function_in_schema(name, arguments)),
        };
        let folded = fold(ident);
        let place = Place::At(ident.span.start);
        let arguments =
            arguments.iter().map(|argument| self.argument(argument, &folded)).collect::<Result<Vec<_>, _>>()?;
        let bound = arguments.iter().map(|argument| self.placed(argument.syntax)).collect::<Result<Vec<_>, _>>()?;
        let names: Vec<Option<&str>> = arguments.iter().map(|argument| argument.name.as_deref()).collect();
        let ids: Vec<TypeId> = bound.iter().map(|(argument, _)| argument.sql_type.id).collect();
        let is_variadic = arguments.last().is_some_and(|argument| argument.is_variadic);
        let resolution =
            resolve_function(&folded, &ids, &names, is_variadic).map_err(|error| self.placed_error(error, place))?;
        let FunctionResolution::Function(resolved) = resolution else { return Err(unsupported_call(&folded)) };
        let entry = pg_catalog().function(resolved.function);
        let is_computed = is_variadic && !is_written_out(bound.last().map(|(argument, _)| argument));
        let mut given = self.ordered_arguments(&resolved, bound, is_variadic)?;
        let sql_type = SqlType::of(resolved.result);
        match entry.kind {
            FunctionKind::Function => {}
            FunctionKind::Aggregate => {
                return Err(self
                    .clause
                    .check_aggregate()
                    .err()
                    .map_or_else(|| unsupported_call(&folded), |error| self.places.mark(error, place)));
            }
            FunctionKind::Window => {
                return Err(self
                    .clause
                    .check_window()
                    .err()
                    .map_or_else(|| unsupported_call(&folded), |error| self.places.mark(error, place)));
            }
        }
        if let Some((columns, record)) = self.defined_columns(entry, sql_type, definitions, place)? {
            given.push(record);
            let call = SetCall { is_strict: false, ..set_call(entry, given, sql_type)?.with_columns(&columns) };
            let columns = columns.into_iter().map(|(name, sql_type)| self.new_column(name, sql_type)).collect();
            return Ok((SetFunctionCall::Set { call, columns }, folded));
        }
        if !entry.returns_set {
            if !entry.columns.is_empty() {
                return Err(unsupported_call(&folded));
            }
            let value = match is_computed && entry.variadic == Some(TypeId::ANY) {
                true if ["concat", "concat_ws"].contains(&entry.name) => return Err(unsupported_call(&folded)),
                true => spreading_call(entry, given, sql_type)?,
                false => crate::binder::casts::call(resolved.function, given, sql_type)?,
            };
            let column = self.new_column(entry.name, sql_type);
            return Ok((SetFunctionCall::Scalar { value, column }, folded));
        }
        let columns = match &entry.columns[..] {
            [] if sql_type.id == TypeId::RECORD => return Err(unsupported_call(&folded)),
            [] => vec![self.new_column(entry.name, sql_type)],
            named if named.iter().any(|(_, id)| id.is_polymorphic()) => return Err(unsupported_call(&folded)),
            named => named.iter().map(|(name, id)| self.new_column(*name, SqlType::of(*id))).collect(),
        };
        Ok((SetFunctionCall::Set { call: set_call(entry, given, sql_type)?, columns }, folded))
    }

    /// The columns that a statement defines for a function of records, with a record of nulls that has them as fields; `None` for other
    /// functions.
    #[allow(clippy::type_complexity, reason = "columns, and their record")]
    fn defined_columns(
        &self,
        entry: &FunctionEntry,
        row_type: SqlType,
        definitions: &[TableAliasColumnDef],
        place: Place<'_>,
    ) -> Result<Option<(Vec<(String, SqlType)>, Expression)>, SqlError> {
        let refuse = |message: &str, place: Place<'_>| {
            Err(self.places.mark(SqlError::new(SqlState::SyntaxError, message), place))
        };
        let returns_record = row_type.id == TypeId::RECORD && entry.columns.is_empty();
        let Some(first) = definitions.first() else {
            return match returns_record {
                true => refuse("a column definition list is required for functions returning \"record\"", place),
                false => Ok(None),
            };
        };
        let at_first = Place::At(first.name.span.start);
        if !returns_record && entry.columns.is_empty() {
            return refuse("a column definition list is only allowed for functions returning \"record\"", at_first);
        }
        if !returns_record {
            let message = "a column definition list is redundant for a function with OUT parameters";
            return refuse(message, at_first);
        }
        let mut columns: Vec<(String, SqlType)> = Vec::new();
        for TableAliasColumnDef { name, data_type } in definitions {
            let Some(data_type) = data_type else {
                return refuse("every column of a column definition list needs a type", Place::Nowhere);
            };
            let (name, sql_type) = (fold(name), self.type_of(data_type)?);
            if [TypeId::RECORD, TypeId::RECORD_ARRAY].contains(&sql_type.id) {
                return Err(SqlError::unsupported("records in a column definition list are not supported"));
            }
            if sql_type.id.domain().is_some() {
                return Err(SqlError::unsupported("domains in a column definition list are not supported"));
            }
            if columns.iter().any(|(other, _)| *other == name) {
                let message = format!("column name \"{name}\" specified more than once");
                return Err(SqlError::new(SqlState::DuplicateColumn, message));
            }
            columns.push((name, sql_type));
        }
        let record = self.null_record(&columns)?;
        Ok(Some((columns, record)))
    }

    /// One array of `UNNEST(…)` in FROM.
    pub(super) fn unnest_in_from(&self, array: &Expr) -> Result<SetFunctionCall, SqlError> {
        let bound = self.placed(array)?;
        let id = bound.0.sql_type.id;
        let resolution = resolve_function("unnest", &[id], &[], false)
            .map_err(|error| self.placed_error(error, Place::Before("unnest", array)))?;
        let FunctionResolution::Function(resolved) = resolution else { return Err(unsupported_call("unnest")) };
        let entry = pg_catalog().function(resolved.function);
        if !entry.columns.is_empty() {
            return Err(unsupported_call("unnest"));
        }
        let arguments = self.ordered_arguments(&resolved, vec![bound], false)?;
        let sql_type = SqlType::of(resolved.result);
        if sql_type.id == TypeId::RECORD {
            let message = "a column definition list is required for functions returning \"record\"";
            let error = SqlError::new(SqlState::SyntaxError, message);
            return Err(self.places.mark(error, Place::Before("unnest", array)));
        }
        let columns = vec![self.new_column("unnest", sql_type)];
        Ok(SetFunctionCall::Set { call: set_call(entry, arguments, sql_type)?, columns })
    }

    /// Keys of an ORDER BY of which every one is an expression.
    pub(super) fn keys_of(&self, syntax: &[OrderByExpr]) -> Result<Vec<SortKey>, SqlError> {
        let keys = syntax.iter().map(|key| {
            let place = Place::Start(&key.expr);
            let expression = self.resolve_unknown(self.expression(&key.expr)?)?;
            check_ordered(&expression).map_err(|error| self.places.mark(error, place))?;
            if key.with_fill.is_some() {
                return Err(SqlError::unsupported("WITH FILL is not supported"));
            }
            Ok(sort_key(expression, key))
        });
        keys.collect()
    }
}

/// A call of a function that returns rows, or that Braid lacks it.
fn set_call(entry: &FunctionEntry, arguments: Vec<Expression>, row_type: SqlType) -> Result<SetCall, SqlError> {
    let function = SetFunction::of(entry).ok_or_else(|| unsupported_call(entry.name))?;
    Ok(SetCall::new(entry, function, arguments, row_type))
}

/// Refuses a type without an order.
pub(super) fn check_ordered(expression: &Expression) -> Result<(), SqlError> {
    let id = expression.sql_type.id;
    let less = crate::resolution::resolve_operator("<", Some(id), id);
    if less.is_err() {
        let name = crate::types::type_names::type_name(id);
        let message = format!("could not identify an ordering operator for type {name}");
        let hint = "Use an explicit ordering operator or modify the query.";
        return Err(SqlError::new(SqlState::UndefinedFunction, message).with_hint(hint));
    }
    Ok(())
}

/// The column that stands for a call.
fn call_column(column: ColumnId, sql_type: SqlType, place: Place<'_>) -> Expression {
    Expression { node: Node::Column(column, place.origin()), sql_type }
}

/// A key with what is written after it: nulls are the largest values, unless it says otherwise.
pub(super) fn sort_key(expression: Expression, syntax: &OrderByExpr) -> SortKey {
    let is_descending = syntax.options.asc == Some(false);
    SortKey { expression, is_descending, nulls_first: syntax.options.nulls_first.unwrap_or(is_descending) }
}

impl Expression {
    /// Where the first such column that it reads is written.
    pub(super) fn place_of(&self, is_such: &dyn Fn(ColumnId) -> bool) -> Option<Place<'static>> {
        if let Node::Column(column, origin) = &self.node {
            return is_such(*column).then(|| origin.0.map_or(Place::Nowhere, Place::At));
        }
        if let Node::Subquery(subquery) = &self.node
            && let Some(place) = subquery.relation.place_of(is_such)
        {
            return Some(place);
        }
        self.operands().into_iter().find_map(|operand| operand.place_of(is_such))
    }
}

impl Relation {
    fn place_of(&self, is_such: &dyn Fn(ColumnId) -> bool) -> Option<Place<'static>> {
        let own = self.expressions().into_iter().find_map(|expression| expression.place_of(is_such));
        own.or_else(|| self.inputs().into_iter().find_map(|input| input.place_of(is_such)))
    }
}

fn is_volatile(expressions: &[&Expression]) -> bool {
    expressions.iter().any(|expression| expression.is_volatile())
}

/// Whether a function is an aggregate of a hypothetical row.
fn is_hypothetical_set(entry: &FunctionEntry) -> bool {
    pg_catalog().aggregate(entry.id).is_some_and(|entry| entry.kind == AggregateKind::HypotheticalSet)
}
