//! `||` of two texts or two strings of bytes, as a function.
//!
//! DataFusion computes it as an operator, whose result cannot be bounded. This calls the operator.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column};

/// The operator on operands whose types are settled.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct TextConcat {
    signature: Signature,
    result_type: DataType,
}

impl TextConcat {
    /// With a result of this type.
    pub(super) fn new(result_type: DataType) -> Self {
        Self { signature: Signature::any(2, Volatility::Immutable), result_type }
    }
}

impl ScalarUDFImpl for TextConcat {
    fn name(&self) -> &'static str {
        "||"
    }

    /// As the operator's, so that columns keep their names.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let names: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(names.join(" || "))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.result_type.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [left, right] = &arrays[..] else {
            return Err(DataFusionError::Internal(format!("|| has {} operands", arrays.len())));
        };
        let field = |name: &str, data_type: &DataType| Field::new(name, data_type.clone(), true);
        let schema = Schema::new(vec![field("left", left.data_type()), field("right", right.data_type())]);
        let rows = RecordBatch::try_new(Arc::new(schema), arrays.clone())?;
        let column = |name: &str, at: usize| Arc::new(Column::new(name, at)) as Arc<dyn PhysicalExpr>;
        let operator = BinaryExpr::new(column("left", 0), Operator::StringConcat, column("right", 1));
        operator.evaluate(&rows)
    }
}
