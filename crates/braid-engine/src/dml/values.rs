//! `VALUES (…), (…)` of literals, parameters and other short expressions, read column by column without a plan.
//!
//! Drivers insert this way. As in PostgreSQL, each literal is read by the input function of its column, so that
//! `('1'), (2)` fits an integer column and `'2024-01-01'` fits a date. Rows with subqueries are planned as a query.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::record_batch::RecordBatch;
use braid_catalog::column_types::sql_type_of;
use braid_exec::MemoryBudget;
use braid_sql::pg_catalog::TypeId;
use braid_sql::types::type_names::format_type;
use braid_sql::{SqlType, Value as SqlValue};
use braid_storage::{ColumnDef, ColumnType, TableDef};
use sqlparser::ast::{Expr, UnaryOperator, Value, ValueWithSpan, Values};

use super::assignment::Assignment;
use super::defaults::DomainDefaults;
use crate::bound_parameters::BoundParameters;
use crate::front_end::{Assigned, AssignedExpression};
use crate::input::ColumnInput;
use crate::input::numbers::parse_numeric;
use crate::sent_columns::arrow_columns::array_of;
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// The rows of an INSERT.
pub(crate) struct ValueRows<'a> {
    /// The rows as written.
    pub values: &'a Values,
    /// The table's columns of the rows.
    pub columns: &'a [usize],
    /// The values of `$n`.
    pub params: &'a BoundParameters,
    /// The text that places in the rows count in.
    pub text: &'a str,
}

/// A value without a plan.
enum Cell<'a> {
    Null,
    Text(&'a str),
    Number(String),
    Boolean(bool),
    /// An expression that is to be computed.
    Bound(Box<AssignedExpression>),
    /// A value of the column's type.
    Computed(ArrayRef),
}

/// The rows of an INSERT, bound: literals are read, and expressions are still to be computed.
pub(crate) struct BoundRows {
    /// For each of the rows' columns its place in the table, and its values.
    columns: Vec<(usize, Vec<Piece>)>,
    row_count: usize,
}

/// Values of a column.
enum Piece {
    /// Those of some rows, as the column has them.
    Ready(ArrayRef),
    /// That of a row, which is to be computed.
    Bound { row: usize, expression: Box<AssignedExpression> },
}

impl BoundRows {
    /// Whether computing them changes the session.
    pub fn is_volatile(&self) -> bool {
        let is_volatile = |piece: &Piece| match piece {
            Piece::Bound { expression, .. } => expression.is_volatile(),
            _ => false,
        };
        self.columns.iter().flat_map(|(_, pieces)| pieces).any(is_volatile)
    }

    /// The rows as a batch of the table. What is the same in all sessions comes first, as PostgreSQL's planner computes it, then the rest in the
    /// order of the rows.
    ///
    /// # Errors
    /// Those of expressions, and for rows that cannot be stored.
    pub fn computed(mut self, assignment: &Assignment) -> Result<RecordBatch, EngineError> {
        let mut pending: Vec<(bool, usize, usize, &mut Piece)> = Vec::new();
        for (column, (_, pieces)) in self.columns.iter_mut().enumerate() {
            for piece in pieces {
                if let Piece::Bound { row, expression } = piece {
                    pending.push((!expression.is_immutable(), *row, column, piece));
                }
            }
        }
        pending.sort_by_key(|(may_change, row, column, _)| (*may_change, *row, *column));
        for (.., piece) in pending {
            if let Piece::Bound { expression, .. } = piece {
                *piece = Piece::Ready(expression.values(1)?);
            }
        }
        let mut arrays: Vec<Option<ArrayRef>> = vec![None; assignment.def().columns.len()];
        for (at, pieces) in &self.columns {
            let ready = pieces.iter().filter_map(|piece| match piece {
                Piece::Ready(values) => Some(values),
                Piece::Bound { .. } => None,
            });
            arrays[*at] = Some(assignment.convert_pieces(*at, ready)?);
        }
        assignment.assemble(arrays, self.row_count)
    }
}

