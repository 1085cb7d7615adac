//! A query's answer over tables whose rows are given.

use std::sync::Arc;

use sqlparser::parser::ParserError;

use super::naive::{TableRows, rows_of};
use super::{DEPTH_MAX, FixedSession};
use crate::binder::Statement;
use crate::binder::precedence::rebind_all;
use crate::syntax::{SqlDialect, parser_of};
use crate::tables::{TableEntry, Tables};
use crate::types::type_names::format_type;
use crate::{Evaluation, SqlError, SqlState, Value};

/// Tables with their rows. A table's number is its place.
#[derive(Debug, Default)]
pub struct GivenTables(pub Vec<(Arc<TableEntry>, Vec<Vec<Value>>)>);

impl Tables for GivenTables {
    fn table(&self, schema: Option<&str>, name: &str) -> Result<Option<Arc<TableEntry>>, SqlError> {
        let is_meant =
            |entry: &Arc<TableEntry>| entry.name == name && schema.is_none_or(|schema| entry.schema == schema);
        Ok(self.0.iter().map(|(entry, _)| entry).find(|entry| is_meant(entry)).cloned())
    }
}

impl TableRows for GivenTables {
    fn rows(&self, table: u64) -> Vec<Vec<Value>> {
        let at = usize::try_from(table).expect("numbers are places");
        self.0[at].1.clone()
    }
}

/// What a client sees of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Names and types.
    pub columns: Vec<(String, String)>,
    /// Texts; none for null.
    pub rows: Vec<Vec<Option<String>>>,
}

/// The answer of a query. An error without a place whose SQLSTATE is 42601 is the parser's.
pub fn answer_of_query(sql: &str, tables: &GivenTables) -> Result<Answer, SqlError> {
    let syntax_error = |error: ParserError| SqlError::new(SqlState::SyntaxError, error.to_string());
    let dialect = SqlDialect::for_text(sql);
    let mut parser = parser_of(&dialect, sql).map_err(syntax_error)?.with_recursion_limit(DEPTH_MAX);
    let mut syntax = parser.parse_query().map_err(syntax_error)?;
    parser.expect_token(&sqlparser::tokenizer::Token::EOF).map_err(syntax_error)?;
    rebind_all(&mut syntax);
    let statement = Statement::new(sql, &FixedSession, tables);
    let query = statement.binder().whole_query(&syntax)?;
    let evaluation = Evaluation::new(&FixedSession, &[]);
    let columns = statement.into_columns();
    let mut rows = Vec::new();
    for row in rows_of(&query, &columns, (&FixedSession, &[]), tables)? {
        let texts = row.iter().zip(&query.outputs).map(|(value, output)| evaluation.text(value, output.sql_type));
        rows.push(texts.collect::<Result<_, _>>()?);
    }
    let columns = query.outputs.into_iter().map(|output| (output.name, format_type(output.sql_type)));
    Ok(Answer { columns: columns.collect(), rows })
}
