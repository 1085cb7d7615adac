//! Rows for a table: PostgreSQL's assignment casts for each column, defaults for missing columns, and the values of generated ones.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt64Array, new_null_array};
use arrow::compute::{concat, take};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use braid_sql::functions::text_input::ReadingSession;
use braid_storage::TableDef;

use super::defaults::bound_default;
use super::generated_columns::{ComputedValues, GeneratedColumns};
use super::row_checks::RowChecks;
use crate::EngineError;
use crate::conversion::convert;
use crate::error_mapping::null_violation;
use crate::front_end::{AssignedExpression, RejectedRow, RowCondition};
use crate::statement_context::StatementContext;

/// Converts batches for one table.
pub(crate) struct Assignment {
    def: Arc<TableDef>,
    schema: SchemaRef,
    session: ReadingSession,
    /// The default of each column; `None` for null.
    defaults: Vec<Option<AssignedExpression>>,
    /// The columns whose values are computed of the others.
    generated: GeneratedColumns,
    /// Which rows are kept; `None` for all.
    condition: Option<RowCondition>,
    /// What the rows must satisfy; `None` where there is no session that errors could show them to: then nulls are refused as they come.
    checks: Option<RowChecks>,
}

impl Assignment {
    /// An assignment of rows with every column of `def`, generated ones too, for texts and times of a session, which checks only nulls.
    pub fn new(def: &Arc<TableDef>, session: ReadingSession) -> Self {
        let defaults = def.columns.iter().map(|_| None).collect();
        let (schema, generated) = (def.arrow_schema(), GeneratedColumns::default());
        let (condition, checks) = (None, None);
        Self { def: def.clone(), schema, session, defaults, generated, condition, checks }
    }

    /// The same, which computes the values of some columns.
    pub fn computing(self, generated: GeneratedColumns) -> Self {
        Self { generated, ..self }
    }

    /// An assignment of rows with every column of `def`, which computes generated columns, and checks the rows.
    ///
    /// # Errors
    /// When a condition or an expression cannot be bound any more.
    pub fn checked(context: &StatementContext, def: &Arc<TableDef>) -> Result<Self, EngineError> {
        let checks = Some(RowChecks::of(context, def)?);
        let generated = GeneratedColumns::of(context, def)?;
        Ok(Self { checks, ..Self::new(def, context.reading()).computing(generated) })
    }

    /// An assignment of rows with the columns `given`, which checks them. The other columns get their defaults.
    pub fn with_defaults(
        context: &StatementContext,
        def: &Arc<TableDef>,
        given: &[usize],
    ) -> Result<Self, EngineError> {
        let mut assignment = Self::checked(context, def)?;
        for (at, default) in assignment.defaults.iter_mut().enumerate().filter(|(at, _)| !given.contains(at)) {
            *default = bound_default(context, &def.columns[at])?;
        }
        Ok(assignment)
    }

    /// The same, which keeps the rows for which a condition is true. It is asked before the rows are checked.
    pub fn keeping(self, condition: Option<RowCondition>) -> Self {
        Self { condition, ..self }
    }

    /// Whether columns get defaults that may differ from row to row.
    pub fn has_volatile_defaults(&self) -> bool {
        self.defaults.iter().flatten().any(AssignedExpression::is_volatile)
    }

    /// Converts a batch that has all columns of the table in order.
    pub fn convert_all(&self, batch: &RecordBatch) -> Result<RecordBatch, EngineError> {
        let sources: Vec<Option<usize>> = (0..self.def.columns.len()).map(Some).collect();
        self.convert(batch, &sources)
    }

    /// Converts a batch whose column `sources[i]` is the table's column i; `None` stands for the default.
    pub fn convert(&self, batch: &RecordBatch, sources: &[Option<usize>]) -> Result<RecordBatch, EngineError> {
        let arrays = sources.iter().enumerate().map(|(at, source)| match source {
            Some(source) => self.convert_column(at, batch.column(*source)).map(Some),
            None => Ok(None),
        });
        self.assemble(arrays.collect::<Result<Vec<_>, _>>()?, batch.num_rows())
    }

    /// A batch of converted arrays, with the default for a missing array.
    ///
    /// # Errors
    /// For rows that cannot be stored, and the errors of defaults.
    pub fn assemble(&self, arrays: Vec<Option<ArrayRef>>, row_count: usize) -> Result<RecordBatch, EngineError> {
        self.assemble_or_reject(arrays, row_count)?.map_err(|rejected| rejected.error)
    }

