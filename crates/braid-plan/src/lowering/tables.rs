//! Stored tables as sources of rows.

use std::fmt;
use std::sync::Arc;

use braid_base::ChunkId;
use braid_exec::plan::Plan;
use braid_exec::runtime::pipeline::Source;
use braid_exec::scan::table_sample::{SampleUnit, TableSample};
use braid_sql::relation::{ColumnId, ColumnSet, Query, Relation, Rows, Sample, SampleMethod, TableScan};
use braid_sql::{Expression, SqlError, SqlState, Value};
use braid_storage::ColumnType;

use super::query::Lowering;
use super::relations::{Input, unsupported};
use crate::values::Form;

/// The tables that a database stores.
pub trait StoredTables: fmt::Debug {
    /// The rows of a table, or of a sample of it, with some of its columns, by their positions in the table, and the types of their values.
    /// The positions ascend. The one behind all columns of the table stands for the identity of the row, a `bigint`
    /// ([`braid_storage::RowId::to_number`]): a scan whose relation has one column more than the table returns it. No statement
    /// can name it.
    ///
    /// # Errors
    /// As unsupported (0A000) if there is no such table.
    fn source(
        &self,
        table: u64,
        columns: &[usize],
        sample: Option<TableSample>,
    ) -> Result<(Arc<dyn Source>, Vec<ColumnType>), SqlError>;

    /// Some columns of a table whose rows are made while the statement runs, and what they hold; `None` if it is another one.
    fn kept(&self, _table: u64, _columns: &[usize]) -> Option<(Arc<dyn Source>, Vec<Form>)> {
        None
    }

    /// The rows of a table that is computed when it is read, with some of its columns; `None` if it is stored.
    ///
    /// # Errors
    /// When they cannot be computed.
    fn computed(&self, _table: u64, _columns: &[usize]) -> Result<Option<Vec<Vec<Value>>>, SqlError> {
        Ok(None)
    }
}

/// No tables.
#[derive(Clone, Copy, Debug)]
pub struct NoStoredTables;

impl StoredTables for NoStoredTables {
    fn source(
        &self,
        _: u64,
        _: &[usize],
        _: Option<TableSample>,
    ) -> Result<(Arc<dyn Source>, Vec<ColumnType>), SqlError> {
        Err(unsupported("tables"))
    }
}

impl Lowering<'_> {
    /// A scan of the columns that the query reads.
    pub(super) fn table(&self, scan: &TableScan) -> Result<Input, SqlError> {
        let sample = scan.sample.as_deref().map(|sample| self.sample(sample)).transpose()?;
        let of_table = scan.columns.iter().enumerate();
        // A sample is of rows with columns.
        let is_read = |at: usize, column| self.read.contains(column) || (at == 0 && sample.is_some());
        let (positions, columns): (Vec<usize>, Vec<ColumnId>) =
            of_table.filter(|(at, column)| is_read(*at, column)).unzip();
        if let Some((source, forms)) = self.environment.tables.kept(scan.table, &positions) {
            columns.iter().zip(forms).for_each(|(column, form)| self.note_form(*column, form));
            return Ok(Input { plan: Plan::Source { source, column_count: columns.len() }, columns });
        }
        if let Some(rows) = self.environment.tables.computed(scan.table, &positions)? {
            // The plan holds the rows.
            return match self.is_for_many() {
                true => Err(unsupported("computed tables in a plan for many statements")),
                false => self.constant_rows(&columns, &sampled(rows, sample)),
            };
        }
        let (source, types) = self.environment.tables.source(scan.table, &positions, sample)?;
        for (column, column_type) in columns.iter().zip(types) {
            self.note_form(*column, Form::of_column(column_type));
        }
        Ok(Input { plan: Plan::Source { source, column_count: columns.len() }, columns })
    }

    /// A sample with its numbers, which PostgreSQL checks in this order.
    fn sample(&self, sample: &Sample) -> Result<TableSample, SqlError> {
        if self.is_for_many() {
            return Err(unsupported("TABLESAMPLE in a plan for many statements"));
        }
        let Value::Float4(percentage) = self.known_value(&sample.percentage)? else {
            let message = "TABLESAMPLE parameter cannot be null";
            return Err(SqlError::new(SqlState::InvalidTablesampleArgument, message));
        };
        let Value::Float8(seed) = self.known_value(&sample.seed)? else {
            let message = "TABLESAMPLE REPEATABLE parameter cannot be null";
            return Err(SqlError::new(SqlState::InvalidTablesampleRepeat, message));
        };
        if !(0.0..=100.0).contains(&percentage) {
            let message = "sample percentage must be between 0 and 100";
            return Err(SqlError::new(SqlState::InvalidTablesampleArgument, message));
        }
        let unit = match sample.method {
            SampleMethod::Bernoulli => SampleUnit::Row,
            SampleMethod::System => SampleUnit::Vector,
        };
        // Both zeros are one seed.
        Ok(TableSample { unit, percentage, seed: (seed + 0.0).to_bits() })
    }
}

/// The rows of a computed table that are in a sample: as of one chunk.
fn sampled(rows: Vec<Vec<Value>>, sample: Option<TableSample>) -> Vec<Vec<Value>> {
    let Some(sample) = sample else { return rows };
    let numbered = rows.into_iter().enumerate();
    numbered.filter(|(row, _)| sample.has_row(ChunkId(0), *row)).map(|(_, row)| row).collect()
}

/// The columns that some operator of a query reads. A column that is only handed on is none of them.
pub(super) fn read_columns(query: &Query) -> ColumnSet {
    let mut read = query.outputs.iter().map(|output| output.column).collect();
    add_read(&query.relation, &mut read);
    read
}

fn add_read(relation: &Relation, read: &mut ColumnSet) {
    relation.any_expression(&mut |expression| {
        add_read_by(expression, read);
        false
    });
    let of_rows = |rows: &Rows, read: &mut ColumnSet| read.extend(&rows.columns);
    match relation {
        Relation::Distinct { columns, .. } => read.extend(columns),
        Relation::Union { inputs, .. } => inputs.iter().for_each(|input| of_rows(input, read)),
        Relation::SetOperation { left, right, .. } => [left, right].into_iter().for_each(|side| of_rows(side, read)),
        Relation::With { definition, .. } => of_rows(definition, read),
        Relation::Recursive(recursion) => {
            [&recursion.start, &recursion.step].into_iter().for_each(|rows| of_rows(rows, read));
        }
        _ => {}
    }
    relation.inputs().into_iter().for_each(|input| add_read(input, read));
}

fn add_read_by(expression: &Expression, read: &mut ColumnSet) {
    use braid_sql::expression::Node;
    match &expression.node {
        Node::Column(column, _) => read.insert(*column),
        Node::Subquery(subquery) => {
            read.extend(&subquery.columns);
            add_read(&subquery.relation, read);
        }
        _ => {}
    }
    expression.any_operand(&mut |operand| {
        add_read_by(operand, read);
        false
    });
}
