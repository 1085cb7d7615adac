//! A query's syntax tree, made fit for DataFusion.
//!
//! Refused, because DataFusion would silently ignore it: row locks, TABLESAMPLE, WITH ORDINALITY, other dialects'
//! clauses. Refused by name, because the error would be obscure: data-modifying WITH, SELECT INTO. Replaced, because
//! DataFusion spells it differently or does not have it: parameters by their values, what only the session knows
//! (`current_user`), `FETCH FIRST` by LIMIT, `TABLE t` by its SELECT, `pg_catalog.` before functions, byte-order
//! COLLATE.

use std::ops::ControlFlow;

use arrow::datatypes::DataType;
use braid_sql::binder::precedence::rebind;
use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType as SqlType, ExactNumberInfo, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, LimitClause, ObjectName, ObjectNamePart, Query, Select, SelectItem, SetExpr, SetOperator,
    SetQuantifier, TableAlias, TableFactor, Value, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Span, Tokenizer};

use super::clock::time_of;
use super::exponents::written_out;
use super::integer_rows::{name_series, narrow_recursion, narrow_values};
use super::interval_literal::interval_cast;
use super::named_windows::spell_out_windows;
use super::parameters::{literal_at, placeholder_as};
use super::regular_expressions::{fit_function, fit_operator, similar_to};
use super::row_values::{spell_out_membership, spelled_out};
use super::set_returning::check_limited_order;
use super::subquery_shapes::{check_exists, check_scalar};
use crate::clock::Instants;
use crate::conversion::date_fields::{EPOCH_INSTANT, EXTRACT};
use crate::conversion::zone_function::ZONE_FUNCTION;
use crate::names::{DATABASE_NAME, SCHEMA_NAME, fold, fold_parts};
use crate::semantics::plain_numeric::PLAIN_NUMERIC;
use crate::settings::SERVER_VERSION;
pub(super) use crate::statement::function_call::call;
use crate::statement::{AskedFact, SessionFact, SqlDialect};
use crate::{EngineError, SqlState};

/// What a query may ask about its session.
pub(crate) trait SessionFacts: Sync {
    /// Who is connected.
    fn user(&self) -> &str;
    /// A number for the session.
    fn session_id(&self) -> i32;
    /// A setting's value.
    fn setting(&self, name: &str) -> Option<String>;
    /// What time it is.
    fn instants(&self) -> Instants;
    /// The literal of a fact stands where it was asked for.
    fn note(&self, _: AskedFact) {}
}

/// Most parameters of a statement: what the protocol can count.
pub(crate) const PARAMETERS_MAX: usize = 65_535;

