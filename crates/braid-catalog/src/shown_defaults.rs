//! Defaults of columns, and of domains, as PostgreSQL shows them.
//!
//! PostgreSQL keeps a default as a tree of bound expressions, and shows the tree: a literal has the type that it was read as behind it,
//! `'x'::character varying`, an operator has parentheses, and words are in capitals (ruleutils.c, `get_rule_expr`). Here a default is
//! kept as it was written, and read again to be shown. Forms that are not known here are shown as they were written.

use braid_base::SchemaId;
use braid_sql::binder::type_of_syntax;
use braid_sql::functions::text_input::{ReadingSession, text_of_value, value_of_input};
use braid_sql::pg_catalog::{FunctionEntry, TypeId, pg_catalog};
use braid_sql::types::type_names::{format_type, type_name};
use braid_sql::types::type_numbers::numbered_type;
use braid_sql::{SqlType, Value as SqlValue};
use braid_storage::Catalog;
use sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Interval, TypedString,
    UnaryOperator, Value,
};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use crate::column_types::{own_type_of_oid, type_in};
use crate::sequence_references::with_sequence_names;
use crate::type_references::{ShownTypes, reference};

/// A default of a column or a domain of this type.
pub(crate) fn shown_default(default: &str, of: SqlType, shown: &ShownTypes<'_>) -> String {
    let catalog = shown.catalog;
    let written = with_sequence_names(default, catalog, shown.path);
    let (reader, of) = (Reader { catalog }, SqlType::of(of.id.base()));
    let text = parsed(&written).and_then(|expression| match literal_of(&expression) {
        Some(text) => literal(text, of),
        None if is_null(&expression) => null(of),
        None => reader.shown(&expression),
    });
    shown.with_type_names(&text.map_or(written, |text| text.text))
}

/// Reads defaults, in which types of users may be named.
struct Reader<'a> {
    catalog: &'a Catalog,
}

/// An expression as it is shown, and its type where that is known: the casts that make operands and arguments equal are shown, too.
struct Shown {
    text: String,
    id: Option<TypeId>,
}

impl Shown {
    fn of(id: TypeId, text: String) -> Option<Self> {
        Some(Self { text, id: Some(id) })
    }
}

