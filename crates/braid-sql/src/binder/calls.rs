//! Calls of functions: positional, named and mixed notation, defaults, variadic functions, casts written as calls.

use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgOperator, FunctionArgumentClause,
    FunctionArguments, Ident, ObjectName, ObjectNamePart, OrderByExpr, Value as Syntax, ValueWithSpan, WindowType,
};

use super::casts::call;
use super::places::Place;
use super::spreading::spreading_call;
use super::{Binder, Placed, Statement, fold};
use crate::expression::{Expression, Node};
use crate::functions::call::{is_schema, no_schema};
use crate::pg_catalog::{CastContext, FunctionKind, TypeId, pg_catalog};
use crate::resolution::{
    FunctionResolution, Pathway, ResolvedFunction, coercion_pathway, no_function, resolve_function,
};
use crate::syntax::{SqlDialect, VARIADIC, parser_of};
use crate::types::type_names::type_name;
use crate::values::Value;
use crate::{SqlError, SqlState, SqlType};

/// Words that begin a type in PostgreSQL's grammar, so that no call begins with them.
const TYPE_WORDS: &[&str] = &[
    "bigint",
    "bit",
    "boolean",
    "char",
    "character",
    "dec",
    "decimal",
    "float",
    "int",
    "integer",
    "interval",
    "national",
    "nchar",
    "numeric",
    "real",
    "smallint",
    "time",
    "timestamp",
    "varchar",
];

/// An argument: its name in named notation, its syntax, and whether it is written with VARIADIC.
pub(super) struct Argument<'a> {
    pub name: Option<String>,
    pub syntax: &'a Expr,
    pub is_variadic: bool,
}

/// What is written around the arguments of a call, for aggregates and window functions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WrittenCall<'a> {
    /// `DISTINCT`
    pub is_distinct: bool,
    /// `*` instead of arguments.
    pub is_star: bool,
    /// `ORDER BY` among the arguments.
    pub order_by: &'a [OrderByExpr],
    /// `WITHIN GROUP (ORDER BY …)`
    pub within_group: &'a [OrderByExpr],
    /// `FILTER (WHERE …)`
    pub filter: Option<&'a Expr>,
    /// `OVER`
    pub over: Option<&'a WindowType>,
    /// VARIADIC before the last argument.
    pub is_variadic: bool,
    /// Where the name stands.
    pub place: Place<'a>,
}

impl WrittenCall<'_> {
    /// Refuses what cannot stand before WITHIN GROUP.
    fn check_within_group(&self) -> Result<(), SqlError> {
        let refuse =
            |what: &str| Err(SqlError::new(SqlState::SyntaxError, format!("cannot use {what} with WITHIN GROUP")));
        if self.within_group.is_empty() {
            return Ok(());
        }
        if !self.order_by.is_empty() {
            return refuse("multiple ORDER BY clauses");
        }
        if self.is_distinct { refuse("DISTINCT") } else { Ok(()) }
    }

    /// Refuses what only aggregates and window functions have.
    fn check_ordinary(&self, name: &str) -> Result<(), SqlError> {
        let refuse = |what: &str, wanted: &str| {
            let message = format!("{what} specified, but {name} is not {wanted}");
            Err(SqlError::new(SqlState::WrongObjectType, message))
        };
        if self.is_star {
            let message = format!("{name}(*) specified, but {name} is not an aggregate function");
            return Err(SqlError::new(SqlState::WrongObjectType, message));
        }
        if self.is_distinct {
            return refuse("DISTINCT", "an aggregate function");
        }
        if !self.within_group.is_empty() {
            return refuse("WITHIN GROUP", "an aggregate function");
        }
        if !self.order_by.is_empty() {
            return refuse("ORDER BY", "an aggregate function");
        }
        if self.filter.is_some() {
            return refuse("FILTER", "an aggregate function");
        }
        if self.over.is_some() {
            return refuse("OVER", "a window function nor an aggregate function");
        }
        Ok(())
    }
}

