//! DEFAULT: the value of a column that a statement does not give.
//!
//! A default is stored as SQL text. Each statement binds it as an expression without columns, and evaluates it for each
//! batch. `now()` is therefore the statement's time, and `random()` differs from row to row.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::Schema;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use braid_storage::ColumnDef;
use datafusion::physical_plan::PhysicalExpr;
use datafusion::sql::sqlparser::ast::Expr as SqlExpr;
use datafusion::sql::sqlparser::parser::Parser;

use crate::EngineError;
use crate::front_end::{Assigned, AssignedExpression};
use crate::query::planner::Planner;
use crate::query::rewrite::{Parameters, rewrite};
use crate::statement::SqlDialect;
use crate::statement_context::StatementContext;

/// A column's default.
pub(crate) enum Default {
    /// Bound by Braid's own front end.
    Bound(AssignedExpression),
    /// Planned by DataFusion.
    Planned(Arc<dyn PhysicalExpr>),
}

impl Default {
    /// Plans the default of `column`; `None` if it has none.
    pub fn plan(
        context: &StatementContext,
        planner: &Planner,
        column: &ColumnDef,
    ) -> Result<Option<Self>, EngineError> {
        let Some(mut syntax) = default_syntax(column)? else { return Ok(None) };
        let text = column.default.as_deref().unwrap_or_default();
        if let Some(bound) =
            AssignedExpression::bind(context, &context.value_budget(), text, &syntax, column, Assigned::Default)?
            && !matches!(bound.values(1), Ok(None))
        {
            return Ok(Some(Self::Bound(bound)));
        }
        rewrite(&mut syntax, Parameters::Values(&[]), context)?;
        planner.constant(&syntax).map(|expr| Some(Self::Planned(expr)))
    }

    /// Its value for each of `row_count` rows.
    pub fn values(&self, row_count: usize) -> Result<ArrayRef, EngineError> {
        match self {
            Self::Bound(bound) => bound
                .values(row_count)?
                .ok_or_else(|| EngineError::unsupported("the value of a column's default is not supported")),
            Self::Planned(expr) => {
                let options = RecordBatchOptions::new().with_row_count(Some(row_count));
                let rows = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
                Ok(expr.evaluate(&rows)?.into_array(row_count)?)
            }
        }
    }
}

/// The syntax of a column's default; `None` if it has none.
pub(crate) fn default_syntax(column: &ColumnDef) -> Result<Option<SqlExpr>, EngineError> {
    let Some(text) = &column.default else { return Ok(None) };
    let parsed = Parser::new(&SqlDialect::for_text(text)).try_with_sql(text).and_then(|mut parser| parser.parse_expr());
    parsed.map(Some).map_err(|error| {
        EngineError::internal(format!("the default of column \"{}\" does not parse: {error}", column.name))
    })
}

/// Returns an error for the first invalid default.
pub(crate) fn check_defaults(context: &StatementContext, columns: &[ColumnDef]) -> Result<(), EngineError> {
    if columns.iter().all(|column| column.default.is_none()) {
        return Ok(());
    }
    let planner = Planner::of(context);
    for column in columns {
        Default::plan(context, &planner, column)?;
    }
    Ok(())
}
