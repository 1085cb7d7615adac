//! A function that does nothing, and shows in a column's name which type its argument is cast to.
//!
//! Names of columns leave out casts, so that `sum(a::int)` and `sum(a::bigint)` would be one column to DataFusion
//! (`plan_names`). The function is taken out before anything else looks at the plan; the name stays.

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::optimizer::analyzer::AnalyzerRule;

use super::rewrite_expressions;
use crate::EngineError;

/// The function's name.
pub(crate) const SHOWN_CAST: &str = "shown_cast";

/// The function: of a cast and the text of its type.
pub(crate) fn shown_cast() -> ScalarUDF {
    ScalarUDF::from(ShownCast { signature: Signature::any(2, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ShownCast {
    signature: Signature,
}

impl ScalarUDFImpl for ShownCast {
    fn name(&self) -> &str {
        SHOWN_CAST
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(arg_types.first().cloned().unwrap_or(DataType::Null))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        args.arg_fields.first().cloned().ok_or_else(|| EngineError::internal("a shown cast has an argument").into())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        args.args.into_iter().next().ok_or_else(|| EngineError::internal("a shown cast has an argument").into())
    }
}

/// Takes the function out.
#[derive(Debug)]
pub(super) struct HiddenCasts;

impl AnalyzerRule for HiddenCasts {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, _| {
            expr.transform_up(|expr| match expr {
                Expr::ScalarFunction(mut function) if function.name() == SHOWN_CAST => {
                    Ok(Transformed::yes(function.args.swap_remove(0)))
                }
                expr => Ok(Transformed::no(expr)),
            })
        })
    }

    fn name(&self) -> &str {
        "hidden_casts"
    }
}