/// How parameters are treated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Parameters<'a> {
    /// Replaced by these values.
    Values(&'a [ScalarValue]),
    /// Left as they are, to have their types inferred; those that are known are cast to their type.
    Infer(&'a [Option<DataType>]),
}

/// Rewrites a statement's tree in place.
pub(crate) fn rewrite<T: VisitMut>(
    tree: &mut T,
    parameters: Parameters<'_>,
    session: &dyn SessionFacts,
) -> Result<(), EngineError> {
    let mut rewrite = Rewrite { parameters, session };
    match tree.visit(&mut rewrite) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct Rewrite<'a> {
    parameters: Parameters<'a>,
    session: &'a dyn SessionFacts,
}

type Step = ControlFlow<Box<EngineError>>;

fn stop(error: EngineError) -> Step {
    ControlFlow::Break(Box::new(error))
}

fn unsupported(message: impl Into<String>) -> Step {
    stop(EngineError::unsupported(message))
}

impl VisitorMut for Rewrite<'_> {
    type Break = Box<EngineError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> Step {
        if let Some(lock) = query.locks.first() {
            return unsupported(format!("{lock} is not supported: Braid has no row locks"));
        }
        if query.for_clause.is_some() || query.settings.is_some() || query.format_clause.is_some() {
            return unsupported("clauses of other SQL dialects after a query are not supported");
        }
        if let Err(error) = spell_fetch_as_limit(query).and_then(|()| check_limited_order(query)) {
            return stop(error);
        }
        self.check_body(&mut query.body)
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> Step {
        for item in &select.projection {
            if let Err(error) = check_alias(item) {
                return stop(error);
            }
        }
        for condition in select.selection.iter_mut().chain(&mut select.having) {
            if let Err(error) = spell_out_membership(condition) {
                return stop(error);
            }
        }
        Step::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> Step {
        narrow_recursion(query);
        match spell_out_windows(query) {
            Ok(()) => Step::Continue(()),
            Err(error) => stop(error),
        }
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> Step {
        if let Err(error) = without_views(factor) {
            return stop(error);
        }
        match name_series(factor) {
            Ok(()) => Step::Continue(()),
            Err(error) => stop(error),
        }
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> Step {
        match factor {
            TableFactor::Table { sample: Some(_), .. } | TableFactor::Derived { sample: Some(_), .. } => {
                unsupported("TABLESAMPLE is not supported")
            }
            TableFactor::Table { with_ordinality: true, .. }
            | TableFactor::Function { with_ordinality: true, .. }
            | TableFactor::UNNEST { with_ordinality: true, .. } => unsupported("WITH ORDINALITY is not supported"),
            TableFactor::Table { name, with_hints, version, partitions, json_path, index_hints, args, .. } => {
                let others = !with_hints.is_empty()
                    || version.is_some()
                    || !partitions.is_empty()
                    || json_path.is_some()
                    || !index_hints.is_empty();
                if others {
                    return unsupported(format!("the clauses after table {name} are not supported"));
                }
                if args.is_some() {
                    strip_catalog(name);
                }
                Step::Continue(())
            }
            TableFactor::Function { name, .. } => {
                strip_catalog(name);
                Step::Continue(())
            }
            _ => Step::Continue(()),
        }
    }

    /// After its children, so that what it puts in is not visited again.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> Step {
        rebind(expr);
        let replacement = match expr {
            Expr::Value(value) => match &value.value {
                Value::Placeholder(name) => self.parameter(name, value.span),
                Value::Number(number, is_long) => {
                    let plain = |number| Expr::Value(Value::Number(number, *is_long).with_empty_span());
                    Ok(written_out(number).map(plain))
                }
                // To PostgreSQL `X'1F'` is a bit string, and `0x1F` a syntax error.
                Value::HexStringLiteral(_) | Value::SingleQuotedByteStringLiteral(_) => {
                    Err(EngineError::unsupported(format!("the literal {value} is not supported"))
                        .with_hint("Write '\\x1f'::bytea for bytes, and integers in decimal."))
                }
                _ => Ok(None),
            },
            Expr::Function(function) => {
                strip_catalog(&mut function.name);
                self.session_function(function)
            }
            Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, .. }
                if is_plain_numeric(data_type) =>
            {
                Ok(Some(call(PLAIN_NUMERIC, vec![taken(expr)])))
            }
            Expr::SimilarTo { negated, expr, pattern, escape_char } => {
                similar_to(expr, pattern, escape_char.as_ref().map(|escape| &escape.value), *negated).map(Some)
            }
            Expr::Extract { field, expr, .. } => {
                Ok(Some(call(EXTRACT, vec![string(&field.to_string().replace('\'', "")), taken(expr)])))
            }
            Expr::Identifier(ident) if ident.quote_style.is_none() => Ok(self.session_word(&fold(ident), ident.span)),
            Expr::Collate { expr: inner, collation } => collated(inner, collation).map(Some),
            Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } if is_listed(right) => {
                let (left, right) = (Box::new(taken(left)), taken(right));
                Ok(Some(match right {
                    Expr::Subquery(subquery) => Expr::InSubquery { expr: left, subquery, negated: false },
                    Expr::Array(array) => Expr::InList { expr: left, list: array.elem, negated: false },
                    other => {
                        Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right: Box::new(other), is_some: false }
                    }
                }))
            }
            Expr::Exists { subquery, .. } => check_exists(subquery).map(|()| None),
            Expr::Subquery(subquery) => check_scalar(subquery).map(|()| None),
            // DataFusion plans these and answers wrongly.
            Expr::AllOp { compare_op, right, .. } if is_subquery(right) => Err(quantified(compare_op, "ALL")),
            Expr::AnyOp { compare_op, right, .. } if is_subquery(right) && *compare_op != BinaryOperator::Eq => {
                Err(quantified(compare_op, "ANY"))
            }
            Expr::BinaryOp { op, right, .. } if is_regular(op) => {
                fit_operator(op, right);
                Ok(None)
            }
            Expr::BinaryOp { .. }
            | Expr::InList { .. }
            | Expr::InSubquery { .. }
            | Expr::IsNull(_)
            | Expr::IsNotNull(_) => spelled_out(expr),
            Expr::Interval(interval) => interval_cast(interval),
            Expr::AtTimeZone { timestamp, time_zone } => {
                Ok(Some(call(ZONE_FUNCTION, vec![taken(time_zone), taken(timestamp)])))
            }
            _ => Ok(None),
        };
        match replacement {
            Ok(None) => Step::Continue(()),
            Ok(Some(new)) => {
                *expr = new;
                Step::Continue(())
            }
            Err(error) => stop(error),
        }
    }
}

