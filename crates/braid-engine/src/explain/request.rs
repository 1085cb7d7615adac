//! What an EXPLAIN asks for: its options.

use sqlparser::ast::{self, Expr, UtilityOption, Value};

use crate::statement::Command;
use crate::{EngineError, SqlState, Statement};

/// What was asked for.
pub(crate) struct Request {
    pub analyze: bool,
    pub verbose: bool,
    /// Whether the optimizer's estimates are shown.
    pub costs: bool,
    /// Whether times are shown; `None` to show those of a query that runs.
    pub summary: Option<bool>,
    pub format: Format,
}

/// The form of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Lines.
    Text,
    /// A tree in one row.
    Tree(TreeFormat),
}

/// How a tree is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TreeFormat {
    /// One JSON value.
    Json,
    /// One XML document.
    Xml,
    /// One YAML document.
    Yaml,
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
            return Err(EngineError::unsupported("options of EXPLAIN stand in parentheses: EXPLAIN (FORMAT JSON)"));
        }
        if !is_explained(statement) {
            return Err(EngineError::unsupported("EXPLAIN supports only queries; other statements have no plan"));
        }
        let mut request =
            Self { analyze: *analyze, verbose: *verbose, costs: true, summary: None, format: Format::Text };
        options.iter().flatten().try_for_each(|option| request.take(option))?;
        Ok(request)
    }

    fn take(&mut self, option: &UtilityOption) -> Result<(), EngineError> {
        match option.name.value.to_lowercase().as_str() {
            "analyze" => self.analyze = is_on(option)?,
            "verbose" => self.verbose = is_on(option)?,
            "summary" => self.summary = Some(is_on(option)?),
            "costs" => self.costs = is_on(option)?,
            // How much is printed, of what is always or never measured here.
            "timing" | "buffers" => {
                is_on(option)?;
            }
            "format" => self.format = format_of(option)?,
            other => {
                let message = format!("EXPLAIN option {} is not supported", other.to_uppercase());
                return Err(EngineError::unsupported(message));
            }
        }
        Ok(())
    }
}

/// Whether a statement is a query, or names one. The parser takes arguments without parentheses, too.
fn is_explained(statement: &ast::Statement) -> bool {
    match statement {
        ast::Statement::Query(_) => true,
        ast::Statement::Execute { parameters, has_parentheses, .. } => parameters.is_empty() != *has_parentheses,
        _ => false,
    }
}

fn format_of(option: &UtilityOption) -> Result<Format, EngineError> {
    let Some(arg) = &option.arg else {
        return Err(EngineError::new(SqlState::SyntaxError, format!("{} requires a parameter", option.name)));
    };
    let word = arg.to_string();
    match word.trim_matches('\'').to_lowercase().as_str() {
        "text" => Ok(Format::Text),
        "json" => Ok(Format::Tree(TreeFormat::Json)),
        "xml" => Ok(Format::Tree(TreeFormat::Xml)),
        "yaml" => Ok(Format::Tree(TreeFormat::Yaml)),
        other => {
            let message = format!("unrecognized value for EXPLAIN option \"format\": \"{other}\"");
            Err(EngineError::new(SqlState::InvalidParameterValue, message))
        }
    }
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