impl Reader<'_> {
    /// An expression other than a string literal; `None` for a form that is not known.
    fn shown(&self, expression: &Expr) -> Option<Shown> {
        match expression {
            Expr::Nested(inner) => self.shown(inner),
            Expr::Value(value) => match &value.value {
                Value::Number(digits, _) => number(digits),
                Value::Boolean(value) => Shown::of(TypeId::BOOL, value.to_string()),
                _ => None,
            },
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match &**expr {
                Expr::Value(value) => match &value.value {
                    Value::Number(digits, _) => number(&format!("-{digits}")),
                    _ => None,
                },
                _ => None,
            },
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
                Shown::of(TypeId::BOOL, format!("(NOT {})", self.shown(expr)?.text))
            }
            Expr::Cast { expr, data_type, format: None, .. } => self.cast(expr, self.type_of(data_type)?),
            Expr::TypedString(TypedString { data_type, value, .. }) => match &value.value {
                Value::SingleQuotedString(text) => literal(text, self.type_of(data_type).filter(|of| of.modifier < 0)?),
                _ => None,
            },
            Expr::Interval(Interval { value, leading_field: None, last_field: None, .. }) => {
                literal(literal_of(value)?, SqlType::of(TypeId::INTERVAL))
            }
            Expr::Extract { field, expr, .. } => {
                let field = field.to_string().to_ascii_lowercase();
                Shown::of(TypeId::NUMERIC, format!("EXTRACT({field} FROM {})", self.shown(expr)?.text))
            }
            Expr::BinaryOp { left, op, right } => self.operation(left, op, right),
            Expr::Function(function) => self.call(function),
            Expr::Array(array) if !array.elem.is_empty() => {
                let elements: Vec<Shown> =
                    array.elem.iter().map(|each| self.text_or_other(each)).collect::<Option<_>>()?;
                let all = elements.iter().map(|element| element.text.as_str()).collect::<Vec<_>>().join(", ");
                elements_type(&elements)?;
                Some(Shown { text: format!("ARRAY[{all}]"), id: None })
            }
            _ => None,
        }
    }

    fn type_of(&self, syntax: &DataType) -> Option<SqlType> {
        // Types of the system are found first, as along a search path.
        if let Ok(of_system) = type_of_syntax(syntax, &ReadingSession::of_output()) {
            return Some(of_system);
        }
        match syntax {
            DataType::Custom(name, parameters) if parameters.is_empty() => {
                let id = match (numbered_type(name), &name.0[..]) {
                    (Some((oid, _)), _) => own_type_of_oid(self.catalog, oid),
                    // As earlier versions wrote it.
                    (None, [only]) => type_in(self.catalog, SchemaId::PUBLIC, &only.as_ident()?.value),
                    _ => None,
                };
                id.map(SqlType::of)
            }
            _ => None,
        }
    }

    fn cast(&self, operand: &Expr, sql_type: SqlType) -> Option<Shown> {
        let (id, name) = (sql_type.id, type_text(sql_type));
        if let Some(text) = literal_of(operand) {
            return match id {
                _ if sql_type.modifier < 0 => literal(text, sql_type),
                TypeId::VARCHAR => Shown::of(id, format!("{}::{name}", quoted(text))),
                _ => None,
            };
        }
        match operand {
            Expr::Array(array) if array.elem.is_empty() => Shown::of(id, format!("ARRAY[]::{name}")),
            _ if is_null(operand) => null(sql_type),
            _ => match self.shown(operand)?.text {
                // An operator has parentheses of its own.
                operation if operation.starts_with('(') => Shown::of(id, format!("{operation}::{name}")),
                other => Shown::of(id, format!("({other})::{name}")),
            },
        }
    }

    /// An operator on types that it takes as they are.
    fn operation(&self, left: &Expr, operator: &BinaryOperator, right: &Expr) -> Option<Shown> {
        use BinaryOperator as B;
        let (left, right) = match operator {
            B::StringConcat => (self.text_or_other(left)?, self.text_or_other(right)?),
            B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo => (self.shown(left)?, self.shown(right)?),
            _ => return None,
        };
        let is_moment = |id| [TypeId::DATE, TypeId::TIME, TypeId::TIMESTAMP, TypeId::TIMESTAMPTZ].contains(&id);
        let id = match (operator, left.id?, right.id?) {
            (B::StringConcat, TypeId::TEXT, TypeId::TEXT) => TypeId::TEXT,
            (B::StringConcat, ..) => return None,
            (_, left, right) if left == right && !is_moment(left) => left,
            (B::Plus | B::Minus, TypeId::DATE, TypeId::INT4) => TypeId::DATE,
            (B::Plus | B::Minus, TypeId::DATE, TypeId::INTERVAL) => TypeId::TIMESTAMP,
            (B::Plus | B::Minus, left, TypeId::INTERVAL) if is_moment(left) => left,
            _ => return None,
        };
        Shown::of(id, format!("({} {operator} {})", left.text, right.text))
    }

    /// A string literal as a text, or another expression.
    fn text_or_other(&self, expression: &Expr) -> Option<Shown> {
        match literal_of(expression) {
            Some(text) => literal(text, SqlType::of(TypeId::TEXT)),
            None => self.shown(expression),
        }
    }

    fn call(&self, function: &Function) -> Option<Shown> {
        let name = function.name.to_string().to_ascii_lowercase();
        let is_plain = function.over.is_none() && function.filter.is_none() && function.within_group.is_empty();
        let list = match &function.args {
            FunctionArguments::None => return word(&name),
            FunctionArguments::List(list)
                if is_plain && list.clauses.is_empty() && list.duplicate_treatment.is_none() =>
            {
                list
            }
            _ => return None,
        };
        let expression = |argument: &'_ FunctionArg| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Some(argument.clone()),
            _ => None,
        };
        let arguments: Vec<Expr> = list.args.iter().map(expression).collect::<Option<_>>()?;
        if name == "coalesce" {
            let shown: Vec<Shown> = arguments.iter().map(|each| self.text_or_other(each)).collect::<Option<_>>()?;
            return Shown::of(elements_type(&shown)?, format!("COALESCE({})", joined(&shown)));
        }
        let known: Vec<Option<Shown>> = arguments.iter().map(|each| self.shown(each)).collect();
        let called = called_function(&name, &arguments, &known)?;
        let shown = arguments.iter().zip(known).zip(&called.arguments);
        let shown = shown.map(|((argument, known), id)| match literal_of(argument) {
            Some(text) => literal(text, SqlType::of(*id)),
            None => known,
        });
        let shown: Vec<Shown> = shown.collect::<Option<_>>()?;
        Shown::of(called.result, format!("{name}({})", joined(&shown)))
    }
}

fn parsed(text: &str) -> Option<Expr> {
    let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(text).ok()?;
    let expression = parser.parse_expr().ok()?;
    (parser.peek_token().token == Token::EOF).then_some(expression)
}

