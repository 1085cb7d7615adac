//! Values in the places of a query's parameters.

use super::Relation;
use crate::expression::{Expression, Node};
use crate::values::Value;

impl Relation {
    /// Puts values in the places of the parameters that have one here, by their numbers. They are of the parameters' types.
    pub fn put_parameters(&mut self, values: &[Option<Value>]) {
        self.expressions_mut().into_iter().for_each(|expression| expression.put_parameters(values));
        self.inputs_mut().into_iter().for_each(|input| input.put_parameters(values));
    }
}

impl Expression {
    fn put_parameters(&mut self, values: &[Option<Value>]) {
        match &mut self.node {
            Node::Parameter(number) => {
                if let Some(Some(value)) = values.get(*number) {
                    self.node = Node::Constant(value.clone());
                }
                return;
            }
            Node::Subquery(subquery) => subquery.relation.put_parameters(values),
            _ => {}
        }
        self.operands_mut().into_iter().for_each(|operand| operand.put_parameters(values));
    }
}
