//! Tables that are made of rows: `SELECT … INTO`, and CREATE TABLE AS EXECUTE, as written.

use sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use sqlparser::ast::{self, CreateTable, Query, SelectInto, SetExpr};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};

use super::prepare_statement::parse_execute;

/// `CREATE TABLE name [(column, …)] AS EXECUTE prepared [(argument, …)] [WITH [NO] DATA]`
#[derive(Debug)]
pub(crate) struct CreateTableOfExecution {
    /// The table, without a query.
    pub create: CreateTable,
    /// EXECUTE.
    pub execution: ast::Statement,
    /// Whether its rows are stored.
    pub with_data: bool,
}

impl CreateTableOfExecution {
    /// Reads it.
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Self, ParserError> {
        parser.expect_keyword_is(Keyword::CREATE)?;
        let is_temporary = parser.parse_one_of_keywords(&[Keyword::TEMPORARY, Keyword::TEMP]).is_some();
        parser.expect_keyword_is(Keyword::TABLE)?;
        let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
        let name = parser.parse_object_name(false)?;
        let (columns, _) = parser.parse_columns()?;
        parser.expect_keywords(&[Keyword::AS, Keyword::EXECUTE])?;
        let execution = parse_execute(parser)?;
        let with_data = !parser.parse_keywords(&[Keyword::WITH, Keyword::NO, Keyword::DATA]);
        let _ = with_data && parser.parse_keywords(&[Keyword::WITH, Keyword::DATA]);
        let create = CreateTableBuilder::new(name).temporary(is_temporary).if_not_exists(if_not_exists);
        let create = create.columns(columns).build();
        Ok(Self { create, execution, with_data })
    }
}

/// A query as it is, or CREATE TABLE AS for one whose first SELECT has INTO.
pub(super) fn select_into(mut query: Box<Query>) -> ast::Statement {
    match take_into(&mut query.body) {
        Some(SelectInto { temporary, name, .. }) => {
            let create = CreateTableBuilder::new(name).temporary(temporary).query(Some(query));
            ast::Statement::CreateTable(create.build())
        }
        None => ast::Statement::Query(query),
    }
}

fn take_into(body: &mut SetExpr) -> Option<SelectInto> {
    match body {
        SetExpr::Select(select) => select.into.take(),
        SetExpr::Query(query) => take_into(&mut query.body),
        SetExpr::SetOperation { left, .. } => take_into(left),
        _ => None,
    }
}
