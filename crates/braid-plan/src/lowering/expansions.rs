//! Set-returning functions: the rows of braid-sql's functions, side by side, for each row of an input.
//!
//! Arguments are computed by the operator below. The functions' rows are made when they are asked for, row by row of the input, and in
//! batches whose columns are bounded in bytes. A function is called when the rows of the row before are all returned, so that the rows
//! before an error, and a LIMIT among them, come before it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use braid_base::BATCH_BYTES_MAX;
use braid_exec::expression::Resources;
use braid_exec::plan::Plan;
use braid_exec::runtime::set_functions::{
    ForeignSetFunction, SetFunctionCall as LoweredCall, SetFunctionError, SetFunctionRows, SetPiece,
};
use braid_exec::{Expression as Lowered, MemoryBudget};
use braid_sql::expression::SetCall;
use braid_sql::functions::{Call, Rows};
use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_sql::relation::{Expansion, SetFunctionCall};
use braid_sql::{SqlError, Value};

use super::Session;
use super::query::Lowering;
use super::relations::Input;
use crate::values::arrays::value_at;
use crate::values::counted_values::CountedArray;
use crate::values::{Form, RowValues};

impl Lowering<'_> {
    /// The input's columns, then those of the functions, then the ordinality.
    pub(super) fn expand(&self, expansion: &Expansion) -> Result<Input, SqlError> {
        let input = self.relation(&expansion.input)?;
        let (width, mut columns) = (input.columns.len(), input.columns.clone());
        let (mut functions, mut arguments, mut types) = (Vec::new(), Vec::new(), Vec::new());
        for function in &expansion.functions {
            let first = arguments.len();
            for argument in function.expressions() {
                arguments.push(self.expression(argument, &columns[..width])?);
                types.push(argument.sql_type.id);
            }
            let call = match function {
                SetFunctionCall::Set { call, .. } => Some(SetCall { arguments: Vec::new(), ..call.clone() }),
                SetFunctionCall::Scalar { .. } => None,
            };
            functions.push(Function { call, arguments: first..arguments.len() });
            columns.extend(function.columns());
        }
        columns.extend(expansion.ordinality);
        let made = &columns[width..];
        let function = SetFunctions {
            functions,
            types: types.clone(),
            has_ordinality: expansion.ordinality.is_some(),
            forms: made.iter().map(|column| Form::of(self.columns.sql_type(*column).id)).collect(),
            session: self.session.clone(),
        };
        let (plan, positions) = input.with_positions(arguments);
        let own_width = plan.column_count();
        let data_types = types.into_iter().map(|id| Form::of(id).data_type());
        let arguments = positions.into_iter().zip(data_types).collect();
        let call =
            LoweredCall { function: Arc::new(SetFunctions::shared(function)), arguments, column_count: made.len() };
        let plan = Plan::ProjectSet { input: Box::new(plan), call: Arc::new(call) };
        if own_width == width {
            return Ok(Input { plan, columns });
        }
        // Arguments come between the input's columns and the functions'.
        let kept = (0..width).chain(own_width..plan.column_count()).map(Lowered::Column).collect();
        Ok(Input { plan: Plan::Project { input: Box::new(plan), expressions: kept }, columns })
    }
}

/// Functions side by side.
#[derive(Debug)]
struct SetFunctions {
    functions: Vec<Function>,
    /// The types of all arguments.
    types: Vec<TypeId>,
    has_ordinality: bool,
    /// The forms of the columns.
    forms: Vec<Form>,
    session: Arc<dyn Session>,
}

/// One of them.
#[derive(Debug)]
struct Function {
    /// Without its arguments; `None` for one row of the only argument.
    call: Option<SetCall>,
    /// Its arguments among all.
    arguments: Range<usize>,
}

impl Function {
    fn column_count(&self) -> usize {
        self.call.as_ref().map_or(1, |call| call.columns.len())
    }

    /// Its rows for these arguments; none for a null argument of a strict function.
    fn rows(&self, arguments: &[Value], session: &dyn Session, memory: &RowValues) -> Result<Option<Rows>, SqlError> {
        let Some(call) = &self.call else {
            return Ok(Some(Box::new(std::iter::once(Ok(arguments.to_vec())))));
        };
        if call.is_strict && arguments.iter().any(Value::is_null) {
            return Ok(None);
        }
        let (argument_types, result_type) = (&call.argument_types[..], call.row_type);
        call.function.rows(arguments, &Call { session, argument_types, result_type, memory }).map(Some)
    }
}

/// Functions that their running calls share.
#[derive(Debug)]
struct Shared(Arc<SetFunctions>);

