//! GROUP BY and its functions.

use std::sync::Arc;

use arrow::datatypes::DataType;
use braid_exec::Expression;
use braid_exec::plan::Plan;
use braid_exec::plan::{AggregateCall, AggregateFunction, AggregationSpec, AverageKind};
use braid_plan::optimization::estimate::Estimate;
use datafusion::common::DFSchema;
use datafusion::logical_expr::expr::AggregateFunction as AggregateExpr;
use datafusion::logical_expr::{Aggregate, Expr, ExprSchemable};

use super::coverage::{Coverage, Covered, Uncovered, projected, uncovered};
use super::expression_translation::is_same_kind;

/// The columns that keys and arguments are read from: those of the input, and what is computed of them.
struct Inputs {
    expressions: Vec<Expression>,
}

impl Inputs {
    /// The position of an expression, each once as far as that is easily seen.
    fn position(&mut self, expression: Expression) -> usize {
        let known = expression
            .as_column()
            .and_then(|column| self.expressions.iter().position(|other| other.as_column() == Some(column)));
        known.unwrap_or_else(|| {
            self.expressions.push(expression);
            self.expressions.len() - 1
        })
    }
}

impl Coverage<'_> {
    pub(super) fn aggregate(&mut self, aggregate: &Aggregate) -> Result<Covered, Uncovered> {
        let input = self.plan(&aggregate.input)?;
        let schema = aggregate.input.schema();
        let mut inputs = Inputs { expressions: Vec::new() };
        let mut keys = Vec::with_capacity(aggregate.group_expr.len());
        for key in &aggregate.group_expr {
            if matches!(key, Expr::GroupingSet(_)) {
                return Err(uncovered("grouping sets"));
            }
            keys.push(inputs.position(self.expression(key, schema)?));
        }
        let mut calls = Vec::with_capacity(aggregate.aggr_expr.len());
        for (at, expr) in aggregate.aggr_expr.iter().enumerate() {
            let result_type = aggregate.schema.field(keys.len() + at).data_type();
            calls.push(self.call(expr, result_type, schema, &mut inputs)?);
        }
        // Grouping by one column twice makes two columns of the result.
        let mut distinct_keys: Vec<usize> = Vec::new();
        keys.iter().for_each(|key| {
            if !distinct_keys.contains(key) {
                distinct_keys.push(*key);
            }
        });
        // Rows must be counted even where no column is read.
        let input = projected(input, inputs.expressions);
        let rows = if keys.is_empty() { 1.0 } else { input.estimate.distinct_of(&distinct_keys) };
        let of_keys = distinct_keys.iter().map(|key| input.estimate.distinct[*key].min(rows));
        let distinct = of_keys.chain(calls.iter().map(|_| rows)).collect();
        let call_count = calls.len();
        let spec = Arc::new(AggregationSpec { keys: distinct_keys.clone(), aggregates: calls });
        let plan = Plan::Aggregate { input: Box::new(input.plan), spec };
        let grouped = Covered { plan, estimate: Estimate { rows, distinct, explodes: input.estimate.explodes } };
        let place = |key: &usize| distinct_keys.iter().position(|other| other == key).expect("every key is among them");
        let of_keys = keys.iter().map(place);
        let columns = of_keys.chain((0..call_count).map(|at| distinct_keys.len() + at)).map(Expression::Column);
        Ok(projected(grouped, columns.collect()))
    }

    fn call(
        &mut self,
        expr: &Expr,
        result_type: &DataType,
        schema: &DFSchema,
        inputs: &mut Inputs,
    ) -> Result<AggregateCall, Uncovered> {
        let function = match expr {
            Expr::Alias(alias) => return self.call(&alias.expr, result_type, schema, inputs),
            Expr::AggregateFunction(function) => function,
            other => return Err(uncovered(format!("the aggregate {other}"))),
        };
        let AggregateExpr { func, params } = function;
        if !params.order_by.is_empty() || params.null_treatment.is_some() {
            return Err(uncovered(format!("the aggregate {expr}")));
        }
        let filter = match &params.filter {
            None => None,
            Some(filter) => Some(inputs.position(self.expression(filter, schema)?)),
        };
        let distinct = params.distinct;
        let [argument] = &params.args[..] else { return Err(uncovered(format!("the aggregate {expr}"))) };
        if func.name() == "count" && !distinct && matches!(argument, Expr::Literal(value, _) if !value.is_null()) {
            return Ok(AggregateCall { function: AggregateFunction::CountRows, argument: None, distinct, filter });
        }
        let argument_type = argument.get_type(schema)?;
        let unknown = || uncovered(format!("{} of {argument_type}", func.name()));
        let function = match func.name() {
            "count" => AggregateFunction::Count,
            "sum" => match (&argument_type, result_type) {
                (DataType::Decimal128(_, from), DataType::Decimal128(_, to)) if from == to => AggregateFunction::Sum,
                (DataType::Float64, DataType::Float64) => AggregateFunction::Sum,
                (DataType::Int64, DataType::Int64) => AggregateFunction::Sum,
                _ => return Err(unknown()),
            },
            "min" | "max" if is_same_kind(&argument_type, result_type) => {
                if func.name() == "min" {
                    AggregateFunction::Minimum
                } else {
                    AggregateFunction::Maximum
                }
            }
            "avg" => match (&argument_type, result_type) {
                (DataType::Decimal128(_, from), DataType::Decimal128(_, to)) if to >= from => {
                    AggregateFunction::Average(AverageKind::Numeric { scale: *from as u8, result_scale: *to as u8 })
                }
                (DataType::Float64, DataType::Float64) => AggregateFunction::Average(AverageKind::Float),
                _ => return Err(unknown()),
            },
            "bool_and" => AggregateFunction::BoolAnd,
            "bool_or" => AggregateFunction::BoolOr,
            _ => return Err(unknown()),
        };
        let argument = Some(inputs.position(self.expression(argument, schema)?));
        Ok(AggregateCall { function, argument, distinct, filter })
    }
}
