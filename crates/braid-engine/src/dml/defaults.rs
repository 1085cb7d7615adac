//! DEFAULT: the value of a column that a statement does not give.
//!
//! A default is stored as SQL text. Each statement binds it as an expression without columns, and evaluates it for each
//! batch. `now()` is therefore the statement's time, and `random()` differs from row to row.

use std::collections::BTreeMap;

use braid_base::ColumnId;
use braid_sql::syntax::walk::{Rewrite, Tree};
use braid_storage::{Catalog, ColumnDef, TableDef};
use sqlparser::ast::Expr;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Span;

use crate::EngineError;
use crate::bound_parameters::BoundParameters;
use crate::front_end::{Assigned, AssignedExpression};
use crate::statement::SqlDialect;
use crate::statement_context::StatementContext;

/// The default of a column, bound; `None` if it has none.
pub(crate) fn bound_default(
    context: &StatementContext,
    column: &ColumnDef,
) -> Result<Option<AssignedExpression>, EngineError> {
    let Some(text) = default_text(&context.snapshot(), column) else { return Ok(None) };
    let syntax = parsed(&text, column)?;
    let (budget, none) = (context.value_budget(), BoundParameters::none());
    let bound = AssignedExpression::bind(context, &budget, &text, &syntax, &none, column, Assigned::Default);
    // The text is not the client's.
    bound.map(Some).map_err(EngineError::without_position)
}

/// The syntax of a column's default; `None` if it has none.
pub(crate) fn default_syntax(context: &StatementContext, column: &ColumnDef) -> Result<Option<Expr>, EngineError> {
    default_text(&context.snapshot(), column).map(|text| parsed(&text, column)).transpose()
}

/// The syntax of the default that a column has of its own.
pub(crate) fn own_default_syntax(column: &ColumnDef) -> Result<Option<Expr>, EngineError> {
    column.default.as_ref().map(|text| parsed(text, column)).transpose()
}

/// The defaults that the columns of a table have of their domains.
#[derive(Clone, Debug, Default)]
pub(crate) struct DomainDefaults {
    texts: BTreeMap<ColumnId, String>,
    /// The statement, if its literals may be read otherwise than those of defaults.
    reader: Option<StatementContext>,
}

impl DomainDefaults {
    /// Those of a table, in a state of the database, for a statement.
    pub fn of(context: &StatementContext, catalog: &Catalog, def: &TableDef) -> Self {
        let of_domains = def.columns.iter().filter(|column| column.default.is_none() && column.domain.is_some());
        let texts = of_domains.filter_map(|column| Some((column.id, default_text(catalog, column)?))).collect();
        let reader = context.settings().formats().read_otherwise().then(|| context.clone());
        Self { texts, reader }
    }

    /// The syntax of a column's default, to stand within a statement; `None` if it has none. Its literals have no places, which would be
    /// those of another text.
    ///
    /// # Errors
    /// 0A000 for a literal that the statement reads otherwise.
    pub fn syntax(&self, column: &ColumnDef) -> Result<Option<Expr>, EngineError> {
        let text = column.default.as_ref().or_else(|| self.texts.get(&column.id));
        let mut syntax = text.map(|text| parsed(text, column)).transpose()?;
        if let (Some(text), Some(syntax), Some(reader)) = (text, &syntax, &self.reader) {
            AssignedExpression::check_reads_alike(reader, (text, syntax), column)
                .map_err(EngineError::without_position)?;
        }
        if let Some(syntax) = &mut syntax {
            syntax.rewrite(&mut WithoutPlaces);
        }
        Ok(syntax)
    }
}

/// Takes the places of literals away.
struct WithoutPlaces;

impl Rewrite for WithoutPlaces {
    fn leave_expression(&mut self, expression: &mut Expr) {
        match expression {
            Expr::Value(value) => value.span = Span::empty(),
            Expr::TypedString(typed) => typed.value.span = Span::empty(),
            _ => {}
        }
    }
}

/// The text of a column's default: its own, or that of its domain.
fn default_text(catalog: &Catalog, column: &ColumnDef) -> Option<String> {
    let of_domain = || {
        let domain = column.domain.filter(|_| column.generated.is_none())?;
        catalog.domain(domain.oid)?.definition.default.clone()
    };
    column.default.clone().or_else(of_domain)
}

fn parsed(text: &str, column: &ColumnDef) -> Result<Expr, EngineError> {
    let parsed = Parser::new(&SqlDialect::for_text(text)).try_with_sql(text).and_then(|mut parser| parser.parse_expr());
    parsed.map_err(|error| {
        EngineError::internal(format!("the default of column \"{}\" does not parse: {error}", column.name))
    })
}

/// Returns an error for the first invalid default of columns that are to be created.
pub(crate) fn check_defaults(context: &StatementContext, columns: &[ColumnDef]) -> Result<(), EngineError> {
    columns.iter().try_for_each(|column| {
        if let (Some(text), Some(syntax)) = (&column.default, own_default_syntax(column)?) {
            AssignedExpression::check_reads_alike(context, (text, &syntax), column)
                .map_err(EngineError::without_position)?;
        }
        bound_default(context, column).map(|_| ())
    })
}
