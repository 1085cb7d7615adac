//! The types of expressions, in a time that is linear in their size.
//!
//! DataFusion's `get_type` goes through `to_field` at every function, which writes the names of all that is below, so that
//! the time is quadratic, and cubic for a rule that asks at every level. Names are left out here; types are found in the
//! same way.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{ExprSchema, Result, ScalarValue};
use datafusion::logical_expr::binary::BinaryTypeCoercer;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, ReturnFieldArgs};

/// The type of an expression over the columns of `schema`.
pub fn type_of(expr: &Expr, schema: &dyn ExprSchema) -> Result<DataType> {
    match expr {
        Expr::Negative(inner) => type_of(inner, schema),
        Expr::Alias(alias) if !matches!(&*alias.expr, Expr::Placeholder(_)) => type_of(&alias.expr, schema),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (left, right) = (type_of(left, schema)?, type_of(right, schema)?);
            BinaryTypeCoercer::new(&left, op, &right).get_result_type()
        }
        Expr::Case(case) => {
            for (_, then) in &case.when_then_expr {
                let then = type_of(then, schema)?;
                if then != DataType::Null {
                    return Ok(then);
                }
            }
            case.else_expr.as_ref().map_or(Ok(DataType::Null), |otherwise| type_of(otherwise, schema))
        }
        Expr::ScalarFunction(function) => type_of_function(function, schema),
        other => other.get_type(schema),
    }
}

fn type_of_function(function: &ScalarFunction, schema: &dyn ExprSchema) -> Result<DataType> {
    let field = |arg: &Expr| -> Result<FieldRef> {
        Ok(match arg {
            // What is noted with a column or a literal, such as its length, may decide.
            Expr::Column(_) | Expr::Literal(..) => arg.to_field(schema)?.1,
            _ => Arc::new(Field::new("", type_of(arg, schema)?, true)),
        })
    };
    let fields = function.args.iter().map(field).collect::<Result<Vec<_>>>()?;
    let fields = fields_with_udf(&fields, function.func.as_ref())?;
    let scalars: Vec<Option<&ScalarValue>> = function.args.iter().map(Expr::as_literal).collect();
    let args = ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &scalars };
    Ok(function.func.return_field_from_args(args)?.data_type().clone())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use datafusion::common::DFSchema;
    use datafusion::functions::expr_fn::{abs, date_part, substring};
    use datafusion::logical_expr::{cast, col, lit, when};

    use super::*;

    fn schema() -> DFSchema {
        let fields = [
            ("a", DataType::Int32),
            ("d", DataType::Decimal128(10, 2)),
            ("s", DataType::Utf8),
            ("t", DataType::Date32),
        ];
        let fields: Vec<Field> =
            fields.into_iter().map(|(name, data_type)| Field::new(name, data_type, true)).collect();
        DFSchema::from_unqualified_fields(fields.into(), Default::default()).unwrap()
    }

    #[test]
    fn types_are_those_of_datafusion() {
        let schema = schema();
        for expr in [
            col("a") + lit(1_i64),
            col("d") * col("d") - lit(5_i32),
            -col("d"),
            abs(col("d") + col("d")),
            substring(col("s"), lit(1_i64), lit(2_i64)).alias("x"),
            date_part(lit("epoch"), col("t")),
            date_part(lit("year"), col("t")),
            when(col("a").gt(lit(1)), lit(ScalarValue::Null)).otherwise(cast(col("a"), DataType::Float64)).unwrap(),
            col("a").eq(lit(1)).and(col("s").is_null()),
        ] {
            assert_eq!(type_of(&expr, &schema).unwrap(), expr.get_type(&schema).unwrap(), "{expr}");
        }
        for wrong in [col("s") + col("t"), col("nowhere"), abs(col("s"))] {
            assert!(type_of(&wrong, &schema).is_err() && wrong.get_type(&schema).is_err(), "{wrong}");
        }
    }

    #[test]
    fn deep_calls_take_linear_time() {
        let deep = (0..400).fold(col("d"), |inner, _| abs(inner));
        let began = Instant::now();
        assert_eq!(type_of(&deep, &schema()).unwrap(), DataType::Decimal128(10, 2));
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    }
}