fn counts_whole_rows(function: &Function) -> bool {
    let FunctionArguments::List(list) = &function.args else { return false };
    list.args.iter().any(|arg| matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(_))))
}

fn is_plain_numeric(data_type: &SqlType) -> bool {
    matches!(
        data_type,
        SqlType::Numeric(ExactNumberInfo::None)
            | SqlType::Decimal(ExactNumberInfo::None)
            | SqlType::Dec(ExactNumberInfo::None)
    )
}

fn is_regular(op: &BinaryOperator) -> bool {
    use BinaryOperator::{PGRegexIMatch, PGRegexMatch, PGRegexNotIMatch, PGRegexNotMatch};
    matches!(op, PGRegexMatch | PGRegexIMatch | PGRegexNotMatch | PGRegexNotIMatch)
}

fn arguments_of(function: &Function) -> Vec<Expr> {
    let FunctionArguments::List(list) = &function.args else { return Vec::new() };
    let unnamed = list.args.iter().filter_map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    unnamed.collect()
}

/// What `= ANY` takes as IN does: a subquery, or an array that is spelled out.
fn is_listed(expr: &Expr) -> bool {
    match expr {
        Expr::Array(array) => !array.elem.is_empty(),
        expr => is_subquery(expr),
    }
}

fn is_subquery(expr: &Expr) -> bool {
    matches!(expr, Expr::Subquery(_))
}

fn quantified(compare_op: &BinaryOperator, quantifier: &str) -> EngineError {
    EngineError::unsupported(format!("{compare_op} {quantifier} (subquery) is not supported; compare with min or max"))
}

