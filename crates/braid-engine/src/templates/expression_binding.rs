//! How a statement computes the parameters of its plan.

use braid_plan::lowering::PlanParameter;
use braid_plan::planning_memory::parameter_memory;
use braid_sql::functions::SessionFacts;
use braid_sql::values::Numeric;
use braid_sql::{Evaluation, Expression, Value};

use super::hole_value::HoleType;
use super::plan_template::ParameterRow;
use crate::statement::Constant;

/// How a statement computes the parameters of its plan: by expressions over its constants, in its session.
#[derive(Debug)]
pub(crate) struct ExpressionBinding {
    /// By the number of a hole, the type of its constant if that varies. Its number in the query comes after those of the statement's own
    /// parameters.
    pub varying: Vec<Option<HoleType>>,
    /// The varying constants as their types' input functions read them, which must not fail.
    pub literal_inputs: Vec<Expression>,
    /// The parameters, by their numbers in the plan.
    pub parameters: Vec<PlanParameter>,
}

impl ExpressionBinding {
    /// The parameters of the plan for a statement with these constants and parameters; `None` if one cannot be computed.
    pub fn bind(
        &self,
        constants: &[Constant],
        parameters: &[Value],
        session: &dyn SessionFacts,
    ) -> Option<ParameterRow> {
        let value = |(constant, varying): (&Constant, &Option<HoleType>)| match varying {
            None => Some(Value::Null),
            Some(hole_type) => value_of(constant, *hole_type),
        };
        let mut values = parameters.to_vec();
        for value in constants.iter().zip(&self.varying).map(value) {
            values.push(value?);
        }
        // A statement with longer values gets a plan of its own.
        let memory = parameter_memory(&values);
        let evaluation = Evaluation::new(session, &values).with_memory(&memory);
        if self.literal_inputs.iter().any(|input| memory.only(|_| evaluation.value(input)).is_err()) {
            return None;
        }
        self.parameters.iter().map(|parameter| parameter.value(&values, session, &memory).ok()).collect()
    }
}

/// The value of a constant, as a literal of this type.
fn value_of(constant: &Constant, hole_type: HoleType) -> Option<Value> {
    Some(match (constant, hole_type) {
        (Constant::Text(text), HoleType::Text) => Value::text(text.as_str()),
        (Constant::Number(digits), HoleType::Integer) => Value::Int4(digits.parse().ok()?),
        (Constant::Number(digits), HoleType::BigInt) => Value::Int8(digits.parse().ok()?),
        (Constant::Number(digits), HoleType::Numeric { .. }) => Value::Numeric(Numeric::parse(digits).ok()?),
        _ => return None,
    })
}
