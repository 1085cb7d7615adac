//! What an EXPLAIN asks for: its options.

use sqlparser::ast::{self, Expr, UtilityOption, Value};

use crate::statement::Command;
use crate::{EngineError, SqlState, Statement};

/// What was asked for.
pub(super) struct Request {
    pub analyze: bool,
    pub verbose: bool,
}

impl Request {
    /// What a statement asks for.
    ///
    /// # Errors
    /// When it asks for what is not supported, or explains another statement than a query.
    pub fn of(statement: &Statement) -> Result<Self, EngineError> {
        let Command::Sql(ast::Statement::Explain {
            analyze,
            verbose,
            query_plan,
            estimate,
            statement,
            format,
            options,
            ..
        }) = statement.command()
        else {
            return Err(EngineError::unsupported("DESCRIBE is not supported; query information_schema.columns"));
        };
        if *query_plan || *estimate || format.is_some() {
            return Err(EngineError::unsupported("EXPLAIN returns only text; other formats are not supported"));
        }
        let ast::Statement::Query(_) = &**statement else {
            return Err(EngineError::unsupported("EXPLAIN supports only queries; other statements have no plan"));
        };
        let mut request = Self { analyze: *analyze, verbose: *verbose };
        for option in options.iter().flatten() {
            take_option(&mut request, option)?;
        }
        Ok(request)
    }
}

fn take_option(request: &mut Request, option: &UtilityOption) -> Result<(), EngineError> {
    match option.name.value.to_lowercase().as_str() {
        "analyze" => request.analyze = is_on(option)?,
        "verbose" => request.verbose = is_on(option)?,
        // How much is printed, of what is always or never measured here.
        "costs" | "timing" | "summary" | "buffers" => {
            is_on(option)?;
        }
        "format" if option.arg.as_ref().is_some_and(|arg| arg.to_string().eq_ignore_ascii_case("text")) => {}
        other => {
            return Err(EngineError::unsupported(format!("EXPLAIN option {} is not supported", other.to_uppercase())));
        }
    }
    Ok(())
}

fn is_on(option: &UtilityOption) -> Result<bool, EngineError> {
    let word = match &option.arg {
        None => return Ok(true),
        Some(Expr::Value(value)) => match &value.value {
            Value::Boolean(on) => return Ok(*on),
            other => other.to_string(),
        },
        Some(other) => other.to_string(),
    };
    match word.trim_matches('\'').to_lowercase().as_str() {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err(EngineError::new(SqlState::SyntaxError, format!("{} requires a Boolean value", option.name))),
    }
}