impl Rewrite<'_> {
    fn check_body(&self, body: &mut Box<SetExpr>) -> Step {
        match &mut **body {
            SetExpr::Select(select) => {
                if select.into.is_some() {
                    return unsupported("SELECT INTO is not supported; use CREATE TABLE AS");
                }
                if select.select_modifiers.is_some() || select.value_table_mode.is_some() || select.prewhere.is_some() {
                    return unsupported("clauses of other SQL dialects in SELECT are not supported");
                }
                Step::Continue(())
            }
            SetExpr::SetOperation { op, set_quantifier, .. } if !counts_right(*op, *set_quantifier) => {
                unsupported(format!("{op} {set_quantifier} is not supported: only UNION keeps duplicates"))
            }
            SetExpr::SetOperation { left, right, .. } => {
                self.check_body(left)?;
                self.check_body(right)
            }
            SetExpr::Table(table) => {
                let text = format!("SELECT * FROM {table}").replace("TABLE ", "");
                match parse_query(&text) {
                    Ok(query) => {
                        *body = query.body;
                        Step::Continue(())
                    }
                    Err(error) => stop(error),
                }
            }
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                unsupported("statements that change data are not supported within queries")
            }
            SetExpr::Values(values) => {
                narrow_values(values);
                Step::Continue(())
            }
            SetExpr::Query(_) => Step::Continue(()),
        }
    }

    /// The value of `$n`.
    fn parameter(&self, name: &str, place: Span) -> Result<Option<Expr>, EngineError> {
        let at = parameter_index(name)?;
        match self.parameters {
            Parameters::Values(values) => match values.get(at) {
                Some(value) => literal_at(value, place).map(Some),
                None => {
                    let message = format!("there is no value for parameter {name}");
                    Err(EngineError::new(SqlState::UndefinedParameter, message))
                }
            },
            Parameters::Infer(types) => match types.get(at) {
                Some(Some(data_type)) => placeholder_as(name, data_type).map(Some),
                _ => Ok(None),
            },
        }
    }

    /// Functions whose answer the session knows.
    fn session_function(&self, function: &mut Function) -> Result<Option<Expr>, EngineError> {
        if has_whole_row(function) {
            return Err(EngineError::unsupported(format!("a row as an argument is not supported: {function}"))
                .with_hint("Name a column that is not null, or write count(*)."));
        }
        let name = match fold_parts(&function.name) {
            Ok(parts) if parts.len() == 1 => parts[0].clone(),
            _ => return Ok(None),
        };
        let place = place_of(&function.name);
        if let Some((fact, literal)) = time_of(&name, function, place, || self.session.instants())? {
            self.note(fact, place);
            return Ok(Some(literal));
        }
        fit_function(&name, function)?;
        if counts_whole_rows(function) {
            // To DataFusion every row counts, also one that an outer join made of nulls.
            return Err(EngineError::unsupported(format!("{name}(table.*) is not supported"))
                .with_hint("Count a column that is never null."));
        }
        match name.as_str() {
            "current_setting" => self.current_setting(function, place).map(Some),
            "mod" => Ok(remainder(function)),
            "variance" | "every" | "sign" | "gen_random_uuid" => Ok(renamed(function, &name)),
            // A function that gives rows: in a select list DataFusion would give an array.
            "generate_series" => Ok(Some(call("unnest", vec![Expr::Function(function.clone())]))),
            // PostgreSQL has it from version 16 on.
            "any_value" => Err(EngineError::new(SqlState::UndefinedFunction, "function any_value does not exist")),
            "to_char" => Err(no_patterns(&name)),
            "to_date" | "to_timestamp" | "to_number" if argument_count(function) > 1 => Err(no_patterns(&name)),
            "to_timestamp" => Ok(Some(call(EPOCH_INSTANT, arguments_of(function)))),
            "pg_backend_pid" => {
                self.note(SessionFact::SessionId, place);
                Ok(Some(number_at(self.session.session_id(), place)))
            }
            "version" | "current_database" | "current_catalog" | "current_schema" | "current_user" | "session_user"
            | "current_role" | "user" => Ok(self.session_word(&name, place).or_else(|| self.session_call(&name))),
            _ => Ok(None),
        }
    }

    fn note(&self, fact: SessionFact, place: Span) {
        self.session.note(AskedFact { fact, location: place.start });
    }

    /// Words that are functions without parentheses.
    fn session_word(&self, word: &str, place: Span) -> Option<Expr> {
        match word {
            "current_user" | "session_user" | "current_role" | "user" => {
                self.note(SessionFact::User, place);
                Some(string_at(self.session.user(), place))
            }
            "current_catalog" => Some(string(DATABASE_NAME)),
            "current_schema" => Some(string(SCHEMA_NAME)),
            _ => None,
        }
    }

    /// The same that need them.
    fn session_call(&self, name: &str) -> Option<Expr> {
        match name {
            "version" => Some(string(&format!("PostgreSQL {SERVER_VERSION}"))),
            "current_database" => Some(string(DATABASE_NAME)),
            _ => None,
        }
    }

    /// `current_setting(name [, missing_ok])`
    fn current_setting(&self, function: &Function, place: Span) -> Result<Expr, EngineError> {
        let arguments: Vec<String> = match &function.args {
            FunctionArguments::List(list) => list.args.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        let name = arguments.first().map(|name| name.trim_matches('\'').to_owned());
        let missing_ok = arguments.get(1).is_some_and(|ok| ok.eq_ignore_ascii_case("true"));
        match name.as_deref().map(|name| (name, self.session.setting(name))) {
            Some((name, Some(value))) => {
                self.note(SessionFact::Setting(name.to_owned()), place);
                Ok(string_at(&value, place))
            }
            Some(_) if missing_ok => Ok(Expr::Value(Value::Null.with_empty_span())),
            Some((name, None)) => Err(EngineError::new(
                SqlState::UndefinedObject,
                format!("unrecognized configuration parameter \"{name}\""),
            )),
            None => Err(EngineError::new(SqlState::UndefinedFunction, "current_setting needs the name of a setting")),
        }
    }
}