impl SetFunctions {
    fn shared(functions: Self) -> Shared {
        Shared(Arc::new(functions))
    }
}

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |function: &Function| match &function.call {
            Some(call) => pg_catalog().function(call.function.id).name,
            None => "value",
        };
        f.write_str(&self.0.functions.iter().map(name).collect::<Vec<_>>().join(", "))
    }
}

impl ForeignSetFunction for Shared {
    fn start(
        &self,
        arguments: Vec<ArrayRef>,
        row_count: usize,
        budget: &Arc<dyn MemoryBudget>,
    ) -> Result<Box<dyn SetFunctionRows>, SetFunctionError> {
        Ok(Box::new(RunningFunctions {
            functions: self.0.clone(),
            arguments,
            row_count,
            row: 0,
            current: None,
            error: None,
            memory: RowValues::new(budget),
            budget: budget.clone(),
        }))
    }
}

/// Functions whose rows are taken.
struct RunningFunctions {
    functions: Arc<SetFunctions>,
    arguments: Vec<ArrayRef>,
    row_count: usize,
    /// The input row.
    row: usize,
    current: Option<RowsOfRow>,
    /// What comes after the rows that were returned.
    error: Option<SetFunctionError>,
    /// The arguments of the input row.
    memory: RowValues,
    budget: Arc<dyn MemoryBudget>,
}

/// The rows of one input row.
struct RowsOfRow {
    /// Those of each function that has more.
    rows: Vec<Option<Rows>>,
    number: i64,
}

impl RunningFunctions {
    /// The next row, and the number of its input row.
    fn next_row(&mut self) -> Result<Option<(u32, Vec<Value>)>, SqlError> {
        while self.row < self.row_count {
            if self.current.is_none() {
                self.current = Some(self.start_row()?);
            }
            let current = self.current.as_mut().expect("it has just been started");
            if let Some(row) = current.next(&self.functions)? {
                let at = u32::try_from(self.row).expect("a batch has few rows");
                return Ok(Some((at, row)));
            }
            self.current = None;
            self.row += 1;
        }
        Ok(None)
    }

    fn start_row(&self) -> Result<RowsOfRow, SqlError> {
        let SetFunctions { functions, types, session, .. } = &*self.functions;
        let arguments = self.arguments.iter().zip(types).map(|(array, id)| value_at(array, self.row, *id));
        let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
        self.memory.clear();
        arguments.iter().try_for_each(|value| self.memory.add(value))?;
        let rows = functions
            .iter()
            .map(|function| function.rows(&arguments[function.arguments.clone()], &**session, &self.memory));
        Ok(RowsOfRow { rows: rows.collect::<Result<_, _>>()?, number: 0 })
    }
}

impl RowsOfRow {
    /// The next row: as many as the longest function has, with nulls for the others.
    fn next(&mut self, functions: &SetFunctions) -> Result<Option<Vec<Value>>, SqlError> {
        let (mut row, mut is_any) = (Vec::with_capacity(functions.forms.len()), false);
        for (function, rows) in functions.functions.iter().zip(&mut self.rows) {
            match rows.as_mut().and_then(Iterator::next).transpose()? {
                Some(values) => {
                    is_any = true;
                    row.extend(values);
                }
                None => {
                    *rows = None;
                    row.extend((0..function.column_count()).map(|_| Value::Null));
                }
            }
        }
        if !is_any {
            return Ok(None);
        }
        self.number += 1;
        if functions.has_ordinality {
            row.push(Value::Int8(self.number));
        }
        Ok(Some(row))
    }
}

impl SetFunctionRows for RunningFunctions {
    fn next_piece(&mut self, rows_max: usize) -> Result<Option<SetPiece>, SetFunctionError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut input_rows = Vec::new();
        let resources = Resources { budget: &self.budget, is_divisible: false };
        let forms = self.functions.forms.iter();
        let mut columns: Vec<CountedArray> = forms.map(|form| CountedArray::new(*form, resources)).collect();
        while input_rows.len() < rows_max {
            let row = self.next_row().map_err(SetFunctionError::from).and_then(|row| {
                let values = row.iter().flat_map(|(_, values)| values);
                columns.iter_mut().zip(values).try_for_each(|(column, value)| column.reserve(value))?;
                Ok(row)
            });
            match row {
                Ok(Some((at, row))) => {
                    input_rows.push(at);
                    columns.iter_mut().zip(&row).try_for_each(|(column, value)| column.add(value))?;
                }
                Ok(None) => break,
                Err(error) if input_rows.is_empty() => return Err(error),
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            }
            if columns.iter().any(|column| column.bytes() > BATCH_BYTES_MAX) {
                break;
            }
        }
        let columns = columns.into_iter().map(CountedArray::finish).collect::<Result<_, _>>()?;
        Ok((!input_rows.is_empty()).then_some(SetPiece { input_rows, columns }))
    }
}
