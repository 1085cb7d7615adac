//! What tests and the fuzz target of the binder call: a session whose facts never change, and an expression's answer in it.

pub mod naive;
pub mod queries;

use crate::formats::Formats;
use crate::input::time_zones::TimeZone;
use sqlparser::ast::{Expr, SelectItem};
use sqlparser::tokenizer::Token;

use crate::binder::Statement;
use crate::binder::precedence::rebind_all;
use crate::functions::SessionFacts;
use crate::syntax::{SqlDialect, parser_of};
use crate::tables::NoTables;
use crate::types::type_names::format_type;
use crate::{Evaluation, SqlError, SqlState, SqlType, Value};

/// What stands before an expression when its places are counted.
pub const PREFIX: &str = "SELECT ";

/// The time of all statements: 2023-11-14 22:13:20 UTC.
const NOW_US: i64 = 1_700_000_000_000_000;

/// Levels of nesting that the parser takes.
const DEPTH_MAX: usize = 100;

/// A session in UTC.
#[derive(Debug)]
pub struct FixedSession;

impl SessionFacts for FixedSession {
    fn zone(&self) -> TimeZone {
        crate::input::datetime::utc()
    }

    fn zone_name(&self) -> String {
        "UTC".to_owned()
    }

    fn formats(&self) -> Formats {
        Formats::default()
    }

    fn transaction_us(&self) -> i64 {
        NOW_US
    }

    fn statement_us(&self) -> i64 {
        NOW_US
    }

    fn clock_us(&self) -> i64 {
        NOW_US
    }

    fn user(&self) -> String {
        "postgres".to_owned()
    }

    fn database(&self) -> String {
        "postgres".to_owned()
    }

    fn session_id(&self) -> i32 {
        1
    }

    fn setting(&self, name: &str) -> Option<String> {
        match name.to_ascii_lowercase().as_str() {
            "server_version" => Some("15.0".to_owned()),
            "timezone" => Some(self.zone_name()),
            _ => None,
        }
    }
}

/// Type and text of an expression's value; no text for null. `None` if the parser reads no single expression.
pub fn answer(expression: &str) -> Option<Result<(String, Option<String>), SqlError>> {
    let sql = format!("{PREFIX}{expression}");
    match parsed(&sql) {
        Ok(Some(syntax)) => Some(answer_of(&sql, &syntax)),
        Ok(None) => None,
        Err(error) => Some(Err(error)),
    }
}

/// The one expression of a SELECT.
pub fn parsed(sql: &str) -> Result<Option<Expr>, SqlError> {
    let syntax_error = |error: sqlparser::parser::ParserError| SqlError::new(SqlState::SyntaxError, error.to_string());
    let dialect = SqlDialect::for_text(sql);
    let mut parser = parser_of(&dialect, sql).map_err(syntax_error)?.with_recursion_limit(DEPTH_MAX);
    let query = parser.parse_query().map_err(syntax_error)?;
    parser.expect_token(&Token::EOF).map_err(syntax_error)?;
    Ok(query.body.as_select().and_then(|select| match &select.projection[..] {
        [SelectItem::UnnamedExpr(syntax) | SelectItem::ExprWithAlias { expr: syntax, .. }] => Some(syntax.clone()),
        _ => None,
    }))
}

fn answer_of(sql: &str, syntax: &Expr) -> Result<(String, Option<String>), SqlError> {
    let (sql_type, value) = value_of_syntax(sql, syntax)?;
    Ok((format_type(sql_type), Evaluation::new(&FixedSession, &[]).text(&value, sql_type)?))
}

/// Type and value of an expression. Panics if the parser reads no single expression.
pub fn value_of(expression: &str) -> Result<(SqlType, Value), SqlError> {
    let sql = format!("{PREFIX}{expression}");
    let syntax = parsed(&sql)?.unwrap_or_else(|| panic!("{expression} is no expression"));
    value_of_syntax(&sql, &syntax)
}

fn value_of_syntax(sql: &str, syntax: &Expr) -> Result<(SqlType, Value), SqlError> {
    let mut syntax = syntax.clone();
    rebind_all(&mut syntax);
    let statement = Statement::new(sql, &FixedSession, &NoTables);
    let bound = statement.binder().output_expression(&syntax)?;
    let value = Evaluation::new(&FixedSession, &[]).value(&bound)?;
    Ok((bound.sql_type, value))
}

/// Binds and evaluates a text, panicking where that is not total.
pub fn fuzz_expression(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        // Its answer or error is anything; that there is one is what is tested.
        drop(answer(text));
    }
}

/// Binds a text that may be a call of a function that returns rows, and makes some rows, panicking where that is not total.
pub fn fuzz_rows(data: &[u8]) {
    const ROWS_MAX: usize = 100;
    let Ok(text) = std::str::from_utf8(data) else { return };
    let sql = format!("{PREFIX}{text}");
    let Ok(Some(Expr::Function(function))) = parsed(&sql) else { return };
    if let Ok(Some(call)) = Statement::new(&sql, &FixedSession, &NoTables).binder().rows_of(&function)
        && let Ok(rows) = Evaluation::new(&FixedSession, &[]).rows(&call)
    {
        for row in rows.take(ROWS_MAX).flatten() {
            assert_eq!(row.len(), call.columns.len(), "{text} has a value for each column");
        }
    }
}
