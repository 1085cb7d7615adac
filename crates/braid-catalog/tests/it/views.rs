//! Every view binds against the relations, with the columns and types that PostgreSQL gives it.

use std::sync::Arc;

use braid_catalog::{RelationColumn, RelationKind, SystemRelation, relation, relations};
use braid_sql::SqlError;
use braid_sql::binder::Statement;
use braid_sql::binder::precedence::rebind_all;
use braid_sql::syntax::{SqlDialect, parser_of};
use braid_sql::tables::{TableColumn, TableEntry, Tables};
use braid_sql::testing::FixedSession;
use sqlparser::ast::Query;
use sqlparser::parser::ParserError;
use sqlparser::tokenizer::Token;

/// The system relations as tables, views by their columns.
#[derive(Debug)]
pub struct SystemTables;

impl Tables for SystemTables {
    fn table(&self, schema: Option<&str>, name: &str) -> Result<Option<Arc<TableEntry>>, SqlError> {
        Ok(relation(schema.unwrap_or("pg_catalog"), name).map(|relation| Arc::new(entry_of(relation))))
    }
}

fn entry_of(relation: &SystemRelation) -> TableEntry {
    let column = |column: &RelationColumn| TableColumn::new(column.name, column.sql_type);
    TableEntry {
        id: u64::from(relation.id),
        schema: relation.schema.to_owned(),
        name: relation.name.to_owned(),
        columns: relation.columns.iter().map(column).collect(),
        primary_key: Vec::new(),
    }
}

/// The syntax of a view's text.
pub fn parsed(text: &str) -> Result<Query, ParserError> {
    let dialect = SqlDialect::for_text(text);
    let mut parser = parser_of(&dialect, text)?;
    let mut syntax = parser.parse_query()?;
    parser.expect_token(&Token::EOF)?;
    rebind_all(&mut syntax);
    Ok(*syntax)
}

/// Why a view differs from PostgreSQL's; `None` if it does not.
fn difference(relation: &SystemRelation, text: &str) -> Option<String> {
    let syntax = match parsed(text) {
        Ok(syntax) => syntax,
        Err(error) => return Some(format!("is not parsed: {error}")),
    };
    let statement = Statement::new(text, &FixedSession, &SystemTables);
    let query = match statement.binder().whole_query(&syntax) {
        Ok(query) => query,
        Err(error) => return Some(error.message().to_owned()),
    };
    let outputs = query.outputs.iter().map(|output| (output.name.clone(), output.sql_type)).collect::<Vec<_>>();
    let columns = relation.columns.iter().map(|column| (column.name.to_owned(), column.sql_type)).collect::<Vec<_>>();
    (outputs != columns).then(|| format!("has columns {outputs:?} instead of {columns:?}"))
}

#[test]
fn every_view_binds() {
    let mut differences = Vec::new();
    for relation in relations() {
        if let RelationKind::View { text } = &relation.kind {
            let difference = difference(relation, text);
            differences.extend(difference.map(|why| format!("{}.{}: {why}", relation.schema, relation.name)));
        }
    }
    assert!(differences.is_empty(), "{} views:\n{}", differences.len(), differences.join("\n"));
}