/// What the parser takes for a column's name and PostgreSQL does not: `'a' 'b'`, `a ISNULL`.
fn check_alias(item: &SelectItem) -> Result<(), EngineError> {
    let SelectItem::ExprWithAlias { alias, .. } = item else { return Ok(()) };
    if alias.quote_style == Some('\'') {
        return Err(EngineError::new(SqlState::SyntaxError, format!("syntax error at or near \"{alias}\"")));
    }
    let word = alias.value.to_ascii_lowercase();
    if alias.quote_style.is_none() && matches!(word.as_str(), "isnull" | "notnull") {
        return Err(EngineError::unsupported(format!("{} is not supported", alias.value))
            .with_hint("Write IS NULL or IS NOT NULL; as the name of a column, put it in double quotes."));
    }
    Ok(())
}

/// DataFusion's INTERSECT ALL and EXCEPT ALL do not count how often a row is on either side.
fn counts_right(operator: SetOperator, quantifier: SetQuantifier) -> bool {
    let keeps_duplicates = matches!(quantifier, SetQuantifier::All | SetQuantifier::AllByName);
    operator == SetOperator::Union || !keeps_duplicates
}

/// PostgreSQL's functions that DataFusion has under another name.
fn renamed(function: &Function, name: &str) -> Option<Expr> {
    const NAMES: [(&str, &str); 4] =
        [("variance", "var_samp"), ("every", "bool_and"), ("sign", "signum"), ("gen_random_uuid", "uuid")];
    let (_, theirs) = NAMES.iter().find(|(ours, _)| *ours == name)?;
    let mut function = function.clone();
    function.name = ObjectName::from(vec![Ident::new(*theirs)]);
    Some(Expr::Function(function))
}

/// The position of `$n` among the parameters, from 0.
pub(crate) fn parameter_index(name: &str) -> Result<usize, EngineError> {
    let number: Option<usize> = name.strip_prefix('$').and_then(|digits| digits.parse().ok());
    match number.filter(|number| (1..=PARAMETERS_MAX).contains(number)) {
        Some(number) => Ok(number - 1),
        None => Err(EngineError::new(SqlState::UndefinedParameter, format!("there is no parameter {name}"))),
    }
}

/// There are no views; DataFusion's `information_schema.views` shows the tables.
fn without_views(factor: &mut TableFactor) -> Result<(), EngineError> {
    let TableFactor::Table { name, alias, args: None, .. } = factor else { return Ok(()) };
    let parts = fold_parts(name)?;
    if !matches!(&parts[..], [.., schema, table] if schema == "information_schema" && table == "views") {
        return Ok(());
    }
    let subquery = parse_query("SELECT * FROM information_schema.views WHERE false")?;
    let alias = alias.take().unwrap_or_else(|| TableAlias {
        explicit: true,
        name: Ident::new("views"),
        columns: Vec::new(),
        at: None,
    });
    *factor = TableFactor::Derived { lateral: false, subquery, alias: Some(alias), sample: None };
    Ok(())
}

