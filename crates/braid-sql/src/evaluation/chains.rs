//! Long chains of operators: in a loop, and texts in time in proportion to their length.

use super::Evaluation;
use crate::SqlError;
use crate::expression::{Expression, Node};
use crate::functions::strings::results::check_allocation;
use crate::pg_catalog::pg_catalog;
use crate::value_memory::GrowingValue;
use crate::values::Value;

/// The function of `||` between texts, by `prosrc`.
const TEXT_CONCATENATION: &str = "textcat";

impl Evaluation<'_> {
    /// The value of a chain.
    pub(super) fn chain(&self, first: &Expression, mut steps: &[Expression]) -> Result<Value, SqlError> {
        let mut value = self.value(first)?;
        loop {
            let text_count = steps.iter().map_while(appended).count();
            if text_count > 1 {
                let (texts, rest) = steps.split_at(text_count);
                (value, steps) = (self.with_texts(value, texts)?, rest);
            } else {
                let Some((step, rest)) = steps.split_first() else { return Ok(value) };
                (value, steps) = (Evaluation { operand: Some(&value), ..*self }.value(step)?, rest);
            }
        }
    }

    /// A text with those of further steps behind it. A copy for each step would take time in proportion to the square of the length.
    fn with_texts(&self, value: Value, steps: &[Expression]) -> Result<Value, SqlError> {
        let mut grown = GrowingValue::new(self.memory);
        let mut text = if value.is_null() { None } else { Some(value.as_text().to_owned()) };
        for step in steps.iter().filter_map(appended) {
            match (self.value(step)?, &mut text) {
                (Value::Null, _) => text = None,
                (further, Some(text)) => {
                    let bytes = text.len() + further.as_text().len();
                    check_allocation(bytes)?;
                    grown.reach(bytes)?;
                    text.push_str(further.as_text());
                }
                (_, None) => {}
            }
        }
        Ok(text.map_or(Value::Null, Value::text))
    }
}

/// What a step appends to the text before it.
fn appended(step: &Expression) -> Option<&Expression> {
    let Node::Call(call) = &step.node else { return None };
    let is_concatenation = || pg_catalog().function(call.function.id).symbol == Some(TEXT_CONCATENATION);
    match &call.arguments[..] {
        [operand, further] if operand.node == Node::Operand && is_concatenation() => Some(further),
        _ => None,
    }
}