impl Binder<'_> {
    /// A call as the parser reads it.
    pub(super) fn function(&self, function: &Function) -> Result<Expression, SqlError> {
        if let Some(cast) = self.cast_to_type_of_schema(function)? {
            return Ok(cast);
        }
        let Some((schema, name)) = function_name(&function.name) else { return Err(self.no_such_call(function)) };
        let place = Place::At(name.span.start);
        let folded = fold(name);
        if folded == EXPAND_ARRAY && schema.is_none_or(|schema| fold(schema) == "pg_catalog") {
            let message = format!("function {folded} does not exist");
            return Err(self.places.mark(SqlError::new(SqlState::UndefinedFunction, message), place));
        }
        // Names of types that the grammar knows are no names of functions.
        if schema.is_none() && name.quote_style.is_none() && TYPE_WORDS.contains(&folded.as_str()) {
            return Err(unsupported_call(&folded));
        }
        let list = match &function.args {
            FunctionArguments::None => {
                let value = self.session_value(&folded, None)?;
                return value.ok_or_else(|| unsupported_call(&folded));
            }
            FunctionArguments::Subquery(query) if folded == "array" && schema.is_none() => {
                return self.array_subquery(query);
            }
            FunctionArguments::Subquery(_) => return Err(unsupported_call(&folded)),
            FunctionArguments::List(list) => list,
        };
        if function.null_treatment.is_some()
            || function.uses_odbc_syntax
            || !matches!(function.parameters, FunctionArguments::None)
        {
            return Err(unsupported_call(&folded));
        }
        let mut written = WrittenCall {
            is_distinct: list.duplicate_treatment == Some(DuplicateTreatment::Distinct),
            filter: function.filter.as_deref(),
            over: function.over.as_ref(),
            within_group: &function.within_group,
            place,
            ..WrittenCall::default()
        };
        for clause in &list.clauses {
            match clause {
                FunctionArgumentClause::OrderBy(keys) => written.order_by = keys,
                _ => return Err(unsupported_call(&folded)),
            }
        }
        written.check_within_group()?;
        if folded == "count"
            && !written.is_distinct
            && let Some(row) = self.counted_row(&list.args)?
        {
            return self.resolved_call(&folded, vec![row], &[None], &written);
        }
        let arguments = match &list.args[..] {
            [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] if written.is_distinct => {
                return Err(SqlError::new(SqlState::SyntaxError, "syntax error at or near \"*\""));
            }
            [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] => {
                written.is_star = true;
                Vec::new()
            }
            arguments => {
                arguments.iter().map(|argument| self.argument(argument, &folded)).collect::<Result<Vec<_>, _>>()?
            }
        };
        if let Some(at) = arguments.iter().position(|argument| argument.is_variadic)
            && let Some(next) = arguments.get(at + 1)
        {
            let error = SqlError::new(SqlState::SyntaxError, "only the last argument can be VARIADIC");
            return Err(self.places.mark(error, Place::Start(next.syntax)));
        }
        written.is_variadic = arguments.last().is_some_and(|argument| argument.is_variadic);
        if schema.is_none()
            && name.quote_style.is_none()
            && let Some(special) = self.grammar_function(&folded, &arguments, place)?
        {
            return Ok(special);
        }
        self.call_of(&folded, &arguments, &written)
    }

    /// The error of a call of a function in a schema that has none, or of an argument of it.
    fn no_such_call(&self, function: &Function) -> SqlError {
        match &function.args {
            FunctionArguments::List(list) => self.no_function_in_schema(&function.name, &list.args),
            _ => unsupported_call(&function.name.to_string()),
        }
    }

    /// The error of a call of a function in a schema that has none, or of an argument of it.
    pub(super) fn no_function_in_schema(&self, name: &ObjectName, arguments: &[FunctionArg]) -> SqlError {
        let parts: Vec<String> = name.0.iter().filter_map(ObjectNamePart::as_ident).map(fold).collect();
        let shown = parts.join(".");
        let types = match arguments {
            [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)] => Ok(Vec::new()),
            arguments => arguments.iter().map(|argument| self.shown_argument(argument, &shown)).collect(),
        };
        let types: Vec<String> = match types {
            Ok(types) => types,
            Err(error) => return error,
        };
        let error = match &parts[..] {
            [schema, _] if !is_schema(self.session, schema) => no_schema(schema),
            [schema, _] if schema == "information_schema" => unsupported_call(&shown),
            [_, _] => no_function(&format!("{shown}({})", types.join(", "))),
            [_, _, _] => SqlError::unsupported(format!("cross-database references are not implemented: {shown}")),
            _ => {
                let message = format!("improper qualified name (too many dotted names): {shown}");
                SqlError::new(SqlState::SyntaxError, message)
            }
        };
        let place = name.0.first().and_then(ObjectNamePart::as_ident).map(|first| Place::At(first.span.start));
        place.map_or_else(|| error.clone(), |place| self.places.mark(error.clone(), place))
    }

    /// The type of an argument as messages name it.
    fn shown_argument(&self, argument: &FunctionArg, function: &str) -> Result<String, SqlError> {
        let argument = self.argument(argument, function)?;
        let shown = type_name(self.expression(argument.syntax)?.sql_type.id);
        Ok(argument.name.map_or_else(|| shown.clone(), |name| format!("{name} => {shown}")))
    }

    pub(super) fn argument<'a>(&self, argument: &'a FunctionArg, function: &str) -> Result<Argument<'a>, SqlError> {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Prefixed { prefix, value }))
                if prefix.value == VARIADIC =>
            {
                Ok(Argument { name: None, syntax: value, is_variadic: true })
            }
            FunctionArg::Unnamed(FunctionArgExpr::Expr(syntax)) => {
                Ok(Argument { name: None, syntax, is_variadic: false })
            }
            FunctionArg::Named {
                name,
                arg: FunctionArgExpr::Expr(syntax),
                operator: FunctionArgOperator::RightArrow | FunctionArgOperator::Assignment,
            } => Ok(Argument { name: Some(fold(name)), syntax, is_variadic: false }),
            _ => Err(unsupported_call(function)),
        }
    }

    /// What the grammar knows, and the catalog does not; `None` for ordinary functions.
    fn grammar_function(
        &self,
        name: &str,
        arguments: &[Argument<'_>],
        place: Place<'_>,
    ) -> Result<Option<Expression>, SqlError> {
        let is_plain = arguments.iter().all(|argument| argument.name.is_none() && !argument.is_variadic);
        let syntax: Vec<&Expr> = arguments.iter().map(|argument| argument.syntax).collect();
        Ok(Some(match (name, &syntax[..]) {
            ("coalesce" | "greatest" | "least" | "nullif", _) if !is_plain => return Err(unsupported_call(name)),
            (_, _) if !is_plain => return Ok(None),
            ("coalesce", [_, ..]) => self.coalesce(&syntax)?,
            ("greatest", [_, ..]) => self.extreme(&syntax, "GREATEST")?,
            ("least", [_, ..]) => self.extreme(&syntax, "LEAST")?,
            ("nullif", [left, right]) => self.null_if(left, right, place)?,
            ("grouping", [_, ..]) => self.grouping_call(&syntax, place)?,
            ("coalesce" | "greatest" | "least" | "nullif" | "grouping" | "xmlelement", _) => {
                return Err(unsupported_call(name));
            }
            // The forms are words of the grammar.
            ("normalize", [text, Expr::Identifier(form)]) if is_normal_form(form) => {
                let form = Expression::of(Value::text(form.value.to_ascii_uppercase()), TypeId::TEXT);
                self.call_on("normalize", vec![self.placed(text)?, (form, Place::Nowhere)])?
            }
            // The precision of a time is a number.
            (word, [Expr::Value(literal @ ValueWithSpan { value: Syntax::Placeholder(_), .. })]) => {
                if self.session_value(word, Some(0))?.is_some() {
                    self.check_constant(literal)?;
                }
                return Ok(None);
            }
            (word, [Expr::Value(literal @ ValueWithSpan { value: Syntax::Number(digits, _), .. })]) => {
                match digits.parse() {
                    Ok(precision) => {
                        let value = self.session_value(word, Some(if self.varies(literal) { 0 } else { precision }))?;
                        if value.is_some() {
                            self.look_at(literal)?;
                        }
                        return Ok(value);
                    }
                    Err(_) => return Ok(None),
                }
            }
            _ => return Ok(None),
        }))
    }

    /// A call of a function of the catalog.
    fn call_of(
        &self,
        name: &str,
        arguments: &[Argument<'_>],
        written: &WrittenCall<'_>,
    ) -> Result<Expression, SqlError> {
        let bound = arguments.iter().map(|argument| self.placed(argument.syntax)).collect::<Result<Vec<_>, _>>()?;
        let names: Vec<Option<&str>> = arguments.iter().map(|argument| argument.name.as_deref()).collect();
        self.resolved_call(name, bound, &names, written)
    }

    /// A call with positional arguments that are bound, such as special syntax means.
    pub(super) fn call_on(&self, name: &str, arguments: Vec<Placed<'_>>) -> Result<Expression, SqlError> {
        let names = vec![None; arguments.len()];
        self.resolved_call(name, arguments, &names, &WrittenCall::default())
    }

    /// A call with a schema and the name of a type of it, `s.mood('happy')`, as [`Self::cast_to_own_type`].
    fn cast_to_type_of_schema(&self, function: &Function) -> Result<Option<Expression>, SqlError> {
        let parts: Vec<&Ident> = function.name.0.iter().filter_map(ObjectNamePart::as_ident).collect();
        let [schema, name] = &parts[..] else { return Ok(None) };
        let Some(objects) = self.session.objects() else { return Ok(None) };
        let (place, folded) = (Place::At(schema.span.start), fold(schema));
        let Some(target) = objects.type_id(Some(&folded), &fold(name)) else {
            return match is_schema(self.session, &folded) {
                true => Ok(None),
                false => Err(self.places.mark(no_schema(&folded), place)),
            };
        };
        let FunctionArguments::List(list) = &function.args else { return Ok(None) };
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(syntax))] = &list.args[..] else { return Ok(None) };
        let (argument, argument_place) = self.placed(syntax)?;
        let pathway = cast_pathway(argument.sql_type.id, target);
        let is_plain = list.duplicate_treatment.is_none() && list.clauses.is_empty() && function.over.is_none();
        if pathway.is_none() || !is_plain || function.filter.is_some() || self.is_open_parameter(&argument) {
            return Ok(None);
        }
        self.coerce(argument, argument_place, SqlType::of(target), CastContext::Explicit).map(Some)
    }

    /// A call with the name of a type of the database, `mood('happy')`, if its argument can be cast to the type without a function.
    fn cast_to_own_type(&self, name: &str, ids: &[TypeId], names: &[Option<&str>]) -> Option<FunctionResolution> {
        let ([source], [None]) = (ids, names) else { return None };
        let target = self.session.objects()?.type_id(None, name)?;
        cast_pathway(*source, target).map(|pathway| FunctionResolution::Coercion(target, pathway))
    }
    fn resolved_call<'s>(
        &self,
        name: &str,
        mut arguments: Vec<Placed<'s>>,
        names: &[Option<&str>],
        written: &WrittenCall<'s>,
    ) -> Result<Expression, SqlError> {
        let within_group = self.within_group_arguments(written)?;
        let direct_count = arguments.len();
        arguments.extend(within_group);
        let ids: Vec<TypeId> = arguments.iter().map(|(argument, _)| argument.sql_type.id).collect();
        let is_variadic = written.is_variadic;
        let resolution = resolve_function(name, &ids, names, is_variadic);
        let resolution = resolution.or_else(|error| self.cast_to_own_type(name, &ids, names).ok_or(error));
        let resolution = resolution.map_err(|error| match arguments.last() {
            Some((_, last)) if is_variadic && error.state() == SqlState::DatatypeMismatch => {
                self.places.mark(error, *last)
            }
            _ => self.placed_error(error, written.place),
        });
        let mut resolved = match resolution? {
            FunctionResolution::Function(resolved) => resolved,
            FunctionResolution::Coercion(target, _) => {
                let (argument, argument_place) = arguments.into_iter().next().ok_or_else(|| unsupported_call(name))?;
                written.check_ordinary(name).map_err(|error| self.places.mark(error, written.place))?;
                // PostgreSQL takes only literals of unknown type for casts here.
                if self.is_open_parameter(&argument) {
                    return Err(unsupported_call(name));
                }
                return self.coerce(argument, argument_place, SqlType::of(target), CastContext::Explicit);
            }
        };
        let entry = pg_catalog().function(resolved.function);
        let is_computed = is_variadic && !is_written_out(arguments.last().map(|(argument, _)| argument));
        if is_computed && ["concat", "concat_ws"].contains(&entry.name) {
            return self.joined_elements(arguments);
        }
        self.unify_hypothetical_row(entry, &mut arguments, &mut resolved.argument_types, direct_count)?;
        let as_written: Vec<Expression> = match written.order_by.is_empty() {
            true => Vec::new(),
            false => arguments.iter().map(|(argument, _)| argument.clone()).collect(),
        };
        let given = self.ordered_arguments(&resolved, arguments, is_variadic)?;
        let sql_type = SqlType::of(resolved.result);
        match entry.kind {
            FunctionKind::Function => {
                written.check_ordinary(entry.name).map_err(|error| self.places.mark(error, written.place))?;
                match entry.returns_set {
                    true => self.set_column(entry, given, sql_type, written.place),
                    false if is_computed && entry.variadic == Some(TypeId::ANY) => {
                        spreading_call(entry, given, sql_type)
                    }
                    false if entry.symbol == Some("pg_typeof") => {
                        self.with_domains(call(resolved.function, given, sql_type)?)
                    }
                    false => call(resolved.function, given, sql_type),
                }
            }
            FunctionKind::Aggregate | FunctionKind::Window => {
                self.aggregate_or_window(entry, (given, &as_written), direct_count, sql_type, written)
            }
        }
    }

    /// `concat(VARIADIC a)` and `concat_ws(b, VARIADIC a)` are `array_to_string(a, b)`.
    fn joined_elements(&self, mut arguments: Vec<Placed<'_>>) -> Result<Expression, SqlError> {
        let array = arguments.pop();
        let separator =
            arguments.pop().unwrap_or_else(|| (Expression::of(Value::text(""), TypeId::TEXT), Place::Nowhere));
        self.call_on("array_to_string", array.into_iter().chain([separator]).collect())
    }

    /// The arguments as the function takes them: in its order, of its types, with its defaults. An array of a function that takes any
    /// arguments stays one if it is not written out ([`spreading_call`]).
    pub(super) fn ordered_arguments(
        &self,
        resolved: &ResolvedFunction,
        arguments: Vec<Placed<'_>>,
        is_variadic: bool,
    ) -> Result<Vec<Expression>, SqlError> {
        let entry = pg_catalog().function(resolved.function);
        let given = arguments.into_iter().zip(&resolved.argument_types).enumerate();
        let takes_all = |at: usize| entry.variadic == Some(TypeId::ANY) && at + 1 >= entry.arguments.len();
        let given = given.map(|(at, ((argument, place), id))| {
            // A literal is a text here, but nothing tells the type of a parameter.
            let id = if takes_all(at) && self.is_open_parameter(&argument) { TypeId::UNKNOWN } else { *id };
            self.coerce(argument, place, SqlType::of(id), CastContext::Implicit)
        });
        let mut given: Vec<Option<Expression>> = given.map(|argument| argument.map(Some)).collect::<Result<_, _>>()?;
        if let Some(count) = resolved.gathered {
            let values: Vec<Expression> = given.split_off(given.len() - count).into_iter().flatten().collect();
            let element = values.first().map(|value| value.sql_type.id);
            let array_type = element.and_then(|element| pg_catalog().type_entry(element).array);
            let (Some(element), Some(array_type)) = (element, array_type) else {
                return Err(unsupported_call(entry.name));
            };
            given.push(Some(Expression { node: Node::Array(element, values), sql_type: SqlType::of(array_type) }));
        }
        let mut ordered = Vec::new();
        // What is gathered has been given in order.
        if resolved.argument_order.is_empty() || resolved.gathered.is_some() {
            ordered.extend(given.into_iter().flatten());
        } else {
            let defaults_from = entry.arguments_min();
            for (at, order) in resolved.argument_order.iter().enumerate() {
                ordered.push(match order.and_then(|order| given.get_mut(order)).and_then(Option::take) {
                    Some(argument) => argument,
                    None => {
                        self.default_argument(entry.defaults.get(at - defaults_from).copied(), entry.arguments[at])?
                    }
                });
            }
        }
        // Such a function takes what an array has as arguments.
        let spreads_later = entry.kind == FunctionKind::Function && !is_written_out(ordered.last());
        if is_variadic && entry.variadic == Some(TypeId::ANY) && !spreads_later {
            spread(&mut ordered)?;
        }
        Ok(ordered)
    }

    /// The default of an argument, which the catalog has as SQL.
    fn default_argument(&self, sql: Option<&str>, id: TypeId) -> Result<Expression, SqlError> {
        let missing = || SqlError::new(SqlState::InternalError, "an argument without a default");
        let sql = sql.ok_or_else(missing)?;
        let dialect = SqlDialect::for_text(sql);
        let parsed = parser_of(&dialect, sql).and_then(|mut parser| parser.parse_expr());
        let syntax = parsed.map_err(|_| missing())?;
        let statement = Statement::new(sql, self.session, self.tables);
        let value = statement.binder().expression(&syntax)?;
        self.coerce(value, Place::Nowhere, SqlType::of(id), CastContext::Implicit)
    }
}