/// `FETCH FIRST n ROWS ONLY` is `LIMIT n`.
fn spell_fetch_as_limit(query: &mut Query) -> Result<(), EngineError> {
    let Some(fetch) = query.fetch.take() else { return Ok(()) };
    if fetch.with_ties || fetch.percent {
        return Err(EngineError::unsupported("FETCH FIRST with PERCENT or WITH TIES is not supported"));
    }
    let count = fetch.quantity.unwrap_or_else(|| number_at(1, Span::empty()));
    match &mut query.limit_clause {
        None => {
            query.limit_clause =
                Some(LimitClause::LimitOffset { limit: Some(count), offset: None, limit_by: Vec::new() });
            Ok(())
        }
        Some(LimitClause::LimitOffset { limit: limit @ None, .. }) => {
            *limit = Some(count);
            Ok(())
        }
        Some(_) => Err(EngineError::new(SqlState::SyntaxError, "multiple LIMIT clauses not allowed")),
    }
}

/// Functions are not in schemas here: `pg_catalog.lower(x)` is `lower(x)`.
fn strip_catalog(name: &mut ObjectName) {
    let qualified =
        name.0.len() == 2 && matches!(&name.0[0], ObjectNamePart::Identifier(schema) if fold(schema) == "pg_catalog");
    if qualified {
        name.0.remove(0);
    }
}

/// Strings are compared by bytes, so collations that say so change nothing, and others cannot be had.
fn collated(inner: &mut Expr, collation: &ObjectName) -> Result<Expr, EngineError> {
    let name = fold_parts(collation)?.pop().unwrap_or_default();
    if matches!(name.as_str(), "C" | "POSIX" | "default" | "ucs_basic" | "C.UTF-8") {
        Ok(taken(inner))
    } else {
        Err(EngineError::unsupported(format!("collation {collation} is not supported: strings compare by their bytes")))
    }
}

/// `mod(a, b)` is `a % b`.
fn remainder(function: &Function) -> Option<Expr> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let operand = |at: usize| match list.args.get(at) {
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))) => Some(Box::new(Expr::Nested(Box::new(expr.clone())))),
        _ => None,
    };
    (list.args.len() == 2).then_some(())?;
    let (left, right) = (operand(0)?, operand(1)?);
    Some(Expr::Nested(Box::new(Expr::BinaryOp { left, op: BinaryOperator::Modulo, right })))
}

/// Whether an argument is `t.*`, which DataFusion replaces by a number that is never null.
fn has_whole_row(function: &Function) -> bool {
    let FunctionArguments::List(list) = &function.args else { return false };
    let is_row = |arg: &FunctionArg| matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(_)));
    list.args.iter().any(is_row)
}

fn argument_count(function: &Function) -> usize {
    match &function.args {
        FunctionArguments::List(list) => list.args.len(),
        _ => 0,
    }
}

/// DataFusion has functions of these names with other patterns: `YYYY` would come out as `YYYY`.
fn no_patterns(name: &str) -> EngineError {
    EngineError::unsupported(format!("{name} with a format is not supported"))
        .with_hint("Use a cast, extract or date_trunc.")
}

/// The expression, out of a tree that is about to be replaced.
fn taken(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, Expr::Value(Value::Null.with_empty_span()))
}

pub(super) fn string(text: &str) -> Expr {
    string_at(text, Span::empty())
}

pub(super) fn string_at(text: &str, place: Span) -> Expr {
    Expr::Value(Value::SingleQuotedString(text.to_owned()).with_span(place))
}