    /// As [`Self::assemble`]; the inner error is the first row that cannot be stored.
    ///
    /// # Errors
    /// The errors of defaults and conditions.
    pub fn assemble_or_reject(
        &self,
        arrays: Vec<Option<ArrayRef>>,
        row_count: usize,
    ) -> Result<Result<RecordBatch, RejectedRow>, EngineError> {
        let mut defaults = self.default_values(&arrays, row_count)?;
        let columns = arrays.into_iter().enumerate().map(|(at, array)| match (array, defaults[at].take()) {
            (Some(array), _) => self.check_nulls(at, array),
            (None, Some(default)) => self.convert_column(at, &default),
            (None, None) => self.check_nulls(at, new_null_array(&self.def.columns[at].column_type.arrow(), row_count)),
        });
        let mut columns = columns.collect::<Result<Vec<_>, _>>()?;
        let of_domain = self.rejected_before_condition(&columns, row_count)?;
        let (kept, unknown) = self.keep_rows(&mut columns, row_count)?;
        let row_count = kept.as_ref().map_or(row_count, Vec::len);
        let failed = self.compute_generated(&mut columns, row_count)?;
        let sound_count = failed.as_ref().map_or(row_count, |failed| failed.row);
        let rejected = match &self.checks {
            Some(checks) => checks.rejected(&columns, sound_count)?,
            None => None,
        };
        let place = |row: usize| kept.as_ref().map_or(row, |kept| kept[row]);
        let rejected = rejected.or(failed).map(|rejected| RejectedRow { row: place(rejected.row), ..rejected });
        let rejected = match (of_domain, rejected.or(unknown)) {
            (Some(of_domain), Some(later)) if later.row < of_domain.row => Some(later),
            (of_domain, later) => of_domain.or(later),
        };
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        match rejected {
            Some(rejected) => Ok(Err(rejected)),
            None => Ok(Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)),
        }
    }

    /// The first row with a value that its domain forbids, if a condition will leave rows out: values are read before that is asked.
    fn rejected_before_condition(
        &self,
        columns: &[ArrayRef],
        row_count: usize,
    ) -> Result<Option<RejectedRow>, EngineError> {
        match (&self.condition, &self.checks) {
            (Some(_), Some(checks)) => checks.first_of_given_domains(columns, row_count),
            _ => Ok(None),
        }
    }

    /// Leaves the rows that the condition keeps, and says which these are; then the first row for which it fails, and that ends the rows.
    fn keep_rows(
        &self,
        columns: &mut [ArrayRef],
        row_count: usize,
    ) -> Result<(Option<Vec<usize>>, Option<RejectedRow>), EngineError> {
        let Some(condition) = &self.condition else { return Ok((None, None)) };
        let (kept, unknown) = condition.holding(columns, row_count);
        if kept.len() < row_count {
            let places: UInt64Array = kept.iter().map(|row| Some(*row as u64)).collect();
            for column in columns {
                *column = take(column, &places, None)?;
            }
        }
        Ok((Some(kept), unknown))
    }

    /// Puts the values of generated columns into their places. If those of a row cannot be computed, only the rows before it are left.
    fn compute_generated(
        &self,
        columns: &mut [ArrayRef],
        row_count: usize,
    ) -> Result<Option<RejectedRow>, EngineError> {
        let ComputedValues { columns: computed, failed } = self.generated.compute(&self.def, columns, row_count)?;
        if let Some(failed) = &failed {
            columns.iter_mut().for_each(|column| *column = column.slice(0, failed.row));
        }
        computed.into_iter().for_each(|(at, values)| columns[at] = values);
        Ok(failed)
    }

    /// The defaults of the columns without an array. Several volatile ones are computed row by row: they may be numbers of one sequence.
    fn default_values(
        &self,
        arrays: &[Option<ArrayRef>],
        row_count: usize,
    ) -> Result<Vec<Option<ArrayRef>>, EngineError> {
        let is_missing = |at: &usize| arrays[*at].is_none() && self.defaults[*at].is_some();
        let is_volatile = |at: &usize| self.defaults[*at].as_ref().is_some_and(AssignedExpression::is_volatile);
        let missing: Vec<usize> = (0..arrays.len()).filter(is_missing).collect();
        let by_row: Vec<usize> = missing.iter().copied().filter(is_volatile).collect();
        let mut values = vec![None; arrays.len()];
        if by_row.len() > 1 && row_count > 1 {
            let rows: Vec<Vec<Option<ArrayRef>>> =
                (0..row_count).map(|_| self.values_of(&by_row, 1)).collect::<Result<_, _>>()?;
            for (place, at) in by_row.iter().enumerate() {
                let pieces: Vec<&dyn Array> = rows.iter().filter_map(|row| row[place].as_deref()).collect();
                values[*at] = Some(concat(&pieces)?);
            }
        }
        let rest: Vec<usize> = missing.into_iter().filter(|at| values[*at].is_none()).collect();
        for (at, value) in rest.iter().zip(self.values_of(&rest, row_count)?) {
            values[*at] = value;
        }
        Ok(values)
    }

    /// The defaults of some columns.
    fn values_of(&self, columns: &[usize], row_count: usize) -> Result<Vec<Option<ArrayRef>>, EngineError> {
        let value = |at: &usize| self.defaults[*at].as_ref().map(|default| default.values(row_count)).transpose();
        columns.iter().map(value).collect()
    }

    /// One array for the table's column `at`.
    pub fn convert_column(&self, at: usize, array: &ArrayRef) -> Result<ArrayRef, EngineError> {
        let column = &self.def.columns[at];
        let converted = convert(array, column.column_type, &self.session)
            .map_err(|error| error.with_context(format!("column \"{}\"", column.name)))?;
        self.check_nulls(at, converted)
    }

    /// One array for the table's column `at` of several, of at least one.
    pub fn convert_pieces<'p>(
        &self,
        at: usize,
        pieces: impl Iterator<Item = &'p ArrayRef>,
    ) -> Result<ArrayRef, EngineError> {
        let converted = pieces.map(|piece| self.convert_column(at, piece)).collect::<Result<Vec<_>, EngineError>>()?;
        let converted: Vec<&dyn Array> = converted.iter().map(|piece| &**piece).collect();
        Ok(concat(&converted)?)
    }

    fn check_nulls(&self, at: usize, array: ArrayRef) -> Result<ArrayRef, EngineError> {
        let column = &self.def.columns[at];
        if self.checks.is_none() && !column.nullable && array.null_count() > 0 {
            return Err(null_violation(self.def.schema, &self.def.name, &column.name));
        }
        Ok(array)
    }

    /// The table.
    pub fn def(&self) -> &Arc<TableDef> {
        &self.def
    }

    /// The session that reads texts.
    pub fn session(&self) -> ReadingSession {
        self.session
    }
}
