//! Names of columns in an expression over the rows of a table, which stand there without the table's: the expression means the same after the
//! table is renamed.

use braid_sql::syntax::walk::{Rewrite, Tree};
use sqlparser::ast::{Expr, Ident};
use sqlparser::keywords::ALL_KEYWORDS;

use crate::names::fold;

/// An expression over the rows of a table in which a column has another name.
pub(crate) fn renamed(mut syntax: Expr, from: &str, to: &str) -> Expr {
    syntax.rewrite(&mut Renamed { from, to });
    syntax
}

/// Takes the name of the table away from an expression over its rows.
pub(crate) fn without_table(syntax: &mut Expr, schema: &str, table: &str) {
    syntax.rewrite(&mut WithoutTable { schema, table });
}

/// Takes the name of the table away.
struct WithoutTable<'a> {
    schema: &'a str,
    table: &'a str,
}

impl Rewrite for WithoutTable<'_> {
    fn enter_expression(&mut self, expression: &mut Expr) {
        let Expr::CompoundIdentifier(parts) = expression else { return };
        let column = match &parts[..] {
            [table, column] if fold(table) == self.table => column,
            [schema, table, column] if fold(schema) == self.schema && fold(table) == self.table => column,
            _ => return,
        };
        *expression = Expr::Identifier(column.clone());
    }
}

/// Gives a column another name.
struct Renamed<'a> {
    from: &'a str,
    to: &'a str,
}

impl Rewrite for Renamed<'_> {
    fn enter_expression(&mut self, expression: &mut Expr) {
        if let Expr::Identifier(name) = expression
            && fold(name) == self.from
        {
            *name = written_name(self.to);
        }
    }
}

/// A name as it is written: quoted if it might be read as something else.
fn written_name(name: &str) -> Ident {
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let is_keyword = ALL_KEYWORDS.binary_search(&name.to_ascii_uppercase().as_str()).is_ok();
    if is_plain && !is_keyword { Ident::new(name) } else { Ident::with_quote('"', name) }
}
