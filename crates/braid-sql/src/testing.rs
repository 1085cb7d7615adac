//! What tests and the fuzz target of the binder call: a session whose facts never change, and an expression's answer in it.

use arrow::array::timezone::Tz;
use sqlparser::ast::{Expr, SelectItem};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;

use crate::binder::precedence::rebind_all;
use crate::functions::SessionFacts;
use crate::types::type_names::format_type;
use crate::{Binder, Evaluation, SqlError, SqlState};

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
    fn zone(&self) -> Tz {
        crate::input::datetime::utc()
    }

    fn zone_name(&self) -> String {
        "UTC".to_owned()
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

    fn setting(&self, _name: &str) -> Option<String> {
        None
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
fn parsed(sql: &str) -> Result<Option<Expr>, SqlError> {
    let syntax_error = |error: sqlparser::parser::ParserError| SqlError::new(SqlState::SyntaxError, error.to_string());
    let dialect = PostgreSqlDialect {};
    let mut parser = Parser::new(&dialect).with_recursion_limit(DEPTH_MAX).try_with_sql(sql).map_err(syntax_error)?;
    let query = parser.parse_query().map_err(syntax_error)?;
    Ok(query.body.as_select().and_then(|select| match &select.projection[..] {
        [SelectItem::UnnamedExpr(syntax) | SelectItem::ExprWithAlias { expr: syntax, .. }] => Some(syntax.clone()),
        _ => None,
    }))
}

fn answer_of(sql: &str, syntax: &Expr) -> Result<(String, Option<String>), SqlError> {
    let mut syntax = syntax.clone();
    rebind_all(&mut syntax);
    let bound = Binder::new(sql, &FixedSession).output_expression(&syntax)?;
    let evaluation = Evaluation::new(&FixedSession, &[]);
    let value = evaluation.value(&bound)?;
    Ok((format_type(bound.sql_type), evaluation.text(&value, bound.sql_type)?))
}

/// Binds and evaluates a text, panicking where that is not total.
pub fn fuzz_expression(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        // Its answer or error is anything; that there is one is what is tested.
        drop(answer(text));
    }
}