impl ValueRows<'_> {
    /// The rows, bound; `None` if they need a plan because of a subquery, an expression that may take long, the word DEFAULT, a row with
    /// too few values, or something that is none of its column.
    ///
    /// # Errors
    /// For a parameter that is none of its column.
    pub fn bound(&self, context: &StatementContext, assignment: &Assignment) -> Result<Option<BoundRows>, EngineError> {
        let Some(bound) = self.cells(context, assignment.def())? else { return Ok(None) };
        let mut cells: Vec<Vec<Cell<'_>>> = self.columns.iter().map(|_| Vec::new()).collect();
        for (at, cell) in bound.into_iter().enumerate() {
            cells[at % self.columns.len()].push(cell);
        }
        let column = |(at, cells): (&usize, Vec<Cell<'_>>)| Ok((*at, column_pieces(assignment, *at, cells)?));
        let columns = self.columns.iter().zip(cells).map(column).collect::<Result<Vec<_>, EngineError>>();
        // Binding all as a query says what is wrong, and where it is.
        Ok(columns.ok().map(|columns| BoundRows { columns, row_count: self.values.rows.len() }))
    }

    /// The values of all rows, row by row, not computed yet: what is computed here must not be computed again by a plan, as `nextval`
    /// would be. `None` as of [`Self::bound`].
    fn cells(&self, context: &StatementContext, def: &TableDef) -> Result<Option<Vec<Cell<'_>>>, EngineError> {
        let budget = context.value_budget();
        let mut cells = Vec::new();
        for row in &self.values.rows {
            if row.content.len() != self.columns.len() {
                return Ok(None);
            }
            for (expr, at) in row.content.iter().zip(self.columns) {
                let literal = if is_read_by_input(def.columns[*at].column_type) { Self::cell(expr) } else { None };
                let cell = match literal {
                    Some(cell) => Some(cell),
                    None => self.bound_cell((context, &budget), expr, &def.columns[*at])?,
                };
                match cell {
                    Some(cell) => cells.push(cell),
                    None => return Ok(None),
                }
            }
        }
        Ok(Some(cells))
    }

    /// An expression, whose value is counted under a budget; `None` if it needs a plan, or cannot be bound.
    fn bound_cell(
        &self,
        (context, budget): (&StatementContext, &Arc<dyn MemoryBudget>),
        expr: &Expr,
        column: &ColumnDef,
    ) -> Result<Option<Cell<'_>>, EngineError> {
        if is_default(expr) {
            return Ok(None);
        }
        if let Some(value) = self.parameter_as_it_is(expr, column) {
            return Ok(Some(Cell::Computed(array_of(value, &column.column_type.arrow())?)));
        }
        match AssignedExpression::bind(context, budget, self.text, expr, self.params, column, Assigned::Value) {
            Ok(bound) if bound.may_take_long() => Ok(None),
            Ok(bound) => Ok(Some(Cell::Bound(Box::new(bound)))),
            Err(_) => Ok(None),
        }
    }

    /// The value of a parameter that has the very type of its column, one of a fixed width: nothing has to be cast or counted.
    fn parameter_as_it_is(&self, expr: &Expr, column: &ColumnDef) -> Option<&SqlValue> {
        use ColumnType::{BigInt, Boolean, Double, Integer, Real, SmallInt};
        if !matches!(column.column_type, Boolean | SmallInt | Integer | BigInt | Real | Double) {
            return None;
        }
        let Expr::Value(ValueWithSpan { value: Value::Placeholder(written), .. }) = expr else { return None };
        let at = written.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1)?;
        let is_as_it_is = *self.params.types().get(at)? == sql_type_of(column.column_type);
        if is_as_it_is { self.params.values().get(at) } else { None }
    }

    fn cell<'a>(expr: &'a Expr) -> Option<Cell<'a>> {
        match expr {
            Expr::Nested(expr) => Self::cell(expr),
            Expr::Value(value) => match &value.value {
                Value::Null => Some(Cell::Null),
                Value::SingleQuotedString(text) => Some(Cell::Text(text)),
                Value::Number(number, _) => Some(Cell::Number(number.clone())),
                Value::Boolean(value) => Some(Cell::Boolean(*value)),
                _ => None,
            },
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match Self::cell(expr) {
                Some(Cell::Number(number)) => Some(Cell::Number(format!("-{number}"))),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Whether the input function of a column reads literals as their assignment does.
fn is_read_by_input(column_type: ColumnType) -> bool {
    match column_type {
        ColumnType::Encoded { .. } => sql_type_of(column_type).id == TypeId::NUMERIC,
        ColumnType::Name => false,
        _ => true,
    }
}

/// The values of one column. Literals are converted, so that one that does not fit is found before anything is computed.
fn column_pieces(assignment: &Assignment, at: usize, cells: Vec<Cell<'_>>) -> Result<Vec<Piece>, EngineError> {
    let column = &assignment.def().columns[at];
    let mut pieces: Vec<Piece> = Vec::new();
    let mut literals = ColumnInput::new(column.column_type, assignment.session());
    let mut literal_count = 0;
    for (row, cell) in cells.into_iter().enumerate() {
        let piece = match cell {
            Cell::Computed(value) => Piece::Ready(value),
            Cell::Bound(expression) => Piece::Bound { row, expression },
            literal => {
                append_literal(&mut literals, column, &literal)?;
                literal_count += 1;
                continue;
            }
        };
        if literal_count > 0 {
            pieces.push(Piece::Ready(assignment.convert_column(at, &literals.finish())?));
            literal_count = 0;
        }
        pieces.push(piece);
    }
    if literal_count > 0 || pieces.is_empty() {
        pieces.push(Piece::Ready(assignment.convert_column(at, &literals.finish())?));
    }
    Ok(pieces)
}

fn append_literal(literals: &mut ColumnInput, column: &ColumnDef, cell: &Cell<'_>) -> Result<(), EngineError> {
    let mismatch = |what: &str| {
        let of_column = format_type(SqlType::of(sql_type_of(column.column_type).id));
        let message = format!("column \"{}\" is of type {of_column} but expression is of type {what}", column.name);
        Err(EngineError::new(SqlState::DatatypeMismatch, message)
            .with_hint("You will need to rewrite or cast the expression."))
    };
    match cell {
        Cell::Null => {
            literals.append_null();
            Ok(())
        }
        Cell::Text(text) => literals.append(text),
        Cell::Number(number) => match column.column_type {
            ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt => {
                let is_whole = number.bytes().all(|c| c.is_ascii_digit() || c == b'-');
                if is_whole { literals.append(number) } else { literals.append(&rounded(number)?) }
            }
            ColumnType::Boolean
            | ColumnType::Date
            | ColumnType::Time
            | ColumnType::Timestamp
            | ColumnType::TimestampTz
            | ColumnType::RoundedTime(_)
            | ColumnType::RoundedTimestamp(_)
            | ColumnType::RoundedTimestampTz(_)
            | ColumnType::Interval
            | ColumnType::Bytea
            | ColumnType::Uuid
            | ColumnType::Enum(_) => mismatch(if number.contains(['.', 'e', 'E']) { "numeric" } else { "integer" }),
            _ => literals.append(number),
        },
        Cell::Boolean(value) => match column.column_type {
            ColumnType::Boolean
            | ColumnType::Text
            | ColumnType::Varchar(_)
            | ColumnType::UnlimitedVarchar
            | ColumnType::Char(_) => literals.append(if *value { "true" } else { "false" }),
            _ => mismatch("boolean"),
        },
        Cell::Bound(_) | Cell::Computed(_) => Err(EngineError::internal("a value was used as a literal")),
    }
}

/// A numeric literal for an integer column: rounded half away from zero.
fn rounded(number: &str) -> Result<String, EngineError> {
    Ok(parse_numeric(number, 38, 0)?.to_string())
}

/// Whether the word DEFAULT stands in a row.
pub(crate) fn has_default(values: &Values) -> bool {
    values.rows.iter().flat_map(|row| &row.content).any(is_default)
}

/// Whether this is the word DEFAULT.
pub(super) fn is_default(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("default"))
}

/// Replaces the word DEFAULT by the column's default, or NULL.
pub(crate) fn spell_out_default(
    expr: &mut Expr,
    column: &ColumnDef,
    of_domains: &DomainDefaults,
) -> Result<(), EngineError> {
    if is_default(expr) {
        *expr = match of_domains.syntax(column)? {
            Some(syntax) => Expr::Nested(Box::new(syntax)),
            None => Expr::Value(Value::Null.with_empty_span()),
        };
    }
    Ok(())
}
