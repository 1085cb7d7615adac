//! `char(n)` where PostgreSQL sees its blanks: pattern matching, `concat` and lengths in bytes.
//!
//! A `char(n)` is stored without the blanks at its end, which count in few places. As an operand of those it is padded
//! first. A pattern that ends with `%` after anything but a blank or `_` matches the same with and without them, and stays
//! what scans can evaluate.

use std::sync::Arc;

use arrow::array::{AsArray, StringViewBuilder};
use arrow::datatypes::DataType;
use braid_storage::ColumnType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::optimizer::analyzer::AnalyzerRule;

use super::marked_literals::check_value_free;
use super::rewrite_expressions;
use super::unknown_literals::{field_beside, unknown_text};
use crate::arrow_cast::strict_cast;
use crate::sql_types::column_type_of;
use crate::{EngineError, SqlState};

#[derive(Debug)]
pub(super) struct PaddedTexts;

impl AnalyzerRule for PaddedTexts {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, schema| expr.transform_up(|expr| replace(expr, schema)))
    }

    fn name(&self) -> &str {
        "padded_texts"
    }
}

fn replace(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    if let Expr::Like(like) = &expr
        && char_length(&like.expr, schema).is_some()
    {
        check_value_free(&like.pattern)?;
    }
    let changed = match &mut expr {
        Expr::Like(like) if unknown_text(&like.pattern).is_some_and(ends_openly) => false,
        Expr::Like(like) | Expr::SimilarTo(like) => pad(&mut like.expr, schema),
        Expr::BinaryExpr(binary) if is_match(binary.op) => pad(&mut binary.left, schema),
        Expr::ScalarFunction(function)
            if matches!(function.name(), "concat" | "concat_ws" | "octet_length" | "bit_length") =>
        {
            let mut changed = false;
            for arg in &mut function.args {
                changed |= pad(arg, schema);
            }
            changed
        }
        Expr::AggregateFunction(function) if function.func.name() == "array_agg" => {
            if function.params.args.first().is_some_and(|arg| char_length(arg, schema).is_some()) {
                let message = "array_agg of a char(n) is not supported";
                return Err(EngineError::unsupported(message).with_hint("Cast it to text.").into());
            }
            false
        }
        _ => false,
    };
    Ok(Transformed::new_transformed(expr, changed))
}

fn is_match(operator: Operator) -> bool {
    use Operator::{ILikeMatch, LikeMatch, NotILikeMatch, NotLikeMatch};
    use Operator::{RegexIMatch, RegexMatch, RegexNotIMatch, RegexNotMatch};
    matches!(
        operator,
        RegexIMatch
            | RegexMatch
            | RegexNotIMatch
            | RegexNotMatch
            | LikeMatch
            | ILikeMatch
            | NotILikeMatch
            | NotLikeMatch
    )
}

/// Whether blanks at the end of a text are nothing to a LIKE pattern.
fn ends_openly(pattern: &str) -> bool {
    pattern.ends_with('%') && !pattern.trim_end_matches('%').ends_with([' ', '_', '\\'])
}

fn char_length(expr: &Expr, schema: &DFSchema) -> Option<u32> {
    match column_type_of(field_beside(expr, schema)?.as_ref()) {
        Some(ColumnType::Char(n)) => Some(n),
        _ => None,
    }
}

fn pad(expr: &mut Expr, schema: &DFSchema) -> bool {
    let Some(length) = char_length(expr, schema) else { return false };
    *expr = padded(length).call(vec![std::mem::take(expr)]);
    true
}

fn padded(length: u32) -> ScalarUDF {
    ScalarUDF::from(Padded { length, signature: Signature::any(1, Volatility::Immutable) })
}

/// A text with blanks up to `length` characters.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Padded {
    length: u32,
    signature: Signature,
}

impl ScalarUDFImpl for Padded {
    fn name(&self) -> &str {
        "padded"
    }

    /// As its argument's, so that columns keep their names.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(args.iter().map(|arg| arg.schema_name().to_string()).collect())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = args.args[0].to_array(args.number_rows)?;
        Ok(ColumnarValue::Array(pad_texts(&values, self.length)?))
    }
}

/// Texts with blanks up to `length` characters.
pub(crate) fn pad_texts(values: &arrow::array::ArrayRef, length: u32) -> Result<arrow::array::ArrayRef, EngineError> {
    let views = strict_cast(values, &DataType::Utf8View)
        .map_err(|error| EngineError::new(SqlState::InternalError, error.to_string()))?;
    let mut padded = StringViewBuilder::with_capacity(values.len());
    let mut text = String::new();
    for value in views.as_string_view() {
        let Some(value) = value else {
            padded.append_null();
            continue;
        };
        text.clear();
        text.push_str(value);
        (value.chars().count()..length as usize).for_each(|_| text.push(' '));
        padded.append_value(&text);
    }
    Ok(Arc::new(padded.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_patterns_match_with_and_without_blanks() {
        for (pattern, expected) in
            [("ab%", true), ("%", true), ("%b%", true), ("ab", false), ("a %", false), ("a_%", false)]
        {
            assert_eq!(ends_openly(pattern), expected, "{pattern}");
        }
    }
}
