//! A function of DataFusion whose result is bounded.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use braid_base::{BATCH_BYTES_MAX, ByteSize, VALUE_BYTES_MAX};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ExpressionPlacement, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, StructFieldMapping,
};

use super::counted_array::{counted_array, value_bytes};
use super::division::{batch_too_long, is_divisible};
use super::growing_functions::{Growth, growth_of};
use super::result_size::{ResultSize, result_size};
use super::statement_memory::StatementMemory;

/// Bytes from which on a constant that is computed while a statement is planned is counted.
const COUNTED_CONSTANT_BYTES_MIN: u64 = 4 << 10;

/// A value that PostgreSQL would not make either (54000).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("requested length too large")]
pub struct ValueTooLong {
    /// The function.
    pub function: String,
    /// Bytes of the value, or a bound that counts four for each character.
    pub bytes: u64,
}

impl ValueTooLong {
    /// Which value, and the limit.
    pub fn detail(&self) -> String {
        let Self { function, bytes } = self;
        format!("{function} asks for a value of {bytes} bytes; a value has at most {VALUE_BYTES_MAX} bytes.")
    }
}

/// The expression with bounded functions for those that can make much of little.
pub fn bounded(expr: Expr) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| {
        let Expr::ScalarFunction(function) = expr else { return Ok(Transformed::no(expr)) };
        let is_bounded = function.func.inner().is::<BoundedFunction>();
        match growth_of(function.name()) {
            Some(growth) if !is_bounded => {
                let func = ScalarUDF::new_from_impl(BoundedFunction::new(function.func, growth));
                let function = ScalarFunction { func: Arc::new(func), args: function.args };
                Ok(Transformed::yes(Expr::ScalarFunction(function)))
            }
            _ => Ok(Transformed::no(Expr::ScalarFunction(function))),
        }
    })
}

/// The function, and how its result grows.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct BoundedFunction {
    inner: Arc<ScalarUDF>,
    growth: Growth,
}

impl BoundedFunction {
    pub(super) fn new(inner: Arc<ScalarUDF>, growth: Growth) -> Self {
        Self { inner, growth }
    }

    fn invoke_counted(
        &self,
        mut args: ScalarFunctionArgs,
        size: ResultSize,
        memory: &StatementMemory,
    ) -> Result<ColumnarValue> {
        let row_count = args.number_rows;
        // A larger array needs offsets beyond 32 bits. The value of a single row is bounded by its own limit.
        if row_count > 1 && size.total > VALUE_BYTES_MAX as u64 {
            return Err(self.exhausted(size, row_count));
        }
        let reservation = memory.reserve(self.name(), size.total as usize)?;
        if row_count == 1 {
            // Constants are copied from value to value, arrays are not.
            args.args =
                args.args.iter().map(|arg| Ok(ColumnarValue::Array(arg.to_array(1)?))).collect::<Result<_>>()?;
        }
        match self.inner.invoke_with_args(args)? {
            ColumnarValue::Array(array) => hold(array, reservation),
            ColumnarValue::Scalar(value) if row_count == 1 => hold(value.to_array_of_size(1)?, reservation),
            constant => Ok(constant),
        }
    }

    fn exhausted(&self, size: ResultSize, row_count: usize) -> DataFusionError {
        DataFusionError::ResourcesExhausted(format!(
            "function {} asks for {} for {row_count} rows; a column of a batch has at most {}",
            self.name(),
            ByteSize(size.total).rounded(),
            ByteSize(VALUE_BYTES_MAX as u64).rounded()
        ))
    }
}

/// The array, which holds as much of the reservation as it needs.
fn hold(array: arrow::array::ArrayRef, reservation: Option<MemoryReservation>) -> Result<ColumnarValue> {
    let Some(reservation) = reservation else { return Ok(ColumnarValue::Array(array)) };
    reservation.try_resize(value_bytes(&array))?;
    Ok(ColumnarValue::Array(counted_array(&array, reservation)?))
}

impl ScalarUDFImpl for BoundedFunction {
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let memory = StatementMemory::of(&args.config_options);
        memory.check_wanted()?;
        let size = result_size(self.growth, &args.args, args.number_rows)?;
        if size.largest > VALUE_BYTES_MAX as u64 {
            let error = ValueTooLong { function: self.name().to_owned(), bytes: size.largest };
            return Err(DataFusionError::External(Box::new(error)));
        }
        if memory.is_folding() && size.total > BATCH_BYTES_MAX as u64 {
            return Err(batch_too_long());
        }
        if memory.is_folding() && size.total >= COUNTED_CONSTANT_BYTES_MIN {
            memory.hold_constant(size.total as usize)?;
        }
        if size.total <= BATCH_BYTES_MAX as u64 {
            return self.inner.invoke_with_args(args);
        }
        if args.number_rows > 1 && is_divisible() {
            return Err(batch_too_long());
        }
        self.invoke_counted(args, size, &memory)
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        Ok(match self.inner.simplify(args, info)? {
            ExprSimplifyResult::Simplified(expr) => ExprSimplifyResult::Simplified(bounded(expr)?.data),
            original => original,
        })
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arg_types)
    }

    fn with_updated_config(&self, config: &ConfigOptions) -> Option<ScalarUDF> {
        let updated = self.inner.inner().with_updated_config(config)?;
        Some(ScalarUDF::new_from_impl(Self::new(Arc::new(updated), self.growth)))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn is_strict(&self) -> bool {
        self.inner.is_strict()
    }

    fn preimage(&self, args: &[Expr], literal: &Expr, info: &SimplifyContext) -> Result<PreimageResult> {
        self.inner.preimage(args, literal, info)
    }

    fn short_circuits(&self) -> bool {
        self.inner.short_circuits()
    }

    fn conditional_arguments<'a>(&self, args: &'a [Expr]) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.inner.conditional_arguments(args)
    }

    fn evaluate_bounds(&self, input: &[&Interval]) -> Result<Interval> {
        self.inner.evaluate_bounds(input)
    }

    fn propagate_constraints(&self, interval: &Interval, inputs: &[&Interval]) -> Result<Option<Vec<Interval>>> {
        self.inner.propagate_constraints(interval, inputs)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.output_ordering(inputs)
    }

    fn preserves_lex_ordering(&self, inputs: &[ExprProperties]) -> Result<bool> {
        self.inner.preserves_lex_ordering(inputs)
    }

    fn strictly_order_preserving(&self, inputs: &[ExprProperties]) -> Result<bool> {
        self.inner.strictly_order_preserving(inputs)
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arg_types)
    }

    fn struct_field_mapping(&self, literals: &[Option<ScalarValue>]) -> Option<StructFieldMapping> {
        self.inner.struct_field_mapping(literals)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn placement(&self, args: &[ExpressionPlacement]) -> ExpressionPlacement {
        self.inner.placement(args)
    }
}
