//! Texts into syntax trees, as PostgreSQL reads them: sqlparser with a dialect of our own.
//!
//! What PostgreSQL reads and this does not, or otherwise, is listed in `docs/parser.md`.
//!
//! | module | contents |
//! |---|---|
//! | [`chains`] | long chains of operators as shallow trees |
//! | [`array_types`] | `text ARRAY` |
//! | [`column_changes`] | changes of generated and identity columns in ALTER TABLE |
//! | [`column_options`] | DEFAULT and UNIQUE of a column |
//! | [`column_definitions`] | definitions of columns behind AS |
//! | [`conflict_targets`] | targets of ON CONFLICT with expressions and conditions |
//! | [`dialect`] | the dialect, with a bound on the time of reading |
//! | [`empty_lists`] | SELECT without a list |
//! | [`fetch_counts`] | computed numbers of rows in FETCH |
//! | [`frame_exclusions`] | EXCLUDE in frames |
//! | [`joins`] | joins on the right side of joins, names of joins |
//! | [`named_columns`] | names of the columns of CREATE TABLE AS |
//! | [`operands`], [`operators`] | what sqlparser reads otherwise than PostgreSQL |
//! | [`row_locks`] | locking clauses |
//! | [`rows_from`] | ROWS FROM |
//! | [`samples`] | TABLESAMPLE |
//! | [`set_columns`] | the columns that ON DELETE SET NULL sets |
//! | [`spellings`] | short forms spelt out |
//! | [`table_likes`] | LIKE among the columns of CREATE TABLE |
//! | [`tokens`] | tokens as PostgreSQL cuts them |
//! | [`walk`] | walks over trees |
//! | [`whole_rows`] | `t.*` as an operand |
//! | [`words`] | words of PostgreSQL's grammar |

mod array_types;
mod chains;
mod column_changes;
mod column_definitions;
mod column_options;
mod conflict_targets;
mod dialect;
mod empty_lists;
mod fetch_counts;
mod frame_exclusions;
mod identity_options;
mod joins;
mod named_columns;
mod operands;
mod operators;
mod row_locks;
mod rows_from;
mod samples;
mod set_columns;
mod spellings;
mod table_likes;
mod tokens;
pub mod walk;
mod whole_rows;
mod words;

use sqlparser::ast::{Query, SetExpr, Values};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Tokenizer;

pub(crate) use chains::last_operand;
pub use chains::{CHAIN_OPERANDS_MIN, Chains, links_of, spelled_out};
pub use column_changes::column_change;
pub use column_definitions::is_unnamed;
pub use conflict_targets::conflict_target;
pub use dialect::SqlDialect;
pub use empty_lists::is_no_columns;
pub use fetch_counts::fetch_count;
pub use frame_exclusions::excluded;
pub use identity_options::cache_and_name;
pub use joins::join_name;
pub use named_columns::is_named_only;
pub use operands::{ROW, VARIADIC};
pub use operators::SYMMETRIC;
pub use row_locks::{LockStrength, LockWait, LockingClause, locking_clauses};
pub use rows_from::is_rows_from;
pub use samples::{SampleSyntax, sample_of};
pub use set_columns::set_columns;
pub use table_likes::{LikeOption, LikeOptions, like_of};
pub use tokens::postgresql_tokens;
pub use whole_rows::WHOLE_ROW;
pub use words::is_no_table_name;

/// What begins a name that stands for syntax which the tree has no place for: a character for private use, which no name has.
const MARK: char = '\u{f8ff}';

/// A parser of a text.
pub fn parser_of<'a>(dialect: &'a SqlDialect, text: &str) -> Result<Parser<'a>, ParserError> {
    let tokens = Tokenizer::new(dialect, text).tokenize_with_location()?;
    Ok(Parser::new(dialect).with_tokens_with_locations(postgresql_tokens(tokens)?))
}

/// The rows of a query that is nothing but these.
pub fn plain_values(query: &Query) -> Option<&Values> {
    let is_plain = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
        && query.locks.is_empty();
    match &*query.body {
        SetExpr::Values(values) if is_plain => Some(values),
        _ => None,
    }
}

/// The statements of a text as they are written again.
#[cfg(test)]
fn read_again(text: &str) -> Result<String, String> {
    let dialect = SqlDialect::for_text(text);
    let mut parser = parser_of(&dialect, text).map_err(|error| error.to_string())?;
    let statements = parser.parse_statements().map_err(|error| error.to_string())?;
    Ok(statements.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}
