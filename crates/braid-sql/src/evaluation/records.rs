//! Records made, taken apart, and tested for null.

use std::sync::Arc;

use super::Evaluation;
use crate::SqlError;
use crate::expression::{Expression, RecordOperation};
use crate::values::{RecordValue, Value};

impl Evaluation<'_> {
    /// What an operation makes of its operands.
    pub(super) fn on_record(&self, operation: &RecordOperation, operands: &[Expression]) -> Result<Value, SqlError> {
        let mut values = operands.iter().map(|operand| self.value(operand)).collect::<Result<Vec<_>, _>>()?;
        if let RecordOperation::Make(record_type) = operation {
            return Ok(Value::Record(Arc::new(RecordValue { record_type: record_type.clone(), values })));
        }
        let record = match values.pop() {
            Some(Value::Record(record)) => Some(record),
            _ => None,
        };
        let mut fields = record.iter().flat_map(|record| &record.values);
        Ok(match operation {
            RecordOperation::Field(at) => fields.nth(*at).cloned().unwrap_or(Value::Null),
            RecordOperation::IsNull => Value::Bool(fields.all(Value::is_null)),
            RecordOperation::IsNotNull => Value::Bool(record.is_some() && !fields.any(Value::is_null)),
            RecordOperation::Make(_) => Value::Null,
        })
    }
}