fn number_at(value: i32, place: Span) -> Expr {
    Expr::Value(Value::Number(value.to_string(), false).with_span(place))
}

/// The place of the last part of a name.
fn place_of(name: &ObjectName) -> Span {
    match name.0.last() {
        Some(ObjectNamePart::Identifier(ident)) => ident.span,
        _ => Span::empty(),
    }
}

/// A query of our own making, without places: those of its tokens would be places of another text.
pub(super) fn parse_query(text: &str) -> Result<Box<Query>, EngineError> {
    let dialect = SqlDialect::for_text(text);
    Tokenizer::new(&dialect, text)
        .tokenize()
        .map_err(ParserError::from)
        .and_then(|tokens| Parser::new(&dialect).with_tokens(tokens).parse_query())
        .map_err(|error| EngineError::internal(format!("a query of our own does not parse: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Alice;

    impl SessionFacts for Alice {
        fn user(&self) -> &str {
            "alice"
        }

        fn session_id(&self) -> i32 {
            7
        }

        fn setting(&self, name: &str) -> Option<String> {
            (name == "TimeZone").then(|| "UTC".to_owned())
        }

        fn instants(&self) -> Instants {
            Instants::default()
        }
    }

    fn rewritten(sql: &str, parameters: &[ScalarValue]) -> Result<String, EngineError> {
        let mut query = parse_query(sql).unwrap();
        rewrite(&mut *query, Parameters::Values(parameters), &Alice)?;
        Ok(query.to_string())
    }

    #[test]
    fn what_the_session_knows_is_replaced() {
        for (sql, expected) in [
            ("SELECT current_user, \"user\"", "SELECT 'alice', \"user\""),
            ("SELECT current_database(), current_schema()", "SELECT 'braid', 'public'"),
            ("SELECT pg_catalog.pg_backend_pid()", "SELECT 7"),
            ("SELECT current_setting('TimeZone')", "SELECT 'UTC'"),
            ("SELECT current_setting('x', true)", "SELECT NULL"),
            ("SELECT pg_catalog.lower(a) FROM t", "SELECT lower(a) FROM t"),
            ("SELECT a COLLATE \"C\" FROM t", "SELECT a FROM t"),
            ("SELECT a FROM t FETCH FIRST 3 ROWS ONLY", "SELECT a FROM t LIMIT 3"),
            ("SELECT a FROM t OFFSET 1 FETCH NEXT ROW ONLY", "SELECT a FROM t LIMIT 1 OFFSET 1"),
        ] {
            assert_eq!(rewritten(sql, &[]).unwrap(), expected);
        }
        assert!(rewritten("SELECT version()", &[]).unwrap().contains("PostgreSQL 15"));
    }

    #[test]
    fn parameters_become_literals() {
        let values = [ScalarValue::Int32(Some(5)), ScalarValue::from("it's")];
        let sql = rewritten("SELECT $1, (SELECT $2) LIMIT $1", &values).unwrap();
        assert_eq!(sql, "SELECT CAST('5' AS INTEGER), (SELECT 'it''s') LIMIT CAST('5' AS INTEGER)");
        assert_eq!(rewritten("SELECT $3", &values).unwrap_err().sqlstate(), "42P02");
    }

    #[test]
    fn what_would_be_ignored_is_refused() {
        for sql in [
            "SELECT * FROM t FOR UPDATE",
            "SELECT * FROM (SELECT * FROM t FOR SHARE) s",
            "SELECT * FROM t TABLESAMPLE BERNOULLI (10)",
            "SELECT * FROM generate_series(1, 3) WITH ORDINALITY",
            "SELECT a INTO b FROM t",
            "SELECT a COLLATE \"de_DE\" FROM t",
            "SELECT a FROM t FETCH FIRST 3 ROWS WITH TIES",
            "SELECT count(t.*) FROM t",
        ] {
            assert_eq!(rewritten(sql, &[]).unwrap_err().sqlstate(), "0A000", "{sql}");
        }
    }
}
