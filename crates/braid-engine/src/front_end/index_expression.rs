//! Members and conditions of indexes: SQL over the rows of a table, bound when an index is created and when its keys are computed.
//!
//! They are immutable, so that the session which computes a key is no matter: a constant in them must be the same in all sessions, at all
//! times ([`IndexExpression::check_constants`]).

use std::sync::Arc;

use arrow::array::ArrayRef;
use braid_exec::MemoryBudget;
use braid_plan::values::RowValues;
use braid_sql::binder::RowExpression;
use braid_sql::binder::Statement as BoundStatement;
use braid_sql::binder::precedence::rebind_all;
use braid_sql::functions::SessionFacts;
use braid_sql::functions::in_formats::InFormats;
use braid_sql::tables::{NoTables, TableEntry};
use braid_sql::{Evaluation, Expression, SqlError, SqlState, SqlType, Value};
use braid_storage::TableDef;
use sqlparser::ast::Expr;
use sqlparser::parser::Parser;

use super::other_session::OtherSession;
use super::row_condition::StoredRow;
use super::session_facts::StatementFacts;
use super::snapshot_tables::entry_of;
use crate::EngineError;
use crate::deep_stack::on_deep_stack;
use crate::statement::SqlDialect;
use crate::statement_context::StatementContext;
use crate::statement_limits::StatementSize;

/// What an expression of an index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexRole {
    /// A member.
    Member,
    /// The condition.
    Condition,
}

/// An expression of an index over the rows of its table.
pub(crate) struct IndexExpression {
    context: StatementContext,
    def: Arc<TableDef>,
    role: IndexRole,
    bound: RowExpression,
    /// What PostgreSQL calls it.
    name: String,
    /// Expressions of its text, which bound the depth of evaluation.
    size: usize,
}

impl IndexExpression {
    /// Binds a text.
    ///
    /// # Errors
    /// Those of the expression; 42P17 if it is not immutable; 54001 if it is too large.
    pub fn bind(
        context: &StatementContext,
        def: &Arc<TableDef>,
        role: IndexRole,
        text: &str,
    ) -> Result<Self, EngineError> {
        let syntax = index_syntax(text)?;
        let size = StatementSize::of(&syntax);
        size.check_for_planning()?;
        let facts = StatementFacts::of(context);
        let (bound, name) = bound((context, &InFormats::of_stored_texts(&facts)), (def, role), (text, &syntax))?;
        let (context, def) = (context.clone(), def.clone());
        Ok(Self { context, def, role, bound, name, size: size.expressions })
    }

    /// Checks that no constant in it depends on the session, its formats, or the time.
    ///
    /// # Errors
    /// 0A000
    pub fn check_constants(&self, text: &str) -> Result<(), EngineError> {
        let facts = StatementFacts::of(&self.context);
        let other = OtherSession::than(&facts);
        let elsewhere = bound((&self.context, &other), (&self.def, self.role), (text, &index_syntax(text)?));
        match elsewhere.is_ok_and(|(elsewhere, _)| elsewhere.expression == self.bound.expression) {
            true => Ok(()),
            false => Err(EngineError::unsupported(
                "a constant that depends on the session or the time is not supported in an index",
            )),
        }
    }

    /// The type of its values.
    pub fn sql_type(&self) -> SqlType {
        self.bound.expression.sql_type
    }

    /// What PostgreSQL calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The places of the columns that it reads, ascending.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = usize> {
        self.bound.columns.iter().map(|(at, _)| *at)
    }

    /// Its values in rows with these columns of the table: in those that are `kept`, null in others. A row in which it fails is not kept any
    /// more, unless it is needed. Values are counted under the budget while they are computed.
    ///
    /// # Errors
    /// Those of the evaluation in needed rows; out of memory (53200).
    pub fn values(
        &self,
        columns: &[ArrayRef],
        (kept, is_needed): (&mut [bool], &dyn Fn(usize) -> bool),
        budget: &Arc<dyn MemoryBudget>,
    ) -> Result<Vec<Value>, EngineError> {
        let facts = StatementFacts::of(&self.context);
        let (memory, held) = (RowValues::new(budget), RowValues::new(budget));
        let evaluation = Evaluation::new(&facts, &[]).with_memory(&memory);
        let values = on_deep_stack(self.size, || {
            let mut values = vec![Value::Null; kept.len()];
            for row in (0..values.len()).filter(|row| kept[*row]).collect::<Vec<_>>() {
                let stored = StoredRow { bound: &self.bound, def: &self.def, columns, row };
                match evaluation.in_row(&stored).value(&self.bound.expression) {
                    Ok(value) => {
                        held.add(&value)?;
                        values[row] = value;
                    }
                    Err(error) if is_needed(row) || error.state() == SqlState::OutOfMemory => return Err(error),
                    Err(_) => kept[row] = false,
                }
                memory.clear();
            }
            Ok::<_, SqlError>(values)
        });
        Ok(values?)
    }
}

/// Expressions over the rows of a table, of which `text` was parsed, so that they can be compared with each other. They know the table by a
/// schema and a name.
///
/// # Errors
/// Those of the expressions; 54001 if they are too large.
pub(crate) fn comparable_expressions(
    context: &StatementContext,
    (def, schema, name): (&TableDef, &str, &str),
    text: &str,
    syntax: &[Expr],
) -> Result<Vec<Expression>, EngineError> {
    let sizes: Vec<StatementSize> = syntax.iter().map(|syntax| StatementSize::of(syntax)).collect();
    sizes.iter().try_for_each(|size| size.check_for_planning())?;
    let entry = TableEntry { name: name.to_owned(), ..entry_of(schema, def) };
    let bound = on_deep_stack(sizes.iter().map(|size| size.expressions).sum(), || {
        let mut syntax = syntax.to_vec();
        syntax.iter_mut().for_each(|syntax| rebind_all(syntax));
        BoundStatement::new(text, &StatementFacts::of(context), &NoTables).binder().index_expressions(&syntax, &entry)
    });
    Ok(bound?)
}

fn bound(
    (context, facts): (&StatementContext, &dyn SessionFacts),
    (def, role): (&TableDef, IndexRole),
    (text, syntax): (&str, &Expr),
) -> Result<(RowExpression, String), EngineError> {
    let entry = entry_of(&context.schema_name(def.schema), def);
    let bound = on_deep_stack(StatementSize::of(syntax).expressions, || {
        let mut syntax = syntax.clone();
        rebind_all(&mut syntax);
        let statement = BoundStatement::new(text, facts, &NoTables);
        match role {
            IndexRole::Member => statement.binder().index_expression(&syntax, &entry),
            IndexRole::Condition => Ok((statement.binder().index_condition(&syntax, &entry)?, String::new())),
        }
    });
    Ok(bound?)
}

/// The syntax of an expression of an index.
///
/// # Errors
/// When it does not parse.
pub(crate) fn index_syntax(text: &str) -> Result<Expr, EngineError> {
    let parsed = Parser::new(&SqlDialect::for_text(text)).try_with_sql(text).and_then(|mut parser| parser.parse_expr());
    parsed.map_err(|error| EngineError::internal(format!("the expression {text} of an index does not parse: {error}")))
}
