//! Calls of functions: positional, named and mixed notation, defaults, variadic functions, casts written as calls.

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgOperator, FunctionArguments, Ident, ObjectNamePart,
    Value as Syntax, ValueWithSpan,
};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;

use super::casts::call;
use super::{Binder, fold, placed};
use crate::expression::{Expression, Node};
use crate::pg_catalog::{CastContext, FunctionKind, TypeId, pg_catalog};
use crate::resolution::{FunctionResolution, ResolvedFunction, resolve_function};
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

/// An argument: its name in named notation, and its syntax.
struct Argument<'a> {
    name: Option<String>,
    syntax: &'a Expr,
}

impl Binder<'_> {
    /// A call as the parser reads it.
    pub(super) fn function(&self, function: &Function) -> Result<Expression, SqlError> {
        let (schema, name) = function_name(function)?;
        let place = self.places.of(name.span.start);
        let folded = fold(name);
        // Names of types that the grammar knows are no names of functions.
        if schema.is_none() && name.quote_style.is_none() && TYPE_WORDS.contains(&folded.as_str()) {
            return Err(unsupported_call(&folded));
        }
        let arguments = match &function.args {
            FunctionArguments::None => {
                let value = self.session_value(&folded, None)?;
                return value.ok_or_else(|| unsupported_call(&folded));
            }
            FunctionArguments::Subquery(_) => return Err(unsupported_call(&folded)),
            FunctionArguments::List(list) if list.duplicate_treatment.is_some() || !list.clauses.is_empty() => {
                return Err(unsupported_call(&folded));
            }
            FunctionArguments::List(list) => &list.args,
        };
        let is_plain = function.filter.is_none()
            && function.null_treatment.is_none()
            && function.over.is_none()
            && function.within_group.is_empty()
            && !function.uses_odbc_syntax
            && matches!(function.parameters, FunctionArguments::None);
        if !is_plain {
            return Err(unsupported_call(&folded));
        }
        let arguments =
            arguments.iter().map(|argument| self.argument(argument, &folded)).collect::<Result<Vec<_>, _>>()?;
        if schema.is_none()
            && name.quote_style.is_none()
            && let Some(special) = self.grammar_function(&folded, &arguments, place)?
        {
            return Ok(special);
        }
        self.call_of(&folded, &arguments, place)
    }

    fn argument<'a>(&self, argument: &'a FunctionArg, function: &str) -> Result<Argument<'a>, SqlError> {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(syntax)) => Ok(Argument { name: None, syntax }),
            FunctionArg::Named {
                name,
                arg: FunctionArgExpr::Expr(syntax),
                operator: FunctionArgOperator::RightArrow | FunctionArgOperator::Assignment,
            } => Ok(Argument { name: Some(fold(name)), syntax }),
            _ => Err(unsupported_call(function)),
        }
    }

    /// What the grammar knows, and the catalog does not; `None` for ordinary functions.
    fn grammar_function(
        &self,
        name: &str,
        arguments: &[Argument<'_>],
        place: Option<usize>,
    ) -> Result<Option<Expression>, SqlError> {
        let syntax: Vec<&Expr> = arguments.iter().map(|argument| argument.syntax).collect();
        Ok(Some(match (name, &syntax[..]) {
            ("coalesce", [_, ..]) => self.coalesce(&syntax)?,
            ("greatest", [_, ..]) => self.extreme(&syntax, "GREATEST")?,
            ("least", [_, ..]) => self.extreme(&syntax, "LEAST")?,
            ("nullif", [left, right]) => self.null_if(left, right, place)?,
            ("coalesce" | "greatest" | "least" | "nullif" | "grouping" | "row" | "xmlelement", _) => {
                return Err(unsupported_call(name));
            }
            // The forms are words of the grammar.
            ("normalize", [text, Expr::Identifier(form)]) if is_normal_form(form) => {
                let form = Expression::of(Value::text(form.value.to_ascii_uppercase()), TypeId::TEXT);
                self.call_on("normalize", vec![self.placed(text)?, (form, None)])?
            }
            // Calls that Braid's own rewriting makes.
            ("sum_of_terms" | "concatenation", _) => return Err(unsupported_call(name)),
            (word, [Expr::Value(ValueWithSpan { value: Syntax::Number(digits, _), .. })]) => match digits.parse() {
                Ok(precision) => return self.session_value(word, Some(precision)),
                Err(_) => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }

    /// A call of a function of the catalog.
    fn call_of(&self, name: &str, arguments: &[Argument<'_>], place: Option<usize>) -> Result<Expression, SqlError> {
        let bound = arguments.iter().map(|argument| self.placed(argument.syntax)).collect::<Result<Vec<_>, _>>()?;
        let names: Vec<Option<&str>> = arguments.iter().map(|argument| argument.name.as_deref()).collect();
        self.resolved_call(name, bound, &names, place)
    }

    /// A call with positional arguments that are bound, such as special syntax means.
    pub(super) fn call_on(
        &self,
        name: &str,
        arguments: Vec<(Expression, Option<usize>)>,
    ) -> Result<Expression, SqlError> {
        let names = vec![None; arguments.len()];
        self.resolved_call(name, arguments, &names, None)
    }

    fn resolved_call(
        &self,
        name: &str,
        arguments: Vec<(Expression, Option<usize>)>,
        names: &[Option<&str>],
        place: Option<usize>,
    ) -> Result<Expression, SqlError> {
        let ids: Vec<TypeId> = arguments.iter().map(|(argument, _)| argument.sql_type.id).collect();
        match resolve_function(name, &ids, names, false).map_err(|error| placed(error, place))? {
            FunctionResolution::Function(resolved) => self.apply(&resolved, arguments),
            FunctionResolution::Coercion(target, _) => {
                let (argument, argument_place) = arguments.into_iter().next().ok_or_else(|| unsupported_call(name))?;
                self.coerce(argument, argument_place, SqlType::of(target), CastContext::Explicit)
            }
        }
    }

    fn apply(
        &self,
        resolved: &ResolvedFunction,
        arguments: Vec<(Expression, Option<usize>)>,
    ) -> Result<Expression, SqlError> {
        let entry = pg_catalog().function(resolved.function);
        if entry.kind != FunctionKind::Function || entry.returns_set {
            return Err(unsupported_call(entry.name));
        }
        let given = arguments.into_iter().zip(&resolved.argument_types);
        let given =
            given.map(|((argument, place), id)| self.coerce(argument, place, SqlType::of(*id), CastContext::Implicit));
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
        if resolved.argument_order.is_empty() {
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
        call(resolved.function, ordered, SqlType::of(resolved.result))
    }

    /// The default of an argument, which the catalog has as SQL.
    fn default_argument(&self, sql: Option<&str>, id: TypeId) -> Result<Expression, SqlError> {
        let missing = || SqlError::new(SqlState::InternalError, "an argument without a default");
        let sql = sql.ok_or_else(missing)?;
        let parsed = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).and_then(|mut parser| parser.parse_expr());
        let syntax = parsed.map_err(|_| missing())?;
        let value = Binder::new(sql, self.session).expression(&syntax)?;
        self.coerce(value, None, SqlType::of(id), CastContext::Implicit)
    }
}

fn is_normal_form(word: &Ident) -> bool {
    word.quote_style.is_none() && ["nfc", "nfd", "nfkc", "nfkd"].contains(&fold(word).as_str())
}

/// Schema and name of a function. Only `pg_catalog` has functions.
fn function_name(function: &Function) -> Result<(Option<&Ident>, &Ident), SqlError> {
    let parts: Vec<&Ident> = function.name.0.iter().filter_map(ObjectNamePart::as_ident).collect();
    match &parts[..] {
        [name] if function.name.0.len() == 1 => Ok((None, name)),
        [schema, name] if fold(schema) == "pg_catalog" => Ok((Some(schema), name)),
        _ => Err(unsupported_call(&function.name.to_string())),
    }
}

fn unsupported_call(name: &str) -> SqlError {
    SqlError::unsupported(format!("function {name} is not supported here"))
}
