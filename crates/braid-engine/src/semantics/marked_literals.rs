//! Literals that stand for the holes of a template, while its plan is analysed.
//!
//! A template is planned with the constants of one statement, but its plan must be right for the constants of others. So the
//! literal of a hole that varies carries a mark. Rules may look at the *type* of a marked literal and move it, and keep the mark;
//! a rule that looks at its *value* calls [`check_value_free`], which fails. The template planner then pins that hole, so that
//! its constant becomes a guard of the plan, and plans again. After the analysis placeholders replace the marked literals, and
//! the optimiser sees no value at all.
//!
//! In syntax a marked literal is a call of [`MarkFunction`], which DataFusion plans like any other. [`unwrapped`] makes the
//! literal of it, for an operator's sides as soon as they are planned, because operators are resolved by their sides.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::rewrite_expressions;

/// The name of [`MarkFunction`]. Only the planners of templates know the function.
pub(crate) const MARK_FUNCTION: &str = "braid_hole";

/// The key of a literal's metadata that holds its mark.
const MARK: &str = "braid.hole";

/// A planning step looked at the value of a marked literal.
#[derive(Debug)]
pub(crate) struct ValueMatters {
    /// The mark.
    pub mark: usize,
}

impl fmt::Display for ValueMatters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the plan depends on the value of hole {}", self.mark)
    }
}

impl Error for ValueMatters {}

impl ValueMatters {
    /// The one that an error reports.
    pub fn of(error: &DataFusionError) -> Option<usize> {
        match error.find_root() {
            DataFusionError::External(source) => source.downcast_ref::<Self>().map(|matters| matters.mark),
            _ => None,
        }
    }
}

/// `braid_hole(mark, literal)`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct MarkFunction {
    signature: Signature,
}

impl MarkFunction {
    /// The function.
    pub fn new() -> Self {
        Self { signature: Signature::any(2, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for MarkFunction {
    fn name(&self) -> &str {
        MARK_FUNCTION
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, argument_types: &[DataType]) -> Result<DataType> {
        argument_types.get(1).cloned().ok_or_else(|| DataFusionError::Internal("a mark without a literal".to_owned()))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        args.arg_fields.get(1).cloned().ok_or_else(|| DataFusionError::Internal("a mark without a literal".to_owned()))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Err(DataFusionError::Internal("a mark in a plan that runs".to_owned()))
    }
}

/// A call of the mark function as the marked literal; any other expression unchanged.
pub(super) fn unwrapped(expr: Expr) -> Expr {
    match marked_literal(&expr) {
        Some(literal) => literal,
        None => expr,
    }
}

fn marked_literal(expr: &Expr) -> Option<Expr> {
    let Expr::ScalarFunction(function) = expr else { return None };
    if !function.func.inner().is::<MarkFunction>() {
        return None;
    }
    match &function.args[..] {
        [Expr::Literal(ScalarValue::Int64(Some(mark)), _), Expr::Literal(value, _)] => {
            let metadata = FieldMetadata::new(BTreeMap::from([(MARK.to_owned(), mark.to_string())]));
            Some(Expr::Literal(value.clone(), Some(metadata)))
        }
        _ => None,
    }
}

/// A plan with marked literals in place of the calls of the mark function.
pub(crate) fn unwrap_marks(plan: LogicalPlan) -> Result<LogicalPlan> {
    rewrite_expressions(plan, |expr, _| {
        expr.transform_up(|expr| match marked_literal(&expr) {
            Some(literal) => Ok(Transformed::yes(literal)),
            None => Ok(Transformed::no(expr)),
        })
    })
}

/// The mark of a literal.
pub(crate) fn mark_of(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Literal(_, Some(metadata)) => metadata.inner().get(MARK).and_then(|mark| mark.parse().ok()),
        _ => None,
    }
}

/// Says that the value of `expr` decides what is planned.
///
/// # Errors
/// [`ValueMatters`], if it is a marked literal.
pub(super) fn check_value_free(expr: &Expr) -> Result<()> {
    match mark_of(expr) {
        None => Ok(()),
        Some(mark) => Err(DataFusionError::External(Box::new(ValueMatters { mark }))),
    }
}

/// A plan with other expressions in the places of its marked literals.
pub(crate) fn replace_marked(
    plan: LogicalPlan,
    mut replacement: impl FnMut(usize, ScalarValue) -> Result<Expr>,
) -> Result<LogicalPlan> {
    rewrite_expressions(plan, |expr, _| {
        expr.transform_up(|expr| match (mark_of(&expr), expr) {
            (Some(mark), Expr::Literal(value, _)) => replacement(mark, value).map(Transformed::yes),
            (_, expr) => Ok(Transformed::no(expr)),
        })
    })
}

/// The mark function as the registry of a planner takes it.
pub(crate) fn mark_function() -> Arc<datafusion::logical_expr::ScalarUDF> {
    Arc::new(datafusion::logical_expr::ScalarUDF::new_from_impl(MarkFunction::new()))
}
