//! How an operator that can take fewer rows tells the functions that it calls, and how they ask for that.
//!
//! A call of a function has no argument for it, so the operator says it to its thread: all calls until the end of
//! [`divisible`] are its own.

use std::cell::Cell;
use std::sync::Arc;

use arrow::array::Array;
use braid_exec::ExecError;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Literal;

thread_local! {
    static IS_DIVISIBLE: Cell<bool> = const { Cell::new(false) };
}

/// Restores what was said before, also when a function panics.
struct Restored(bool);

impl Drop for Restored {
    fn drop(&mut self) {
        IS_DIVISIBLE.set(self.0);
    }
}

/// Calls functions which may fail with [`batch_too_long`]: the caller then takes fewer rows, and more than one now.
pub(crate) fn divisible<R>(call: impl FnOnce() -> R) -> R {
    let _restored = Restored(IS_DIVISIBLE.replace(true));
    call()
}

/// Whether the caller can take fewer rows.
pub(super) fn is_divisible() -> bool {
    IS_DIVISIBLE.get()
}

/// The error that asks for fewer rows.
pub(super) fn batch_too_long() -> DataFusionError {
    DataFusionError::External(Box::new(ExecError::BatchTooLong))
}

/// Whether an error asks for fewer rows.
pub(crate) fn is_batch_too_long(error: &DataFusionError) -> bool {
    match error {
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => is_batch_too_long(inner),
        DataFusionError::External(source) => matches!(source.downcast_ref(), Some(ExecError::BatchTooLong)),
        DataFusionError::Shared(inner) => is_batch_too_long(inner),
        _ => false,
    }
}

/// Bytes that the constants of an expression take for each row where they become columns.
pub(crate) fn literal_bytes(expr: &Arc<dyn PhysicalExpr>) -> usize {
    let mut bytes: usize = 0;
    let counted = expr.apply(|expr| {
        if let Some(literal) = expr.downcast_ref::<Literal>() {
            bytes = bytes.saturating_add(constant_bytes(literal.value()));
        }
        Ok(TreeNodeRecursion::Continue)
    });
    let _: Result<TreeNodeRecursion> = counted;
    bytes
}

/// Bytes of a constant whose type does not bound them; 0 of any other.
pub(super) fn constant_bytes(value: &ScalarValue) -> usize {
    match value {
        ScalarValue::Utf8(text) | ScalarValue::Utf8View(text) | ScalarValue::LargeUtf8(text) => {
            text.as_ref().map_or(0, String::len)
        }
        ScalarValue::Binary(bytes) | ScalarValue::BinaryView(bytes) | ScalarValue::LargeBinary(bytes) => {
            bytes.as_ref().map_or(0, Vec::len)
        }
        ScalarValue::List(list) => list.get_array_memory_size(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_know_whether_their_caller_can_take_fewer_rows() {
        assert!(!is_divisible());
        divisible(|| {
            assert!(is_divisible());
            divisible(|| assert!(is_divisible()));
            assert!(is_divisible());
        });
        assert!(!is_divisible());
        assert!(std::panic::catch_unwind(|| divisible(|| panic!("a bug"))).is_err());
        assert!(!is_divisible());
        assert!(is_batch_too_long(&batch_too_long().context("within a CASE")));
        assert!(!is_batch_too_long(&DataFusionError::Internal("another".to_owned())));
    }
}
