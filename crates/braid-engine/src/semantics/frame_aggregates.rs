//! Aggregates over frames that slide, computed anew for each frame, as PostgreSQL does.
//!
//! DataFusion subtracts what leaves a frame. With floats that leaves traces: of 1e20, 1 and 2 the sum of the last two would be 0,
//! and after an infinity everything is NaN. What has no inverse, such as `bool_and`, it refuses. Here the rows of the frame are kept. A sum or an average adds them up in their
//! order; any other aggregate starts again with them. A frame that only grows is DataFusion's.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::concat;
use arrow::datatypes::{DataType, FieldRef, Float32Type, Float64Type, Schema};
use braid_base::{one_nan, one_nan_real};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};

use crate::EngineError;

/// The aggregate, computed anew for each frame that slides.
pub(super) fn over_frames(inner: AggregateUDF) -> AggregateUDF {
    AggregateUDF::from(FrameAggregate { inner })
}

/// Whether an aggregate needs it: subtraction leaves traces, or DataFusion cannot subtract at all.
pub(super) fn starts_again(name: &str, of_floats: bool) -> bool {
    match name {
        "min" | "max" | "count" | "first_value" | "last_value" | "nth_value" => false,
        "bool_and" | "bool_or" | "bit_and" | "bit_or" | "bit_xor" | "string_agg" | "array_agg" => true,
        _ => of_floats,
    }
}

/// Whether an aggregate of floats may compute a NaN.
pub(super) fn may_be_nan(name: &str) -> bool {
    let starts = ["stddev", "var", "covar", "regr_"];
    matches!(name, "sum" | "avg" | "corr") || starts.iter().any(|start| name.starts_with(start))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct FrameAggregate {
    inner: AggregateUDF,
}

impl AggregateUDFImpl for FrameAggregate {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arg_types)
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arg_types)
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        self.inner.return_field(arg_fields)
    }

    fn is_nullable(&self) -> bool {
        self.inner.is_nullable()
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        self.inner.default_value(data_type)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OneNan(self.inner.accumulator(args)?)))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return Err(
                EngineError::unsupported(format!("{}(DISTINCT …) over a frame is not supported", args.name)).into()
            );
        }
        let is_sum = matches!(self.name(), "sum" | "avg")
            && args.expr_fields[0].data_type().is_floating()
            && args.return_type().is_floating();
        if is_sum {
            let (is_average, result) = (self.name() == "avg", args.return_type().clone());
            return Ok(Box::new(FrameSum { is_average, result, values: VecDeque::new() }));
        }
        let call = Call::of(self.inner.clone(), &args);
        Ok(Box::new(FrameRows { call, pieces: VecDeque::new() }))
    }
}

/// A float that is no NaN or the one without a sign.
fn with_one_nan(value: ScalarValue) -> ScalarValue {
    match value {
        ScalarValue::Float64(value) => ScalarValue::Float64(value.map(one_nan)),
        ScalarValue::Float32(value) => ScalarValue::Float32(value.map(one_nan_real)),
        value => value,
    }
}

/// An aggregate whose result is one NaN or a number.
#[derive(Debug)]
struct OneNan(Box<dyn Accumulator>);

impl Accumulator for OneNan {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.0.evaluate().map(with_one_nan)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.0.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states)
    }
}

/// A sum or an average of a frame's floats.
#[derive(Debug)]
struct FrameSum {
    is_average: bool,
    result: DataType,
    values: VecDeque<Option<f64>>,
}

impl Accumulator for FrameSum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        match values[0].data_type() {
            DataType::Float32 => {
                self.values.extend(values[0].as_primitive::<Float32Type>().iter().map(|value| value.map(f64::from)));
            }
            _ => self.values.extend(values[0].as_primitive::<Float64Type>()),
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values.drain(..values[0].len());
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut present = self.values.iter().flatten();
        let Some(first) = present.next() else { return ScalarValue::try_from(&self.result) };
        let (mut sum, mut count) = (*first, 1_u64);
        for value in present {
            sum += value;
            count += 1;
        }
        if self.is_average {
            sum /= count as f64;
        }
        Ok(with_one_nan(match self.result {
            DataType::Float32 => ScalarValue::Float32(Some(sum as f32)),
            _ => ScalarValue::Float64(Some(sum)),
        }))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.capacity() * size_of::<Option<f64>>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Err(not_partial())
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        Err(not_partial())
    }
}

fn not_partial() -> datafusion::common::DataFusionError {
    EngineError::internal("an aggregate over a frame has no partial state").into()
}

/// Any aggregate of a frame's rows, kept as they came.
#[derive(Debug)]
struct FrameRows {
    call: Call,
    /// Its arguments, for some rows each.
    pieces: VecDeque<Vec<ArrayRef>>,
}

impl Accumulator for FrameRows {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        if !values[0].is_empty() {
            self.pieces.push_back(values.to_vec());
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let mut left = values[0].len();
        while let Some(piece) = self.pieces.front_mut().filter(|_| left > 0) {
            let rows = piece[0].len();
            if rows <= left {
                self.pieces.pop_front();
                left -= rows;
                continue;
            }
            piece.iter_mut().for_each(|column| *column = column.slice(left, rows - left));
            left = 0;
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut accumulator = self.call.accumulator()?;
        if let Some(first) = self.pieces.front() {
            let column = |at: usize| {
                let parts: Vec<&dyn Array> = self.pieces.iter().map(|piece| &*piece[at] as &dyn Array).collect();
                concat(&parts)
            };
            let whole: Vec<ArrayRef> = (0..first.len()).map(column).collect::<Result<_, _>>()?;
            accumulator.update_batch(&whole)?;
            self.pieces = VecDeque::from([whole]);
        }
        accumulator.evaluate().map(with_one_nan)
    }

    fn size(&self) -> usize {
        let columns = self.pieces.iter().flatten();
        size_of_val(self) + columns.map(|column| column.get_array_memory_size()).sum::<usize>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Err(not_partial())
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        Err(not_partial())
    }
}

/// How an aggregate was called.
#[derive(Debug)]
struct Call {
    function: AggregateUDF,
    return_field: FieldRef,
    schema: Schema,
    ignore_nulls: bool,
    order_bys: Vec<PhysicalSortExpr>,
    is_reversed: bool,
    name: String,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    expr_fields: Vec<FieldRef>,
}

impl Call {
    fn of(function: AggregateUDF, args: &AccumulatorArgs) -> Self {
        Self {
            function,
            return_field: args.return_field.clone(),
            schema: args.schema.clone(),
            ignore_nulls: args.ignore_nulls,
            order_bys: args.order_bys.to_vec(),
            is_reversed: args.is_reversed,
            name: args.name.to_owned(),
            exprs: args.exprs.to_vec(),
            expr_fields: args.expr_fields.to_vec(),
        }
    }

    fn accumulator(&self) -> Result<Box<dyn Accumulator>> {
        self.function.accumulator(AccumulatorArgs {
            return_field: self.return_field.clone(),
            schema: &self.schema,
            ignore_nulls: self.ignore_nulls,
            order_bys: &self.order_bys,
            is_reversed: self.is_reversed,
            name: &self.name,
            is_distinct: false,
            exprs: &self.exprs,
            expr_fields: &self.expr_fields,
        })
    }
}