/// Whether an argument is an array that says what its elements are.
pub(super) fn is_written_out(argument: Option<&Expression>) -> bool {
    let Some(Expression { node: Node::Array(element, values), .. }) = argument else { return false };
    values.iter().all(|value| value.sql_type.id == *element)
}

/// The last argument's elements as arguments, if it says what they are.
fn spread(arguments: &mut Vec<Expression>) -> Result<(), SqlError> {
    let array = arguments.pop().filter(|array| is_written_out(Some(array)));
    let Some(Expression { node: Node::Array(_, values), .. }) = array else {
        return Err(SqlError::unsupported("VARIADIC with an array that is not written out is not supported here"));
    };
    arguments.extend(values);
    Ok(())
}

/// The function of the information schema that drivers call.
const EXPAND_ARRAY: &str = "_pg_expandarray";

fn is_normal_form(word: &Ident) -> bool {
    word.quote_style.is_none() && ["nfc", "nfd", "nfkc", "nfkd"].contains(&fold(word).as_str())
}

/// How a call with the name of a type casts its argument; `None` if it does not.
fn cast_pathway(source: TypeId, target: TypeId) -> Option<Pathway> {
    let pathway = coercion_pathway(source, target, CastContext::Explicit)?;
    let is_cast = matches!(pathway, Pathway::Relabel | Pathway::InputOutput) && source != TypeId::RECORD;
    is_cast.then_some(pathway)
}

/// Schema and name of a function. Only `pg_catalog` has functions, and `information_schema` one.
fn function_name(name: &ObjectName) -> Option<(Option<&Ident>, &Ident)> {
    let parts: Vec<&Ident> = name.0.iter().filter_map(ObjectNamePart::as_ident).collect();
    match &parts[..] {
        [only] if name.0.len() == 1 => Some((None, only)),
        [schema, name] if fold(schema) == "pg_catalog" => Some((Some(schema), name)),
        [schema, name] if fold(schema) == "information_schema" && fold(name) == EXPAND_ARRAY => {
            Some((Some(schema), name))
        }
        _ => None,
    }
}

pub(super) fn unsupported_call(name: &str) -> SqlError {
    SqlError::unsupported(format!("function {name} is not supported here"))
}
