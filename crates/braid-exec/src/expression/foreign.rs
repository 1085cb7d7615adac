//! Foreign expressions: arguments are converted to Arrow arrays, and the result to a vector.
//!
//! Arrays of constant arguments are reused from batch to batch.

use std::error::Error;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;

use crate::exec_error::ExecError;
use crate::expression::node::Node;
use crate::expression::operand::Operand;
use crate::expression::{ForeignExpression, Resources};
use crate::{Batch, MemoryBudget, Vector};

/// A call of a foreign expression.
#[derive(Debug)]
pub(super) struct ForeignCall {
    function: Arc<dyn ForeignExpression>,
    arguments: Vec<Argument>,
    /// What long values are counted under.
    budget: Arc<dyn MemoryBudget>,
}

#[derive(Debug)]
struct Argument {
    node: Node,
    data_type: DataType,
    /// The array of a constant, for as many rows as were needed so far.
    constant: Option<ArrayRef>,
}

impl ForeignCall {
    /// Of a function with arguments of these types.
    pub fn new(
        function: Arc<dyn ForeignExpression>,
        arguments: impl Iterator<Item = (Node, DataType)>,
        budget: Arc<dyn MemoryBudget>,
    ) -> Self {
        let arguments = arguments.map(|(node, data_type)| Argument { node, data_type, constant: None }).collect();
        Self { function, arguments, budget }
    }

    /// Its values.
    pub fn evaluate(&mut self, batch: &mut Batch) -> Result<Operand, ExecError> {
        let row_count = batch.row_count();
        let arguments: Result<Vec<ArrayRef>, ExecError> =
            self.arguments.iter_mut().map(|argument| argument.array(batch)).collect();
        let resources = Resources { budget: &self.budget, is_divisible: batch.is_divisible() };
        let result = self.function.evaluate_within(&arguments?, row_count, resources).map_err(of_function)?;
        if result.len() != row_count {
            let reason = format!("{:?} gave {} values for {row_count} rows", self.function, result.len());
            return Err(ExecError::Foreign(reason.into()));
        }
        let vector = Vector::from_array(&result)
            .ok_or_else(|| ExecError::Foreign(format!("{} is not supported", result.data_type()).into()))?;
        Ok(vector.into())
    }
}

/// The error of a function. An [`ExecError`] is returned unchanged.
fn of_function(error: Box<dyn Error + Send + Sync>) -> ExecError {
    match error.downcast::<ExecError>() {
        Ok(error) => *error,
        Err(error) => ExecError::Foreign(error),
    }
}

impl Argument {
    fn array(&mut self, batch: &mut Batch) -> Result<ArrayRef, ExecError> {
        let row_count = batch.row_count();
        let to_array =
            |vector: &Vector| vector.to_array(&self.data_type).map_err(|error| ExecError::Foreign(Box::new(error)));
        if let (Node::Constant(_), Some(array)) = (&self.node, &self.constant)
            && array.len() >= row_count
        {
            return Ok(array.slice(0, row_count));
        }
        let array = to_array(self.node.evaluate(batch)?.into_vector(row_count).as_ref())?;
        if let Node::Constant(_) = self.node {
            self.constant = Some(array.clone());
        }
        Ok(array)
    }
}