/// The text of a string literal.
fn literal_of(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Nested(inner) => literal_of(inner),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

fn is_null(expression: &Expr) -> bool {
    matches!(expression, Expr::Value(value) if value.value == Value::Null)
}

fn null(sql_type: SqlType) -> Option<Shown> {
    let id = sql_type.id;
    Shown::of(id, format!("NULL::{}", type_text(sql_type)))
}

/// The name of a type; of one of users its number, which is shown as its name in the end.
fn type_text(sql_type: SqlType) -> String {
    match sql_type.id.oid() {
        oid if oid == sql_type.id.0 => format_type(sql_type),
        oid => reference(oid, &type_name(sql_type.id)),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A string literal that was read as a value of this type (ruleutils.c, `get_const_expr`).
fn literal(text: &str, sql_type: SqlType) -> Option<Shown> {
    let id = sql_type.id;
    if id.enum_type().is_some() {
        return Shown::of(id, format!("{}::{}", quoted(text), type_text(sql_type)));
    }
    let is_moment = [TypeId::DATE, TypeId::TIME, TypeId::TIMETZ, TypeId::TIMESTAMP, TypeId::TIMESTAMPTZ].contains(&id);
    if is_moment && text.contains(|c: char| c.is_ascii_alphabetic()) {
        // Words such as `today`, and names of zones and months.
        return None;
    }
    let session = ReadingSession::of_output();
    let value = value_of_input(id, text, &session).ok()?;
    // The text of a moment in time depends on the zone of who reads it.
    let output = if id == TypeId::TIMESTAMPTZ {
        text.to_owned()
    } else {
        text_of_value(&value, SqlType::of(id), &session).ok()?
    };
    let shown = match id {
        TypeId::BOOL => if value == SqlValue::Bool(true) { "true" } else { "false" }.to_owned(),
        TypeId::INT4 if !output.starts_with('-') => output,
        TypeId::NUMERIC if is_unsigned_fraction(&output) => output,
        _ => format!("{}::{}", quoted(&output), format_type(SqlType::of(id))),
    };
    Shown::of(id, shown)
}

fn is_unsigned_fraction(digits: &str) -> bool {
    digits.starts_with(|c: char| c.is_ascii_digit()) && digits.contains(['.', 'e', 'E'])
}

/// The type that all of them have.
fn elements_type(elements: &[Shown]) -> Option<TypeId> {
    let first = elements.first()?.id?;
    elements.iter().all(|element| element.id == Some(first)).then_some(first)
}

/// A number that is written without quotes: an integer, a bigint or a numeric, by its size.
fn number(digits: &str) -> Option<Shown> {
    let id = match digits.parse::<i64>() {
        Ok(value) if i32::try_from(value).is_ok() => TypeId::INT4,
        Ok(_) => TypeId::INT8,
        Err(_) => TypeId::NUMERIC,
    };
    literal(digits, SqlType::of(id))
}

fn joined(shown: &[Shown]) -> String {
    shown.iter().map(|shown| shown.text.as_str()).collect::<Vec<_>>().join(", ")
}

/// A function without parentheses.
fn word(name: &str) -> Option<Shown> {
    let id = match name {
        "current_catalog" | "current_role" | "current_schema" | "current_user" | "session_user" => TypeId::NAME,
        "current_date" => TypeId::DATE,
        "current_time" => TypeId::TIMETZ,
        "current_timestamp" => TypeId::TIMESTAMPTZ,
        "localtime" => TypeId::TIME,
        "localtimestamp" => TypeId::TIMESTAMP,
        _ => return None,
    };
    Shown::of(id, name.to_ascii_uppercase())
}

/// The only function of a name that takes the arguments as they are, with string literals as texts where it can.
fn called_function(name: &str, arguments: &[Expr], known: &[Option<Shown>]) -> Option<&'static FunctionEntry> {
    let places = || arguments.iter().zip(known).enumerate();
    let takes = |function: &&FunctionEntry| {
        let is_taken = |(at, (argument, known)): (usize, (&Expr, &Option<Shown>))| {
            let given = known.as_ref().and_then(|known| known.id);
            literal_of(argument).is_some() || given == Some(function.arguments[at])
        };
        function.arguments.len() == arguments.len() && places().all(is_taken)
    };
    let takes_texts = |function: &&FunctionEntry| {
        places().all(|(at, (argument, _))| literal_of(argument).is_none() || function.arguments[at] == TypeId::TEXT)
    };
    let candidates: Vec<&'static FunctionEntry> = pg_catalog().functions_named(name).filter(takes).collect();
    let of_texts: Vec<&'static FunctionEntry> = candidates.iter().copied().filter(takes_texts).collect();
    match (&candidates[..], &of_texts[..]) {
        ([only], _) | (_, [only]) => Some(only),
        _ => None,
    }
}
